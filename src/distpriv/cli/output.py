"""What each command prints: text for people, or one JSON document; progress goes to standard error."""

import json as json_format
import shlex
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import typer
from rich.console import Console

from distpriv.auditing.report import AuditReport
from distpriv.bundle import Verdict
from distpriv.bundle.write import Bundle
from distpriv.cli.elapsed import reporting
from distpriv.cli.manner import DETAIL
from distpriv.framework.display import columns, percent_at_most
from distpriv.framework.secrets import taken_shares
from distpriv.ledger import Ledger
from distpriv.planning.determined import constant_conditions, determining
from distpriv.planning.table import plan_text
from distpriv.policy.draft import WrittenPolicy
from distpriv.progress import Progress
from distpriv.report.text import release_text
from distpriv.workflow.ledgers import LedgerListing
from distpriv.workflow.plan_policy import PlannedPolicy

__all__ = [
    "reported",
    "show_audit",
    "show_bundle",
    "show_example",
    "show_explanation",
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
    """Do the work with its progress on standard error."""
    with reporting(Console(stderr=True)) as progress:
        return work(progress)


def show_written(written: WrittenPolicy, *, json: bool) -> None:
    """Say where the first policy is, and what is not in it."""
    path = str(written.path)
    text = [f"WRITTEN  {path} · edit the lines marked DECIDE", ""]
    if written.left_out:
        text += columns([["column left out", "reason"], *([c.name, c.why] for c in written.left_out)], left=(0, 1))
    document = {"policy": path, "left_out": {column.name: column.why for column in written.left_out}}
    _show(document, [*text, _next(f"distpriv plan {shlex.quote(path)}")], json=json)


def show_exported(written: Path, *, json: bool) -> None:
    """Say where the export is."""
    _show({"exported": str(written)}, [f"WRITTEN  {written}"], json=json)


def show_plan(planned: PlannedPolicy, path: str, *, json: bool) -> int:
    """Print the plan; without a mechanism that holds it is refused."""
    answered = None if planned.answered is None else planned.answered.position
    policy, others = planned.policy, len(planned.rest.releases)
    notes = taken_shares(policy.secrets(), policy.records)
    notes += [f"`{name}` determines the protected share; remove it" for name in determining(planned.plan.model)]
    constant = constant_conditions(planned.plan.model)
    notes += [f"`{name}`: {why}; correct it, or remove it" for name, why in constant.items()]
    if others:
        limit = percent_at_most(policy.ledger.total.attack_accuracy_ceiling)
        notes.append(f"composition: with {others} earlier or declared releases, all together limited to {limit}")
    if answered is not None:
        notes.append(f"answered before: release would show release {answered} again")
    elif planned.fixed is not None:
        notes.append("declared before: release would use the noise that was fixed then")
    possible = planned.plan.chosen is not None or planned.fixed is not None
    text = [plan_text(planned.plan, DETAIL.get(), dataset=policy.dataset, notes=notes)]
    name, url = shlex.quote(path), policy.ledger.url
    missing = url is not None and not policy.ledger.create and not Ledger.exists(url)
    steps = [f"distpriv ledger {name} --create"] * missing + [f"distpriv release {name} --out bundle"]
    text.append(_next(*steps) if possible else "  next: raise epsilon, delta or max_attack_accuracy, or ask for less")
    _show({**planned.plan.to_dict(), "earlier_releases": others, "answered_in": answered}, text, json=json)
    return DONE if possible else REFUSED


def show_bundle(bundle: Bundle, *, json: bool) -> None:
    """Print what was released, what an attacker gets from it and all before it, and where its bundle is."""
    folder = shlex.quote(_near(bundle.folder))
    text = [release_text(bundle.summary, DETAIL.get()), f"  next: open {folder}/report.html · distpriv verify {folder}"]
    shown = {key: value for key, value in bundle.document.items() if key != "evidence"}
    _show({**shown, "repeated": bundle.release.repeated, "bundle": str(bundle.folder)}, text, json=json)


def show_audit(report: AuditReport, *, json: bool) -> int:
    """Print the audit; one that fails is refused."""
    _show(report.to_dict(), [report.text(DETAIL.get())], json=json)
    return REFUSED if report.failed else DONE


def show_verdict(verdict: Verdict, *, json: bool) -> int:
    """Print what was found of a bundle; what does not hold is also said on standard error."""
    _show(verdict.to_dict(), [verdict.text(DETAIL.get())], json=json)
    if verdict.holds:
        return DONE
    typer.echo(f"distpriv: {verdict.sentence}", err=True)
    return REFUSED


def show_ledger(listing: LedgerListing, *, json: bool) -> None:
    """Print what has been released."""
    _show(listing.to_dict(), [listing.text(DETAIL.get())], json=json)


def show_explanation(code: str | None, *, json: bool) -> None:
    """Print all about a code, or list the codes with their titles."""
    from distpriv.guarantees.evidence_text import explanation, refusals, registry

    if code is not None:
        text = explanation(code)
        _show({"code": code.upper(), "explanation": text}, [text], json=json)
        return
    titles = {key: entry.title for key, entry in registry().items()}
    titles |= {key: (refusal.__doc__ or "").split(". ")[0].splitlines()[0] for key, refusal in refusals().items()}
    titles = dict(sorted(titles.items()))
    text_lines = columns([[key, title] for key, title in titles.items()], left=(0, 1))
    _show(
        titles,
        [*text_lines, "  DP1xx proved, DP2xx checked, DP3xx assumed, DP4xx refused", _next("distpriv explain CODE")],
        json=json,
    )


def show_studio(policy: str | None, *, port: int, open_browser: bool) -> None:
    """Serve the local page until it is interrupted, and say where it is."""
    from distpriv.studio.serving import serve

    def say(link: str) -> None:
        typer.echo(f"studio: {link}\nThe link works once, on this machine alone; Ctrl+C ends the studio.")

    serve(policy, port=port, open_browser=open_browser, say=say)


def show_example(files: Mapping[str, str], *, json: bool) -> None:
    """Say what was written, and what to do next."""
    steps = [
        "distpriv plan policy.toml",
        "distpriv ledger policy.toml --create",
        "distpriv release policy.toml --out bundle",
    ]
    text = [
        "WRITTEN  an example of everything a release needs",
        "",
        *columns([[*each] for each in files.items()], left=(0, 1)),
    ]
    _show({"files": list(files), "next": steps}, [*text, _next(*steps)], json=json)


def _next(*commands: str) -> str:
    return f"  next: {' · '.join(commands)}"


def _near(folder: Path) -> str:
    """Return a folder as one would type it here."""
    return str(folder.relative_to(Path.cwd())) if folder.is_relative_to(Path.cwd()) else str(folder)


def _show(document: Mapping[str, Any], text: list[str], *, json: bool) -> None:
    if json:
        typer.echo(json_format.dumps(document, ensure_ascii=False, indent=2, allow_nan=False))
    elif DETAIL.get() >= 0:
        typer.echo("\n".join(text))
