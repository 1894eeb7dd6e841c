"""The page of a result as one HTML document, or as a notebook shows it: what it is made of, and its only template."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, Literal

from attrs import field, frozen

from distpriv._version import __version__
from distpriv.releasing.released_tables import ReleasedTable
from distpriv.report.text import printable

if TYPE_CHECKING:
    from jinja2 import Template

    from distpriv.report.drawing import Picture

__all__ = ["Audited", "Cell", "Fact", "Heat", "HeatMap", "Notice", "Page", "Proof", "Table", "render"]


@frozen
class Cell:
    """A cell of a table, which may stand out: by weight, or by a sign and a colour, never by a colour alone."""

    text: str
    emphasis: Literal["", "strong", "good", "fails"] = ""


def _rows(rows: Iterable[Iterable[Cell | str]]) -> tuple[tuple[Cell, ...], ...]:
    return tuple(tuple(cell if isinstance(cell, Cell) else Cell(cell) for cell in row) for row in rows)


@frozen(kw_only=True)
class Table:
    """A table of formatted text."""

    header: Sequence[str]
    rows: Sequence[Sequence[Cell]] = field(converter=_rows)
    caption: str
    align: str
    """One letter a column: l, r or c."""
    chosen: int | None = None
    """The row, counted from 0, that the whole table is about."""


@frozen
class Heat:
    """A cell that is shaded by the share of its public uncertainty that a release removed; none of a structural zero.

    >>> [Heat(share, "people, F").text for share in (0.0, 0.004, 0.5, 0.996, 1.0, None)]
    ['0 %', '< 1 %', '50 %', '> 99 %', '100 %', 'zero']
    """

    share: float | None
    title: str
    """What the cell is of."""

    @property
    def text(self) -> str:
        """The share as it is printed: 0 and 100 % only where it is that."""
        if self.share is None:
            return "zero"
        if 0 < self.share < 0.01:
            return "< 1 %"
        return "> 99 %" if 0.99 < self.share < 1 else f"{100 * self.share:.0f} %"

    @property
    def sentence(self) -> str:
        """What the cell says, for those who do not see its shade."""
        if self.share is None:
            return f"{self.title}: a structural zero, nothing is released of it"
        return f"{self.title}: {self.text} of the public uncertainty removed"


@frozen(kw_only=True)
class HeatMap:
    """The information that a release gained of every cell of a table."""

    header: Sequence[str]
    rows: Sequence[tuple[tuple[str, ...], Sequence[Heat]]]
    """The labels of each row, and its cells."""
    caption: str

    @classmethod
    def of(cls, released: ReleasedTable) -> HeatMap:
        """Return that of a released table."""
        *down, across = released.table.labels
        zeros, rows = set(released.table.empty or ()), dict[tuple[str, ...], list[Heat]]()
        for cell, row in zip(released.cells, released.rows, strict=True):
            named = tuple(map(str, cell))
            heat = Heat(None if cell in zeros else row["information"], ", ".join(named))
            rows.setdefault(named[: len(down)], []).append(heat)
        return cls(
            header=[*released.table.by[:-1], *map(str, across)],
            rows=list(rows.items()),
            caption=f"{released.name}: how much of the public uncertainty of each cell the release removed.",
        )

    @property
    def has_zeros(self) -> bool:
        """Whether there are structural zeros in it."""
        return any(heat.share is None for _, cells in self.rows for heat in cells)


@frozen
class Notice:
    """A verdict in a frame, said in words and by a sign as well as by a colour."""

    verdict: Literal["good", "bad", "note"]
    title: str
    text: str = ""


@frozen
class Fact:
    """One number that a reader should take away, with what it is."""

    value: str
    label: str
    note: str


@frozen(kw_only=True)
class Audited:
    """What attacks measured; without a table where none were made."""

    notice: Notice
    table: Table | None = None
    note: str = ""


@frozen(kw_only=True)
class Proof:
    """What one certificate rests on that need not be believed."""

    title: str
    law: str | None
    points: Sequence[str]


@frozen(kw_only=True)
class Page:
    """What a page says; what is empty or none is left out."""

    released: bool
    """Whether it is of a release, and not of a plan."""
    title: str
    subtitle: str
    notices: Sequence[Notice]
    facts: Sequence[Fact] = ()
    tables: Sequence[tuple[Table, HeatMap]] = ()
    numbers: Table | None = None
    definitions: Sequence[str] = ()
    notes: Sequence[str] = ()
    curves: Sequence[Picture] = ()
    attacker: Sequence[str] = ()
    audited: Audited | None = None
    joint: Notice | None = None
    proofs: Sequence[Proof] = ()
    assumed: Sequence[str] = ()
    readings: Table | None = None
    why: str = ""
    """Why this noise was chosen."""
    errors: Picture | None = None
    options: Table | None = None
    others: Sequence[str] = ()
    """Why other ways to add noise were not tried, or do not apply."""
    profile: Picture | None = None
    protected: Sequence[str] = ()
    policy: str = ""
    ledger: Table | None = None
    position: int | None = None
    footer: str = f"distpriv {__version__}"


def render(page: Page, *, notebook: bool = False) -> str:
    """Return a page as one HTML document that needs nothing else, or the part that a notebook shows of it."""
    return _template().render(page=page, notebook=notebook)


@cache
def _template() -> Template:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("distpriv.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        finalize=_finalized,
    )
    environment.filters["printable"] = printable
    return environment.get_template("result.html")


def _finalized(value: Any) -> Any:
    """Return a value that the template shows: plain text can be seen, and no line ends before a percent sign."""
    return re.sub(r"(?<=\d) (?=%)", "\N{NO-BREAK SPACE}", printable(value)) if type(value) is str else value
