"""From a policy to a release bundle, and to what attacks show of it."""

import os
from collections.abc import Mapping
from contextlib import ExitStack

from attrs import define, evolve, field

from distpriv.auditing.arsenal import arsenal
from distpriv.auditing.audit import audit as attack
from distpriv.auditing.audit import claim_of, require_releases
from distpriv.auditing.report import AuditReport
from distpriv.bundle.write import (
    RELEASE_FILE,
    Bundle,
    BundleFolder,
    bundled_files,
    bundled_tables,
    csv_text,
    evidence_record,
    read_record,
    release_record,
    replace_files,
    with_manifest,
)
from distpriv.errors import BundleNotWritten, InvalidInput
from distpriv.framework.folders import File
from distpriv.framework.records import json_text, plain
from distpriv.guarantees.mechanism import AdditiveMechanism
from distpriv.ledger import Ledger
from distpriv.modelling.model import QueryModel
from distpriv.policy import Policy, read_policy
from distpriv.progress import Progress, silent
from distpriv.releasing.declaring import declare
from distpriv.releasing.estimating import Estimates
from distpriv.releasing.promised import in_order_of
from distpriv.releasing.record import ReleaseRecord
from distpriv.releasing.release import Release, released
from distpriv.releasing.released_tables import table_files
from distpriv.report.page import release_page, render
from distpriv.report.summary import Summary
from distpriv.workflow.check_policy import check_policy, is_answered
from distpriv.workflow.ledgers import history_in, needed_ledger
from distpriv.workflow.page_facts import bundle_summary
from distpriv.workflow.plan_policy import PlannedPolicy, plan_policy, planned_in, plans_to_declare

__all__ = ["audit_bundle", "audit_policy", "release_policy"]


def release_policy(
    path: str | Policy,
    out: str | os.PathLike[str],
    *,
    only: str | None = None,
    audit: bool = False,
    analyst: bool = False,
    releases: int = 20_000,
    progress: Progress = silent,
) -> Bundle:
    """Release what a policy asks for, once, and write the bundle.

    The private table is checked first, unless it is for an analyst who must not learn anything about it.

    Where it is audited, the attacks come first: what they refute is not released, and the private table not looked at.

    Args:
        path: the policy; one that was read already is taken as it is, whatever has become of its file.
        out: the folder to write; it must be new or empty.
        only: which of several releases; all of them are declared in the ledger before the first is answered.
        audit: whether to attack simulated releases first, where the policy does not require that anyway.
        analyst: whether whoever sees a refusal must not learn why.
        releases: how many of them.
        progress: is told how far the work is.

    Raises:
        PrivateTableRefused: the private table does not fit the reference; nothing is spent, unless for an analyst.
        NotCertified: no mechanism holds, or earlier releases leave no room; nothing is released.
        AuditFailed: attacks do better than the certificate allows; nothing is released.
        BundleNotWritten: the release is in the ledger, and asking again completes the bundle.
    """
    require_releases(releases)
    policy = (path if isinstance(path, Policy) else read_policy(path)).only(only)
    require_releases(releases, required=policy.audit == "required")
    source = policy.private_source()
    ledger = needed_ledger(policy)
    public = policy.public_text()
    attacks = _Attacks(releases=releases, progress=progress)
    approve = attacks.approve if audit or policy.audit == "required" else None
    if approve is not None:
        arsenal()  # said before anything is planned or declared, if what attacks need is not installed
    folder = BundleFolder.prepared(out)
    with ExitStack() as ending:
        ending.callback(folder.discard)
        if ledger is not None:
            ending.enter_context(ledger.connected())
        if not analyst and not is_answered(history_in(ledger, policy), policy):
            check_policy(policy, compare=False).require_fit()
        declared = plans_to_declare(ledger, policy, progress, approve=approve)
        if declared:
            ledger = ledger or _made_ledger(policy, ending)
            _declare(policy, ledger, declared)
        found = planned_in(ledger, policy, progress, declared=declared)
        if found.fixed is None and found.plan.chosen is None:
            raise found.refusal()
        session = found.session.in_ledger(ledger or _made_ledger(policy, ending))
        answer = released(
            session,
            found.plan,
            source,
            approve=approve,
            analyst=analyst,
            accepted=policy.accepted,
            terms=policy.to_dict(),
        )
        try:
            return _written(found, answer, public, folder, attacks.last)
        except Exception as failure:  # whatever it is, the answer is in the ledger, and that has to be said
            raise BundleNotWritten(
                f"the release is in the ledger, but its bundle could not be written ({failure}): run the same command "
                "again, which shows the same answer and completes the bundle."
            ) from failure


def _made_ledger(policy: Policy, ending: ExitStack) -> Ledger:
    """Make the ledger of a policy that asks for that, where there is none and no trace of one."""
    return ending.enter_context(Ledger.create(policy.ledger_url(), exist_ok=True).connected())


def _declare(policy: Policy, ledger: Ledger, plans: Mapping[str, PlannedPolicy]) -> None:
    """Declare all queries of a policy with the plans that were made for them."""
    declare(
        {name: found.plan for name, found in plans.items()},
        ledger=ledger,
        dataset=policy.dataset,
        total=policy.ledger.total,
        continues=policy.continues,
    )


def audit_policy(
    path: str, *, only: str | None = None, releases: int = 100_000, seed: int = 0, progress: Progress = silent
) -> AuditReport:
    """Attack what a policy releases, or one of several releases; the private table is not looked at."""
    arsenal()
    require_releases(releases)
    mechanism, model = plan_policy(path, progress, only=only).mechanism()
    return attack(mechanism, model=model, releases=releases, seed=seed, progress=progress)


def audit_bundle(
    path: str,
    folder: str | os.PathLike[str],
    *,
    releases: int = 100_000,
    seed: int = 0,
    progress: Progress = silent,
) -> AuditReport:
    """Attack what a policy has released, and put the outcome into its bundle: audit.json, and the report's page.

    Raises:
        InvalidInput: the folder is no bundle of this policy's release.
    """
    arsenal()
    require_releases(releases)
    record = read_record(folder)
    found = plan_policy(path, progress, only=record.question)
    released = None
    if found.answered is not None:
        query, ledger = found.policy.query(), record.ledger.id
        released = Release.of(found.answered, query, repeated=True, ledger=ledger)
    same = ("dataset", "position", "values")
    if released is None or any(getattr(record, key) != getattr(released, key) for key in same):
        raise InvalidInput(f"{str(folder)!r} is not the bundle of what this policy has released: give that one.")
    released = _as_promised(released, record)
    model = in_order_of(released.mechanism, found.plan.model)
    attacked = attack(released.mechanism, model=model, releases=releases, seed=seed, progress=progress)
    public = found.policy.public_text()
    told = bundle_summary(found.policy, released, plain(record), model=model, public=public, audit=attacked)
    new = {"audit.json": json_text(attacked), "report.html": _page(told)}
    whole = with_manifest(record, {**bundled_files(folder, record, new), **new})
    replace_files(folder, {**new, RELEASE_FILE: json_text(whole)})
    return attacked


@define(kw_only=True)
class _Attacks:
    """The audits that come before a release, and what they found."""

    releases: int
    progress: Progress
    made: list[tuple[AdditiveMechanism, AuditReport]] = field(factory=list)

    @property
    def last(self) -> AuditReport | None:
        """What was found of the mechanism that was approved last."""
        return self.made[-1][1] if self.made else None

    def approve(self, mechanism: AdditiveMechanism, model: QueryModel) -> None:
        """Attack what is about to answer, and refuse it where that succeeds."""
        known = (report for other, report in self.made if _claims_the_same(mechanism, other))
        report = next(known, None) or attack(
            mechanism, model=model, releases=self.releases, seed=0, progress=self.progress
        )
        self.made.append((mechanism, report))
        report.require_passed()


def _claims_the_same(one: AdditiveMechanism, other: AdditiveMechanism) -> bool:
    """Tell whether two mechanisms are the same noise, and promise the same."""
    same = all(getattr(one, what) == getattr(other, what) for what in ("name", "statistics", "noise"))
    holds = one.certificate.holds == other.certificate.holds
    return same and holds and claim_of(one.certificate) == claim_of(other.certificate)


def _written(
    found: PlannedPolicy,
    released: Release,
    public: str,
    folder: BundleFolder,
    attacked: AuditReport | None,
) -> Bundle:
    model = in_order_of(released.mechanism, found.plan.model)
    record = release_record(found.policy, released, model, evidence_record(released, model, found.session.digests))
    summary = bundle_summary(found.policy, released, plain(record), model=model, public=public, audit=attacked)
    page = _page(summary)
    files: dict[str, File] = {"release.csv": csv_text(record), "policy.toml": public, "report.html": page}
    files |= table_files(bundled_tables(record.tables, found.policy.query()))
    if attacked is not None:
        files["audit.json"] = json_text(attacked)
    record = with_manifest(record, files)
    folder.write({**files, RELEASE_FILE: json_text(record)})
    return Bundle(folder=folder.target, release=released, record=record, summary=summary)


def _page(summary: Summary) -> str:
    return render(release_page(summary))


def _as_promised(released: Release, record: ReleaseRecord) -> Release:
    """Return a release with the certificates and estimates that its bundle has, which are for the policy that asked."""
    estimated = Estimates.read(plain(record))
    mechanism = evolve(released.mechanism, certificate=record.certificate)
    return evolve(released, mechanism=mechanism, joint=record.joint_certificate, estimated=estimated)
