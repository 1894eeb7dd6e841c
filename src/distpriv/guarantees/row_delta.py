"""What a certificate holds of the δ that was computed from reference rows."""

from collections.abc import Mapping
from typing import Any, Self

from attrs import asdict, frozen

__all__ = ["LARGEST_CHANCE", "RowDelta"]

LARGEST_CHANCE = 0.01
"""A chance to have missed a peak above which nothing is certified."""


@frozen(kw_only=True)
class RowDelta:
    """δ computed from the rows, and what is known of its error."""

    delta: float
    """An upper confidence bound, or for one statistic the exact δ; the worst pair's."""
    pair: tuple[str, str]
    """The worst ordered pair."""
    total_variation: float
    """An upper confidence bound on H_0, the worst pair's."""
    exact: bool
    """Whether the distribution is known exactly, which needs none of the following."""
    epsilon: float
    """The ε at which δ was computed: less than the target's by what ripples and lattices cost, or far below anyway."""
    estimate: float
    """δ without margins."""
    standard_error: float
    """Of the estimate."""
    normalisation: float
    """log E_j[e^L 1_A] − log P_i(A), A the event that decides δ: by how much the log-ratio errs on average."""
    normalisation_error: float
    """One standard error of that."""
    draws: int
    """How many were made of the worst pair; 0 for an exact distribution."""
    pairs: int
    """How many ordered pairs were computed."""
    ripple: float
    """By which share of itself the density ripples at most, at the peaks that were found."""
    peak: tuple[float, ...] | None
    """The frequency of the highest ripple, one number a statistic; none where there is no peak."""
    missed: float
    """The chance that the search passed by a peak."""

    @property
    def holds(self) -> bool:
        """Whether the rows have no periodic structure that the computation cannot see: at most 0.1 % of the density."""
        return self.exact or (self.ripple <= 1e-3 and self.missed <= LARGEST_CHANCE)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as numbers and lists."""
        return {name: list(value) if isinstance(value, tuple) else value for name, value in asdict(self).items()}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """Return what `to_dict` wrote down."""
        peak = values["peak"]
        tuples = {"pair": tuple(values["pair"]), "peak": None if peak is None else tuple(peak)}
        return cls(**{**values, **tuples})
