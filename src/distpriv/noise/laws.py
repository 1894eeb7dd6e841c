"""Every law of noise: Gaussian, Laplace, their sums, a staircase along one axis, and none."""

from typing import Any, Self, get_args

import numpy as np
from attrs import evolve, field, fields, frozen

from distpriv.distances.line_laws import LineLaw
from distpriv.errors import InvalidInput
from distpriv.framework.arrays import Floats
from distpriv.noise.lengths import line_half_width, mixed_length
from distpriv.noise.parts import GaussianNoise, LaplaceNoise, Noise
from distpriv.noise.unimodal import UnimodalNoise

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
class SumNoise(Noise):
    """Z = the sum of independent Gaussian and Laplace noise, or of Gaussian and unimodal noise.

    >>> from distpriv.noise.laws import GaussianNoise, LaplaceNoise, SumNoise
    >>> both = SumNoise(parts=(GaussianNoise.isotropic(2, 3.0), LaplaceNoise(axes=[[1], [0]], scales=[4])))
    >>> both.covariance.tolist(), [part["law"] for part in both.to_dict()["parts"]]
    ([[41.0, 0.0], [0.0, 9.0]], ['gaussian', 'laplace'])

    Unimodal noise has no law of a part that others could be added to:

    >>> from distpriv.noise.unimodal import UnimodalNoise
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
        if self._staircases and sum(not part.is_gaussian for part in self.parts) > 1:
            raise InvalidInput("unimodal noise has Gaussian noise beside it and no other: give one law along a line.")

    @property
    def _staircases(self) -> list[UnimodalNoise]:
        return [part for part in self.parts if isinstance(part, UnimodalNoise)]

    @property
    def is_gaussian(self) -> bool:
        return all(part.is_gaussian for part in self.parts)

    @property
    def is_sum_of_parts(self) -> bool:
        return not self._staircases

    @property
    def is_safer_wider(self) -> bool:
        return not self._staircases

    @property
    def line(self) -> tuple[Floats, LineLaw] | None:
        return self._staircases[0].line if self._staircases else super().line

    @property
    def expected_l2(self) -> float:
        if not self._staircases:
            return super().expected_l2
        axis, law = self._staircases[0].line
        return mixed_length(self.gaussian.variances, self.gaussian.axes.T @ axis, law)

    @property
    def half_widths(self) -> Floats:
        if not self._staircases:
            return super().half_widths
        axis, law = self._staircases[0].line
        deviations = np.sqrt(np.maximum(np.diag(self.gaussian.covariance), 0.0))
        return np.array(
            [line_half_width(law, float(abs(of)), float(s)) for of, s in zip(axis, deviations, strict=True)]
        )

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
            given = {each.name: values[each.name] for each in fields(law)}
            if law is SumNoise:
                given["parts"] = tuple(map(noise_from_dict, given["parts"]))
            return law(**given)
    except (TypeError, KeyError, ValueError, AttributeError) as failure:
        raise InvalidInput(f"this describes no law of noise: {values!r}.") from failure
    raise InvalidInput(
        f"there is no law of noise called {values['law']!r}: it is gaussian, laplace, unimodal, sum or none."
    )
