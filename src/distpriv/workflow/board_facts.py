"""What the page for a board says of a release, computed once from its plan and its bundle."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from distpriv.auditing.report import AuditReport
from distpriv.framework.arrays import Floats
from distpriv.guarantees.exact_delta import privacy_profile
from distpriv.guarantees.upper_bound import delta_upper_bound
from distpriv.modelling.model import QueryModel
from distpriv.noise.laws import NoiseLaw, NoNoise
from distpriv.planning.plan import Plan
from distpriv.releasing.release import Release
from distpriv.report.board import BoardFacts, ShownStatistic
from distpriv.report.protection import Protection
from distpriv.workflow.display import display_text, display_values
from distpriv.workflow.plan_policy import PlannedPolicy

__all__ = ["board_facts"]

POINTS = 9
"""Of the privacy curve; a bound for Laplace noise takes its time."""


def board_facts(
    planned: PlannedPolicy,
    release: Release,
    model: QueryModel,
    document: Mapping[str, Any],
    public: str,
    audit: AuditReport | None,
) -> BoardFacts:
    """Return what the page says."""
    epsilons = np.linspace(0.0, max(2 * planned.policy.target.epsilon, 1.0), POINTS)
    return BoardFacts(
        dataset=planned.policy.dataset,
        records=planned.policy.records,
        release=release,
        plan=planned.plan,
        statistics=_statistics(planned, release, document),
        public_error=_together(planned.plan, release.public_errors),
        estimate_error=_together(planned.plan, release.estimate_errors),
        hidden=[secret.in_words for secret in planned.policy.secrets()],
        protection=Protection.of(document),
        epsilons=epsilons,
        deltas_without=_profile(model, NoNoise(dimension=model.dimension), epsilons),
        deltas_with=_profile(model, release.mechanism.noise, epsilons),
        audit=audit,
        policy=public,
        versions=" · ".join(["distpriv " + document["distpriv"], *map(" ".join, document["versions"].items())]),
    )


def _statistics(planned: PlannedPolicy, release: Release, document: Mapping[str, Any]) -> list[ShownStatistic]:
    asked = {number.name: number.statistic for number in planned.policy.query().numbers}
    widths = dict(zip(release.mechanism.statistics, release.mechanism.noise.half_widths.tolist(), strict=True))
    estimates = display_values(release.estimates, planned.policy.query(), planned.policy.records)
    shown = []
    for name, (low, high) in release.intervals.items():
        ends = release.estimate_intervals[name]
        near = (ends[1] - ends[0]) / 2
        shown.append(
            ShownStatistic(
                name=name,
                what=asked[name].text,
                shown=display_text(document["display"][name], widths[name]),
                low=display_text(float(low), widths[name]),
                high=display_text(float(high), widths[name]),
                estimate=display_text(estimates[name], near),
                estimate_low=display_text(ends[0], near),
                estimate_high=display_text(ends[1], near),
                public=display_text(release.public_means[name], release.public_errors[name]),
            )
        )
    return shown


def _together(plan: Plan, errors: Mapping[str, float]) -> float:
    """Return the error of all numbers together, weighted as the plan weighs them."""
    each = np.array([errors[name] for name in plan.model.names])
    return float(np.sqrt(plan.weights @ each**2))


def _profile(model: QueryModel, noise: NoiseLaw, epsilons: Floats) -> Floats:
    if noise.is_gaussian:
        return privacy_profile(model, noise, epsilons)
    return np.array([delta_upper_bound(model, noise, epsilon=float(epsilon)) for epsilon in epsilons])
