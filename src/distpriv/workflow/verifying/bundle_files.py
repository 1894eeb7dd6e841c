"""The files beside a release.json: whether they were written with it, and say what it says where that is checked."""

import math
import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from attrs import field, frozen

from distpriv.auditing.arsenal import ARSENAL
from distpriv.auditing.audit import REQUIRED_RELEASES, claim_of, modelled_accuracy
from distpriv.auditing.lower_bound import proportion_lower_bound, proportion_upper_bound
from distpriv.auditing.measures import BOUNDS_PER_ATTACK, Measures
from distpriv.auditing.report import AttackResult, AuditReport
from distpriv.errors import DistprivError, InvalidInput
from distpriv.framework.queries import Query
from distpriv.framework.target import PrivacyTarget
from distpriv.guarantees.certificate import Certificate
from distpriv.modelling.model import QueryModel
from distpriv.noise.laws import noise_from_dict
from distpriv.policy.load import policy_in_toml
from distpriv.releasing.released_tables import table_files
from distpriv.workflow.bundle import RELEASE_FILE, bundled_tables, csv_text, digest
from distpriv.workflow.release_schema import AUDIT, SHARED
from distpriv.workflow.strict_json import LONGEST, conforming, strict_json
from distpriv.workflow.verifying.problems import first_problem

__all__ = ["Files", "audit_problem", "files_beside", "files_problem"]

ALWAYS = ("policy.toml", "release.csv", "report.html")
AUDITED = "audit.json"

NEAR = 1e-6
"""By which share two computations of the same number may differ on different machines."""


@frozen(kw_only=True)
class Files:
    """What is beside a release.json."""

    contents: Mapping[str, bytes] = field(repr=False)
    odd: tuple[str, ...] = ()
    """What is no plain file, or cannot be read."""


def files_beside(path: str | os.PathLike[str], document: Mapping[str, Any]) -> Files | None:
    """Return the other files of a bundle; nothing where a release.json is given that stands by itself."""
    given = Path(path)
    folder = given if given.is_dir() else given.parent
    own = RELEASE_FILE if given.is_dir() else given.name
    try:
        names = sorted(entry.name for entry in os.scandir(folder) if entry.name != own)
    except OSError as failure:
        raise InvalidInput(f"{str(folder)!r} cannot be read ({failure.strerror}): give a bundle's folder.") from failure
    if not given.is_dir() and not set(names) & {*document["manifest"], *ALWAYS, AUDITED}:
        return None
    contents = {}
    for name in names:
        file = folder / name
        with suppress(OSError):
            if file.is_file() and not file.is_symlink() and file.stat().st_size <= LONGEST:
                contents[name] = file.read_bytes()
    return Files(contents=contents, odd=tuple(name for name in names if name not in contents))


@first_problem
def files_problem(files: Files, document: Mapping[str, Any], query: Query) -> Iterator[str]:
    """Say which file is not the one that was written with a release.json, or says something else."""
    manifest = document["manifest"]
    for name in files.odd:
        yield f"{name!r} is no plain file that can be read"
    tables = table_files(bundled_tables(document, query))
    if not {*ALWAYS, *tables} <= set(manifest) <= {*ALWAYS, AUDITED, *tables}:
        yield "the manifest does not name the files that a bundle has"
    for name in sorted(set(manifest) - set(files.contents)):
        yield f"{name!r} is missing"
    for name in sorted(set(files.contents) - set(manifest)):
        yield f"{name!r} is no file of this bundle"
    if document["policy"]["privacy"]["audit"] == "required" and AUDITED not in manifest:
        yield f"its policy requires an audit, and there is no {AUDITED!r}"
    for name, content in files.contents.items():
        if manifest.get(name) != digest(content):
            yield f"{name!r} is not the file that was written with this release"
    for name, text in {"release.csv": csv_text(document), **tables}.items():
        if files.contents.get(name) != text.encode():
            yield f"{name!r} has other numbers than the release"
    yield from _wrong_policy(files.contents["policy.toml"], document)


def _wrong_policy(content: bytes, document: Mapping[str, Any]) -> Iterator[str]:
    try:
        meant = policy_in_toml(content.decode("utf-8"))
    except UnicodeDecodeError:
        yield "'policy.toml' is no text"
    except DistprivError as refusal:
        yield f"'policy.toml' is no policy of a bundle, as {str(refusal).rstrip('.')}"
    else:
        if meant != document["policy"]:
            yield "'policy.toml' asks for something else than the policy in the release"


def audit_problem(content: bytes, document: Mapping[str, Any], model: QueryModel) -> str | None:
    """Return what is wrong with an audit.json, if anything is: it may not say more than its own numbers."""
    try:
        written = strict_json(content, "audit.json")
    except InvalidInput as refusal:
        return str(refusal).rstrip(".")
    if (problem := conforming(written, AUDIT, SHARED)) is not None:
        return f"it is not as an audit is written: {problem}"
    return _wrong_audit(_report(written), written, document, model)


def _report(written: Mapping[str, Any]) -> AuditReport:
    attacks = tuple(
        AttackResult(**{**attack, **{key: _measures(attack[key]) for key in ("defended", "undefended")}})
        for attack in written["attacks"]
    )
    derived = ("failed", "verdict", "epsilon_lower_bound")
    own = {key: value for key, value in written.items() if key not in derived}
    return AuditReport(**{**own, "pair": tuple(written["pair"]), "attacks": attacks})


def _measures(written: Mapping[str, Any]) -> Measures:
    return Measures(**{**written, "interval": tuple(written["interval"])})


@first_problem
def _wrong_audit(
    report: AuditReport, written: Mapping[str, Any], document: Mapping[str, Any], model: QueryModel
) -> Iterator[str]:
    certificate = Certificate.from_dict(document["certificate"])
    claim = claim_of(certificate)
    if not report.attacks:
        yield "there is no attack in it"
    elif report.to_dict() != written:
        yield "its verdict is not what its own numbers say"
    if report.failed:
        yield "its attacks rule out what the release claims"
    if document["policy"]["privacy"]["audit"] == "required" and report.releases < REQUIRED_RELEASES:
        yield "it attacks fewer releases than one that a policy requires"
    if report.mechanism != document["mechanism"] or report.certificate_holds != certificate.holds:
        yield "it is of another mechanism than the release"
    if PrivacyTarget(epsilon=report.epsilon, delta=report.delta) != claim:
        yield "it is held against another claim than that of the release"
    if report.attack_accuracy_ceiling != claim.attack_accuracy_ceiling:
        yield "its ceiling is not that of the claim"
    if report.pair not in model.protected_pairs:
        yield "its pair is none that the release protects"
        return
    modelled = modelled_accuracy(model, report.pair, noise_from_dict(document["noise"]))
    if not math.isclose(modelled, report.modelled_accuracy, rel_tol=NEAR):
        yield "its accuracy by the model is not that of the moments and the noise"
    if list(report.attacks) != sorted(report.attacks, key=lambda attack: -attack.accuracy):
        yield "its attacks are not in order"
    if sorted(attack.name for attack in report.attacks) != sorted(ARSENAL):
        yield "its attacks are not those that a release is audited with"
    if not 0 < report.confidence < 1 or report.releases < 2:
        yield "it has no confidence, or no releases"
        return
    yield from _wrong_counts(report)


def _wrong_counts(report: AuditReport) -> Iterator[str]:
    """Say where a share is none of so many releases, or a bound is not that of any count of them."""
    releases, failure = report.releases, 1 - report.confidence
    each = failure / len(report.attacks) / BOUNDS_PER_ATTACK
    pairs = (releases - releases // 2) * (releases // 2)
    for attack in report.attacks:
        for found in (attack.defended, attack.undefended):
            right = round(found.accuracy * releases)
            ends = (
                float(proportion_lower_bound(right, releases, failure / 2)),
                float(proportion_upper_bound(right, releases, failure / 2)),
            )
            if any(not math.isclose(one, other, rel_tol=NEAR) for one, other in zip(found.interval, ends, strict=True)):
                yield f"the interval of {attack.name!r} is not that of its accuracy on {releases} releases"
            shares = (
                (found.accuracy, releases),
                (found.auc, 2 * pairs),
                (found.tpr_at_1_percent_fpr, releases - releases // 2),
            )
            if any(abs(share * of - round(share * of)) > NEAR * max(1.0, 1e-6 * of) for share, of in shares):
                yield f"what {attack.name!r} achieved is no share of {releases} releases"
        if not _is_bound(attack.accuracy_lower_bound, releases, each):
            yield f"no count of {releases} releases bounds the accuracy of {attack.name!r} so"


def _is_bound(bound: float, trials: int, failure: float) -> bool:
    """Tell whether some count of trials has this lower bound, which rises with the count."""
    low, high = 0, trials
    while low < high:
        middle = (low + high) // 2
        if float(proportion_lower_bound(middle, trials, failure)) < bound * (1 - NEAR):
            low = middle + 1
        else:
            high = middle
    return math.isclose(float(proportion_lower_bound(low, trials, failure)), bound, rel_tol=NEAR, abs_tol=0.0)
