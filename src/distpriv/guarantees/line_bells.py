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

__all__ = ["LineBell"]

GRID = 65
"""At how many numbers T is looked at, given a release."""

REACH = 6.0
"""Deviations s to either side of a, within which T is looked for."""

TABLE = 4096
"""At how many numbers the law along the line is computed, to be interpolated."""

LEAST_LOG = -300.0
"""The least logarithm of a density that is told from 0."""

OFFSETS = np.linspace(-6.0, 6.0, 13)
"""Where along the line a density is compared with its bell curve, in deviations s from a."""

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

    def origins(self, points: Floats) -> list[Floats]:
        """Return several points for every one: where the statistics may have been before the noise along the line."""
        along = self.along(points)
        return [points - np.multiply.outer(along + self.own * offset, self.axis) for offset in OFFSETS]

    def averaged(self, points: Floats, logs: Sequence[Floats]) -> Floats:
        """Return the logarithm of a density with noise along the line, from that without it at the origins.

        The logarithm of its ratio to the bell curve is a cubic spline along the line, and the mean over T given the
        release is a sum over a grid.
        """
        ratios = [at - self.bell.log_density(origin) for at, origin in zip(logs, self.origins(points), strict=True)]
        offsets = np.linspace(-REACH, REACH, GRID)
        noise = self.along(points)[:, np.newaxis] + self.own * offsets
        table = np.linspace(noise.min(), noise.max(), TABLE)
        known = np.maximum(self.law.log_density(table, self.own * (offsets[1] - offsets[0])), LEAST_LOG)
        likely = np.interp(noise, table, known) - offsets**2 / 2
        known_ratios = np.clip(np.nan_to_num(np.array(ratios).T, nan=MOST_LOG), -MOST_LOG, MOST_LOG)
        bent = likely + known_ratios @ _between(offsets)
        return np.asarray(
            self.log_density(points) + np.logaddexp.reduce(bent, axis=1) - np.logaddexp.reduce(likely, axis=1)
        )


def _between(offsets: Floats) -> Floats:
    """Return how much each of the numbers at `OFFSETS` counts in a cubic spline through them, one column an offset."""
    from scipy.interpolate import CubicSpline

    return np.asarray(CubicSpline(OFFSETS, np.eye(len(OFFSETS)))(offsets).T)
