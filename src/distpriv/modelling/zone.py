r"""Peaks of the characteristic function of statistics some of which are released whole: all frequencies that matter.

A statistic on the multiples of h looks the same at t and at t + 2π/h: its frequencies are those of the zone
:math:`|t| \le π/h`. No noise makes that smaller, and none is needed where the law is smooth all over it. Frequencies of
other statistics are those that their noise leaves standing.
"""

import math
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from distpriv.framework.arrays import Floats
from distpriv.modelling.row_laws import RowLaws
from distpriv.modelling.spectrum import (
    BASIN,
    LEAST,
    MAIN_LOBE,
    PeakSearch,
    Spectrum,
    distinct_peaks,
    draws_for,
    extreme_scenarios,
    peak_at,
    unknown_covariance,
)

__all__ = ["zone_spectrum"]


def zone_spectrum(rows: RowLaws, covariances: Mapping[str, Floats], noise: Floats, steps: Floats) -> Spectrum:
    """Search all frequencies at which statistics may be seen to repeat.

    Args:
        rows: the rows behind the statistics.
        covariances: of the statistics, by scenario.
        noise: the covariance of Gaussian noise; 0 on statistics that are released whole.
        steps: what these are multiples of; 0 for the others.
    """
    found: list[Floats] = []
    missed = 0.0
    for name in extreme_scenarios(rows):
        search = PeakSearch.of(rows, name, covariances[name], noise)
        starts, chance = _starts(search, unknown_covariance(covariances[name], noise), steps)
        tops = (_in_zone(top, steps) for top in search.tops(starts @ np.linalg.pinv(search.axes).T))
        found += [top for top in tops if top @ covariances[name] @ top > MAIN_LOBE]
        missed = max(missed, chance)
    every = [peak_at(rows, t) for t in found]
    return Spectrum(peaks=distinct_peaks(every, np.mean(list(covariances.values()), axis=0)), missed=missed)


def _starts(search: PeakSearch, left: Floats, steps: Floats) -> tuple[Floats, float]:
    """Return frequencies all over the zone, as many as its lobes ask for, and the chance that one is missed."""
    noisy, whole = np.flatnonzero(steps == 0), np.flatnonzero(steps > 0)
    values, vectors = np.linalg.eigh(left[np.ix_(noisy, noisy)])
    radii = np.sqrt(2 * math.log(1 / LEAST) / np.maximum(values, 1e-300))
    along = np.zeros((len(steps), len(steps)))
    along[np.ix_(noisy, np.arange(len(noisy)))] = vectors
    along[whole, len(noisy) + np.arange(len(whole))] = 1.0
    extents = np.concatenate([radii, np.pi / steps[whole]])
    lobes = extents * search.row_deviations(np.linalg.pinv(search.axes) @ along) / BASIN
    # A ball times a cube, in units of a ball that has the dimension of both.
    shape = _log_ball(len(noisy)) + len(whole) * math.log(2) - _log_ball(len(steps))
    draws, missed = draws_for(shape + float(np.log(np.maximum(lobes, 1.0)).sum()), len(steps))
    places = search.rng.uniform(-1.0, 1.0, size=(draws, len(steps)))
    if len(noisy):
        directions = search.rng.normal(size=(draws, len(noisy)))
        lengths = search.rng.random(draws) ** (1 / len(noisy)) / np.linalg.norm(directions, axis=1)
        places[:, : len(noisy)] = directions * lengths[:, np.newaxis]
    return np.asarray((places * extents) @ along.T), missed


def _log_ball(size: int) -> float:
    """Return the logarithm of the volume of a ball of radius 1."""
    return size / 2 * math.log(math.pi) - float(gammaln(size / 2 + 1))


def _in_zone(frequency: Floats, steps: Floats) -> Floats:
    """Return the frequency of the zone that is the same on the lattice."""
    around = 2 * np.pi / np.where(steps > 0, steps, 1.0)
    turns: NDArray[np.float64] = np.where(steps > 0, np.rint(frequency / around), 0.0)
    return np.asarray(frequency - turns * around)
