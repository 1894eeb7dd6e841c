"""What a page is told of the ledger of an opened policy: that there is one, and never where."""

import os
import re

from distpriv.ledger.address import ledger_address, shown_url, sqlite_file

__all__ = ["without_ledger"]

_CAUSE = re.compile(r"(the ledger cannot [a-z ]+) \(.*\)(: nothing was released)")
"""What a database says of itself, between brackets: its server, its role, its name."""


def without_ledger(sentence: str, url: str) -> str:
    """Return a sentence about the ledger at a URL, with nothing of where it is.

    >>> url = "postgresql://anna:geheim@host/db"
    >>> without_ledger(
    ...     "the ledger postgresql://anna:***@host/db cannot be read (no role 'anna'): nothing was released.", url
    ... )
    'the ledger cannot be read: nothing was released.'
    >>> without_ledger("it is empty, and 'ward.db.key' is there", "sqlite:////ledgers/ward.db")
    'it is empty, and its key is there'
    """
    for name, said in _names(url).items():
        sentence = sentence.replace(name, said)
    return _CAUSE.sub(r"\1\2", sentence)


def _names(url: str) -> dict[str, str]:
    """Return what a ledger is called in messages, the longest names first, and what is said instead."""
    shown, file = shown_url(url), sqlite_file(ledger_address(url))
    found = {f"the ledger {shown}": "the ledger", f"the ledger {shown!r}": "the ledger"}
    found |= {repr(shown): "the ledger", shown: "the ledger"}
    if file is not None:
        name = os.path.basename(file)
        found |= {repr(f"{name}.key"): "its key", repr(f"{name}.head"): "its newest entry", file: "the ledger"}
    return found
