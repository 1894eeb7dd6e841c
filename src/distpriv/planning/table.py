"""A plan as a table that a curator can read."""

from __future__ import annotations

from textwrap import fill
from typing import TYPE_CHECKING

import numpy as np

from distpriv.planning.option import Option

if TYPE_CHECKING:
    from distpriv.planning.plan import Plan

__all__ = ["plan_table"]

WIDTH = 100


def plan_table(plan: Plan) -> str:
    """Return the plan in words, its mechanisms line by line, and the chosen one's error for each statistic."""
    refusals = _listed("does not apply:", [(refusal.name, refusal.reason) for refusal in plan.refusals])
    return "\n\n".join([_summary(plan), _options(plan), *_statistics(plan), *refusals, *_skipped(plan)])


def _summary(plan: Plan) -> str:
    wanted = f"ε = {plan.target.epsilon:g}, δ = {plan.target.delta:g}, trust {plan.trust!r}"
    before = f"{plan.undefended_attack_accuracy:.1%}"
    chosen = plan.chosen
    if chosen is None:
        return f"{wanted}: no mechanism holds.\nWithout noise the best attacker is right {before} of the time."
    after = f"{chosen.attack_accuracy:.1%}"
    return (
        f"{wanted}: {chosen.name}\n"
        f"The best attacker is right {before} of the time without noise, and at most {after} with it."
    )


def _options(plan: Plan) -> str:
    head = ("  mechanism", "error", "δ at this ε", "holds", "trust", "attacker")
    rows = [head, *(_row(plan, found) for found in plan.options)]
    widths = [max(len(row[k]) for row in rows) for k in range(len(head))]
    left = (0, 3, 4)
    lines = [
        "  ".join(
            cell.ljust(w) if k in left else cell.rjust(w) for k, (cell, w) in enumerate(zip(row, widths, strict=True))
        )
        for row in rows
    ]
    weighted = "" if np.ptp(plan.weights) == 0 and plan.weights[0] == 1 else ", weighted"
    notes = [f"error: root mean square over all statistics{weighted}. attacker: how often the best is right."]
    if any(found.mechanism.certificate.trust == "assumed" for found in plan.options):
        notes.append("* only if what is assumed were true; noise that leaves directions bare can be taken off.")
    return "\n".join([*(line.rstrip() for line in lines), *notes])


def _row(plan: Plan, found: Option) -> tuple[str, ...]:
    certificate = found.mechanism.certificate
    bound = "≤ " if found.delta_is == "bound" and certificate.delta else ""
    return (
        ("> " if found is plan.chosen else "  ") + found.name,
        f"{found.error:.4g}",
        f"{bound}{certificate.delta:.2g}",
        "yes" if certificate.holds else "NO",
        certificate.trust,
        f"≤ {found.attack_accuracy:.1%}" + ("*" if certificate.trust == "assumed" else " "),
    )


def _statistics(plan: Plan) -> list[str]:
    if plan.chosen is None:
        return []
    noise = plan.chosen.mechanism.noise
    width = max(map(len, plan.model.names))
    lines = [
        f"  {name.ljust(width)}  ± {half:.3g}" for name, half in zip(plan.model.names, noise.half_widths, strict=True)
    ]
    return ["\n".join(["the noise stays within these limits in 95 % of releases:", *lines])]


def _skipped(plan: Plan) -> list[str]:
    """Return what was not tried, mechanisms with one reason together."""
    by_reason: dict[str, list[str]] = {}
    for skipped in plan.skipped:
        by_reason.setdefault(skipped.reason, []).append(skipped.name)
    title = "not tried, since it would not have been chosen (all=True tries every mechanism):"
    return _listed(title, [(", ".join(names), reason) for reason, names in by_reason.items()])


def _listed(title: str, reasons: list[tuple[str, str]]) -> list[str]:
    """Return a title with names and reasons below it; nothing where there are none."""
    lines = [
        fill(f"{names}: {reason}", WIDTH, initial_indent="  ", subsequent_indent="    ") for names, reason in reasons
    ]
    return ["\n".join([title, *lines])] if lines else []
