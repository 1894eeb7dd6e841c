"""Keys, text and whole documents as TOML writes them."""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

__all__ = ["toml_document", "toml_key", "toml_string"]

_BARE = re.compile(r"[A-Za-z0-9_-]+")


def toml_string(text: str) -> str:
    r"""Return a text in quotes, on one line whatever is in it.

    >>> print(toml_string('say "é"\n'))
    "say \"é\"\n"
    """
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def toml_key(key: str) -> str:
    """Return a key, in quotes where it needs them.

    >>> print(toml_key("age"), toml_key("age in years"))
    age "age in years"
    """
    return key if _BARE.fullmatch(key) else toml_string(key)


def toml_document(document: Mapping[str, Any]) -> str:
    r"""Return a document as text, a line for every value, and nothing but its values.

    >>> document = {"release": {"records": 100, "statistics": {"age": "mean(age)"}}, "protect": [{"values": [0.4]}]}
    >>> print(toml_document(document), end="")
    [release]
    records = 100
    <BLANKLINE>
    [release.statistics]
    age = "mean(age)"
    <BLANKLINE>
    [[protect]]
    values = [0.4]
    """
    return "\n".join("".join(f"{line}\n" for line in block) for block in _blocks(document, "", "") if block)


def _blocks(table: Mapping[str, Any], name: str, header: str) -> Iterator[list[str]]:
    """Yield the lines of a table, and then those of the tables in it."""
    tables = {key: value for key, value in table.items() if isinstance(value, Mapping) or _are_tables(value)}
    lines = [f"{toml_key(key)} = {_value(value)}" for key, value in table.items() if key not in tables]
    yield [header, *lines] if header else lines
    for key, value in tables.items():
        path = f"{name}.{toml_key(key)}".removeprefix(".")
        for each in value if _are_tables(value) else [value]:
            yield from _blocks(each, path, f"[[{path}]]" if _are_tables(value) else f"[{path}]")


def _are_tables(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(each, Mapping) for each in value)


def _value(value: Any) -> str:
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{toml_key(key)} = {_value(inner)}' for key, inner in value.items())}}}"
    if isinstance(value, list):
        return f"[{', '.join(map(_value, value))}]"
    return toml_string(value) if isinstance(value, str) else str(value).lower()
