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

from distpriv.workflow.toml_writing import toml_key

__all__ = ["KeyPath", "Place", "Places", "places", "shown"]

KeyPath = tuple[str | int, ...]
"""How to reach a value: keys of tables, and numbers of the elements of arrays."""

_BLANK = re.compile(r"[ \t]*")
_BETWEEN = re.compile(r"(?:[ \t\n]+|#[^\n]*)*")
_COMMENT = re.compile(r"#[^\n]*")
_KEY = re.compile(r"""[A-Za-z0-9_-]+|"(?:[^"\\\n]|\\.)*"|'[^'\n]*'""")
_TEXT = re.compile(
    r'''"""(?:[^\\]|\\.)*?"""(?:"{0,2})|\'\'\'.*?\'\'\'(?:'{0,2})|"(?:[^"\\\n]|\\.)*"|'[^'\n]*\'''', re.DOTALL
)
_BARE = re.compile(r"[^,\[\]{}#\n]*[^,\[\]{}#\n \t]")


@frozen
class Place:
    """From where to where a value stands in the text, and the line on which its key does."""

    line: int
    start: int
    end: int


@frozen(kw_only=True)
class Places:
    """The places of all tables and values by their paths, and of all comments; empty when they are not known."""

    of: Mapping[KeyPath, Place] = field(factory=dict)
    comments: tuple[tuple[int, int], ...] = ()

    def line(self, path: KeyPath) -> int | None:
        """Return the line of a key, or of the nearest table around it that is there."""
        while path:
            if path in self.of:
                return self.of[path].line
            path = path[:-1]
        return None


def places(text: str, document: Mapping[str, Any]) -> Places:
    r"""Return where everything in a document stands in its text, whose lines end in ``\n``.

    >>> text = "[a]\nb = 1\n[[c]]\nd = {e = [2]}"
    >>> places(text, tomllib.loads(text)).of[("c", 0, "d", "e", 0)].line
    4
    """
    scanner = _Scanner(text=text)
    try:
        scanner.document()
    except (_Lost, RecursionError):
        return Places()
    if set(scanner.found) != set(_paths(document, ())):
        return Places()
    return Places(of=scanner.found, comments=tuple(scanner.comments))


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
    found: dict[KeyPath, Place] = field(factory=dict)
    comments: list[tuple[int, int]] = field(factory=list)
    _lengths: dict[KeyPath, int] = field(factory=dict)

    def document(self) -> None:
        """Go through all statements."""
        table: KeyPath = ()
        self._between()
        while self.at < len(self.text):
            if self.text[self.at] == "[":
                table = self._header()
            else:
                self._assignment(table)
            self._between()

    def _header(self) -> KeyPath:
        start = self.at
        repeated = self.text.startswith("[[", start)
        self.at += 2 if repeated else 1
        path: KeyPath = ()
        for key in self._keys():
            self._note((*path, key), start)
            path = self._newest((*path, key))
        if repeated:
            array = path[:-1] if isinstance(path[-1], int) else path
            self._lengths[array] = self._lengths.get(array, 0) + 1
            path = (*array, self._lengths[array] - 1)
        self._take("]]" if repeated else "]")
        self.found[path] = self._place(start)
        return path

    def _newest(self, path: KeyPath) -> KeyPath:
        """Return the path of the newest element when the path is that of an array of tables."""
        return (*path, self._lengths[path] - 1) if path in self._lengths else path

    def _assignment(self, table: KeyPath) -> None:
        start, path = self.at, table
        for key in self._keys():
            path = (*path, key)
            self._note(path, start)
        self._take("=")
        self._value(path)

    def _keys(self) -> Iterator[str]:
        """Yield the parts of a dotted key, and stop behind it."""
        while True:
            self._blank()
            key = self._match(_KEY)
            yield tomllib.loads(f"key = {key}")["key"] if key[0] in "\"'" else key
            self._blank()
            if not self.text.startswith(".", self.at):
                return
            self.at += 1

    def _value(self, path: KeyPath) -> None:
        """Go through a value whose path is noted already."""
        self._between()
        start = self.at
        opening = self.text[self.at : self.at + 1]
        if opening == "[":
            self._elements(path)
        elif opening == "{":
            self._inline_table(path)
        else:
            self._match(_TEXT if opening in {'"', "'"} else _BARE)
        self.found[path] = Place(self.found[path].line, start, self.at)

    def _elements(self, path: KeyPath) -> None:
        for number, _ in enumerate(self._separated("[", "]")):
            self._note((*path, number), self.at)
            self._value((*path, number))

    def _inline_table(self, path: KeyPath) -> None:
        for _ in self._separated("{", "}"):
            self._assignment(path)

    def _separated(self, opening: str, closing: str) -> Iterator[None]:
        """Yield at each item between brackets, and stop behind the closing one."""
        self._take(opening)
        self._between()
        while not self.text.startswith(closing, self.at):
            yield
            self._between()
            if self.text.startswith(",", self.at):
                self.at += 1
                self._between()
            elif not self.text.startswith(closing, self.at):
                raise _Lost
        self._take(closing)

    def _note(self, path: KeyPath, start: int) -> None:
        self.found.setdefault(path, self._place(start))

    def _place(self, start: int) -> Place:
        return Place(self.text.count("\n", 0, start) + 1, start, start)

    def _between(self) -> None:
        """Skip blanks, line ends and comments."""
        found = _BETWEEN.match(self.text, self.at)
        assert found is not None
        self.comments.extend(comment.span() for comment in _COMMENT.finditer(self.text, self.at, found.end()))
        self.at = found.end()

    def _blank(self) -> None:
        found = _BLANK.match(self.text, self.at)
        assert found is not None
        self.at = found.end()

    def _take(self, expected: str) -> None:
        self._blank()
        if not self.text.startswith(expected, self.at):
            raise _Lost
        self.at += len(expected)

    def _match(self, pattern: re.Pattern[str]) -> str:
        found = pattern.match(self.text, self.at)
        if found is None:
            raise _Lost
        self.at = found.end()
        return found.group()


def _paths(value: Any, path: KeyPath) -> Iterator[KeyPath]:
    """Yield the paths of everything in a value."""
    items = value.items() if isinstance(value, Mapping) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield (*path, key)
        yield from _paths(item, (*path, key))
