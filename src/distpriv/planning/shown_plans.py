"""A plan in a notebook: as a small page, as rows of a frame, and as a picture."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from distpriv.framework.html import details, html_table, paragraph, shown
from distpriv.planning.option import Option
from distpriv.planning.table import hardly_worth, summary

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from distpriv.planning.plan import Plan

__all__ = ["COLUMNS", "plan_axes", "plan_html", "plan_rows"]

COLUMNS = ("mechanism", "noise", "estimate", "information", "delta", "keeps_target", "trust", "attacker", "chosen")
CHOSEN, HELD, OTHER, MUTED = "#009e73", "#0072b2", "#d55e00", "#888888"


def plan_rows(plan: Plan) -> list[dict[str, Any]]:
    """Return a row for every option: its errors, and whether it could be taken."""
    return [
        {
            "mechanism": found.name,
            "noise": found.error,
            "estimate": found.estimate_error,
            "information": found.information,
            "delta": found.mechanism.certificate.delta,
            "keeps_target": found.may_be_used(plan.trust),
            "trust": found.mechanism.certificate.trust,
            "attacker": found.attack_accuracy,
            "chosen": found is plan.chosen,
        }
        for found in plan.options
    ]


def plan_html(plan: Plan) -> str:
    """Return the plan for a notebook: what was chosen, all options, and folded below why the others were not tried."""
    first, *rest = summary(plan)
    header = ["mechanism", "noise", "estimate", "information", "δ at this ε", "keeps the target", "trust", "attacker"]
    public = ["public mean", "", f"{plan.public_error:.4g}", "0 %", "0", "yes", "", "50 %"]
    chosen = next((k for k, found in enumerate(plan.options, start=1) if found is plan.chosen), None)
    warning = hardly_worth(plan)
    return shown(
        paragraph(first, strong=True),
        *(paragraph(line) for line in rest),
        html_table(
            "Root mean square errors over all statistics", header,
            [public, *(_cells(plan, found) for found in plan.options)], chosen=chosen,
        ),
        "" if warning is None else paragraph(warning),
        details("does not apply", [f"{each.name}: {each.reason}" for each in plan.refusals]),
        details("not tried (all=True tries every mechanism)", [f"{each.name}: {each.reason}" for each in plan.skipped]),
    )  # fmt: skip


def _cells(plan: Plan, found: Option) -> list[str]:
    certificate, ceiling = found.mechanism.certificate, found.attack_accuracy > plan.undefended_attack_accuracy
    bound = "≤ " if found.delta_is == "bound" and certificate.delta else ""
    return [
        found.name,
        f"{found.error:.4g}",
        f"{found.estimate_error:.4g}",
        f"{100 * found.information:.0f} %",
        f"{bound}{certificate.delta:.2g}",
        "yes" if found.may_be_used(plan.trust) else "no",
        certificate.trust,
        f"≤ {100 * found.attack_accuracy:.1f} %{' (ceiling)' if ceiling else ''}",
    ]


def plan_axes(plan: Plan, axes: Axes | None) -> Axes:
    """Draw the error of every option's estimates beside that of the public mean, on a logarithmic axis."""
    if axes is None:
        from matplotlib import pyplot as plt

        _, axes = plt.subplots(figsize=(7.0, 1.1 + 0.32 * (len(plan.options) + 1)), layout="constrained")
    found = [option for option in plan.options if option.estimate_error > 0]
    axes.axvline(plan.public_error, color=MUTED, linestyle="--", linewidth=1.2, label="public mean, no release")
    for label, marker, colour, those in (
        ("the choice", "D", CHOSEN, [o for o in found if o is plan.chosen]),
        ("keeps the target", "o", HELD, [o for o in found if o.may_be_used(plan.trust) and o is not plan.chosen]),
        ("does not", "s", OTHER, [o for o in found if not o.may_be_used(plan.trust)]),
    ):
        if those:
            face = "none" if label == "does not" else colour
            axes.plot(
                [o.estimate_error for o in those], [o.name for o in those],
                marker, color=colour, markerfacecolor=face, label=label,
            )  # fmt: skip
    axes.margins(y=0.12)
    axes.set(xscale="log", xlabel="error of the estimates, root mean square over all statistics")
    axes.set_title(f"ε = {plan.target.epsilon:g}, δ = {plan.target.delta:g}, trust {plan.trust}")
    axes.xaxis.set_major_formatter("{x:g}")
    axes.xaxis.set_minor_formatter("{x:g}")
    axes.invert_yaxis()
    axes.legend(frameon=False, fontsize="small")
    return axes
