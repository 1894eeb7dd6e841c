"""Python as text: values and calls of distpriv, so that a program can be written from a policy."""

import json
import math
from collections.abc import Iterable, Mapping
from typing import Any

from distpriv.errors import InvalidInput
from distpriv.framework.queries import Statistic, Table
from distpriv.framework.statistics import FORMS

__all__ = ["Code", "call", "literal", "statistic_code", "table", "table_code"]

WRITTEN = ("mean", "total", "count", "proportion", "variance", "quantile")
"""The statistics that are functions of distpriv."""


class Code(str):
    """Text that is Python already, and stands as it is where other text would be quoted."""

    __slots__ = ()


def literal(value: Any) -> str:
    """Return a value as Python has it, text in double quotes and whole numbers as such.

    >>> literal({"a": [1.0, 0.5, None, True], "b": Code("at(path)")}), literal(1e300)
    ('{"a": [1, 0.5, None, True], "b": at(path)}', '1e+300')
    """
    if isinstance(value, Code):
        return str(value)
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=not value.isprintable())
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{literal(key)}: {literal(inner)}' for key, inner in value.items())}}}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(literal, value))}]"
    if isinstance(value, float) and math.isfinite(value) and value == int(value) and abs(value) < 1e15:
        return repr(int(value))
    return repr(value)


def call(name: str, *given: Any, lines: bool = False, **named: Any) -> Code:
    """Return a call, with an argument to each line where it is asked for.

    >>> call("dp.mean", "age", resolution=1)
    'dp.mean("age", resolution=1)'
    >>> print(call("dp.plan", Code("model"), lines=True, trust="gaussian"))
    dp.plan(
        model,
        trust="gaussian",
    )
    """
    arguments = [*map(literal, given), *(f"{key}={literal(value)}" for key, value in named.items())]
    if not lines:
        return Code(f"{name}({', '.join(arguments)})")
    return Code(f"{name}(\n{_indented(arguments)}\n)")


def table(items: Mapping[str, Code]) -> Code:
    """Return a dictionary with an item to each line."""
    return Code(f"{{\n{_indented(f'{literal(key)}: {code}' for key, code in items.items())}\n}}")


def _indented(arguments: Iterable[str]) -> str:
    return "\n".join("    " + f"{each},".replace("\n", "\n    ") for each in arguments)


def statistic_code(name: str, statistic: Statistic) -> Code:
    """Return the call that makes a statistic.

    >>> import distpriv as dp
    >>> statistic_code("age", dp.quantile("age", 0.5, resolution=1))
    'dp.quantile("age", level=0.5, resolution=1)'
    """
    form = statistic.form
    if form.word not in WRITTEN or form.word not in FORMS:
        raise InvalidInput(
            f"the statistic {name!r}, {statistic.text}, is no function of distpriv: ask for it as a table, with by."
        )
    options = {key: getattr(statistic, key) for key in form.options if getattr(statistic, key) is not None}
    return call(f"dp.{form.word}", *(getattr(statistic, text) for text in form.texts), **options)


def table_code(asked: Table) -> Code:
    """Return the call that makes a table, with what is said of its cells.

    >>> import distpriv as dp
    >>> table_code(dp.table("quantile(age, 0.5)", by="sex"))
    'dp.table("quantile(age, 0.5)", by=["sex"])'
    """
    written = asked.to_dict()
    level = "" if asked.level is None else f", {asked.level!r}"
    what = "count" if asked.expression is None else f"{asked.what}({asked.expression}{level})"
    options = {key: written[key] for key in ("levels", "other", "empty", "otherwise") if key in written}
    return call("dp.table", what, by=written["by"], **options)
