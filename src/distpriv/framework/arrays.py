"""Arrays inside frozen values: read-only copies of floats, compared element by element."""

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
from attrs import AttrsInstance, cmp_using, field, fields
from numpy.typing import NDArray

__all__ = ["Floats", "Rows", "array_field", "completed", "correlations", "frozen_array", "rows_of"]

Floats = NDArray[np.float64]
"""Real numbers."""

T = TypeVar("T", bound=AttrsInstance)

Rows = NDArray[np.int64]
"""Positions of rows in a table."""


def frozen_array(values: object) -> Floats:
    """Return a read-only copy as floats.

    >>> frozen_array([1, 2]).flags.writeable
    False
    """
    array = np.array(values, dtype=np.float64)
    array.setflags(write=False)
    return array


def completed(axes: Floats) -> Floats:
    """Return an orthonormal basis that begins with these orthonormal columns, to the last bit.

    >>> completed(np.array([[0.6], [0.8]])).round(9).tolist()
    [[0.6, -0.8], [0.8, 0.6]]
    """
    basis = np.linalg.qr(axes, mode="complete")[0]
    basis[:, : axes.shape[1]] = axes
    return np.asarray(basis)


def correlations(covariance: Floats) -> tuple[Floats, Floats]:
    """Return the standard deviations, 1 for what does not vary, and the covariance in units of them.

    >>> [part.tolist() for part in correlations(np.array([[4.0, 0.0], [0.0, 0.0]]))]
    [[2.0, 1.0], [[1.0, 0.0], [0.0, 0.0]]]
    """
    deviations = np.sqrt(np.maximum(np.diag(covariance), 0.0))
    units = np.where(deviations > 0, deviations, 1.0)
    return units, np.asarray(covariance / np.outer(units, units))


def rows_of(value: T, chosen: Any) -> T:
    """Return a frozen value with some of the rows of its arrays, all of which have a row for each of many things."""
    made: Callable[..., T] = type(value)
    return made(**{each.name: getattr(value, each.name)[chosen] for each in fields(type(value))})


def array_field(*, optional: bool = False) -> Any:
    """Return an attrs field that holds such an array, or None if it is optional."""
    if optional:
        return field(
            default=None,
            converter=lambda values: None if values is None else frozen_array(values),
            eq=cmp_using(eq=_equal_or_none),
        )
    return field(converter=frozen_array, eq=cmp_using(eq=np.array_equal))


def _equal_or_none(one: Floats | None, other: Floats | None) -> bool:
    return one is other if one is None or other is None else np.array_equal(one, other)
