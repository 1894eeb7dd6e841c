"""Whether what a bundle promises holds: everything that follows from it is computed again and compared.

A forger may edit every file of a bundle. So nothing is believed because it is written down: scenarios, pairs and
records follow from the policy, δ from moments, noise and draws, every word of a certificate from its numbers, tables
and figures from values. What is left, since no bundle can show it, is named in
`verdicts.NOT_CHECKED`.
"""

import math
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime, timedelta

import numpy as np
from attrs import evolve

from distpriv.errors import DistprivError, LedgerUnavailable
from distpriv.framework.display import display_values
from distpriv.framework.notation import parse_statistic
from distpriv.framework.queries import Query, Statistic
from distpriv.framework.statistics import RowValue
from distpriv.guarantees.certificate import ASSURANCE, Certificate
from distpriv.guarantees.drawn import Drawn
from distpriv.guarantees.mechanism import AdditiveMechanism
from distpriv.law.cells import RowGrid
from distpriv.ledger import Ledger
from distpriv.ledger.address import shown_url
from distpriv.modelling.model import QueryModel
from distpriv.releasing.attackers import figures
from distpriv.releasing.immunity import THEOREM as IMMUNE
from distpriv.releasing.immunity import may_be_immune
from distpriv.releasing.joint import about_questions
from distpriv.workflow.bundle import release_document
from distpriv.workflow.release_schema import RELEASE, SHARED
from distpriv.workflow.strict_json import conforming
from distpriv.workflow.verifying.bundle_files import audit_problem, files_beside, files_problem
from distpriv.workflow.verifying.certificate_checks import NEAR, certificate, joint_certificate
from distpriv.workflow.verifying.estimate_checks import BY_STATISTIC, estimates
from distpriv.workflow.verifying.ledger_checks import LedgerBook, is_certified_anew, ledger_problem
from distpriv.workflow.verifying.model_checks import (
    draws_problem,
    joint_problem,
    law_problem,
    lower_bound_problem,
    moments_problem,
    policy_problem,
)
from distpriv.workflow.verifying.opened import Opened
from distpriv.workflow.verifying.problems import Found, first_problem, found
from distpriv.workflow.verifying.verdicts import NOT_CHECKED, Check, NotChecked, Verdict

__all__ = ["Check", "NotChecked", "Verdict", "verify_bundle"]


TRUTHS = ((0, 1, 0), (0, 0, 0), (1, 1, 1))
"""Between what a row can be held that something is so of or not, and as what it counts if it does not tell."""


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
    opened = Opened(document=document, files=files_beside(path, document))
    if isinstance(ledger, str) and not Ledger.exists(ledger):
        raise LedgerUnavailable(
            f"there is no ledger {shown_url(ledger)}, so the release cannot be looked up: give the URL of the ledger "
            "that it was released with, or leave --ledger out."
        )
    book = Ledger.open(ledger) if isinstance(ledger, str) else ledger
    checks: dict[str, Callable[[Opened], Found]] = {
        "certificate": certificate,
        "all releases together": joint_certificate,
        "policy": _policy,
        "intervals": _intervals,
        "estimates": estimates,
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
        not_checked=_unseen(opened, book),
    )


def _checked(name: str, check: Callable[[Opened], Found], opened: Opened) -> Check:
    """Run one check; what cannot be computed does not hold."""
    try:
        with np.errstate(all="ignore"):  # absurd numbers are no news here, and what is no number passes no check
            passed, told = check(opened)
    except DistprivError as refusal:
        passed, told = False, f"the {name} cannot be recomputed: {refusal}"
    except (
        LookupError,
        TypeError,
        ValueError,
        AttributeError,
        ArithmeticError,
        RuntimeError,
        StopIteration,
    ) as failure:
        passed, told = False, f"the {name} cannot be recomputed: {failure!r} in what the bundle holds."
    return Check(name=name, passed=passed, found=" ".join(told.split()))


def _policy(opened: Opened) -> Found:
    return found(
        _against_policy(opened), "dataset, targets, assurance, statistics and kind of noise are those of the policy."
    )


@first_problem
def _against_policy(opened: Opened) -> Iterator[str]:
    document, policy, joint = opened.document, opened.policy, opened.together
    if opened.own.target != policy.target:
        yield "the certificate is held against another target than the policy's"
    if joint is not None and joint.target != policy.ledger.total:
        yield "the joint certificate is held against another total than the policy's"
    names = list(policy.query().names)
    if any(list(document[key]) != names for key in ("values", "intervals", "display", *BY_STATISTIC)):
        yield "the released numbers are not the statistics of the policy"
    if ASSURANCE[opened.own.assurance] < ASSURANCE[policy.assurance]:
        yield f"the certificate is at assurance {opened.own.assurance!r}, less than the policy asks for"
    if document["dataset"] != policy.dataset:
        yield "the release is of another dataset than the policy's"


def _intervals(opened: Opened) -> Found:
    document = opened.document
    for name, half in zip(document["statistics"], opened.noise.half_widths.tolist(), strict=True):
        value, (low, high) = float(document["values"][name]), document["intervals"][name]
        room = 1e-9 * max(1.0, abs(value), half) + NEAR * half
        if abs(low - (value - half)) > room or abs(high - (value + half)) > room:
            return False, f"the interval of {name!r} is not the one that its value and the noise make."
    return True, "every interval is the released value and what 95 % of the noise stay within."


def _model(opened: Opened) -> Found:
    problem = policy_problem(opened.policy, opened.model)
    if problem is None and opened.whole is not None:
        problem = joint_problem(opened.model, opened.whole, opened.noises, opened.place)
    asked = (opened.document["evidence"]["joint"] or {}).get("asked")
    if problem is None and asked is not None and asked[opened.place] != _texts(opened):
        problem = "what this release asked is something else than the policy's statistics"
    problem = problem or _reading_problem(opened) or _reference_problem(opened)
    return found(problem, "scenarios, pairs, shares, records and statistics are those of the policy.")


def _texts(opened: Opened) -> dict[str, str]:
    return {name: statistic.text for name, statistic in opened.query.statistics}


def _reading_problem(opened: Opened) -> str | None:
    """Return in what the reading of rows does not fit the statistics and what one record can do, if in anything."""
    reading = opened.document["evidence"]["reading"]
    if [row["statistic"] for row in reading] != list(opened.model.names):
        return "the reading of rows is that of other statistics"
    numbers, reaches = opened.query.numbers, opened.model.record_sensitivities.tolist()
    values = [number.statistic.row_of(number.place) for number in numbers]
    ends = {value: value.bounds or (row["low"], row["high"]) for row, value in zip(reading, values, strict=True)}
    for row, value, reach, number in zip(reading, values, reaches, numbers, strict=True):
        low, high, name = row["low"], row["high"], number.name
        if value.predicate and (low, high, row["otherwise"]) not in TRUTHS:
            return f"rows of {name!r} are read as something else than true and false"
        if low is None or high is None:
            continue
        if not low <= row["otherwise"] <= high:
            return f"a row of {name!r} without a value counts as one that no row can have"
        least, greatest = value.bounds or (low, high)
        bounds = [(least, greatest) if each == value else _ends(each, ends) for each in number.statistic.row_values]
        moves = number.statistic.record_sensitivities(opened.policy.records, bounds)[number.place]
        if not least <= low <= high <= greatest or not math.isclose(moves, reach, rel_tol=NEAR):
            return f"rows of {name!r} are read between other ends than the moments have"
    return None


def _ends(value: RowValue, listed: Mapping[RowValue, tuple[float, float]]) -> tuple[float, float]:
    """Return between what a row value is; whether a row is in a group is listed with no number, and is 0 or 1."""
    return (0.0, 1.0) if value.predicate and value not in listed else listed[value]


def _reference_problem(opened: Opened) -> str | None:
    reference = opened.document["evidence"]["reference"]
    if list(reference) != list(opened.model.distributions):
        return "the digests of the reference are those of other scenarios"
    shares = {reference[name] for name, scenario in opened.model.scenarios.items() if scenario.table is None}
    if len(shares) > 1:
        return "shares are drawn from one reference, and its digests differ"
    return None


def _moments(opened: Opened) -> Found:
    problem = moments_problem(opened.model, opened.query)
    problem = problem or lower_bound_problem(opened.model, [opened.noise], opened.own, opened.query)
    drawn = opened.drawn("release")
    if problem is None and drawn is not None:
        problem = draws_problem(opened.model, drawn) if isinstance(drawn, Drawn) else law_problem(opened.model, drawn)
    if problem is None and opened.whole is not None and opened.together is not None:
        problem = _joint_moments_problem(opened, opened.whole, opened.together)
    return found(
        problem, "steps, lattices and moments can be those of the statistics, and do not rule the certificate out."
    )


def _joint_moments_problem(opened: Opened, whole: QueryModel, written: Certificate) -> str | None:
    """Return why the joint moments cannot be those of what was asked, or rule the joint certificate out."""
    asked: list[tuple[str, Statistic]] = []
    for number, (texts, noise) in enumerate(
        zip(opened.document["evidence"]["joint"]["asked"], opened.noises, strict=True), start=1
    ):
        if texts is None:  # a function, of which nothing can be said
            return None if whole.provenance.method == "sampling" else "it is not said what an earlier release asked"
        statistics = [(f"{number}. {name}", parse_statistic(text)) for name, text in texts.items()]
        if [statistic.text for _, statistic in statistics] != list(texts.values()):
            return "an earlier question is not as a release writes what it means"
        if Query(statistics).dimension != noise.dimension:
            return "it is not said of every number what was asked"
        asked += statistics
    query = Query(asked)
    if whole.names != query.names:
        return "the joint moments are of other statistics than were asked"
    if (whole.provenance.method == "exact moments") != query.has_exact_moments:
        return f"what was asked does not have moments by {whole.provenance.method!r}"
    problem = moments_problem(whole, query) or lower_bound_problem(whole, opened.noises, written, query)
    drawn = opened.drawn("joint")
    return law_problem(whole, drawn) if problem is None and isinstance(drawn, RowGrid) else problem


def _attacker(opened: Opened) -> Found:
    mechanism = AdditiveMechanism(
        name=opened.document["mechanism"],
        statistics=opened.model.names,
        noise=opened.noise,
        certificate=evolve(opened.own, drawn=opened.drawn("release")),
    )
    together = None if opened.together is None else evolve(opened.together, drawn=opened.drawn("joint"))
    right = figures(opened.model, mechanism, opened.whole, opened.noises, together)
    for key, written in opened.document["attacker"].items():
        if not math.isclose(written, right[key], rel_tol=NEAR):
            return False, f"an attacker is right {right[key]:.4%} of the time ({key}), and {written:.4%} is written."
    return True, f"an attacker is right at most {right['together']:.1%} of the time, all releases so far together."


def _shown(opened: Opened) -> Found:
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
    if document["ledger"]["number"] < document["position"]:
        return False, "the ledger cannot have fewer entries than releases of one dataset."
    return True, "displayed numbers are the released ones, and the time is one."


def _questions(opened: Opened) -> Found:
    """Check how the joint certificate is said to be safe against questions that depend on answers."""
    document, joint = opened.document, opened.together
    said, several = document["questions"], document["evidence"]["joint"] is not None
    if opened.policy.declares and (said == "first" or (said == "declared" and not _asks_all(opened))):
        return False, "the policy declares other questions than the bundle speaks of."
    told = joint is not None and all(one in joint.evidence for one in about_questions(said, len(opened.noises)))
    added_up = joint is not None and (not several or joint.theorem == IMMUNE)
    fits = {
        "first": joint is not None and not several and document["position"] == 1,
        "declared": several and told,
        "assumed": several and told,
        "immune": added_up and all(map(may_be_immune, opened.noises)),
    }
    if not fits.get(said, False):
        return False, f"the certificates do not say that questions are {said!r}."
    return True, {
        "first": "this was the first question, so it depends on no answer.",
        "declared": "all questions and their noise were fixed before the first answer, as the ledger can show.",
        "assumed": "it is assumed, and said, that questions do not depend on earlier answers.",
        "immune": "what the noise costs adds up whatever is asked.",
    }[said]


def _asks_all(opened: Opened) -> bool:
    """Tell whether a bundle speaks of exactly the questions that its policy declares."""
    joint = opened.document["evidence"]["joint"]
    told = [sorted((asked or {}).values()) for asked in (joint or {}).get("asked", [])]
    declared = [
        sorted(statistic.text for _, statistic in question.query.statistics) for question in opened.policy.questions
    ]
    return sorted(told) == sorted(declared)


def _files(opened: Opened) -> Found:
    assert opened.files is not None
    names = ", ".join(sorted(opened.files.contents))
    told = f"{names} were written with this release; all but report.html say what it says."
    return found(files_problem(opened.files, opened.document, opened.policy.query()), told)


def _audit(opened: Opened) -> Found:
    assert opened.files is not None
    problem = audit_problem(opened.files.contents["audit.json"], opened.document, opened.model)
    return found(problem, "audit.json says what its own numbers say, of this release.", "the audit does not fit: ")


def _ledger(opened: Opened, book: LedgerBook) -> Found:
    held = "its chain is unbroken and holds this release, with these numbers and this total."
    return found(ledger_problem(opened.document, book), held, "the ledger contradicts the bundle: ")


def _unseen(opened: Opened, book: LedgerBook | None) -> tuple[NotChecked, ...]:
    """Return what this bundle cannot show."""
    evidence, files = opened.document["evidence"], opened.files
    anew = False
    with suppress(DistprivError):  # a ledger that cannot be read is told of by its own check
        anew = book is not None and is_certified_anew(opened.document, book)
    applies = {
        "certificates": anew,
        "values": book is None,
        "law": any(made is not None and made.law is not None for made in (opened.own, opened.together)),
        "draws": any(drawn is not None for drawn in evidence["drawn"].values()),
        "earlier releases": evidence["joint"] is not None,
        "ledger": book is None,
        "report.html": files is not None,
        "attacks": files is not None and "audit.json" in files.contents,
        "other files": files is None,
    }
    return tuple(item for item in NOT_CHECKED if applies.get(item.name, True))
