"""Bell curves bent by skewness and kurtosis, and candidates for points at which laws are looked at."""

import math
from collections.abc import Sequence

import numpy as np

from distpriv.framework.arrays import Floats
from distpriv.guarantees.bells import Bell
from distpriv.guarantees.deciding_points import normals
from distpriv.modelling.tilted_law import TiltedLaw

__all__ = ["bent_bell", "candidates_of"]


def bent_bell(law: TiltedLaw, points: Floats) -> Floats:
    """Return the logarithm of the bell curve of a law at points, bent by its skewness and kurtosis."""
    bell = Bell.at_rest(law)
    return bell.log_density(points) + law.bend.at(bell.tilts(points), bell.precision)


def candidates_of(sources: Sequence[Bell], most: int | None = None) -> tuple[Floats, Floats]:
    """Return points of all these Gaussians, so many at most, and the logarithm of their density."""
    parts = np.array_split(normals(len(sources[0].mean))[:most], len(sources))
    points = np.concatenate([source.drawn(part) for source, part in zip(sources, parts, strict=True)])
    offered = np.logaddexp.reduce([source.log_density(points) for source in sources])
    return points, offered - math.log(len(sources))
