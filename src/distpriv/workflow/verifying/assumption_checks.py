"""Whether a certificate says all that it rests on, and nothing else."""

from collections.abc import Iterable, Sequence
from itertools import accumulate
from operator import mul

from attrs import evolve

from distpriv import mechanisms
from distpriv.framework.queries import Query
from distpriv.framework.scenarios import Pair
from distpriv.framework.target import PrivacyTarget
from distpriv.guarantees.certificate import Assumption
from distpriv.guarantees.certify import ROOM_FOR_ERROR
from distpriv.guarantees.exact_delta import pair_deltas
from distpriv.guarantees.withheld_combinations import withheld_assumption
from distpriv.mechanisms.hypotheses import equal_means
from distpriv.releasing.joint import widening, widening_assumption
from distpriv.workflow.verifying.recomputing import FOUR_DIGITS, Claim
from distpriv.workflow.verifying.words import same_assumption

__all__ = ["assumptions_problem", "may_say", "same_reading"]

NEAR = 1e-6

ROUNDED = (1 - FOUR_DIGITS, 1 + FOUR_DIGITS)
"""What a factor that is told with four digits may be, as a share of it."""


def may_say(claim: Claim, others: int, total: PrivacyTarget) -> list[Assumption]:
    """Return what a mechanism may say beyond what the recomputed certificate rests on.

    Args:
        claim: its certificate, and what that rests on.
        others: how many other questions it was certified with; noise was widened for some or all of them.
        total: what all of them may cost.
    """
    said = [
        Assumption(
            statement=f"variances are {more:g} of themselves wider than the theorem has them",
            status="proved",
            evidence="room for the error of computing δ",
        )
        for more in ROOM_FOR_ERROR
    ]
    said += [widening_assumption(times, earlier, total) for times in claim.times for earlier in range(others + 1)]
    said += equal_means(claim.model)
    if claim.mechanism == "certified_gaussian":
        said += _published(claim)
    if claim.mechanism == "no_noise":
        bare = mechanisms.no_noise(claim.modelled, claim.within, covariance="pooled")
        said.append(bare.certificate.assumptions[0])
    return said


def _published(claim: Claim) -> list[Assumption]:
    """Return what may be said to be published: by the noise as it is, and before it was widened for other releases."""
    factors = accumulate(reversed(claim.times), mul, initial=1.0)
    before = [claim.noise.covariance / (factor * near) ** 2 for factor in factors for near in (1.0, *ROUNDED)]
    return [withheld_assumption(claim.model, covariance) for covariance in before]


def same_reading(written: Assumption, told: Assumption, query: Query) -> bool:
    """Tell whether a certificate says of the reading of rows what the bundle does; of functions it says more."""
    if query.has_functions:
        return evolve(written, evidence="") == evolve(told, evidence="")
    return written == told


def assumptions_problem(claim: Claim, found: Iterable[Assumption], beside: Sequence[Assumption]) -> str | None:
    """Return which assumption of a certificate is missing, made up or put differently, if one is.

    Args:
        claim: the certificate, and what it rests on.
        found: what it rests on, recomputed, in order.
        beside: what else may be said, once each.
    """
    expected = list(found)
    waiting, allowed = list(expected), list(beside)
    for written in claim.written.assumptions:
        if waiting and _same(claim, written, waiting[0]):
            waiting.pop(0)
            continue
        extra = next((one for one in allowed if same_assumption(written, one)), None)
        # What a mechanism says of itself comes first, and that it was widened last.
        if extra is None or not (not waiting if widening(extra) else waiting == expected):
            return f"{written.statement!r} ({written.status}) is not what it rests on"
        allowed.remove(extra)
    return f"it rests on {waiting[0].statement!r}, and does not say so" if waiting else None


def _same(claim: Claim, written: Assumption, found: Assumption) -> bool:
    """Tell whether two assumptions are the same; of pairs that are equally bad either may be called the worst."""
    (one, first), (other, second) = (_without_pair(claim, assumption) for assumption in (written, found))
    if not same_assumption(one, other) or (first is None) != (second is None):
        return False
    if first is None or second is None or first == second:
        return True
    if claim.times or not claim.noise.is_gaussian:
        return True
    deltas = pair_deltas(claim.model, [first, second], claim.noise.gaussian, claim.within.epsilon)
    return bool(deltas[0] >= deltas[1] * (1 - NEAR))


def _without_pair(claim: Claim, assumption: Assumption) -> tuple[Assumption, Pair | None]:
    for pair in claim.model.protected_pairs:
        ending = f"worst for {pair[0]} against {pair[1]}"
        if assumption.evidence.endswith(ending):
            return evolve(assumption, evidence=assumption.evidence.removesuffix(ending)), pair
    return assumption, None
