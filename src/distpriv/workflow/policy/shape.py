"""The shape of a policy file: which keys there are, of which type, and what is said of any other.

Only the shape: what the values mean, and which of them make sense, is for the library's own types to say.
"""

import reprlib
from collections.abc import Mapping
from datetime import date, time
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic_core import ErrorDetails

from distpriv.errors import InvalidPolicy
from distpriv.framework.domains import did_you_mean
from distpriv.workflow.policy.toml_places import KeyPath
from distpriv.workflow.policy.toml_text import PolicyText

__all__ = [
    "DataTable",
    "LedgerTable",
    "ModelTable",
    "PolicyShape",
    "PrivacyTable",
    "ProtectTable",
    "ReleaseTable",
    "TableTable",
    "checked_shape",
]


class _Table(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class DataTable(_Table):
    """``[data]``: where the rows are."""

    reference: Annotated[str | None, Field(examples=['reference = "census.parquet"'])] = None
    private: Annotated[str | None, Field(examples=['private = "hospital.parquet"'], repr=False)] = None
    id: Annotated[str, Field(examples=['id = "hospital-2026"'])]
    robust: Annotated[list[str] | None, Field(examples=['robust = ["other.parquet"]'])] = None


class TableTable(_Table):
    """``[release.tables.NAME]``: a count, a mean or something else for every combination of levels of some columns."""

    count: Annotated[bool | None, Field(examples=["count = true"])] = None
    mean: Annotated[str | None, Field(examples=['mean = "hours_per_week"'])] = None
    total: Annotated[str | None, Field(examples=['total = "hours_per_week"'])] = None
    quantile: Annotated[str | None, Field(examples=['quantile = "hours_per_week"'])] = None
    level: Annotated[float | None, Field(examples=["level = 0.5"])] = None
    variance: Annotated[str | None, Field(examples=['variance = "hours_per_week"'])] = None
    by: Annotated[Any, Field(examples=['by = ["education", "sex"]'])]
    levels: Annotated[Any, Field(examples=['levels = {sex = ["Female", "Male"]}'])] = None
    other: Annotated[Any, Field(examples=["other = true"])] = None
    empty: Annotated[Any, Field(examples=['empty = [["Preschool", "Male"]]'])] = None
    otherwise: Annotated[Any, Field(examples=["otherwise = [40, 38]"])] = None
    min_expected: Annotated[float | None, Field(examples=["min_expected = 5"])] = None


class ReleaseTable(_Table):
    """``[release]``: what is published; several ``[[release]]``, each with a name, are declared beforehand."""

    name: Annotated[str | None, Field(examples=['name = "ages"'])] = None
    title: Annotated[str | None, Field(examples=['title = "Ages in ward 7"'])] = None
    license: Annotated[str | None, Field(examples=['license = "CC-BY-4.0"'])] = None
    records: Annotated[int, Field(examples=["records = 100"])]
    statistics: Annotated[dict[str, str], Field(examples=['age = "mean(age)" below [release.statistics]'])] = {}
    tables: Annotated[
        dict[str, TableTable], Field(examples=['count = true and by = ["sex"] below [release.tables.people]'])
    ] = {}


class ProtectTable(_Table):
    """``[[protect]]``: what is hidden."""

    share: Annotated[str | None, Field(examples=["share = \"income = '>50K'\""])] = None
    mean: Annotated[str | None, Field(examples=['mean = "hours_per_week"'])] = None
    quantile: Annotated[str | None, Field(examples=['quantile = "hours_per_week"'])] = None
    level: Annotated[float | None, Field(examples=["level = 0.5"])] = None
    correlation: Annotated[list[str] | None, Field(examples=['correlation = ["age", "education_num"]'])] = None
    shift: Annotated[
        dict[str, str] | None, Field(examples=['shift = {last = "last.parquet", this = "this.parquet"}'])
    ] = None
    values: Annotated[list[float] | None, Field(examples=["values = [0.45, 0.55]"])] = None
    positives: Annotated[list[int] | None, Field(examples=["positives = [400, 600]"])] = None
    between: Annotated[list[float] | None, Field(examples=["between = [0.3, 0.7]"])] = None
    within: Annotated[float | None, Field(examples=["within = 0.1"])] = None
    step: Annotated[float | None, Field(examples=["step = 1"])] = None
    nearest: Annotated[bool | None, Field(examples=["nearest = true"])] = None
    scenarios: Annotated[
        dict[str, str] | None, Field(examples=['scenarios = {boom = "a.parquet", bust = "b.parquet"}'])
    ] = None
    pairs: Annotated[list[list[str]] | None, Field(examples=['pairs = [["boom", "bust"]]'])] = None
    combined: Annotated[bool, Field(examples=["combined = true"])] = False


class PrivacyTable(_Table):
    """``[privacy]``: how well this release hides it."""

    epsilon: Annotated[float | None, Field(examples=["epsilon = 1.0"])] = None
    delta: Annotated[float | None, Field(examples=["delta = 1e-3"])] = None
    max_attack_accuracy: Annotated[float | None, Field(examples=["max_attack_accuracy = 0.6"])] = None
    assurance: Annotated[str, Field(examples=['assurance = "checked"'])] = "checked"
    weights: Any = "relative"
    prior: Annotated[dict[str, float] | None, Field(examples=["prior = {boom = 0.7, bust = 0.3}"])] = None
    objective: Annotated[str, Field(examples=['objective = "estimate"'])] = "estimate"
    max_error: Annotated[dict[str, float] | None, Field(examples=["max_error = {age = 0.5}"])] = None
    mechanisms: Annotated[list[str] | None, Field(examples=['mechanisms = ["certified_gaussian"]'])] = None
    audit: Annotated[str, Field(examples=['audit = "required"'])] = "optional"


class LedgerTable(_Table):
    """``[ledger]``: where releases are kept, and what all of them together may give away."""

    url: Annotated[str, Field(examples=['url = "sqlite:///ledger.db"'], repr=False)] = "sqlite:///ledger.db"
    epsilon: Annotated[float | None, Field(examples=["epsilon = 2.0"])] = None
    delta: Annotated[float | None, Field(examples=["delta = 2e-3"])] = None
    max_attack_accuracy: Annotated[float | None, Field(examples=["max_attack_accuracy = 0.6"])] = None
    adaptive: Annotated[str, Field(examples=['adaptive = "refuse"'])] = "refuse"
    create: Annotated[bool, Field(examples=["create = true"])] = False


class ModelTable(_Table):
    """``[model]``: how datasets are drawn from the reference; the options of `distpriv.model`."""

    method: Annotated[str, Field(examples=['method = "auto"'])] = "auto"
    replacement: Annotated[bool | None, Field(examples=["replacement = true"])] = None
    missing: Annotated[str, Field(examples=['missing = "drop"'])] = "refuse"
    reference: Annotated[str, Field(examples=['reference = "population"'])] = "sample"
    draws: Annotated[int, Field(examples=["draws = 5000"])] = 5000
    seed: Annotated[int, Field(examples=["seed = 0"])] = 0
    weight: Annotated[str | None, Field(examples=['weight = "fnlwgt"'])] = None
    robust: Annotated[float | None, Field(examples=["robust = 1e-7"])] = None


class PolicyShape(_Table):
    """A whole policy file."""

    data: Annotated[DataTable, Field(examples=["a table that begins with [data]"])]
    release: Annotated[list[ReleaseTable], Field(examples=["a table that begins with [release]"])]
    protect: Annotated[list[ProtectTable], Field(examples=["a table that begins with [[protect]]"])]
    privacy: Annotated[PrivacyTable, Field(examples=["a table that begins with [privacy]"])]
    ledger: Annotated[LedgerTable, Field(examples=["a table that begins with [ledger]"])] = LedgerTable()
    model: Annotated[ModelTable, Field(examples=["a table that begins with [model]"])] = ModelTable()


_TABLES: Mapping[str, type[_Table]] = {
    "data": DataTable,
    "release": ReleaseTable,
    "protect": ProtectTable,
    "privacy": PrivacyTable,
    "ledger": LedgerTable,
    "model": ModelTable,
}
_WANTED = {
    "string_type": "text in quotes",
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "bool_type": "true or false",
    "list_type": "a list in brackets",
    "dict_type": "a table",
    "model_type": "a table",
}


def checked_shape(file: PolicyText) -> PolicyShape:
    """Return the tables of a policy, or say which key is wrong.

    A misspelt key is also a missing one, so what is there and wrong is said before what is not there.
    """
    written = dict(file.document)
    if one := isinstance(written.get("release"), dict):
        written["release"] = [written["release"]]
    try:
        return PolicyShape.model_validate(written)
    except ValidationError as failure:
        found = failure.errors(include_url=False)
        for error in found:
            if one and error["loc"][:2] == ("release", 0):
                error["loc"] = ("release", *error["loc"][2:])
        first = min(found, key=lambda error: (error["type"] == "missing", file.places.line(error["loc"]) or 0))
        raise _refusal(file, first) from None


def _refusal(file: PolicyText, error: ErrorDetails) -> InvalidPolicy:
    path, kind, value = error["loc"], error["type"], error["input"]
    if kind == "extra_forbidden":
        return file.refusal(path, _no_such_key(path))
    example = _example(path)
    cure = f"write {'it as in ' if len(path) > 1 else ''}{example}"
    if kind == "missing":
        return file.refusal(path, f"this is missing: add {example}.")
    if path == ("protect",) and isinstance(value, dict):
        return file.refusal(path, "it can be there several times: write it in two brackets, as [[protect]].")
    wanted = _WANTED.get(kind)
    if wanted is None:
        return file.refusal(path, f"{_shown(value)} cannot be used here: {cure}.")
    got = "something else" if path[:2] == ("ledger", "url") else _shown(value)  # it may hold a password
    return file.refusal(path, f"this must be {wanted}, got {got}: {cure}.")


def _no_such_key(path: KeyPath) -> str:
    """Say where a key belongs, or which one may have been meant."""
    key, table = str(path[-1]), str(path[0])
    homes = [f"[{name}]" for name, fields in _TABLES.items() if key in fields.model_fields]
    if homes and not _in_a_table(path):
        return f"there is no such key here: it belongs in {' or '.join(homes)}."
    known = _TABLES[table].model_fields if len(path) > 1 else PolicyShape.model_fields
    if _in_a_table(path):
        known = TableTable.model_fields
    return f"there is no such key: {did_you_mean(key, known)}"


def _example(path: KeyPath) -> str:
    """Return how a key is written; that of a statistic, or of an element of a list, is the one of what holds it."""
    fields: Mapping[str, Any] = PolicyShape.model_fields
    names = [part for part in path if isinstance(part, str)]
    if _in_a_table(path):
        fields, names = TableTable.model_fields, ["release", names[3]]
    elif len(names) > 1:
        fields = _TABLES[names[0]].model_fields
    return str(fields[names[min(len(names), 2) - 1]].examples[0])


def _in_a_table(path: KeyPath) -> bool:
    """Tell whether a key is one of a ``[release.tables.NAME]``."""
    names = [part for part in path if isinstance(part, str)]
    return names[:2] == ["release", "tables"] and len(names) > 3


def _shown(value: object) -> str:
    return str(value).lower() if isinstance(value, bool | date | time) else reprlib.repr(value)
