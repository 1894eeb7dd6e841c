"""A policy as a bundle may hold it: nothing of where private things are."""

import tomllib
from collections.abc import Iterator, Mapping
from typing import Any

from distpriv.errors import InvalidPolicy
from distpriv.workflow.policy_text import PolicyText

__all__ = ["WITHHELD", "policy_without_private"]

WITHHELD = "(withheld)"
"""What stands in a bundle's policy for the private source and for the ledger's address, which may hold a password."""

_KEYS = (("data", "private"), ("ledger", "url"))


def policy_without_private(text: str, *, name: str = "the policy") -> str:
    r"""Return a policy's text with the private source, the ledger's address and every comment taken out.

    Comments go because anything may stand in them, an old path say. Everything else stays as it was written.

    >>> policy_without_private("[data]  # of the ward\nprivate = 'ward/7.parquet'\nid = 'ward'\n")
    '[data]\nprivate = "(withheld)"\nid = \'ward\'\n'
    """
    file = PolicyText.parse(text, name=name)
    public = file.text
    for start, end, instead in sorted(_edits(file), reverse=True):
        public = public[:start] + instead + public[end:]
    if (file.document and not file.places.of) or tomllib.loads(public) != _expected(file.document):
        raise InvalidPolicy(f"{name} cannot be put into a bundle: write its keys the plain way, key = value on a line.")
    return public


def _edits(file: PolicyText) -> Iterator[tuple[int, int, str]]:
    for key in _KEYS:
        if key in file.places.of:
            place = file.places.of[key]
            yield place.start, place.end, f'"{WITHHELD}"'
    for start, end in file.places.comments:
        before = file.text.rfind("\n", 0, start) + 1
        blank = len(file.text[before:start].rstrip(" \t"))
        yield (before + blank, end, "") if blank else (before, end + 1, "")


def _expected(document: Mapping[str, Any]) -> dict[str, Any]:
    tables = {table: dict(inner) if isinstance(inner, dict) else inner for table, inner in document.items()}
    for table, key in _KEYS:
        if isinstance(inner := tables.get(table), dict) and key in inner:
            inner[key] = WITHHELD
    return tables
