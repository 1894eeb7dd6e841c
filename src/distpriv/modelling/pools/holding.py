"""Which rows of a large table are held in memory: those of each stratum whose hashes come first."""

import hashlib
from collections.abc import Sequence

from attrs import frozen

__all__ = ["POOL_ROWS", "Holding", "hash_below"]

POOL_ROWS = 1_000_000
"""How many rows of a stratum are held, unless said otherwise."""

WHOLE_TABLE = 2_000_000
"""A table of no more rows is held in memory as it is, unless said otherwise."""


@frozen(kw_only=True)
class Holding:
    """How rows of a large table are chosen to be held in memory."""

    rows: int | None = None
    """How many of a stratum; when not given, a million of a table of more than two million rows."""
    key: str | None = None
    """A column with another whole number or text in every row, by which rows are chosen; their place if not given."""
    seed: int = 0
    purpose: str = "model"
    """What the rows are for: other rows are chosen for another purpose, independently."""

    def salt(self, predicate: str | None) -> str:
        """Return what goes before a row's key in its hash, so that the strata of other predicates have other rows.

        >>> Holding(seed=7).salt(None) == Holding(seed=7).salt("income = '>50K'")
        False
        """
        named = f"{self.purpose}\0{self.seed}\0{'' if predicate is None else predicate}"
        return hashlib.sha256(named.encode()).hexdigest()[:32]

    def held(self, counts: Sequence[int]) -> int | None:
        """Return how many rows to hold of each stratum, given how many there are, or nothing to hold all of them.

        >>> Holding().held([30_000, 900_000]), Holding().held([30_000, 9_000_000]), Holding(rows=500).held([30, 600])
        (None, 1000000, 500)
        """
        if self.rows is None:
            return None if sum(counts) <= WHOLE_TABLE else POOL_ROWS
        return None if max(counts) <= self.rows else self.rows


def hash_below(share: float) -> str:
    """Return text such that a share of all hashes, 32 hexadecimal digits each, comes before it.

    >>> hash_below(0.5), hash_below(1.0)
    ('8000000000000000', 'g')
    """
    return "g" if share >= 1 else f"{int(share * 2.0**64):016x}"
