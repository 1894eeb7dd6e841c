"""Colours, dashes and markers that can be told apart, also by colour-blind readers and on a grey printer."""

from attrs import frozen

from distpriv.errors import InvalidInput

__all__ = ["GRID", "INK", "MUTED", "PAPER", "VARIABLES", "Look", "look"]

INK = "#1d2730"
MUTED = "#57636e"
GRID = "#dde3e8"
PAPER = "#ffffff"

VARIABLES = {INK: "ink", MUTED: "muted", GRID: "grid", PAPER: "paper"}
"""What a page may draw differently, as on a dark screen; the colours of data stay."""

# Okabe and Ito's colours for all kinds of colour vision; their yellow is too faint on white paper.
_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", INK)
_DASHES: tuple[tuple[float, ...], ...] = ((), (5.0, 2.0), (1.5, 1.5), (7.0, 2.0, 1.5, 2.0))
_MARKERS = "os^Dv<>"  # all of them have an inside that can be left empty
MOST = 2 * len(_COLOURS)


@frozen
class Look:
    """How one series is drawn."""

    colour: str
    dash: tuple[float, ...]
    marker: str


def look(position: int) -> Look:
    """Return the look of the series at a position; no two of them share colour and dash, or colour and marker.

    >>> look(0)
    Look(colour='#0072b2', dash=(), marker='o')
    """
    if not 0 <= position < MOST:
        raise InvalidInput(f"a figure can tell {MOST} series apart, got one more at {position}: split the figure.")
    turn = position // len(_COLOURS)
    colour = _COLOURS[position % len(_COLOURS)]
    return Look(colour, _DASHES[position % len(_DASHES)], _MARKERS[(position + 3 * turn) % len(_MARKERS)])
