"""A policy as a bundle may hold it: nothing of where private things are."""

from collections.abc import Mapping
from typing import Any

from distpriv.workflow.policy.toml_writing import toml_document

__all__ = ["WITHHELD", "policy_without_private"]

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
    tables = {table: dict(inner) if isinstance(inner, dict) else inner for table, inner in document.items()}
    for table, key in _KEYS:
        if isinstance(inner := tables.get(table), dict) and key in inner:
            inner[key] = WITHHELD
    return toml_document(tables)
