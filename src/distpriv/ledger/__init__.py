"""The ledger of all accesses to private tables and all releases."""

from distpriv.ledger.chain import Entry, History, Kind, dataset_id
from distpriv.ledger.ledger import Ledger

__all__ = ["Entry", "History", "Kind", "Ledger", "dataset_id"]
