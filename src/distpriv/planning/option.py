"""One line of a plan: a mechanism with its error and what an attacker can do, or why there is none."""

from collections.abc import Mapping
from typing import Any, Literal, Protocol

from attrs import frozen

from distpriv.errors import DistprivError
from distpriv.framework.records import plain
from distpriv.guarantees.attack_accuracy import attack_accuracy_upper_bound
from distpriv.guarantees.certificate import Assurance
from distpriv.guarantees.mechanism import AdditiveMechanism
from distpriv.modelling.model import QueryModel
from distpriv.modelling.public_knowledge import deviations, weighted_rms
from distpriv.planning.criterion import Criterion

__all__ = ["Option", "Refusal", "Skipped", "Watch", "option", "unwatched"]


@frozen(kw_only=True)
class Option:
    """A mechanism that applies, and what it costs.

    >>> import distpriv as dp
    >>> model = dp.gaussian_model(means={"a": [0], "b": [1]}, covariances=[[1]], pairs=[("a", "b")])
    >>> found = dp.plan(model, dp.PrivacyTarget(epsilon=1, delta=0.001), weights="units").chosen
    >>> found.name, round(found.error, 2), round(found.attack_accuracy, 2), found.delta_is
    ('certified_laplace', 1.38, 0.63, 'bound')
    >>> round(found.estimate_error, 2), round(found.information, 2), found.cost == found.estimate_error
    (0.87, 0.4, True)
    >>> found.errors.keys(), found.mechanism.certificate.holds, found.may_be_used("checked")
    (dict_keys(['statistic_1']), True, True)
    >>> sorted(found.to_dict())
    ['attack_accuracy', 'certificate', 'delta_is', 'error', 'errors', 'estimate_error', 'estimate_errors',
    'expected_l2', 'expected_rms', 'half_widths', 'information', 'mechanism', 'noise', 'too_large']
    """

    mechanism: AdditiveMechanism
    """The noise and its certificate."""
    error: float
    """√tr(QN), the weighted root mean square error of the noisy statistics, all together."""
    estimate_error: float
    """The same of the estimates that are made from them and from what is public."""
    estimate_errors: Mapping[str, float]
    """The root mean square error of each statistic's estimate."""
    information: float
    """The share of the public uncertainty that the release removes, weights counted, between 0 and 1."""
    cost: float
    """What options are compared by: the error of the estimates, or that of the noise where a plan is asked to."""
    too_large: tuple[str, ...] = ()
    """The statistics whose error is larger than the plan allows."""
    attack_accuracy: float
    """How often the best attacker is right at most."""

    @property
    def name(self) -> str:
        """The mechanism's name."""
        return self.mechanism.name

    @property
    def errors(self) -> dict[str, float]:
        """The root mean square error of each noisy statistic."""
        return deviations(self.mechanism.statistics, self.mechanism.noise.covariance)

    @property
    def delta_is(self) -> Literal["exact", "bound"]:
        """Whether the certificate's δ is that of the Gaussian model to the last digits, or a proven bound."""
        gaussian = self.mechanism.noise.is_gaussian
        return "exact" if gaussian and self.mechanism.certificate.assurance != "proved" else "bound"

    def may_be_used(self, assurance: Assurance) -> bool:
        """Tell whether the certificate holds at this assurance, with no larger error than is allowed."""
        return self.mechanism.certificate.holds_at(assurance) and not self.too_large

    def to_dict(self) -> dict[str, Any]:
        """Return everything as numbers, lists and text."""
        noise = self.mechanism.noise
        return {
            "mechanism": self.name,
            "error": self.error,
            "errors": self.errors,
            "estimate_error": self.estimate_error,
            "estimate_errors": dict(self.estimate_errors),
            "information": self.information,
            "too_large": list(self.too_large),
            "half_widths": dict(zip(self.mechanism.statistics, noise.half_widths.tolist(), strict=True)),
            "expected_l2": noise.expected_l2,
            "expected_rms": noise.expected_rms,
            "attack_accuracy": self.attack_accuracy,
            "delta_is": self.delta_is,
            "certificate": plain(self.mechanism.certificate),
            "noise": plain(noise),
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
    """A mechanism that was not tried, since it would not have been chosen or takes long; ``all=True`` tries it.

    >>> import distpriv as dp
    >>> model = dp.gaussian_model(means={"a": [0], "b": [1]}, covariances=[[1]], pairs=[("a", "b")])
    >>> skipped = dp.plan(model, dp.PrivacyTarget(epsilon=1, delta=0.001)).skipped
    >>> skipped[0].name, skipped[0].reason
    ('no_noise', "it is at assurance 'assumed' at best on this model.")
    """

    name: str
    """The mechanism's name."""
    reason: str
    """Why not, in one sentence: what is proved of it, what a pilot says, or what it needs."""
    long: bool = False
    """Whether it may well have been chosen, and takes longer than anybody waits for without having asked for it."""


class Watch(Protocol):
    """Called with what came of every mechanism as soon as that is known, before earlier releases are counted."""

    def __call__(self, found: Option | Refusal | Skipped, /) -> None:
        """Take note of one line of a plan."""


def unwatched(found: Option | Refusal | Skipped) -> None:
    """Take no note."""


def option(model: QueryModel, mechanism: AdditiveMechanism, criterion: Criterion) -> Option:
    """Return a mechanism with its errors and the attacker's success."""
    noise, public = mechanism.noise.covariance, criterion.public
    missed = public.error_covariance(noise)
    return Option(
        mechanism=mechanism,
        error=weighted_rms(noise, criterion.weights),
        estimate_error=weighted_rms(missed, criterion.weights),
        estimate_errors=deviations(mechanism.statistics, missed),
        information=public.information(noise, criterion.weights),
        cost=criterion.cost(noise),
        too_large=criterion.too_large(noise),
        attack_accuracy=attack_accuracy_upper_bound(model, mechanism),
    )
