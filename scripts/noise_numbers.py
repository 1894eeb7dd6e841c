"""Measure docs/images/noise.json: the noise of every mechanism and the error it leaves, for both secrets of the paper.

Usage: python scripts/noise_numbers.py     (about ten minutes)
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from paper.setting import paper_query

import distpriv as dp
from distpriv.guarantees.mechanism import AdditiveMechanism
from distpriv.modelling.drawing import Reference
from distpriv.planning.option import Option

TARGET = Path(__file__).parents[1] / "docs" / "images" / "noise.json"
RECORDS, DELTA, SEED = 100, 1e-3, 0
PREDICATES = {"income": "income = '>50K'", "work class": "workclass = 'Private'"}
SHARES = {
    "income": [(0.45, 0.55), (0.3, 0.7)],
    "work class": [(0.48, 0.52), (0.45, 0.55), (0.3, 0.7)],
}
"""The values that the paper keeps apart, first the two of its main experiment."""
EPSILONS = (0.1, 0.2, 0.5, 1.0, 2.0, 3.0, 5.0, 10.0)
TABLE_EPSILONS = (0.2, 1.0, 5.0)
FOR_ESTIMATES = (
    "informative_gaussian",
    "certified_laplace",
    "certified_unimodal",
    "coupled_gaussian",
    "coupled_laplace",
)
"""What leaves the best estimates at trust gaussian or sampling; all other noise leaves them more error."""

MEASURES: dict[str, Callable[[dp.QueryModel, dp.PrivacyTarget], float]] = {
    "DauM (G) of the paper, classic radius": lambda *given: (
        dp.mechanisms.directional_uncertainty(*given, radius="classic", covariance="pooled").noise.expected_l2
    ),
    "`optimal_gaussian`": lambda *given: dp.mechanisms.optimal_gaussian(*given, covariance="pooled").noise.expected_l2,
    "`certified_gaussian`, rms": lambda *given: held(dp.mechanisms.certified_gaussian(*given)).noise.expected_rms,
    "`certified_laplace`": lambda *given: held(dp.mechanisms.certified_laplace(*given)).noise.expected_l2,
    "`certified_unimodal`": lambda *given: held(dp.mechanisms.certified_unimodal(*given)).noise.expected_l2,
    "`coupled_gaussian`, independent swaps": lambda *given: (
        held(dp.mechanisms.coupled_gaussian(*given, pairing="independent", seed=SEED)).noise.expected_l2
    ),
    "`coupled_gaussian`, transported swaps": lambda *given: (
        held(dp.mechanisms.coupled_gaussian(*given, pairing="transport", seed=SEED)).noise.expected_l2
    ),
}
"""The rows of the table of new mechanisms."""


def held(mechanism: AdditiveMechanism) -> AdditiveMechanism:
    """Return the mechanism, whose certificate must hold."""
    if not mechanism.certificate.holds:
        raise AssertionError(f"{mechanism.name} misses its target: do not publish its error.")
    return mechanism


def model_of(secret: str, shares: tuple[float, float], reference: Reference = "population") -> dp.QueryModel:
    """Return the model of the paper's five statistics, two shares to be kept apart."""
    share = dp.Share(PREDICATES[secret], values=shares)
    return dp.model(dp.datasets.adult(), paper_query(), share, records=RECORDS, reference=reference)


def measured_plan(secret: str, model: dp.QueryModel, sample: dp.QueryModel, epsilon: float) -> dict[str, Any]:
    """Return what plans say at one ε: the noise of every mechanism, and what is left after estimates by a few."""
    target = dp.PrivacyTarget(epsilon=epsilon, delta=DELTA)
    plan = dp.plan(model, target, all=True, objective="noise", seed=SEED)
    telling = dp.plan(model, target, all=True, mechanisms=FOR_ESTIMATES, seed=SEED)
    on_sample = dp.plan(sample, target, mechanisms=["informative_gaussian"])
    return {
        "secret": secret,
        "epsilon": epsilon,
        "undefended_attack_accuracy": rounded(plan.undefended_attack_accuracy),
        "public_error": rounded(plan.public_error),
        "public_error_on_sample": rounded(on_sample.public_error),
        "options": [measured(found) for found in plan.options],
        "estimates": [measured(found) for found in telling.options],
        "on_sample": [measured(found) for found in on_sample.options],
    }


def measured(found: Option) -> dict[str, Any]:
    """Return the numbers of one mechanism."""
    certificate = found.mechanism.certificate
    return {
        "mechanism": found.name,
        "error": rounded(found.error),
        "estimate_error": rounded(found.estimate_error),
        "information": rounded(found.information),
        "delta": rounded(certificate.delta),
        "holds": certificate.holds,
        "trust": certificate.trust,
        "attack_accuracy": rounded(found.attack_accuracy),
    }


def measured_column(secret: str, shares: tuple[float, float], model: dp.QueryModel, epsilon: float) -> dict[str, Any]:
    """Return one column of the table of new mechanisms."""
    target = dp.PrivacyTarget(epsilon=epsilon, delta=DELTA)
    values = {name: rounded(measure(model, target)) for name, measure in MEASURES.items()}
    return {"secret": secret, "shares": list(shares), "epsilon": epsilon, "errors": values}


def rounded(number: float) -> float:
    """Return six digits: more than the mechanisms' own searches promise."""
    return float(f"{number:.6g}")


def measure() -> dict[str, Any]:
    """Return all numbers of the page."""
    plans, columns = [], []
    for secret, several in SHARES.items():
        for k, shares in enumerate(several):
            model = model_of(secret, shares)
            if k == 0:
                sample = model_of(secret, shares, "sample")
                plans += [_told(measured_plan(secret, model, sample, epsilon)) for epsilon in EPSILONS]
            columns += [_told(measured_column(secret, shares, model, epsilon)) for epsilon in TABLE_EPSILONS]
    return {"records": RECORDS, "delta": DELTA, "seed": SEED, "plans": plans, "columns": columns}


def _told(result: dict[str, Any]) -> dict[str, Any]:
    print({key: value for key, value in result.items() if not isinstance(value, list) or key == "shares"}, flush=True)
    return result


if __name__ == "__main__":
    TARGET.write_text(json.dumps(measure(), indent=1) + "\n", encoding="utf-8")
