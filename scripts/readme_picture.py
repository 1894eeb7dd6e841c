"""Draw docs/images/two_scenarios.svg and at_a_glance.svg: what five statistics tell of a share, before and after.

Usage: python scripts/readme_picture.py
"""

import math
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from paper.setting import paper_query

import distpriv as dp
from distpriv.framework.arrays import Floats

IMAGES = Path(__file__).parents[1] / "docs" / "images"
COLOURS = ("#0072b2", "#d55e00")  # told apart by colour-blind readers
PUBLIC, ESTIMATE = "#bbbbbb", "#009e73"
UNITS = {"mean_age": "years", "mean_education": "years", "mean_hours": "hours"}
WITHIN = 1.96
"""Standard deviations to each side that hold 95 of 100 errors."""


def model() -> dp.QueryModel:
    """Return the model of the paper's five statistics."""
    secret = dp.Share("income = '>50K'", values=(0.45, 0.55))
    return dp.model(dp.datasets.adult(), paper_query(), secret, records=100)


def curves(axes: Axes, made: dp.QueryModel, plan: dp.Plan | None = None) -> None:
    """Show 20,000 answers in each scenario along the direction that separates them best, and their Gaussian laws.

    With a plan, they are its noisy answers.
    """
    first, second = made.distributions.values()
    size = made.dimension
    added: Floats = np.zeros((size, size)) if plan is None else plan.mechanism.noise.covariance
    pooled = (first.covariance + second.covariance) / 2 + added
    direction = np.linalg.solve(pooled, second.mean - first.mean)
    direction /= np.sqrt(direction @ pooled @ direction)
    centre = (first.mean + second.mean) / 2
    grid = np.linspace(-4.2, 4.2, 400)
    for seed, ((name, law), colour, share) in enumerate(
        zip(made.distributions.items(), COLOURS, (45, 55), strict=True)
    ):
        noise = 0.0 if plan is None else plan.mechanism.noise.simulate(20_000, seed)
        seen = (made.samples(name, 20_000) + noise - centre) @ direction
        axes.hist(seen, bins=70, range=(-4.2, 4.2), density=True, color=colour, alpha=0.35)
        middle, spread = (law.mean - centre) @ direction, np.sqrt(direction @ (law.covariance + added) @ direction)
        curve = np.exp(-(((grid - middle) / spread) ** 2) / 2) / (spread * np.sqrt(2 * np.pi))
        axes.plot(grid, curve, color=colour, label=f"{share} % of 100 people earn over 50K")
    axes.set_ylabel("density")
    axes.set_xlim(-4.2, 4.2)
    axes.set_ylim(0, 0.56)
    axes.spines[["top", "right"]].set_visible(False)


def errors(axes: Axes, plan: dp.Plan) -> None:
    """Show how far the public mean and the estimate of each statistic are off."""
    assert plan.chosen is not None
    public, after = plan.public_errors, plan.chosen.estimate_errors
    names = list(public)[::-1]
    for place, name in enumerate(names):
        unit = UNITS.get(name, "people")
        axes.barh(place + 0.2, 100, height=0.36, color=PUBLIC, label="public mean, no release" if place == 0 else None)
        share = 100 * after[name] / public[name]
        axes.barh(place - 0.2, share, height=0.36, color=ESTIMATE, label="estimate" if place == 0 else None)
        for height, error in ((0.2, public[name]), (-0.2, after[name])):
            axes.text(2, place + height, f"± {WITHIN * error:.1f} {unit}", va="center", fontsize=8)
    axes.set_yticks(range(len(names)), [name.removeprefix("mean_").replace("_", " ") for name in names])
    axes.set_xlim(0, 104)
    axes.set_xlabel("error, in percent of the public mean's")
    axes.spines[["top", "right"]].set_visible(False)


def draw_before(made: dp.QueryModel, target: Path) -> None:
    """Draw what the statistics tell as they are."""
    figure, axes = plt.subplots(figsize=(7.2, 3.2), layout="constrained")
    curves(axes, made)
    axes.set_xlabel("five statistics, along their most discriminating direction (standard deviations)")
    axes.legend(frameon=False, loc="upper left")
    figure.savefig(target, metadata={"Date": None})


def draw_at_a_glance(made: dp.QueryModel, plan: dp.Plan, target: Path) -> None:
    """Draw what an attacker sees before and after, and how good what is published is."""
    assert plan.chosen is not None
    figure, (before, after, worth) = plt.subplots(
        1, 3, figsize=(12, 3.6), layout="constrained", gridspec_kw={"width_ratios": (1, 1, 1.15)}
    )
    curves(before, made)
    curves(after, made, plan)
    errors(worth, plan)
    right, at_most = plan.undefended_attack_accuracy, plan.chosen.attack_accuracy
    before.set_title(f"Published without noise:\nan attacker is right {100 * right:.0f} % of the time", fontsize=10)
    after.set_title(
        f"Released at ε = 1, δ = 0.001:\nright at most {math.ceil(100 * at_most)} % of the time", fontsize=10
    )
    worth.set_title("Error of the published estimates:\n95 % half-widths", fontsize=10)
    for axes in (before, after):
        axes.set_xlabel("five statistics, most discriminating direction")
    figure.legend(*before.get_legend_handles_labels(), frameon=False, ncols=2, loc="outside lower left", fontsize=9)
    figure.legend(*worth.get_legend_handles_labels(), frameon=False, ncols=2, loc="outside lower right", fontsize=9)
    figure.savefig(target, metadata={"Date": None})


if __name__ == "__main__":
    plt.switch_backend("svg")
    plt.rcParams["svg.hashsalt"] = "distpriv"
    adult = model()
    draw_before(adult, IMAGES / "two_scenarios.svg")
    target = dp.PrivacyTarget(epsilon=1, delta=1e-3)
    draw_at_a_glance(adult, dp.plan(adult, target, mechanisms=["certified_gaussian"]), IMAGES / "at_a_glance.svg")
    for name in ("two_scenarios.svg", "at_a_glance.svg"):
        print(f"{name}: {(IMAGES / name).stat().st_size:,} bytes")
