"""From a policy to an audit: the mechanism that was released, or would be, under attack."""

from distpriv.auditing.audit import audit
from distpriv.auditing.report import AuditReport
from distpriv.guarantees.mechanism import AdditiveMechanism
from distpriv.progress import Progress, silent
from distpriv.releasing.release import in_order_of
from distpriv.workflow.plan_policy import PlannedPolicy, plan_policy

__all__ = ["audit_planned", "audit_policy"]


def audit_policy(
    path: str, *, only: str | None = None, releases: int = 100_000, seed: int = 0, progress: Progress = silent
) -> AuditReport:
    """Attack what a policy releases, or one of several releases; the private table is not looked at."""
    return audit_planned(plan_policy(path, progress, only=only), releases=releases, seed=seed, progress=progress)


def audit_planned(
    planned: PlannedPolicy,
    released: AdditiveMechanism | None = None,
    *,
    releases: int = 100_000,
    seed: int = 0,
    progress: Progress = silent,
) -> AuditReport:
    """Attack what has been released by a plan, or would be."""
    mechanism, model = (released, in_order_of(released, planned.plan.model)) if released else planned.mechanism()
    return audit(mechanism, model=model, releases=releases, seed=seed, progress=progress)
