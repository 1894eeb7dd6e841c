"""Pages for a board about the first, the second and the third release of a dataset with laws that are known."""

import math
from typing import Any

import numpy as np
from scipy.stats import norm

import distpriv as dp
from distpriv.auditing.report import AuditReport
from distpriv.guarantees.certify import gaussian_certificate
from distpriv.guarantees.mechanism import AdditiveMechanism
from distpriv.modelling.public_knowledge import Fit
from distpriv.noise.laws import GaussianNoise
from distpriv.releasing.estimating import Estimates
from distpriv.report.page import release_page, render
from distpriv.report.summary import Summary, reading, release_summary

EACH = dp.PrivacyTarget(epsilon=1.0, delta=0.05)
TOTAL = dp.PrivacyTarget(epsilon=2.0, delta=0.05)
STANDARD_DEVIATION = math.sqrt(3.0)
"""Of the noise: with that of the statistics, which is 1, the scenarios are half a standard deviation apart."""
READING = {"statistic": "age", "low": 17.0, "high": 90.0, "otherwise": 38.0}


def joint_accuracy(releases: int) -> float:
    """Return how often the best attacker is right who has so many releases, each of a statistic of its own."""
    return float(norm.cdf(math.sqrt(releases) / 2 / 2))


def law(releases: int) -> dp.QueryModel:
    """Return the law of so many independent statistics, each shifted by one standard deviation."""
    means = {"few": np.zeros(releases), "many": np.ones(releases)}
    return dp.gaussian_model(means=means, covariances=np.eye(releases), pairs=[("few", "many")])


def released(position: int, p_value: float = 0.2) -> dp.Release:
    """Return a release as a ledger would have it."""
    own, all_of_them = (
        gaussian_certificate(law(size), target, GaussianNoise.isotropic(size, STANDARD_DEVIATION), theorem, ())
        for size, target, theorem in ((1, EACH, "the exact check"), (position, TOTAL, "all releases as one"))
    )
    mechanism = AdditiveMechanism(
        name="certified_gaussian",
        statistics=law(1).names,
        noise=GaussianNoise.isotropic(1, STANDARD_DEVIATION),
        certificate=own,
    )
    return dp.Release(
        values={"statistic_1": 40.0},
        intervals={"statistic_1": (36.6, 43.4)},
        mechanism=mechanism,
        joint=all_of_them,
        dataset="ward",
        position=position,
        time="2026-01-01T00:00:00+00:00",
        repeated=False,
        questions="first" if position == 1 else "declared",
        ledger={"id": "5f1c", "number": 2 * position, "head": "ab" * 32},
        estimated=estimated(p_value),
    )


def estimated(p_value: float) -> Estimates:
    """Return estimates that a reference which fits as well as told makes of the answer."""
    return Estimates(
        values={"statistic_1": 39.0},
        intervals={"statistic_1": (37.4, 40.6)},
        fit=Fit(distance=2.0, dimension=1, p_value=p_value),
        public_means={"statistic_1": 38.5},
        public_errors={"statistic_1": 1.1},
        prior={"few": 0.5, "many": 0.5},
        releases=1,
    )


def board(position: int, *, audited: bool = False, p_value: float = 0.2, **changes: Any) -> str:
    """Return the page."""
    return render(release_page(summary(position, audited=audited, p_value=p_value, **changes)))


def summary(
    position: int, *, audited: bool = False, p_value: float = 0.2, release: dp.Release | None = None, **known: Any
) -> Summary:
    """Return what is told of the release."""
    release = release or released(position, p_value)
    figures = {
        "undefended": float(norm.cdf(0.5)),
        "at_most": joint_accuracy(1),
        "together": joint_accuracy(position),
    }
    rest = {
        "figures": figures,
        "hidden": ["Whether there are few or many."],
        "readings": [reading(READING)],
        "audit": attacked(release) if audited else None,
        "policy": "[data]",
        **known,
    }
    return release_summary(release, model=law(1), records=100, **rest)


def attacked(release: dp.Release) -> AuditReport:
    """Return an audit of the release."""
    return dp.audit(release.mechanism, model=law(1), attacks=["bayes"], releases=2000, shadows=200, seed=1)
