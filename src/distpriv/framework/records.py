"""Frozen values as JSON: what a record is, is said once, by its type; it is written, read strictly and described by it.

An attrs value becomes an object with a key for every field. Where a class has a `kind`, that is its key `law`; what it
names in `DERIVED` is written too, and must follow from the rest when it is read. A field with the metadata
`UNWRITTEN` is left out. pydantic checks what is read against the types, and makes the JSON Schema of them.
"""

import ast
import inspect
import json
import sys
import textwrap
import types
from collections.abc import Iterable, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

import attrs
import numpy as np
from attrs import frozen

from distpriv.errors import DistprivError, InvalidInput
from distpriv.framework.arrays import Floats, Rows

if TYPE_CHECKING:
    from pydantic_core import CoreSchema

__all__ = ["LONGEST", "UNWRITTEN", "Format", "json_text", "plain"]

UNWRITTEN = {"unwritten": True}
"""The metadata of a field that is written down elsewhere."""

LONGEST = 256 * 2**20
"""More bytes than any record has."""

T = TypeVar("T")


def plain(value: Any) -> Any:
    """Return a value as numbers, lists, objects and text.

    >>> from distpriv.noise.laws import GaussianNoise
    >>> plain({"noise": GaussianNoise.isotropic(1, 2.0), "place": (1, None)})
    {'noise': {'law': 'gaussian', 'axes': [[1.0]], 'variances': [4.0]}, 'place': [1, None]}
    """
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    kind: Any = type(value)
    return {key: plain(getattr(value, name)) for key, name in _keys(kind)} if attrs.has(kind) else value


def json_text(value: Any) -> str:
    """Return JSON with a line for every key of the outermost object, the same for the same value.

    Raises:
        ValueError: a number is not finite.

    >>> print(json_text({"a": 1, "b": [2.5, None]}), end="")
    {
    "a": 1,
    "b": [2.5, null]
    }
    """
    lines = [f"{_compact(key)}: {_compact(item)}" for key, item in plain(value).items()]
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _compact(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


@cache
def _keys(kind: Any) -> tuple[tuple[str, str], ...]:
    """Return the keys of a class of values, with the attributes that they hold."""
    fields = [each.name for each in attrs.fields(kind) if not each.metadata.get("unwritten")]
    tag = [("law", "kind")] if isinstance(getattr(kind, "kind", None), str) else []
    return (*tag, *((name, name) for name in (*fields, *getattr(kind, "DERIVED", ()))))


@frozen
class Format(Generic[T]):
    """How values of a class are written and read.

    >>> from distpriv.framework.target import PrivacyTarget
    >>> target = Format(PrivacyTarget)
    >>> target.read('{"epsilon": 1.0, "delta": 0.001}', "a target")
    PrivacyTarget(epsilon=1.0, delta=0.001)
    >>> target.read('{"epsilon": NaN, "delta": 0.001}', "a target")
    Traceback (most recent call last):
    distpriv.errors.InvalidInput: a target is not as it was written, at epsilon: Input should be a finite number.
    >>> sorted(target.json_schema()["properties"])
    ['delta', 'epsilon']
    """

    kind: type[T]

    _known: ClassVar[dict[type, Any]] = {}

    def read(self, content: str | bytes, name: str) -> T:
        """Return what a JSON text holds.

        Raises:
            InvalidInput: it is no such value; a key is missing, unknown or of another type, or a number is not finite.
        """
        from pydantic_core import SchemaValidator, ValidationError

        if len(content) > LONGEST:
            raise InvalidInput(f"{name} has {len(content):,} bytes, more than any record: give it as it was written.")
        if self.kind not in self._known:
            self._known[self.kind] = SchemaValidator(_schema(self.kind))
        try:
            with np.errstate(all="ignore"):  # absurd numbers are refused where they make no sense
                found: T = self._known[self.kind].validate_json(content, strict=True)
        except ValidationError as failure:
            first = failure.errors(include_url=False, include_input=False)[0]
            place = ".".join(str(part) for part in first["loc"] if "[" not in str(part))[:80]
            what = f"{first['msg']:.200}".rstrip(".")
            raise InvalidInput(f"{name} is not as it was written, at {place or 'its beginning'}: {what}.") from None
        except (TypeError, KeyError, RecursionError) as failure:
            raise InvalidInput(f"{name} is not as it was written ({failure}): give it as it was.") from None
        return found

    def of(self, value: Any) -> T:
        """Return the value that `plain` wrote down, from numbers, lists and text."""
        return self.read(_compact(value), f"a {getattr(self.kind, '__name__', 'value')}")

    def json_schema(self) -> dict[str, Any]:
        """Return the JSON Schema of such values, with what is said of their fields."""
        from pydantic.json_schema import GenerateJsonSchema

        found = GenerateJsonSchema().generate(_schema(self.kind, described=True), mode="validation")
        parts = found.get("$defs", {})
        own: dict[str, Any] = parts.pop(str(found.pop("$ref", "")).rpartition("/")[2], {})
        return dict(_untitled({**own, **found}))


def _schema(kind: Any, *, described: bool = False) -> "CoreSchema":
    """Return what pydantic checks a type by."""
    from pydantic_core import core_schema as core

    def inner(part: Any) -> "CoreSchema":
        return _schema(part, described=described)

    simple = {
        Any: core.any_schema(),
        str: core.str_schema(),
        bool: core.bool_schema(),
        int: core.int_schema(ge=-(2**63), lt=2**63),
        float: core.float_schema(allow_inf_nan=False),
        type(None): core.none_schema(),
    }
    if kind in (Floats, Rows):
        number = inner(float if kind == Floats else int)
        rows = core.list_schema(core.union_schema([number, core.list_schema(number)]))
        return core.no_info_after_validator_function(_array if kind == Floats else _whole, rows)
    origin, arguments = get_origin(kind), get_args(kind)
    if kind in simple or origin is Literal:
        return simple[kind] if kind in simple else core.literal_schema(list(arguments))
    if origin in (Union, types.UnionType):
        return core.union_schema([inner(part) for part in arguments], mode="left_to_right")
    if origin is tuple:
        listed = arguments[1:] == (...,)
        several = core.no_info_after_validator_function(tuple, core.list_schema(inner(arguments[0])))
        return several if listed else core.tuple_schema([inner(part) for part in arguments])
    is_object = isinstance(origin, type) and issubclass(origin, Mapping)
    return core.dict_schema(*map(inner, arguments)) if is_object else _object(kind, described=described)


def _object(kind: type, *, described: bool) -> "CoreSchema":
    from pydantic_core import core_schema as core

    hints, said = _types(kind), _described(kind) if described else {}
    keys: dict[str, core.TypedDictField] = {}
    for key, name in _keys(kind):
        if (key, name) == ("law", "kind"):
            schema: CoreSchema = core.literal_schema([getattr(kind, name)])
        else:
            of = hints[name] if name in hints else get_type_hints(getattr(kind, name).fget)["return"]
            schema = _schema(of, described=described)
        updates = {"pydantic_js_updates": {"description": said[name]}} if name in said else {}
        keys[key] = core.typed_dict_field(schema, required=True, metadata=updates)
    whole = core.typed_dict_schema(keys, extra_behavior="forbid", total=True)
    derived, tagged = getattr(kind, "DERIVED", ()), ("law", "kind") in _keys(kind)

    def made(given: dict[str, Any]) -> Any:
        told = {name: given.pop(name) for name in derived}
        if tagged:
            del given["law"]
        try:
            value = kind(**given)
        except DistprivError as refusal:
            raise ValueError(str(refusal)) from None
        wrong = [name for name in derived if plain(getattr(value, name)) != plain(told[name])]
        if wrong:
            raise ValueError(f"{wrong[0]} does not follow from the rest")
        return value

    if not described:
        return core.no_info_after_validator_function(made, whole)
    first = {"description": " ".join((kind.__doc__ or "").partition("\n\n")[0].split())}
    return core.no_info_after_validator_function(
        made, whole, ref=kind.__name__, metadata={"pydantic_js_updates": first}
    )


def _types(kind: type) -> dict[str, Any]:
    """Return the types of the fields that are written down; others may have one that is not imported."""
    known = vars(sys.modules[kind.__module__])
    found = {each.name: each.type for each in attrs.fields(kind) if not each.metadata.get("unwritten")}
    return {name: eval(of, known) if isinstance(of, str) else of for name, of in found.items()}


def _array(rows: Iterable[Any]) -> Floats:
    return np.array(rows, dtype=np.float64)


def _whole(rows: Iterable[Any]) -> Rows:
    return np.array(rows, dtype=np.int64)


def _untitled(schema: Any) -> Any:
    """Return a schema without the titles that are made of keys."""
    if isinstance(schema, list):
        return [_untitled(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    return {key: _untitled(part) for key, part in schema.items() if key != "title" or isinstance(part, dict)}


def _described(kind: type) -> dict[str, str]:
    """Return the text that stands below each attribute of a class, where its source is at hand."""
    (body,) = ast.parse(textwrap.dedent(inspect.getsource(kind))).body
    assert isinstance(body, ast.ClassDef)
    found = {}
    for before, after in zip(body.body, body.body[1:], strict=False):
        if isinstance(before, ast.AnnAssign) and isinstance(before.target, ast.Name) and isinstance(after, ast.Expr):
            found[before.target.id] = " ".join(str(ast.literal_eval(after.value)).split())
    return found
