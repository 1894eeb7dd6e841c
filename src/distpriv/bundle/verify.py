"""Whether what a bundle says holds: everything that follows from it is computed again by the code that issued it.

What is given is the values, the noise and what certificates rest on; all else is made of these anew, as for a release,
and compared. With the reference the model is rebuilt from the public rows, and what certificates rest on with it; with
the ledger the values and the noise are those that were written down before they were shown. What was neither given nor
recomputed is taken on trust, and a verdict says so.

Numbers agree if they differ by at most a millionth of themselves, or of what was publicly uncertain (`NEAR`); those of
certificates, which are found by searches, by a ten-thousandth (`FOUND`).
"""

import math
import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from attrs import asdict, evolve, field, frozen

from distpriv.auditing.audit import REQUIRED_RELEASES, claim_of
from distpriv.auditing.audit import audit as attack
from distpriv.auditing.report import AuditReport
from distpriv.bundle.ledger_record import is_made_anew, ledger_problem
from distpriv.bundle.recertify import BY_FORMULA, JOINT, THEOREMS, Claim, beside, recertified, witnessed
from distpriv.bundle.write import (
    RELEASE_FILE,
    bundled_tables,
    csv_text,
    digest,
    evidence_record,
    record_in,
    release_content,
    release_record,
)
from distpriv.errors import DistprivError, InvalidInput, LedgerUnavailable
from distpriv.extras import installed
from distpriv.framework.arrays import correlations
from distpriv.framework.display import counted, hanging
from distpriv.framework.notation import parse_statistic
from distpriv.framework.queries import Query
from distpriv.framework.records import LONGEST, Format, json_text, plain
from distpriv.framework.secrets import protect
from distpriv.guarantees.certificate import ASSURANCE, Certificate
from distpriv.guarantees.evidence import Evidence
from distpriv.guarantees.mechanism import AdditiveMechanism
from distpriv.ledger import Ledger
from distpriv.ledger.address import shown_url
from distpriv.modelling.model import QueryModel, SampledStratum
from distpriv.planning.criterion import Criterion
from distpriv.policy import Policy
from distpriv.policy.load import policy_in_release, policy_in_toml
from distpriv.policy.sources import WITHHELD
from distpriv.releasing.certified_laws import reference_digests
from distpriv.releasing.estimating import Answers, Estimates
from distpriv.releasing.immunity import THEOREM as IMMUNE
from distpriv.releasing.immunity import may_be_immune
from distpriv.releasing.joint import THEOREM, EarlierRelease, EarlierReleases, about_questions
from distpriv.releasing.private import reading_evidence
from distpriv.releasing.promised import DRAWN, in_order_of
from distpriv.releasing.readings import listed_evidence
from distpriv.releasing.record import ModelRecord, Moments, ReleaseRecord
from distpriv.releasing.released import Release
from distpriv.releasing.released_tables import table_files

__all__ = ["FOUND", "NEAR", "Check", "Verdict", "difference", "verify_bundle"]

NEAR, FOUND = 1e-6, 1e-4
"""By which share numbers may differ on different machines: those that are computed, and those that are searched for."""

ALWAYS, AUDITED = ("policy.toml", "release.csv", "report.html"), "audit.json"

AUDIT = Format(AuditReport)


class Contradicted(Exception):
    """Says in what a bundle contradicts what it says."""


@frozen(kw_only=True)
class Check:
    """One thing that was looked at."""

    name: str
    passed: bool
    found: str


@frozen(kw_only=True)
class Verdict:
    """What was found of a bundle. Checks end with the first that fails."""

    path: str
    checks: tuple[Check, ...]
    reference: bool = False
    """Whether the model was rebuilt from the reference."""
    ledger: bool = False
    """Whether the bundle was held against the ledger."""
    trusted: tuple[str, ...] = ()
    """What nothing was compared with."""

    @property
    def holds(self) -> bool:
        """Whether everything that was checked holds."""
        return all(check.passed for check in self.checks)

    @property
    def sentence(self) -> str:
        """What was found, in one sentence."""
        failed = next((check for check in self.checks if not check.passed), None)
        if failed is not None:
            return f"{self.path} is not verified, by its {failed.name}: {failed.found}"
        given = ["the bundle", *["the reference"] * self.reference, *["the ledger"] * self.ledger]
        return f"{self.path}: verified, recomputed from {' and '.join(given)}."

    @property
    def trust(self) -> str:
        """What is taken on trust, in one sentence."""
        return f"Taken on trust: {', '.join(self.trusted)}." if self.trusted else ""

    def to_dict(self) -> dict[str, Any]:
        """Return everything as text and truth values."""
        return {"holds": self.holds, "verdict": self.sentence, **asdict(self)}

    def text(self, detail: int = 0) -> str:
        """Return what was found: what failed, and what is taken on trust; detail 1 lists every check."""
        passed = [check for check in self.checks if check.passed]
        word = "VERIFIED" if self.holds else "NOT VERIFIED"
        given = ["bundle", *["reference"] * self.reference, *["ledger"] * self.ledger]
        lines = [f"{word}  {self.path} · {counted(len(passed), 'check')} passed, from {', '.join(given)}", ""]
        lines += [hanging(f"failed: {check.name}: {check.found}") for check in self.checks if not check.passed]
        if detail:
            lines += [hanging(f"ok: {check.name}: {check.found}") for check in passed]
        else:
            lines.append(hanging(f"recomputed: {', '.join(check.name for check in passed)}"))
        return "\n".join([*lines, *([hanging(self.trust)] if self.holds else [])])

    def __str__(self) -> str:
        return self.text()


def verify_bundle(path: str | os.PathLike[str], *, reference: Any = None, ledger: Any = None) -> Verdict:
    """Recompute everything that a release.json and the files beside it say, and compare.

    Args:
        path: the folder of a bundle, or its release.json.
        reference: the reference that the policy names, by its path or anything that `distpriv.model` reads; or a folder
            with the policy's public tables, by the names that it says.
        ledger: the ledger that has the release, or its URL.

    Raises:
        InvalidInput: the file cannot be read or is no release.json of this version.
        LedgerUnavailable: there is no such ledger.
    """
    content = release_content(path)
    if isinstance(ledger, str) and not Ledger.exists(ledger):
        raise LedgerUnavailable(
            f"there is no ledger {shown_url(ledger)}, so the release cannot be looked up: give the URL of the ledger "
            "that it was released with, or leave --ledger out."
        )
    book = Ledger.open(ledger) if isinstance(ledger, str) else ledger
    done: dict[str, Any] = {"path": str(path), "reference": reference is not None, "ledger": book is not None}
    try:
        record = record_in(content, RELEASE_FILE)
    except InvalidInput as refusal:
        return Verdict(checks=(Check(name="format", passed=False, found=str(refusal)),), **done)
    opened = Opened(record=record, path=Path(path), reference=reference)
    checks: list[tuple[str, Callable[[], str]]] = [
        ("manifest", lambda: _manifest(opened)),
        *([] if opened.files is None else [("files", lambda: _files(opened))]),
        *([] if book is None else [("ledger", lambda: _ledger(opened, book))]),
        ("policy", lambda: _policy(opened)),
        ("model", lambda: _model(opened)),
        ("numbers", lambda: _numbers(opened)),
        ("certificate", lambda: _certificate(opened)),
        ("joint certificate", lambda: _joint_certificate(opened)),
        *([] if opened.audited is None else [("audit", lambda: _audit(opened))]),
    ]
    found: list[Check] = [Check(name="format", passed=True, found="every key is there, once, and of its type.")]
    for name, check in checks:
        found.append(_checked(name, check))
        if not found[-1].passed:
            break
    return Verdict(checks=tuple(found), trusted=_trusted(opened, book), **done)


def _checked(name: str, check: Callable[[], str]) -> Check:
    """Run one check; what cannot be computed does not hold."""
    try:
        with np.errstate(all="ignore"):  # absurd numbers are no news here, and what is no number passes no check
            return Check(name=name, passed=True, found=check())
    except Contradicted as problem:
        told = f"{problem}."
    except DistprivError as refusal:
        told = f"it cannot be recomputed: {refusal}"
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, RuntimeError) as failure:
        told = f"it cannot be recomputed: {failure!r} in what the bundle holds."
    return Check(name=name, passed=False, found=" ".join(told.split()))


def _trusted(opened: "Opened", book: object) -> tuple[str, ...]:
    """Return what was not recomputed, and what nobody can."""
    alone = opened.reference is None
    return (
        *(["the model is taken on trust (give --reference)"] if alone else []),
        *(["values, noise, time and other releases (give --ledger)"] if book is None else []),
        *(["policy and certificate, made anew as the question was asked again"] if opened.is_anew(book) else []),
        *(["the other files of the bundle"] if opened.files is None else []),
        *(["what report.html says: it is the file that was written"] if opened.files is not None else []),
        *(["that attacks came out as written"] if opened.audited is not None and not opened.attacks_again else []),
        "the private table",
        "the versions that released it",
    )


@frozen(kw_only=True, slots=False)
class Opened:
    """A bundle that is being looked at: each of its parts made when it is first asked for."""

    record: ReleaseRecord
    path: Path
    reference: Any = field(repr=False)

    @cached_property
    def files(self) -> dict[str, bytes | None] | None:
        """The other files, with nothing for what is no plain file; none where a release.json stands by itself."""
        given = self.path
        folder, own = (given, RELEASE_FILE) if given.is_dir() else (given.parent, given.name)
        names = sorted(entry.name for entry in os.scandir(folder) if entry.name != own)
        if not given.is_dir() and not {*names} & {*self.record.manifest, *ALWAYS, AUDITED}:
            return None
        return {name: _content(folder / name) for name in names}

    @cached_property
    def audited(self) -> AuditReport | None:
        """What attacks have shown, where the bundle says so."""
        content = (self.files or {}).get(AUDITED)
        return None if content is None else AUDIT.read(content, AUDITED)

    @property
    def attacks_again(self) -> bool:
        """Whether the attacks are made again."""
        return self.reference is not None and installed("audit")

    def is_anew(self, book: Any) -> bool:
        """Tell whether a ledger has another certificate for the release: the question was asked again."""
        with suppress(DistprivError):  # a ledger that cannot be read is told of by its own check
            entries = () if book is None else book.history(self.record.dataset).entries
            return any(e.position == self.record.position and is_made_anew(self.record, e) for e in entries)
        return False

    @cached_property
    def policy(self) -> Policy:
        """What was asked for, on the reference that is given."""
        written = {"policy": self.record.policy, "question": self.record.question}
        given = self.reference
        if given is None:
            return policy_in_release(written)
        if not isinstance(given, str | os.PathLike):
            return evolve(policy_in_release(written), reference=given)
        place = Path(os.path.abspath(os.path.expanduser(given)))
        if place.is_dir():
            return policy_in_release(written, place)
        named = str(place) if place.exists() else str(given)
        policy = policy_in_release(written, place.parent)
        return policy if policy.reference is None else evolve(policy, reference=named)

    @cached_property
    def query(self) -> Query:
        """The policy's statistics, in the order of the noise."""
        return self.policy.query().in_order_of(self.record.statistics)

    @cached_property
    def model(self) -> QueryModel:
        """The model of this release: from the rows of the reference, or else as it is written down."""
        if self.reference is not None:
            return in_order_of(self.mechanism, self.policy.model())
        return self._written(self.record.evidence.model, self.query)

    def _written(self, record: ModelRecord, query: Query | None) -> QueryModel:
        policy = self.policy
        return record.model(query, protect(policy.secrets(), policy.records), policy.options)

    @cached_property
    def earlier(self) -> EarlierReleases:
        """All other questions that this one was certified with."""
        joint, total = self.record.evidence.joint, self.policy.ledger.total
        if joint is None:
            return EarlierReleases(releases=(), total=total, questions=self.record.questions)
        place = joint.releases.index(self.record.position)
        every = zip(joint.asked, joint.noises, joint.values, joint.releases, strict=True)
        others = tuple(
            EarlierRelease(query=_query_of(asked), noise=noise, values=values, position=position)
            for asked, noise, values, position in every
            if position != self.record.position
        )
        found = EarlierReleases(releases=others, total=total, questions=self.record.questions, place=place)
        if self.reference is None:
            found.knows(self.query, self._written(joint.model, None))
        return found

    @cached_property
    def whole(self) -> QueryModel:
        """The model of all releases."""
        return self.earlier.stack(self.model)

    @cached_property
    def mechanism(self) -> AdditiveMechanism:
        """The noise of this release, with its certificate."""
        record = self.record
        certificate = evolve(record.certificate, drawn=record.evidence.drawn.release)
        return AdditiveMechanism(
            name=record.mechanism, statistics=record.statistics, noise=record.noise, certificate=certificate
        )

    @cached_property
    def release(self) -> Release:
        """The release as it is made of its values, its noise and the model."""
        record, joint = self.record, self.record.evidence.joint
        own = tuple(record.values[name] for name in record.statistics)
        answers = Answers(
            model=self.whole,
            noises=(record.noise,) if joint is None else joint.noises,
            values=(own,) if joint is None else joint.values,
            place=0 if self.earlier.place is None else self.earlier.place,
        )
        halves = dict(zip(record.statistics, record.noise.half_widths.tolist(), strict=True))
        return Release(
            values=record.values,
            intervals={name: (value - halves[name], value + halves[name]) for name, value in record.values.items()},
            mechanism=self.mechanism,
            joint=evolve(record.joint_certificate, drawn=record.evidence.drawn.joint),
            dataset=record.dataset,
            position=record.position,
            time=record.time,
            repeated=False,
            questions=record.questions,
            ledger=plain(record.ledger),
            estimated=Estimates.of(answers, record.statistics, self.policy.prior).renamed(
                {name: name for name in record.values}
            ),
            model=self.model,
            earlier=self.earlier,
        )

    @cached_property
    def own(self) -> Claim:
        """What is promised about this release alone."""
        return self._claim(joint=False)

    @cached_property
    def together(self) -> Claim:
        """What is promised about all releases."""
        return self._claim(joint=True)

    def _claim(self, *, joint: bool) -> Claim:
        record = self.record
        written = record.joint_certificate if joint else record.certificate
        drawn = record.evidence.drawn.joint if joint else record.evidence.drawn.release
        several = joint and record.evidence.joint is not None
        anew = joint or written.theorem in (THEOREM, IMMUNE)
        claim = Claim(
            mechanism=JOINT if anew else record.mechanism,
            model=self.whole if joint else self.model,
            noises=record.evidence.joint.noises if several and record.evidence.joint else (record.noise,),
            target=self.policy.ledger.total if joint else self.policy.target,
            written=written if joint else evolve(written, evidence=written.evidence[:-2]),
            drawn=drawn,
        )
        if self.reference is None:
            return claim
        known = joint and not several and plain(drawn) == plain(record.evidence.drawn.release)
        return evolve(claim, drawn=self.own.drawn if known else witnessed(claim))


def _content(file: Path) -> bytes | None:
    with suppress(OSError):
        if file.is_file() and not file.is_symlink() and file.stat().st_size <= LONGEST:
            return file.read_bytes()
    return None


def _query_of(asked: Mapping[str, str] | None) -> Query:
    """Return what an earlier release asked; of a function nothing is written down."""
    if asked is None:
        raise Contradicted("an earlier question is Python code, which a bundle does not hold")
    query = Query([(name, parse_statistic(text)) for name, text in asked.items()])
    if [statistic.text for _, statistic in query.statistics] != list(asked.values()):
        raise Contradicted("an earlier question is not as a release writes what it means")
    return query


def difference(right: Any, written: Any, near: float = NEAR, units: Mapping[str, float] = {}) -> str | None:
    """Return where two plain values differ by more than a share of a number, or of the unit of what it is of.

    >>> difference({"a": [1.0, 2]}, {"a": [1.0 + 1e-9, 2]}), difference({"a": [1.0, 2]}, {"a": [1.0, 3]})
    (None, 'a.1')
    """
    return _difference(right, written, near, units, 0.0)


def _difference(right: Any, written: Any, near: float, units: Mapping[str, float], unit: float) -> str | None:
    if isinstance(right, dict) and isinstance(written, dict):
        if list(right) != list(written):
            return "its keys"
        pairs = [(key, right[key], written[key], units.get(key, unit)) for key in right]
    elif isinstance(right, list) and isinstance(written, list):
        if len(right) != len(written):
            return "its length"
        pairs = [(str(place), *both, unit) for place, both in enumerate(zip(right, written, strict=True))]
    else:
        return None if _same(right, written, near, unit) else ""
    for key, one, other, of in pairs:
        if (inside := _difference(one, other, near, units, of)) is not None:
            return f"{key}.{inside}".rstrip(".")
    return None


def _same(right: Any, written: Any, near: float, unit: float) -> bool:
    if type(right) is not float or type(written) is not float:
        return type(right) is type(written) and bool(right == written)
    if 0 < abs(right) < 1e-9 and right * written > 0 and not unit:  # of such numbers the order of magnitude counts
        return abs(math.log(right / written)) <= 0.5
    return math.isclose(right, written, rel_tol=near, abs_tol=NEAR * unit)


def _require_same(right: Any, written: Any, what: str, near: float = NEAR, units: Mapping[str, float] = {}) -> None:
    if (place := difference(plain(right), plain(written), near, units)) is not None:
        raise Contradicted(f"{what} is not what follows from the bundle{f' at {place}' if place else ''}")


# --- the checks


def _manifest(opened: Opened) -> str:
    """See that the manifest names what a release writes, with the digests of what can be made again."""
    record = opened.record
    made = {"release.csv": csv_text(record), **table_files(bundled_tables(record.tables, opened.policy.query()))}
    if different := {*ALWAYS, *made} ^ ({*record.manifest} - {AUDITED}):
        raise Contradicted(f"{min(different)!r:.60} is not in the manifest, or is there and no release writes it")
    if wrong := [name for name, text in made.items() if digest(text) != record.manifest[name]]:
        raise Contradicted(f"the digest of {wrong[0]!r} is not that of what the release makes of it")
    return f"it names the {counted(len(record.manifest), 'file')} of this release."


def _files(opened: Opened) -> str:
    """Compare the other files with the manifest, and the policy with that of the release."""
    record, files = opened.record, opened.files or {}
    for name in sorted({*files, *record.manifest}):
        content = files.get(name)
        if content is None or digest(content) != record.manifest.get(name):
            raise Contradicted(f"{name!r} is not the file that was written with this release")
    if policy_in_toml((files["policy.toml"] or b"").decode("utf-8")) != record.policy:
        raise Contradicted("'policy.toml' asks for something else than the policy in the release")
    return f"{', '.join(files)} are the files that were written with this release."


def _ledger(opened: Opened, book: Any) -> str:
    """Compare what the ledger holds."""
    if (problem := ledger_problem(opened.record, opened.policy, book)) is not None:
        raise Contradicted(problem)
    return "its chain is unbroken and holds this release, with these numbers and this total."


def _policy(opened: Opened) -> str:
    """Compare what was asked for with what was released."""
    record, policy = opened.record, opened.policy
    if any(record.policy[part].get(key) != WITHHELD for part, key in (("data", "private"), ("ledger", "url"))):
        raise Contradicted("the policy does not withhold where the private table and the ledger are")
    for what, right, written in (
        ("dataset", policy.dataset, record.dataset),
        ("target", policy.target, record.certificate.target),
        ("total", policy.ledger.total, record.joint_certificate.target),
        ("names", policy.query().names, tuple(record.values)),
        ("order of the statistics", opened.query.names, record.evidence.model.statistics),
    ):
        if right != written:
            raise Contradicted(f"the {what} of the release and of its policy differ")
    if ASSURANCE[record.certificate.assurance] < ASSURANCE[policy.assurance]:
        raise Contradicted(f"the certificate is at assurance {record.certificate.assurance!r}, less than was asked for")
    if record.mechanism not in {*THEOREMS, *BY_FORMULA} - {JOINT}:
        raise Contradicted(f"there is no mechanism {record.mechanism!r:.60}")
    if record.ledger.number < record.position:
        raise Contradicted("the ledger cannot have fewer entries than releases of one dataset")
    _questions(opened)
    return "dataset, statistics, targets and assurance are those of the policy."


def _questions(opened: Opened) -> None:
    """Compare why questions may not depend on answers with what the bundle says of other questions."""
    record, joint, said = opened.record, opened.record.evidence.joint, opened.record.questions
    fits = {
        "first": joint is None and record.position == 1,
        "declared": joint is not None,
        "assumed": joint is not None,
        "immune": all(map(may_be_immune, (record.noise, *(joint.noises if joint else ())))),
    }
    if not fits.get(said, False) or (joint is not None and record.position not in joint.releases):
        raise Contradicted(f"questions cannot be {said!r} by what is written of other releases")
    if joint is not None:
        place = joint.releases.index(record.position)
        own = {name: statistic.text for name, statistic in opened.query.statistics}
        asked = None if opened.query.has_functions else own
        answer = tuple(record.values[name] for name in record.statistics)
        if (joint.asked[place], joint.noises[place], joint.values[place]) != (asked, record.noise, answer):
            raise Contradicted("what this release asked and answered is something else among all questions")
        names = [[*own] if number == place else [*(each or ())] for number, each in enumerate(joint.asked)]
        if joint.model.statistics != tuple(f"{n}. {name}" for n, each in enumerate(names, 1) for name in each):
            raise Contradicted("the model of all releases is not of the statistics that they asked for")
    if opened.policy.declares:
        if said == "first":
            raise Contradicted("the policy declares other questions than the bundle speaks of")
        told = sorted(sorted((asked or {}).values()) for asked in (joint.asked if joint else ()))
        queries = [question.query for question in opened.policy.questions]
        if said == "declared" and told != sorted(sorted(s.text for _, s in query.statistics) for query in queries):
            raise Contradicted("the policy declares other questions than the bundle speaks of")


def _model(opened: Opened) -> str:
    """Compare the model with the one that the reference gives; without it only see that it is one."""
    record, evidence, model = opened.record, opened.record.evidence, opened.model
    if opened.reference is None:
        _ = opened.whole
        return "moments, steps and labels are taken on trust."
    right = evidence_record(opened.release, model, reference_digests(model))
    _require_same_model(right.model, evidence.model, "")
    if evidence.joint is not None and right.joint is not None:
        _require_same_model(right.joint.model, evidence.joint.model, " of all releases together")
    for what in ("reading", "reference"):
        if (place := difference(plain(getattr(right, what)), plain(getattr(evidence, what)))) is not None:
            raise Contradicted(f"the {what} of the bundle is not that of the reference, at {place}")
    _require_same_draws(opened.own, evidence.drawn.release)
    _require_same_draws(opened.together, evidence.drawn.joint)
    return f"moments, steps and labels of {len(record.values)} statistics are those of the reference."


def _require_same_model(right: ModelRecord, written: ModelRecord, of: str) -> None:
    """Refuse moments, steps and strata that are not those of the reference, in units of the statistics."""
    shapes, told = ([_shapes(moments) for moments in each.scenarios.values()] for each in (right, written))
    for what, one, other in (
        ("method", (right.method, right.draws), (written.method, written.draws)),
        (
            "statistics and scenarios",
            (right.statistics, [*right.scenarios]),
            (written.statistics, [*written.scenarios]),
        ),
        ("moments", shapes, told),
    ):
        if one != other:
            raise Contradicted(f"the {what} of the model{of} are not those of the reference")
    if difference(plain(right.steps), plain(written.steps)) is not None:
        raise Contradicted(f"the steps of the model{of} are not those of the reference")
    if difference(plain(right.record_sensitivities), plain(written.record_sensitivities)) is not None:
        raise Contradicted(f"what one record can do in the model{of} is not what the reference says")
    for name, moments in right.scenarios.items():
        told_of, units = written.scenarios[name], correlations(moments.covariance)[0]
        away = np.abs(moments.mean - told_of.mean) / (units + np.abs(moments.mean))
        wider = np.abs(moments.covariance - told_of.covariance) / np.outer(units, units)
        if not (away <= NEAR).all() or not (wider <= NEAR).all():
            raise Contradicted(f"the moments of the model{of} are not those of the reference, in scenario {name!r}")
        lattices = [plain(each.lattice) for each in (moments, told_of)]
        if difference(*lattices) is not None:
            raise Contradicted(f"the lattice of the model{of} is not that of the reference, in scenario {name!r}")
    if len(right.strata) != len(written.strata) or not all(map(_same_stratum, right.strata, written.strata)):
        raise Contradicted(f"the strata of the model{of} are not those of the reference")


def _shapes(moments: Moments) -> list[tuple[int, ...]]:
    arrays = (moments.mean, moments.covariance, moments.lattice)
    return [() if array is None else array.shape for array in arrays]


def _same_stratum(right: SampledStratum, written: SampledStratum) -> bool:
    units = correlations(right.covariance)[0]
    scaled = [evolve(s, covariance=s.covariance / np.outer(units, units)) for s in (right, written)]
    same_error = np.abs(right.error - written.error) <= NEAR * np.outer(units, units) + 1e-300
    one, other = (plain(evolve(s, loads=None)) for s in scaled)
    return bool(same_error.all()) and difference(one, other, FOUND, dict.fromkeys(one, 1.0)) is None


def _require_same_draws(claim: Claim, written: Any) -> None:
    """Refuse draws, or cells of rows, that are not those of the reference; a few may fall into a place beside."""
    if written is None:
        return
    if claim.drawn is None or not hasattr(written, "laws"):
        _require_same(claim.drawn, written, "the exact law of the rows")
        return
    for right, told in zip(claim.drawn.laws, written.laws, strict=True):  # type: ignore[union-attr]
        means = [float(np.where(np.isfinite(law.values), law.values, 0) @ law.counts) for law in (right, told)]
        ends = [(law.zero, law.infinite, int(law.counts.sum())) for law in (right, told)]
        if ends[0] != ends[1] or not math.isclose(*means, rel_tol=FOUND) or not _same_shape(right, told):
            raise Contradicted("the draws are not those that the reference gives by their seed")


def _same_shape(right: Any, told: Any) -> bool:
    """Tell whether two histograms have the same quantiles, to two places."""
    shares = (np.arange(200) + 0.5) / 200
    one, other = (
        law.values[np.searchsorted(np.cumsum(law.counts), shares * law.counts.sum())] for law in (right, told)
    )
    return bool(np.allclose(one, other, rtol=1e-3, atol=1e-300))


def _numbers(opened: Opened) -> str:
    """Compare intervals, estimates, tables and figures with what values, noise and model give."""
    record = opened.record
    right = release_record(opened.policy, opened.release, opened.model, record.evidence)
    units = {**record.public_errors, "tables": max(record.public_errors.values(), default=0.0)}
    for what in (
        *("intervals", "estimates", "estimate_intervals", "fit", "public_means", "public_errors", "display"),
        *("statistics", "attacker", "tables"),
    ):
        one, other = (plain({what: getattr(each, what)}) for each in (right, record))
        if (place := difference(one, other, NEAR, units)) is not None:
            raise Contradicted(f"{place} is not what values, noise and moments give")
    policy = opened.policy
    criterion = Criterion.of(opened.model, objective=policy.objective, prior=policy.prior, max_error=policy.max_error)
    if large := criterion.too_large(record.noise.covariance):
        raise Contradicted(f"the error of {large[0]!r} is larger than the policy allows")
    return "intervals, estimates, tables and attack accuracies follow from values, noise and moments."


def _certificate(opened: Opened) -> str:
    """Compare the certificate of the release with the one that its noise has."""
    record, claim = opened.record, opened.own
    *_, drawn, read = record.certificate.evidence
    listed = listed_evidence(opened.query, plain(record.evidence.reading))
    if opened.reference is not None:
        listed = reading_evidence(opened.model)
    elif opened.query.has_functions:  # of which the certificate says more than the bundle
        listed = evolve(listed, facts={**listed.facts, "columns": read.facts.get("columns", [])})
    if drawn != DRAWN or difference(plain(listed), plain(read)) is not None:
        raise Contradicted("the certificate does not say where rows come from and how they are read")
    return _compared(claim, beside(claim, len(opened.earlier.releases), opened.policy.ledger.total))


def _joint_certificate(opened: Opened) -> str:
    """Compare the certificate of all releases with the one that their noise has."""
    record, claim = opened.record, opened.together
    if record.evidence.joint is None and claim.written.theorem not in (THEOREM, IMMUNE):
        same = evolve(record.certificate, target=claim.target, evidence=_of_mechanism(record.certificate))
        drawn = record.evidence.drawn
        _require_same([same, drawn.release], [claim.written, drawn.joint], "what is said of all releases together")
        if not claim.written.holds:
            raise Contradicted("the release alone exceeds what all releases together may cost")
        return "this is the first release, and alone it stays within the total."
    said = [] if record.questions == "immune" else about_questions(record.questions, len(claim.noises))
    if any(one not in claim.written.evidence for one in said):
        raise Contradicted(f"it is not said that questions are {record.questions!r}")
    return _compared(claim, said)


def _of_mechanism(certificate: Certificate) -> tuple[Evidence, ...]:
    """Return what a certificate rests on but for where rows come from and how they are read."""
    return tuple(evidence for evidence in certificate.evidence if evidence.code not in ("DP110", "DP325"))


def _compared(claim: Claim, also: Sequence[Evidence]) -> str:
    """Compare a certificate with the one that the noise has."""
    right, written = recertified(claim), claim.written
    what = f"δ is {right.delta:.6g} at ε = {right.epsilon:g}, and {claim.target.delta:g} is allowed"
    if not written.holds:
        raise Contradicted(f"the certificate itself does not hold, and recomputed {what}")
    for key in ("target", "epsilon", "delta", "assurance", "theorem", "contradicted", "law"):
        one, other = (plain(getattr(each, key)) for each in (right, written))
        near = NEAR**2 if key == "epsilon" else FOUND
        if difference(one, other, near) is not None:
            raise Contradicted(f"its {key} is another one: recomputed {what}")
    if (code := _unconfirmed(claim, right.evidence, also)) is not None:
        raise Contradicted(f"the evidence {code:.20} is not what the certificate rests on")
    return f"{what}; assurance {right.assurance!r}."


def _unconfirmed(claim: Claim, right: Sequence[Evidence], also: Sequence[Evidence]) -> str | None:
    """Return the code of evidence that is missing, made up or out of order, if any is.

    Args:
        claim: the certificate that was written.
        right: what it rests on, in order.
        also: what else may be said, once each.
    """
    waiting, allowed = list(right), list(also)
    for written in claim.written.evidence:
        if waiting and _confirmed(waiting[0], written):
            waiting.pop(0)
            continue
        extra = next((one for one in allowed if _confirmed(one, written)), None)
        if extra is None:
            return written.code
        allowed.remove(extra)
    return waiting[0].code if waiting else None


def _confirmed(right: Evidence, written: Evidence) -> bool:
    return right.code == written.code and difference(plain(right), plain(written), FOUND) is None


def _audit(opened: Opened) -> str:
    """See that an audit is of this release; with the reference, attack it again."""
    record, report, certificate = opened.record, opened.audited, opened.record.certificate
    assert report is not None
    assert opened.files is not None
    if json_text(report).encode() != opened.files[AUDITED]:
        raise Contradicted("it is not as an audit is written")
    claim, required = claim_of(certificate), opened.policy.audit == "required"
    same = (report.mechanism, report.epsilon, report.delta) == (record.mechanism, claim.epsilon, claim.delta)
    if not same or report.failed or (required and report.releases < REQUIRED_RELEASES):
        raise Contradicted("it does not show that attacks on this release fail")
    if not opened.attacks_again:
        return "no attack succeeds, by what is written."
    again = attack(
        opened.mechanism,
        model=opened.model,
        shadows=report.shadows,
        releases=report.releases,
        confidence=report.confidence,
        seed=report.seed,
    )
    _require_same(evolve(again, populations=report.populations), report, "what attacks found", FOUND)
    return "attacks were made again, and none succeeds."
