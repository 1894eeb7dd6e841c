"""Write the arguments and options of every command to docs/reference/cli.md, from the commands themselves.

Usage: python -m scripts.cli_page
"""

from pathlib import Path
from typing import Any

import typer
from scripts.generated import replaced

from distpriv.cli.app import app

__all__ = ["PAGE", "page_text"]

PAGE = Path(__file__).parents[1] / "docs" / "reference" / "cli.md"
COMMON = ("--json", "--quiet", "--verbose")
"""Options of nearly every command, which the page explains once."""


def page_text(page: str) -> str:
    """Return the page with a table for every command."""
    group: Any = typer.main.get_command(app)
    return replaced(page, "options", "\n\n".join(_section(name, found) for name, found in group.commands.items()))


def _section(name: str, command: Any) -> str:
    usage = " ".join(["distpriv", name, *map(_in_usage, command.params)])
    own = [given for given in command.params if given.opts[0] not in COMMON]
    rows = [f"| `{_name(given)}` | {_default(given)} | {given.help} |" for given in own]
    table = ["", "| argument or option | when not given | |", "|---|---|---|", *rows] if rows else []
    return "\n".join([f"### distpriv {name}", "", command.help, "", f"`{usage}`", *table])


def _is_option(given: Any) -> bool:
    return bool(given.opts[0].startswith("-"))


def _name(given: Any) -> str:
    """Return how an argument or an option is written."""
    value = str(given.metavar or given.name.upper())
    if not _is_option(given):
        return value.replace("|", " or ") + ("…" if given.nargs == -1 else "")
    return str(given.opts[0]) if given.is_flag else f"{given.opts[0]} {value}"


def _in_usage(given: Any) -> str:
    return _name(given) if given.required else f"[{_name(given)}]"


def _default(given: Any) -> str:
    if given.required:
        return "needed"
    return "" if given.default is None or given.default is False else f"`{given.default}`"


if __name__ == "__main__":
    PAGE.write_text(page_text(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
