"""What the page for a board says of a release, computed once from its plan and its bundle."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from distpriv.auditing.report import AuditReport
from distpriv.framework.arrays import Floats
from distpriv.framework.secrets import taken_shares
from distpriv.framework.target import PrivacyTarget
from distpriv.guarantees.attack_accuracy import undefended_attack_accuracy
from distpriv.guarantees.exact_delta import privacy_profile
from distpriv.guarantees.upper_bound import delta_upper_bound
from distpriv.modelling.model import QueryModel
from distpriv.modelling.telling_curves import telling_curves
from distpriv.noise.laws import NoiseLaw, NoNoise
from distpriv.planning.plan import Plan
from distpriv.releasing.release import Release
from distpriv.report.board import Asked, BoardFacts, ShownStatistic
from distpriv.report.protection import Protection
from distpriv.workflow.bundle import bundled_tables
from distpriv.workflow.display import display_interval, display_text, display_values
from distpriv.workflow.plan_policy import PlannedPolicy
from distpriv.workflow.policy import Policy

__all__ = ["board_facts"]

POINTS = 9
"""Of the privacy curve; a bound for Laplace noise takes its time."""


SAME = 1e-9
"""How far the accuracy that a certificate's target allows may be off the one that a policy names, by rounding."""


def board_facts(
    planned: PlannedPolicy,
    release: Release,
    model: QueryModel,
    document: Mapping[str, Any],
    public: str,
    audit: AuditReport | None,
) -> BoardFacts:
    """Return what the page says."""
    policy = planned.policy
    epsilons = np.linspace(0.0, max(2 * planned.policy.target.epsilon, 1.0), POINTS)
    return BoardFacts(
        title=policy.question.title,
        dataset=policy.dataset,
        records=policy.records,
        release=release,
        plan=planned.plan,
        asked=asked(policy, "privacy", release.certificate.target),
        total=asked(policy, "ledger", release.joint.target if release.joint is not None else policy.ledger.total),
        statistics=_statistics(planned, release, document),
        tables=bundled_tables(document, planned.policy.query()),
        public_error=_together(planned.plan, release.public_errors),
        estimate_error=_together(planned.plan, release.estimate_errors),
        hidden=[*(secret.in_words for secret in policy.secrets()), *taken_shares(policy.secrets(), policy.records)],
        protection=Protection.of(document),
        undefended_together=_undefended_together(release, model),
        fixed=planned.fixed is not None,
        curves=telling_curves(model, release.mechanism.noise),
        epsilons=epsilons,
        deltas_without=_profile(model, NoNoise(dimension=model.dimension), epsilons),
        deltas_with=_profile(model, release.mechanism.noise, epsilons),
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
                shown=display_text(document["display"][name], widths[name]),
                low=display_text(noisy[0], widths[name]),
                high=display_text(noisy[1], widths[name]),
                estimate=display_text(estimates[name], near),
                estimate_low=display_text(around[0], near),
                estimate_high=display_text(around[1], near),
                public=display_text(known, release.public_errors[name]),
            )
        )
    return shown


def asked(policy: Policy, table: str, target: PrivacyTarget) -> Asked:
    """Return what a table of a policy asks for in its own terms; the ledger's are those of [privacy] if it has none."""
    documents = [policy.file.document.get(name, {}) for name in (table, "privacy")]
    given: Mapping[str, Any] = next(
        (each for each in documents if set(each) & {"epsilon", "delta", "max_attack_accuracy"}), {}
    )
    accuracy = given.get("max_attack_accuracy")
    same = accuracy is not None and abs(target.attack_accuracy_ceiling - accuracy) < SAME
    return Asked(target=target, accuracy=accuracy if same else None)


def _undefended_together(release: Release, model: QueryModel) -> float | None:
    """Return how often the best attacker would be right about all releases without noise, where they are modelled."""
    if release.earlier is None or not release.earlier.releases:
        return None
    return undefended_attack_accuracy(release.earlier.stack(model))


def _together(plan: Plan, errors: Mapping[str, float]) -> float:
    """Return the error of all numbers together, weighted as the plan weighs them."""
    each = np.array([errors[name] for name in plan.model.names])
    return float(np.sqrt(plan.weights @ each**2))


def _profile(model: QueryModel, noise: NoiseLaw, epsilons: Floats) -> Floats:
    if noise.is_gaussian:
        return privacy_profile(model, noise, epsilons)
    return np.array([delta_upper_bound(model, noise, epsilon=float(epsilon)) for epsilon in epsilons])
