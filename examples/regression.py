"""A bank publishes a logistic regression, and hides how many of the training records had a high income.

The coefficients predict who earns over 50K. Trained on 1000 records, the plain regression gives away at once whether
45 % or 55 % of them were high earners: its intercept moves with the share. Two remedies, one after the other: a
regression that counts both classes alike says less by itself, and noise from coupled draws hides what is left.

Usage: python examples/regression.py
"""

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
from attrs import frozen
from numpy.typing import NDArray

import distpriv as dp
from distpriv.auditing.report import AuditReport

Floats = NDArray[np.float64]

RECORDS = 1000
FEATURES = ("age", "education", "hours", "married")
SECRET = dp.Share("high = 1", values=(0.45, 0.55))
TARGET = dp.PrivacyTarget(epsilon=1.0, delta=0.01)
DRAWS = 4000
"""Coupled draws, two regressions each, and as many again for the shape of the noise."""
RIDGE = 1.0
"""Keeps the coefficients finite on any data."""


def people() -> pa.Table:
    """Return the Adult data as numbers of about the size of one: the units are public, and no data of the bank's."""
    adult = dp.datasets.adult()
    text = {name: np.array(adult[name].to_pylist()) for name in ("marital_status", "income")}
    columns = {
        "age": (adult["age"].to_numpy() - 40) / 13,
        "education": (adult["education_num"].to_numpy() - 10) / 2.5,
        "hours": (adult["hours_per_week"].to_numpy() - 40) / 12,
        "married": (text["marital_status"] == "Married-civ-spouse") * 1.0,
        "high": (text["income"] == ">50K") * 1.0,
    }
    return pa.table(columns)


def design(rows: Mapping[str, NDArray[Any]]) -> Floats:
    """Return the columns of the regression: a constant, and the features."""
    return np.column_stack([np.ones(len(rows["age"])), *(rows[name] for name in FEATURES)])


def logistic_regression(rows: Mapping[str, NDArray[Any]], *, balanced: bool) -> Floats:
    """Return intercept and slopes by Newton's method; balanced, every class weighs one half, however many it has."""
    x, y = design(rows), rows["high"]
    share = y.mean()
    weights = np.where(y == 1, 0.5 / share, 0.5 / (1 - share)) if balanced else np.ones(len(y))
    coefficients = np.zeros(x.shape[1])
    penalty = RIDGE * np.eye(x.shape[1])
    for _ in range(25):
        chance = 1 / (1 + np.exp(-x @ coefficients))
        gradient = x.T @ (weights * (y - chance)) - penalty @ coefficients
        curvature = (x.T * (weights * chance * (1 - chance))) @ x + penalty
        step = np.linalg.solve(curvature, gradient)
        coefficients += step
        if np.abs(step).max() < 1e-6:
            break
    return coefficients


def accuracy(coefficients: Floats, table: pa.Table) -> float:
    """Return how often a regression is right about persons of either class, on average over the two classes."""
    rows = {name: table[name].to_numpy() for name in table.column_names}
    guessed = design(rows) @ coefficients > 0
    return float((guessed[rows["high"] == 1].mean() + 1 - guessed[rows["high"] == 0].mean()) / 2)


@frozen(kw_only=True)
class Published:
    """One way to publish the regression, with what it tells and what it is worth."""

    errors: tuple[float, ...]
    """The standard deviation of the noise in the intercept and the slopes."""
    coefficients: tuple[float, ...]
    """What they are on average where 45 % have a high income."""
    certificate_holds: bool
    assurance: str
    audit: AuditReport
    clean_accuracy: float
    """Of predictions, without noise."""
    noisy_accuracy: tuple[float, float, float]
    """The same with noise: exceeded by 90 %, 50 % and 10 % of releases."""


@frozen(kw_only=True)
class Regression:
    """What the example found."""

    plain: Published
    balanced: Published
    released: dict[str, float]
    """The balanced coefficients with noise; drawn anew on every run."""


def planned(table: pa.Table, *, balanced: bool, draws: int = DRAWS) -> dp.Plan:
    """Plan the release of a regression."""
    fit = partial(logistic_regression, balanced=balanced)
    statistic = dp.function(fit, columns=[*FEATURES, "high"], size=len(FEATURES) + 1)
    model = dp.model(table, dp.Query(beta=statistic), SECRET, records=RECORDS, draws=1000)
    mechanisms = {"coupled_gaussian": {"draws": draws, "pairing": "independent"}}
    # A seed makes the example repeatable. Leave it out for data that matter: then nobody can have chosen it.
    # Whoever predicts with the coefficients uses the noisy ones, so it is their noise that counts.
    return dp.plan(model, TARGET, assurance="proved", objective="noise", mechanisms=mechanisms, seed=7)


def published(plan: dp.Plan, table: pa.Table) -> Published:
    """Attack releases of a regression, and see what they still predict."""
    noise, first = plan.mechanism.noise, plan.model.protected_pairs[0][0]
    trained = plan.model.samples(first, 200, seed=3)
    clean = [accuracy(coefficients, table) for coefficients in trained]
    noisy = [accuracy(coefficients, table) for coefficients in trained + noise.simulate(len(trained), 5)]
    low, middle, high = np.quantile(noisy, [0.1, 0.5, 0.9]).tolist()
    return Published(
        errors=tuple(np.sqrt(np.diag(noise.covariance)).tolist()),
        coefficients=tuple(trained.mean(axis=0).tolist()),
        certificate_holds=plan.mechanism.certificate.holds,
        assurance=plan.mechanism.certificate.assurance,
        audit=dp.audit(plan, shadows=2000, releases=4000, seed=1),
        clean_accuracy=float(np.mean(clean)),
        noisy_accuracy=(low, middle, high),
    )


def show(name: str, found: Published) -> None:
    """Print what came of one regression."""
    best, before = found.audit.attacks[0], max(a.undefended.accuracy for a in found.audit.attacks)
    print(f"The {name} regression, intercept first:")
    for label, numbers in (("coefficients", found.coefficients), ("noise needed", found.errors)):
        print(f"  {label}   {'  '.join(f'{number:+.2f}'.replace('+', ' ') for number in numbers)}")
    print(f"  attack         {before:.1%} right without noise, {best.accuracy:.1%} with it", end="")
    print(f" (ceiling {found.audit.attack_accuracy_ceiling:.1%})")
    low, middle, high = found.noisy_accuracy
    print(f"  predictions    {found.clean_accuracy:.1%} right without noise, {middle:.1%} with it", end="")
    print(f" (80 % of releases: {low:.1%} to {high:.1%})\n")


def split(table: pa.Table) -> tuple[pa.Table, pa.Table]:
    """Return public rows, and the bank's own that are not among them, 55 % of whom have a high income."""
    rng = np.random.default_rng(11)
    high = table["high"].to_numpy() == 1
    picked = [rng.choice(np.flatnonzero(side), count, replace=False) for side, count in ((high, 550), (~high, 450))]
    own = np.concatenate(picked)
    return table.take(np.setdiff1d(np.arange(table.num_rows), own)), table.take(own)


def main() -> Regression:
    """Tell the story, and return its numbers."""
    public, private = split(people())
    plain = published(planned(public, balanced=False), public)
    show("plain", plain)
    plan = planned(public, balanced=True)
    balanced = published(plan, public)
    show("balanced", balanced)
    release = dp.release(plan, private, ledger=None)
    predicts = accuracy(np.array(list(release.values.values())), public)
    print(f"The balanced regression of the bank's {RECORDS} records (the noise is new on every run):")
    print("  " + ", ".join(f"{name} {value:.2f}" for name, value in release.values.items()))
    print(f"  right about {predicts:.1%} of persons")
    return Regression(plain=plain, balanced=balanced, released=dict(release.values))


if __name__ == "__main__":
    main()
