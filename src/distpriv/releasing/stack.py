"""Noise of several releases as noise of one: side by side, each with its own statistics."""

from collections.abc import Sequence

import numpy as np
from attrs import evolve
from scipy.linalg import block_diag

from distpriv.errors import InvalidInput
from distpriv.noise.laws import GaussianNoise, LaplaceNoise, NoiseLaw, SumNoise, UnimodalNoise

__all__ = ["stackable", "stacked"]


def stackable(laws: Sequence[NoiseLaw]) -> bool:
    """Tell whether noises can be taken as one: those of parts, or one with unimodal noise along a line among Gaussians.

    >>> from distpriv.noise.laws import UnimodalNoise
    >>> steps, bell = UnimodalNoise(axes=[[1]], edges=[0, 6], masses=[1]), GaussianNoise.isotropic(1, 2.0)
    >>> line = SumNoise(parts=(steps, bell))
    >>> stackable([line, bell]), stackable([line, LaplaceNoise.isotropic(1, 2.0)]), stackable([line, line])
    (True, False, False)
    """
    odd = [law for law in laws if not law.is_sum_of_parts]
    if len(odd) != 1 or not isinstance(odd[0], SumNoise):
        return not odd
    return odd[0].line is not None and all(law.is_gaussian for law in laws if law is not odd[0])


def stacked(laws: Sequence[NoiseLaw]) -> GaussianNoise | SumNoise:
    """Return the law of independent noises one below the other.

    >>> from distpriv.noise.laws import NoNoise
    >>> both = stacked([GaussianNoise.isotropic(1, 2.0), NoNoise(dimension=1), LaplaceNoise.isotropic(1, 3.0)])
    >>> np.diag(both.covariance)
    array([ 4.,  0., 18.])
    """
    if not stackable(laws):
        law = next(law for law in laws if not law.is_sum_of_parts)
        raise InvalidInput(
            f"{type(law).__name__} cannot be certified together with other releases: use a mechanism with "
            "Gaussian noise, such as certified_gaussian."
        )
    gaussian = [law.gaussian for law in laws]
    normal = GaussianNoise(
        axes=block_diag(*(law.axes for law in gaussian)), variances=np.concatenate([law.variances for law in gaussian])
    )
    places = np.cumsum([0, *(law.dimension for law in laws)])
    for law, start in zip(laws, places[:-1].tolist(), strict=True):
        if not law.is_gaussian and not law.is_sum_of_parts and law.line is not None:
            return SumNoise(parts=(_moved(law, start, int(places[-1])), normal))
    scales = np.concatenate([law.laplace_scales for law in laws])
    if not len(scales):
        return normal
    return SumNoise(parts=(normal, LaplaceNoise(axes=block_diag(*(law.laplace_axes for law in laws)), scales=scales)))


def _moved(law: NoiseLaw, start: int, size: int) -> UnimodalNoise:
    """Return the unimodal part of noise as noise of more statistics, its own from a place on."""
    staircase = next(part for part in law.parts if isinstance(part, UnimodalNoise))
    axes = np.zeros((size, 1))
    axes[start : start + law.dimension] = staircase.axes
    return evolve(staircase, axes=axes)
