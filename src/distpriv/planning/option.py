"""One line of a plan: a mechanism with its error and what an attacker can do, or why there is none."""

from typing import Any, Literal

import numpy as np
from attrs import frozen

from distpriv.errors import DistprivError
from distpriv.framework.arrays import Floats
from distpriv.guarantees.attack_accuracy import attack_accuracy_upper_bound
from distpriv.guarantees.mechanism import AdditiveMechanism
from distpriv.modelling.model import QueryModel
from distpriv.modelling.utility import weighted_rms

__all__ = ["Option", "Refusal", "Skipped", "option"]


@frozen(kw_only=True)
class Option:
    """A mechanism that applies, and what it costs.

    >>> import distpriv as dp
    >>> model = dp.gaussian_model(means={"a": [0], "b": [1]}, covariances=[[1]], pairs=[("a", "b")])
    >>> found = dp.plan(model, dp.PrivacyTarget(epsilon=1, delta=0.001)).chosen
    >>> found.name, round(found.error, 3), round(found.attack_accuracy, 3), found.delta_is
    ('certified_laplace', 1.414, 0.628, 'bound')
    >>> found.errors.keys(), found.mechanism.certificate.holds
    (dict_keys(['statistic_1']), True)
    >>> sorted(found.to_dict())
    ['attack_accuracy', 'certificate', 'delta_is', 'error', 'errors', 'expected_l2', 'expected_rms', 'half_widths',
    'mechanism', 'noise']
    """

    mechanism: AdditiveMechanism
    """The noise and its certificate."""
    error: float
    """√tr(QS), the weighted root mean square error of all statistics together: what options are chosen by."""
    attack_accuracy: float
    """How often the best attacker is right at most."""

    @property
    def name(self) -> str:
        """The mechanism's name."""
        return self.mechanism.name

    @property
    def errors(self) -> dict[str, float]:
        """The root mean square error of each statistic."""
        spread = np.sqrt(np.maximum(np.diag(self.mechanism.noise.covariance), 0.0))
        return dict(zip(self.mechanism.statistics, spread.tolist(), strict=True))

    @property
    def delta_is(self) -> Literal["exact", "bound"]:
        """Whether the certificate's δ is that of the Gaussian model to the last digits, or a proven bound."""
        gaussian = self.mechanism.noise.is_gaussian
        return "exact" if gaussian and self.mechanism.certificate.trust != "sampling" else "bound"

    def to_dict(self) -> dict[str, Any]:
        """Return everything as numbers, lists and text."""
        noise = self.mechanism.noise
        return {
            "mechanism": self.name,
            "error": self.error,
            "errors": self.errors,
            "half_widths": dict(zip(self.mechanism.statistics, noise.half_widths.tolist(), strict=True)),
            "expected_l2": noise.expected_l2,
            "expected_rms": noise.expected_rms,
            "attack_accuracy": self.attack_accuracy,
            "delta_is": self.delta_is,
            "certificate": self.mechanism.certificate.to_dict(),
            "noise": noise.to_dict(),
        }


@frozen(kw_only=True)
class Refusal:
    """A mechanism that does not apply, and why.

    >>> import distpriv as dp
    >>> model = dp.gaussian_model(means={"a": [0], "b": [1]}, covariances=[[1]], pairs=[("a", "b")])
    >>> refusals = dp.plan(model, dp.PrivacyTarget(epsilon=1)).refusals
    >>> next(refusal.reason for refusal in refusals if refusal.name == "expected_value_gaussian")
    'Gaussian noise cannot reach delta = 0: give a delta above 0, or use Laplace noise.'
    """

    name: str
    """The mechanism's name."""
    reason: str
    """What it refused, in one sentence."""
    kind: type[DistprivError] | None = None
    """What kind of refusal it was; none where numbers could not be computed or others were better."""


@frozen(kw_only=True)
class Skipped:
    """A mechanism that was not tried, since it would not have been chosen; ``all=True`` tries it.

    >>> import distpriv as dp
    >>> model = dp.gaussian_model(means={"a": [0], "b": [1]}, covariances=[[1]], pairs=[("a", "b")])
    >>> skipped = dp.plan(model, dp.PrivacyTarget(epsilon=1, delta=0.001)).skipped
    >>> skipped[0].name, skipped[0].reason
    ('no_noise', "it is at trust 'assumed' at best on this model.")
    """

    name: str
    """The mechanism's name."""
    reason: str
    """Why it would not have been chosen, in one sentence: what is proved of it, or what a pilot says."""


def option(model: QueryModel, mechanism: AdditiveMechanism, weights: Floats) -> Option:
    """Return a mechanism with its error and the attacker's success."""
    return Option(
        mechanism=mechanism,
        error=weighted_rms(mechanism.noise.covariance, weights),
        attack_accuracy=attack_accuracy_upper_bound(model, mechanism),
    )
