"""A plan in words: a verdict, the statistics with what a release adds to public knowledge, and what limits it.

Detail 0 is what a curator needs, 1 adds the evidence and its codes, 2 every mechanism with its figures or its reason.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import erf, sqrt
from typing import TYPE_CHECKING

import numpy as np
from attrs import frozen

from distpriv.distances.gaussian import analytic_radius
from distpriv.framework.display import columns, counted, half_text, hanging, percent, percent_at_most
from distpriv.framework.target import PrivacyTarget
from distpriv.guarantees.evidence import Evidence
from distpriv.modelling.model import QueryModel
from distpriv.modelling.public_knowledge import HALF_WIDTH
from distpriv.modelling.utility import Gains, members
from distpriv.planning.option import Option, Refusal, Skipped

if TYPE_CHECKING:
    from distpriv.planning.plan import Plan

__all__ = [
    "HARDLY",
    "PlannedStatistic",
    "advice",
    "attacker_line",
    "evidence_line",
    "gain_text",
    "gaussian_price",
    "headline_gain",
    "option_rows",
    "other_mechanisms",
    "plan_gains",
    "plan_text",
    "plan_verdict",
    "planned_statistics",
    "promise_line",
]

HARDLY = 0.1
"""A release that removes less than this share of the public uncertainty is hardly worth making."""

TELLING = 0.02
"""Dropping a statistic is advised where the undefended attack accuracy falls by at least this much."""


@frozen(kw_only=True)
class PlannedStatistic:
    """One line of a plan, as it is shown: 95 % half-widths, and the uncertainty removed."""

    name: str
    estimate: str
    noise: str
    public: str
    gain: str


def plan_text(plan: Plan, detail: int = 0, *, dataset: str = "", notes: Sequence[str] = ()) -> str:
    """Return a plan as text."""
    word, facts = plan_verdict(plan)
    parts = [f"{word}  {' · '.join(filter(None, (dataset, *facts)))}", ""]
    chosen = plan.chosen
    if chosen is not None:
        shown = planned_statistics(plan)
        head = ["statistic", "estimate", "public mean", "uncertainty removed"]
        rows = [[each.name, each.estimate, each.public, each.gain] for each in shown]
        if detail:
            head, rows = [*head, "noisy value"], [[*row, s.noise] for row, s in zip(rows, shown, strict=True)]
        parts += [
            *columns([head, *rows]),
            hanging(headline_gain(plan_gains(plan))),
            hanging(f"{chosen.name} · {evidence_line(chosen.mechanism.certificate.evidence)}"),
        ]
    else:
        parts += [hanging(reason) for reason in _obstacles(plan)]
    found = advice(plan)
    parts += [hanging(line) for line in (found if detail else found[:1])]
    parts += [hanging(note) for note in (*_circumstances(plan), *notes)]
    if detail and chosen is not None:
        parts += ["", *(hanging(str(each)) for each in chosen.mechanism.certificate.evidence)]
    if detail > 1:
        parts += ["", *columns(option_rows(plan)), *(hanging(line) for line in other_mechanisms(plan))]
    return "\n".join(parts)


def plan_verdict(plan: Plan) -> tuple[str, list[str]]:
    """Return the word for a plan, and what the first line says behind it."""
    chosen = plan.chosen
    asked = promise_line(plan.target, plan.assurance)
    if chosen is None:
        held = plan.nearest
        why = "no mechanism is certified" if held is None else "errors are larger than max_error allows"
        undefended = percent_at_most(plan.undefended_attack_accuracy)
        return "NOT POSSIBLE", [why, f"undefended attack accuracy {undefended} (chance 50 %)", asked]
    removed = plan_gains(plan).mean
    little = [f"only {percent(removed)} of the public uncertainty removed"] if removed < HARDLY else []
    word = "HARDLY USEFUL" if little else "PLANNED"
    return word, [*little, attacker_line(chosen.attack_accuracy, plan.undefended_attack_accuracy), asked]


def attacker_line(at_most: float, undefended: float) -> str:
    """Return the one figure of an attacker, rounded up.

    >>> attacker_line(0.5597, 0.76)
    'attack accuracy ≤ 56 % (chance 50 %, undefended 76 %)'
    """
    before = percent_at_most(max(undefended, at_most))
    return f"attack accuracy ≤ {percent_at_most(at_most)} (chance 50 %, undefended {before})"


def promise_line(target: PrivacyTarget, assurance: str) -> str:
    """Return what is promised, for engineers."""
    return f"ε = {target.epsilon:g}, δ = {target.delta:g}, {assurance}"


def evidence_line(evidence: Iterable[Evidence]) -> str:
    """Return how much evidence there is of each kind, every code counted once."""
    counts = dict.fromkeys(("proved", "checked", "assumed"), 0)
    for _, status in dict.fromkeys((each.code, each.status) for each in evidence):
        counts[status] += 1
    return f"evidence: {', '.join(f'{number} {status}' for status, number in counts.items())} (-v)"


def plan_gains(plan: Plan) -> Gains:
    """Return what the chosen mechanism's estimates remove of the public uncertainty."""
    assert plan.chosen is not None
    return Gains.of(plan.model.query, plan.chosen.estimate_errors, plan.public_errors)


def gain_text(share: float) -> str:
    """Return the uncertainty removed from one statistic.

    >>> gain_text(0.75), gain_text(0.002), gain_text(0.0)
    ('75 %', '< 1 %', 'no gain')
    """
    return "no gain" if share < 5e-4 else percent(share)


def headline_gain(gains: Gains) -> str:
    """Return the mean uncertainty removed, with the statistic that is worst off.

    >>> headline_gain(Gains(by_statistic={"age": 0.75, "revenue": 0.0}))
    '38 % of the public uncertainty removed on average (revenue: no gain)'
    """
    least = gains.least
    tail = "" if least is None else f" on average ({least}: {gain_text(gains.by_statistic[least])})"
    return f"{percent(gains.mean)} of the public uncertainty removed{tail}"


def planned_statistics(plan: Plan) -> list[PlannedStatistic]:
    """Return the lines of a plan that has a mechanism, one for each statistic or table."""
    assert plan.chosen is not None
    noise = dict(zip(plan.chosen.mechanism.statistics, plan.chosen.mechanism.noise.half_widths.tolist(), strict=True))
    shares, query = plan_gains(plan).by_statistic, plan.model.query
    whole = {} if query is None else {n.name: isinstance(n.statistic.displayed(0.0, 1), int) for n in query.numbers}
    return [
        PlannedStatistic(
            name=key if len(names) == 1 else f"{key} ({counted(len(names), 'number')})",
            estimate=_halves(plan.chosen.estimate_errors, names, whole, HALF_WIDTH),
            noise=_halves(noise, names, whole),
            public=_halves(plan.public_errors, names, whole, HALF_WIDTH),
            gain=gain_text(shares[key]),
        )
        for key, groups in members(query, plan.model.names).items()
        if (names := [name for group in groups for name in group])
    ]


def _halves(errors: Mapping[str, float], names: Sequence[str], whole: Mapping[str, bool], factor: float = 1.0) -> str:
    """Return a half-width, or the smallest and the largest one."""
    least, most = (choice(names, key=lambda name: errors[name]) for choice in (min, max))
    low, high = (half_text(factor * errors[name], whole=whole.get(name, False)) for name in (least, most))
    return low if low == high else f"{low} to {high.removeprefix('± ')}"


def advice(plan: Plan) -> list[str]:
    """Return which statistic, cell or protected pair costs most, with numbers; nothing where none stands out.

    Accuracies are those of the normal approximation with the pooled covariance of a pair, without noise: a matter of
    linear algebra, where a plan without the statistic would take as long as this one.
    """
    model = plan.model
    pairs = model.protected_pairs[::2] if len(model.protected_pairs) > 1 else model.protected_pairs
    every = list(range(model.dimension))
    whole = {pair: _separation(model, pair, every) for pair in pairs}
    worst = max(whole.values())
    found = []
    place = {name: number for number, name in enumerate(model.names)}
    if model.dimension > 1:
        without = {
            name: max(_separation(model, pair, [k for k in every if k != place[name]]) for pair in pairs)
            for name in model.names
        }
        name = min(without, key=lambda each: without[each])
        before, after = _accuracy(worst), _accuracy(without[name])
        if before - after >= TELLING:
            found.append(
                f"{name} (without it the undefended attack accuracy falls from {percent(before)} to {percent(after)})"
            )
    ordered = sorted(whole, key=lambda pair: -whole[pair])
    if len(ordered) > 1 and _accuracy(whole[ordered[0]]) - _accuracy(whole[ordered[1]]) >= TELLING:
        first, second = (_accuracy(whole[pair]) for pair in ordered[:2])
        found.append(
            f"hardest to hide: {' against '.join(ordered[0])} (undefended {percent(first)}; without this pair "
            f"{percent(second)})"
        )
    return [f"costs most: {line}" for line in found]


def _separation(model: QueryModel, pair: tuple[str, str], places: Sequence[int]) -> float:
    """Return the Mahalanobis distance of a pair over some of the statistics, with the mean of their covariances."""
    first, second = (model.distributions[name].covariance for name in pair)
    pooled = (first + second) / 2
    shift, own = model.mean_shift(pair)[places], pooled[np.ix_(places, places)]
    along = np.linalg.lstsq(own, shift, rcond=None)[0]
    if not np.allclose(own @ along, shift, atol=1e-6 * float(np.abs(shift).max(initial=0.0))):
        return float("inf")
    return sqrt(max(float(shift @ along), 0.0))


def _accuracy(separation: float) -> float:
    return (1 + erf(separation / 2 / sqrt(2))) / 2


def gaussian_price(target: PrivacyTarget, left: PrivacyTarget) -> float:
    """Return how many times as wide Gaussian noise, and what varies anyway, have to be for a smaller target.

    >>> from distpriv.framework.target import PrivacyTarget
    >>> one, other = PrivacyTarget(epsilon=1, delta=0.01), PrivacyTarget(epsilon=0.9, delta=0.006)
    >>> round(gaussian_price(one, other), 3), gaussian_price(one, one)
    (1.179, 1.0)
    """
    return analytic_radius(target.epsilon, target.delta) / analytic_radius(left.epsilon, left.delta)


def _obstacles(plan: Plan) -> list[str]:
    """Return why nothing was chosen."""
    held = plan.nearest
    if held is None:
        if long := [each for each in plan.skipped if each.long]:
            return [f"not tried, as it takes long: {each.name}: {each.reason}" for each in long]
        tried = f"{counted(len(plan.options), 'mechanism')} tried without a certificate, "
        return [f"{tried}{counted(len(plan.refusals), 'mechanism')} not applicable (-vv says why)"]
    errors = plan.criterion.errors(held.mechanism.noise.covariance)
    over = [f"{name} {errors[name]:.3g} where {plan.max_errors[name]:g} is allowed" for name in held.too_large]
    return [f"errors of {held.name}: {', '.join(over)}"]


def _circumstances(plan: Plan) -> list[str]:
    """Return what is special about a plan, a line each."""
    found = []
    radius = plan.model.provenance.drawing.robust
    if radius is not None:
        left = plan.made_for
        found.append(
            f"robust: private records within relative entropy {radius:g} of the reference are covered; for the "
            f"reference itself ε = {left.epsilon:.4g}, δ = {left.delta:.3g}, a deviation "
            f"{gaussian_price(plan.target, left) - 1:.1%} larger"
        )
    if plan.at_floor:
        found.append("the statistics' own randomness hides the secret: noise only blurs their lattice")
    if plan.out_of_time:
        found.append("time ran out: this is the best mechanism found until then; seconds=… allows more")
    return found


def option_rows(plan: Plan) -> list[list[str]]:
    """Return every mechanism that was tried, with its figures, below a header and public knowledge."""
    head = ["mechanism", "uncertainty removed", "δ", "certified", "attack accuracy"]
    public = ["public mean, no release", "0 %", "0", "", "50 %"]
    return [head, public, *(_option_row(plan, found) for found in plan.options)]


def _option_row(plan: Plan, found: Option) -> list[str]:
    certificate = found.mechanism.certificate
    held = "yes" if found.may_be_used(plan.assurance) else "errors too large" if found.too_large else "no"
    certified = f"{held}, {certificate.assurance}"
    bound = "≤ " if found.delta_is == "bound" and certificate.delta else ""
    name = f"{found.name}{' (chosen)' if found is plan.chosen else ''}"
    return [
        name,
        percent(found.information),
        f"{bound}{certificate.delta:.2g}",
        certified,
        f"≤ {percent_at_most(found.attack_accuracy)}",
    ]


def other_mechanisms(plan: Plan) -> list[str]:
    """Return why other mechanisms do not apply or were not tried, those with the same reason together."""
    groups: tuple[tuple[str, Sequence[Refusal | Skipped]], ...] = (
        ("not applicable", plan.refusals),
        ("not tried, as it takes long", [each for each in plan.skipped if each.long]),
        ("not tried", [each for each in plan.skipped if not each.long]),
    )
    found = []
    for title, every in groups:
        by_reason: dict[str, list[str]] = {}
        for each in every:
            by_reason.setdefault(each.reason, []).append(each.name)
        found += [f"{title}: {', '.join(names)}: {reason}" for reason, names in by_reason.items()]
    return found
