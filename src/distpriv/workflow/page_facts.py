"""What a release.json and its policy add to the summary of a release."""

from collections.abc import Mapping
from typing import Any

from distpriv.auditing.report import AuditReport
from distpriv.bundle.write import bundled_tables
from distpriv.framework.secrets import taken_shares
from distpriv.modelling.model import QueryModel
from distpriv.policy import Policy
from distpriv.releasing.release import Release
from distpriv.report.summary import Summary, reading, release_summary

__all__ = ["bundle_summary"]


def bundle_summary(
    policy: Policy,
    release: Release,
    document: Mapping[str, Any],
    *,
    model: QueryModel | None = None,
    public: str = "",
    audit: AuditReport | None = None,
) -> Summary:
    """Return what is told of a release that a policy asked for.

    Args:
        policy: the policy.
        release: what was released.
        document: what release.json holds.
        model: the model of its statistics, for the curves.
        public: the public part of the policy as text.
        audit: what attacks measured.
    """
    evidence, versions = document.get("evidence", {}), document["versions"].items()
    return release_summary(
        release,
        figures=document["attacker"],
        model=model,
        query=policy.query(),
        records=policy.records,
        tables=bundled_tables(document["tables"], policy.query()),
        releases=len((evidence.get("joint") or {"noises": ()})["noises"]),
        title=policy.question.title,
        hidden=[*(secret.in_words for secret in policy.secrets()), *taken_shares(policy.secrets(), policy.records)],
        readings=[reading(row) for row in evidence.get("reading") or ()],
        audit=audit,
        policy=public,
        versions=" · ".join(["distpriv " + document["distpriv"], *map(" ".join, versions)]),
    )
