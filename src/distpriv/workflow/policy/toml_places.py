"""Where things stand in a TOML text: `tomllib` says what a document holds, this says on which line.

A text is read statement by statement, each by `tomllib` itself, and a list that goes on for several lines as far as it
is there. The keys found are held against the document, and where the two differ there are no places at all: a message
without a line is better than one with a wrong one.
"""

import tomllib
from collections.abc import Iterator, Mapping
from typing import Any

from attrs import define, field, frozen

from distpriv.workflow.policy.toml_writing import toml_key

__all__ = ["KeyPath", "Places", "places", "shown"]

KeyPath = tuple[str | int, ...]
"""How to reach a value: keys of tables, and numbers of the elements of arrays."""

MOST_LINES = 300
"""Of one statement: what it holds on which line is not looked for in longer ones."""

_CLOSING = ("", "]", "]]", "]]]")


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

    >>> text = "[a]\nb = 1\n[[c]]\nd = [\n2]"
    >>> places(text, tomllib.loads(text)).of[("c", 0, "d", 0)]
    5
    """
    found, lines = _Found(), text.split("\n")
    start = unread = 0
    for end in range(1, len(lines) + 1):
        if end - start > MOST_LINES:
            return Places()
        part, whole = _read("\n".join(lines[start:end]))
        if part is not None:
            found.add(part, unread + 1, header=lines[start].lstrip().startswith("["))
            start, unread = end if whole else start, end
    return Places(of=found.lines if set(found.lines) == set(_paths(document, ())) else {})


def shown(path: KeyPath) -> str:
    """Return a path as a person writes it, counting from 1.

    >>> shown(("protect", 0, "values"))
    'protect[1].values'
    """
    words = (f"[{part + 1}]" if isinstance(part, int) else f".{toml_key(part)}" for part in path)
    return "".join(words).removeprefix(".")


def _read(statement: str) -> tuple[dict[str, Any] | None, bool]:
    """Return what a statement holds, or the beginning of one, and whether it is whole; nothing in the midst of text."""
    for closing in _CLOSING:
        try:
            return tomllib.loads(f"{statement}\n{closing}"), not closing
        except (tomllib.TOMLDecodeError, RecursionError):
            continue
    return None, False


@define
class _Found:
    """The lines of what has been read so far, and the table that is being filled."""

    lines: dict[KeyPath, int] = field(factory=dict)
    _table: KeyPath = ()
    _lengths: dict[KeyPath, int] = field(factory=dict)

    def add(self, part: dict[str, Any], line: int, *, header: bool) -> None:
        """Note what a statement holds, or holds so far."""
        if header:
            self._table = self._header(part, line)
        for path in () if header else _paths(part, self._table):
            self.lines.setdefault(path, line)

    def _header(self, part: Any, line: int) -> KeyPath:
        """Return the path of a table; of an array of tables the newest is meant, and two brackets begin a new one."""
        path: KeyPath = ()
        while part:
            ((key, part),) = part.items()
            path = (*path, key)
            self.lines.setdefault(path, line)
            if isinstance(part, list):
                self._lengths[path] = self._lengths.get(path, 0) + 1
                part = {}
            if path in self._lengths:
                path = (*path, self._lengths[path] - 1)
        self.lines[path] = line
        return path


def _paths(value: Any, path: KeyPath) -> Iterator[KeyPath]:
    """Yield the paths of everything in a value."""
    items = value.items() if isinstance(value, Mapping) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield (*path, key)
        yield from _paths(item, (*path, key))
