"""Any Python function of the columns; its law is sampled, and nothing is known of it but what was seen."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from attrs import field, frozen
from numpy.typing import NDArray

from distpriv.errors import InvalidQuery
from distpriv.framework.arrays import Floats
from distpriv.framework.domains import items, whole
from distpriv.framework.statistics.statistic import Form, Statistic, resolution_of

__all__ = ["FunctionOfRows", "function"]


@frozen(kw_only=True)
class FunctionOfRows(Statistic):
    """A Python function of the columns of one dataset, with one number or `size` numbers as its value; by `function`.

    >>> import numpy as np
    >>> import distpriv as dp
    >>> oldest = dp.function(lambda rows: rows["age"].max(), columns=["age"])
    >>> oldest.columns, oldest.size, oldest.callable({"age": np.array([20, 61])}).item()
    (('age',), 1, 61)
    """

    callable: Callable[[Mapping[str, NDArray[Any]]], Any]
    """Gets ``{column: array}`` for one dataset."""
    columns: tuple[str, ...]
    """The columns it reads."""
    size: int = 1
    """How many numbers it returns."""
    named_by_number: bool = False
    """Whether its numbers are named ``key_1 … key_k`` rather than by the key alone."""
    resolution: float | None = field(default=None, converter=resolution_of)
    """The spacing of its values; found on sampled values when None."""
    version: str | None = None
    """What a ledger knows the function by, together with its name."""

    @property
    def form(self) -> Form:
        return _FORM

    def evaluate(self, *values: NDArray[Any]) -> Floats:
        """Call the function on one dataset, given by its columns."""
        return np.asarray(self.callable(dict(zip(self.columns, values, strict=True))), dtype=np.float64)

    def steps(self, records: int, resolutions: Sequence[float]) -> list[float]:  # noqa: ARG002 - all share one signature
        """Return the spacing of the values: the coarser of what is declared and what was seen."""
        return [max(self.resolution or 0.0, found) for found in resolutions]

    def record_sensitivities(self, records: int, bounds: Sequence[tuple[float, float]]) -> list[float]:  # noqa: ARG002
        return [np.inf] * self.size

    def names(self, key: str) -> tuple[str, ...]:
        """Return what its numbers are called: numbered if their number was given, even one."""
        return (f"{key}_1",) if self.named_by_number and self.size == 1 else super().names(key)

    @property
    def text(self) -> str:
        """There is none of Python code."""
        raise InvalidQuery("a Python function has no text: name it in code, not in a policy.")

    def to_dict(self) -> dict[str, Any]:
        """Return what a ledger knows the function by, from which it cannot be made again."""
        return {
            "kind": self.form.word,
            "function": _called(self.callable),
            "version": self.version,
            "columns": list(self.columns),
            "size": self.size,
        }


def _called(function: Any) -> str:
    """Return the qualified name of a function, or of what a partial or an object calls."""
    if isinstance(function, partial):
        return _called(function.func)
    return str(getattr(function, "__qualname__", type(function).__qualname__))


def function(
    callable: Callable[[Mapping[str, NDArray[Any]]], Any],  # noqa: A002 - the name the public surface gives it
    columns: Iterable[str],
    *,
    size: int | None = None,
    resolution: float | None = None,
    version: str | None = None,
) -> FunctionOfRows:
    """Return any function of the rows, such as a median of ratios or a trained model's coefficients.

    Args:
        callable: gets ``{column: array}`` for one dataset, rows in random order, and returns a number or,
            with `size`, that many numbers. It runs in other processes; a lambda will do.
        columns: the columns it reads.
        size: how many numbers it returns; they are named ``key_1 … key_k`` after the query's key.
        resolution: the spacing of its values, if they are on a lattice; found on sampled values when not given.
        version: names the function in a ledger, together with the name of the statistic and the function's own. A
            release with a ledger needs one; without a ledger it may be left out. Whoever changes the function, or
            anything that it works with, changes the version: code is not compared, and using a version for another
            function is an assertion by the curator that both compute the same. The other function then gets the stored
            answer of the first, which is post-processing and costs nothing; one function under two versions is two
            queries, and costs what two queries cost.

    Raises:
        InvalidQuery: there is nothing to call, or no column to read.

    >>> import distpriv as dp
    >>> ends = dp.function(lambda rows: [rows["age"].min(), rows["age"].max()], columns=["age"], size=2)
    >>> dp.Query(age=ends).names
    ('age_1', 'age_2')
    """
    if not hasattr(callable, "__call__"):  # noqa: B004 - the builtin is shadowed by the parameter
        raise InvalidQuery(f"function() needs something to call, got {callable!r}: pass a Python function.")
    if not (names := items(columns)) or not all(isinstance(name, str) for name in names):
        raise InvalidQuery(f"function() needs the names of its columns, got {columns!r}: write columns=['age'].")
    wanted = 1 if size is None else whole("size", size, InvalidQuery, at_least=1, cure="count the numbers returned")
    if version is not None and (not isinstance(version, str) or not version.strip()):
        raise InvalidQuery(f"the version of a function is text, got {version!r}: write version='1'.")
    return FunctionOfRows(
        callable=callable,
        columns=names,
        size=wanted,
        named_by_number=size is not None,
        resolution=resolution,
        version=version,
    )


_FORM = Form(word="function", make=function, texts=(), example="function(…)")
