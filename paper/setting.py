"""What all experiments share: the query, the two secrets, the mechanisms and the protocol."""

from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
from attrs import field, frozen

import distpriv as dp

Protocol = Literal["exact", "paper"]
"""Expectations from exact moments, or the repetitions of section 5."""

RECORDS = 100
"""Records in a dataset."""
DELTA = 1e-3
"""δ wherever the paper does not vary it."""
EPSILONS = tuple(float(f"{epsilon:.6g}") for epsilon in np.logspace(-1, 1, 20))
"""ε in Figures 2 and 4."""
GAPS = tuple(round(0.02 * k, 2) for k in range(1, 21))
"""Δp in Figure 3."""


@frozen(kw_only=True)
class Setting:
    """A protocol with its seed and its sizes, by default those of the paper."""

    protocol: Protocol = "exact"
    seed: int = 1
    repetitions: int = 50
    datasets: int = 1000
    """Sampled datasets that each mean and covariance is fitted to."""
    shadows: int = 200
    """Datasets that an attacker is trained on, half at each share."""
    tests: int = 200
    """Datasets that an attacker is tested on, half at each share."""
    attackers: int = 200
    """Attackers whose accuracies the exact protocol averages."""
    releases: int = 100_000
    """Simulated releases on which the lattice attack is tried."""


@frozen(kw_only=True)
class Secret:
    """The share of records that satisfy a predicate; the two protected shares are Δp apart, around one half."""

    name: str
    predicate: str
    gap: float
    """Δp in Figure 2."""

    def shares(self, gap: float | None = None) -> tuple[float, float]:
        """Return the two protected shares."""
        half = (self.gap if gap is None else gap) / 2
        return round(0.5 - half, 6), round(0.5 + half, 6)


INCOME = Secret(name="income", predicate="income = '>50K'", gap=0.1)
WORK_CLASS = Secret(name="work class", predicate="workclass = 'Private'", gap=0.04)
SECRETS = (INCOME, WORK_CLASS)


@frozen(kw_only=True)
class Mechanism:
    """A mechanism of the paper as `dp.mechanisms` has it."""

    function: str
    noise: str
    theorem: str
    needs: str
    options: Mapping[str, Any] = field(factory=dict)

    @property
    def is_laplace(self) -> bool:
        """Whether it claims δ = 0."""
        return self.noise.startswith("Laplace")


_TRANSLATION = "distributions that differ by a translation"
_SHARED = "Gaussian statistics, equal covariances"
_CLASSIC: Mapping[str, Any] = {"radius": "classic"}
_POOLED: Mapping[str, Any] = {"radius": "classic", "covariance": "pooled"}

GROUP = "GroupDP (G)"
"""Differential privacy of all records as one group."""
DP = "DP (G)"
"""Differential privacy of one record, which does not protect the share."""
UNDEFENDED = "no noise"

MECHANISMS: Mapping[str, Mechanism] = {
    "ExpM (L)": Mechanism(
        function="expected_value_laplace",
        noise="Laplace, every statistic",
        theorem="Theorem 4.1",
        needs=_TRANSLATION,
    ),
    "DirM (L)": Mechanism(
        function="directional_laplace", noise="Laplace, along the shift", theorem="Theorem 4.3", needs=_TRANSLATION
    ),
    "ExpM (G)": Mechanism(
        function="expected_value_gaussian",
        noise="Gaussian, every statistic",
        theorem="Theorem 4.2",
        needs=_TRANSLATION,
        options=_CLASSIC,
    ),
    "EigM (G)": Mechanism(
        function="eigenvector_gaussian",
        noise="Gaussian, along eigenvectors",
        theorem="Theorem 4.5",
        needs=_SHARED,
        options=_POOLED,
    ),
    "DauM (G)": Mechanism(
        function="directional_uncertainty",
        noise="Gaussian, along the shift",
        theorem="Theorem A.1",
        needs=_SHARED,
        options=_POOLED,
    ),
    GROUP: Mechanism(
        function="group_privacy_gaussian",
        noise="Gaussian, every statistic",
        theorem="group privacy",
        needs="bounded columns",
        options={**_CLASSIC, "group": RECORDS},
    ),
    DP: Mechanism(
        function="group_privacy_gaussian",
        noise="Gaussian, every statistic",
        theorem="differential privacy",
        needs="bounded columns",
        options={**_CLASSIC, "group": 1},
    ),
    UNDEFENDED: Mechanism(function="no_noise", noise="none", theorem="Theorem 4.4", needs=_SHARED, options=_POOLED),
}
"""By the paper's shorthand, with its radius and its average of both covariances."""

VARIANTS = ("ExpM (L)", "DirM (L)", "ExpM (G)", "EigM (G)", "DauM (G)")
"""The variants that the paper evaluates."""
GAUSSIAN = ("ExpM (G)", "EigM (G)", "DauM (G)")


def paper_query() -> dp.Query:
    """Return the five statistics of the paper, in its order."""
    return dp.Query(
        mean_age=dp.mean("age"),
        mean_education=dp.mean("education_num"),
        never_married=dp.count("marital_status = 'Never-married'"),
        female=dp.count("sex = 'Female'"),
        mean_hours=dp.mean("hours_per_week"),
    )
