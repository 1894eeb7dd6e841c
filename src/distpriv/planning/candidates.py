"""The mechanisms that a plan tries, and the options it tries them with."""

import inspect
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

from attrs import evolve, field, frozen

from distpriv import mechanisms
from distpriv.errors import InvalidInput
from distpriv.framework.domains import did_you_mean, items
from distpriv.framework.target import PrivacyTarget
from distpriv.guarantees.mechanism import AdditiveMechanism
from distpriv.modelling.model import QueryModel
from distpriv.modelling.public_knowledge import Prior
from distpriv.modelling.utility import Objective, Weights

__all__ = ["CANDIDATES", "DRAWN", "Basis", "Candidate", "Choice", "chosen_from"]

Takes = Literal["weights", "prior", "objective", "seed"]

Basis = Literal["moments", "theorem", "points", "points or rows", "rows"]
"""What a certificate rests on: known moments, what a theorem assumes, given points, how rows are drawn."""

FREE, LIKELY, SELDOM, DRAWN = range(4)
"""When a plan tries a mechanism: what costs nothing, what is likely to win, what others rule out, what draws rows."""

Choice = Iterable[str] | Mapping[str, Mapping[str, Any]] | None
"""Mechanisms by name, with options of their own where they are given; None for all of them."""


@frozen(kw_only=True)
class Candidate:
    """A mechanism by its name, with the options that suit any model: pooled covariances, several directions."""

    name: str
    options: Mapping[str, Any] = field(factory=dict)
    takes: tuple[Takes, ...] = ()
    """What of the plan's own settings it wants to know."""
    needs_rows: bool = False
    """Whether it draws datasets, which a copy of the model in another process cannot do."""
    rests_on: Basis = "rows"
    """What its certificate rests on."""
    exact: bool = False
    """Whether its noise is Gaussian, or none, and its δ the exact one of the modelled moments."""
    turn: int = SELDOM
    """When a plan tries it."""

    def make(
        self,
        model: QueryModel,
        target: PrivacyTarget,
        *,
        weights: Weights,
        prior: Prior,
        objective: Objective,
        seed: int | None,
    ) -> AdditiveMechanism:
        """Run the mechanism."""
        settings: dict[Takes, Any] = {"weights": weights, "prior": prior, "objective": objective, "seed": seed}
        chosen = {name: settings[name] for name in self.takes}
        made: AdditiveMechanism = getattr(mechanisms, self.name)(model, target, **self.options, **chosen)
        return made


_POOLED = {"covariance": "pooled"}
_SEVERAL = {"directions": "several"}

CANDIDATES = (
    Candidate(name="no_noise", options=_POOLED, rests_on="moments", exact=True, turn=FREE),
    Candidate(
        name="certified_gaussian",
        takes=("weights", "prior", "objective"),
        rests_on="moments",
        exact=True,
        turn=LIKELY,
    ),
    Candidate(name="certified_laplace", takes=("weights",), rests_on="moments", turn=LIKELY),
    Candidate(name="exact_law", takes=("weights",), needs_rows=True, turn=LIKELY),
    Candidate(name="coupled_gaussian", takes=("weights", "prior", "objective", "seed"), needs_rows=True, turn=DRAWN),
    Candidate(name="coupled_laplace", takes=("weights", "seed"), needs_rows=True, turn=DRAWN),
    Candidate(name="directional_uncertainty", options=_POOLED, rests_on="moments", exact=True),
    Candidate(name="eigenvector_gaussian", options=_POOLED, rests_on="moments", exact=True),
    Candidate(name="directional_gaussian", options=_SEVERAL, rests_on="moments", exact=True),
    Candidate(name="directional_laplace", options=_SEVERAL, rests_on="theorem"),
    Candidate(name="expected_value_gaussian", rests_on="moments", exact=True),
    Candidate(name="expected_value_laplace", rests_on="theorem"),
    Candidate(name="group_privacy_gaussian", turn=FREE),
    Candidate(name="group_privacy_laplace", turn=FREE),
    Candidate(name="wasserstein", rests_on="points or rows", turn=FREE),
    Candidate(name="approximate_wasserstein", rests_on="points"),
    Candidate(name="bounded", rests_on="points"),
)
"""All mechanisms of the library, those first that are likely to be chosen."""


def chosen_from(known: Sequence[Candidate], choice: Choice) -> tuple[Candidate, ...]:
    """Return the candidates to try, with the options given for them.

    >>> [found.name for found in chosen_from(CANDIDATES, ["coupled_gaussian"])]
    ['coupled_gaussian']
    """
    if choice is None:
        return tuple(known)
    given = dict(choice) if isinstance(choice, Mapping) else {name: {} for name in items(choice)}
    if not given:
        raise InvalidInput(f"mechanisms names what a plan may choose from, got {choice!r}: leave it out to try all.")
    by_name = {candidate.name: candidate for candidate in known}
    for name in given:
        if name not in by_name:
            raise InvalidInput(f"there is no mechanism {name!r}: {did_you_mean(str(name), by_name)}")
    return tuple(_with_options(by_name[name], options) for name, options in given.items())


def _with_options(candidate: Candidate, options: Mapping[str, Any]) -> Candidate:
    """Return the candidate with other options, or say which one it does not have."""
    if not isinstance(options, Mapping):
        raise InvalidInput(
            f"the options of {candidate.name} must have names, got {options!r}: write {{'draws': 20_000}}."
        )
    taken = set(inspect.signature(getattr(mechanisms, candidate.name)).parameters)
    own = sorted(taken - {"model", "target", "weights", "prior", "objective", "seed", "progress"})
    for name in options:
        if name not in own:
            cure = did_you_mean(str(name), own) if own else "it has none."
            raise InvalidInput(f"{candidate.name} has no option {name!r} in a plan: {cure}")
    return evolve(candidate, options={**candidate.options, **options})
