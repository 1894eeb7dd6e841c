"""Noise of several releases as noise of one: side by side, each with its own statistics."""

from collections.abc import Sequence

import numpy as np
from attrs import evolve

from distpriv.errors import InvalidInput
from distpriv.framework.arrays import Floats
from distpriv.noise.laws import GaussianNoise, LaplaceNoise, NoiseLaw, NoNoise, SumNoise

__all__ = ["stacked", "widened"]


def stacked(laws: Sequence[NoiseLaw]) -> GaussianNoise | SumNoise:
    """Return the law of independent noises one below the other.

    >>> both = stacked([GaussianNoise.isotropic(1, 2.0), NoNoise(dimension=1), LaplaceNoise.isotropic(1, 3.0)])
    >>> np.diag(both.covariance)
    array([ 4.,  0., 18.])
    """
    size = sum(law.dimension for law in laws)
    gaussian: list[tuple[Floats, Floats]] = []
    laplace: list[tuple[Floats, Floats]] = []
    start = 0
    for law in laws:
        for part in law.parts if isinstance(law, SumNoise) else (law,):
            if isinstance(part, GaussianNoise):
                gaussian.append((_embedded(part.axes, start, size), part.variances))
            elif isinstance(part, LaplaceNoise):
                laplace.append((_embedded(part.axes, start, size), part.scales))
            elif not isinstance(part, NoNoise):
                raise InvalidInput(
                    f"{type(part).__name__} cannot be certified together with other releases: use a mechanism with "
                    "Gaussian or Laplace noise, such as certified_gaussian."
                )
        start += law.dimension
    normal = GaussianNoise(axes=_joined(gaussian, size)[0], variances=_joined(gaussian, size)[1])
    if not laplace:
        return normal
    return SumNoise(parts=(normal, LaplaceNoise(axes=_joined(laplace, size)[0], scales=_joined(laplace, size)[1])))


def widened(law: NoiseLaw, factor: float) -> NoiseLaw:
    """Return the law of `factor` times the noise.

    For a factor above 1 that is no less private: wider Gaussian noise is the same with more added, and Lap(cb) is
    Lap(b) with Lap(cb) added in all but 1/c² of the cases.

    >>> widened(LaplaceNoise.isotropic(1, 2.0), 3.0).expected_l2
    6.0
    """
    if isinstance(law, GaussianNoise):
        return evolve(law, variances=law.variances * factor**2)
    if isinstance(law, LaplaceNoise):
        return evolve(law, scales=law.scales * factor)
    if isinstance(law, SumNoise):
        return SumNoise(parts=tuple(widened(part, factor) for part in law.parts))  # type: ignore[misc]
    if isinstance(law, NoNoise):
        return law
    return evolve(law, edges=law.edges * factor)


def _embedded(axes: Floats, start: int, size: int) -> Floats:
    wide = np.zeros((size, axes.shape[1]))
    wide[start : start + len(axes)] = axes
    return wide


def _joined(parts: Sequence[tuple[Floats, Floats]], size: int) -> tuple[Floats, Floats]:
    axes = np.concatenate([np.zeros((size, 0)), *(axes for axes, _ in parts)], axis=1)
    return axes, np.concatenate([np.zeros(0), *(sizes for _, sizes in parts)])
