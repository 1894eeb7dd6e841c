"""Draw docs/images/closeness.svg: mass that moves by 1, and the tenth of it that has to move by 97.

Usage: python scripts/closeness_picture.py
"""

from pathlib import Path

import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.patches import FancyArrowPatch

TARGET = Path(__file__).parents[1] / "docs" / "images" / "closeness.svg"
BLUE, ORANGE, BLACK = "#0072b2", "#d55e00", "#333333"  # told apart by colour-blind readers
POINTS = (1, 2, 3, 100)
FIRST = (0.6, 0.2, 0.0, 0.2)
SECOND = (0.4, 0.3, 0.2, 0.1)
PLACES = (0.0, 1.0, 2.0, 3.7)  # the axis is broken before 100
LAWS = 1.0  # how far apart the two rows of bars are
WIDTH, BREAK, ASIDE = 0.34, 2.85, 0.08


def draw_bars(axes: Axes) -> None:
    """Show the first law upwards, above the gap that mass crosses, and the second downwards, below it."""
    for masses, base, way, colour in ((FIRST, LAWS, 1, BLUE), (SECOND, 0.0, -1, ORANGE)):
        axes.bar(PLACES, [way * mass for mass in masses], WIDTH, base, color=colour)
        for place, mass in zip(PLACES, masses, strict=True):
            side = "bottom" if way > 0 else "top"
            axes.text(place, base + way * (mass + 0.03), f"{mass:g}", color=colour, ha="center", va=side)
        for start, stop in ((-0.5, BREAK - 0.04), (BREAK + 0.04, 4.2)):
            axes.plot([start, stop], [base, base], color=BLACK, linewidth=0.9)
        for slash in (BREAK - 0.04, BREAK + 0.04):
            axes.plot([slash - 0.03, slash + 0.03], [base - 0.04, base + 0.04], color=BLACK, linewidth=0.9)


def draw_move(axes: Axes, start: int, stop: int, text: str, at: tuple[float, float]) -> None:
    """Draw the mass that goes from one point of the first law to one of the second; dashed if it goes far."""
    far = abs(POINTS[start] - POINTS[stop]) > 1
    aside = ASIDE * ((stop > start) - (stop < start))  # so that heads and tails do not meet
    ends = ((PLACES[start] + aside, LAWS), (PLACES[stop] - aside, 0.0))
    style = "dashed" if far else "solid"
    axes.add_patch(
        FancyArrowPatch(
            *ends,
            arrowstyle="-|>",
            mutation_scale=12,
            linestyle=style,
            color=BLACK,
            shrinkA=2,
            shrinkB=2,
            linewidth=1.3,
        )
    )
    axes.text(*at, text, ha="left", va="center", fontsize=9, color=BLACK)


def draw() -> None:
    """Draw both laws and the coupling between them."""
    plt.switch_backend("svg")
    plt.rcParams["svg.hashsalt"] = "distpriv"
    figure, axes = plt.subplots(figsize=(7.6, 4.4), layout="constrained")
    draw_bars(axes)
    draw_move(axes, 0, 0, "0.4", (0.04, 0.33))
    draw_move(axes, 0, 1, "0.2", (0.45, 0.64))
    draw_move(axes, 1, 1, "0.1", (1.04, 0.33))
    draw_move(axes, 1, 2, "0.1", (1.45, 0.64))
    draw_move(axes, 3, 3, "0.1", (3.74, 0.33))
    draw_move(axes, 3, 2, "0.1 moves by 97", (2.2, 0.78))
    axes.text(-0.62, LAWS + 0.3, "first law", color=BLUE, ha="right", va="center")
    axes.text(-0.62, -0.2, "second law", color=ORANGE, ha="right", va="center")
    for place, point in zip(PLACES, POINTS, strict=True):
        axes.text(place, -0.62, f"{point}", color=BLACK, ha="center", va="center", fontsize=11)
    axes.text(-0.62, -0.62, "value", color=BLACK, ha="right", va="center")
    axes.set_title("all mass moves by at most 97; all but 0.1 of it by at most 1", loc="left", fontsize=10)
    axes.set_xlim(-1.35, 4.3)
    axes.set_ylim(-0.72, 1.78)
    axes.set_axis_off()
    figure.savefig(TARGET, metadata={"Date": None})


if __name__ == "__main__":
    draw()
    print(f"{TARGET.name}: {TARGET.stat().st_size:,} bytes")
