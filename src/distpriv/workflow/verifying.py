"""Whether what a bundle promises holds: everything that follows from it is computed again and compared.

A forger may edit every file of a bundle. So nothing is believed because it is written down: scenarios, pairs and
records follow from the policy, δ from moments, noise and draws, every word of a certificate from its numbers, tables
and figures from values. What is left, since no bundle can show it, is named in
`verdicts.NOT_CHECKED`.
"""

import math
import os
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import numpy as np

from distpriv.errors import DistprivError
from distpriv.framework.queries import Query, RowMean, Statistic
from distpriv.guarantees.certificate import TRUST, Certificate
from distpriv.guarantees.mechanism import AdditiveMechanism
from distpriv.modelling.model import QueryModel
from distpriv.releasing.immunity import THEOREM as IMMUNE
from distpriv.releasing.immunity import may_be_immune
from distpriv.releasing.ledger import Ledger
from distpriv.releasing.stack import stacked
from distpriv.workflow.assumption_checks import ADAPTIVE, DECLARED
from distpriv.workflow.attackers import figures
from distpriv.workflow.bundle import release_document
from distpriv.workflow.bundle_files import audit_problem, files_beside, files_problem
from distpriv.workflow.certificate_checks import NEAR, Found, certificate, joint_certificate
from distpriv.workflow.display import display_values
from distpriv.workflow.ledger_checks import LedgerBook, ledger_problem
from distpriv.workflow.model_checks import (
    draws_problem,
    joint_problem,
    lower_bound_problem,
    moments_problem,
    policy_problem,
)
from distpriv.workflow.opened import Opened
from distpriv.workflow.release_schema import RELEASE, SHARED
from distpriv.workflow.statistics import parse_statistic, statistic_text
from distpriv.workflow.strict_json import conforming
from distpriv.workflow.verdicts import (
    ALONE,
    ATTACKS,
    CHAIN,
    DRAWS,
    EARLIER,
    INSTALLED,
    MOMENTS,
    NOT_CHECKED,
    PRIVATE_TABLE,
    REPORT,
    VALUES,
    Check,
    NotChecked,
    Verdict,
)

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
    book = Ledger.open(ledger) if isinstance(ledger, str) else ledger
    checks: dict[str, Callable[[Opened], Found]] = {
        "certificate": certificate,
        "all releases together": joint_certificate,
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


def _checked(name: str, check: Callable[[Opened], Found], opened: Opened) -> Check:
    """Run one check; what cannot be computed does not hold."""
    try:
        with np.errstate(all="ignore"):  # absurd numbers are no news here, and what is no number passes no check
            passed, found = check(opened)
    except DistprivError as refusal:
        passed, found = False, f"the {name} cannot be recomputed: {refusal}"
    except (
        LookupError,
        TypeError,
        ValueError,
        AttributeError,
        ArithmeticError,
        RuntimeError,
        StopIteration,
    ) as failure:
        passed, found = False, f"the {name} cannot be recomputed: {failure!r} in what the bundle holds."
    return Check(name=name, passed=passed, found=" ".join(found.split()))


def _policy(opened: Opened) -> Found:
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
    if problem is not None:
        return False, f"{problem}."
    return True, "scenarios, pairs, shares, records and statistics are those of the policy."


def _texts(opened: Opened) -> dict[str, str]:
    return {name: statistic_text(statistic) for name, statistic in opened.query.statistics}


def _reading_problem(opened: Opened) -> str | None:
    """Return in what the reading of rows does not fit the statistics and what one record can do, if in anything."""
    reading = opened.document["evidence"]["reading"]
    if [row["statistic"] for row in reading] != list(opened.model.names):
        return "the reading of rows is that of other statistics"
    for row, reach, (name, statistic) in zip(
        reading, opened.model.record_sensitivities.tolist(), opened.query.statistics, strict=True
    ):
        low, high, moved = row["low"], row["high"], getattr(statistic, "record_sensitivity", None)
        if isinstance(statistic, RowMean) and statistic.predicate and (low, high, row["otherwise"]) not in TRUTHS:
            return f"rows of {name!r} are read as something else than true and false"
        if low is None or high is None or moved is None:
            continue
        if not low <= row["otherwise"] <= high:
            return f"a row of {name!r} without a value counts as one that no row can have"
        least, greatest = getattr(statistic, "bounds", None) or (low, high)
        moves = moved(opened.policy.records, least, greatest)
        if not least <= low <= high <= greatest or not math.isclose(moves, reach, rel_tol=NEAR):
            return f"rows of {name!r} are read between other ends than the moments have"
    return None


def _reference_problem(opened: Opened) -> str | None:
    reference = opened.document["evidence"]["reference"]
    if list(reference) != list(opened.model.distributions):
        return "the digests of the reference are those of other scenarios"
    shares = {reference[name] for name, scenario in opened.model.scenarios.items() if scenario.table is None}
    if len(shares) > 1:
        return "shares are drawn from one reference, and its digests differ"
    return None


def _moments(opened: Opened) -> Found:
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


def _joint_moments_problem(opened: Opened, whole: QueryModel, written: Certificate) -> str | None:
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


def _attacker(opened: Opened) -> Found:
    mechanism = AdditiveMechanism(
        name=opened.document["mechanism"], statistics=opened.model.names, noise=opened.noise, certificate=opened.own
    )
    found = figures(opened.model, mechanism, opened.whole, opened.noises, opened.together)
    for key, written in opened.document["attacker"].items():
        if not math.isclose(written, found[key], rel_tol=NEAR):
            return False, f"an attacker is right {found[key]:.4%} of the time ({key}), and {written:.4%} is written."
    return True, f"an attacker is right at most {found['together']:.1%} of the time, all releases so far together."


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
    statements = () if joint is None else tuple(assumption.statement for assumption in joint.assumptions)
    added_up = joint is not None and (not several or joint.theorem == IMMUNE)
    fits = {
        "first": joint is not None and not several and document["position"] == 1,
        "declared": several and DECLARED in statements,
        "assumed": several and ADAPTIVE in statements,
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
        sorted(statistic_text(statistic) for _, statistic in question.query.statistics)
        for question in opened.policy.questions
    ]
    return sorted(told) == sorted(declared)


def _files(opened: Opened) -> Found:
    assert opened.files is not None
    problem = files_problem(opened.files, opened.document)
    if problem is not None:
        return False, f"{problem}."
    return True, f"{', '.join(sorted(opened.files.contents))} were written with this release, and say what it says."


def _audit(opened: Opened) -> Found:
    assert opened.files is not None
    problem = audit_problem(opened.files.contents["audit.json"], opened.document, opened.model)
    if problem is not None:
        return False, f"the audit does not fit: {problem}."
    return True, "audit.json says what its own numbers say, of this release."


def _ledger(opened: Opened, book: LedgerBook) -> Found:
    problem = ledger_problem(opened.document, book)
    if problem is not None:
        return False, f"the ledger contradicts the bundle: {problem}."
    return True, "its chain is unbroken and holds this release, with these numbers and this total."


def _unseen(opened: Opened, *, ledger: bool) -> tuple[NotChecked, ...]:
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
