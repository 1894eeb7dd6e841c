"""What it cost, and what else was possible: all ways to add noise side by side, and why the others were not taken."""

from collections.abc import Iterable

from distpriv.planning.option import Option, Refusal, Skipped
from distpriv.planning.plan import Plan
from distpriv.planning.table import hardly_worth
from distpriv.report.board.facts import BoardFacts
from distpriv.report.figures import Axis, Bar, dots
from distpriv.report.page import Block, Bullets, Cell, Figure, Prose, Section, Table
from distpriv.report.protection import percent_at_most

__all__ = ["option_blocks", "options_section"]

MOST_DOTS = 12
PUBLIC = "public mean, no release"


def options_section(facts: BoardFacts) -> Section:
    """Return the section."""
    plan = facts.plan
    return Section("What it cost, and what else was possible", Prose(_why(facts)), *option_blocks(plan, facts.about))


def option_blocks(plan: Plan, about: str = "") -> list[Block]:
    """Return all ways side by side, as a picture and a table, and why others were not tried or do not apply."""
    blocks: list[Block] = []
    if (warning := hardly_worth(plan)) is not None:
        blocks.append(Prose(warning))
    if plan.options:
        blocks += [*_errors(plan), _side_by_side(plan, about)]
    blocks += _grouped("was not tried", "were not tried", plan.skipped)
    blocks += _grouped("does not apply", "do not apply", plan.refusals)
    return blocks or [Prose("No way to add noise was tried.")]


def _why(facts: BoardFacts) -> str:
    """Return why this noise was used: as the best of all, or since it was fixed before."""
    plan, used = facts.plan, facts.release.mechanism.name
    least = "estimates have the least error" if plan.objective == "estimate" else "noise is least"
    worth = "What a release is worth is what it adds to the public mean, which can be printed without it."
    if facts.fixed:
        return (
            f"Published with {used}, whose noise is fixed since the question was declared or answered: below is what "
            f"could be planned today. {worth}"
        )
    return (
        f"Published with {used}. Of all ways to add noise that keep the target at trust {plan.trust}, the one whose "
        f"{least} is taken. {worth}"
    )


def _errors(plan: Plan) -> Iterable[Figure]:
    """Return the errors on a logarithmic axis; what has none cannot be on it, and is in the table."""
    every = [Bar(PUBLIC, plan.public_error, f"{plan.public_error:.3g}")] + [
        Bar(
            f"{option.name}, the choice" if option is plan.chosen else option.name,
            option.estimate_error,
            f"{option.estimate_error:.3g}",
            holds=option.may_be_used(plan.trust),
            chosen=option is plan.chosen,
        )
        for option in plan.options[: MOST_DOTS - 1]
    ]
    shown = [bar for bar in every if bar.value > 0]
    if not shown:
        return []
    return [
        dots(
            "errors",
            shown,
            x=Axis(
                "error of the estimates: root mean square over all numbers, logarithmic",
                unit="their own units, weighted as asked",
                log=True,
            ),
            rows="way to add noise",
            legend="error of the estimates after one release",
            hollow=f"hollow: does not keep the target at trust {plan.trust}",
            caption="How far off the estimates would be with each way, and without a release.",
            alt="; ".join(f"{bar.name}: {bar.value:.3g}" for bar in shown),
        )
    ]


def _side_by_side(plan: Plan, about: str) -> Table:
    public: list[Cell | str] = [PUBLIC, "", f"{plan.public_error:.4g}", "0%", "0", Cell("yes", "good"), "", "50 %"]
    bare = plan.undefended_attack_accuracy
    ceilings = any(option.attack_accuracy > bare for option in plan.options)
    note = (
        f" A ceiling is what the certified ε and δ allow, whatever the statistics' law is, and is above the "
        f"{percent_at_most(bare)} that the model gives without noise: it is no figure of an attacker."
    )
    return Table(
        header=[
            "way to add noise",
            "noise",
            "estimates",
            "information",
            "δ at this ε",
            "keeps the target",
            "trust",
            f"attacker at most{about}",
        ],
        rows=[public, *(_option_row(option, plan) for option in plan.options)],
        align="lrrrrclr",
        caption=f"All ways side by side, for ε = {plan.target.epsilon:g} and δ = {plan.target.delta:g} at trust "
        f"{plan.trust}, which was asked for." + (note if ceilings else ""),
        chosen=next((k for k, option in enumerate(plan.options, start=1) if option is plan.chosen), None),
    )


def _option_row(option: Option, plan: Plan) -> list[Cell | str]:
    certificate = option.mechanism.certificate
    most = percent_at_most(option.attack_accuracy)
    return [
        option.name,
        f"{option.error:.4g}",
        f"{option.estimate_error:.4g}",
        f"{option.information:.0%}",
        f"{'≤ ' if option.delta_is == 'bound' and certificate.delta else ''}{certificate.delta:.2g}",
        _keeps(option, plan),
        certificate.trust,
        f"{most} (ceiling)" if option.attack_accuracy > plan.undefended_attack_accuracy else most,
    ]


def _keeps(option: Option, plan: Plan) -> Cell:
    """Return whether an option could have been taken, and if not why."""
    certificate = option.mechanism.certificate
    if option.may_be_used(plan.trust):
        return Cell("yes", "good")
    if certificate.holds_at(plan.trust):
        return Cell("yes, but errors are too large", "fails")
    return Cell(f"no, only at trust {certificate.trust}" if certificate.holds else "no", "fails")


def _grouped(one: str, several: str, found: Iterable[Skipped | Refusal]) -> list[Block]:
    """Return names and reasons, those with the same reason together."""
    by_reason: dict[str, list[str]] = {}
    for each in found:
        by_reason.setdefault(each.reason, []).append(each.name)
    lines = [f"{_listed(names)} {one if len(names) == 1 else several}: {reason}" for reason, names in by_reason.items()]
    return [Bullets(*lines)] if lines else []


def _listed(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
