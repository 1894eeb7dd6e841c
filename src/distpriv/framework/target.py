"""The (ε, δ) asked for, and what it means to an attacker."""

import math
from statistics import NormalDist
from typing import Self

from attrs import field, frozen

from distpriv.errors import InvalidTarget
from distpriv.framework.domains import as_written, real

__all__ = ["PrivacyTarget", "odds"]

TAIL_EPSILON, LEAST_TAIL_DELTA = 2.0, 1e-3
"""The ε of the tail of a target with ε = 0, and its least δ."""


def odds(epsilon: float) -> float:
    """Return e^ε; beyond ε = 600, where it nears the largest number, that of 600, with which no divergence is smaller.

    >>> odds(0.0), odds(700.0) == odds(600.0)
    (1.0, True)
    """
    return math.exp(min(epsilon, 600.0))


def _epsilon(value: object) -> float:
    return real("epsilon", value, InvalidTarget, at_least=0, cure="smaller is more private, and 1 is a common choice")


def _delta(value: object) -> float:
    return real("delta", value, InvalidTarget, at_least=0, below=1, cure="it is a small probability, such as 0.001")


@frozen
class PrivacyTarget:
    r"""The (ε, δ)-distribution privacy asked for.

    For every protected pair of scenarios and every set S of answers,
    :math:`\Pr[M ∈ S \mid θ_i] ≤ e^ε \Pr[M ∈ S \mid θ_j] + δ`. ε = 0 is allowed with δ > 0 and
    then bounds the total variation distance by δ.

    Raises:
        InvalidTarget: one of them is outside its range, or both are 0.

    >>> import distpriv as dp
    >>> dp.PrivacyTarget(epsilon=1.0, delta=1e-3)
    PrivacyTarget(epsilon=1.0, delta=0.001)
    >>> dp.PrivacyTarget(1, 1e-3) == dp.PrivacyTarget(epsilon=1.0, delta=1e-3)
    True
    >>> target = dp.PrivacyTarget(epsilon=0.5)
    >>> target.epsilon, target.delta, round(target.attack_accuracy_ceiling, 4), target.points == (target,)
    (0.5, 0.0, 0.6225, True)
    """

    epsilon: float = field(converter=_epsilon)
    """ε ≥ 0; smaller is more private."""
    delta: float = field(default=0.0, converter=_delta)
    """δ, at least 0 and below 1: a small probability, what is allowed beyond ε."""

    def __attrs_post_init__(self) -> None:
        if self.epsilon == 0 and self.delta == 0:
            raise InvalidTarget(
                "epsilon = 0 with delta = 0 asks for answers that do not depend on the data: give a delta above 0."
            )

    @classmethod
    def from_attack_accuracy(cls, accuracy: float, *, delta: float | None = None) -> Self:
        r"""Return the weakest target under which no attacker with even odds is right more often than `accuracy`.

        Without δ this is the total variation target (0, 2a − 1), with its `tail`; with δ it is the ε that solves
        :math:`(e^ε + δ)/(1 + e^ε) = a`.

        Args:
            accuracy: how often an attacker may be right, above 0.5, which is a blind guess, and below 1.
            delta: the δ to have; none when ε is to be 0.

        Raises:
            InvalidTarget: the accuracy is outside its range, or δ alone allows more than it.

        >>> import distpriv as dp
        >>> dp.PrivacyTarget.from_attack_accuracy(0.6)
        PrivacyTarget(epsilon=0.0, delta=0.2)
        >>> round(dp.PrivacyTarget.from_attack_accuracy(0.6, delta=0.001).epsilon, 6)
        0.403797
        """
        cure = "0.5 is a blind guess and 1 is certainty, so tolerate something between, such as 0.6"
        accuracy = real("attack accuracy", accuracy, InvalidTarget, above=0.5, below=1, cure=cure)
        if delta is None:
            return cls(epsilon=0.0, delta=float(2 * as_written(accuracy) - 1))
        given = cls(epsilon=1.0, delta=delta).delta
        odds = (as_written(accuracy) - as_written(given)) / (1 - as_written(accuracy))
        if odds < 1:
            raise InvalidTarget(
                f"delta = {given} alone lets an attacker be right with probability {(1 + given) / 2:g}, more than the "
                f"{accuracy} tolerated: give a delta of at most {float(2 * as_written(accuracy) - 1):g}."
            )
        # A few units in the last place less than the solution, so that rounding never tolerates more.
        return cls(epsilon=max(0.0, math.log(odds) - 2.0**-50), delta=given)

    @property
    def tail(self) -> "PrivacyTarget | None":
        r"""A second point of the privacy profile that comes with ε = 0; none with a larger ε.

        A total variation of δ alone permits to publish everything in a share δ of all releases. So an attacker's odds
        may change by more than e² with a probability of at most 10⁻³, or of twice what Gaussian noise with the same
        total variation has where that is more.

        >>> import distpriv as dp
        >>> dp.PrivacyTarget.from_attack_accuracy(0.6).tail
        PrivacyTarget(epsilon=2.0, delta=0.001)
        >>> round(dp.PrivacyTarget.from_attack_accuracy(0.7).tail.delta, 3), dp.PrivacyTarget(epsilon=1.0).tail
        (0.056, None)
        """
        if self.epsilon > 0:
            return None
        normal = NormalDist()
        distance = 2 * normal.inv_cdf((1 + self.delta) / 2)
        far = TAIL_EPSILON / distance
        gaussian = normal.cdf(distance / 2 - far) - math.exp(TAIL_EPSILON) * normal.cdf(-distance / 2 - far)
        return type(self)(epsilon=TAIL_EPSILON, delta=min(self.delta, max(LEAST_TAIL_DELTA, 2 * gaussian)))

    @property
    def points(self) -> "tuple[PrivacyTarget, ...]":
        """Everything that is promised: the target, and its tail if it has one."""
        return (self,) if self.tail is None else (self, self.tail)

    @property
    def attack_accuracy_ceiling(self) -> float:
        r"""The most often an attacker who must tell one pair apart, with even odds, can be right.

        :math:`(e^ε + δ)/(1 + e^ε)`: the best test of two laws that are (ε, δ)-close both ways.

        >>> import distpriv as dp
        >>> dp.PrivacyTarget(epsilon=0, delta=0.2).attack_accuracy_ceiling
        0.6
        """
        return min(1.0, (1.0 + self.delta * math.exp(-self.epsilon)) / (1.0 + math.exp(-self.epsilon)))
