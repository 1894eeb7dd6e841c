"""The words that schemas are written in."""

from typing import Any

__all__ = [
    "AT_LEAST_0",
    "COUNT",
    "DIGEST",
    "NUMBER",
    "SHARE",
    "TEXT",
    "TIME",
    "TRUTH",
    "VERSION",
    "Schema",
    "by_name",
    "ends",
    "maybe",
    "said",
    "shared",
    "some",
    "table",
]

Schema = dict[str, Any]

TEXT: Schema = {"type": "string"}
NUMBER: Schema = {"type": "number"}
COUNT: Schema = {"type": "integer", "minimum": 0}
TRUTH: Schema = {"type": "boolean"}
SHARE: Schema = {"type": "number", "minimum": 0, "maximum": 1}
AT_LEAST_0: Schema = {"type": "number", "minimum": 0}
TIME: Schema = {"type": "string", "format": "date-time"}
DIGEST: Schema = {"type": "string", "pattern": "^[0-9a-f]{64}$"}
VERSION: Schema = {"type": "string", "pattern": "^[0-9]+([.][0-9]+)*((a|b|rc|[.]post|[.]dev)[0-9]+)*([+][a-z0-9.]+)?$"}


def said(what: str, schema: Schema) -> Schema:
    """Return a schema with a sentence that says what it is."""
    return {"description": what, **schema}


def some(schema: Schema) -> Schema:
    """Return the schema of a list."""
    return {"type": "array", "items": schema}


def ends(schema: Schema) -> Schema:
    """Return the schema of two of a kind."""
    return {**some(schema), "minItems": 2, "maxItems": 2}


def by_name(schema: Schema) -> Schema:
    """Return the schema of an object with names for keys."""
    return {"type": "object", "additionalProperties": schema}


def maybe(schema: Schema) -> Schema:
    """Return the schema of something or null."""
    return {"anyOf": [schema, {"type": "null"}]}


def table(*optional: str, **keys: Schema) -> Schema:
    """Return the schema of an object with these keys and no other; those that are optional may be missing."""
    needed = [key for key in keys if key not in optional]
    return {"type": "object", "properties": keys, "required": needed, "additionalProperties": False}


def shared(name: str) -> Schema:
    """Return a reference to a schema that several others use."""
    return {"$ref": f"#/$defs/{name}"}
