"""Draw the pictures of the worked examples, docs/images/examples/*.svg, from their recorded numbers and seeded draws.

Usage: python scripts/example_pictures.py
"""

import json
import sys
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from scipy.stats import norm

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "docs" / "images" / "examples"
sys.path.insert(0, str(ROOT))

import distpriv as dp  # noqa: E402
from examples import hospital, regression, salaries  # noqa: E402

BLUE, ORANGE, GREEN, GREY = "#0072b2", "#d55e00", "#009e73", "#888888"  # told apart by colour-blind readers


def census_picture(found: dict[str, Any]) -> Figure:
    """Draw every attack's success: without noise, with the paper's noise, with certified noise."""
    figure, axes = plt.subplots(figsize=(7.4, 3.4), layout="constrained")
    names = sorted(found["audit"]["attacks"])
    series = {
        "no noise": ([found["audit"]["attacks"][name][0] for name in names], GREY),
        "directional_uncertainty": ([found["paper_audit"]["attacks"][name][1] for name in names], ORANGE),
        found["chosen"]: ([found["audit"]["attacks"][name][1] for name in names], BLUE),
    }
    for k, (label, (values, colour)) in enumerate(series.items()):
        axes.bar(np.arange(len(names)) + 0.26 * (k - 1), [100 * v for v in values], 0.24, color=colour, label=label)
    axes.axhline(100 * found["audit"]["ceiling"], color="black", linestyle="dashed", linewidth=1)
    axes.text(len(names) - 0.4, 100 * found["audit"]["ceiling"] + 0.4, "allowed by\n(1, 0.001)", fontsize=9)
    axes.set_xlim(-0.6, len(names) + 0.4)
    axes.set_xticks(range(len(names)), names)
    axes.set_ylim(48, 88)
    axes.set_ylabel("attacker is right, % of cases")
    axes.legend(frameon=False, ncols=3, loc="upper left")
    return figure


def company_picture(found: dict[str, Any]) -> Figure:
    """Draw the noise of every statistic as a share of it: for each secret alone, for all, and with weights."""
    figure, axes = plt.subplots(figsize=(7.4, 3.4), layout="constrained")
    colours = (BLUE, ORANGE, GREEN)
    rows = [(name, costs, colour) for (name, costs), colour in zip(found["alone"].items(), colours, strict=True)]
    rows += [("all three", found["together"], GREY), ("all three, weighted", found["weighted"], "#333333")]
    names = list(found["means"])
    for k, (label, costs, colour) in enumerate(rows):
        shares = [100 * costs["errors"][name] / found["means"][name] for name in names]
        axes.bar(np.arange(len(names)) + 0.16 * (k - 2), shares, 0.15, color=colour, label=label)
    axes.set_xticks(range(len(names)), names)
    axes.set_ylabel("noise, % of the statistic")
    axes.legend(frameon=False)
    return figure


def hospital_picture() -> Figure:
    """Draw the median stay as it is, with the Gaussian that has its moments, and as it is released."""
    reference = hospital.admissions(6000, 1800, seed=1)
    model = dp.model(reference, hospital.QUERY, hospital.SECRET, records=hospital.RECORDS, draws=4000)
    mechanism = dp.mechanisms.coupled_gaussian(model, hospital.TARGET, seed=7, draws=hospital.DRAWS)
    figure, (left, right) = plt.subplots(1, 2, figsize=(7.4, 3.2), layout="constrained")
    for law, share, colour in zip(model.distributions.values(), (25, 30), (BLUE, ORANGE), strict=True):
        assert law.points is not None
        stays = law.points[:, 0]
        places, counts = np.unique(stays, return_counts=True)
        aside = -0.05 if share == 25 else 0.05
        left.bar(places + aside, counts / len(stays), 0.1, color=colour, label=f"{share} % emergencies")
        grid = np.linspace(5, 8, 200)
        curve = norm.pdf(grid, stays.mean(), stays.std()) * 0.5  # as chances of the half days that there are
        left.plot(grid, curve, color=colour, linestyle="dashed", linewidth=1)
        released = stays + mechanism.noise.simulate(len(stays), share)[:, 0]
        right.hist(released, bins=40, range=(-1, 14), density=True, color=colour, alpha=0.45)
    left.set_xlabel("median stay, days (dashed: Gaussian)")
    left.set_ylabel("chance")
    left.set_ylim(0, 0.95)
    left.legend(frameon=False, ncols=2, loc="upper center", fontsize=9, columnspacing=1.0, handlelength=1.2)
    right.set_xlabel("released median stay, days")
    right.set_ylabel("density")
    return figure


def regression_picture() -> Figure:
    """Draw intercept and slope of education for both shares: plain, balanced, and balanced with noise."""
    public, _ = regression.split(regression.people())
    figure, panels = plt.subplots(1, 3, figsize=(8.4, 3.2), layout="constrained", sharex=True, sharey=True)
    clouds: dict[str, list[Any]] = {}
    for balanced in (False, True):
        plan = regression.planned(public, balanced=balanced)
        samples = [plan.model.samples(name, 120, seed=9) for name in plan.model.distributions]
        clouds["balanced" if balanced else "plain"] = samples
        if balanced:
            noise = [plan.mechanism.noise.simulate(len(each), seed) for seed, each in enumerate(samples)]
            clouds["balanced, with noise"] = [each + added for each, added in zip(samples, noise, strict=True)]
    for axes, (title, pair) in zip(panels, clouds.items(), strict=True):
        _scatter(axes, title, pair)
    panels[0].set_ylabel("slope of education")
    panels[0].legend(frameon=False, fontsize=8, loc="upper left")
    return figure


def _scatter(axes: Axes, title: str, pair: list[Any]) -> None:
    for samples, share, colour in zip(pair, (45, 55), (BLUE, ORANGE), strict=True):
        axes.scatter(samples[:, 0], samples[:, 2], s=6, color=colour, alpha=0.5, label=f"{share} % high incomes")
    axes.set_title(title, fontsize=10)
    axes.set_xlabel("intercept")


def salaries_picture() -> Figure:
    """Draw the salaries of the reference, and those of both scenarios with their weights."""
    industry = salaries.employees(5000, seed=1)
    secret = salaries.SECRETS["mean salary"]
    model = dp.model(industry, salaries.QUERY, secret, records=salaries.RECORDS, reference="population")
    figure, axes = plt.subplots(figsize=(7.4, 3.2), layout="constrained")
    paid = industry["salary"].to_numpy() / 1000
    axes.hist(paid, bins=50, range=(20, 110), density=True, color=GREY, alpha=0.4, label="the industry, mean 49.5")
    for name, mean, colour in zip(model.distributions, ("50", "54"), (BLUE, ORANGE), strict=True):
        (stratum,) = model.rows().strata(name)
        axes.hist(
            paid[stratum.rows],
            bins=50,
            range=(20, 110),
            weights=stratum.weights,
            density=True,
            histtype="step",
            color=colour,
            label=f"weighed to a mean of {mean}",
        )
    axes.set_xlabel("salary, thousands")
    axes.set_yticks([])
    axes.legend(frameon=False)
    return figure


def save(name: str, figure: Figure) -> None:
    """Write a picture that is the same every time."""
    for axes in figure.axes:
        axes.spines[["top", "right"]].set_visible(False)
    target = FOLDER / f"{name}.svg"
    figure.savefig(target, metadata={"Date": None})
    plt.close(figure)
    print(f"{target.name}: {target.stat().st_size:,} bytes")


if __name__ == "__main__":
    plt.switch_backend("svg")
    plt.rcParams["svg.hashsalt"] = "distpriv"
    recorded = json.loads((FOLDER / "numbers.json").read_text(encoding="utf-8"))
    save("census", census_picture(recorded["census"]))
    save("company", company_picture(recorded["company"]))
    save("hospital", hospital_picture())
    save("regression", regression_picture())
    save("salaries", salaries_picture())
