"""Draw docs/images/lattice_attack.svg: what attacks achieve against noise along one direction, and along all.

Usage: python scripts/lattice_attack_picture.py
"""

from collections.abc import Callable
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from paper.setting import paper_query

import distpriv as dp
from distpriv.auditing.audit import audit
from distpriv.guarantees.mechanism import AdditiveMechanism

TARGET = Path(__file__).parents[1] / "docs" / "images" / "lattice_attack.svg"
STYLES = {
    "lattice": ("#d55e00", "o", "lattice attack"),
    "bayes": ("#0072b2", "s", "likelihood ratio"),
    "naive": ("#999999", "^", "the paper's attack"),
}  # told apart by colour-blind readers, and by their marks
EPSILONS = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0)


def panel(
    axes: Axes, model: dp.QueryModel, make: Callable[[dp.QueryModel, dp.PrivacyTarget], AdditiveMechanism], title: str
) -> None:
    """Show how often each attack is right, and what is claimed."""
    targets = [dp.PrivacyTarget(epsilon=epsilon, delta=1e-3) for epsilon in EPSILONS]
    reports = [audit(make(model, t), model=model, attacks=list(STYLES), releases=20_000) for t in targets]
    for name, (colour, mark, label) in STYLES.items():
        found = [100 * next(a.accuracy for a in report.attacks if a.name == name) for report in reports]
        size = 10 if name == "lattice" else 5  # where it has nothing to decode it is the likelihood ratio
        axes.plot(
            EPSILONS,
            found,
            mark,
            color=colour,
            linestyle="-",
            linewidth=1.2,
            label=label,
            markersize=size,
            markerfacecolor="none" if name == "lattice" else colour,
        )
    fine = np.geomspace(EPSILONS[0], EPSILONS[-1], 100)
    ceiling = [100 * dp.PrivacyTarget(epsilon=e, delta=1e-3).attack_accuracy_ceiling for e in fine]
    axes.plot(fine, ceiling, color="black", linestyle="--", linewidth=1, label="most that (ε, δ) allows")
    axes.set_xscale("log")
    axes.set_xticks(EPSILONS, [f"{epsilon:g}" for epsilon in EPSILONS])
    axes.minorticks_off()
    axes.set_xlabel("ε claimed, at δ = 0.001")
    axes.set_title(title, loc="left", fontsize=10)
    axes.spines[["top", "right"]].set_visible(False)


def draw() -> None:
    """Draw both panels side by side."""
    plt.switch_backend("svg")
    plt.rcParams["svg.hashsalt"] = "distpriv"
    share = dp.Share("income = '>50K'", values=(0.45, 0.55))
    model = dp.model(dp.datasets.adult(), paper_query(), share, records=100, reference="population")
    m = dp.mechanisms
    figure, panels = plt.subplots(1, 2, figsize=(9.2, 3.6), sharey=True, layout="constrained")
    panel(
        panels[0],
        model,
        lambda *given: m.directional_uncertainty(*given, radius="classic", covariance="pooled"),
        "noise along one direction (DauM): decoded",
    )
    panel(panels[1], model, m.expected_value_gaussian, "noise in every direction (ExpM): hidden")
    panels[0].set_ylabel("attacker is right (%)")
    panels[0].set_ylim(48, 101)
    panels[1].legend(frameon=False, fontsize=9, loc="upper left")
    figure.savefig(TARGET, metadata={"Date": None})


if __name__ == "__main__":
    draw()
    print(f"{TARGET.name}: {TARGET.stat().st_size:,} bytes")
