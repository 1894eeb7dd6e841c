import enum
import functools
import importlib
import math
import re
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import attrs
import numpy as np
import pytest
import scipy.special
from hypothesis import given
from hypothesis import strategies as st

import distpriv as dp
from distpriv.errors import InvalidQuery
from distpriv.framework.function_keys import function_hash
from distpriv.releasing.written_queries import definitions, query_key, query_to_dict

LIMIT = 3
PATTERN = re.compile("a+")


def hashed(function: Callable[..., Any]) -> str:
    return function_hash(function, "statistic 'f'")


def holding(value: Any) -> Callable[..., Any]:
    return lambda rows: (value, rows)


def calls_helper(rows: Any) -> Any:
    return helper(rows) if LIMIT > 2 and PATTERN.match("a") else np.mean(rows)


def helper(rows: Any) -> Any:
    return calls_helper(rows) if rows is None else math.sqrt(len(rows))


simple = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3) | st.binary(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.tuples(inner, inner) | st.dictionaries(st.text(max_size=2), inner),
    max_leaves=6,
)


@given(simple, simple)
def test_values_that_a_function_holds_make_it_another_exactly_if_they_are_others(one: Any, other: Any) -> None:
    same = repr(one) == repr(other)
    assert (hashed(holding(one)) == hashed(holding(other))) == same


@dataclass
class Data:
    """A callable with fields."""

    power: int

    def __call__(self, rows: Any) -> Any:
        return rows**self.power


@attrs.define
class Slotted:
    """A callable with slots."""

    power: int

    def __call__(self, rows: Any) -> Any:
        return rows**self.power


class Weights(list[int]):
    """A list of a kind of its own."""


class Choice(enum.Enum):
    """A choice."""

    ONE = 1
    TWO = 2


def _with_function_within(rows: Any) -> Any:
    return sorted(rows, key=lambda row: row + 1)


def _with_another_within(rows: Any) -> Any:
    return sorted(rows, key=lambda row: row + 2)


def masked(mask: list[bool]) -> Any:
    return np.ma.MaskedArray([1.0, 2.0], mask=mask)


KNOWN: dict[str, tuple[Callable[[], Any], Callable[[], Any]]] = {
    "numbers of other types": (lambda: holding(1), lambda: holding(True)),
    "arrays": (lambda: holding(np.arange(3)), lambda: holding(np.arange(3.0))),
    "arrays of another shape": (lambda: holding(np.zeros((2, 3))), lambda: holding(np.zeros((3, 2)))),
    "scalars": (lambda: holding(np.float64(1)), lambda: holding(np.float32(1))),
    "sets": (lambda: holding({"b", "a", 3}), lambda: holding({"b", "a", 4})),
    "patterns": (lambda: holding(re.compile("a")), lambda: holding(re.compile("b"))),
    "dates": (lambda: holding(date(2020, 1, 1)), lambda: holding(date(2020, 1, 2))),
    "decimals": (lambda: holding(Decimal("1.0")), lambda: holding(Decimal("1.00"))),
    "functions of Python": (lambda: holding(len), lambda: holding(sum)),
    "functions of libraries": (lambda: holding(np.mean), lambda: holding(np.median)),
    "universal functions": (lambda: holding(np.sqrt), lambda: holding(np.cbrt)),
    "universal functions of others": (lambda: holding(scipy.special.expit), lambda: holding(scipy.special.logit)),
    "objects of libraries": (lambda: np.poly1d([1, 2]), lambda: np.poly1d([1, 3])),
    "classes of data": (lambda: Data(2), lambda: Data(3)),
    "classes with slots": (lambda: Slotted(2), lambda: Slotted(3)),
    "methods of what is built in": (lambda: holding("ab".join), lambda: holding("ba".join)),
    "functions within": (lambda: _with_function_within, lambda: _with_another_within),
    "lists of a kind of their own": (lambda: holding(Weights([1])), lambda: holding(Weights([2]))),
    "arrays of a kind of their own": (lambda: holding(masked([False, True])), lambda: holding(masked([True, False]))),
    "choices": (lambda: holding(Choice.ONE), lambda: holding(Choice.TWO)),
    "cached functions": (lambda: functools.lru_cache(holding(1)), lambda: functools.lru_cache(holding(2))),
}


@pytest.mark.parametrize("kind", KNOWN)
def test_what_is_known_by_its_value_is_told_apart(kind: str) -> None:
    one, other = KNOWN[kind]
    assert hashed(one()) == hashed(one())
    assert hashed(one()) != hashed(other())


def test_a_function_that_refers_to_itself_has_a_hash() -> None:
    def down(rows: Any) -> Any:
        return down(rows - 1) if rows else 0

    def up(rows: Any) -> Any:
        return up(rows + 1) if rows else 0

    endless: list[Any] = [1]
    endless.append(endless)
    assert hashed(down) != hashed(up)
    assert hashed(holding(endless)) == hashed(holding(endless))
    assert hashed(calls_helper)


def test_constants_and_functions_of_the_same_file_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    text = "LIMIT = 3\nUNUSED = object()\ndef inner(x):\n    return x * 2\n"
    text += "def f(rows):\n    return inner(rows['a'].UNUSED) + LIMIT\n"
    keys = []
    for number, written in enumerate([text, text, text.replace("= 3", "= 4"), text.replace("* 2", "* 3")]):
        (tmp_path / f"statistics_{number}.py").write_text(written)
        keys.append(hashed(importlib.import_module(f"statistics_{number}").f))
        sys.modules.pop(f"statistics_{number}")
    assert keys[0] == keys[1]
    assert len(set(keys)) == 3


def values() -> Iterator[int]:
    yield 1


UNKNOWN: dict[str, Callable[[], Any]] = {
    "a generator": values,
    "a lock": threading.Lock,
    "an open file": lambda: Path(__file__).open(encoding="utf-8"),  # noqa: SIM115 - closed by the test
    "a module that is no library": lambda: importlib.import_module("tests.spark"),
    "so much that nobody can tell": lambda: list(range(200_000)),
}


@pytest.mark.parametrize("kind", UNKNOWN)
def test_what_is_not_known_by_its_value_needs_a_version(kind: str) -> None:
    held = UNKNOWN[kind]()
    statistic = dp.function(holding(held), columns=["age"])
    with pytest.raises(InvalidQuery, match=r"cannot be told from others .*: give it a version"):
        query_key(dp.Query(f=statistic), 10)
    versioned = dp.Query(f=dp.function(holding(held), columns=["age"], version="2026-1"))
    assert query_key(versioned, 10)
    if hasattr(held, "close"):
        held.close()


def test_a_version_stands_for_the_code_and_not_for_name_columns_and_size() -> None:
    def query(function: Callable[..., Any], version: str = "1", columns: Any = ("age",), size: Any = None) -> dp.Query:
        return dp.Query(f=dp.function(function, columns=columns, size=size, version=version))

    first = query_key(query(holding(1)), 10)
    assert first == query_key(query(holding(2)), 10)
    others = [query(helper), query(holding(1), "2"), query(holding(1), columns=["sex"]), query(holding(1), size=2)]
    assert len({first, *(query_key(other, 10) for other in others)}) == 5
    assert query_to_dict(query(holding(1)))[0] == {
        "name": "f", "kind": "function", "function": "holding.<locals>.<lambda>", "version": "1", "columns": ["age"],
        "size": 1,
    }  # fmt: skip
    for wrong in ("", " ", 3):
        with pytest.raises(InvalidQuery, match="the version of a function is text"):
            dp.function(helper, columns=["age"], version=wrong)  # type: ignore[arg-type]


def test_definitions_of_sql_are_what_they_were() -> None:
    assert definitions(dp.Query(a=dp.quantile("AGE + 1", 0.5))) == (
        '{"expression": "\\"age\\" + 1", "kind": "quantile", "level": 0.5, "number": 0}',
    )
    key = query_key(dp.Query(a=dp.mean("age"), b=dp.count("sex = 'Female'")), 100)
    assert key == "9348e3eff33a9171922c0cf4ebe17e039ecad8a127ca84f9478a44ed26954678"


def above(limit: int) -> Any:
    class Above:
        def count(self, rows: Any, limit: int) -> float:
            return float((rows["age"] > limit).sum())

        __call__ = functools.partialmethod(count, limit=limit)

    return Above()


def raised(power: int) -> Any:
    class Raised:
        __power__ = power

        def __call__(self, rows: Any) -> Any:
            return rows["age"] ** self.__power__

    return Raised()


def by_metaclass(limit: int) -> Any:
    class Kind(type):
        bound = limit

    class Counted(metaclass=Kind):
        def __call__(self, rows: Any) -> Any:
            return (rows["age"] > type(self).bound).sum()

    return Counted()


@pytest.mark.parametrize("made", [above, raised, by_metaclass])
def test_classes_are_known_by_whatever_is_written_in_them_and_above_them(made: Callable[[int], Any]) -> None:
    assert hashed(made(20)) == hashed(made(20))
    assert hashed(made(20)) != hashed(made(70))


def test_code_that_reads_names_or_descriptions_needs_a_version() -> None:
    def limit(rows: Any) -> Any:
        return rows["age"] > int(limit.__doc__ or "0")

    with pytest.raises(InvalidQuery, match=r"__doc__, which says what something is called"):
        hashed(limit)
