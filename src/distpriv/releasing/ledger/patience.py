"""What to do about a server that is away for a moment, or lets only one of two writers pass: wait, and do it again.

Nothing is lost by that. What was not committed is not there, and what was committed without the server's saying so is
found when everything is read anew.
"""

import time
from collections.abc import Callable
from typing import TypeVar

from attrs import define, field
from sqlalchemy.exc import DBAPIError, OperationalError

from distpriv.errors import LedgerUnavailable

__all__ = ["Interrupted", "Patience", "is_passing", "patiently"]

SECONDS = 30.0
"""How long a server may be away; one that is started again is back in a few."""

FIRST, LONGEST = 0.05, 2.0
"""Seconds of the first pause, and of the longest."""

PASSING = {
    "40001",  # serialisation failure
    "40P01",  # deadlock
    "53300",  # too many connections
    "55P03",  # lock not available
    "57P01",  # the server is being shut down
    "57P02",  # another of its processes crashed
    "57P03",  # it is starting
}
"""States, as the SQL standard and PostgreSQL number them, that are over by themselves."""

Found = TypeVar("Found")


class Interrupted(LedgerUnavailable):
    """A server did not do this time what it may do next time."""


def is_passing(failure: BaseException) -> bool:
    """Tell whether a failure of a server is likely to be over soon: a lost connection, or two who wanted the same."""
    if not isinstance(failure, DBAPIError):
        return False
    state = getattr(failure.orig, "sqlstate", None)
    lost = failure.connection_invalidated or (isinstance(failure, OperationalError) and state is None)
    return lost or state in PASSING or str(state)[:2] == "08"


@define
class Patience:
    """How long to go on."""

    _until: float = field(factory=lambda: time.monotonic() + SECONDS)
    _pause: float = FIRST

    def wait(self, failure: Interrupted) -> None:
        """Wait a moment, longer each time; where there was enough of that, say what the failure says."""
        if time.monotonic() + self._pause > self._until:
            raise LedgerUnavailable(str(failure)) from None
        time.sleep(self._pause)
        self._pause = min(2 * self._pause, LONGEST)


def patiently(work: Callable[[], Found]) -> Found:
    """Do what changes nothing, such as reading, again and again until it is done or patience ends."""
    patience = Patience()
    while True:
        try:
            return work()
        except Interrupted as failure:
            patience.wait(failure)
