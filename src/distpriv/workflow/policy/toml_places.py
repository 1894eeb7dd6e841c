"""Where things stand in a TOML text: `tomllib` says what a document holds, this says on which line.

The text has been read by tomllib before, so nothing here decides what is valid. The keys found are held against the
document, and where the two differ there are no places at all: a message without a line is better than one with a wrong
one.
"""

import re
import tomllib
from collections.abc import Iterator, Mapping
from typing import Any

from attrs import define, field, frozen

from distpriv.workflow.policy.toml_writing import toml_key

__all__ = ["KeyPath", "Places", "places", "shown"]

KeyPath = tuple[str | int, ...]
"""How to reach a value: keys of tables, and numbers of the elements of arrays."""

_BETWEEN = re.compile(r"(?:[ \t\n]+|#[^\n]*)*")
_PART = re.compile(r"""[A-Za-z0-9_-]+|"(?:[^"\\\n]|\\.)*"|'[^'\n]*'""")
_KEY = re.compile(rf"(?:{_PART.pattern})(?:[ \t]*\.[ \t]*(?:{_PART.pattern}))*")
_TEXT = re.compile(
    r'''"""(?:[^\\]|\\.)*?"""(?:"{0,2})|\'\'\'.*?\'\'\'(?:'{0,2})|"(?:[^"\\\n]|\\.)*"|'[^'\n]*\'''', re.DOTALL
)
_BARE = re.compile(r"[^,\[\]{}#\n]*[^,\[\]{}#\n \t]")


@frozen(kw_only=True)
class Places:
    """The lines of all tables and values by their paths; empty when they are not known."""

    of: Mapping[KeyPath, int] = field(factory=dict)

    def line(self, path: KeyPath) -> int | None:
        """Return the line of a key, or of the nearest table around it that is there."""
        while path:
            if path in self.of:
                return self.of[path]
            path = path[:-1]
        return None


def places(text: str, document: Mapping[str, Any]) -> Places:
    r"""Return on which line everything in a document stands in its text, whose lines end in ``\n``.

    >>> text = "[a]\nb = 1\n[[c]]\nd = {e = [2]}"
    >>> places(text, tomllib.loads(text)).of[("c", 0, "d", "e", 0)]
    4
    """
    scanner = _Scanner(text=text)
    try:
        scanner.document()
    except (_Lost, RecursionError):
        return Places()
    return Places(of=scanner.found if set(scanner.found) == set(_paths(document, ())) else {})


def shown(path: KeyPath) -> str:
    """Return a path as a person writes it, counting from 1.

    >>> shown(("protect", 0, "values"))
    'protect[1].values'
    """
    words = (f"[{part + 1}]" if isinstance(part, int) else f".{toml_key(part)}" for part in path)
    return "".join(words).removeprefix(".")


class _Lost(Exception):
    """The scanner met something that it does not know."""


@define
class _Scanner:
    """One pass over the text, a place at a time."""

    text: str
    at: int = 0
    found: dict[KeyPath, int] = field(factory=dict)
    _lengths: dict[KeyPath, int] = field(factory=dict)

    def document(self) -> None:
        """Go through all statements."""
        table: KeyPath = ()
        while self._rest():
            if self._comes("["):
                table = self._header()
            else:
                self._assignment(table)

    def _header(self) -> KeyPath:
        line, path = self._line, KeyPath()
        self._take("[")
        repeated = self._skip("[")
        for key in self._keys():
            self.found.setdefault((*path, key), line)
            path = (*path, key)
            if path in self._lengths:  # an array of tables, of which the newest is meant
                path = (*path, self._lengths[path] - 1)
        if repeated:
            array = path[:-1] if isinstance(path[-1], int) else path
            self._lengths[array] = self._lengths.get(array, 0) + 1
            path = (*array, self._lengths[array] - 1)
            self._take("]")
        self._take("]")
        self.found[path] = line
        return path

    def _assignment(self, path: KeyPath) -> None:
        line = self._line
        for key in self._keys():
            path = (*path, key)
            self.found.setdefault(path, line)
        self._take("=")
        self._value(path)

    def _keys(self) -> list[str]:
        """Return the parts of a dotted key, and stop behind it."""
        parts = _PART.findall(self._match(_KEY))
        return [tomllib.loads(f"key = {part}")["key"] if part[0] in "\"'" else part for part in parts]

    def _value(self, path: KeyPath) -> None:
        if self._skip("["):
            for number in self._items("]"):
                self.found[*path, number] = self._line
                self._value((*path, number))
        elif self._skip("{"):
            for _ in self._items("}"):
                self._assignment(path)
        else:
            self._match(_TEXT if self._comes('"') or self._comes("'") else _BARE)

    def _items(self, closing: str) -> Iterator[int]:
        """Yield at each item before a closing bracket, and stop behind it."""
        number = 0
        while not self._skip(closing):
            yield number
            number += 1
            if not self._skip(","):
                self._take(closing)
                return

    @property
    def _line(self) -> int:
        self._rest()
        return self.text.count("\n", 0, self.at) + 1

    def _rest(self) -> bool:
        """Skip blanks, line ends and comments, and tell whether anything is left."""
        found = _BETWEEN.match(self.text, self.at)
        assert found is not None
        self.at = found.end()
        return self.at < len(self.text)

    def _comes(self, sign: str) -> bool:
        return self._rest() and self.text[self.at] == sign

    def _skip(self, sign: str) -> bool:
        comes = self._comes(sign)
        self.at += comes
        return comes

    def _take(self, sign: str) -> None:
        if not self._skip(sign):
            raise _Lost

    def _match(self, pattern: re.Pattern[str]) -> str:
        self._rest()
        if (found := pattern.match(self.text, self.at)) is None:
            raise _Lost
        self.at = found.end()
        return found.group()


def _paths(value: Any, path: KeyPath) -> Iterator[KeyPath]:
    """Yield the paths of everything in a value."""
    items = value.items() if isinstance(value, Mapping) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield (*path, key)
        yield from _paths(item, (*path, key))
