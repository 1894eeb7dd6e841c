"""Whether a certificate says all that it rests on, and nothing else."""

import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate
from operator import mul
from typing import Any

from attrs import evolve

from distpriv import mechanisms
from distpriv.framework.queries import Query
from distpriv.framework.scenarios import Pair
from distpriv.framework.target import PrivacyTarget
from distpriv.guarantees.certify import ROOM_FOR_ERROR
from distpriv.guarantees.evidence import Evidence
from distpriv.guarantees.exact_delta import pair_deltas
from distpriv.guarantees.masked_directions import masked_evidence
from distpriv.mechanisms.hypotheses import equal_means
from distpriv.releasing.joint import widening, widening_evidence
from distpriv.workflow.verifying.recomputing import Claim

__all__ = ["evidence_problem", "may_say", "same_facts", "same_reading"]

NEAR = 1e-6


def may_say(claim: Claim, others: int, total: PrivacyTarget) -> list[Evidence]:
    """Return what a mechanism may say beyond what the recomputed certificate rests on.

    Args:
        claim: its certificate, and what that rests on.
        others: how many other questions it was certified with; noise was widened for some or all of them.
        total: what all of them may cost.
    """
    said = [Evidence.of("DP101", share=more) for more in ROOM_FOR_ERROR]
    said += [widening_evidence(times, earlier, total) for times in claim.times for earlier in range(others + 1)]
    said += equal_means(claim.model)
    if claim.mechanism == "certified_gaussian":  # by the noise as it is, and before it was widened for other releases
        factors = accumulate(reversed(claim.times), mul, initial=1.0)
        said += [masked_evidence(claim.model, claim.noise.covariance / factor**2) for factor in factors]
    if claim.mechanism == "no_noise":
        bare = mechanisms.no_noise(claim.modelled, claim.within, covariance="pooled")
        said.append(bare.certificate.evidence[0])
    return said


def same_reading(written: Evidence, listed: Evidence, query: Query) -> bool:
    """Tell whether a certificate says of the reading of rows what the bundle does; of functions it says more."""
    columns = written.facts.get("columns", []) if query.has_functions else []
    return written == evolve(listed, facts={**listed.facts, "columns": columns})


def evidence_problem(claim: Claim, found: Iterable[Evidence], beside: Sequence[Evidence]) -> str | None:
    """Return which evidence of a certificate is missing, made up or put differently, if any is.

    Args:
        claim: the certificate, and what it rests on.
        found: what it rests on, recomputed, in order.
        beside: what else may be said, once each.
    """
    expected = list(found)
    waiting, allowed = list(expected), list(beside)
    for written in claim.written.evidence:
        if waiting and _same(claim, written, waiting[0]):
            waiting.pop(0)
            continue
        extra = next((one for one in allowed if _same_evidence(written, one)), None)
        # What a mechanism says of itself comes first, and that it was widened last.
        if extra is None or not (not waiting if widening(extra) else waiting == expected):
            return f"{written.code!r:.20} ({written.status}) is not what it rests on"
        allowed.remove(extra)
    return f"it rests on {waiting[0].code}, and does not say so" if waiting else None


def _same(claim: Claim, written: Evidence, found: Evidence) -> bool:
    """Tell whether two pieces of evidence are the same; of pairs that are equally bad either may be the worst."""
    first, second = (_pair_of(claim, one) for one in (written, found))
    if first is None or second is None or first == second or found.code not in ("DP203", "DP204"):
        return _same_evidence(written, found)
    if not _same_evidence(evolve(written, facts={**written.facts, "pair": second}), found):
        return False
    if not claim.noise.is_gaussian:
        return True
    noise = claim.noise.widened(1 / math.prod(claim.times)) if claim.times else claim.noise
    deltas = pair_deltas(claim.model, [first, second], noise.gaussian, claim.within.epsilon)
    return bool(deltas[0] >= deltas[1] * (1 - NEAR))


def _pair_of(claim: Claim, evidence: Evidence) -> Pair | None:
    """Return the protected pair that evidence names as the worst, if it names one."""
    named = evidence.facts.get("pair")
    return next((pair for pair in claim.model.protected_pairs if list(pair) == named), None)


def _same_evidence(one: Evidence, other: Evidence) -> bool:
    return one.code == other.code and one.status == other.status and same_facts(one.facts, other.facts)


def same_facts(one: Any, other: Any) -> bool:
    """Tell whether facts are the same, but for what computations on different machines may differ by: a ten-thousandth.

    Of numbers below 1e-9 the order of magnitude counts.

    >>> same_facts({"delta": 1e-3, "draws": 10}, {"delta": 1.00001e-3, "draws": 10}), same_facts(10, 11)
    (True, False)
    """
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return one.keys() == other.keys() and all(same_facts(one[name], other[name]) for name in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same_facts, one, other))
    if type(one) is not float or type(other) is not float or one * other <= 0:
        return type(one) is type(other) and bool(one == other)
    if abs(one) < 1e-9 and abs(other) < 1e-9:
        return abs(math.log(one / other)) <= abs(math.log(abs(one))) / 100
    return math.isclose(one, other, rel_tol=1e-4)
