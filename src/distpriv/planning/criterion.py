r"""What noise is judged by: the error of the estimates that are left, or its own.

Noise of covariance N leaves estimates with the error covariance E(N) of `public_knowledge`. With weights Q a plan
compares :math:`\sqrt{\operatorname{tr} Q E(N)}`, or :math:`\sqrt{\operatorname{tr} Q N}` where it is asked to. Both
grow with N, so that wider noise is never better.
"""

from collections.abc import Mapping
from typing import Self

import numpy as np
from attrs import field, frozen

from distpriv.errors import InvalidInput
from distpriv.framework.arrays import Floats, array_field
from distpriv.framework.domains import did_you_mean, one_of, real
from distpriv.modelling.model import QueryModel
from distpriv.modelling.public_knowledge import Prior, PublicKnowledge, deviations, weighted_rms
from distpriv.modelling.utility import OBJECTIVES, Objective, Weights, utility_weights

__all__ = ["Criterion", "MaxError"]

MaxError = Mapping[str, float] | None
"""The largest error of statistics, by name, with which a release is of use; none for those not named."""


@frozen(kw_only=True)
class Criterion:
    """How a plan compares noise, and which errors it allows.

    >>> import distpriv as dp
    >>> model = dp.gaussian_model(means={"a": [0], "b": [2]}, covariances=[[3]], pairs=[("a", "b")])
    >>> [round(Criterion.of(model, objective=objective).cost([[12.0]]), 3) for objective in ("estimate", "noise")]
    [0.866, 1.732]
    >>> criterion = Criterion.of(model, weights="units", max_error={"statistic_1": 1.5})
    >>> criterion.public.error(criterion.weights), criterion.errors([[12.0]]), criterion.too_large([[12.0]])
    (2.0, {'statistic_1': 1.7320508075688772}, ('statistic_1',))
    """

    public: PublicKnowledge
    """What is known without a release."""
    weights: Floats = array_field()
    """What an error in each statistic costs: the diagonal of Q."""
    objective: Objective = "estimate"
    max_errors: Mapping[str, float] = field(factory=dict)

    @classmethod
    def of(
        cls,
        model: QueryModel,
        *,
        weights: Weights = "relative",
        objective: Objective = "estimate",
        prior: Prior = None,
        max_error: MaxError = None,
    ) -> Self:
        """Return what to judge noise on a model by.

        Raises:
            InvalidInput: there is no such objective, or the prior, a weight or a largest error is none.
        """
        costs = utility_weights(model, weights, prior=prior)
        one_of("objective", objective, OBJECTIVES, InvalidInput)
        limits = _limits(model, max_error)
        return cls(public=PublicKnowledge.of(model, prior), weights=costs, objective=objective, max_errors=limits)

    def cost(self, noise_covariance: object) -> float:
        """Return what options are compared by, the weighted root mean square error of all statistics together."""
        return weighted_rms(self._missed(noise_covariance), self.weights)

    def errors(self, noise_covariance: object) -> dict[str, float]:
        """Return the root mean square error of each statistic, of its estimate or of its noise."""
        return deviations(self.public.names, self._missed(noise_covariance))

    def too_large(self, noise_covariance: object) -> tuple[str, ...]:
        """Return the statistics whose error would be larger than allowed."""
        if not self.max_errors:
            return ()
        errors = self.errors(noise_covariance)
        return tuple(name for name, most in self.max_errors.items() if errors[name] > most)

    def _missed(self, noise_covariance: object) -> Floats:
        by_noise = np.asarray(noise_covariance, dtype=float)
        return by_noise if self.objective == "noise" else self.public.error_covariance(by_noise)


def _limits(model: QueryModel, max_error: MaxError) -> dict[str, float]:
    if max_error is None:
        return {}
    if not isinstance(max_error, Mapping):
        raise InvalidInput(
            f"max_error gives statistics their largest error by name, got {max_error!r}: write "
            f"{{{model.names[0]!r}: 0.5}}."
        )
    for name in max_error:
        if name not in model.names:
            raise InvalidInput(
                f"there is no statistic {name!r} to limit the error of: {did_you_mean(str(name), model.names)}"
            )
    cure = "it is in the units of the statistic"
    return {
        name: real(f"the largest error of {name!r}", most, InvalidInput, above=0, cure=cure)
        for name, most in max_error.items()
    }
