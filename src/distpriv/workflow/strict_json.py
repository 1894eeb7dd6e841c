"""JSON read strictly: one meaning for every text, finite numbers, no key twice, and nothing that a schema lacks.

The schemas are those of `release_schema`, JSON Schema in a few words, so that what is documented is what is read.
"""

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NoReturn

from distpriv.errors import InvalidInput
from distpriv.framework.domains import is_control
from distpriv.workflow.release_schema import Schema

__all__ = ["LONGEST", "conforming", "strict_json"]

LONGEST = 256 * 2**20
"""More bytes than any bundle's file has."""

DEEPEST = 32
"""More levels than any document has."""

LARGEST = 2**63
"""Whole numbers from here on are none that anything is counted in."""


def strict_json(content: bytes, name: str) -> Any:
    r"""Return what a JSON text holds, or say why it is none that can be trusted to mean one thing.

    Raises:
        InvalidInput: it is no UTF-8 or no JSON, too long or too deep, has a key twice, a number that is not finite, or
            text with characters that are none.

    >>> strict_json(b'{"a": [1, 2.5, null]}', "some.json")
    {'a': [1, 2.5, None]}
    >>> strict_json(b'{"a": 1, "a": 2}', "some.json")
    Traceback (most recent call last):
    distpriv.errors.InvalidInput: some.json has the key 'a' twice in one object: give the file as it was written.
    """

    def refuse(what: str) -> NoReturn:
        raise InvalidInput(f"{name} {what}: give the file as it was written.")

    def number(text: str) -> float:
        value = float(text)
        if not math.isfinite(value):
            refuse(f"has a number that is not finite, {text[:20]}")
        return value

    def whole(text: str) -> int:
        if len(text) > 20 or not -LARGEST < int(text) < LARGEST:
            refuse(f"has a number that is too large, {text[:20]}…")
        return int(text)

    def table(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            keys = [key for key, _ in pairs]
            refuse(f"has the key {next(key for key in keys if keys.count(key) > 1)!r} twice in one object")
        return found

    if len(content) > LONGEST:
        refuse(f"has {len(content):,} bytes, more than any bundle needs")
    try:
        text = content.decode("utf-8")
        read = json.loads(text, object_pairs_hook=table, parse_constant=number, parse_float=number, parse_int=whole)
    except InvalidInput:
        raise
    except (ValueError, RecursionError):
        refuse("is no JSON that can be read")
    if (problem := _unreadable(read)) is not None:
        refuse(problem)
    return read


def _unreadable(document: Any) -> str | None:
    """Return what is wrong with the depth or the text of a document, if anything is."""
    waiting: list[tuple[Any, int]] = [(document, 1)]
    while waiting:
        value, depth = waiting.pop()
        if depth > DEEPEST:
            return f"is nested more than {DEEPEST} levels deep"
        if isinstance(value, str) and any(is_control(character) for character in value):
            return f"has text with a character that is none, in {value[:40]!a}"
        inside = [*value, *value.values()] if isinstance(value, dict) else value if isinstance(value, list) else ()
        waiting.extend((part, depth + 1) for part in inside)
    return None


def conforming(document: Any, schema: Schema, shared: Mapping[str, Schema]) -> str | None:
    """Return where a document differs from its schema, in a few words; nothing if it conforms.

    A whole number is one without a point, and true is no number.

    >>> from distpriv.workflow.release_schema import COUNT, table
    >>> conforming({"position": True}, table(position=COUNT), {})
    'position must be a whole number, got True'
    >>> conforming({"position": 1, "of": 2}, table(position=COUNT), {})
    "there is no key 'of' in it"
    """
    return next(_differences(document, schema, shared, ()), None)


Path = tuple[str | int, ...]


def _differences(value: Any, schema: Schema, shared: Mapping[str, Schema], path: Path) -> Iterator[str]:
    if "$ref" in schema:
        yield from _differences(value, shared[schema["$ref"].rpartition("/")[2]], shared, path)
        return
    choices = schema.get("anyOf") or schema.get("oneOf")
    if choices is not None:
        found = [list(_differences(value, choice, shared, path)) for choice in choices]
        if all(found):
            yield min(zip(found, choices, strict=True), key=lambda pair: not _meant(value, pair[1]))[0][0]
        return
    if "const" in schema or "enum" in schema:
        allowed = schema.get("enum", [schema.get("const")])
        if not any(type(value) is type(one) and value == one for one in allowed):
            yield f"{_place(path)} must be {' or '.join(map(repr, allowed))}, got {_short(value)}"
        return
    kind = schema["type"]
    if not _is_a(value, kind):
        yield f"{_place(path)} must be {_KINDS[kind][1]}, got {_short(value)}"
    elif kind == "object":
        yield from _in_object(value, schema, shared, path)
    elif kind == "array":
        yield from _in_array(value, schema, shared, path)
    else:
        yield from _out_of_range(value, schema, path)


def _meant(value: Any, schema: Schema) -> bool:
    """Tell whether one of several schemas is the one that a value was meant for: of its kind, or with its law."""
    if "properties" in schema and isinstance(value, dict):
        return all(value.get(key) == of["const"] for key, of in schema["properties"].items() if "const" in of)
    return schema.get("type") != "null"


def _in_object(value: Mapping[str, Any], schema: Schema, shared: Mapping[str, Schema], path: Path) -> Iterator[str]:
    known, others = schema.get("properties", {}), schema.get("additionalProperties", True)
    for key, part in value.items():
        if key in known:
            yield from _differences(part, known[key], shared, (*path, key))
        elif others is False:
            yield f"there is no key {key[:40]!r} in {_place(path)}"
        elif isinstance(others, dict):
            yield from _differences(part, others, shared, (*path, key))
    for key in schema.get("required", ()):
        if key not in value:
            yield f"{_place((*path, key))} is missing"


def _in_array(value: Sequence[Any], schema: Schema, shared: Mapping[str, Schema], path: Path) -> Iterator[str]:
    least, most = schema.get("minItems", 0), schema.get("maxItems", math.inf)
    if not least <= len(value) <= most:
        yield f"{_place(path)} must have {least} elements{'' if most == least else ' at least'}, got {len(value)}"
    for number, part in enumerate(value):
        yield from _differences(part, schema["items"], shared, (*path, number))


def _out_of_range(value: Any, schema: Schema, path: Path) -> Iterator[str]:
    low, high = schema.get("minimum", -math.inf), schema.get("maximum", math.inf)
    if isinstance(value, int | float) and not low <= value <= high:
        yield f"{_place(path)} must be from {low:g} to {high:g}, got {_short(value)}"
    if isinstance(value, str) and "pattern" in schema and not re.fullmatch(schema["pattern"].strip("^$"), value):
        yield f"{_place(path)} is not written as such a text is, got {_short(value)}"


_KINDS: Mapping[str, tuple[tuple[type, ...], str]] = {
    "string": ((str,), "text"),
    "number": ((int, float), "a number"),
    "integer": ((int,), "a whole number"),
    "boolean": ((bool,), "true or false"),
    "array": ((list,), "a list"),
    "object": ((dict,), "an object"),
    "null": ((type(None),), "null"),
}


def _is_a(value: Any, kind: str) -> bool:
    return isinstance(value, _KINDS[kind][0]) and (kind == "boolean" or not isinstance(value, bool))


def _place(path: Path) -> str:
    return ".".join(str(part)[:40] for part in path) or "it"


def _short(value: Any) -> str:
    return f"{value!r:.60}"
