"""How many coupled datasets are drawn to calibrate noise."""

import math

from attrs import frozen

from distpriv.errors import InvalidInput
from distpriv.framework.domains import whole
from distpriv.guarantees.mean_bound import least_draws
from distpriv.modelling.model import QueryModel

__all__ = ["SHAPE_DRAWS", "how_many", "shape_draws"]

SHAPE_DRAWS = 100_000
"""How many draws at most choose the shape, of one law."""


@frozen(kw_only=True)
class DrawSettings:
    """What draws may cost, unless δ needs more."""

    shape_draws: int = 1_000_000
    """Draws that choose the shape, of all laws together."""
    shape_numbers: int = 4_000_000
    """Numbers that are drawn of many statistics to choose the shape."""
    shape_calls: int = 5000
    """Draws that choose the shape of noise on what a function returns."""
    rows: int = 200_000_000
    """Rows that are read for a query that has to be evaluated on whole datasets."""
    numbers: int = 50_000_000
    """Numbers that are drawn of many statistics to test noise."""
    calls: int = 50_000
    """Calls of a function to test noise."""


SETTINGS = DrawSettings()


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
        affordable = max(SETTINGS.numbers // model.dimension, math.ceil(200 / limit), 2 * least)
        return min(many, affordable), affordable < many
    datasets = SETTINGS.calls if model.query.has_functions else SETTINGS.rows // (model.provenance.records or 1)
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
        return min(draws, SETTINGS.shape_calls)
    return min(
        draws, SHAPE_DRAWS, max(2000, SETTINGS.shape_draws // laws), max(10_000, SETTINGS.shape_numbers // statistics)
    )
