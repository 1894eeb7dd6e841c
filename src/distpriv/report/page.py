"""The page of a result as one HTML document, or as a notebook shows it: what it is made of, and its only template."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, Literal

from attrs import field, frozen

from distpriv._version import __version__
from distpriv.guarantees.certificate import Certificate
from distpriv.guarantees.evidence_text import sentence
from distpriv.releasing.released_tables import ReleasedTable
from distpriv.report.protection import Reading
from distpriv.report.text import printable

if TYPE_CHECKING:
    from jinja2 import Template

    from distpriv.report.figures import Picture

__all__ = ["Audited", "Cell", "Fact", "Notice", "Page", "Table", "heat_rows", "render"]


@frozen
class Cell:
    """A cell of a table, which may stand out: by weight, or by a sign and a colour, never by a colour alone."""

    text: str
    emphasis: Literal["", "strong", "good", "fails"] = ""


@frozen(kw_only=True)
class Table:
    """A table of formatted text."""

    header: Sequence[str]
    rows: Sequence[Sequence[Cell | str]]
    caption: str
    align: str
    """One letter a column: l, r or c."""
    chosen: int | None = None
    """The row, counted from 0, that the whole table is about."""


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
class Page:
    """What a page says; what is empty or none is left out."""

    released: bool
    """Whether it is of a release, and not of a plan."""
    title: str
    subtitle: str
    notices: Sequence[Notice]
    facts: Sequence[Fact] = ()
    tables: Sequence[tuple[Table, ReleasedTable]] = ()
    numbers: Table | None = None
    definitions: Sequence[str] = ()
    notes: Sequence[str] = ()
    curves: Sequence[Picture] = ()
    attacker: Sequence[str] = ()
    audited: Audited | None = None
    certificates: Mapping[str, Certificate] = field(factory=dict)
    """What each is about, and the certificate."""
    readings: Sequence[Reading] = ()
    why: str = ""
    """Why this noise was chosen."""
    errors: Picture | None = None
    options: Table | None = None
    others: Sequence[str] = ()
    """Why other ways to add noise were not tried, or do not apply."""
    profile: Picture | None = None
    protected: Sequence[str] = ()
    policy: str = ""
    ledger: Mapping[str, Any] | None = None
    position: int | None = None
    footer: str = f"distpriv {__version__}"

    @property
    def assumed(self) -> list[str]:
        """What nobody can check, the assumptions of all certificates once each."""
        every = (each for certificate in self.certificates.values() for each in certificate.evidence)
        return [sentence(each) for each in dict.fromkeys(every) if each.status == "assumed"]


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
    environment.filters |= {"printable": printable, "heat_rows": heat_rows, "sentence": sentence}
    return environment.get_template("page.html")


def _finalized(value: Any) -> Any:
    """Return a value that the template shows: plain text can be seen, and no line ends before a percent sign."""
    return re.sub(r"(?<=\d) (?=%)", "\N{NO-BREAK SPACE}", printable(value)) if type(value) is str else value


def heat_rows(released: ReleasedTable) -> list[tuple[tuple[str, ...], list[tuple[float | None, str]]]]:
    """Return the labels of each row of a table, and for its cells the share of the public uncertainty that is gone.

    Of a structural zero there is none. Shares are printed as 0 and 100 % only where they are that.
    """
    zeros, rows = set(released.table.empty or ()), dict[tuple[str, ...], list[tuple[float | None, str]]]()
    for cell, row in zip(released.cells, released.rows, strict=True):
        share = None if cell in zeros else row["information"]
        rows.setdefault(tuple(map(str, cell[:-1])), []).append((share, _share(share)))
    return list(rows.items())


def _share(share: float | None) -> str:
    """Return a share in percent.

    >>> [_share(share) for share in (0.0, 0.004, 0.5, 0.996, 1.0, None)]
    ['0 %', '< 1 %', '50 %', '> 99 %', '100 %', 'zero']
    """
    if share is None:
        return "zero"
    return "< 1 %" if 0 < share < 0.01 else "> 99 %" if 0.99 < share < 1 else f"{100 * share:.0f} %"
