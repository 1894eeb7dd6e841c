r"""Populations that reference rows may be a sample of, row by row: the law of every statistic in each is known exactly.

A population is the rows of every stratum with other weights, as in the Bayesian bootstrap (Rubin 1981): of N rows, a
cell with a share c has a weight from a Dirichlet law with parameters :math:`A c`,

.. math:: A = (N - 1) u - 1, \qquad u \sim χ^2_{N-1}/(N-1),

so that the mean is off as Student's t with N − 1 degrees of freedom says. One row more, of a parameter of 1, stands for
the rows that the sample lacks: it is the lowest or the highest of all strata, or a random one of theirs. Of a stratum
in which no row is like it, a population then has as many such rows as Clopper and Pearson (1934) cannot rule out.
"""

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np
from attrs import evolve
from numpy.typing import NDArray

from distpriv.framework.arrays import Floats
from distpriv.framework.scenarios import Pair
from distpriv.law.cells import Cells, RowGrid
from distpriv.modelling.plausible_models import CHECKING_SEED, TRIED, uniform_numbers

__all__ = ["of_populations", "plausible_strata"]

LEAST_CONCENTRATION: Final = 0.5
"""Of a Dirichlet law, in rows: that of a stratum with hardly any."""


def of_populations(
    rows: RowGrid, pairs: Sequence[Pair], populations: Mapping[int, Sequence[Cells]], own: Sequence[Pair] = ()
) -> tuple[RowGrid, list[Pair]]:
    """Return the rows of the scenarios of some pairs in several numbered populations as one, and the pairs in each.

    Own pairs of the reference, if there are any, come first.
    """
    names = dict.fromkeys(name for pair in pairs for name in pair)
    strata: list[Cells] = list(rows.strata) if own else []
    drawn: dict[str, Mapping[int, int]] = {name: rows.drawn[name] for pair in own for name in pair}
    for number, cells in populations.items():
        for name in names:
            drawn[_in(name, number)] = {len(strata) + which: size for which, size in rows.drawn[name].items()}
        strata += cells
    several = [(_in(one, number), _in(other, number)) for number in populations for one, other in pairs]
    return evolve(rows, strata=tuple(strata), drawn=drawn, sample=False), [*own, *several]


def _in(scenario: str, population: int) -> str:
    return f"{scenario} / {population}"


def plausible_strata(rows: RowGrid, count: int = TRIED, seed: int = CHECKING_SEED) -> list[list[Cells]]:
    """Return the strata of populations that rows without weights may be a sample of; the same for the same rows.

    >>> cells = Cells(places=np.array([[0], [1]]), counts=np.array([60, 40]))
    >>> rows = RowGrid(steps=[1], lowest=[0], strata=(cells,), drawn={"a": {0: 4}}, replacement=True, sample=True)
    >>> means = [float(strata[0].chances @ strata[0].places[:, 0]) for strata in plausible_strata(rows)]
    >>> round(float(np.mean(means)), 2), round(float(np.std(means)), 2)
    (0.4, 0.05)
    """
    every = np.concatenate([cells.places for cells in rows.strata])
    shares = np.concatenate([cells.chances for cells in rows.strata]) / len(rows.strata)
    populations = [_populations(cells, every, shares, count, (seed, which)) for which, cells in enumerate(rows.strata)]
    return [list(strata) for strata in zip(*populations, strict=True)]


def _populations(
    cells: Cells, every: NDArray[np.int64], shares: Floats, count: int, seed: tuple[int, int]
) -> list[Cells]:
    """Return a stratum in several populations."""
    from scipy.special import gammaincinv

    freedom = max(cells.rows - 1, 1)
    luck = uniform_numbers((*seed, 7), (count, len(cells.counts) + 3))
    known = np.maximum(2 * gammaincinv(freedom / 2, luck[:, 0]) - 1, LEAST_CONCENTRATION)
    weights = gammaincinv(known[:, np.newaxis] * cells.chances, luck[:, 3:])
    unseen = gammaincinv(1.0, luck[:, 1])
    populations = []
    for number in range(count):
        place = _unseen_place(number, float(luck[number, 2]), every, shares)
        same = (cells.places == place).all(axis=1)
        if same.any():
            places, masses = cells.places, weights[number] + unseen[number] * same
        else:
            places = np.vstack([cells.places, place])
            masses = np.append(weights[number], unseen[number])
        likely = masses > 0
        chances = masses[likely] / masses.sum()
        counts = np.ones(int(likely.sum()), dtype=np.int64)
        populations.append(Cells(places=places[likely], counts=counts, weights=np.asarray(chances)))
    return populations


def _unseen_place(number: int, luck: float, every: NDArray[np.int64], shares: Floats) -> NDArray[np.int64]:
    """Return the place of the row more: along one statistic its lowest, then its highest; or a random one."""
    axis, kind = divmod(number % (3 * every.shape[1]), 3)
    if kind == 2:
        return np.asarray(every[min(int(np.searchsorted(np.cumsum(shares), luck)), len(every) - 1)])
    along = every[:, axis]
    return np.asarray(every[int(along.argmax() if kind else along.argmin())])
