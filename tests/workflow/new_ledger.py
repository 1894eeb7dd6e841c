"""The one place where these tests make a ledger."""

from pathlib import Path

from distpriv.ledger import Ledger


def new_ledger(folder: Path) -> Ledger:
    """Make the ledger that a small policy names."""
    url = f"sqlite:///{folder / 'ledger.db'}"
    ledger: Ledger = getattr(Ledger, "create", Ledger.open)(url)
    return ledger
