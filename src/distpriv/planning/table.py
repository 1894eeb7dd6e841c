"""A plan as a table that a curator can read."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import fill
from typing import TYPE_CHECKING

import numpy as np

from distpriv.distances.gaussian import analytic_radius
from distpriv.framework.target import PrivacyTarget
from distpriv.guarantees.attack_accuracy import certified_ceiling
from distpriv.guarantees.evidence_text import sentence
from distpriv.guarantees.masked_directions import masked_evidence
from distpriv.modelling.public_knowledge import HALF_WIDTH
from distpriv.modelling.utility import utility_weights
from distpriv.planning.option import Option

if TYPE_CHECKING:
    from distpriv.planning.plan import Plan

__all__ = ["HARDLY", "errors_are", "gaussian_price", "hardly_worth", "plan_table", "summary"]

WIDTH = 100

HARDLY = 0.1
"""A release that removes less than this share of the public uncertainty is hardly worth making."""


def plan_table(plan: Plan) -> str:
    """Return the plan in words, its mechanisms line by line, and the chosen one's error for each statistic."""
    refusals = _listed("does not apply:", [(refusal.name, refusal.reason) for refusal in plan.refusals])
    warning = hardly_worth(plan)
    told = "\n".join([*summary(plan), *([] if warning is None else [fill(warning, WIDTH)])])
    return "\n\n".join([told, _options(plan), *_statistics(plan), *refusals, *_skipped(plan)])


def hardly_worth(plan: Plan) -> str | None:
    """Return what to say, and what would help, where the best estimates are hardly better than the public mean."""
    chosen = plan.chosen
    if chosen is None or chosen.information >= HARDLY or plan.public_error == 0:
        return None
    return (
        f"With noise this wide the estimates are hardly better than the public mean, which can be printed without a "
        f"release: they remove {chosen.information:.1%} of its uncertainty. A larger ε or δ, statistics that say less "
        "of the secret, or protected values that are closer to each other would help."
    )


def summary(plan: Plan) -> list[str]:
    """Return what was asked for and chosen, and what an attacker gets, a line each."""
    wanted = f"ε = {plan.target.epsilon:g}, δ = {plan.target.delta:g}, assurance {plan.assurance!r}"
    before = f"{plan.undefended_attack_accuracy:.1%}"
    chosen = plan.chosen
    if chosen is None:
        held = plan.nearest
        why = "no mechanism holds." if held is None else "no mechanism that holds has errors as small as asked for."
        limits = [] if held is None else [fill(_limits(plan, held), WIDTH)]
        bare = f"Without noise the best attacker is right {before} of the time."
        return [f"{wanted}: {why}", *limits, *_price_of_ball(plan), bare]
    after = f"{chosen.attack_accuracy:.1%}"
    told = f"The best attacker is right {before} of the time without noise, and at most {after} with it."
    certified = certified_ceiling(chosen.mechanism.certificate)
    if chosen.attack_accuracy == plan.undefended_attack_accuracy < certified:
        told = (
            f"The best attacker is right {before} of the time if the statistics vary as modelled, noise or none; "
            f"whatever they are, no more than {certified:.1%} is certified."
        )
    lines = [f"{wanted}: {chosen.name}", told, *_price_of_ball(plan)]
    if plan.at_floor:
        lines.append("Noise is at its floor, as the statistics' own randomness hides the secret already.")
    if plan.out_of_time:
        lines.append("Time ran out: this is the best found until then, and seconds=… gives it more.")
    directions = masked_evidence(plan.model, chosen.mechanism.noise.covariance)
    if directions.facts["masked"]:
        lines.append(fill(f"{sentence(directions).replace('released', 'Released', 1)}.", WIDTH))
    return lines


def gaussian_price(target: PrivacyTarget, left: PrivacyTarget) -> float:
    """Return how many times as wide Gaussian noise, and what varies anyway, have to be for a smaller target.

    >>> from distpriv.framework.target import PrivacyTarget
    >>> one, other = PrivacyTarget(epsilon=1, delta=0.01), PrivacyTarget(epsilon=0.9, delta=0.006)
    >>> round(gaussian_price(one, other), 3), gaussian_price(one, one)
    (1.179, 1.0)
    """
    return analytic_radius(target.epsilon, target.delta) / analytic_radius(left.epsilon, left.delta)


def errors_are(plan: Plan) -> str:
    """Say what errors over all statistics are counted in; nothing where it is the units of the statistics."""
    if (plan.weights == 1).all():
        return ""
    relative = utility_weights(plan.model, prior=plan.public.prior)
    return ", in public standard deviations" if np.allclose(plan.weights, relative, atol=0) else ", weighted"


def _price_of_ball(plan: Plan) -> list[str]:
    """Say what it costs that records may be within a relative entropy of the reference; nothing where they may not."""
    radius = plan.model.provenance.drawing.robust
    if radius is None:
        return []
    left = plan.made_for
    return [
        fill(
            f"Records may be within a relative entropy of {radius:g} of the reference (robust). For the reference "
            f"itself noise is made to have ε = {left.epsilon:.4g}, δ = {left.delta:.3g}: a deviation about "
            f"{gaussian_price(plan.target, left) - 1:.1%} larger, what varies anyway included.",
            WIDTH,
        )
    ]


def _limits(plan: Plan, held: Option) -> str:
    """Say which errors of the best mechanism are larger than allowed."""
    errors = plan.criterion.errors(held.mechanism.noise.covariance)
    over = [f"{name} {errors[name]:.3g} where {plan.max_errors[name]:g} is allowed" for name in held.too_large]
    return f"The errors of {held.name} are too large: {', '.join(over)}."


def _options(plan: Plan) -> str:
    head = ("  mechanism", "noise", "estimate", "information", "δ at this ε", "holds", "assurance", "attacker")
    public = ("  public mean", "", f"{plan.public_error:.4g}", "0.0%", "0", "", "", "50.0% ")
    lines = _aligned([head, public, *(_row(plan, found) for found in plan.options)], left=(0, 5, 6))
    weighted = errors_are(plan)
    notes = [
        f"noise, estimate: root mean square error over all statistics{weighted}, of the noisy values and of the "
        "estimates made from them and the public mean. information: the share of the public uncertainty that is "
        "removed. attacker: how often the best is right."
    ]
    if any(found.mechanism.certificate.assurance == "assumed" for found in plan.options):
        notes.append("* only if what is assumed were true; noise that leaves directions bare can be taken off.")
    return "\n".join([*lines, *(fill(note, WIDTH) for note in notes)])


def _row(plan: Plan, found: Option) -> tuple[str, ...]:
    certificate = found.mechanism.certificate
    bound = "≤ " if found.delta_is == "bound" and certificate.delta else ""
    return (
        ("> " if found is plan.chosen else "  ") + found.name,
        f"{found.error:.4g}",
        f"{found.estimate_error:.4g}",
        f"{found.information:.1%}",
        f"{bound}{certificate.delta:.2g}",
        "yes" if certificate.holds else "NO",
        certificate.assurance,
        f"≤ {found.attack_accuracy:.1%}" + ("*" if certificate.assurance == "assumed" else " "),
    )


def _statistics(plan: Plan) -> list[str]:
    if plan.chosen is None:
        return []
    noise = plan.chosen.mechanism.noise.half_widths
    rows = [("  in 95 % of releases within", "noise", "estimate", "public mean")]
    for name, half in zip(plan.model.names, noise, strict=True):
        estimate, public = plan.chosen.estimate_errors[name], plan.public_errors[name]
        rows.append((f"  {name}", f"± {half:.3g}", f"± {HALF_WIDTH * estimate:.3g}", f"± {HALF_WIDTH * public:.3g}"))
    return ["\n".join(_aligned(rows, left=(0,)))]


def _aligned(rows: Sequence[tuple[str, ...]], left: tuple[int, ...]) -> list[str]:
    widths = [max(len(row[k]) for row in rows) for k in range(len(rows[0]))]
    return [
        "  ".join(
            cell.ljust(w) if k in left else cell.rjust(w) for k, (cell, w) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]


def _skipped(plan: Plan) -> list[str]:
    """Return what was not tried, mechanisms with one reason together."""
    by_reason: dict[str, list[str]] = {}
    for skipped in plan.skipped:
        if not skipped.long:
            by_reason.setdefault(skipped.reason, []).append(skipped.name)
    title = "not tried, since it would not have been chosen (all=True tries every mechanism):"
    long = _listed("not tried, since it takes long:", [(each.name, each.reason) for each in plan.skipped if each.long])
    return long + _listed(title, [(", ".join(names), reason) for reason, names in by_reason.items()])


def _listed(title: str, reasons: list[tuple[str, str]]) -> list[str]:
    """Return a title with names and reasons below it; nothing where there are none."""
    lines = [
        fill(f"{names}: {reason}", WIDTH, initial_indent="  ", subsequent_indent="    ") for names, reason in reasons
    ]
    return ["\n".join([title, *lines])] if lines else []
