"""Drafts as the page sends them."""

from typing import Any

__all__ = ["draft"]


def draft(**changes: Any) -> dict[str, Any]:
    """Return the choices of a form on the embedded table, with some of them changed."""
    return {
        "table": "embedded:adult",
        "records": 100,
        "statistics": {"age": "mean(age, resolution = 1)", "women": "count(sex = 'Female')"},
        "tables": {},
        "secret": {"share": "income = '>50K'", "values": [0.2, 0.3]},
        "privacy": {"max_attack_accuracy": 0.55},
        "total": None,
        "dataset": "ward-7",
        "private": "private.parquet",
        "file": "policy.toml",
        **changes,
    }
