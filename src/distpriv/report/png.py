"""A sheet as PNG, which Matplotlib draws in DejaVu Sans, the font that it brings along."""

from __future__ import annotations

import io
import warnings
from typing import TYPE_CHECKING, Any

from distpriv.report.palette import PAPER
from distpriv.report.shapes import OUTLINE, RADIUS, Ink, Mark, Sheet, Stroke, Words

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["png_bytes"]

DENSITY = 144
SIDES = {"start": "left", "middle": "center", "end": "right"}


def png_bytes(sheet: Sheet) -> bytes:
    """Return a sheet as the bytes of a PNG file; the same sheet gives the same bytes."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    target = io.BytesIO()
    with mpl.rc_context():
        mpl.rcdefaults()  # whatever the reader's own settings are
        mpl.rcParams.update({"text.parse_math": False, "font.family": "DejaVu Sans", "font.size": sheet.font})
        figure = Figure(figsize=(sheet.width / 72, sheet.height / 72), dpi=DENSITY, facecolor=PAPER)
        for order, ink in enumerate(sheet.ink):
            _draw(figure, sheet, ink, order)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="Glyph|Matplotlib currently does not support")
            figure.savefig(target, format="png", dpi=DENSITY, metadata={"Software": None})
    return target.getvalue()


def _draw(figure: Figure, sheet: Sheet, ink: Ink, order: int) -> None:
    from matplotlib.patches import Circle, PathPatch, Polygon
    from matplotlib.path import Path
    from matplotlib.transforms import Affine2D, Bbox

    # Pixels from the upper left corner, as on the sheet, to those of the picture, which count from below.
    density = DENSITY / 72
    onto = Affine2D().scale(density, -density).translate(0, sheet.height * density)
    patch: Any
    match ink:
        case Words():
            x, y = onto.transform((ink.x, ink.y)).tolist()
            side, turn = SIDES[ink.anchor], 90 if ink.turned else 0
            written = figure.text(x, y, ink.text, transform=None, ha=side, va="baseline", rotation=turn)
            written.set(color=ink.colour, zorder=order, rotation_mode="anchor")
            return
        case Stroke(face=None):
            patch = PathPatch(Path(ink.places), fill=False)
        case Stroke():
            patch = Polygon(ink.places, closed=True)
        case Mark():
            corners = ink.corners
            patch = Circle((ink.x, ink.y), RADIUS) if corners is None else Polygon(corners, closed=True)
    patch.set(transform=onto, zorder=order, **_style(ink))
    figure.add_artist(patch)
    if ink.clipped:
        left, top, right, bottom = sheet.box
        patch.set_clip_box(Bbox(onto.transform([(left, bottom), (right, top)])))


def _style(ink: Stroke | Mark) -> dict[str, Any]:
    if isinstance(ink, Mark):
        return {"facecolor": ink.face, "edgecolor": ink.look.colour, "linewidth": OUTLINE}
    return {
        "facecolor": ink.face or "none",
        "edgecolor": ink.colour or "none",
        "linewidth": ink.width if ink.colour else 0.0,
        "linestyle": (0, ink.dash) if ink.dash else "solid",
        "alpha": ink.opacity,
    }
