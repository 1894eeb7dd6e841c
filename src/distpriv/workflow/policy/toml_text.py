"""A policy as it was written: its text, what TOML makes of it, and where everything stands."""

import os
import re
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

from attrs import field, frozen

from distpriv.errors import InvalidInput, InvalidPolicy
from distpriv.workflow.policy.toml_places import KeyPath, Places, places, shown

__all__ = ["PolicyText"]

_POSITION = re.compile(r" \(at (?:line (\d+), column \d+|end of document)\)$")
_ADVICE = {
    "('boom', 'bust')": '["boom", "bust"]',
    "pairs=[": "pairs = [",
    "by=['education', 'sex']": 'by = ["education", "sex"]',
    "levels={'sex': ['F']}": 'levels = {sex = ["F"]}',
    "{'sex': ['F', 'M']}": '{sex = ["F", "M"]}',
    "other=True": "other = true",
    "nearest=True": "nearest = true",
    " within=": " within = ",
    "missing='drop'": 'missing = "drop" in [model]',
    "reference='population'": 'reference = "population" in [model]',
    "reference='sample'": 'reference = "sample" in [model]',
    "replacement=False": "replacement = false",
    "method='sampling'": 'method = "sampling" in [model]',
    "replacement=True": "replacement = true in [model]",
}
"""How the library advises in Python, and how the same is written in a policy."""


@frozen(kw_only=True)
class PolicyText:
    """A TOML text that says where it is wrong."""

    name: str
    text: str = field(repr=False)
    document: Mapping[str, Any] = field(repr=False)
    places: Places = field(repr=False)

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Self:
        """Read a file in UTF-8, with or without a byte order mark."""
        name = str(path)
        try:
            content = Path(path).expanduser().read_bytes()
        except FileNotFoundError as failure:
            raise InvalidPolicy(
                f"there is no policy file {name!r}: check the path, or write one by `distpriv init`."
            ) from failure
        except (OSError, ValueError) as failure:
            reason = failure.strerror if isinstance(failure, OSError) else str(failure)
            raise InvalidPolicy(
                f"the policy file {name!r} cannot be read ({reason}): give the path of a file that can."
            ) from failure
        try:
            return cls.parse(content.decode("utf-8-sig"), name=name)
        except UnicodeDecodeError as failure:
            line = content.count(b"\n", 0, failure.start) + 1
            raise InvalidPolicy(f"{name}, line {line}: this is not UTF-8 text: save the file as UTF-8.") from failure

    @classmethod
    def parse(cls, text: str, *, name: str) -> Self:
        """Read a text, or say where it is no TOML."""
        text = text.removeprefix("\ufeff").replace("\r\n", "\n")
        try:
            document = tomllib.loads(text)
        except RecursionError as failure:
            raise InvalidPolicy(f"{name}: this is TOML that is nested too deeply to be read: flatten it.") from failure
        except ValueError as failure:
            raise InvalidPolicy(_no_toml(name, text, str(failure))) from failure
        return cls(name=name, text=text, document=document, places=places(text, document))

    def refusal(self, path: KeyPath, sentence: str) -> InvalidPolicy:
        """Return the error that says what is wrong with a key, where it stands or should stand."""
        line = self.places.line(path)
        key = shown(self._shortened(path)) if path else ""
        place = [self.name, *([f"line {line}"] if line else []), *([key] if key else [])]
        return InvalidPolicy(f"{', '.join(place)}: {_in_toml(sentence)}", key=key)

    @contextmanager
    def at(self, path: KeyPath) -> Iterator[None]:
        """Say of everything that is refused inside where it stands."""
        try:
            yield
        except InvalidPolicy:
            raise
        except InvalidInput as failure:
            raise self.refusal(path, str(failure)) from failure

    def _shortened(self, path: KeyPath) -> KeyPath:
        """Leave out the number of a [[protect]] that is the only one."""
        only = path[:1] == ("protect",) and len(self.document.get("protect", ())) == 1
        return (path[0], *path[2:]) if only and path[1:2] == (0,) else path


def _in_toml(sentence: str) -> str:
    """Return a sentence of the library with its advice in TOML: ``values=(0.4, 0.5)`` is ``values = [0.4, 0.5]`` here.

    >>> _in_toml("give a larger table or replacement=True.")
    'give a larger table or replacement = true in [model].'
    """
    sentence = re.sub(r"\b(values|positives|between)=\(([^()]*)\)", r"\1 = [\2]", sentence)
    for python, toml in _ADVICE.items():
        sentence = sentence.replace(python, toml)
    return sentence


def _no_toml(name: str, text: str, message: str) -> str:
    """Return what tomllib says, with the line in front; at the end of the document that is the last line."""
    found = _POSITION.search(message)
    line = found and (found.group(1) or str(text.rstrip("\n").count("\n") + 1))
    what = _POSITION.sub("", message).partition("\n")[0].rstrip(".")
    return f"{name}{f', line {line}' if line else ''}: this is no TOML: {what[:1].lower()}{what[1:]}."
