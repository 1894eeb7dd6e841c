"""What a policy protects: from ``[[protect]]`` to secrets, refused by key and line where they are none."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from distpriv.framework.secrets import (
    Combinations,
    Correlation,
    Mean,
    Quantile,
    Scenarios,
    Secret,
    Share,
    Shift,
    TiltedSecret,
    across_references,
    checked_pairs,
    protect,
)
from distpriv.workflow.policy.shape import ProtectTable
from distpriv.workflow.policy.sources import source
from distpriv.workflow.policy.toml_places import KeyPath
from distpriv.workflow.policy.toml_text import PolicyText
from distpriv.workflow.strict_json import is_no_character

__all__ = ["in_order", "secrets"]

_KINDS: Mapping[str, tuple[str, ...]] = {
    "share": ("values", "positives", "between", "within", "step", "nearest"),
    "mean": ("values", "between", "within", "step"),
    "quantile": ("values", "between", "within", "step", "level"),
    "correlation": ("values", "between", "within", "step"),
    "shift": ("values", "between", "within", "step"),
    "scenarios": ("pairs",),
}
"""What can be protected, and the keys that go with it."""


def secrets(
    file: PolicyText, tables: Sequence[ProtectTable], count: int, folder: Path, robust: Sequence[str] | None = None
) -> tuple[Secret, ...]:
    """Return what is protected, across other references where there are any, and find that records can have it."""
    if not tables:
        raise file.refusal(("protect",), "nothing is protected: add a [[protect]] with a share and its values.")
    each = [_secret(file, ("protect", number), table, count, folder) for number, table in enumerate(tables)]
    found = _combined(file, tables, each)
    with file.at(("protect",)):
        protect(found, count)
    return found if robust is None else _across(file, found, count, folder, robust)


def in_order(tables: Sequence[Mapping[str, Any]]) -> list[tuple[int, ...]]:
    """Return which ``[[protect]]`` the secrets are of, by number: each alone, and then all that are combined, as one.

    >>> in_order([{"combined": True}, {}, {"combined": True}])
    [(1,), (0, 2)]
    """
    together = tuple(number for number, table in enumerate(tables) if table.get("combined"))
    alone: list[tuple[int, ...]] = [(number,) for number in range(len(tables)) if number not in together]
    return [*alone, together] if together else alone


def _combined(file: PolicyText, tables: Sequence[ProtectTable], each: Sequence[Secret]) -> tuple[Secret, ...]:
    """Return the secrets, those as one that are combined."""
    found = []
    for numbers in in_order([{"combined": table.combined} for table in tables]):
        if not tables[numbers[0]].combined:
            found.append(each[numbers[0]])
            continue
        with file.at(("protect", numbers[-1], "combined")):
            found.append(Combinations(*(cast(Any, each[number]) for number in numbers)))
    return tuple(found)


def _across(
    file: PolicyText, found: tuple[Secret, ...], count: int, folder: Path, robust: Sequence[str]
) -> tuple[Secret, ...]:
    """Return what is protected whichever reference records are like."""
    others = []
    for number, text in enumerate(robust):
        with file.at(("data", "robust", number)):
            others.append(source(text, folder))
    with file.at(("data", "robust")):
        across = across_references(found, others)
        protect(across, count)
    return across


def _secret(file: PolicyText, path: KeyPath, table: ProtectTable, count: int, folder: Path) -> Secret:
    kinds = [kind for kind in _KINDS if getattr(table, kind) is not None]
    if len(kinds) != 1:
        what = (
            f"both a {' and a '.join(kinds)}".replace("a scenarios", "scenarios")
            if kinds
            else "neither a share, a mean, a quantile, a correlation, a shift nor scenarios"
        )
        raise file.refusal(path, f"this has {what}: give one of them, and write [[protect]] again for another.")
    (kind,) = kinds
    for key in ("values", "positives", "between", "within", "step", "nearest", "level", "pairs"):
        if getattr(table, key) is not None and key not in _KINDS[kind]:
            word = kind if kind == "scenarios" else f"a {kind}"
            raise file.refusal((*path, key), f"this does not go with {word}: take it out.")
    found: Secret
    if kind == "scenarios":
        found = _scenarios(file, path, table, folder)
    elif kind == "shift":
        found = _shift(file, path, table, folder)
    else:
        found = _share(file, path, table) if kind == "share" else _tilted(file, path, table, kind)
    with file.at((*path, _main_key(table))):
        found.protected(count)
    return found


def _tilted(file: PolicyText, path: KeyPath, table: ProtectTable, kind: str) -> TiltedSecret:
    """Return a secret by values of a property of the rows."""
    texts = [getattr(table, kind)] if kind != "correlation" else table.correlation or []
    if len(texts) != (2 if kind == "correlation" else 1) or not all(
        text.strip() and not any(map(is_no_character, text)) for text in texts
    ):
        example = '["age", "education_num"]' if kind == "correlation" else '"hours_per_week"'
        numbers = "two numbers" if kind == "correlation" else "a number"
        raise file.refusal((*path, kind), f"a {kind} needs {numbers} in SQL: write {kind} = {example}.")
    given = _given_values(
        file,
        path,
        table,
        f"a {kind} goes with values = [38, 42] alone, or with between = [36, 44], within = 2 and step = 1",
    )
    if kind == "quantile" and table.level is None:
        raise file.refusal(path, "a quantile needs a level, the share of records at most its value: add level = 0.5.")
    apart = _apart(table)
    with file.at((*path, given)):
        if kind == "quantile":
            return Quantile(texts[0], cast(float, table.level), **cast(Any, apart))
        if kind == "correlation":
            return Correlation(*texts, **cast(Any, apart))
        return Mean(texts[0], **cast(Any, apart))


def _given_values(file: PolicyText, path: KeyPath, table: ProtectTable, rule: str) -> str:
    """Return the key that values begin with, or say which keys go together."""
    given = [key for key in ("values", "between", "within", "step") if getattr(table, key) is not None]
    if given not in (["values"], ["between", "within", "step"]):
        raise file.refusal(
            (*path, given[-1]) if given else path,
            f"{rule}, and here with {' and '.join(given) or 'none of them'}: give one or the other.",
        )
    return given[0]


def _apart(table: ProtectTable) -> dict[str, Any]:
    return {"values": table.values, "between": table.between, "within": table.within, "step": table.step}


def _shift(file: PolicyText, path: KeyPath, table: ProtectTable, folder: Path) -> Shift:
    """Return a secret by shares of the second of two tables."""
    assert table.shift is not None
    if len(table.shift) != 2 or any(map(is_no_character, "".join(table.shift))):
        raise file.refusal(
            (*path, "shift"),
            f"a shift is between two tables, each with a name, got {list(table.shift)}: write "
            'shift = {last = "last.parquet", this = "this.parquet"}.',
        )
    rule = "a shift goes with values = [0, 0.3] alone, or with between = [0, 0.5], within = 0.2 and step = 0.1"
    given = _given_values(file, path, table, rule)
    tables = []
    for name, text in table.shift.items():
        with file.at((*path, "shift", name)):
            tables.append(source(text, folder))
    first, second = table.shift
    with file.at((*path, given)):
        return Shift(*tables, names=(first, second), **_apart(table))


def _main_key(table: ProtectTable) -> str:
    return next((key for key in ("scenarios", "values", "positives") if getattr(table, key) is not None), "between")


def _share(file: PolicyText, path: KeyPath, table: ProtectTable) -> Share:
    assert table.share is not None
    if not table.share.strip() or any(map(is_no_character, table.share)):
        raise file.refusal((*path, "share"), "a share needs a condition in SQL: write it as in \"income = '>50K'\".")
    given = [key for key in ("values", "positives", "between", "within", "step") if getattr(table, key) is not None]
    if given not in (["values"], ["positives"], ["between", "within"], ["between", "within", "step"]):
        raise file.refusal(
            (*path, given[-1]) if given else path,
            "a share goes with values = [0.45, 0.55] alone, or with positives = [45, 55] alone, or with between = "
            f"[0.3, 0.7] and within = 0.1, and here with {' and '.join(given) or 'none of them'}: give one or the "
            "other.",
        )
    near = bool(table.nearest)
    if near and given[-1] not in ("values", "step"):
        raise file.refusal((*path, "nearest"), "this goes with values, or with a step of a range: take it out.")
    if table.between is None:
        with file.at((*path, given[0])):
            return Share(table.share, values=table.values, positives=table.positives, nearest=near)
    ends = cast(Any, table.between)
    with file.at((*path, "between")):
        Share(table.share, between=ends, within=1)
    with file.at((*path, "within")):
        Share(table.share, between=ends, within=table.within)
    with file.at((*path, given[-1])):
        return Share(table.share, between=ends, within=table.within, step=table.step, nearest=near)


def _scenarios(file: PolicyText, path: KeyPath, table: ProtectTable, folder: Path) -> Scenarios:
    assert table.scenarios is not None
    if len(table.scenarios) < 2:
        raise file.refusal(
            (*path, "scenarios"),
            f"two scenarios at least are needed to keep them apart, got {list(table.scenarios)}: write "
            'scenarios = {boom = "a.parquet", bust = "b.parquet"}.',
        )
    found = {}
    for name, text in table.scenarios.items():
        with file.at((*path, "scenarios", name)):
            found[name] = source(text, folder)
    for name in found:
        if any(map(is_no_character, name)):
            raise file.refusal((*path, "scenarios"), f"{name!r} is no name for a scenario: write it in letters.")
    for number, pair in enumerate(table.pairs or ()):
        with file.at((*path, "pairs", number)):
            checked_pairs([pair], found)
    with file.at((*path, "pairs")):
        return Scenarios(found, pairs=cast(Any, table.pairs))
