"""The mechanisms that a plan tries, and the options it tries them with."""

from collections.abc import Mapping
from typing import Any, Literal

from attrs import field, frozen

from distpriv import mechanisms
from distpriv.framework.target import PrivacyTarget
from distpriv.guarantees.mechanism import AdditiveMechanism
from distpriv.modelling.model import QueryModel
from distpriv.modelling.utility import Weights

__all__ = ["CANDIDATES", "Candidate"]

Takes = Literal["weights", "seed"]


@frozen(kw_only=True)
class Candidate:
    """A mechanism by its name, with the options that suit any model: pooled covariances, several directions."""

    name: str
    options: Mapping[str, Any] = field(factory=dict)
    takes: tuple[Takes, ...] = ()
    """What of the plan's own settings it wants to know."""
    needs_rows: bool = False
    """Whether it draws datasets, which a copy of the model in another process cannot do."""

    def make(
        self, model: QueryModel, target: PrivacyTarget, *, weights: Weights, seed: int | None
    ) -> AdditiveMechanism:
        """Run the mechanism."""
        settings: dict[Takes, Any] = {"weights": weights, "seed": seed}
        chosen = {name: settings[name] for name in self.takes}
        made: AdditiveMechanism = getattr(mechanisms, self.name)(model, target, **self.options, **chosen)
        return made


_POOLED = {"covariance": "pooled"}
_SEVERAL = {"directions": "several"}

CANDIDATES = (
    Candidate(name="no_noise", options=_POOLED),
    Candidate(name="certified_laplace", takes=("weights",)),
    Candidate(name="certified_gaussian", takes=("weights",)),
    Candidate(name="coupled_gaussian", takes=("weights", "seed"), needs_rows=True),
    Candidate(name="coupled_laplace", takes=("weights", "seed"), needs_rows=True),
    Candidate(name="optimal_gaussian", options=_POOLED, takes=("weights",)),
    Candidate(name="optimal_unimodal", options=_POOLED),
    Candidate(name="directional_uncertainty", options=_POOLED),
    Candidate(name="eigenvector_gaussian", options=_POOLED),
    Candidate(name="directional_gaussian", options=_SEVERAL),
    Candidate(name="directional_laplace", options=_SEVERAL),
    Candidate(name="expected_value_gaussian"),
    Candidate(name="expected_value_laplace"),
    Candidate(name="group_privacy_gaussian"),
    Candidate(name="group_privacy_laplace"),
    Candidate(name="wasserstein"),
    Candidate(name="approximate_wasserstein"),
    Candidate(name="bounded"),
)
"""All mechanisms of the library, those first that are likely to be chosen."""
