"""Whether the certificates in a bundle are those that its moments, noise and draws give, fact by fact."""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from attrs import evolve

from distpriv.guarantees.certificate import Certificate
from distpriv.guarantees.evidence import Evidence
from distpriv.law.cells import RowGrid
from distpriv.planning.candidates import CANDIDATES
from distpriv.releasing.joint import about_questions
from distpriv.releasing.promised import DRAWN
from distpriv.workflow.verifying.evidence_checks import evidence_problem, may_say, same_reading
from distpriv.workflow.verifying.opened import Opened
from distpriv.workflow.verifying.problems import Found, first_problem, found
from distpriv.workflow.verifying.recomputing import JOINT, Claim, recomputed

__all__ = ["certificate", "joint_certificate"]

NEAR = 1e-6
"""By which share two computations of the same δ may differ on different machines."""


def certificate(opened: Opened) -> Found:
    """Hold the certificate of the release against what its moments, noise and draws give."""
    document = opened.document
    if list(opened.model.names) != document["statistics"]:
        return False, "the moments are of other statistics than the release."
    if document["mechanism"] not in {candidate.name for candidate in CANDIDATES}:
        return False, f"there is no mechanism {document['mechanism']!r:.60}."
    *_, drawn, read = (None, None, *opened.own.evidence)
    if drawn != DRAWN or read is None or not same_reading(read, opened.reading, opened.query):
        return False, "the certificate does not say where rows come from and how they are read, as the bundle has it."
    beside = may_say(opened.claim, len(opened.noises) - 1, opened.policy.ledger.total)
    return _compared(opened.claim, document["certificate"], beside)


def joint_certificate(opened: Opened) -> Found:
    """Hold the certificate of all releases against what their moments, noise and draws give."""
    document, written = opened.document, opened.together
    if written is None:
        return False, "the policy has a total for all releases, and nothing is said about them."
    if (problem := _stack_problem(opened)) is not None:
        return False, f"{problem}."
    if document["evidence"]["joint"] is None and _is_own(opened, written):
        if not written.holds:
            return False, "the release alone exceeds what all releases together may cost."
        return True, "this is the first release, and alone it stays within the total."
    model = opened.model if opened.whole is None else opened.whole
    claim = Claim(mechanism=JOINT, model=model, noises=opened.noises, written=written, drawn=opened.drawn("joint"))
    return _compared(claim, document["joint_certificate"], about_questions(document["questions"], len(opened.noises)))


def _stack_problem(opened: Opened) -> str | None:
    """Return why what is written of all releases is not about them, if it is not."""
    joint, position = opened.document["evidence"]["joint"], opened.document["position"]
    if joint is None:
        return None if position == 1 else "the moments of the releases before this one are missing"
    positions = [number for number in joint["releases"] if number is not None]
    if not len(opened.noises) == len(joint["asked"]) == len(joint["releases"]) > 1:
        return "the bundle does not say of each of the questions what it asks and which noise it has"
    if sorted(positions) != list(range(1, len(positions) + 1)) or position not in positions:
        return "the bundle is not about all releases so far"
    if opened.noises[opened.place] != opened.noise:
        return "the noise that was certified together is not the noise of this release"
    return None


def _is_own(opened: Opened, written: Certificate) -> bool:
    """Tell whether what is said of all releases is what is said of this one, held against the total."""
    own = evolve(opened.claim.written, target=written.target)
    drawn = opened.document["evidence"]["drawn"]
    held = opened.document["joint_certificate"]["holds"] == own.holds
    return own == written and held and bool(drawn["joint"] == drawn["release"])


def _compared(claim: Claim, document: Mapping[str, Any], beside: Sequence[Evidence]) -> Found:
    """Hold a recomputed certificate against the written one."""
    made = recomputed(claim)
    what = f"δ is {made.delta:.6g} at ε = {made.epsilon:g}, and {claim.written.target.delta:g} is allowed"
    return found(_difference(claim, document, made, what, beside), f"{what}; assurance {claim.written.assurance!r}.")


@first_problem
def _difference(
    claim: Claim, document: Mapping[str, Any], made: Certificate, what: str, beside: Sequence[Evidence]
) -> Iterator[str]:
    written = claim.written
    if not made.holds and not (claim.times and made.delta <= written.target.delta * (1 + NEAR)):
        yield f"recomputed from the bundle, {what}"
    if not written.holds or document["holds"] != written.holds or written.contradicted != made.contradicted:
        yield f"the bundle itself does not say that δ = {written.delta:.6g} meets its target"
    if made.assurance != written.assurance:
        yield f"recomputed it holds at assurance {made.assurance!r}, and {written.assurance!r} is written"
    if not math.isclose(written.epsilon, made.epsilon, rel_tol=NEAR**2):
        yield f"the bundle says ε = {written.epsilon:g}, and recomputed {what}"
    if made.delta > written.delta * (1 + NEAR):
        yield f"the bundle says δ = {written.delta:.6g}, and recomputed {what}"
    if made.delta < written.delta * (1 - NEAR):
        yield f"the bundle says δ = {written.delta:.6g}, which its own moments and noise contradict: {what}"
    by_moments = claim.model.provenance.method == "exact moments" and not isinstance(claim.drawn, RowGrid)
    if made.assurance == "checked" and by_moments and written.law is None:
        yield "it does not say which δ was computed from the rows"
    if made.theorem != written.theorem:
        yield f"it follows from {made.theorem}, and {written.theorem!r:.80} is written"
    if (problem := evidence_problem(claim, made.evidence, beside)) is not None:
        yield f"what it rests on is not what is written: {problem}"
