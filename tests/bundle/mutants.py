"""Mutants of a document: every leaf changed in several ways, lists and objects taken apart, keys written twice."""

import copy
import json
import math
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from attrs import frozen

from distpriv.framework.records import json_text

Path = tuple[str | int, ...]

TWINS: tuple[tuple[Path, Path], ...] = (
    (("certificate",), ("joint_certificate",)),
    (("evidence", "drawn", "release"), ("evidence", "drawn", "joint")),
)

LONG = 12
"""Of longer lists of numbers only the ends and the middle are changed."""


@frozen
class Mutant:
    """A text that differs from a document in one place."""

    path: Path
    how: str
    _make: Callable[[], str]

    @property
    def text(self) -> str:
        """The text, made when it is asked for."""
        return self._make()

    @property
    def place(self) -> str:
        """Where it differs, numbers of elements left out."""
        return ".".join(part if isinstance(part, str) else "*" for part in self.path)

    def __str__(self) -> str:
        return f"{'.'.join(map(str, self.path))}: {self.how}"


def mutants(document: Any) -> Iterator[Mutant]:
    """Yield every mutant of a document that says something else than it."""
    for path, value in places(document, ()):
        for how, other in changes(value):
            if path and not _same(other, value):
                yield Mutant(path, how, partial(_with, document, path, other))
        if isinstance(value, dict):
            for key in value:
                yield Mutant((*path, key), "twice", partial(_twice, document, path, key))
                yield Mutant((*path, key), "away", partial(_without, document, path, key))
            yield Mutant((*path, "another"), "added", partial(_with, document, (*path, "another"), 1))


def twins(document: Any) -> Iterator[Mutant]:
    """Yield mutants in which what a first release says twice, of itself and of all releases, is changed in both."""
    for one, other in TWINS:
        first, second = _at(document, one), _at(document, other)
        for path, value in places(first, ()):
            if _reaches(second, path) and _same(_at(second, path), value):
                for how, changed in changes(value):
                    if path and not _same(changed, value):
                        make = partial(_with_both, document, (*one, *path), (*other, *path), changed)
                        yield Mutant((*one, *path), f"{how}, twice", make)


def places(value: Any, path: Path) -> Iterator[tuple[Path, Any]]:
    """Yield everything in a document, with its path."""
    yield path, value
    if isinstance(value, dict):
        for key, part in value.items():
            yield from places(part, (*path, key))
    elif isinstance(value, list):
        few = len(value) <= LONG or not all(isinstance(part, int | float) for part in value)
        for number in range(len(value)) if few else (0, 1, len(value) // 2, len(value) - 2, len(value) - 1):
            yield from places(value[number], (*path, number))


def changes(value: Any) -> Iterator[tuple[str, Any]]:
    """Yield what a value may be changed into."""
    if isinstance(value, bool):
        yield from (("not", not value), ("a number", int(value)), ("null", None))
    elif isinstance(value, int | float):
        yield from _numbers(value)
    elif isinstance(value, str):
        yield from _texts(value)
    elif isinstance(value, list):
        yield from (("shortened", value[:-1]), ("beheaded", value[1:]), ("extended", [*value, *value[-1:]]))
        yield from (("emptied", []), ("swapped", [*value[1:2], *value[:1], *value[2:]]), ("null", None))
    elif isinstance(value, dict):
        yield from (("emptied", {}), ("null", None), ("a list", list(value)))
    else:
        yield from (("a number", 0), ("text", ""), ("true", True), ("a list", []))


def _numbers(value: float) -> Iterator[tuple[str, Any]]:
    yield from ((f"times {factor}", value * factor) for factor in (1.001, 0.999, 0.5, 2.0, -1))
    if isinstance(value, int):
        yield from (("one more", value + 1), ("one less", value - 1), ("doubled", value * 2), ("halved", value // 2))
    yield from (("zero", 0), ("huge", 1e300), ("tiny", 1e-300), ("text", str(value)), ("true", True), ("null", None))
    yield from (("infinite", math.inf), ("no number", math.nan), ("a list", [value]))


def _texts(value: str) -> Iterator[tuple[str, Any]]:
    yield from (("longer", f"{value}x"), ("shorter", value[:-1]), ("empty", ""), ("blank", f" {value}"))
    yield from (("upper", value.upper()), ("another", "another"), ("a number", 1), ("null", None))
    digits = [place for place, character in enumerate(value) if character.isdigit()]
    ends = {digits[0]: "another digit", digits[-1]: "another last digit"} if digits else {}
    for place, how in ends.items():
        yield how, f"{value[:place]}{(int(value[place]) + 1) % 10}{value[place + 1 :]}"


def _same(one: Any, other: Any) -> bool:
    numbers = all(isinstance(value, int | float) and not isinstance(value, bool) for value in (one, other))
    return one == other and (numbers or type(one) is type(other))


def _at(document: Any, path: Path) -> Any:
    for part in path:
        document = document[part]
    return document


def _reaches(document: Any, path: Path) -> bool:
    try:
        _at(document, path)
    except (KeyError, IndexError, TypeError):
        return False
    return True


def _with(document: Any, path: Path, value: Any) -> str:
    return _with_both(document, path, path, value)


def _with_both(document: Any, one: Path, other: Path, value: Any) -> str:
    changed = copy.deepcopy(document)
    for path in (one, other):
        _at(changed, path[:-1])[path[-1]] = value
    return text_of(changed)


def _without(document: Any, path: Path, key: str) -> str:
    changed = copy.deepcopy(document)
    del _at(changed, path)[key]
    return text_of(changed)


def text_of(document: Any) -> str:
    """Return a document as a bundle has it; numbers that are not finite as Python writes them."""
    try:
        return json_text(document)
    except ValueError:
        return json.dumps(document)


def _twice(document: Any, path: Path, key: str) -> str:
    """Return a text in which a key stands twice, first with null."""
    mark = "a key that stands for itself and for the other"
    changed = copy.deepcopy(document)
    holder = _at(changed, path)
    items = [(mark, None), *holder.items()]
    holder.clear()
    holder.update(items)
    return text_of(changed).replace(json.dumps(mark), json.dumps(key), 1)
