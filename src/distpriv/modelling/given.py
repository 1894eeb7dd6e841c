"""Models of laws that are known already: by their moments, or by points."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from distpriv.errors import InvalidModel
from distpriv.framework.arrays import Floats, correlations, frozen_array
from distpriv.framework.domains import did_you_mean, items
from distpriv.framework.scenarios import Pair, checked_pairs
from distpriv.modelling.drawing import Drawing
from distpriv.modelling.model import Provenance, QueryDistribution, QueryModel

__all__ = ["empirical_distribution", "empirical_model", "gaussian_model"]


def gaussian_model(
    *,
    means: Mapping[str, Any],
    covariances: Mapping[str, Any] | Any,
    pairs: Iterable[Pair],
    steps: Sequence[float] | None = None,
    names: Sequence[str] | None = None,
) -> QueryModel:
    """Return the model of statistics whose moments are known already.

    Args:
        means: the mean vector of each scenario.
        covariances: the covariance matrix of each scenario, or one for all.
        pairs: the pairs of scenarios to protect.
        steps: the spacing of each statistic's values; continuous when not given.
        names: the statistics' names; ``statistic_1 …`` when not given.

    Raises:
        InvalidModel: a mean or a covariance is none, or they do not fit each other.
        InvalidSecret: a pair does not name two scenarios.

    >>> import distpriv as dp
    >>> model = dp.gaussian_model(
    ...     means={"a": [100, 101], "b": [99, 102]}, covariances=[[22, -6], [-6, 13]], pairs=[("a", "b")]
    ... )
    >>> model.mean_shift(("a", "b"))
    array([ 1., -1.])
    """
    vectors = {name: _numbers(mean, f"the mean of scenario {name!r}") for name, mean in _named(means).items()}
    given = covariances if isinstance(covariances, Mapping) else dict.fromkeys(vectors, covariances)
    if set(given) != set(vectors):
        odd = sorted(set(given) ^ set(vectors))[0]
        raise InvalidModel(f"scenario {odd!r} has a mean or a covariance but not both: give one of each per scenario.")
    size = next(iter(vectors.values())).size
    distributions = {}
    for name, mean in vectors.items():
        if mean.ndim != 1 or not mean.size:
            raise InvalidModel(
                f"the mean of scenario {name!r} must be a list of numbers, got shape {mean.shape}: give one number for "
                "each statistic."
            )
        if len(mean) != size:
            raise InvalidModel(
                f"the mean of scenario {name!r} has {len(mean)} numbers and another has {size}: align them."
            )
        distributions[name] = QueryDistribution(mean=mean, covariance=_covariance(given[name], name, size))
    return _given_model(distributions, pairs, steps, names, "given moments")


def empirical_model(
    *,
    samples: Mapping[str, Any],
    pairs: Iterable[Pair],
    weights: Mapping[str, Any] | None = None,
    steps: Sequence[float] | None = None,
    names: Sequence[str] | None = None,
) -> QueryModel:
    """Return the model of statistics whose laws are given by points, each scenario's law exactly as given.

    Args:
        samples: the points of each scenario: one row a point, or a flat list for a single statistic.
        pairs: the pairs of scenarios to protect.
        weights: the probability of each point; the same for all when not given.
        steps: the spacing of each statistic's values; continuous when not given.
        names: the statistics' names; ``statistic_1 …`` when not given.

    Raises:
        InvalidModel: points or weights are no numbers, or do not fit each other.
        InvalidSecret: a pair does not name two scenarios.

    >>> import distpriv as dp
    >>> model = dp.empirical_model(
    ...     samples={"a": [1, 2, 3, 100], "b": [1, 2, 3, 100]},
    ...     weights={"a": [0.6, 0.2, 0.0, 0.2], "b": [0.4, 0.3, 0.2, 0.1]},
    ...     pairs=[("a", "b")],
    ... )
    >>> model.distributions["a"].mean
    array([21.])
    """
    if weights is not None and not isinstance(weights, Mapping):
        raise InvalidModel(f"weights must be given by scenario, got {weights!r}: write {{'boom': [0.5, 0.5]}}.")
    given = {} if weights is None else dict(weights)
    odd = sorted(set(given) - set(_named(samples)))
    if odd:
        raise InvalidModel(f"weights names an unknown scenario {odd[0]!r}: {did_you_mean(odd[0], samples)}")
    distributions = {
        name: empirical_distribution(points, given.get(name), f"scenario {name!r}") for name, points in samples.items()
    }
    sizes = {len(distribution.mean) for distribution in distributions.values()}
    if len(sizes) > 1:
        raise InvalidModel(f"the scenarios' points have {sorted(sizes)} statistics: give every point the same ones.")
    return _given_model(distributions, pairs, steps, names, "given points")


def empirical_distribution(points: Any, weights: Any, where: str, *, sampled: bool = False) -> QueryDistribution:
    """Return the law with probability `weights` on `points`; sampled points estimate a covariance (divisor B − 1)."""
    array = _numbers(points, f"the points of {where}")
    array = array[:, np.newaxis] if array.ndim == 1 else array
    if array.ndim != 2 or not array.size:
        raise InvalidModel(
            f"the points of {where} must be rows of numbers, at least one, got shape {array.shape}: write "
            "[[1, 2], [3, 4]]."
        )
    chance = np.full(len(array), 1 / len(array)) if weights is None else _numbers(weights, f"the weights of {where}")
    if chance.shape != (len(array),) or (chance < 0).any() or abs(chance.sum() - 1) > 1e-9:
        raise InvalidModel(
            f"the weights of {where} must be {len(array)} probabilities that sum to 1, got {chance.size} that sum to "
            f"{chance.sum():g}: divide them by their sum."
        )
    mean = chance @ array
    centred = array - mean
    with np.errstate(over="ignore", invalid="ignore"):
        covariance = (centred.T * chance) @ centred * (len(array) / max(len(array) - 1, 1) if sampled else 1.0)
    if not np.isfinite(covariance).all():
        raise InvalidModel(
            f"the points of {where} are so large that their squares are infinite: divide them by a constant."
        )
    return QueryDistribution(
        mean=mean, covariance=covariance, points=array, weights=None if weights is None else chance
    )


def _given_model(
    distributions: Mapping[str, QueryDistribution],
    pairs: Iterable[Pair],
    steps: Sequence[float] | None,
    names: Sequence[str] | None,
    method: str,
) -> QueryModel:
    size = len(next(iter(distributions.values())).mean)
    spacings = np.zeros(size) if steps is None else _numbers(steps, "steps")
    labels = tuple(f"statistic_{k + 1}" for k in range(size)) if names is None else items(names)
    if spacings.shape != (size,) or (spacings < 0).any():
        raise InvalidModel(f"steps must be {size} numbers, none of them negative, got {steps!r}: 0 means continuous.")
    if len(labels) != size or len(set(labels)) != size:
        raise InvalidModel(f"names must be {size} different names, got {names!r}: give each statistic its own.")
    return QueryModel(
        names=labels,
        distributions=dict(distributions),
        protected_pairs=checked_pairs(pairs, distributions),
        steps=spacings,
        provenance=Provenance(method=method, drawing=Drawing(reference="population")),
        record_sensitivities=np.full(size, np.inf),
    )


def _named(values: Any) -> Mapping[str, Any]:
    if not isinstance(values, Mapping) or len(values) < 2:
        raise InvalidModel("a model needs at least two scenarios by name: write {'boom': …, 'bust': …}.")
    return values


def _numbers(values: Any, where: str) -> Floats:
    try:
        array = frozen_array(values)
    except (TypeError, ValueError, OverflowError) as failure:
        raise InvalidModel(
            f"{where} must be numbers in a regular shape, got {values!r}: give lists of the same length."
        ) from failure
    if not np.isfinite(array).all():
        raise InvalidModel(f"{where} must be finite numbers: take out NaN and infinity.")
    return array


def _covariance(values: Any, scenario: str, size: int, rounding: float = 1e-9) -> Floats:
    """Return a covariance matrix, or say why it is none; a share of the largest entry is rounding and is mended."""
    where = f"the covariance of scenario {scenario!r}"
    matrix = _numbers(values, where)
    if matrix.shape != (size, size):
        raise InvalidModel(
            f"{where} must be {size} × {size}, as its mean has {size} numbers, got shape {matrix.shape}: give one row "
            "and one column for each statistic."
        )
    units, correlation = correlations((matrix + matrix.T) / 2)
    spread = np.sqrt(np.maximum(np.diag(matrix), 0))
    scale = np.outer(spread, spread)
    if (np.abs(matrix - matrix.T) > rounding * np.maximum(scale, np.abs(matrix).max())).any():
        raise InvalidModel(f"{where} is not symmetric: average it with its transpose if that is rounding.")
    least = float(np.linalg.eigvalsh(correlation)[0])
    if least < -rounding * size:
        raise InvalidModel(
            f"{where} is indefinite (least eigenvalue {least:.3g} in units of the standard deviations), so it is no "
            "covariance: check its entries."
        )
    if least >= 0:
        return np.asarray((matrix + matrix.T) / 2)
    values, vectors = np.linalg.eigh(correlation)
    mended = (vectors * np.maximum(values, 0.0)) @ vectors.T
    return np.asarray((mended + mended.T) / 2 * np.outer(units, units))
