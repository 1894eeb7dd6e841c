r"""Noise along one axis whose density is a symmetric staircase, as a linear program chooses it."""

import math
from fractions import Fraction
from itertools import pairwise
from typing import Self

import numpy as np
from attrs import evolve, frozen

from distpriv.distances.line_laws import LineLaw, StaircaseLine
from distpriv.errors import InvalidInput
from distpriv.framework.arrays import Floats, array_field
from distpriv.noise.parts import Noise

__all__ = ["UnimodalNoise"]

TOTAL = 2**52
"""Masses are rounded down to whole multiples of one part in so many, which makes their sum exact; the rest is the first
cell's."""


@frozen(kw_only=True)
class UnimodalNoise(Noise):
    """Z = Y v, v the one column of `axes`; |Y| has constant density between neighbouring edges, and Y is symmetric.

    `masses` says how likely |Y| is between two edges. As floating-point numbers they are fractions with a power of two
    below, and they must sum to 1 exactly, so that a release can draw a cell by whole numbers alone. The densities do
    not increase, exactly either: every guarantee for smaller shifts rests on that.

    >>> from distpriv.noise.unimodal import UnimodalNoise
    >>> noise = UnimodalNoise(axes=[[0.6], [0.8]], edges=[0, 2, 6], masses=[0.5, 0.5])
    >>> noise.dimension, noise.densities, round(noise.expected_rms, 4)
    (2, array([0.125 , 0.0625]), 3.0551)
    >>> drawn = abs(noise.simulate(10_000, seed=0)[:, 0]) / 0.6
    >>> noise.expected_l2, round(float((drawn < 2).mean()), 2), bool(drawn.max() <= 6)
    (2.5, 0.5, True)
    >>> noise.covariance.round(2).tolist(), noise.half_widths
    ([[3.36, 4.48], [4.48, 5.97]], array([3.36, 4.48]))
    >>> noise.widths, noise.widened(2.0).edges, noise.parts, noise.is_sum_of_parts, noise.is_gaussian
    (array([6.]), array([ 0.,  4., 12.]), (), False, False)
    >>> noise.is_safer_wider
    False
    """

    kind = "unimodal"

    axes: Floats = array_field()
    """One column of length 1."""
    edges: Floats = array_field()
    """Where the density of |Y| has its steps, from 0 on."""
    masses: Floats = array_field()
    """How likely |Y| is between two neighbouring edges."""

    @classmethod
    def mixed(cls, axis: Floats, widths: Floats, shares: Floats) -> Self:
        """Return noise that is even between −w and w with some probability for every width w, in ascending order.

        >>> import numpy as np
        >>> from distpriv.noise.unimodal import UnimodalNoise
        >>> UnimodalNoise.mixed(np.ones(1), np.array([2.0, 6.0]), np.array([0.25, 0.75])).masses
        array([0.5, 0.5])
        """
        edges = np.append(0.0, widths)
        heights = np.cumsum((shares / widths)[::-1])[::-1]
        masses = heights * np.diff(edges)
        whole = np.floor(masses * (TOTAL / masses.sum()) * (1 - 1e-14))
        whole[0] += TOTAL - int(sum(map(int, whole.tolist())))
        return cls(axes=axis[:, np.newaxis], edges=edges, masses=whole / TOTAL)

    def __attrs_post_init__(self) -> None:
        if self.axes.ndim != 2 or self.axes.shape[1] != 1 or not abs(float((self.axes**2).sum()) - 1) <= 1e-9:
            raise InvalidInput(
                f"unimodal noise needs one axis, a column of length 1: got axes of shape {self.axes.shape}."
            )
        _require_cells(self.edges, self.masses)

    @property
    def is_sum_of_parts(self) -> bool:
        return False

    @property
    def is_safer_wider(self) -> bool:
        return False

    @property
    def is_gaussian(self) -> bool:
        return False

    @property
    def line(self) -> tuple[Floats, LineLaw]:
        return self.axes[:, 0], StaircaseLine(edges=self.edges, masses=self.masses)

    @property
    def widths(self) -> Floats:
        return self.edges[-1:]

    @property
    def densities(self) -> Floats:
        """The density of Y in every cell, on either side of 0."""
        return np.asarray(self.masses / np.diff(self.edges) / 2)

    @property
    def covariance(self) -> Floats:
        return np.asarray(self.expected_rms**2 * (self.axes @ self.axes.T))

    @property
    def expected_l2(self) -> float:
        return float(self.masses @ (self.edges[:-1] + self.edges[1:])) / 2

    @property
    def expected_rms(self) -> float:
        low, high = self.edges[:-1], self.edges[1:]
        return math.sqrt(float(self.masses @ (low**2 + low * high + high**2)) / 3)

    @property
    def half_widths(self) -> Floats:
        quantile = np.interp(0.95, np.concatenate([[0.0], np.cumsum(self.masses)]), self.edges)
        return np.asarray(np.abs(self.axes[:, 0]) * quantile)

    def simulate(self, draws: int, seed: int) -> Floats:
        rng = np.random.default_rng(seed)
        cells = rng.choice(len(self.masses), size=draws, p=self.masses)
        along = rng.uniform(self.edges[cells], self.edges[cells + 1]) * rng.choice([-1.0, 1.0], size=draws)
        return np.asarray(np.multiply.outer(along, self.axes[:, 0]))

    def _transform(self, frequencies: Floats) -> Floats:
        axis, law = self.line
        return law.transform((frequencies @ axis).ravel()).reshape(frequencies.shape[:-1])

    def widened(self, factor: float) -> Self:
        return evolve(self, edges=self.edges * factor)


def _require_cells(edges: Floats, masses: Floats) -> None:
    if masses.ndim != 1 or len(masses) == 0 or edges.shape != (len(masses) + 1,):
        raise InvalidInput(
            f"unimodal noise needs one more edge than masses: got {edges.shape} edges and {masses.shape} masses."
        )
    if edges[0] != 0 or not (np.diff(edges) > 0).all() or not np.isfinite(edges[-1]):
        raise InvalidInput("the edges of unimodal noise must start at 0 and increase.")
    if not (np.isfinite(masses).all() and (masses >= 0).all() and sum(map(Fraction, masses.tolist())) == 1):
        raise InvalidInput("the masses of unimodal noise must be at least 0 and sum to 1 exactly: round them to 2⁻⁵².")
    exact_edges, exact = [Fraction(e) for e in edges.tolist()], [Fraction(m) for m in masses.tolist()]
    heights = [m / (b - a) for m, a, b in zip(exact, exact_edges[:-1], exact_edges[1:], strict=True)]
    if any(after > before for before, after in pairwise(heights)):
        raise InvalidInput("the densities of unimodal noise must not increase away from 0: sort them.")
