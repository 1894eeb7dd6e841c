"""Rows as a pandas frame, where pandas is installed."""

from collections.abc import Mapping, Sequence
from typing import Any

from distpriv.errors import InvalidInput

__all__ = ["frame_of"]


def frame_of(rows: Sequence[Mapping[str, Any]], index: str, columns: Sequence[str], otherwise: str) -> Any:
    """Return rows as a frame with one of their values as its index.

    Args:
        rows: what the frame holds.
        index: the key that rows go by.
        columns: all keys, for a frame that has no row.
        otherwise: what gives the same without pandas.

    Raises:
        InvalidInput: pandas is not installed.

    >>> frame_of([{"name": "a", "x": 1}], "name", ["name", "x"], "rows").loc["a", "x"].item()
    1
    """
    try:
        import pandas as pd
    except ImportError as failure:
        raise InvalidInput(
            f"a frame needs pandas, which is not installed here: install it, or use {otherwise}."
        ) from failure
    return pd.DataFrame(list(rows), columns=list(columns)).set_index(index)
