"""Write tests/public_api.txt: every public name with its signature, so that no change of them goes unnoticed.

Usage: python -m scripts.api_snapshot
"""

import inspect
import re
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

import distpriv
from distpriv import datasets, distances, errors, mechanisms

__all__ = ["FILE", "snapshot"]

FILE = Path(__file__).parents[1] / "tests" / "public_api.txt"
PACKAGES = (distpriv, datasets, distances, mechanisms, errors)


def snapshot() -> str:
    """Return the public surface as lines of text, sorted, one a name."""
    lines = {line for package in PACKAGES for name in package.__all__ for line in _lines(package, name)}
    return "\n".join(sorted(lines)) + "\n"


def _lines(package: ModuleType, name: str) -> list[str]:
    thing, path = getattr(package, name), f"{package.__name__}.{name}"
    if isinstance(thing, ModuleType):
        return [f"{path}: module"]
    if not isinstance(thing, type):
        return [f"{path}{_signature(thing)}" if callable(thing) else f"{path}: {type(thing).__name__}"]
    if issubclass(thing, BaseException):
        return [f"{path}: error, a kind of {thing.__mro__[1].__name__}"]
    members = [(key, inspect.getattr_static(thing, key)) for key in dir(thing) if not key.startswith("_")]
    return [f"{path}{_signature(thing)}", *(f"{path}.{key}{_member(value)}" for key, value in members)]


def _member(member: Any) -> str:
    if isinstance(member, classmethod | staticmethod):
        return _signature(member.__func__)
    return _signature(member) if isinstance(member, FunctionType) else ": attribute"


def _signature(thing: Any) -> str:
    """Return names, kinds and defaults of parameters, without types, which the type checker sees to."""
    parameters = inspect.signature(thing).parameters.values()
    shown = [
        each.replace(annotation=inspect.Parameter.empty) for each in parameters if each.name not in {"self", "cls"}
    ]
    return re.sub(r"<function (\w+) at 0x\w+>", r"\1", str(inspect.Signature(shown)))


if __name__ == "__main__":
    FILE.write_text(snapshot(), encoding="utf-8")
