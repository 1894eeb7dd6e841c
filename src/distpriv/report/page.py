"""What a report is made of: frozen values that hold text and data, and no markup."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, get_args

from attrs import field, frozen

from distpriv.errors import InvalidInput
from distpriv.framework.domains import items, one_of
from distpriv.report.fields import of_type, optional_text_field, several_field, text_field
from distpriv.report.heat_map import HeatMap
from distpriv.report.text import shown, shown_or_empty

if TYPE_CHECKING:
    from distpriv.report.figures import Drawing

__all__ = [
    "Beside",
    "Block",
    "Bullets",
    "Cell",
    "Code",
    "Emphasis",
    "Fact",
    "Figure",
    "KeyFacts",
    "Notice",
    "Page",
    "Prose",
    "Section",
    "Table",
    "Verdict",
]

Emphasis = Literal["plain", "strong", "good", "fails"]
"""How a cell stands out: by weight, by a tick and green, or by a cross and red; never by colour alone."""

Verdict = Literal["good", "bad", "note"]
"""Whether a notice says that something holds, that it does not, or just something to know."""


def _verdict(word: Verdict) -> Any:
    return one_of("verdict", word, get_args(Verdict), InvalidInput)


def _emphasis(word: Emphasis) -> Any:
    return one_of("emphasis", word, get_args(Emphasis), InvalidInput)


def _block(value: object) -> Any:
    return of_type("a page", Section, Prose, Bullets, Code, KeyFacts, Notice, Table, HeatMap, Figure, Beside)(value)


@frozen(init=False)
class Prose:
    """Paragraphs of plain text.

    >>> Prose("One paragraph.", "Another.").paragraphs
    ('One paragraph.', 'Another.')
    """

    paragraphs: tuple[str, ...] = several_field("prose", lambda text: shown("a paragraph", text))

    def __init__(self, *paragraphs: str) -> None:
        self.__attrs_init__(paragraphs)


@frozen(init=False)
class Bullets:
    """A list of points, each one sentence or two."""

    points: tuple[str, ...] = several_field("bullets", lambda text: shown("a point", text))

    def __init__(self, *points: str) -> None:
        self.__attrs_init__(points)


@frozen
class Code:
    """Text kept as it was typed: a policy, a command."""

    text: str = text_field("code")


@frozen
class Fact:
    """One number that a reader should take away, formatted, with its label and at most a line of explanation."""

    value: str = text_field("the value of a fact")
    label: str = text_field("the label of a fact")
    note: str = optional_text_field("the note of a fact")


@frozen(init=False)
class KeyFacts:
    """A few big numbers side by side."""

    facts: tuple[Fact, ...] = several_field("key facts", of_type("key facts", Fact))

    def __init__(self, *facts: Fact) -> None:
        self.__attrs_init__(facts)


@frozen
class Notice:
    """A verdict in a frame, said in words and by a sign as well as by a colour."""

    verdict: Verdict = field(converter=_verdict)
    title: str = text_field("the title of a notice")
    text: str = optional_text_field("the text of a notice")


@frozen
class Cell:
    """One cell of a table that stands out."""

    text: str = optional_text_field("a cell")
    emphasis: Emphasis = field(default="plain", converter=_emphasis)


def _row(cells: object) -> tuple[Cell, ...]:
    return tuple(cell if isinstance(cell, Cell) else Cell(cell) for cell in items(cells))


@frozen(kw_only=True)
class Table:
    """A table of formatted text; `align` has one letter a column, l, r or c.

    The first column is on the left and all others on the right unless `align` says otherwise.

    >>> table = Table(header=["ε", "error"], rows=[["1", "0.2"], ["5", Cell("0.1", "fails")]], caption="Errors")
    >>> table.align, table.rows[1][1]
    ('lr', Cell(text='0.1', emphasis='fails'))
    """

    header: Sequence[str] = several_field("the header of a table", lambda text: shown_or_empty("a header", text))
    rows: Sequence[Sequence[Cell | str]] = several_field("the rows of a table", _row)
    caption: str = text_field("the caption of a table")
    align: str = optional_text_field("align")
    chosen: int | None = None
    """The row, counted from 0, that the whole table is about, such as the mechanism to be used."""

    def __attrs_post_init__(self) -> None:
        columns = len(self.header)
        for position, row in enumerate(self.rows):
            if len(row) != columns:
                raise InvalidInput(
                    f"row {position} of the table {self.caption!r} has {len(row)} cells under {columns} headers: "
                    "give each row one cell a column."
                )
        if not self.align:
            object.__setattr__(self, "align", "l" + "r" * (columns - 1))
        if len(self.align) != columns or set(self.align) - set("lrc"):
            raise InvalidInput(f"align must be {columns} letters, each l, r or c, got {self.align!r}.")
        if self.chosen is not None and self.chosen not in range(len(self.rows)):
            raise InvalidInput(f"chosen must be a row from 0 to {len(self.rows) - 1}, got {self.chosen!r}.")


def _file_name(name: object) -> str:
    if not isinstance(name, str) or not name or set(name) - set("abcdefghijklmnopqrstuvwxyz0123456789_-"):
        raise InvalidInput(f"the name of a figure must be small letters, digits, - and _, got {name!r}.")
    return name


@frozen(kw_only=True)
class Figure:
    """A picture of data, drawn once for wide and once for narrow paper; made by the functions of `figures`."""

    name: str = field(converter=_file_name)
    """What its files are called."""
    drawing: Drawing
    caption: str = text_field("the caption of a figure")
    alt: str = text_field("the alt text of a figure")
    """What the picture shows, in words for those who do not see it."""


@frozen(init=False)
class Beside:
    """Two figures to be compared: side by side where there is room, and one below the other where there is not."""

    figures: tuple[Figure, ...] = several_field("figures side by side", of_type("figures side by side", Figure))

    def __init__(self, *figures: Figure) -> None:
        self.__attrs_init__(figures)


@frozen(init=False)
class Section:
    """A heading with what belongs under it; a section may hold sections."""

    title: str = text_field("the title of a section")
    blocks: Sequence[Block] = several_field("the blocks of a section", _block)

    def __init__(self, title: str, *blocks: Block) -> None:
        self.__attrs_init__(title, blocks)


Block = Section | Prose | Bullets | Code | KeyFacts | Notice | Table | HeatMap | Figure | Beside
"""Whatever a page can hold."""


@frozen(kw_only=True)
class Page:
    """A whole report."""

    title: str = text_field("the title of a page")
    subtitle: str = optional_text_field("the subtitle of a page")
    blocks: Sequence[Block] = several_field("the blocks of a page", _block)
    footer: str = optional_text_field("the footer of a page")
    """Where the numbers come from: versions, seed, date."""
