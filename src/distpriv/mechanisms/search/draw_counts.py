"""How many coupled datasets are drawn to calibrate noise, and how rows are shared between them."""

import math
from collections.abc import Sequence

from attrs import frozen

from distpriv.errors import InvalidInput, InvalidModel
from distpriv.framework.domains import whole
from distpriv.framework.secrets import Pair
from distpriv.guarantees.mean_bound import least_draws
from distpriv.modelling.model import QueryModel
from distpriv.modelling.pools.held_swap import HeldSwap
from distpriv.modelling.simulator import RowSimulator

__all__ = ["SHAPE_DRAWS", "Pools", "how_many", "pools_of", "shape_draws"]

SHAPE_DRAWS = 100_000
"""How many draws at most choose the shape, of one law."""

MOST_SHAPE_DRAWS = 1_000_000
"""How many draws at most choose the shape, of all laws together."""

MOST_ROWS = 200_000_000
"""How many rows are read for a query that has to be evaluated on whole datasets, unless δ needs more."""

MOST_NUMBERS, MOST_SHAPE_NUMBERS = 50_000_000, 4_000_000
"""How many numbers are drawn of many statistics to test noise, and to choose its shape: fewer datasets of more."""

MOST_CALLS = 50_000
"""How often a function is called to test noise, unless δ needs more."""

SHAPE_DRAWS_OF_FUNCTIONS = 5000
"""How many draws at most choose the shape of noise on what a function returns."""

PILOT_SHARE = 5
"""Which part of the datasets that pools have rows for chooses the noise: one in so many."""

MOST_ROUNDS = 8
"""How often the rows of pools are used to test the noise; more rounds gain little."""


@frozen(kw_only=True)
class Pools:
    """How pools are used: some datasets choose, and those of every round test, independent of each other."""

    said: tuple[str, ...]
    pilot: int
    rounds: int


def how_many(model: QueryModel, laws: int, limit: float, failure: float, given: int | None) -> tuple[int, bool]:
    """Return how many coupled datasets to draw, and whether that is fewer than means would get."""
    assert model.query is not None
    least = least_draws(limit, failure)
    many = int(min(max(1000 / limit, 200_000), 4_000_000))
    cure = f"at least {least:,} draws can show it, and {max(many, 4 * least):,} do so with little noise"
    if given is not None:
        given = whole("draws", given, InvalidInput, at_least=1, cure=cure)
        if given < least:
            raise InvalidInput(f"draws = {given:,} cannot show that delta is below {limit:.3g}: {cure}.")
        return given, given < many
    if model.query.has_exact_moments:
        if many < least:
            raise InvalidInput(f"delta = {limit:.3g} is too small for the usual {many:,} draws: {cure}; give draws=….")
        affordable = max(MOST_NUMBERS // model.dimension, math.ceil(200 / limit), 2 * least)
        return min(many, affordable), affordable < many
    datasets = MOST_CALLS if model.query.has_functions else MOST_ROWS // (model.provenance.records or 1)
    affordable = max(datasets // (2 * laws), 2 * least)
    return min(many, affordable), affordable < many


def shape_draws(statistics: int, laws: int, draws: int, *, functions: bool = False) -> int:
    """Return how many of so many draws of each law choose the shape; fewer where functions are called for each.

    >>> shape_draws(5, 1, 1_000_000), shape_draws(200, 1, 1_000_000), shape_draws(5, 100, 1_000_000)
    (100000, 20000, 10000)
    >>> shape_draws(5, 1, 1_000_000, functions=True)
    5000
    """
    if functions:
        return min(draws, SHAPE_DRAWS_OF_FUNCTIONS)
    return min(draws, SHAPE_DRAWS, max(2000, MOST_SHAPE_DRAWS // laws), max(10_000, MOST_SHAPE_NUMBERS // statistics))


def pools_of(rows: RowSimulator, groups: Sequence[Sequence[Pair]], draws: int, least: int) -> tuple[int, Pools | None]:
    """Return how many datasets to draw in a round, and how pools are used, if not all rows are held."""
    said = rows.pools()
    if not said:
        return draws, None
    limits = [limit for group in groups if (limit := HeldSwap.of(rows, group).datasets) is not None]
    room = min(limits, default=draws + SHAPE_DRAWS)
    pilot = min(max(room // PILOT_SHARE, 1), SHAPE_DRAWS)
    if room - pilot < least:
        times = math.ceil(1.01 * least / (room - pilot)) if room > pilot else 0
        more = f"pools {times} times as large" if times else "much larger pools"
        raise InvalidModel(
            f"the pools have rows for {room:,} independent datasets, and at least {least:,} and a fourth more are "
            f"needed to show that delta is small: give {more} with pool=…, a larger delta, or fewer records."
        )
    each = min(draws, room - pilot)
    return each, Pools(said=said, pilot=pilot, rounds=min(math.ceil(draws / each), MOST_ROUNDS))
