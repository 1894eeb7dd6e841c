"""Exact moments of means of rows drawn from strata: no sampling, no Monte-Carlo error."""

from collections.abc import Iterable

import numpy as np
from attrs import frozen

from distpriv.errors import InvalidModel
from distpriv.framework.arrays import Floats, array_field

__all__ = ["StratumMoments", "dataset_moments", "weighted_covariance"]


@frozen(kw_only=True)
class StratumMoments:
    """What is known of the rows of one stratum: how many, mean, sample covariance (divisor N − 1), extremes."""

    rows: int
    mean: Floats = array_field()
    covariance: Floats = array_field()
    low: Floats = array_field()
    high: Floats = array_field()


def dataset_moments(
    strata: Iterable[tuple[StratumMoments, float]], factors: Floats, *, replacement: bool
) -> tuple[Floats, Floats]:
    r"""Return mean and covariance of `factors` times the mean of all rows, with n_s rows drawn from stratum s.

    .. math:: μ = Σ_s \frac{n_s}{n} m_s, \qquad
              Σ = Σ_s \Bigl(\frac{n_s}{n}\Bigr)^2 \Bigl(1 - \frac{n_s}{N_s}\Bigr) \frac{S_s}{n_s}

    With replacement the rows are independent: no factor 1 − n_s/N_s, and the variance of one row has divisor N_s.

    >>> stratum = StratumMoments(rows=4, mean=[2.5], covariance=[[5 / 3]], low=[1], high=[4])
    >>> [x.round(12).tolist() for x in dataset_moments([(stratum, 2)], np.ones(1), replacement=False)]
    [[2.5], [[0.416666666667]]]
    """
    drawn = [(stratum, size) for stratum, size in strata if size > 0]
    records = sum(size for _, size in drawn)
    if not drawn:
        raise InvalidModel("a dataset needs at least one record: give records=100, say.")
    mean = sum((size / records) * stratum.mean for stratum, size in drawn)
    covariance = sum((size / records) ** 2 * _mean_covariance(stratum, size, replacement) for stratum, size in drawn)
    return np.asarray(factors * mean), np.asarray(np.outer(factors, factors) * covariance)


def weighted_covariance(about_mean: Floats, weights: Floats) -> Floats:
    """Return the covariance of one row that is drawn with these weights, from rows about their weighted mean.

    >>> weighted_covariance(np.array([[-1.0], [3.0]]), np.array([0.75, 0.25]))
    array([[3.]])
    """
    return np.asarray((about_mean.T * weights) @ about_mean)


def _mean_covariance(stratum: StratumMoments, size: float, replacement: bool) -> Floats:
    """Return the covariance of the mean of `size` rows of one stratum."""
    shrink = (stratum.rows - 1) / stratum.rows if replacement else 1 - size / stratum.rows
    return np.asarray(shrink * stratum.covariance / size)
