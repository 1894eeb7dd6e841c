r"""Noise on the whole numbers: how it is drawn, and how far it is from continuous noise that is rounded.

Lengths are in units of the lattice's step. Every law here stands for a continuous Y: if a statistic is x and k is a
whole number with |x − k| ≤ s, `cost(s)` bounds how far k + N is from round(x + Y), N being what `draw` returns. The
bounds are proved in docs/proofs/lattice_noise.md. `skew_cost` is the share of one axis in what it costs that the axes
are inverted to finitely many places.
"""

import math
import secrets
from bisect import bisect_right
from functools import lru_cache
from itertools import accumulate
from typing import Any, Self

import numpy as np
from attrs import field, frozen

from distpriv.errors import InvalidInput
from distpriv.framework.arrays import Floats, array_field
from distpriv.framework.domains import real
from distpriv.noise.dyadic import Dyadic

__all__ = ["Discrepancy", "IntegerGaussian", "IntegerLaplace", "IntegerNoise", "IntegerPiecewise"]


@frozen(kw_only=True)
class SamplerSettings:
    """What the samplers can draw, and how far out laws are compared."""

    largest_scale: float = 2.0**40
    """OpenDP's samplers return the largest 64-bit number for all that exceed it; from here that is 2²³ scales away."""
    gaussian_reach: float = 12.0
    """Standard deviations beyond which the ratio of two laws is not bounded, and their mass counts as failure."""
    laplace_reach: float = 72.0
    """The same in scales of Laplace noise; needed only for the skewness of axes."""


SETTINGS = SamplerSettings()


@frozen(kw_only=True)
class Discrepancy:
    """How far two laws are apart: H_λ is at most η both ways, λ being `divergence` and η `failure`."""

    divergence: float = 0.0
    failure: float = 0.0

    def __add__(self, other: Self) -> Self:
        """Return what holds for the first and the last of three laws, or for products of two and two."""
        larger, missed = max(self.divergence, other.divergence), self.failure + other.failure
        missed = missed * math.exp(larger) if larger < 1 else float(missed > 0)
        return type(self)(divergence=self.divergence + other.divergence, failure=min(1.0, missed))


def _scale(value: object) -> float:
    cure = "choose another step"
    return real("scale in steps", value, InvalidInput, at_least=1, at_most=SETTINGS.largest_scale, cure=cure)


@frozen(kw_only=True)
class IntegerLaplace:
    r"""N with probabilities proportional to :math:`e^{-|n|/\mathrm{scale}}`."""

    scale: float = field(converter=_scale)

    def draw(self) -> int:
        """Draw N exactly, by OpenDP's sampler and the operating system's randomness."""
        return int(_sampler("laplace", self.scale)(0))

    def cost(self, offset: float) -> Discrepancy:
        r"""Compare with Lap(scale): :math:`λ = (s + ½)u + u^2/12`, u = 1/scale, and nothing fails.

        >>> IntegerLaplace(scale=100.0).cost(0.5).failure
        0.0
        """
        unit = 1 / self.scale
        return Discrepancy(divergence=(offset + 0.5) * unit + unit**2 / 12)

    def skew_cost(self, skew: float) -> Discrepancy:
        """Return the cost of axes that are skew by so much: none if they are exact."""
        if skew == 0:
            return Discrepancy()
        turned = skew / (1 - skew)
        ratio = SETTINGS.laplace_reach * turned - math.log1p(-turned)
        return Discrepancy(divergence=ratio, failure=math.exp(-SETTINGS.laplace_reach / (1 + skew)))


@frozen(kw_only=True)
class IntegerGaussian:
    r"""N with probabilities proportional to :math:`e^{-n^2/(2\,\mathrm{scale}^2)}`."""

    scale: float = field(converter=_scale)

    def draw(self) -> int:
        """Draw N exactly, by OpenDP's sampler and the operating system's randomness."""
        return int(_sampler("gaussian", self.scale)(0))

    def cost(self, offset: float) -> Discrepancy:
        r"""Compare with N(0, scale²): λ grows with |n|, so it is taken at T = 12 standard deviations.

        :math:`λ = Tcu + (cu)^2/2 + 3e^{-2π^2/u^2}` and :math:`η = 2Φ(-T + \max(c, 1)u)`, c = s + ½, u = 1/scale.

        >>> IntegerGaussian(scale=2.0**40).cost(0.5).divergence < 1.1e-11
        True
        """
        unit = 1 / self.scale
        reach = (offset + 0.5) * unit
        normalisation = 3 * math.exp(-2 * math.pi**2 / unit**2)
        left = SETTINGS.gaussian_reach - max(reach, unit)
        return Discrepancy(
            divergence=SETTINGS.gaussian_reach * reach + reach**2 / 2 + normalisation,
            failure=min(1.0, math.erfc(left / math.sqrt(2))),
        )

    def skew_cost(self, skew: float) -> Discrepancy:
        """Return the cost of axes that are skew by so much: none if they are exact."""
        if skew == 0:
            return Discrepancy()
        turned = skew / (1 - skew)
        ratio = SETTINGS.gaussian_reach**2 * turned * (1 + turned / 2) - math.log1p(-turned)
        return Discrepancy(divergence=ratio, failure=math.erfc(SETTINGS.gaussian_reach / (1 + skew) / math.sqrt(2)))


@frozen(kw_only=True)
class IntegerPiecewise:
    """N = round(Y), where Y falls between two neighbouring edges with their mass, and evenly there.

    The masses are taken as they are, over their exact sum.
    """

    edges: Floats = array_field()
    masses: Floats = array_field()

    def __attrs_post_init__(self) -> None:
        edges, masses = self.edges, self.masses
        proper = edges.ndim == 1 and masses.shape == (len(edges) - 1,) and np.isfinite(edges).all()
        if not (proper and (np.diff(edges) > 0).all() and np.isfinite(masses).all() and (masses >= 0).all()):
            raise InvalidInput(
                "piecewise constant noise needs finite edges that rise, and one mass of at least 0 between any two."
            )
        if not masses.any():
            raise InvalidInput("piecewise constant noise needs a mass above 0 somewhere.")

    @classmethod
    def symmetric(cls, edges: Floats, masses: Floats) -> Self:
        """Return the law whose |Y| has these edges, from 0 on, and these masses."""
        return cls(edges=np.concatenate([-edges[:0:-1], edges]), masses=np.concatenate([masses[::-1], masses]))

    def draw(self) -> int:
        """Draw N exactly: a piece by whole-number weights, then one of equal parts of it, each inside one cell."""
        weights = list(accumulate(Dyadic.of(self.masses).whole.tolist()))
        piece = bisect_right(weights, secrets.randbelow(weights[-1]))
        ends = Dyadic.of([*self.edges[piece : piece + 2].tolist(), 0.5])
        left, right, half = ends.whole.tolist()
        return int((left + secrets.randbelow(right - left) + half) // (2 * half))

    def cost(self, offset: float) -> Discrepancy:
        """Compare with Y: moving a density by s costs at most s/2 of its total variation, and no ratio.

        >>> IntegerPiecewise(edges=[-50, 50], masses=[1]).cost(0.5).failure
        0.005
        """
        return Discrepancy(failure=min(1.0, offset * float(self._jumps().sum()) / 2))

    def skew_cost(self, skew: float) -> Discrepancy:
        """Return the cost of an axis that is longer or shorter by this share."""
        spread = float(np.abs(self.edges) @ self._jumps())
        return Discrepancy(failure=min(1.0, skew / (1 - skew) * (1 + spread) / 2))

    @property
    def scale(self) -> float:
        """Half the width of even noise that is as dense as this at its densest."""
        return float(1 / (2 * self._heights().max()))

    def _heights(self) -> Floats:
        return np.asarray(self.masses / self.masses.sum() / np.diff(self.edges))

    def _jumps(self) -> Floats:
        return np.abs(np.diff(self._heights(), prepend=0.0, append=0.0))


IntegerNoise = IntegerLaplace | IntegerGaussian | IntegerPiecewise
"""Any law of noise on the whole numbers."""


@lru_cache(maxsize=1024)
def _sampler(law: str, scale: float) -> Any:
    """Return OpenDP's sampler of 64-bit whole numbers, which adds noise to a number; here that is always 0."""
    import opendp.measurements
    from opendp.domains import atom_domain
    from opendp.metrics import absolute_distance
    from opendp.mod import enable_features

    enable_features("contrib")  # OpenDP wants to hear that its contributed parts are meant
    make = {"laplace": opendp.measurements.make_laplace, "gaussian": opendp.measurements.make_gaussian}[law]
    return make(atom_domain(T="i64"), absolute_distance(T="i64"), scale=scale)
