"""Whether what a bundle promises holds: everything that follows from it is computed again and compared.

A forger may edit every file of a bundle. So nothing is believed because it is written down: scenarios, pairs and
records follow from the policy, δ from moments, noise and draws, every word of a certificate from its numbers, tables
and figures from values. What is left, since no bundle can show it, is in `NOT_CHECKED`, by name.
"""

import math
import os
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from functools import cached_property
from typing import Any

import numpy as np
from attrs import asdict, evolve, frozen

from distpriv.errors import DistprivError, InvalidInput, InvalidModel
from distpriv.framework.queries import Query, Statistic
from distpriv.guarantees.certificate import TRUST, Assumption, Certificate
from distpriv.guarantees.drawn import Drawn
from distpriv.guarantees.mechanism import AdditiveMechanism
from distpriv.modelling.description import model_from_dict, model_to_dict
from distpriv.modelling.model import QueryModel
from distpriv.noise.description import noise_from_dict
from distpriv.noise.laws import NoiseLaw
from distpriv.planning.candidates import CANDIDATES
from distpriv.releasing.immunity import THEOREM as IMMUNE
from distpriv.releasing.immunity import may_be_immune
from distpriv.releasing.joint import THEOREM
from distpriv.releasing.ledger import Ledger
from distpriv.releasing.readings import READ, reading_words
from distpriv.releasing.stack import stacked
from distpriv.workflow.assumption_checks import (
    ADAPTIVE,
    DECLARED,
    about_questions,
    assumptions_problem,
    may_say,
    same_reading,
)
from distpriv.workflow.attackers import figures
from distpriv.workflow.bundle import release_document
from distpriv.workflow.bundle_files import Files, audit_problem, files_beside, files_problem
from distpriv.workflow.bundled_policy import policy_in_release
from distpriv.workflow.display import display_values
from distpriv.workflow.ledger_checks import LedgerBook, ledger_problem
from distpriv.workflow.model_checks import (
    draws_problem,
    joint_problem,
    lower_bound_problem,
    moments_problem,
    policy_problem,
)
from distpriv.workflow.policy import Policy
from distpriv.workflow.recomputing import JOINT, Claim, recomputed
from distpriv.workflow.release_schema import RELEASE, SHARED
from distpriv.workflow.statistics import parse_statistic, statistic_text
from distpriv.workflow.strict_json import conforming

__all__ = ["NOT_CHECKED", "Check", "NotChecked", "Verdict", "verify_bundle"]

NEAR = 1e-6
"""By which share two computations of the same δ may differ on different machines."""


@frozen(kw_only=True)
class NotChecked:
    """One thing that a bundle cannot show."""

    name: str
    what: str


VALUES = NotChecked(name="values", what="that the values are those that were drawn")
PRIVATE_TABLE = NotChecked(
    name="private table", what="that the private table was the one meant, with its rows as assumed"
)
MOMENTS = NotChecked(
    name="moments",
    what="that moments, steps without a declared resolution and what one record can do are those of the reference",
)
DRAWS = NotChecked(
    name="draws",
    what="that coupled draws are all that were made, of the reference, with bets and a seed that others chose",
)
EARLIER = NotChecked(name="earlier releases", what="that earlier releases asked what is written and had that noise")
CHAIN = NotChecked(
    name="ledger", what="that the ledger holds this release at this position and time: give --ledger URL"
)
REPORT = NotChecked(name="report.html", what="what report.html says: it is the file that was written, if digests fit")
ATTACKS = NotChecked(name="attacks", what="that the attacks in audit.json came out as written")
ALONE = NotChecked(name="other files", what="the other files of the bundle, as release.json was given by itself")
INSTALLED = NotChecked(name="versions", what="that these versions of distpriv and its libraries were used")

NOT_CHECKED = (VALUES, PRIVATE_TABLE, MOMENTS, DRAWS, EARLIER, CHAIN, REPORT, ATTACKS, ALONE, INSTALLED)
"""All that may be left unchecked; a verdict has those of its bundle."""


@frozen(kw_only=True)
class Check:
    """One thing that was looked at."""

    name: str
    passed: bool
    found: str


@frozen(kw_only=True)
class Verdict:
    """What was found of a bundle."""

    path: str
    checks: tuple[Check, ...]
    not_checked: tuple[NotChecked, ...] = NOT_CHECKED
    """What the bundle cannot show."""

    @property
    def holds(self) -> bool:
        """Whether everything that can be checked holds."""
        return all(check.passed for check in self.checks)

    @property
    def sentence(self) -> str:
        """What was found, in one sentence."""
        failed = next((check for check in self.checks if not check.passed), None)
        if failed is None:
            return f"{self.path}: the certificates hold, recomputed from the bundle alone."
        return f"{self.path} is not certified: {failed.found}"

    def to_dict(self) -> dict[str, Any]:
        """Return everything as text and truth values."""
        return {
            "holds": self.holds,
            "verdict": self.sentence,
            "checks": [asdict(check) for check in self.checks],
            "not_checked": [asdict(item) for item in self.not_checked],
        }

    def __str__(self) -> str:
        lines = [f"  {'ok ' if check.passed else 'NO '} {check.name}: {check.found}" for check in self.checks]
        unseen = [f"    {item.name}: {item.what}" for item in self.not_checked]
        return "\n".join([self.sentence, *lines, "  not checked, as a bundle cannot show it:", *unseen])


def verify_bundle(path: str | os.PathLike[str], *, ledger: str | LedgerBook | None = None) -> Verdict:
    """Recompute everything that a release.json and the files beside it say, and compare.

    Args:
        path: the folder of a bundle, or its release.json.
        ledger: the ledger that has the release, or its URL, to hold the bundle against.

    Raises:
        InvalidInput: the file cannot be read or is no release.json of this version.
        LedgerUnavailable: there is no such ledger.
    """
    document = release_document(path)
    if (problem := conforming(document, RELEASE, SHARED)) is not None:
        wrong = Check(name="format", passed=False, found=f"it is not as a release.json is written: {problem}.")
        return Verdict(path=str(path), checks=(wrong,))
    opened = _Opened(document=document, files=files_beside(path, document))
    book = Ledger.open(ledger) if isinstance(ledger, str) else ledger
    checks: dict[str, Callable[[_Opened], Found]] = {
        "certificate": _certificate,
        "all releases together": _joint,
        "policy": _policy,
        "intervals": _intervals,
        "format": lambda _: (True, "every key is there, once, and of its type."),
        "model": _model,
        "moments": _moments,
        "attacker": _attacker,
        "shown": _shown,
        "questions": _questions,
    }
    if opened.files is not None:
        checks["files"] = _files
        if "audit.json" in opened.files.contents:
            checks["audit"] = _audit
    if book is not None:
        checks["ledger"] = lambda bundle: _ledger(bundle, book)
    return Verdict(
        path=str(path),
        checks=tuple(_checked(name, check, opened) for name, check in checks.items()),
        not_checked=_unseen(opened, ledger=book is not None),
    )


Found = tuple[bool, str]


@frozen(kw_only=True, slots=False)
class _Opened:
    """What a bundle holds, each part made when it is first looked at."""

    document: Mapping[str, Any]
    files: Files | None

    @cached_property
    def policy(self) -> Policy:
        return policy_in_release(self.document)

    @cached_property
    def model(self) -> QueryModel:
        return _model_of(self.document["evidence"]["model"])

    @cached_property
    def noise(self) -> NoiseLaw:
        return noise_from_dict(self.document["noise"])

    @cached_property
    def own(self) -> Certificate:
        return Certificate.from_dict(self.document["certificate"])

    @cached_property
    def together(self) -> Certificate | None:
        written = self.document["joint_certificate"]
        return None if written is None else Certificate.from_dict(written)

    @cached_property
    def whole(self) -> QueryModel | None:
        """The model of all releases; none for a first one."""
        joint = self.document["evidence"]["joint"]
        return None if joint is None else _model_of(joint["model"])

    @cached_property
    def noises(self) -> tuple[NoiseLaw, ...]:
        joint = self.document["evidence"]["joint"]
        return (self.noise,) if joint is None else tuple(noise_from_dict(law) for law in joint["noises"])

    @cached_property
    def place(self) -> int:
        """Where this release stands among all questions that it was certified with."""
        joint = self.document["evidence"]["joint"]
        return 0 if joint is None else joint["releases"].index(self.document["position"])

    @cached_property
    def query(self) -> Query:
        """The policy's statistics, in the order of the moments."""
        asked = dict(self.policy.query().statistics)
        return Query([(name, asked[name]) for name in self.model.names])

    def drawn(self, key: str) -> Drawn | None:
        written = self.document["evidence"]["drawn"][key]
        drawn = None if written is None else Drawn.from_dict(written)
        if drawn is not None and drawn.to_dict() != written:
            raise InvalidInput("the draws are not as a release writes them down: give the file as it was written.")
        return drawn

    @cached_property
    def claim(self) -> Claim:
        """What is promised about this release; for a policy that asks again it may be certified as one of one."""
        anew = self.own.theorem in (THEOREM, IMMUNE)
        return Claim(
            mechanism=JOINT if anew else self.document["mechanism"],
            model=self.model,
            noises=(self.noise,),
            written=self.own,
            drawn=self.drawn("release"),
        )

    @cached_property
    def reading(self) -> Assumption:
        """What is said of how rows are read."""
        return Assumption(
            statement=READ, status="proved", evidence=reading_words(self.query, self.document["evidence"]["reading"])
        )


def _model_of(written: Mapping[str, Any]) -> QueryModel:
    """Return a model that is written as it would be written again."""
    model = model_from_dict(written)
    again = model_to_dict(model)
    if any(again[key] != written[key] for key in ("statistics", "protected_pairs", "steps", "record_sensitivities")):
        raise InvalidModel("the model is not as a release writes what it means: give the file as it was written.")
    return model


def _checked(name: str, check: Callable[[_Opened], Found], opened: _Opened) -> Check:
    """Run one check; what cannot be computed does not hold."""
    try:
        with np.errstate(all="ignore"):  # absurd numbers are no news here, and what is no number passes no check
            passed, found = check(opened)
    except DistprivError as refusal:
        passed, found = False, f"the {name} cannot be recomputed: {refusal}"
    except (KeyError, TypeError, ValueError, AttributeError, IndexError, ArithmeticError, RecursionError) as failure:
        passed, found = False, f"the {name} cannot be recomputed: {failure!r} in what the bundle holds."
    return Check(name=name, passed=passed, found=" ".join(found.split()))


def _certificate(opened: _Opened) -> Found:
    document = opened.document
    if list(opened.model.names) != document["statistics"]:
        return False, "the moments are of other statistics than the release."
    if document["mechanism"] not in {candidate.name for candidate in CANDIDATES}:
        return False, f"there is no mechanism {document['mechanism']!r}."
    *rests_on, last = opened.own.assumptions
    if not same_reading(last, opened.reading, opened.query):
        return False, "the certificate does not say how rows are read, or says it otherwise than the bundle."
    claim = evolve(opened.claim, written=evolve(opened.own, assumptions=tuple(rests_on)))
    total, others = opened.policy.ledger.total, len(opened.noises) - 1
    return _compared(claim, document["certificate"], may_say(claim, others, total))


def _joint(opened: _Opened) -> Found:
    document, written = opened.document, opened.together
    if written is None:
        return True, "nothing is said about other releases, as no ledger was used."
    joint, position = document["evidence"]["joint"], document["position"]
    if joint is None and position != 1:
        return False, "the moments of the releases before this one are missing."
    if joint is None and _is_own(opened, written):
        if not written.holds:
            return False, "the release alone exceeds what all releases together may cost."
        return True, "this is the first release, and alone it stays within the total."
    if joint is not None:
        problem = _stack_problem(opened, joint)
        if problem is not None:
            return False, f"{problem}."
    model = opened.model if opened.whole is None else opened.whole
    claim = Claim(mechanism=JOINT, model=model, noises=opened.noises, written=written, drawn=opened.drawn("joint"))
    return _compared(claim, document["joint_certificate"], about_questions(document["questions"], len(opened.noises)))


def _stack_problem(opened: _Opened, joint: Mapping[str, Any]) -> str | None:
    """Return what is wrong with what this release was certified together with, if something is."""
    positions = [number for number in joint["releases"] if number is not None]
    if not len(opened.noises) == len(joint["asked"]) == len(joint["releases"]) > 1:
        return "the bundle does not say of each of the questions what it asks and which noise it has"
    if sorted(positions) != list(range(1, len(positions) + 1)) or opened.document["position"] not in positions:
        return "the bundle is not about all releases so far"
    if opened.document["questions"] != "declared" and len(positions) != len(joint["releases"]):
        declared = any(assumption.statement == DECLARED for assumption in opened.together.assumptions)  # type: ignore[union-attr]
        if declared or opened.document["questions"] not in ("assumed", "immune"):
            return "only declared questions may be certified before they are asked"
    if opened.noises[opened.place] != opened.noise:
        return "the noise that was certified together is not the noise of this release"
    return None


def _is_own(opened: _Opened, written: Certificate) -> bool:
    """Tell whether what is said of all releases is what is said of this one, held against the total."""
    own = evolve(opened.own, target=written.target, assumptions=opened.own.assumptions[:-1])
    drawn = opened.document["evidence"]["drawn"]
    held = opened.document["joint_certificate"]["holds"] == own.holds
    return own == written and held and drawn["joint"] == drawn["release"]


def _compared(claim: Claim, document: Mapping[str, Any], beside: list[Any]) -> Found:
    """Hold a recomputed certificate against the written one, word by word."""
    written, found = claim.written, recomputed(claim)
    now, made = found.now, found.made
    what = f"δ is {now.delta:.6g} at ε = {now.epsilon:g}, and {written.target.delta:g} is allowed"
    if not now.holds:
        return False, f"recomputed from the bundle, {what}."
    if not written.holds or document["holds"] != written.holds or written.contradicted != made.contradicted:
        return False, f"the bundle itself does not say that δ = {written.delta:.6g} meets its target."
    if now.trust != written.trust or TRUST[made.trust] < TRUST[written.trust]:
        return False, f"recomputed it holds at trust {now.trust!r}, and {written.trust!r} is written."
    if not math.isclose(written.epsilon, made.epsilon, rel_tol=NEAR**2):
        return False, f"the bundle says ε = {written.epsilon:g}, and recomputed {what}."
    if now.delta > written.delta * (1 + NEAR) or found.least > written.delta * (1 + NEAR):
        return False, f"the bundle says δ = {written.delta:.6g}, and recomputed {what}."
    if found.most < written.delta * (1 - NEAR):
        return False, f"the bundle says δ = {written.delta:.6g}, which its own moments and noise contradict: {what}."
    if made.theorem != written.theorem:
        return False, f"it follows from {made.theorem}, and {written.theorem!r:.80} is written."
    problem = assumptions_problem(claim, made.assumptions, beside)
    if problem is not None:
        return False, f"what it rests on is not what is written: {problem}."
    return True, f"{what}; trust {written.trust!r}."


def _policy(opened: _Opened) -> Found:
    document, policy, joint = opened.document, opened.policy, opened.together
    if opened.own.target != policy.target:
        return False, "the certificate is held against another target than the policy's."
    if joint is not None and joint.target != policy.ledger.total:
        return False, "the joint certificate is held against another total than the policy's."
    names = list(policy.query().names)
    if any(list(document[key]) != names for key in ("values", "intervals", "display")):
        return False, "the released numbers are not the statistics of the policy."
    if TRUST[opened.own.trust] < TRUST[policy.trust]:
        return False, f"the certificate is at trust {opened.own.trust!r}, less than the policy asks for."
    if document["dataset"] != policy.dataset:
        return False, "the release is of another dataset than the policy's."
    return True, "dataset, targets, trust and statistics are those of the policy."


def _intervals(opened: _Opened) -> Found:
    document = opened.document
    for name, half in zip(document["statistics"], opened.noise.half_widths.tolist(), strict=True):
        value, (low, high) = float(document["values"][name]), document["intervals"][name]
        room = 1e-9 * max(1.0, abs(value), half) + NEAR * half
        if abs(low - (value - half)) > room or abs(high - (value + half)) > room:
            return False, f"the interval of {name!r} is not the one that its value and the noise make."
    return True, "every interval is the released value and what 95 % of the noise stay within."


def _model(opened: _Opened) -> Found:
    problem = policy_problem(opened.policy, opened.model)
    if problem is None and opened.whole is not None:
        problem = joint_problem(opened.model, opened.whole, opened.noises, opened.place)
    asked = (opened.document["evidence"]["joint"] or {}).get("asked")
    if problem is None and asked is not None and asked[opened.place] != _texts(opened):
        problem = "what this release asked is something else than the policy's statistics"
    problem = problem or _reading_problem(opened) or _reference_problem(opened)
    if problem is not None:
        return False, f"{problem}."
    return True, "scenarios, pairs, shares, records and statistics are those of the policy."


def _texts(opened: _Opened) -> dict[str, str]:
    return {name: statistic_text(statistic) for name, statistic in opened.query.statistics}


def _reading_problem(opened: _Opened) -> str | None:
    """Return in what the reading of rows does not fit the statistics and what one record can do, if in anything."""
    reading = opened.document["evidence"]["reading"]
    if [row["statistic"] for row in reading] != list(opened.model.names):
        return "the reading of rows is that of other statistics"
    for row, reach, (name, statistic) in zip(
        reading, opened.model.record_sensitivities.tolist(), opened.query.statistics, strict=True
    ):
        low, high, moved = row["low"], row["high"], getattr(statistic, "record_sensitivity", None)
        if low is None or high is None or moved is None:
            continue
        if not low <= high or not math.isclose(moved(opened.policy.records, low, high), reach, rel_tol=NEAR):
            return f"rows of {name!r} are read between other ends than the moments have"
    return None


def _reference_problem(opened: _Opened) -> str | None:
    reference = opened.document["evidence"]["reference"]
    if list(reference) != list(opened.model.distributions):
        return "the digests of the reference are those of other scenarios"
    return None


def _moments(opened: _Opened) -> Found:
    document = opened.document
    problem = moments_problem(opened.model, [statistic for _, statistic in opened.query.statistics])
    problem = problem or lower_bound_problem(opened.model, opened.noise, opened.own, opened.query)
    drawn = opened.drawn("release")
    if problem is None and drawn is not None:
        problem = draws_problem(opened.model, drawn)
    if problem is None and opened.whole is not None and opened.together is not None:
        problem = _joint_moments_problem(opened, opened.whole, opened.together)
    if problem is not None:
        return False, f"{problem}."
    return True, "steps, lattices and moments can be those of the statistics, and do not rule the certificate out."


def _joint_moments_problem(opened: _Opened, whole: QueryModel, written: Certificate) -> str | None:
    """Return why the joint moments cannot be those of what was asked, or rule the joint certificate out."""
    asked: list[tuple[str, Statistic]] = []
    for number, (texts, noise) in enumerate(
        zip(opened.document["evidence"]["joint"]["asked"], opened.noises, strict=True), start=1
    ):
        if texts is None:  # a function, of which nothing can be said
            return None if whole.provenance.method == "sampling" else "it is not said what an earlier release asked"
        statistics = [(f"{number}. {name}", parse_statistic(text)) for name, text in texts.items()]
        if [statistic_text(statistic) for _, statistic in statistics] != list(texts.values()):
            return "an earlier question is not as a release writes what it means"
        if len(statistics) != noise.dimension:
            return "it is not said of every number what was asked"
        asked += statistics
    if whole.names != tuple(name for name, _ in asked):
        return "the joint moments are of other statistics than were asked"
    query = Query(asked)
    if (whole.provenance.method == "exact moments") != query.has_exact_moments:
        return f"what was asked does not have moments by {whole.provenance.method!r}"
    noise = stacked(opened.noises)
    return moments_problem(whole, [statistic for _, statistic in asked]) or lower_bound_problem(
        whole, noise, written, query
    )


def _attacker(opened: _Opened) -> Found:
    mechanism = AdditiveMechanism(
        name=opened.document["mechanism"], statistics=opened.model.names, noise=opened.noise, certificate=opened.own
    )
    found = figures(opened.model, mechanism, opened.whole, opened.noises, opened.together)
    for key, written in opened.document["attacker"].items():
        if not math.isclose(written, found[key], rel_tol=NEAR):
            return False, f"an attacker is right {found[key]:.4%} of the time ({key}), and {written:.4%} is written."
    return True, f"an attacker is right at most {found['together']:.1%} of the time, all releases so far together."


def _shown(opened: _Opened) -> Found:
    """Check what is shown of a release: rounded numbers, when it was made, its number in the ledger."""
    document = opened.document
    display = display_values(document["values"], opened.policy.query(), opened.policy.records)
    if list(map(repr, document["display"].items())) != list(map(repr, display.items())):
        return False, "the numbers for people are not the released ones, rounded."
    try:
        time = datetime.fromisoformat(document["time"])
    except ValueError:
        return False, f"{document['time']!r:.60} is no time."
    if time.utcoffset() != timedelta(0) or time.astimezone(UTC).isoformat(timespec="seconds") != document["time"]:
        return False, f"{document['time']!r:.60} is no time in UTC."
    if document["ledger"] is not None and document["ledger"]["number"] < document["position"]:
        return False, "the ledger cannot have fewer entries than releases of one dataset."
    return True, "displayed numbers are the released ones, and the time is one."


def _questions(opened: _Opened) -> Found:
    """Check how the joint certificate is said to be safe against questions that depend on answers."""
    document, joint = opened.document, opened.together
    said = document["questions"]
    several = document["evidence"]["joint"] is not None
    statements = () if joint is None else tuple(assumption.statement for assumption in joint.assumptions)
    immune = all(map(may_be_immune, opened.noises)) and (not several or (joint is not None and joint.theorem == IMMUNE))
    fits = {
        "alone": joint is None and document["ledger"] is None,
        "first": joint is not None and not several and document["position"] == 1,
        "declared": joint is not None and (not several or DECLARED in statements),
        "assumed": joint is not None and several and ADAPTIVE in statements,
        "immune": joint is not None and immune,
    }
    if not fits[said]:
        return False, f"the certificates do not say that questions are {said!r}."
    return True, {
        "alone": "no ledger was used, so nothing is promised about other releases.",
        "first": "this was the first question, so it depends on no answer.",
        "declared": "all questions and their noise were fixed before the first answer, as the ledger can show.",
        "assumed": "it is assumed, and said, that questions do not depend on earlier answers.",
        "immune": "what the noise costs adds up whatever is asked.",
    }[said]


def _files(opened: _Opened) -> Found:
    assert opened.files is not None
    problem = files_problem(opened.files, opened.document)
    if problem is not None:
        return False, f"{problem}."
    return True, f"{', '.join(sorted(opened.files.contents))} were written with this release, and say what it says."


def _audit(opened: _Opened) -> Found:
    assert opened.files is not None
    problem = audit_problem(opened.files.contents["audit.json"], opened.document, opened.model)
    if problem is not None:
        return False, f"the audit does not fit: {problem}."
    return True, "audit.json says what its own numbers say, of this release."


def _ledger(opened: _Opened, book: LedgerBook) -> Found:
    problem = ledger_problem(opened.document, book)
    if problem is not None:
        return False, f"the ledger contradicts the bundle: {problem}."
    return True, "its chain is unbroken and holds this release, with these numbers and this total."


def _unseen(opened: _Opened, *, ledger: bool) -> tuple[NotChecked, ...]:
    """Return what this bundle cannot show."""
    evidence, files = opened.document["evidence"], opened.files
    applies = {
        VALUES: not ledger,
        PRIVATE_TABLE: True,
        MOMENTS: True,
        DRAWS: any(drawn is not None for drawn in evidence["drawn"].values()),
        EARLIER: evidence["joint"] is not None,
        CHAIN: not ledger,
        REPORT: files is not None,
        ATTACKS: files is not None and "audit.json" in files.contents,
        ALONE: files is None,
        INSTALLED: True,
    }
    return tuple(item for item in NOT_CHECKED if applies[item])
