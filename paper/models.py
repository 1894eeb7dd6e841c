"""Models of the statistics by exact moments, and the noise that a mechanism of the paper adds to them."""

from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

import distpriv as dp
from paper.setting import DP, GROUP, INCOME, MECHANISMS, RECORDS, Secret, paper_query

Floats = npt.NDArray[np.float64]
Moments = tuple[Floats, Floats]
"""Mean and covariance."""

PAIR = ("one", "other")
FACTORS = np.array([1 / RECORDS, 1 / RECORDS, 1.0, 1.0, 1 / RECORDS])
"""What every statistic is of a sum over the rows: means and counts."""


@cache
def strata(secret: Secret) -> tuple[Floats, Floats]:
    """Return the numbers that the statistics add up, for the rows that satisfy the predicate and for all others."""
    table = dp.datasets.adult()
    rows = np.column_stack(
        [
            table["age"].to_numpy(),
            table["education_num"].to_numpy(),
            table["marital_status"].to_numpy() == "Never-married",
            table["sex"].to_numpy() == "Female",
            table["hours_per_week"].to_numpy(),
        ]
    ).astype(float)
    column, _, value = secret.predicate.partition(" = ")
    satisfied = table[column].to_numpy() == value.strip("'")
    return rows[satisfied], rows[~satisfied]


@cache
def moments(secret: Secret, share: float) -> Moments:
    """Return mean and covariance of the statistics of 100 distinct rows, at any share.

    The formula is smooth in the share, so curves can be solved for where they cross.
    """
    mean, covariance = np.zeros(len(FACTORS)), np.zeros((len(FACTORS), len(FACTORS)))
    for rows, size in zip(strata(secret), (share * RECORDS, (1 - share) * RECORDS), strict=True):
        mean += size * rows.mean(axis=0)
        covariance += size * (1 - size / len(rows)) * np.cov(rows.T)
    return mean * FACTORS, covariance * np.outer(FACTORS, FACTORS)


def pooled_model(one: Moments, other: Moments) -> dp.QueryModel:
    """Return the model with these means and the average of both covariances, which the paper's theorems take."""
    covariance = (one[1] + other[1]) / 2
    return dp.gaussian_model(
        means=dict(zip(PAIR, (one[0], other[0]), strict=True)), covariances=covariance, pairs=[PAIR]
    )


@cache
def exact_models(secret: Secret, gap: float) -> tuple[dp.QueryModel, dp.QueryModel]:
    """Return the models by exact moments, with the average covariance and with the covariances as they are."""
    one, other = (moments(secret, share) for share in secret.shares(gap))
    means, covariances = (dict(zip(PAIR, part, strict=True)) for part in zip(one, other, strict=True))
    return pooled_model(one, other), dp.gaussian_model(means=means, covariances=covariances, pairs=[PAIR])


@cache
def model_of_rows(secret: Secret) -> dp.QueryModel:
    """Return the library's own model of a secret, with the rows of Adult as the population."""
    share = dp.Share(secret.predicate, values=secret.shares())
    return dp.model(dp.datasets.adult(), paper_query(), share, records=RECORDS, reference="population", processes=1)


def mechanism_of(name: str, model: dp.QueryModel, epsilon: float, delta: float) -> Any:
    """Return a mechanism of the paper, by its shorthand, with noise and certificate."""
    listed = MECHANISMS[name]
    target = dp.PrivacyTarget(epsilon=epsilon, delta=delta)
    return getattr(dp.mechanisms, listed.function)(model, target, **listed.options)


def noise_of(name: str, model: dp.QueryModel, epsilon: float, delta: float) -> Any:
    """Return the noise of a mechanism; that of differential privacy is the same for every model.

    >>> round(noise_of("DauM (G)", exact_models(INCOME, 0.1)[0], 1.0, 1e-3).expected_l2, 3)
    12.705
    """
    if name in (GROUP, DP):
        return _record_noise(name, epsilon, delta)
    return mechanism_of(name, model, epsilon, delta).noise


@cache
def _record_noise(name: str, epsilon: float, delta: float) -> Any:
    return mechanism_of(name, model_of_rows(INCOME), epsilon, delta).noise


def delta_of(secret: Secret, gap: float, name: str, epsilon: float, delta: float) -> float:
    """Return the δ that a mechanism's noise has with the covariances as they are.

    For Gaussian noise it is exact; for Laplace noise it is the upper bound of the certificate.
    """
    pooled, actual = exact_models(secret, gap)
    if MECHANISMS[name].is_laplace:
        return float(mechanism_of(name, actual, epsilon, delta).certificate.delta)
    return dp.exact_delta(actual, noise_of(name, pooled, epsilon, delta), epsilon=epsilon)
