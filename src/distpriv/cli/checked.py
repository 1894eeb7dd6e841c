"""What `distpriv check` prints: whether the private table fits, what stops a release, and what is unlike."""

import json as json_format

import typer

from distpriv.cli.manner import DETAIL
from distpriv.releasing.check import PrivateCheck

__all__ = ["show_check"]

MOST_LINES = 9
"""Reasons and remarks that are printed; all of them are in the JSON."""


def show_check(found: PrivateCheck, policy: str, *, json: bool) -> int:
    """Print what was found, and return 0 if the table can be released from, 1 if not."""
    if json:
        typer.echo(json_format.dumps(found.to_dict(), ensure_ascii=False, indent=2, allow_nan=False))
    elif DETAIL.get() >= 0:
        typer.echo("\n".join(_lines(found, policy)))
    return 0 if found.fits else 1


def _lines(found: PrivateCheck, policy: str) -> list[str]:
    many = len(found.reasons)
    verdict = "FITS" if found.fits else f"DOES NOT FIT: {many} reason{'' if many == 1 else 's'}"
    rows = "" if found.rows is None else f" · {found.rows:,} rows, {len(found.columns)} columns read"
    remarks = [*found.reasons, *(finding for finding in found.findings if not finding.stops)]
    lines = [
        f"{verdict}{rows}",
        "",
        *(f"  {'stop' if each.stops else 'note'}  {each}" for each in remarks[:MOST_LINES]),
    ]
    if len(remarks) > MOST_LINES:
        lines.append(f"        and {len(remarks) - MOST_LINES} more (--json)")
    unlike = [column for column in found.columns if column.is_unlike]
    if unlike:
        listed = ", ".join(f"{each.column} {each.distance:.2f} (by chance {each.by_chance:.2f})" for each in unlike[:5])
        lines.append(f"  note  distance from the reference, 0 to 1: {listed}; the secret may be why, or another table")
    elif found.columns:
        lines.append("  note  no column is further from the reference than chance allows")
    after = f"distpriv release {policy} --out bundle" if found.fits else f"distpriv check {policy}"
    return [*lines, f"  next: {after}"]
