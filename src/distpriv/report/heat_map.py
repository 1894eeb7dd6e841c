"""A table whose cells are shaded by how much of what was uncertain of them a release removed."""

from collections.abc import Sequence

from attrs import field, frozen

from distpriv.errors import InvalidInput
from distpriv.framework.domains import real
from distpriv.releasing.released_tables import ReleasedTable
from distpriv.report.fields import of_type, several_field, text_field
from distpriv.report.text import shown, shown_or_empty

__all__ = ["Heat", "HeatMap", "HeatRow", "information_map"]


def _share(value: object) -> float | None:
    cure = "it is the part of the variance that is gone"
    if value is None:
        return None
    return real("a share of uncertainty", value, InvalidInput, at_least=0, at_most=1, cure=cure)


@frozen(kw_only=True)
class Heat:
    """One cell: a share between 0 and 1, or none of a structural zero.

    >>> [Heat(share=share, title="people, F").text for share in (0.0, 0.004, 0.5, 0.996, 1.0, None)]
    ['0 %', '< 1 %', '50 %', '> 99 %', '100 %', 'zero']
    """

    share: float | None = field(converter=_share)
    title: str = text_field("the title of a shaded cell")
    """What the cell is of."""

    @property
    def text(self) -> str:
        """The share as it is printed: 0 and 100 % only where it is that."""
        return "zero" if self.share is None else _percent(self.share)

    @property
    def sentence(self) -> str:
        """What the cell says, for those who do not see its shade."""
        if self.share is None:
            return f"{self.title}: a structural zero, nothing is released of it"
        return f"{self.title}: {self.text} of the public uncertainty removed"


@frozen
class HeatRow:
    """The labels of a row, and its cells."""

    labels: Sequence[str] = several_field("the labels of a row", lambda text: shown("a label", text), default=())
    cells: Sequence[Heat] = several_field("the cells of a row", of_type("a row", Heat), default=())


@frozen(kw_only=True)
class HeatMap:
    """A table of shares, shaded by them; the numbers stand in the cells, so that no one needs to see the shade."""

    header: Sequence[str] = several_field("the header of a heat map", lambda text: shown_or_empty("a header", text))
    rows: Sequence[HeatRow] = several_field("the rows of a heat map", of_type("a heat map", HeatRow))
    caption: str = text_field("the caption of a heat map")

    @property
    def has_zeros(self) -> bool:
        """Whether there are structural zeros in it."""
        return any(heat.share is None for row in self.rows for heat in row.cells)

    def __attrs_post_init__(self) -> None:
        for position, row in enumerate(self.rows):
            if len(row.labels) + len(row.cells) != len(self.header):
                raise InvalidInput(
                    f"row {position} of the heat map {self.caption!r} has {len(row.labels) + len(row.cells)} cells "
                    f"under {len(self.header)} headers: give each row one cell a column."
                )


def information_map(released: ReleasedTable) -> HeatMap:
    """Return the information that a release gained of every cell of a table."""
    *down, across = released.table.labels
    labels = len(down)
    zeros = set(released.table.empty or ())
    rows: dict[tuple[str, ...], list[Heat]] = {}
    for cell, row in zip(released.cells, released.rows, strict=True):
        named = tuple(map(str, cell))
        share = None if cell in zeros else row["information"]
        rows.setdefault(named[:labels], []).append(Heat(share=share, title=", ".join(named)))
    return HeatMap(
        header=[*released.table.by[:-1], *map(str, across)],
        rows=[HeatRow(*each) for each in rows.items()],
        caption=f"{released.name}: how much of the public uncertainty of each cell the release removed.",
    )


def _percent(share: float) -> str:
    if 0 < share < 0.01:
        return "< 1 %"
    if 0.99 < share < 1:
        return "> 99 %"
    return f"{100 * share:.0f} %"
