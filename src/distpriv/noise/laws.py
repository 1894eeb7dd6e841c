"""Every law of noise: Gaussian, Laplace, their sums, a staircase along one axis, and none."""

from fractions import Fraction
from itertools import pairwise
from typing import Any, Self, get_args

import numpy as np
from attrs import evolve, field, fields, frozen

from distpriv.errors import InvalidInput
from distpriv.framework.arrays import Floats, array_field
from distpriv.noise.line_laws import LineLaw, StaircaseLine
from distpriv.noise.parts import GaussianNoise, LaplaceNoise, Noise

__all__ = [
    "GaussianNoise",
    "LaplaceNoise",
    "NoNoise",
    "Noise",
    "NoiseLaw",
    "SumNoise",
    "UnimodalNoise",
    "noise_from_dict",
]


@frozen(kw_only=True)
class NoNoise(Noise):
    """Z = 0: the statistics are released as they are.

    >>> from distpriv.noise.laws import NoNoise
    >>> nothing = NoNoise(dimension=2)
    >>> nothing.covariance.tolist(), nothing.half_widths.tolist(), nothing.simulate(1, seed=0).tolist()
    ([[0.0, 0.0], [0.0, 0.0]], [0.0, 0.0], [[0.0, 0.0]])
    >>> nothing.axes.shape, nothing.widths, nothing.variances, nothing.parts, nothing.widened(2.0) == nothing
    ((2, 0), array([], dtype=float64), array([], dtype=float64), (), True)
    """

    kind = "none"

    dimension: int = field(converter=int)
    """How many statistics there are."""

    @property
    def axes(self) -> Floats:
        return np.zeros((self.dimension, 0))

    @property
    def widths(self) -> Floats:
        return np.zeros(0)

    @property
    def variances(self) -> Floats:
        """None: no noise is Gaussian noise along no axis."""
        return np.zeros(0)

    def widened(self, factor: float) -> Self:  # noqa: ARG002 - the laws share one signature
        return self


@frozen(kw_only=True)
class UnimodalNoise(Noise):
    """Z = Y v, v the one column of `axes`; |Y| has constant density between neighbouring edges, and Y is symmetric.

    `masses` says how likely |Y| is between two edges. As floating-point numbers they are fractions with a power of two
    below, and they must sum to 1 exactly, so that a release can draw a cell by whole numbers alone. The densities do
    not increase, exactly either: every guarantee for smaller shifts rests on that.

    >>> from distpriv.noise.laws import UnimodalNoise
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
        >>> from distpriv.noise.laws import UnimodalNoise
        >>> UnimodalNoise.mixed(np.ones(1), np.array([2.0, 6.0]), np.array([0.25, 0.75])).masses
        array([0.5, 0.5])
        """
        edges = np.append(0.0, widths)
        heights = np.cumsum((shares / widths)[::-1])[::-1]
        masses = heights * np.diff(edges)
        # Masses are rounded down to whole multiples of 2⁻⁵², so that their sum is exact; the rest is the first cell's.
        whole = np.floor(masses * (2**52 / masses.sum()) * (1 - 1e-14))
        whole[0] += 2**52 - int(sum(map(int, whole.tolist())))
        return cls(axes=axis[:, np.newaxis], edges=edges, masses=whole / 2**52)

    def __attrs_post_init__(self) -> None:
        if self.axes.ndim != 2 or self.axes.shape[1] != 1 or not abs(float((self.axes**2).sum()) - 1) <= 1e-9:
            raise InvalidInput(
                f"unimodal noise needs one axis, a column of length 1: got axes of shape {self.axes.shape}."
            )
        _require_cells(self.edges, self.masses)

    @property
    def line_axes(self) -> Floats:
        return self.axes

    @property
    def line_laws(self) -> tuple[LineLaw, ...]:
        return (StaircaseLine(edges=self.edges, masses=self.masses),)

    @property
    def widths(self) -> Floats:
        return self.edges[-1:]

    @property
    def densities(self) -> Floats:
        """The density of Y in every cell, on either side of 0."""
        return np.asarray(self.masses / np.diff(self.edges) / 2)

    def simulate(self, draws: int, seed: int) -> Floats:
        rng = np.random.default_rng(seed)
        cells = rng.choice(len(self.masses), size=draws, p=self.masses)
        along = rng.uniform(self.edges[cells], self.edges[cells + 1]) * rng.choice([-1.0, 1.0], size=draws)
        return np.asarray(np.multiply.outer(along, self.axes[:, 0]))

    def widened(self, factor: float) -> Self:
        return evolve(self, edges=self.edges * factor)


@frozen(kw_only=True)
class SumNoise(Noise):
    """Z = the sum of independent Gaussian and Laplace noise, or of Gaussian and unimodal noise.

    >>> from distpriv.noise.laws import GaussianNoise, LaplaceNoise, SumNoise
    >>> both = SumNoise(parts=(GaussianNoise.isotropic(2, 3.0), LaplaceNoise(axes=[[1], [0]], scales=[4])))
    >>> both.covariance.tolist(), [part["law"] for part in both.to_dict()["parts"]]
    ([[41.0, 0.0], [0.0, 9.0]], ['gaussian', 'laplace'])

    Unimodal noise has no law of a part that others could be added to:

    >>> from distpriv.noise.laws import UnimodalNoise
    >>> steps = UnimodalNoise(axes=[[1], [0]], edges=[0, 6], masses=[1])
    >>> both = SumNoise(parts=(steps, GaussianNoise.isotropic(2, 1.0)))
    >>> both.is_gaussian, both.is_sum_of_parts, both.line[1].edges, both.half_widths.round(2)
    (False, False, array([0., 6.]), array([6.22, 1.96]))
    >>> round(both.expected_l2, 2), round(both.expected_rms, 2), both.is_safer_wider
    (3.3, 3.74, False)
    """

    kind = "sum"

    parts: tuple[GaussianNoise | LaplaceNoise | UnimodalNoise, ...]
    """Independent laws, for the same statistics."""

    def __attrs_post_init__(self) -> None:
        if len({part.dimension for part in self.parts}) != 1:
            raise InvalidInput("a sum of noise needs at least one part, all of them for the same statistics.")
        if not self.is_sum_of_parts and sum(not part.is_gaussian for part in self.parts) > 1:
            raise InvalidInput("unimodal noise has Gaussian noise beside it and no other: give one law along a line.")

    @property
    def axes(self) -> Floats:
        return np.concatenate([part.axes for part in self.parts], axis=1)

    @property
    def widths(self) -> Floats:
        return np.concatenate([part.widths for part in self.parts])

    def widened(self, factor: float) -> Self:
        return evolve(self, parts=tuple(part.widened(factor) for part in self.parts))


NoiseLaw = GaussianNoise | LaplaceNoise | UnimodalNoise | SumNoise | NoNoise
"""Any law of noise."""

LAWS: dict[str, type[NoiseLaw]] = {law.kind: law for law in get_args(NoiseLaw)}


def noise_from_dict(values: Any) -> NoiseLaw:
    """Return the law that its `to_dict` wrote down, to the last bit.

    >>> noise_from_dict({"law": "none", "dimension": 2})
    NoNoise(dimension=2)
    """
    try:
        law = LAWS.get(values["law"])
        if law is not None:
            given = {of.name: values[of.name] for of in fields(law)}
            if law is SumNoise:
                given["parts"] = tuple(map(noise_from_dict, given["parts"]))
            return law(**given)
    except (TypeError, KeyError, ValueError, AttributeError) as failure:
        raise InvalidInput(f"this describes no law of noise: {values!r}.") from failure
    raise InvalidInput(
        f"there is no law of noise called {values['law']!r}: it is gaussian, laplace, unimodal, sum or none."
    )


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
