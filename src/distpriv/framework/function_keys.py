"""What a Python function computes, as a hash: its code, and everything that the code was given to work with.

Two functions with the same hash compute the same; where that cannot be told, there is no hash. Nothing of it depends on
where things are in memory, so another process finds the same.
"""

import builtins
import copyreg
import dataclasses
import dis
import functools
import hashlib
import importlib.metadata
import json
import platform
import sys
from abc import ABC
from collections.abc import Callable, Iterator
from types import (
    BuiltinFunctionType,
    CodeType,
    FunctionType,
    GetSetDescriptorType,
    MemberDescriptorType,
    MethodType,
    ModuleType,
)
from typing import Any, Generic, Protocol

import numpy as np
from attrs import define, field

from distpriv.errors import InvalidQuery

__all__ = ["function_hash"]

MOST_PARTS = 100_000
"""How many values a function may hold, counting those within others."""

_NAMED = frozenset(["__module__", "__qualname__", "__name__", "__doc__", "__annotations__", "__slots__"])
"""What says how something is called and described, not what it does; code that reads it is not known by itself."""
_BY_PYTHON = frozenset(
    [
        *_NAMED,
        *("__dict__", "__weakref__", "__firstlineno__", "__static_attributes__", "__annotate__", "__annotate_func__"),
        *("__annotations_cache__", "__match_args__", "__hash__", "__abstractmethods__", "_abc_impl", "__parameters__"),
        *("__orig_bases__", "__protocol_attrs__", "__non_callable_proto_members__", "_is_protocol"),
        *("__attrs_attrs__", "__attrs_props__", "__attrs_own_setattr__", "__attrs_base_of_slotted__"),
        *("__dataclass_fields__", "__dataclass_params__", "__getstate__", "__setstate__", "__slotnames__"),
    ]
)
"""Attributes of classes that Python, attrs and dataclasses write themselves."""
_MADE = "<attrs generated"


def function_hash(function: Callable[..., Any], where: str) -> str:
    """Return a hash of what a function computes.

    Raises:
        InvalidQuery: the function holds something that is not known by its value.

    >>> makers = [lambda power: lambda rows: (rows["age"] ** power).mean() for _ in range(2)]
    >>> one, same, other = makers[0](2), makers[1](2), makers[0](3)
    >>> function_hash(one, "f") == function_hash(same, "f"), function_hash(one, "f") == function_hash(other, "f")
    (True, False)
    """
    description = _Description()
    try:
        root = description.of(function)
    except (_UnknownError, RecursionError) as unknown:
        what = str(unknown) if isinstance(unknown, _UnknownError) else "values within each other"
        raise InvalidQuery(
            f"{where}: the function works with {what}, so it cannot be told from others by what it computes: give it a "
            "version, as in function(…, version='1'), and another one whenever it changes."
        ) from None
    text = json.dumps([root, sorted(description.named.items())])
    return hashlib.sha256(text.encode()).hexdigest()


class _UnknownError(Exception):
    """A value that is not known by what it is; the message names it."""


@define
class _Description:
    """Values written as lists and text; what is looked up by name is written once."""

    named: dict[str, Any] = field(factory=dict)
    spaces: list[dict[str, Any]] = field(factory=list)
    path: list[Any] = field(factory=list)
    parts: int = 0

    def of(self, value: Any) -> Any:
        """Return what a value is."""
        self.parts += 1
        if self.parts > MOST_PARTS:
            raise _UnknownError(f"more than {MOST_PARTS:,} values")
        if value is None or value is Ellipsis or value is NotImplemented or type(value) in (bool, int, str):
            return [type(value).__name__, str(value)]
        if type(value) in (float, complex):
            return [type(value).__name__, repr(value)]
        if type(value) in (bytes, bytearray):
            return [type(value).__name__, value.hex()]
        depth = next((len(self.path) - k for k, outer in enumerate(self.path) if outer is value), None)
        if depth is not None:
            return ["within itself", depth]
        self.path.append(value)
        described = self._described(value)
        self.path.pop()
        return described

    def _described(self, value: Any) -> Any:
        if any(value is one for one in _BY_NAME):
            raise _by_name(value.__name__)
        if callable(value) and (known := _library(value)):
            return known
        for kind, rule in _RULES.items():
            if type(value) is kind or (kind not in _EXACTLY and isinstance(value, kind)):
                return rule(self, value)
        return self._object(value)

    def _sequence(self, value: tuple[Any, ...] | list[Any]) -> Any:
        return [type(value).__name__, *(self.of(item) for item in value)]

    def _set(self, value: set[Any] | frozenset[Any]) -> Any:
        return [type(value).__name__, *sorted(json.dumps(self.of(item)) for item in value)]

    def _dictionary(self, value: dict[Any, Any]) -> Any:
        return ["dict", *([self.of(key), self.of(item)] for key, item in value.items())]

    def _module(self, value: ModuleType) -> Any:
        version = _version(value.__name__)
        if version is None or value.__name__.partition(".")[0] in _OF_EVERYTHING:
            raise _UnknownError(f"the module {value.__name__}")
        return ["module", value.__name__, version]

    def _method(self, value: MethodType | BuiltinFunctionType) -> Any:
        return ["method", self.of(getattr(value, "__func__", value.__name__)), self.of(value.__self__)]

    def _partial(self, value: functools.partial[Any]) -> Any:
        return ["partial", self.of(value.func), self.of(value.args), self.of(value.keywords), self.of(vars(value))]

    def _cached(self, value: Any) -> Any:
        return ["cached", self.of(value.__wrapped__)]

    def _wrapped(self, value: "staticmethod[Any, Any] | classmethod[Any, Any, Any]") -> Any:
        return [type(value).__name__, self.of(value.__func__)]

    def _property(self, value: property) -> Any:
        return ["property", self.of(value.fget)]

    def _array(self, value: np.ndarray[Any, Any] | np.generic) -> Any:
        array, kind = np.asarray(value), type(value).__name__
        if array.dtype.hasobject:
            return [kind, str(array.dtype), list(array.shape), *(self.of(item) for item in array.ravel().tolist())]
        fields = array.dtype.str if array.dtype.names is None else _fields(array.dtype)
        return [kind, fields, list(array.shape), hashlib.sha256(array.tobytes()).hexdigest()]

    def _code(self, code: CodeType) -> Any:
        sizes = [code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags]
        names = [list(code.co_names), list(code.co_varnames), list(code.co_freevars), list(code.co_cellvars)]
        run = [code.co_code.hex(), code.co_exceptiontable.hex()]
        return ["code", platform.python_version_tuple()[:2], *sizes, *names, *run, [self.of(c) for c in code.co_consts]]

    def _function(self, function: FunctionType) -> Any:
        cells = [self._cell(cell) for cell in function.__closure__ or ()]
        if _version(str(function.__globals__.get("__name__"))) is None:  # libraries are known by their versions
            _refuse_finding_by_name(function)
        looked_up = [self._global(function, name) for name in sorted(set(_looked_up(function.__code__)))]
        given = [self.of(function.__defaults__), self.of(function.__kwdefaults__), self.of(vars(function))]
        return ["function", self.of(function.__code__), cells, given, looked_up]

    def _cell(self, cell: Any) -> Any:
        try:
            held = cell.cell_contents
        except ValueError:
            return ["nothing yet"]
        return self.of(held)

    def _global(self, function: FunctionType, name: str) -> Any:
        """Describe what a function finds under a name; names it does not find are builtins, or fail."""
        space = function.__globals__
        if name not in space:
            return ["builtin", name]
        place = next((k for k, known in enumerate(self.spaces) if known is space), len(self.spaces))
        if place == len(self.spaces):
            self.spaces.append(space)
        key = f"{place} {name}"
        if key not in self.named:
            self.named[key] = None
            self.named[key] = self.of(space[name])
        return ["global", key]

    def _class(self, kind: type) -> Any:
        own = [[name, self.of(held)] for name, held in sorted(vars(kind).items()) if not _made(kind, name, held)]
        above = None if type(kind) is type else self.of(type(kind))
        return ["class", kind.__qualname__, [self.of(base) for base in kind.__bases__], own, above]

    def _object(self, value: Any) -> Any:
        """Describe an object by its class and attributes, and by what pickling keeps of it where that can be more."""
        kind = type(value)
        if _version(kind.__module__) is not None:
            return ["object", *self._reduced(value)]
        state = [[name, self.of(held)] for name, held in _state(value)]
        foreign = [base for base in kind.__mro__ if base not in _EMPTY and _version(base.__module__) is not None]
        return ["object", self.of(kind), state, self._reduced(value) if foreign else None]

    def _reduced(self, value: Any) -> list[Any]:
        reduce: Callable[[Any], Any] = copyreg.dispatch_table.get(type(value), lambda held: held.__reduce_ex__(4))
        try:
            reduced = reduce(value)
        except Exception:  # whatever it is, nothing tells the object's value
            reduced = None
        if not isinstance(reduced, tuple):
            raise _UnknownError(f"a {type(value).__module__}.{type(value).__qualname__}")
        if isinstance(value, set | frozenset):  # whose items have another order in another process
            reduced = tuple(_without_order(part) for part in reduced)
        if reduced[0] is getattr:  # an attribute of what follows, which is described
            reduced = ("attribute", *reduced[1:])
        return [self.of(list(part) if isinstance(part, Iterator) else part) for part in reduced]


_BY_NAME = (eval, exec, globals, locals, vars, getattr, setattr, __import__, compile)
"""What can reach anything by a text, so that code does not tell what is computed."""
_OF_EVERYTHING = frozenset(["builtins", "importlib", "runpy", "sys"])
"""Modules that lead to every other one."""
_EMPTY = (object, ABC, Generic, Protocol)
"""Classes of Python that hold nothing."""
_EXACTLY = (tuple, list, set, frozenset, dict, np.ndarray)
"""Kinds whose subclasses can hold more."""

_RULES: dict[type, Callable[[_Description, Any], Any]] = {
    tuple: _Description._sequence,
    list: _Description._sequence,
    set: _Description._set,
    frozenset: _Description._set,
    dict: _Description._dictionary,
    np.ndarray: _Description._array,
    np.generic: _Description._array,
    CodeType: _Description._code,
    ModuleType: _Description._module,
    FunctionType: _Description._function,
    MethodType: _Description._method,
    BuiltinFunctionType: _Description._method,
    functools.partial: _Description._partial,
    staticmethod: _Description._wrapped,
    classmethod: _Description._wrapped,
    property: _Description._property,
    type: _Description._class,
    type(functools.lru_cache(len)): _Description._cached,
}


def _looked_up(code: CodeType) -> Iterator[str]:
    """Return the names that code looks up outside of itself, in functions within it too."""
    for instruction in dis.get_instructions(code):
        if instruction.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
            yield str(instruction.argval)
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _looked_up(constant)


def _refuse_finding_by_name(function: FunctionType) -> None:
    """Refuse code that can come to use something that is not seen in it."""
    for module in _imported(function.__code__):
        if _version(module) is None or module.partition(".")[0] in _OF_EVERYTHING:
            raise _UnknownError(f"the module {module}, which it imports")
    for name in _looked_up(function.__code__):
        if name not in function.__globals__ and any(getattr(builtins, name, None) is one for one in _BY_NAME):
            raise _by_name(name)
    if read := next(_names_read(function.__code__), None):
        raise _UnknownError(f"{read}, which says what something is called and not what it does")


def _names_read(code: CodeType) -> Iterator[str]:
    """Return what code reads of names and descriptions, in functions within it too."""
    for instruction in dis.get_instructions(code):
        if instruction.opname in ("LOAD_ATTR", "LOAD_METHOD") and instruction.argval in _NAMED:
            yield str(instruction.argval)
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names_read(constant)


def _by_name(name: str) -> _UnknownError:
    return _UnknownError(f"{name}, which finds things by their names")


def _imported(code: CodeType) -> Iterator[str]:
    """Return the modules that code imports when it runs; one that is named from where the code is begins with a dot."""
    before = [None, None, *dis.get_instructions(code)]
    for level, _, instruction in zip(before, before[1:], before[2:], strict=False):
        if instruction is not None and instruction.opname == "IMPORT_NAME":
            yield ("." if level is None or level.argval else "") + str(instruction.argval)
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _imported(constant)


def _fields(kind: np.dtype[Any]) -> str:
    """Return the names, types and places of the fields of a structured array."""
    try:
        return str(kind.descr)
    except ValueError:  # fields that overlap or are out of order
        return str(kind)


def _without_order(part: Any) -> Any:
    """Return the items that a set is made again from as a set."""
    if isinstance(part, tuple) and len(part) == 1 and isinstance(part[0], list):
        return (frozenset(part[0]),)
    return part


def _state(value: Any) -> list[tuple[str, Any]]:
    """Return the attributes of an object, in dictionary and slots."""
    slots = [name for kind in type(value).__mro__ for name in _slots(kind)]
    held = {name: getattr(value, name) for name in slots if hasattr(value, name)}
    return sorted({**held, **getattr(value, "__dict__", {})}.items())


def _slots(kind: type) -> list[str]:
    found = [name for name, held in vars(kind).items() if isinstance(held, MemberDescriptorType)]
    return [name for name in found if name not in ("__weakref__", "__dict__")]


def _made(kind: type, name: str, held: Any) -> bool:
    """Tell whether an attribute of a class was made by Python, attrs or dataclasses, from what is described anyway."""
    if isinstance(held, MemberDescriptorType | GetSetDescriptorType):
        return True
    if name in _BY_PYTHON and not isinstance(held, FunctionType | staticmethod | classmethod):
        return True
    held = getattr(held, "__wrapped__", held) if name == "__repr__" else held  # dataclasses guard theirs
    file = held.__code__.co_filename if isinstance(held, FunctionType) else ""
    return file.startswith(_MADE) or (dataclasses.is_dataclass(kind) and file == "<string>" and name.startswith("__"))


def _library(value: Any) -> list[str] | None:
    """Return the name and version of something that a library has under its name; nothing for anything else."""
    home = getattr(value, "__module__", None)
    name = getattr(value, "__qualname__", None) or getattr(value, "__name__", None)
    if isinstance(value, np.ufunc):  # which do not say where they are from
        home = "numpy" if getattr(np, value.__name__, None) is value else "scipy.special"
    if not isinstance(home, str) or not isinstance(name, str) or (version := _version(home)) is None:
        return None
    found: Any = sys.modules.get(home)
    for step in name.split("."):
        found = getattr(found, step, None)
    return ["library", home, name, version] if found is value else None


@functools.cache
def _version(module: str) -> str | None:
    """Return the version of an installed library, or of Python for its own; nothing for code that may change."""
    top = module.partition(".")[0]
    if top in sys.stdlib_module_names and top != "__main__":
        return platform.python_version()
    found = []
    for name in sorted(set(_distributions().get(top, ()))):
        distribution = importlib.metadata.distribution(name)
        if '"editable": true' in (distribution.read_text("direct_url.json") or ""):
            return None
        found.append(f"{name} {distribution.version}")
    return ", ".join(found) or None


@functools.cache
def _distributions() -> dict[str, list[str]]:
    return dict(importlib.metadata.packages_distributions())
