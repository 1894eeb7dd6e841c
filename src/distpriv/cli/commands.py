"""What each command prints: a table or sentences for people, or one JSON document; progress goes to standard error."""

import json as json_format
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import typer
from rich.console import Console

from distpriv.auditing.report import AuditReport
from distpriv.bundle import Verdict
from distpriv.bundle.write import Bundle
from distpriv.cli.bars import progress_bars
from distpriv.cli.manner import MANNER
from distpriv.framework.secrets import taken_shares
from distpriv.policy.draft import WrittenPolicy
from distpriv.progress import Progress
from distpriv.report.protection import Protection, percent_at_most
from distpriv.workflow.ledgers import LedgerListing
from distpriv.workflow.plan_policy import PlannedPolicy

__all__ = [
    "reported",
    "show_audit",
    "show_bundle",
    "show_example",
    "show_exported",
    "show_ledger",
    "show_plan",
    "show_studio",
    "show_verdict",
    "show_written",
]

DONE, REFUSED = 0, 1
Found = TypeVar("Found")


def reported(work: Callable[[Progress], Found]) -> Found:
    """Do the work with bars on standard error that are gone when it is done."""
    with progress_bars(Console(stderr=True)) as progress:
        return work(progress)


def show_written(written: WrittenPolicy, *, json: bool) -> None:
    """Say where the first policy is, and what is not in it."""
    path = written.path
    left_out = [f"left out: {column.name} ({column.why})" for column in written.left_out]
    text = "\n".join([f"wrote {path}: change what says DECIDE, then run distpriv plan {path}", *left_out])
    document = {"policy": str(path), "left_out": {column.name: column.why for column in written.left_out}}
    _show(document, text, json=json)


def show_exported(written: Path, *, json: bool) -> None:
    """Say where the export is."""
    _show({"exported": str(written)}, f"wrote {written}", json=json)


def show_plan(planned: PlannedPolicy, *, json: bool) -> int:
    """Print the plan; without a mechanism that holds it is refused."""
    answered = None if planned.answered is None else planned.answered.position
    lines = [str(planned.plan), *taken_shares(planned.policy.secrets(), planned.policy.records)]
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


def show_studio(policy: str | None, *, port: int, open_browser: bool) -> None:
    """Serve the local page until it is interrupted, and say where it is."""
    from distpriv.studio.serving import serve

    def say(link: str) -> None:
        typer.echo(f"studio: {link}\nThe link works once, on this machine alone; Ctrl+C ends the studio.")

    serve(policy, port=port, open_browser=open_browser, say=say)


def show_example(files: Mapping[str, str], *, json: bool) -> None:
    """Say what was written, and what to do next."""
    wrote = [f"wrote {name}: {what}" for name, what in files.items()]
    steps = [
        ("distpriv plan policy.toml", "every way to add noise, and what each costs; nothing private is looked at"),
        ("distpriv ledger policy.toml --create", "once: it remembers what has been released"),
        ("distpriv release policy.toml --out bundle", "answer the query, and write a page with the evidence"),
    ]
    width = max(len(command) for command, _ in steps)
    text = "\n".join([*wrote, "", "Next:", *(f"  {command.ljust(width)}  # {why}" for command, why in steps)])
    _show({"files": list(files), "next": [command for command, _ in steps]}, text, json=json)


def _show(document: dict[str, Any], text: str, *, json: bool) -> None:
    if MANNER.get() == "quiet" and not json:
        return
    typer.echo(json_format.dumps(document, ensure_ascii=False, indent=2, allow_nan=False) if json else text)
