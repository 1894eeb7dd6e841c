"""What private Gaussian noise must satisfy: δ of every pair, by estimates, and its gradient in the noise."""

from typing import Final, Self

import numpy as np
from attrs import evolve, frozen
from numpy.typing import NDArray

from distpriv.deadline import require_time
from distpriv.distances.gaussian.estimates import hockey_stick_estimates, hockey_stick_slopes
from distpriv.framework.arrays import Floats

__all__ = ["GaussianConstraints", "Indices"]

Indices = NDArray[np.intp]


@frozen(kw_only=True)
class ConstraintSettings:
    """How numbers that cannot be told apart are compared."""

    least: float = 1e-290
    """Divergences below this count as this, so that they have a logarithm."""
    rounding: float = 1e-9
    """By how much log H may exceed log δ."""


SETTINGS: Final = ConstraintSettings()


@frozen(kw_only=True, eq=False)
class GaussianConstraints:
    """H_ε ≤ δ of Gaussian laws, in any units; ε, δ, shift and covariances have an entry for every ordered pair."""

    costs: Floats
    """What an error of each statistic costs: the diagonal of Q."""
    lowest: Floats
    """The floor: the covariance of the least noise to look for."""
    epsilons: Floats
    deltas: Floats
    shifts: Floats
    firsts: Floats
    seconds: Floats

    @property
    def everything(self) -> Indices:
        """The numbers of all pairs."""
        return np.arange(len(self.deltas))

    def only(self, pairs: Indices) -> Self:
        """Return the problem of some of the pairs."""
        of_pairs = ("epsilons", "deltas", "shifts", "firsts", "seconds")
        return evolve(self, **{name: getattr(self, name)[pairs] for name in of_pairs})

    def excess(self, covariance: Floats, pairs: Indices) -> tuple[Floats, Floats]:
        """Return log H − log δ of some pairs, and its gradients in S."""
        require_time()
        firsts, seconds = self.firsts[pairs] + covariance, self.seconds[pairs] + covariance
        try:
            slopes = hockey_stick_slopes(self.epsilons[pairs], self.shifts[pairs], firsts, seconds)
        except np.linalg.LinAlgError:  # too uneven to be computed with: not to be taken
            return -np.log(self.deltas[pairs]), np.zeros_like(firsts)
        values = np.maximum(slopes.values, SETTINGS.least)
        gradients = np.where(np.isfinite(slopes.gradients), slopes.gradients, 0.0) / values[:, np.newaxis, np.newaxis]
        return np.log(values) - np.log(self.deltas[pairs]), gradients

    def above(self, covariance: Floats, pairs: Indices) -> Floats:
        """Return log H − log δ of some pairs."""
        require_time()
        firsts, seconds = self.firsts[pairs] + covariance, self.seconds[pairs] + covariance
        try:
            values = hockey_stick_estimates(self.epsilons[pairs], self.shifts[pairs], firsts, seconds)
        except np.linalg.LinAlgError:
            return np.asarray(-np.log(self.deltas[pairs]))
        return np.asarray(np.log(np.maximum(values, SETTINGS.least)) - np.log(self.deltas[pairs]))

    @property
    def satisfied(self) -> bool:
        """Whether noise at the floor is enough."""
        return bool(self.above(self.lowest, self.everything).max() <= SETTINGS.rounding)
