"""Draw docs/images/two_scenarios.svg: what the paper's five statistics tell about the share of high earners.

Usage: python scripts/readme_picture.py
"""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import distpriv as dp
from distpriv.cli.demo import paper_query

TARGET = Path(__file__).parents[1] / "docs" / "images" / "two_scenarios.svg"
COLOURS = ("#0072b2", "#d55e00")  # told apart by colour-blind readers


def draw() -> None:
    """Project 20,000 sampled datasets of each scenario on the direction that separates them best."""
    secret = dp.Share("income = '>50K'", values=(0.45, 0.55))
    model = dp.model(dp.datasets.adult(), paper_query(), secret, records=100, reference="population")
    first, second = model.distributions.values()
    pooled = (first.covariance + second.covariance) / 2
    shift = second.mean - first.mean
    direction = np.linalg.solve(pooled, shift)
    direction /= np.sqrt(direction @ pooled @ direction)
    centre = (first.mean + second.mean) / 2
    plt.switch_backend("svg")
    plt.rcParams["svg.hashsalt"] = "distpriv"
    figure, axes = plt.subplots(figsize=(7.2, 3.2), layout="constrained")
    grid = np.linspace(-4.2, 4.2, 400)
    for (name, law), colour, share in zip(model.distributions.items(), COLOURS, (45, 55), strict=True):
        seen = (model.samples(name, 20_000) - centre) @ direction
        axes.hist(seen, bins=70, range=(-4.2, 4.2), density=True, color=colour, alpha=0.35)
        middle, spread = (law.mean - centre) @ direction, np.sqrt(direction @ law.covariance @ direction)
        curve = np.exp(-(((grid - middle) / spread) ** 2) / 2) / (spread * np.sqrt(2 * np.pi))
        axes.plot(grid, curve, color=colour, label=f"{share} % of 100 persons earn over 50K")
    axes.set_xlabel("five published statistics, along their most telling direction (standard deviations)")
    axes.set_ylabel("density")
    axes.set_xlim(-4.2, 4.2)
    axes.set_ylim(0, 0.56)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, loc="upper left")
    figure.savefig(TARGET, metadata={"Date": None})


if __name__ == "__main__":
    draw()
    print(f"{TARGET.name}: {TARGET.stat().st_size:,} bytes")
