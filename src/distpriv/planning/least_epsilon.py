"""The inverse question: how private can it be, with an error one can live with?"""

import math
from collections.abc import Callable

from distpriv.errors import InvalidInput, NotCertified
from distpriv.framework.domains import one_of, real
from distpriv.framework.target import PrivacyTarget
from distpriv.guarantees.certificate import ASSURANCE, Assurance
from distpriv.modelling.model import QueryModel
from distpriv.modelling.utility import Objective, Weights
from distpriv.planning.candidates import CANDIDATES
from distpriv.planning.merit import Merit
from distpriv.planning.option import Option
from distpriv.planning.prospects import best_assurance
from distpriv.planning.running import attempt
from distpriv.progress import Progress, silent

__all__ = ["least_epsilon"]

SMALLEST, LARGEST = 1e-3, 30.0
"""Where ε is looked for."""
STARTS = (LARGEST, 10.0, 3.0, 1.0)
"""Where the search begins: at the first that holds, since so little noise as a large ε asks for may not."""
CLOSE = 1.001
"""The answer is at most so many times the least."""


def least_epsilon(
    model: QueryModel,
    *,
    error: float,
    delta: float = 1e-3,
    assurance: Assurance = "checked",
    weights: Weights = "relative",
    objective: Objective = "estimate",
    seed: int | None = None,
    progress: Progress = silent,
) -> float:
    """Return the least ε at which some mechanism's overall error is at most `error`, rounded up by less than 0.1 %.

    The error is that of the estimates, made from a noisy answer and from what is public, or that of the noise alone.

    Args:
        model: the model of the statistics.
        error: the weighted root mean square error of all statistics together that one can live with: for one statistic
            a share of its public standard deviation, or its own units with ``weights="units"``.
        delta: the δ of the target.
        assurance: what may have to be believed.
        weights: which statistics' errors matter more, as for `plan`.
        objective: ``"estimate"`` where it is the error of the estimates, ``"noise"`` where it is that of the noise.
        seed: of the mechanisms that draw datasets; with a fresh one their error differs a little from plan to plan.
        progress: is told how far the work is.

    Raises:
        InvalidInput: the public mean alone has no larger error, so that nothing need be released.
        NotCertified: no ε up to 30 has so small an error.

    >>> import distpriv as dp
    >>> model = dp.gaussian_model(means={"a": [0], "b": [1]}, covariances=[[1]], pairs=[("a", "b")])
    >>> round(dp.least_epsilon(model, error=0.9, weights="units"), 2)
    0.82
    """
    wanted = real("error", error, InvalidInput, above=0, cure="it is in the units of the statistics, such as 0.5")
    one_of("assurance", assurance, tuple(ASSURANCE), InvalidInput)
    merit = Merit.of(model, weights=weights, objective=objective)
    _require_a_need(merit, wanted)
    best, nearest = math.inf, math.inf
    able = [
        candidate for candidate in CANDIDATES if ASSURANCE[best_assurance(candidate, model)] >= ASSURANCE[assurance]
    ]
    for done, candidate in enumerate(able):
        progress("searching for epsilon", done, len(able))

        def error_at(epsilon: float, candidate=candidate) -> float:  # type: ignore[no-untyped-def]
            target = PrivacyTarget(epsilon=epsilon, delta=delta)
            found = attempt(candidate, model, target, merit, seed)
            return (
                found.cost
                if isinstance(found, Option) and found.mechanism.certificate.holds_at(assurance)
                else math.inf
            )

        start, reached = _start(error_at, min(LARGEST, best / CLOSE))
        nearest = min(nearest, reached)
        if reached <= wanted:
            best = _least(lambda epsilon: merit.as_noise(error_at(epsilon)), merit.as_noise(wanted), start)
    progress("searching for epsilon", len(able), len(able))
    if math.isinf(best):
        least = "no mechanism holds there" if math.isinf(nearest) else f"the least error there is {nearest:.4g}"
        raise NotCertified(
            f"an error of {wanted:g} is out of reach even at epsilon = {LARGEST:g}, delta = {delta:g} and assurance "
            f"{assurance!r}, as {least}: accept a larger error."
        )
    return best


def _require_a_need(merit: Merit, wanted: float) -> None:
    public = merit.public.error(merit.weights)
    if merit.objective == "estimate" and public <= wanted:
        raise InvalidInput(
            f"an error of {wanted:g} needs no release, as the public mean alone has {public:.4g}: ask for a smaller "
            "error, or print that mean."
        )


def _start(error_at: Callable[[float], float], most: float) -> tuple[float, float]:
    """Return the largest ε to begin with at which the mechanism holds, and its error there; an infinite one if none."""
    for start in (most, *(epsilon for epsilon in STARTS if epsilon < most)):
        reached = error_at(start)
        if math.isfinite(reached):
            return start, reached
    return most, math.inf


def _least(error_at: Callable[[float], float], wanted: float, high: float) -> float:
    """Return the least ε at which the error is small enough, where it falls with ε; at `high` it is."""
    low, low_error, high_error = SMALLEST, error_at(SMALLEST), error_at(high)
    if low_error <= wanted:
        return low
    while high > low * CLOSE:
        middle = _between(low, high, low_error, high_error, wanted)
        found = error_at(middle)
        if found <= wanted:
            high, high_error = middle, found
        else:
            low, low_error = middle, found
    return high


def _between(low: float, high: float, low_error: float, high_error: float, wanted: float) -> float:
    """Return where a power law through both ends would meet the wanted error, a little to the larger side."""
    share = 0.5
    if math.isfinite(low_error) and high_error > 0:
        fallen = math.log(low_error) - math.log(high_error)
        share = (math.log(low_error) - math.log(wanted)) / fallen if fallen > 0 else 0.5
    width = math.log(high / low)
    # Steps to either side of the guess close the bracket from both ends.
    share = min(max(share + 0.3 * math.log(CLOSE) / width, 0.05), 0.95)
    return low * math.exp(share * width)
