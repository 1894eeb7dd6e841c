"""A policy as a bundle may hold it: nothing of where private things are."""

import tomllib
from collections.abc import Mapping
from typing import Any

from distpriv.workflow.policy.toml_text import PolicyText
from distpriv.workflow.policy.toml_writing import toml_document

__all__ = ["WITHHELD", "holds_nothing_private", "policy_without_private"]

WITHHELD = "(withheld)"
"""What stands in a bundle's policy for the private source and for the ledger's address, which may hold a password."""

_KEYS = (("data", "private"), ("ledger", "url"))


def policy_without_private(document: Mapping[str, Any]) -> str:
    r"""Return the text of a policy without the private source and the ledger's address, written from its values.

    Comments are not among them, as anything may stand in one, an old path say.

    >>> print(policy_without_private({"data": {"private": "ward/7.parquet", "id": "ward"}}), end="")
    [data]
    private = "(withheld)"
    id = "ward"
    """
    return toml_document(_withheld(document))


def holds_nothing_private(file: PolicyText) -> bool:
    """Tell whether a text has neither comments nor private things in it, as earlier versions wrote it or this one."""
    try:
        tomllib.loads(file.text.replace("#", "\N{REPLACEMENT CHARACTER}"))  # which may stand in text and nowhere else
    except tomllib.TOMLDecodeError:
        return False
    return _withheld(file.document) == file.document


def _withheld(document: Mapping[str, Any]) -> dict[str, Any]:
    tables = {table: dict(inner) if isinstance(inner, dict) else inner for table, inner in document.items()}
    for table, key in _KEYS:
        if isinstance(inner := tables.get(table), dict) and key in inner:
            inner[key] = WITHHELD
    return tables
