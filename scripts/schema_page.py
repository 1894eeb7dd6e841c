"""Write docs/reference/schemas/*.json, and what is in them to docs/reference/schemas.md.

Usage: python -m scripts.schema_page
"""

import json
from pathlib import Path
from typing import Any

from scripts.generated import replaced
from scripts.json_schemas import SCHEMAS, schema_text

Schema = dict[str, Any]

__all__ = ["FOLDER", "PAGE", "kind", "page_text"]

FOLDER = Path(__file__).parents[1] / "docs" / "reference" / "schemas"
PAGE = FOLDER.parent / "schemas.md"
ELSEWHERE = {
    "policy": "Its keys are those of [the policy file](policy.md).",
    "release_output": "As [release](#release), without `evidence`, and with `repeated` and the folder, `bundle`.",
}
"""Schemas whose keys are explained at another place."""


def page_text(page: str) -> str:
    """Return the page with the keys of every schema on it."""
    documents = [
        f"## {name}\n\n{schema['title']}: [{name}.json](schemas/{name}.json).\n\n{ELSEWHERE.get(name) or keys(schema)}"
        for name, schema in SCHEMAS.items()
    ]
    shared = {
        name: part for of, whole in SCHEMAS.items() if of != "policy" for name, part in whole.get("$defs", {}).items()
    }
    parts = [f"### {name}\n\n{part['description']}\n\n{keys(part)}" for name, part in sorted(shared.items())]
    return replaced(page, "schemas", "\n\n".join([*documents, "## Parts of several", *parts]))


def keys(schema: Schema) -> str:
    """Return a table of the keys of an object."""
    rows = [
        f"| `{key}` | {kind(value)} | {value.get('description', '')} |" for key, value in schema["properties"].items()
    ]
    return "\n".join(["| key | is | |", "|---|---|---|", *rows])


def kind(schema: Schema) -> str:  # noqa: PLR0911 - a case for each word
    """Return in a few words what a schema allows.

    >>> kind({"anyOf": [{"type": "array", "items": {"type": "string"}}, {"type": "null"}]})
    'list of text or null'
    """
    names = {"string": "text", "boolean": "true or false", "integer": "whole number", "object": "object"}
    match schema:
        case {"$ref": place}:
            return str(place).rpartition("/")[2]
        case {"const": value}:
            return f"`{json.dumps(value)}`"
        case {"enum": values}:
            return " or ".join(f"`{json.dumps(value)}`" for value in values)
        case {"anyOf": choices} | {"oneOf": choices}:
            return " or ".join(map(kind, choices))
        case {"type": "array", "prefixItems": items}:
            return f"list of {len(items)} {kind(items[0])}"
        case {"type": "array", "items": items}:
            return f"list of {kind(items)}"
        case {"type": "object", "additionalProperties": True}:
            return "object"
        case {"type": "object", "additionalProperties": {}}:
            return f"{kind(schema['additionalProperties'])} by name"
        case {"type": "object", "properties": {**keys}}:
            return "object: " + ", ".join(f"`{key}`" for key in keys)
        case {"type": name}:
            return names.get(str(name), str(name))
    return "anything"


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for name in SCHEMAS:
        (FOLDER / f"{name}.json").write_text(schema_text(name), encoding="utf-8")
    PAGE.write_text(page_text(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
