"""Noise of several releases as noise of one: side by side, each with its own statistics."""

from collections.abc import Sequence

import numpy as np
from scipy.linalg import block_diag

from distpriv.errors import InvalidInput
from distpriv.noise.laws import GaussianNoise, LaplaceNoise, NoiseLaw, SumNoise

__all__ = ["stackable", "stacked"]


def stackable(laws: Sequence[NoiseLaw]) -> bool:
    """Tell whether noises can be taken as one: those of Gaussian and Laplace parts can."""
    return all(law.is_sum_of_parts for law in laws)


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
    scales = np.concatenate([law.laplace_scales for law in laws])
    if not len(scales):
        return normal
    return SumNoise(parts=(normal, LaplaceNoise(axes=block_diag(*(law.laplace_axes for law in laws)), scales=scales)))
