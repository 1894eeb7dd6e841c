"""What each command prints: a table or sentences for people, or one JSON document; progress goes to standard error."""

import json as json_format
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import typer
from rich.console import Console

from distpriv.auditing.report import AuditReport
from distpriv.cli.bars import progress_bars
from distpriv.progress import Progress
from distpriv.report.protection import Protection, percent_at_most
from distpriv.workflow.bundle import Bundle
from distpriv.workflow.ledgers import LedgerListing
from distpriv.workflow.plan_policy import PlannedPolicy
from distpriv.workflow.verifying import Verdict

__all__ = ["reported", "show_audit", "show_bundle", "show_ledger", "show_plan", "show_verdict", "show_written"]

DONE, REFUSED = 0, 1
Found = TypeVar("Found")


def reported(work: Callable[[Progress], Found]) -> Found:
    """Do the work with bars on standard error that are gone when it is done."""
    with progress_bars(Console(stderr=True)) as progress:
        return work(progress)


def show_written(path: Path, *, json: bool) -> None:
    """Say where the first policy is."""
    _show({"policy": str(path)}, f"wrote {path}: change what says DECIDE, then run distpriv plan {path}", json=json)


def show_plan(planned: PlannedPolicy, *, json: bool) -> int:
    """Print the plan; without a mechanism that holds it is refused."""
    answered = None if planned.answered is None else planned.answered.position
    lines = [str(planned.plan)]
    others = len(planned.rest.releases)
    if others and planned.fixed is None:
        lines.append(f"Noise is as wide as it takes together with {others} other question{'' if others == 1 else 's'}.")
    if others:
        most = percent_at_most(planned.policy.ledger.total.attack_accuracy_ceiling)
        lines.append(
            "What is said of attackers here is about this release alone; the total allows "
            f"{most} at most from all of them together."
        )
    if planned.fixed is not None and answered is None:
        lines.append("This question was declared, and release would use the noise that was fixed for it.")
    if answered is not None:
        lines.append(f"This was answered in release {answered}, and release would show the same answer again.")
    document = {**planned.plan.to_dict(), "earlier_releases": others, "answered_in": answered}
    _show(document, "\n\n".join(lines), json=json)
    return DONE if planned.plan.chosen is not None or planned.fixed is not None else REFUSED


def show_bundle(bundle: Bundle, *, json: bool) -> None:
    """Print what was released, what an attacker gets from it and all before it, and where its bundle is."""
    again = "shown again as it was released" if bundle.release.repeated else "released"
    promised = "\n".join(Protection.of(bundle.document).sentences)
    text = f"{bundle.release}\n\n{promised}\n\n{again}, bundle in {bundle.folder}"
    shown = {key: value for key, value in bundle.document.items() if key != "evidence"}
    _show({**shown, "repeated": bundle.release.repeated, "bundle": str(bundle.folder)}, text, json=json)


def show_audit(report: AuditReport, *, json: bool) -> int:
    """Print the audit; one that fails is refused."""
    _show(report.to_dict(), str(report), json=json)
    return REFUSED if report.failed else DONE


def show_verdict(verdict: Verdict, *, json: bool) -> int:
    """Print what was found of a bundle; what does not hold is also said on standard error."""
    _show(verdict.to_dict(), str(verdict), json=json)
    if verdict.holds:
        return DONE
    typer.echo(f"distpriv: {verdict.sentence}", err=True)
    return REFUSED


def show_ledger(listing: LedgerListing, *, json: bool) -> None:
    """Print what has been released."""
    _show(listing.to_dict(), str(listing), json=json)


def _show(document: dict[str, Any], text: str, *, json: bool) -> None:
    typer.echo(json_format.dumps(document, ensure_ascii=False, indent=2, allow_nan=False) if json else text)
