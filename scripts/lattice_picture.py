"""Draw docs/images/lattice_trap.svg: why noise along one direction hides no count, and what hides it.

Usage: python scripts/lattice_picture.py
"""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgba
from matplotlib.patches import Circle
from numpy.typing import NDArray

TARGET = Path(__file__).parents[1] / "docs" / "images" / "lattice_trap.svg"
BLUE, ORANGE, GREY = "#0072b2", "#d55e00", "#b0b0b0"  # told apart by colour-blind readers
TRUTH = (31.0, 26.0)
SLOPE = 0.43
ALONG = (TRUTH[0] + 2.6, TRUTH[1] + 2.6 * SLOPE)
AROUND = (TRUTH[0] + 1.3, TRUTH[1] - 0.85)
DEVIATION = 1.5
WINDOW = ((26.4, 36.9), (21.6, 29.6))

Counts = NDArray[np.float64]
Place = tuple[float, float]


def lattice() -> tuple[Counts, Counts]:
    """Return the pairs of whole numbers in the window: all first ones, all second ones."""
    across, up = (np.arange(np.ceil(low), high) for low, high in WINDOW)
    first, second = np.meshgrid(across, up)
    return first.ravel(), second.ravel()


def label(axes: Axes, text: str, place: Place, at: Place, colour: str) -> None:
    """Name a point, with a thin line from the name to it."""
    leader = {"arrowstyle": "-", "color": colour, "linewidth": 0.8, "shrinkB": 5}
    axes.annotate(text, place, xytext=at, color=colour, va="center", fontsize=9, arrowprops=leader)


def draw_line(axes: Axes) -> None:
    """Show noise along one direction: of all points on the line through the release, one is a pair of counts."""
    axes.axline(ALONG, slope=SLOPE, color=ORANGE, linewidth=1.2, zorder=1)
    axes.scatter(*lattice(), 14, color=GREY, zorder=2)
    axes.scatter([TRUTH[0]], [TRUTH[1]], 60, color=BLUE, zorder=3)
    axes.scatter([ALONG[0]], [ALONG[1]], 70, color=ORANGE, marker="X", zorder=3)
    label(axes, "true: the only whole numbers on the line", TRUTH, (27.45, 28.5), BLUE)
    label(axes, "released", ALONG, (33.3, 25.5), ORANGE)
    axes.set_title("noise along one direction: read off", loc="left", fontsize=10)


def draw_disc(axes: Axes) -> None:
    """Show noise in every direction: many pairs of counts explain the release about as well as the true one."""
    first, second = lattice()
    plausible = np.exp(-((first - AROUND[0]) ** 2 + (second - AROUND[1]) ** 2) / (2 * DEVIATION**2))
    for radius, style in ((1, "-"), (2, "--")):
        axes.add_patch(Circle(AROUND, radius * DEVIATION, fill=False, color=ORANGE, linestyle=style, zorder=1))
    axes.scatter(first, second, 14, color=GREY, zorder=2)
    shades = [to_rgba(BLUE, share) for share in plausible]
    axes.scatter(first, second, 14 + 46 * plausible, color=shades, linewidths=0, zorder=3)
    axes.scatter([AROUND[0]], [AROUND[1]], 70, color=ORANGE, marker="X", zorder=4)
    label(axes, "true: one of many that are plausible", TRUTH, (26.7, 28.5), BLUE)
    label(axes, "released", AROUND, (35.35, 27.5), ORANGE)
    axes.set_title("noise in every direction: hidden", loc="left", fontsize=10)


def draw() -> None:
    """Draw both panels side by side, with the same true counts."""
    plt.switch_backend("svg")
    plt.rcParams["svg.hashsalt"] = "distpriv"
    figure, panels = plt.subplots(1, 2, figsize=(9.2, 3.9), sharey=True, layout="constrained")
    for axes, show in zip(panels, (draw_line, draw_disc), strict=True):
        show(axes)
        axes.set_xlim(*WINDOW[0])
        axes.set_ylim(*WINDOW[1])
        axes.set_aspect("equal")
        axes.set_xlabel("women among 100 persons (count)")
        axes.spines[["top", "right"]].set_visible(False)
    panels[0].set_ylabel("never married among 100 persons (count)", fontsize=9)
    figure.savefig(TARGET, metadata={"Date": None})


if __name__ == "__main__":
    draw()
    print(f"{TARGET.name}: {TARGET.stat().st_size:,} bytes")
