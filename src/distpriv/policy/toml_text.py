"""A policy as it was written: its text, its values, and the line of each of them for messages."""

import ast
import os
import re
import tomllib
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Self

import tomlkit
from attrs import field, frozen

from distpriv.errors import InvalidInput, InvalidPolicy

__all__ = ["KeyPath", "TomlText", "shown", "toml_line"]

KeyPath = tuple[str | int, ...]
"""How to reach a value: keys of tables, and positions in lists."""

LARGEST_FILE = 2**17
"""In bytes; a policy with a table of a thousand cells has half of that."""

LONGEST_SEARCHED = 2**14
"""In characters: refusals of longer texts have no line, as looking for one takes a reading for each bisection."""

LONGEST_TEXT = 40
"""In lines: behind a longer text in quotes a line may be that of its beginning, and messages come at once."""

_POSITION = re.compile(r" \(at (?:line (\d+), column \d+|end of document)\)$")

_DEEP_KEY = re.compile(r"""(?<![\w.-])(?:(?:[\w-]++|"[^"\n]*+"|'[^'\n]*+')[ \t]*+\.[ \t]*+){16}""")
"""Keys of so many parts are in no policy, and tomllib takes cubic time for them."""

_DECIMAL_COMMAS = re.compile(
    r"""^[ \t]*[\w.-]+[ \t]*=[ \t]*(-?\d+,\d+(?=[ \t]*(?:#|$))|\[[ \t]*-?\d+,\d+(?:,[ \t]+-?\d+,\d+)+[ \t]*\])""",
    re.MULTILINE,
)
"""A number or a list of numbers with commas before their fractions, and a space behind the other commas of a list."""

_OF_MODEL = ("missing", "reference", "replacement", "method")
_ARGUMENT = re.compile(
    r"\b(values|positives|between|within|step|nearest|pairs|by|levels|other|missing|reference|replacement|method)="
    r"(\([^()]*\)|\[[^\[\]]*\]|\{[^{}]*\}|'[^']*'|True|False|[\d.]*\d)"
)
"""How the library advises arguments in Python, of those that are keys of a policy too."""


@frozen(kw_only=True)
class TomlText:
    """A TOML text that says where it is wrong."""

    name: str
    text: str = field(repr=False)
    document: Mapping[str, Any] = field(repr=False)

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Self:
        """Read a file in UTF-8, with or without a byte order mark."""
        name, file = str(path), Path(path).expanduser()
        try:
            if file.name == "release.json" or (file / "release.json").exists():
                raise InvalidPolicy(
                    f"{name!r} is a bundle, not a policy: give the policy that it was released by, or the policy.toml "
                    "in it to plan the same again."
                )
            with file.open("rb") as opened:
                content = opened.read(LARGEST_FILE + 1)
        except FileNotFoundError as failure:
            raise InvalidPolicy(
                f"there is no policy file {name!r}: check the path, or write one by `distpriv init`."
            ) from failure
        except InvalidPolicy:
            raise
        except (OSError, ValueError) as failure:
            reason = failure.strerror if isinstance(failure, OSError) else str(failure)
            raise InvalidPolicy(f"the policy file {name!r} cannot be read ({reason}): give another path.") from failure
        if len(content) > LARGEST_FILE:
            raise InvalidPolicy(f"{name} has more than {LARGEST_FILE:,} bytes: give a policy file.")
        try:
            return cls.parse(content.decode("utf-8-sig"), name=name)
        except UnicodeDecodeError as failure:
            line = content.count(b"\n", 0, failure.start) + 1
            raise InvalidPolicy(f"{name}, line {line}: this is not UTF-8 text: save the file as UTF-8.") from failure

    @classmethod
    def parse(cls, text: str, *, name: str) -> Self:
        """Read a text, or say on which line it is not valid TOML."""
        text = text.removeprefix("\ufeff").replace("\r\n", "\n")
        too_deep = InvalidPolicy(f"{name}: this is nested too deeply: flatten it.")
        if _DEEP_KEY.search(text):
            raise too_deep
        if commas := _DECIMAL_COMMAS.search(text):
            row, written = text.count("\n", 0, commas.start(1)) + 1, commas[1]
            pointed = re.sub(r"(\d),(\d)", r"\1.\2", written)
            raise InvalidPolicy(
                f"{name}, line {row}: {written} has decimal commas: write {pointed}, or a space behind every comma."
            )
        try:
            return cls(name=name, text=text, document=tomllib.loads(text))
        except RecursionError as failure:
            raise too_deep from failure
        except ValueError as failure:
            position = _POSITION.search(str(failure))
            line = position and (position.group(1) or str(text.rstrip("\n").count("\n") + 1))
            what = _POSITION.sub("", str(failure)).partition("\n")[0].rstrip(".")
            place = f"{name}, line {line}" if line else name
            raise InvalidPolicy(f"{place}: this is not valid TOML: {what[:1].lower()}{what[1:]}.") from failure

    def line(self, path: KeyPath) -> int | None:
        """Return the line of a value, or of the nearest table around it: the first whose text up to there has it."""
        while path and not _has(self.document, path):
            path = path[:-1]
        rows = self.text.split("\n")
        lines = range(len(rows) + 1 if path and 0 < len(self.text) < LONGEST_SEARCHED else 0)
        return bisect_left(lines, True, key=lambda end: _has(_beginning(rows[:end]), path)) or None

    def path(self, location: KeyPath) -> KeyPath:
        r"""Return a location without the parts that are not in the document, but for a key at its end that is missing.

        >>> text = TomlText.parse("[release]\nrecords = 1", name="policy.toml")
        >>> text.path(("release", 0, "records")), text.path(("release", "<once>", "statistics"))
        (('release', 'records'), ('release', 'statistics'))
        """
        value: Any = self.document
        path: KeyPath = ()
        for place, part in enumerate(location):
            if isinstance(part, int) if isinstance(value, list) else isinstance(value, Mapping) and part in value:
                value, path = value[part], (*path, part)
            elif isinstance(value, Mapping) and place == len(location) - 1 and str(part)[:1] not in "<[":
                path = (*path, part)
        return path

    def refusal(self, location: KeyPath, sentence: str) -> InvalidPolicy:
        """Return the error that says what is wrong with a key, where it stands or should stand."""
        path = self.path(location)
        line, named = self.line(path), path
        if path[:2] == ("protect", 0) and len(self.document["protect"]) == 1:
            named = (path[0], *path[2:])  # the only [[protect]] needs no number
        key = shown(named) if named else ""
        place = [self.name, *([f"line {line}"] if line else []), *([key] if key else [])]
        return InvalidPolicy(f"{', '.join(place)}: {_in_toml(sentence)}", key=key)

    @contextmanager
    def at(self, location: KeyPath) -> Iterator[None]:
        """Say of everything that is refused inside where it stands."""
        try:
            yield
        except InvalidPolicy:
            raise
        except InvalidInput as failure:
            raise self.refusal(location, str(failure)) from failure


def shown(path: KeyPath) -> str:
    """Return a path as a person writes it, counting from 1.

    >>> shown(("protect", 0, "values"))
    'protect[1].values'
    """
    words = (f"[{part + 1}]" if isinstance(part, int) else f".{tomlkit.key([part]).as_string()}" for part in path)
    return "".join(words).removeprefix(".")


def toml_line(key: str, value: Any) -> str:
    """Return a key with its value on one line.

    >>> print(toml_line("pairs", [("boom", "bust")]), toml_line("levels", {"sex": ["F"]}), sep="; ")
    pairs = [["boom", "bust"]]; levels = {sex = ["F"]}
    """
    if isinstance(value, Mapping):
        inline = tomlkit.inline_table()
        inline.update(value)
        return f"{tomlkit.key([key]).as_string()} = {inline.as_string()}"
    return f"{tomlkit.key([key]).as_string()} = {tomlkit.item(value).as_string()}"


def _in_toml(sentence: str) -> str:
    """Return a sentence of the library with the arguments that it advises as a policy has them.

    >>> _in_toml("write values=(0.4, 0.5), or replacement=True, or values=(…).")
    'write values = [0.4, 0.5], or replacement = true in [model], or values = […].'
    """

    def written(found: re.Match[str]) -> str:
        place = " in [model]" if found[1] in _OF_MODEL else ""
        try:
            return toml_line(found[1], ast.literal_eval(found[2])) + place
        except (ValueError, SyntaxError):
            return f"{found[1]} = {found[2].replace('(', '[').replace(')', ']')}{place}"

    return _ARGUMENT.sub(written, sentence)


def _beginning(rows: Sequence[str]) -> dict[str, Any]:
    """Return the values of the first rows of a text; rows that end inside of a list close it, those of a text wait."""
    for end in range(len(rows), max(0, len(rows) - LONGEST_TEXT), -1):
        for closing in ("", "]", "]]", "]]]"):
            with suppress(tomllib.TOMLDecodeError, RecursionError):
                return tomllib.loads("\n".join([*rows[:end], closing]))
    return {}


def _has(value: Any, path: KeyPath) -> bool:
    """Tell whether a document has something at a path."""
    for part in path:
        try:
            value = value[part]
        except (LookupError, TypeError):
            return False
    return True
