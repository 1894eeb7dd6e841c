"""How datasets are drawn from reference rows: the options of `distpriv.model`, and of ``[model]`` in a policy."""

from typing import Any, Literal, get_args

from attrs import field, frozen

from distpriv.errors import InvalidInput, InvalidModel
from distpriv.framework.domains import one_of, whole, yes_or_no
from distpriv.modelling.pools.holding import Holding

__all__ = ["LAW", "Drawing", "Method", "Missing", "Reference"]

Method = Literal["auto", "exact", "sampling"]
"""Exact moments, sampled datasets, or exact moments where every statistic allows it."""

Missing = Literal["refuse", "drop"]
"""What to do about rows of the reference with a null or NaN: refuse those in used columns, or drop those in any column.

Which rows are dropped does not depend on what is asked. The private table keeps all its rows.
"""

Reference = Literal["sample", "population"]
"""What the reference is: a random sample of the population that records come from, or all of that population.

Moments of a sample are off by what its number of rows allows for, and noise is made for that; a population is exactly
as it is.
"""

LAW = ("replacement", "missing", "reference")
"""The options that the law of datasets depends on; the others say how it is found."""


def _draws(value: object) -> int:
    return whole("draws", value, InvalidModel, at_least=2, cure="1000 is little and 100000 is much")


def _seed(value: object) -> int:
    return whole("seed", value, InvalidModel, at_least=0, cure="any whole number will do")


def _pool(value: object) -> int | None:
    cure = "leave it out to hold a million rows of each stratum"
    return None if value is None else whole("pool", value, InvalidModel, at_least=1, cure=cure)


@frozen(kw_only=True)
class Drawing:
    """How datasets are drawn from the reference, and their laws found; each option is described at `distpriv.model`."""

    method: Method = "auto"
    replacement: bool = False
    missing: Missing = "refuse"
    reference: Reference = "sample"
    draws: int = field(default=5000, converter=_draws)
    seed: int = field(default=0, converter=_seed)
    pool: int | None = field(default=None, converter=_pool)
    key: str | None = None

    def __attrs_post_init__(self) -> None:
        one_of("method", self.method, get_args(Method), InvalidModel)
        yes_or_no("replacement", self.replacement, InvalidModel)
        one_of("missing", self.missing, get_args(Missing), InvalidInput)
        one_of("reference", self.reference, get_args(Reference), InvalidModel)
        if self.key is not None and not isinstance(self.key, str):
            raise InvalidModel(f"key must be the name of a column, got {self.key!r}: write key='id', or leave it out.")

    @property
    def law(self) -> dict[str, Any]:
        """The options that the law of datasets depends on, by name: what releases of one dataset must agree in.

        >>> Drawing(draws=200, missing="drop").law
        {'replacement': False, 'missing': 'drop', 'reference': 'sample'}
        """
        return {name: getattr(self, name) for name in LAW}

    @property
    def holding(self) -> Holding:
        """How rows of a large table are chosen to be held in memory."""
        return Holding(rows=self.pool, key=self.key, seed=self.seed)
