"""The ledger of all looks at private tables and all releases: `book.py`, and what it is made of."""

from distpriv.releasing.ledger.book import Ledger
from distpriv.releasing.ledger.chain import Entry, History, Kind, dataset_id

__all__ = ["Entry", "History", "Kind", "Ledger", "dataset_id"]
