"""Draw docs/images/float_noise.svg: low-order bits tell floating-point noise around 0 from noise around 1.

Usage: python -m scripts.float_noise_picture
"""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from scripts.float_bits import finest_bit

from distpriv.framework.arrays import Floats

TARGET = Path(__file__).parents[1] / "docs" / "images" / "float_noise.svg"
BLUE, ORANGE = "#0072b2", "#d55e00"  # told apart by colour-blind readers
RELEASES = 1_000_000
GRID = -20


def in_floats(value: float, rng: np.random.Generator) -> Floats:
    """Add Laplace noise of scale 1 as it is commonly done."""
    return np.asarray(value + rng.laplace(0.0, 1.0, RELEASES))


def on_a_grid(value: float, rng: np.random.Generator) -> Floats:
    """Add discrete Laplace noise of the same scale in whole numbers of a grid."""
    chance = -np.expm1(-(2.0**GRID))
    steps = rng.geometric(chance, RELEASES) - rng.geometric(chance, RELEASES)
    return np.asarray((round(value / 2.0**GRID) + steps) * 2.0**GRID)


def bars(axes: Axes, zero: Floats, one: Floats, places: range, title: str) -> None:
    """Show the share of releases by their finest bit."""
    for released, offset, colour, name in ((zero, -0.2, BLUE, "true value 0"), (one, 0.2, ORANGE, "true value 1")):
        found = np.clip(finest_bit(released), places[0], places[-1]) - places[0]
        shares = np.bincount(found, minlength=len(places)) / len(released)
        axes.bar(np.array(places) + offset, 100 * shares, width=0.4, color=colour, label=name)
    axes.set_title(title, loc="left", fontsize=10)
    axes.set_xlabel("last bit that is set (power of two)")
    axes.set_xlim(places[0] - 0.6, places[-1] + 0.6)
    axes.spines[["top", "right"]].set_visible(False)


def draw() -> None:
    """Draw both panels side by side."""
    plt.switch_backend("svg")
    plt.rcParams["svg.hashsalt"] = "distpriv"
    rng = np.random.default_rng(0)
    figure, panels = plt.subplots(1, 2, figsize=(9.2, 3.4), sharey=True, layout="constrained")
    bars(panels[0], in_floats(0.0, rng), in_floats(1.0, rng), range(-64, -41), "floating-point noise: told apart")
    bars(panels[1], on_a_grid(0.0, rng), on_a_grid(1.0, rng), range(-28, -5), "whole numbers of a grid of 2⁻²⁰: alike")
    panels[0].axvspan(-64.6, -53.5, color=BLUE, alpha=0.08, linewidth=0)
    panels[0].annotate("never from 1", (-59, 34), color=BLUE, ha="center", fontsize=9)
    panels[0].set_ylabel("share of releases (%)")
    panels[0].legend(frameon=False, fontsize=9)
    figure.savefig(TARGET, metadata={"Date": None})


if __name__ == "__main__":
    draw()
    print(f"{TARGET.name}: {TARGET.stat().st_size:,} bytes")
