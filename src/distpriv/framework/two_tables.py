"""Two tables below each other, and in which of them a row is: what records of any mixture of the two are drawn from."""

from typing import Any

from attrs import field, frozen

__all__ = ["SECOND", "TwoTables"]

SECOND = "distpriv_second"
"""The column that is 1 in rows of the second table and 0 in those of the first."""


@frozen(kw_only=True, eq=False)
class TwoTables:
    """A source made of two others, any that an engine takes; it has the columns that both have, and `SECOND`."""

    first: Any = field(repr=False)
    second: Any = field(repr=False)
