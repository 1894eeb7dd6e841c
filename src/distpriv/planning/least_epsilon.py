"""The inverse question: how private can it be, with an error one can live with?"""

import math
from contextlib import suppress
from itertools import pairwise
from typing import Any

from attrs import frozen

from distpriv.deadline import Deadline
from distpriv.errors import InvalidInput, NotCertified
from distpriv.framework.domains import real
from distpriv.framework.target import PrivacyTarget
from distpriv.guarantees.certificate import Assurance
from distpriv.modelling.model import QueryModel
from distpriv.modelling.utility import Objective, Weights
from distpriv.planning.criterion import Criterion
from distpriv.planning.option import Option, Refusal, Skipped
from distpriv.planning.plan import plan
from distpriv.progress import Progress, silent

__all__ = ["least_epsilon"]


@frozen(kw_only=True)
class EpsilonSettings:
    """How ε is bracketed and bisected."""

    starts: tuple[float, ...] = (1e-3, 1.0, 3.0, 10.0, 30.0)
    """The bracket ends at the first that will do, since as little noise as a large ε needs may not hold."""
    share: float = 0.25
    """The share of the time that one plan may take; with more, as `plan` has it, its error is no larger."""
    close: float = 1.01
    """The answer over an ε that will not do, at most."""


SETTINGS = EpsilonSettings()


class _Enough(Exception):
    """A mechanism of a plan has an error that is small enough, so that the others need not be tried."""


def least_epsilon(
    model: QueryModel,
    *,
    error: float,
    delta: float = 1e-3,
    assurance: Assurance = "checked",
    weights: Weights = "relative",
    objective: Objective = "estimate",
    seed: int | None = None,
    seconds: float | None = 20.0,
    progress: Progress = silent,
) -> float:
    """Return the least ε at which a plan's overall error is at most `error`, rounded up by less than 1 %.

    The error is that of the estimates, made from a noisy answer and from what is public, or that of the noise alone.
    It is one at which `plan` was made. A bracket is halved in the same places for every error, so that a larger error
    has no larger ε, if neither search runs out of time.

    Args:
        model: the model of the statistics.
        error: the weighted root mean square error of all statistics together that one can live with: for one statistic
            a share of its public standard deviation, or its own units with ``weights="units"``.
        delta: the δ of the target.
        assurance: what may have to be believed.
        weights: which statistics' errors matter more, as for `plan`.
        objective: ``"estimate"`` where it is the error of the estimates, ``"noise"`` where it is that of the noise.
        seed: of the mechanisms that draw datasets; 0 when not given, so that all plans of a search draw alike.
        seconds: of a processor, after which the least ε found so far is returned, rounded up by more; None for as
            long as it takes. There is an answer, or a refusal, however long that takes.
        progress: is told how far the work is.

    Raises:
        InvalidInput: the public mean alone has no larger error, so that nothing need be released.
        NotCertified: at no ε of 0.001, 1, 3, 10 and 30 is the error so small.

    >>> import distpriv as dp
    >>> model = dp.gaussian_model(means={"a": [0], "b": [1]}, covariances=[[1]], pairs=[("a", "b")])
    >>> 0.8 < dp.least_epsilon(model, error=0.9, weights="units") <= 1
    True
    """
    wanted = real("error", error, InvalidInput, above=0, cure="it is in the units of the weights, such as 0.5")
    criterion = Criterion.of(model, weights=weights, objective=objective)
    _require_a_need(criterion, wanted)
    cure = "it is how long a search may take, such as 20; None for as long as it takes"
    budget = None if seconds is None else Deadline(seconds=real("seconds", seconds, InvalidInput, above=0, cure=cure))
    each = None if seconds is None else seconds * SETTINGS.share
    settings: dict[str, Any] = {"seed": seed or 0, "seconds": each, "processes": 1}
    reached: dict[float, float] = {}
    starts, close = SETTINGS.starts, SETTINGS.close
    steps = len(starts) + math.ceil(math.log2(math.log(starts[1] / starts[0]) / math.log(close)))

    def enough(epsilon: float) -> bool:
        """Tell whether the plan at this ε has an error that is small enough."""
        progress("searching for epsilon", min(len(reached), steps - 1), steps)
        target = PrivacyTarget(epsilon=epsilon, delta=delta)
        least = math.inf

        def watch(found: Option | Refusal | Skipped) -> None:
            nonlocal least
            if isinstance(found, Option) and found.may_be_used(assurance):
                least = min(least, found.cost)
            if least <= wanted:
                raise _Enough

        with suppress(_Enough):
            plan(model, target, assurance, weights, watch=watch, objective=objective, **settings)
        reached[epsilon] = least
        return least <= wanted

    if enough(starts[0]):
        return starts[0]
    bracket = next(((low, high) for low, high in pairwise(starts) if enough(high)), None)
    if bracket is None:
        nearest = min(reached.values())
        least = "no mechanism holds there" if math.isinf(nearest) else f"the least error there is {nearest:.4g}"
        raise NotCertified(
            f"an error of {wanted:g} is out of reach even at epsilon = {starts[-1]:g}, delta = {delta:g} and assurance "
            f"{assurance!r}, as {least}: accept a larger error."
        )
    low, high = bracket
    while high > low * close and (budget is None or budget.spent < 1):
        middle = math.sqrt(low * high)
        low, high = (low, middle) if enough(middle) else (middle, high)
    progress("searching for epsilon", steps, steps)
    return high


def _require_a_need(criterion: Criterion, wanted: float) -> None:
    public = criterion.public.error(criterion.weights)
    if criterion.objective == "estimate" and public <= wanted:
        raise InvalidInput(
            f"an error of {wanted:g} needs no release, as the public mean alone has {public:.4g}: ask for a smaller "
            "error, or print that mean."
        )
