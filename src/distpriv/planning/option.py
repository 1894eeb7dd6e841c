"""One line of a plan: a mechanism with its error and what an attacker can do, or why there is none."""

from typing import Any, Literal

import numpy as np
from attrs import frozen

from distpriv.framework.arrays import Floats
from distpriv.guarantees.attack_accuracy import attack_accuracy_upper_bound
from distpriv.guarantees.mechanism import AdditiveMechanism
from distpriv.modelling.model import QueryModel
from distpriv.modelling.utility import weighted_rms
from distpriv.noise.description import noise_to_dict
from distpriv.noise.laws import GaussianNoise, NoNoise

__all__ = ["Option", "Refusal", "option"]


@frozen(kw_only=True)
class Option:
    """A mechanism that applies, and what it costs."""

    mechanism: AdditiveMechanism
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
        gaussian = isinstance(self.mechanism.noise, GaussianNoise | NoNoise)
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
            "noise": noise_to_dict(noise),
        }


@frozen(kw_only=True)
class Refusal:
    """A mechanism that does not apply, and why."""

    name: str
    reason: str


def option(model: QueryModel, mechanism: AdditiveMechanism, weights: Floats) -> Option:
    """Return a mechanism with its error and the attacker's success."""
    return Option(
        mechanism=mechanism,
        error=weighted_rms(mechanism.noise.covariance, weights),
        attack_accuracy=attack_accuracy_upper_bound(model, mechanism),
    )
