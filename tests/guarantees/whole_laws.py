"""Exact laws of sums of whole rows, by counting all datasets: an oracle that knows nothing of Fourier's transform."""

import math
from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa
from scipy.special import ndtr

import distpriv as dp
from distpriv.errors import DistprivError
from distpriv.framework.arrays import Floats, Rows
from distpriv.guarantees.mechanism import AdditiveMechanism
from distpriv.noise.laws import RoundedNoise


def sums(rows: Rows, size: int, places: int) -> Floats:
    """The law of the sum of `size` of the rows, none of them twice, on a grid of so many places an axis."""
    axes = rows.shape[1]
    found = np.zeros((size + 1, *(places,) * axes))
    found[(0,) * (axes + 1)] = 1.0
    for number, row in enumerate(rows.tolist()):
        # The chance that a set of k + 1 of the first rows has this one, and what the others add up to.
        moved = np.roll(found[:-1], row, axis=tuple(range(1, axes + 1)))
        counts = np.arange(1, size + 1).reshape(-1, *(1,) * axes)
        found[1:] = found[1:] * np.maximum(1 - counts / (number + 1), 0) + moved * counts / (number + 1)
    return np.asarray(found[size])


def convolved(one: Floats, other: Floats) -> Floats:
    return np.fft.ifftn(np.fft.fftn(one) * np.fft.fftn(other)).real


def exact_delta_of(laws: Mapping[str, Floats], pairs: Sequence[tuple[str, str]], epsilon: float) -> float:
    return max(
        float(np.maximum(laws[one] - math.exp(epsilon) * np.maximum(laws[other], 0), 0).sum()) for one, other in pairs
    )


def rounded_masses(noise: RoundedNoise, *sizes: int) -> Floats:
    """The law of noise that is independent on every statistic, in steps, around circles of so many places."""
    found = np.ones(())
    several = sizes if len(sizes) > 1 else sizes * noise.dimension
    for variance, step, places in zip(np.diag(noise.unrounded.covariance), noise.steps, several, strict=True):
        deviation = math.sqrt(variance) / step
        whole = np.arange(-40 * places, 40 * places)
        masses = ndtr((whole + 0.5) / deviation) - ndtr((whole - 0.5) / deviation)
        found = np.multiply.outer(found, np.bincount(whole % places, weights=masses, minlength=places))
    return np.asarray(found)


def whole_rows(seed: int, statistics: int, rows: int) -> list[Rows]:
    """Rows of two strata, in whole numbers: alike, unlike, with ties that few rows break, or mostly even."""
    rng = np.random.default_rng(seed)
    kinds = 3**statistics
    first = rng.dirichlet(np.full(kinds, rng.choice([0.5, 2.0, 8.0])))
    second = rng.dirichlet(np.full(kinds, 2.0))
    chances = [first, first + rng.choice([0.05, 0.2, 1.0]) * (second - first)]
    strata = []
    for number, chance in enumerate(chances):
        cells = rng.choice(kinds, size=rows, p=chance / chance.sum())
        values = np.stack([cells // 3**k % 3 for k in range(statistics)], axis=1)
        values[:, 0] = np.minimum(values[:, 0], 1)
        if rng.random() < 0.3:
            odd = rng.random(rows) < rng.choice([0.02, 0.1, 0.3])
            values[:, -1] = np.where(
                odd, values[:, -1], 2 * (values[:, -1] // 2) + (number if rng.random() < 0.5 else 0)
            )
        strata.append(values.astype(np.int64))
    return strata


def model_of(
    strata: Sequence[Rows], counts: tuple[int, int], records: int, *, replacement: bool = False
) -> dp.QueryModel:
    """The totals of so many records, of which one or the other number is from the second stratum."""
    columns = {f"x{k}": np.concatenate([rows[:, k] for rows in strata]) for k in range(strata[0].shape[1])}
    group = np.repeat([0, 1], [len(rows) for rows in strata])
    table = pa.table({**columns, "stratum": group})
    query = dp.Query([(name, dp.total(name)) for name in columns])
    secret = dp.Share("stratum = 1", values=tuple(count / records for count in counts))
    return dp.model(table, query, secret, records=records, reference="population", replacement=replacement)


def certified_in_steps(model: dp.QueryModel, target: dp.PrivacyTarget) -> AdditiveMechanism | None:
    """The mechanism in whole steps, if there is one and some statistic has next to no noise."""
    try:
        made = dp.mechanisms.certified_gaussian(model, target, lattice=True)
    except DistprivError:
        return None
    assert isinstance(made.noise, RoundedNoise)
    return made if made.certificate.holds and made.noise.narrow.any() else None
