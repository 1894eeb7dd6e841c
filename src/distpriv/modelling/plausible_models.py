r"""Populations that a reference may be a sample of: laws that it cannot tell from the ones it has.

A stratum of N rows with covariance V has the mean of the population's but for an error e ~ N(0, V/N), and one error
moves the means of all scenarios, each by as many times e as it draws rows there. V itself has a Wishart law of N − 1
degrees of freedom, and the deviation of a statistic with heavy tails errs by :math:`\sqrt{(κ - 3)/4N}` of itself more.
The population is taken to be endless, which leaves the most open.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Self

import numpy as np
from attrs import evolve, frozen
from scipy.special import ndtri

from distpriv.framework.arrays import Floats
from distpriv.modelling.model import NORMAL, QueryModel, SampledStratum, root_of
from distpriv.modelling.row_laws import RowLaws, StratumRows

__all__ = [
    "CHECKING_SEED",
    "MAKING_SEED",
    "TRIED",
    "Population",
    "plausible_models",
    "plausible_population",
    "uniform_numbers",
]

CHECKING_SEED, MAKING_SEED = 17, 71
"""Of the errors that certificates are held against, the same for all, and of those that noise is made for."""

TRIED = 100
"""How many populations are tried."""


def plausible_models(model: QueryModel, count: int = TRIED, seed: int = CHECKING_SEED) -> list[QueryModel]:
    """Return models of populations that such a reference may be a sample of; none if it is the population.

    The same for the same strata. Every other one has the errors of means of the one before, the other way round.
    """
    if not model.strata:
        return []
    errors = _errors(model, count, seed)
    exact = model.provenance.method == "exact moments"
    means, covariances = {}, {}
    for name, law in model.distributions.items():
        drawn = [(size, e) for s, e in zip(model.strata, errors, strict=True) if (size := s.drawn.get(name))]
        means[name] = law.mean + np.sum([size * e.means for size, e in drawn], axis=0)
        own = None if exact else root_of(law.covariance) / math.sqrt(sum(size for size, _ in drawn))
        covariances[name] = np.sum([size * e.covariances(own) for size, e in drawn], axis=0)
    return [
        evolve(
            model,
            distributions={
                name: evolve(law, mean=means[name][k], covariance=covariances[name][k], points=None, weights=None)
                for name, law in model.distributions.items()
            },
        )
        for k in range(count)
    ]


@frozen(kw_only=True)
class MovedStratum:
    """How the rows of a stratum differ in a population: deviations from the mean times a matrix, and a shift."""

    drawn: Mapping[str, int]
    matrix: Floats
    shift: Floats


@frozen(kw_only=True, eq=False)
class Population:
    """A population that a reference may be a sample of: its moments, and rows of these moments with the same shape."""

    model: QueryModel
    strata: tuple[MovedStratum, ...]

    def of(self, rows: RowLaws) -> list[MovedStratum | None]:
        """Return what becomes of each stratum of rows; None for one that no scenario draws from."""
        left = list(self.strata)
        moved: list[MovedStratum | None] = []
        for number in range(len(rows.strata)):
            drawn = {name: sizes[number] for name, sizes in rows.drawn.items() if sizes.get(number)}
            moved.append(next((stratum for stratum in left if dict(stratum.drawn) == drawn), None))
            left = [stratum for stratum in left if stratum is not moved[-1]]
        return moved

    def moved(self, rows: RowLaws) -> RowLaws:
        """Return the rows of the population."""
        strata = [
            stratum
            if of is None
            else StratumRows(values=stratum.mean + of.shift + stratum.about_mean @ of.matrix.T, weights=stratum.weights)
            for stratum, of in zip(rows.strata, self.of(rows), strict=True)
        ]
        return evolve(rows, strata=tuple(strata))


def plausible_population(model: QueryModel, place: int, count: int = TRIED, seed: int = CHECKING_SEED) -> Population:
    """Return one of the populations whose models `plausible_models` returns, with its rows."""
    moved = [
        MovedStratum(drawn=stratum.drawn, matrix=errors.matrix(place), shift=errors.means[place])
        for stratum, errors in zip(model.strata, _errors(model, count, seed), strict=True)
    ]
    return Population(model=plausible_models(model, count, seed)[place], strata=tuple(moved))


def _errors(model: QueryModel, count: int, seed: int) -> list["_Errors"]:
    """Return the errors of every stratum; those of means with the numbers of the first one of their family."""
    families = {stratum.family: place for place, stratum in reversed(list(enumerate(model.strata)))}
    return [
        _Errors.of(stratum, count, (seed, place), place if stratum.family is None else families[stratum.family])
        for place, stratum in enumerate(model.strata)
    ]


@frozen(kw_only=True, eq=False)
class _Errors:
    """Errors of one stratum, one for each population: of the mean of a row, and factors of its covariance."""

    means: Floats
    root: Floats
    factors: Floats
    stretches: Floats

    @classmethod
    def of(cls, stratum: SampledStratum, count: int, seed: tuple[int, int], together: int) -> Self:
        size, freedom = len(stratum.covariance), max(stratum.rows - 1, 1)
        root = root_of(stratum.covariance)
        moved = root / math.sqrt(stratum.rows) if stratum.loads is None else stratum.loads
        half = _normal((seed[0], together, 0), (-(-count // 2), moved.shape[1]))
        unit = np.stack([half, -half], axis=1).reshape(-1, moved.shape[1])[:count]
        chi = np.sqrt(_chi_square(_normal((*seed, 1), (count, size)), freedom - np.arange(float(size))) / freedom)
        below = np.tril(_normal((*seed, 2), (count, size, size)), -1) / math.sqrt(freedom)
        heavy = np.sqrt(np.maximum(stratum.kurtoses - NORMAL, 0.0) / (4 * stratum.rows))
        return cls(
            means=unit @ moved.T,
            root=root,
            factors=below + chi[:, :, np.newaxis] * np.eye(size),
            stretches=np.exp(_normal((*seed, 3), (count, size)) * heavy),
        )

    def matrix(self, place: int) -> Floats:
        """Return what turns deviations of a row into those that have the covariance of a population."""
        units = np.sqrt((self.root**2).sum(axis=1))
        units = np.where(units > 0, units, 1.0)
        inverse = np.linalg.pinv(self.root / units[:, np.newaxis], rcond=1e-10) / units
        turned = self.stretches[place][:, np.newaxis] * (self.root @ self.factors[place])
        return np.asarray(turned @ inverse)

    def covariances(self, root: Floats | None) -> Floats:
        """Return covariances of one row; of one that varies as a root says, where another is better known."""
        factors = self.stretches[:, :, np.newaxis] * ((self.root if root is None else root) @ self.factors)
        return np.asarray(factors @ factors.swapaxes(1, 2))


def uniform_numbers(seed: Sequence[int], shape: tuple[int, ...]) -> Floats:
    """Return numbers between 0 and 1 that are the same everywhere: plain bits."""
    uniform = np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed))).random(shape)
    return np.asarray(np.clip(uniform, 2.0**-54, 1 - 2.0**-53))


def _normal(seed: Sequence[int], shape: tuple[int, ...]) -> Floats:
    return np.asarray(ndtri(uniform_numbers(seed, shape)))


def _chi_square(normal: Floats, freedom: Floats) -> Floats:
    """Return χ² numbers from normal ones (Wilson & Hilferty 1931); 0 without any freedom."""
    some = np.maximum(freedom, 1e-9)
    roots = 1 - 2 / (9 * some) + normal * np.sqrt(2 / (9 * some))
    return np.asarray(np.where(freedom > 0, freedom * np.maximum(roots, 0.0) ** 3, 0.0))
