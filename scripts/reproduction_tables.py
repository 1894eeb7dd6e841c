"""Write the tables of docs/reproduction.md, by the exact protocol.

Usage: python scripts/reproduction_tables.py [FOLDER], the folder that `distpriv reproduce --out FOLDER` writes to.
"""

import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from distpriv.experiments.result import Comparison, ErrorPoint, Result
from distpriv.experiments.setting import Setting
from distpriv.report.reproduction_tables import number, small
from distpriv.workflow.reproducing import reproduce

PAGE = Path(__file__).parents[1] / "docs" / "reproduction.md"


def written(text: str, tables: Mapping[str, str]) -> str:
    """Put tables in their places, each between a comment with its name and the next blank line."""
    for name, table in tables.items():
        place = re.compile(rf"(<!-- {name}: [^\n]*-->\n)\|.*?\n(?=\n)", flags=re.DOTALL)
        if not place.search(text):
            raise ValueError(f"there is no place for the table {name!r}: write <!-- {name}: … --> above a table.")
        text = place.sub(lambda found, table=table: found[1] + table, text)  # type: ignore[misc]
    return text


def markdown(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table, its first column on the left and the others on the right."""
    lines = [header, ["---"] + ["---:"] * (len(header) - 1), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def table_2(result: Result) -> str:
    """Return published errors beside ours, and the δ of the noise."""
    return markdown(
        ["", "paper", "exact", "standard error", "z", "exact δ"],
        [
            [*_compared(one), f"**{small(p.actual_delta)}**" if not p.holds else small(p.actual_delta)]
            for one, p in zip(result.comparisons, result.errors, strict=True)
        ],
    )


def crossings(*results: Result) -> str:
    """Return what the text gives as numbers."""
    return markdown(
        ["", "paper", "exact", "standard error", "z"], [_compared(c) for r in results for c in r.comparisons]
    )


def table_3(result: Result) -> str:
    """Return published accuracies beside ours, the best attacker and the one who reads the lattice."""
    return markdown(
        ["", "paper", "exact", "z", "best attacker", "lattice attack", "exact δ"],
        [
            [
                one.label,
                f"{one.published:.3f}",
                f"{one.ours:.3f}",
                _signed(one.z),
                f"{p.best_attack:.3f}",
                f"{p.lattice_attack:.3f}",
                f"**{small(p.actual_delta)}**" if not p.holds else small(p.actual_delta),
            ]
            for one, p in zip(result.comparisons, result.attacks, strict=True)
        ],
    )


def beyond(result: Result) -> str:
    """Return the errors of the newer mechanisms for income, Δp = 0.1."""
    chosen = [p for p in result.errors if p.secret == "income" and p.gap == 0.1 and p.epsilon in (0.2, 1.0, 5.0)]
    names = dict.fromkeys(p.mechanism for p in chosen)
    rows = []
    for name in names:
        own = [p for p in chosen if p.mechanism == name]
        rows.append([name, own[0].trust, *(_error(p) for p in own)])
    return markdown(["", "trust", "ε = 0.2", "ε = 1", "ε = 5"], rows)


def _error(point: ErrorPoint) -> str:
    if point.holds:
        return number(point.error)
    delta = f"fails: δ = {small(point.actual_delta)}" if point.delta_is_exact else "not certified"
    return f"{number(point.error)} ({delta})"


def _compared(one: Comparison) -> list[str]:
    error = number(float(f"{one.standard_error:.2g}"))
    return [one.label, number(one.published), number(one.ours), error, _signed(one.z)]


def _signed(z: float) -> str:
    return f"{round(z, 1) + 0.0:+.1f}".replace("-", "−")


def tables(results: Mapping[str, Result]) -> dict[str, str]:
    """Return every table for which there are results."""
    found = {}
    if "table_2" in results:
        found["table_2"] = table_2(results["table_2"])
    if {"figure_3", "figure_4", "figure_5"} <= set(results):
        found["text"] = crossings(results["figure_3"], results["figure_4"], results["figure_5"])
    if "table_3" in results:
        found["table_3"] = table_3(results["table_3"])
    if "beyond" in results:
        found["beyond"] = beyond(results["beyond"])
    return found


def main() -> None:
    """Read the results, or compute them, and write the page."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path("reproduction")
    results = reproduce(setting=Setting(protocol="exact"), out=folder).results
    PAGE.write_text(written(PAGE.read_text(encoding="utf-8"), tables(results)), encoding="utf-8")
    print(PAGE)


if __name__ == "__main__":
    main()
