"""What a policy adds to the page of its release: its own terms, and numbers as people expect to see them."""

from collections.abc import Mapping
from typing import Any

from attrs import evolve

from distpriv.auditing.report import AuditReport
from distpriv.bundle.write import bundled_tables
from distpriv.framework.display import display_interval, display_text, display_values
from distpriv.framework.secrets import taken_shares
from distpriv.framework.target import PrivacyTarget
from distpriv.modelling.model import QueryModel
from distpriv.policy import Policy
from distpriv.releasing.release import Release
from distpriv.report.contents import Facts, ShownStatistic
from distpriv.report.protection import Asked, Protection
from distpriv.workflow.plan_policy import PlannedPolicy

__all__ = ["page_facts"]

SAME = 1e-9
"""How far the accuracy that a certificate's target allows may be off the one that a policy names, by rounding."""


def page_facts(
    planned: PlannedPolicy,
    release: Release,
    model: QueryModel,
    document: Mapping[str, Any],
    public: str,
    audit: AuditReport | None,
) -> Facts:
    """Return what the page says."""
    policy = planned.policy
    return evolve(
        Facts.of(release, model),
        title=policy.question.title,
        records=policy.records,
        plan=planned.plan,
        asked=asked(policy, "privacy", release.certificate.target),
        total=asked(policy, "ledger", release.joint.target if release.joint is not None else policy.ledger.total),
        statistics=_statistics(planned, release, document),
        tables=bundled_tables(document["tables"], planned.policy.query()),
        hidden=[*(secret.in_words for secret in policy.secrets()), *taken_shares(policy.secrets(), policy.records)],
        protection=Protection.of(document),
        fixed=planned.fixed is not None,
        audit=audit,
        policy=public,
        versions=" · ".join(["distpriv " + document["distpriv"], *map(" ".join, document["versions"].items())]),
    )


def _statistics(planned: PlannedPolicy, release: Release, document: Mapping[str, Any]) -> list[ShownStatistic]:
    statistics = {number.name: number.statistic for number in planned.policy.query().numbers}
    records = planned.policy.records
    cells = {name for key, each in planned.policy.query().tables for name in each.names(key)}
    widths = dict(zip(release.mechanism.statistics, release.mechanism.noise.half_widths.tolist(), strict=True))
    estimates = display_values(release.estimates, planned.policy.query(), records)
    shown = []
    for name, (low, high) in release.intervals.items():
        if name in cells:
            continue
        ends = release.estimate_intervals[name]
        near = (ends[1] - ends[0]) / 2
        statistic = statistics[name]
        noisy = display_interval((low, high), statistic, records)
        around = display_interval(ends, statistic, records)
        known = statistic.displayed(release.public_means[name], records)
        shown.append(
            ShownStatistic(
                name=name,
                what=statistic.text,
                noisy=_with_interval(document["display"][name], noisy, widths[name]),
                estimate=_with_interval(estimates[name], around, near),
                public=display_text(known, release.public_errors[name]),
            )
        )
    return shown


def _with_interval(value: float, ends: tuple[float, float], half_width: float) -> tuple[str, str]:
    low, high = (display_text(end, half_width) for end in ends)
    return display_text(value, half_width), f"{low} to {high}"


def asked(policy: Policy, table: str, target: PrivacyTarget) -> Asked:
    """Return what a table of a policy asks for in its own terms; the ledger's are those of [privacy] if it has none."""
    written = policy.written
    given = written.ledger if table == "ledger" and written.ledger.has_target else written.privacy
    accuracy = given.max_attack_accuracy
    same = accuracy is not None and abs(target.attack_accuracy_ceiling - accuracy) < SAME
    return Asked(target=target, accuracy=accuracy if same else None)
