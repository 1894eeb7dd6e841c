"""The `distpriv` command."""

import sys
from typing import Annotated

import typer
from rich.console import Console

from distpriv._version import __version__
from distpriv.errors import DistprivError

__all__ = ["app", "main"]

app = typer.Typer(
    name="distpriv",
    help="Publish statistics of a dataset without giving away a global property of it.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


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
    """Model the paper's five statistics on the embedded Adult data and show what would be released."""
    from distpriv.cli.demo import show_demo

    show_demo(Console())


def main() -> None:
    """Run the command line; what distpriv refuses is one sentence on standard error and exit code 2."""
    try:
        app()
    except DistprivError as refusal:
        Console(stderr=True, highlight=False).print(f"distpriv: {refusal}", markup=False, soft_wrap=True)
        sys.exit(2)
    except KeyboardInterrupt:
        sys.exit(130)
