"""Whether datasets for an audit are independent draws from strata of which only samples are held."""

from collections import Counter
from itertools import combinations, product

import polars as pl
import pytest
from scipy import stats

import distpriv as dp
from distpriv.modelling.pools.independent_datasets import IndependentDatasets
from distpriv.modelling.simulator import RowSimulator

# Powers of two: the total of a dataset tells its rows.
TABLE = pl.DataFrame({"x": [1, 2, 4, 8, 16, 32, 64], "s": [True] * 4 + [False] * 3})
NAME = "s @ 0.5"


def datasets(pool: int) -> RowSimulator:
    query, share = dp.Query(x=dp.total("x")), dp.Share("s", values=(0.25, 0.5))
    model = dp.model(TABLE, query, share, records=4, pool=pool)
    assert isinstance(model.simulator, RowSimulator)
    return model.simulator


@pytest.mark.slow
def test_they_are_uniform_over_all_datasets_of_the_strata() -> None:
    rows, found = datasets(3), Counter[int]()
    for seed in range(600):
        drawn = IndependentDatasets(rows=rows.with_other_rows("audit", seed)).samples(NAME, 5, seed)
        assert len(drawn) == 1  # three rows are enough for one dataset of two
        found[round(drawn.item())] += 1
    sides = (combinations([1, 2, 4, 8], 2), combinations([16, 32, 64], 2))
    counts = [found[sum(one) + sum(other)] for one, other in product(*sides)]
    assert sum(counts) == 600
    assert stats.chisquare(counts).pvalue > 1e-4


def test_there_are_as_many_as_the_smallest_sample_has_rows_for() -> None:
    rows = IndependentDatasets(rows=datasets(3))
    assert rows.room(NAME) == 1  # the stratum of three is held whole, that of four is not
    assert rows.room("s @ 0.25") == 3
    assert len(rows.samples("s @ 0.25", 2, 0)) == 2
