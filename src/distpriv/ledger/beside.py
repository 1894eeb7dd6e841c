"""The files beside an SQLite ledger: its key, and the newest entry that anybody has seen.

A database file can be replaced by an older copy, emptied or exchanged, and is consistent in itself after that. So the
newest entry is also kept in a file of its own, written after each commit and before anything is shown. A crash in
between leaves that file behind the ledger, never ahead of it: a sound ledger always has the entry that the file names.
"""

import json
import os
import stat
from contextlib import suppress
from os import fsync
from typing import Any

from attrs import asdict, field, frozen

from distpriv.errors import LedgerUnavailable
from distpriv.ledger.chain import Chain, ChainBroken, start_of

__all__ = ["KEY_VARIABLE", "Beside", "KeyFile", "Seen", "key_of_server"]

KEY_VARIABLE = "DISTPRIV_LEDGER_KEY"
"""The environment variable with the key of a ledger on a server, in hexadecimal digits."""

_OWNER_ONLY = 0o600


@frozen(kw_only=True)
class Seen:
    """The newest entry that was seen in a ledger."""

    ledger: str
    number: int
    head: str


@frozen(kw_only=True)
class KeyFile:
    """The key of a ledger, and which ledger it belongs to."""

    ledger: str
    key: bytes = field(repr=False)


@frozen
class Beside:
    """The files ``ledger.db.key`` and ``ledger.db.head`` of ``ledger.db``."""

    file: str

    @property
    def key_path(self) -> str:
        """The file of the key."""
        return f"{self.file}.key"

    @property
    def head_path(self) -> str:
        """The file of the newest entry that was seen."""
        return f"{self.file}.head"

    def touch(self) -> None:
        """Make an empty file for the ledger that only its owner may read, unless there is one."""
        os.close(os.open(self.file, os.O_RDWR | os.O_CREAT, _OWNER_ONLY))

    def key(self) -> KeyFile | None:
        """Return the key, or None where there is no such file."""
        found = _read(self.key_path)
        if found is None:
            return None
        with suppress(KeyError, TypeError, ValueError):
            key = KeyFile(ledger=str(found["ledger"]), key=bytes.fromhex(found["key"]))
            if len(key.key) == 32:
                return key
        raise _unreadable(self.key_path)

    def seen(self) -> Seen | None:
        """Return the newest entry that was seen, or None where there is no such file."""
        found = _read(self.head_path)
        if found is None:
            return None
        if [type(found.get(key)) for key in ("ledger", "number", "head")] != [str, int, str]:
            raise _unreadable(self.head_path)
        return Seen(ledger=found["ledger"], number=found["number"], head=found["head"])

    def traces(self) -> str | None:
        """Return what tells of a ledger that was used here, if anything does.

        A head file that has seen no entry is what is left of a ledger that was never used, or not even finished.
        """
        seen = self.seen()
        if seen is not None and seen.number:
            return f"{os.path.basename(self.head_path)!r} beside it has seen {seen.number} entries"
        if seen is None and os.path.lexists(self.key_path):
            return f"{os.path.basename(self.key_path)!r} is there"
        return None

    def refuse_traces(self) -> None:
        """Refuse to take a ledger that was emptied or lost for one that never was."""
        if traces := self.traces():
            raise ChainBroken(f"it is empty or gone, and {traces}")

    def begin(self, ledger: str, key: bytes) -> None:
        """Write the files of a new ledger, inside the transaction that makes it."""
        _replace(self.head_path, asdict(Seen(ledger=ledger, number=0, head=start_of(ledger))))
        _replace(self.key_path, {"ledger": ledger, "key": key.hex()})

    def record(self, chain: Chain) -> None:
        """Write down the newest entry if it was not seen before, while nobody else may write to the ledger."""
        newest = Seen(ledger=chain.ledger, number=len(chain.entries), head=chain.head)
        if self.seen() != newest:
            _replace(self.head_path, asdict(newest))


def key_of_server() -> bytes:
    """Return the key of a ledger on a server, which is kept away from the ledger itself."""
    with suppress(ValueError):
        key = bytes.fromhex(os.environ.get(KEY_VARIABLE, "").strip())
        if len(key) == 32:
            return key
    raise LedgerUnavailable(
        f"a ledger on a server takes its key from {KEY_VARIABLE}, which is not set to 64 hexadecimal digits: make them "
        "once with `openssl rand -hex 32`, and keep them from everyone who sees releases."
    )


def _read(path: str) -> dict[str, Any] | None:
    try:
        with open(path, encoding="utf-8") as file:
            found = json.load(file)
    except FileNotFoundError:
        return None
    except (ValueError, RecursionError):
        raise _unreadable(path) from None
    if not isinstance(found, dict):
        raise _unreadable(path)
    return found


def _unreadable(path: str) -> ChainBroken:
    return ChainBroken(f"{os.path.basename(path)!r} beside it is not as it was written")


def _replace(path: str, content: dict[str, Any]) -> None:
    """Write a file so that a crash leaves the old one or the new one; as readable as it was, or by its owner alone."""
    new = f"{path}.new"
    mode = stat.S_IMODE(os.stat(path).st_mode) if os.path.isfile(path) else _OWNER_ONLY
    descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | getattr(os, "O_NOFOLLOW", 0), _OWNER_ONLY)
    with open(descriptor, "w", encoding="utf-8") as file:
        os.chmod(new, mode)
        file.write(json.dumps(content) + "\n")
        file.flush()
        fsync(file.fileno())
    os.replace(new, path)
    if hasattr(os, "O_DIRECTORY"):
        folder = os.open(os.path.dirname(path), os.O_RDONLY | os.O_DIRECTORY)
        try:
            fsync(folder)
        finally:
            os.close(folder)
