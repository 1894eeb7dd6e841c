"""Bell curves bent by skewness and kurtosis, and candidates for points at which laws are looked at."""

import math
from collections.abc import Callable, Sequence

import numpy as np

from distpriv.framework.arrays import Floats
from distpriv.guarantees.bells import Bell
from distpriv.guarantees.deciding_points import CANDIDATES, normals
from distpriv.modelling.tilted_law import TiltedLaw

__all__ = ["a_little_wider", "as_far_as", "bent_bell", "candidates_of", "much_wider"]

WIDER, FAR = 1.2, 2.0
"""By which factors covariances are widened to draw candidates from: near, and as far out as shapes may matter."""

FEW_STATISTICS = 8
"""With more of them covariances are widened by less, so that candidates do not all lie far out."""

MANY_STATISTICS, FEWER = 16, 2048
"""With more of them so many candidates have to do."""


def a_little_wider(bell: Bell) -> Bell:
    """Return a Gaussian a little wider than another."""
    return bell.wider(1 + (WIDER - 1) * min(1.0, FEW_STATISTICS / len(bell.mean)))


def much_wider(bell: Bell) -> Bell:
    """Return a Gaussian much wider than another."""
    return bell.wider(1 + (FAR - 1) * min(1.0, FEW_STATISTICS / len(bell.mean)))


def as_far_as(delta: float) -> Callable[[Bell], Bell]:
    """Return how to widen a Gaussian so that as much of it is as far out as what decides such a δ may be."""
    return lambda bell: bell.wider(max(FAR, -2 * math.log(delta) / len(bell.mean)))


def bent_bell(law: TiltedLaw, points: Floats) -> Floats:
    """Return the logarithm of the bell curve of a law at points, bent by its skewness and kurtosis."""
    bell = Bell.at_rest(law)
    return bell.log_density(points) + law.bend.at(bell.tilts(points), bell.precision)


def candidates_of(sources: Sequence[Bell], most: int | None = None) -> tuple[Floats, Floats]:
    """Return points of all these Gaussians, so many at most, and the logarithm of their density."""
    size = len(sources[0].mean)
    most = min(most or CANDIDATES, CANDIDATES if size <= MANY_STATISTICS else FEWER)
    parts = np.array_split(normals(size)[:most], len(sources))
    points = np.concatenate([source.drawn(part) for source, part in zip(sources, parts, strict=True)])
    offered = np.logaddexp.reduce([source.log_density(points) for source in sources])
    return points, offered - math.log(len(sources))
