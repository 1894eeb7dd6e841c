r"""Bell curves with noise along one line added: densities, points, and where along the line the noise was.

:math:`y = μ + W + (T + sξ) w`, with :math:`s^2 = 1/(w^\top A^{-1} w)` and W independent of both: given y, only
:math:`a = s^2 w^\top A^{-1} (y - μ)` tells of T.
"""

import math
from collections.abc import Sequence
from functools import cached_property

import numpy as np
from attrs import frozen

from distpriv.distances.line_laws import LineLaw
from distpriv.framework.arrays import Floats
from distpriv.guarantees.bells import Bell

__all__ = ["FEW_OFFSETS", "OFFSETS", "LineBell"]

GRID = 65
"""At how many numbers T is looked at, given a release."""

REACH = 6.0
"""Deviations s to either side of a, within which T is looked for."""

TABLE, FINER = 4096, 8
"""At how many numbers the law along the line is computed at least, to be interpolated, and at how many a step."""

LEAST_LOG = -300.0
"""The least logarithm of a density that is told from 0."""

OFFSETS, FEW_OFFSETS = np.linspace(-6.0, 6.0, 13), np.linspace(-4.0, 4.0, 5)
"""Where along the line a density is compared with its bell curve, in deviations s from a; for a first look at few."""

MOST_LOG = 50.0
"""Logarithms of ratios are cut off beyond this."""


@frozen(kw_only=True, eq=False, slots=False)
class LineBell:
    """A Gaussian density with noise of a law along an axis."""

    bell: Bell
    axis: Floats
    law: LineLaw

    @cached_property
    def _towards(self) -> Floats:
        return np.asarray(self.bell.precision @ self.axis)

    @cached_property
    def own(self) -> float:
        """s, the deviation of what is Gaussian along the line."""
        return 1 / math.sqrt(float(self.axis @ self._towards))

    def along(self, points: Floats) -> Floats:
        """Return a for every point."""
        return np.asarray((points - self.bell.mean) @ self._towards * self.own**2)

    def log_density(self, points: Floats) -> Floats:
        """Return the logarithm of the density at points, one a row.

        >>> from distpriv.distances.line_laws import LaplaceLine
        >>> bell = Bell(mean=np.zeros(2), covariance=np.eye(2) * 1e-6)
        >>> found = LineBell(bell=bell, axis=np.array([1.0, 0]), law=LaplaceLine(scale=1.0)).log_density(np.eye(2)[:1])
        >>> (found - np.log(1 / math.sqrt(2 * math.pi * 1e-6))).round(3)
        array([-1.693])
        """
        along = self.along(points)
        across = self.bell.log_density(points - np.multiply.outer(along, self.axis))
        return across + math.log(self.own * math.sqrt(2 * math.pi)) + self.law.log_density(along, self.own)

    def drawn(self, normals: Floats) -> Floats:
        """Return points of this law, made of standard normal ones with one number more."""
        from scipy.special import ndtr

        noise = self.law.quantiles(ndtr(normals[:, -1]))
        return self.bell.drawn(normals[:, :-1]) + np.multiply.outer(noise, self.axis)

    def across(self, normals: Floats) -> Floats:
        """Return points that the line goes through, one for each of standard normal ones with one number less.

        They are μ + W: where the noise along the line, and what is Gaussian along it, would be 0.
        """
        root = np.linalg.cholesky(self.bell.covariance)
        along = np.linalg.solve(root, self.axis)
        beside = np.linalg.qr(np.column_stack([along, np.eye(len(along))]))[0][:, 1:]
        return np.asarray(self.bell.mean + normals @ (root @ beside).T)

    @property
    def log_volume(self) -> float:
        """The logarithm of how much of all points a unit of those normal ones and one along the line are."""
        return float(np.linalg.slogdet(self.bell.covariance)[1] / 2 - math.log(self.own))

    def origins(self, points: Floats, offsets: Floats = OFFSETS) -> list[Floats]:
        """Return several points for every one: where the statistics may have been before the noise along the line."""
        along = self.along(points)
        return [points - np.multiply.outer(along + self.own * offset, self.axis) for offset in offsets]

    def along_lines(self, points: Floats, steps: Floats) -> Floats:
        """Return the logarithms of the density at even steps along the lines through points, one line a row."""
        along = self.along(points)
        across = self.bell.log_density(points - np.multiply.outer(along, self.axis))
        places = along[:, np.newaxis] + steps
        table = np.linspace(places.min(), places.max(), 1 + math.ceil(FINER * np.ptp(places) / (steps[1] - steps[0])))
        known = np.maximum(self.law.log_density(table, self.own), LEAST_LOG)
        return (across + math.log(self.own * math.sqrt(2 * math.pi)))[:, np.newaxis] + np.interp(places, table, known)

    def rows_along_lines(
        self, points: Floats, steps: Floats, logs: Sequence[Floats], offsets: Floats = OFFSETS
    ) -> Floats:
        """Return what is to be added to these, from the logarithms of a density without that noise at the origins.

        The logarithm of its ratio to the bell curve is a cubic spline along the line, and the mean over T given the
        release is a sum over a grid; along a line only that grid moves.
        """
        origins = self.origins(points, offsets)
        ratios = [at - self.bell.log_density(origin) for at, origin in zip(logs, origins, strict=True)]
        known = np.clip(np.nan_to_num(np.array(ratios).T, nan=MOST_LOG), -MOST_LOG, MOST_LOG)
        grid, step = np.linspace(-REACH, REACH, GRID), steps[1] - steps[0]
        shifts = (self.along(points) - self.along(points).min()) / step
        places = self.along(points).min() + steps[0] + step * np.arange(len(steps) + math.ceil(shifts.max()) + 1)
        noise = places[:, np.newaxis] + self.own * grid
        table = np.linspace(noise.min(), noise.max(), max(TABLE, FINER * len(places)))
        likely = np.maximum(self.law.log_density(table, self.own * (grid[1] - grid[0])), LEAST_LOG)
        likely = np.interp(noise, table, likely) - grid**2 / 2
        weights = np.exp(likely - np.logaddexp.reduce(likely, axis=1, keepdims=True))
        bent = known @ _between(offsets, grid)
        highest = bent.max(axis=1, keepdims=True)
        means = highest + np.log(np.maximum(np.exp(bent - highest) @ weights.T, np.finfo(float).tiny))
        below = np.floor(shifts).astype(np.int64)
        at = below[:, np.newaxis] + np.arange(len(steps))
        above = (shifts - below)[:, np.newaxis]
        return np.asarray(
            (1 - above) * np.take_along_axis(means, at, axis=1) + above * np.take_along_axis(means, at + 1, axis=1)
        )


def _between(offsets: Floats, grid: Floats) -> Floats:
    """Return how much numbers at some offsets count in a cubic spline through them, one column a place of a grid."""
    from scipy.interpolate import CubicSpline

    return np.asarray(CubicSpline(offsets, np.eye(len(offsets)))(grid).T)
