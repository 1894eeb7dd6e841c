"""All ways to add noise side by side, and why others were not tried or do not apply."""

from collections.abc import Iterable

from distpriv.planning.option import Option, Refusal, Skipped
from distpriv.planning.plan import Plan
from distpriv.report.page import Cell, Table
from distpriv.report.protection import percent_at_most

__all__ = ["options_table", "other_ways"]

PUBLIC = "public mean, no release"


def options_table(plan: Plan, about: str = "") -> Table | None:
    """Return all options with the public mean above them; None where nothing was tried."""
    if not plan.options:
        return None
    error = f"{plan.public_error:.4g}"
    public: list[Cell | str] = [PUBLIC, "", error, "0%", "0", Cell("yes", "good"), "", "50 %"]
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
            "assurance",
            f"attacker at most{about}",
        ],
        rows=[public, *(_option_row(option, plan) for option in plan.options)],
        align="lrrrrclr",
        caption=f"All ways side by side, for ε = {plan.target.epsilon:g} and δ = {plan.target.delta:g} at assurance "
        f"{plan.assurance}, which was asked for." + (note if ceilings else ""),
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
        certificate.assurance,
        f"{most} (ceiling)" if option.attack_accuracy > plan.undefended_attack_accuracy else most,
    ]


def _keeps(option: Option, plan: Plan) -> Cell:
    """Return whether an option could have been taken, and if not why."""
    certificate = option.mechanism.certificate
    if option.may_be_used(plan.assurance):
        return Cell("yes", "good")
    if certificate.holds_at(plan.assurance):
        return Cell("yes, but errors are too large", "fails")
    return Cell(f"no, only at assurance {certificate.assurance}" if certificate.holds else "no", "fails")


def other_ways(plan: Plan) -> list[str]:
    """Return why other ways were not tried or do not apply, those with the same reason together."""
    return [
        *_grouped("was not tried", "were not tried", plan.skipped),
        *_grouped("does not apply", "do not apply", plan.refusals),
    ]


def _grouped(one: str, several: str, found: Iterable[Skipped | Refusal]) -> list[str]:
    by_reason: dict[str, list[str]] = {}
    for each in found:
        by_reason.setdefault(each.reason, []).append(each.name)
    return [f"{_listed(names)} {one if len(names) == 1 else several}: {why}" for why, names in by_reason.items()]


def _listed(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
