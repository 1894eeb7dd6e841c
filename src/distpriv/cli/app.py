"""The `distpriv` command."""

import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from distpriv._version import __version__
from distpriv.cli.manner import DETAIL, Quiet, Verbose
from distpriv.errors import DistprivError, InvalidInput

__all__ = ["app", "exit_code", "main"]

app = typer.Typer(
    name="distpriv",
    help="Publish statistics of a dataset without giving away a global property of it.",
    epilog="Exit codes: 0 done, 1 refused or not certified, 2 wrong input.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)

PolicyFile = Annotated[str, typer.Argument(metavar="POLICY", help="A policy file.")]
Only = Annotated[str | None, typer.Option("--only", metavar="NAME", help="Which of several releases of the policy.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON, and nothing else, on standard output.")]


def _print_version(asked: bool) -> None:
    if asked:
        typer.echo(f"distpriv {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and exit.", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    """Publish statistics of a dataset without giving away a global property of it."""


@app.command()
def demo() -> None:
    """Release statistics of the embedded Adult data, step by step: plan, release, verify."""
    from distpriv.cli.demo import show_demo

    show_demo(Console())


@app.command()
def init(
    file: Annotated[str, typer.Argument(help="The policy file to write; it must not be there yet.")] = "policy.toml",
    source: Annotated[
        str | None, typer.Option("--from", metavar="SOURCE", help="A table of public rows to take columns from.")
    ] = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Write a commented policy to edit, with the columns of a public table if one is given."""
    from distpriv.cli.output import show_written
    from distpriv.policy.draft import draft_policy

    show_written(draft_policy(file, source), json=json)


@app.command()
def example(
    name: Annotated[str, typer.Argument(help="Which: adult, persons of a census.")] = "adult",
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Write a public table, a private table and a policy into this folder; nothing is overwritten."""
    from distpriv.cli.output import show_example
    from distpriv.workflow.example import write_example

    show_example(write_example(name, Path()), json=json)


@app.command()
def check(policy: PolicyFile, only: Only = None, json: Json = False, quiet: Quiet = False) -> None:
    """Compare the private table with the reference, for the curator's eyes only; nothing is written or spent."""
    from distpriv.cli.checked import show_check
    from distpriv.workflow.check_policy import check_policy

    raise typer.Exit(show_check(check_policy(policy, only=only), policy, json=json))


@app.command()
def plan(
    policy: PolicyFile,
    only: Only = None,
    every: Annotated[bool, typer.Option("--all", help="Also try mechanisms that cannot be chosen.")] = False,
    json: Json = False,
    quiet: Quiet = False,
    verbose: Verbose = 0,
) -> None:
    """Show what a release would add to public knowledge, and what an attacker would get; no access to private rows."""
    from distpriv.cli.output import reported, show_plan
    from distpriv.workflow.plan_policy import plan_policy

    made = reported(lambda p: plan_policy(policy, p, only=only, every=every))
    raise typer.Exit(show_plan(made, policy, json=json))


@app.command()
def release(
    policy: PolicyFile,
    out: Annotated[str, typer.Option("--out", metavar="DIR", help="The bundle's folder; it must be new or empty.")],
    only: Only = None,
    audit: Annotated[
        bool, typer.Option("--audit", help="Attack simulated releases first, and refuse what fails.")
    ] = False,
    releases: Annotated[int, typer.Option(help="With --audit: how many simulated releases to attack.")] = 20_000,
    analyst: Annotated[
        bool, typer.Option("--analyst", help="For a service: refuse without a reason, and count the access first.")
    ] = False,
    json: Json = False,
    quiet: Quiet = False,
    verbose: Verbose = 0,
) -> None:
    """Answer a policy's query from the private table, once, and write a bundle with the evidence."""
    from distpriv.cli.output import reported, show_bundle
    from distpriv.workflow.release_policy import release_policy

    made = reported(
        lambda p: release_policy(policy, out, only=only, audit=audit, analyst=analyst, releases=releases, progress=p)
    )
    show_bundle(made, json=json)


@app.command()
def export(
    bundle: Annotated[str, typer.Argument(metavar="BUNDLE", help="The folder of a bundle.")],
    to: Annotated[str, typer.Option("--to", metavar="FORMAT", help="xlsx, notebook, ro-crate or acro.")],
    out: Annotated[
        str | None, typer.Option("--out", metavar="PATH", help="What to write; beside the bundle if not given.")
    ] = None,
    json: Json = False,
) -> None:
    """Write a bundle in another format: a workbook, a notebook, an RO-Crate, a folder for output checkers."""
    from distpriv.bundle.exporting.export import export_bundle
    from distpriv.cli.output import show_exported

    show_exported(export_bundle(bundle, to, out), json=json)


@app.command()
def audit(
    policy: PolicyFile,
    only: Only = None,
    releases: Annotated[int, typer.Option(help="How many simulated releases to attack.")] = 100_000,
    seed: Annotated[int, typer.Option(help="The same seed gives the same report.")] = 0,
    bundle: Annotated[
        str | None, typer.Option(metavar="DIR", help="The bundle of the release, to add the result to its report.")
    ] = None,
    json: Json = False,
    quiet: Quiet = False,
    verbose: Verbose = 0,
) -> None:
    """Attack simulated releases of a policy, and compare the result with the certificate."""
    from distpriv.cli.output import reported, show_audit
    from distpriv.workflow.release_policy import audit_bundle, audit_policy

    if bundle is None:
        attacked = reported(lambda p: audit_policy(policy, only=only, releases=releases, seed=seed, progress=p))
    else:
        attacked = reported(lambda p: audit_bundle(policy, bundle, releases=releases, seed=seed, progress=p))
    raise typer.Exit(show_audit(attacked, json=json))


@app.command()
def verify(
    file: Annotated[str, typer.Argument(metavar="BUNDLE", help="A bundle's folder, or its release.json.")],
    reference: Annotated[
        str | None,
        typer.Option(metavar="SOURCE", help="The public reference, or a folder with all public tables of the policy."),
    ] = None,
    ledger: Annotated[str | None, typer.Option(metavar="URL", help="The ledger that has the release.")] = None,
    json: Json = False,
    quiet: Quiet = False,
    verbose: Verbose = 0,
) -> None:
    """Recompute everything that a bundle says, also from its reference and its ledger where they are given."""
    from distpriv.bundle import verify_bundle
    from distpriv.cli.output import show_verdict

    raise typer.Exit(show_verdict(verify_bundle(file, reference=reference, ledger=ledger), json=json))


@app.command()
def ledger(
    where: Annotated[
        str,
        typer.Argument(
            metavar="POLICY|URL",
            envvar="DISTPRIV_LEDGER",
            show_envvar=False,
            help="A policy file, or the URL of a ledger; DISTPRIV_LEDGER of the environment when not given.",
        ),
    ],
    create: Annotated[bool, typer.Option("--create", help="Make the ledger; refused if there is one.")] = False,
    json: Json = False,
    quiet: Quiet = False,
    verbose: Verbose = 0,
) -> None:
    """List the releases of a dataset and what they spend together."""
    from distpriv.cli.output import show_ledger
    from distpriv.workflow.ledgers import create_ledger, list_ledger

    show_ledger(create_ledger(where) if create else list_ledger(where), json=json)


@app.command()
def explain(
    code: Annotated[str | None, typer.Argument(metavar="CODE", help="Such as DP204; all codes if not given.")] = None,
    json: Json = False,
) -> None:
    """Explain a code of evidence or refusal: what it means, why it matters, what to do."""
    from distpriv.cli.output import show_explanation

    show_explanation(code, json=json)


@app.command()
def studio(
    policy: Annotated[
        str | None, typer.Argument(metavar="POLICY", help="A policy file to open; an empty form without it.")
    ] = None,
    port: Annotated[int, typer.Option(metavar="N", help="Port to listen on; any free one if not given.")] = 0,
    no_open: Annotated[bool, typer.Option("--no-open", help="Print the link, and open no browser.")] = False,
) -> None:
    """Edit, preview and release a policy on a local web page."""
    from distpriv.cli.output import show_studio

    show_studio(policy, port=port, open_browser=not no_open)


def exit_code(refusal: DistprivError) -> int:
    """Return 2 for wrong input, and 1 for what was refused although the input is right.

    >>> exit_code(InvalidInput("no such file")), exit_code(DistprivError("no room"))
    (2, 1)
    """
    return 2 if isinstance(refusal, InvalidInput) else 1


def main() -> None:
    """Run the command line; a refusal is one sentence on standard error."""
    DETAIL.set(0)
    try:
        app()
    except DistprivError as refusal:
        Console(stderr=True, highlight=False).print(f"distpriv: {refusal}", markup=False, soft_wrap=True)
        sys.exit(exit_code(refusal))
    except KeyboardInterrupt:
        sys.exit(130)
