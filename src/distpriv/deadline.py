"""How long a search may take: a budget of processor time that loops look at, and that only `planning` sets.

Processor time of this process, not that on a clock, so that a busy machine decides less.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from time import process_time

from attrs import field, frozen

__all__ = ["Deadline", "OutOfTime", "deadline", "require_time", "running_late"]

LATE = 0.5
"""The share of a budget after which searches that have something stop improving it."""


class OutOfTime(Exception):
    """The budget is spent: what was going on is given up."""


@frozen(kw_only=True)
class Deadline:
    """A budget that began when this was made.

    >>> times = iter([0.0, 3.0, 6.0, 12.0])
    >>> budget = Deadline(seconds=10.0, now=lambda: next(times))
    >>> budget.spent, budget.spent, budget.spent
    (0.3, 0.6, 1.2)
    """

    seconds: float
    now: Callable[[], float] = process_time
    _began: float = field(init=False)

    @_began.default
    def _begin(self) -> float:
        return self.now()

    def part(self, share: float) -> "Deadline":
        """Return a budget that begins now: a share of this one, or what is left of it.

        >>> times = iter([0.0, 6.0, 6.0])
        >>> Deadline(seconds=8.0, now=lambda: next(times)).part(0.5).seconds
        2.0
        """
        return Deadline(seconds=max(min(share, 1 - self.spent), 1e-9) * self.seconds, now=self.now)

    @property
    def spent(self) -> float:
        """The share of the budget that is spent."""
        return (self.now() - self._began) / self.seconds


_CURRENT: ContextVar[Deadline | None] = ContextVar("deadline", default=None)


@contextmanager
def deadline(budget: Deadline | None) -> Iterator[None]:
    """Have `require_time` and `running_late` go by a budget inside; by none where it is None."""
    token = _CURRENT.set(budget)
    try:
        yield
    finally:
        _CURRENT.reset(token)


def running_late() -> bool:
    """Tell whether half of the budget is spent, so that what is good enough should be taken.

    >>> with deadline(Deadline(seconds=1e-9)):
    ...     running_late()
    True
    >>> running_late()
    False
    """
    budget = _CURRENT.get()
    return budget is not None and budget.spent >= LATE


def require_time() -> None:
    """Give up if the budget is spent.

    Raises:
        OutOfTime: it is.
    """
    budget = _CURRENT.get()
    if budget is not None and budget.spent >= 1:
        raise OutOfTime
