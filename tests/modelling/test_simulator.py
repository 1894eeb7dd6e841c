import numpy as np
import polars as pl
import pytest

import distpriv as dp
from distpriv.errors import InvalidSecret
from distpriv.modelling.simulator import RowSimulator

TABLE = pl.DataFrame({"x": np.arange(10.0), "s": [True] * 4 + [False] * 6})


def simulator(*values: float, records: int = 5, replacement: bool = False) -> RowSimulator:
    model = dp.model(
        TABLE, dp.Query(x=dp.mean("x")), dp.Share("s", values=values), records=records, replacement=replacement
    )
    assert isinstance(model.simulator, RowSimulator)
    return model.simulator


def test_the_dataset_with_more_positives_swaps_them_for_negatives() -> None:
    more_first = simulator(0.2, 0.6).swap(("s @ 0.6", "s @ 0.2"), "independent")
    assert (more_first.common_out, more_first.common_into, more_first.swapped) == (1, 2, 2)
    assert more_first.out.tolist() == [0, 1, 2, 3]
    fewer_first = simulator(0.2, 0.6).swap(("s @ 0.2", "s @ 0.6"), "independent")
    assert (fewer_first.common_out, fewer_first.common_into, fewer_first.swapped) == (2, 1, 2)
    assert fewer_first.out.tolist() == [4, 5, 6, 7, 8, 9]


def test_both_orders_of_a_pair_use_one_pairing_the_other_way_round() -> None:
    simulated = simulator(0.2, 0.6)
    one = simulated.swap(("s @ 0.6", "s @ 0.2"), "transport").pairing
    other = simulated.swap(("s @ 0.2", "s @ 0.6"), "transport").pairing
    assert one is not None
    assert other is not None
    assert one.first.tolist() == other.second.tolist()
    assert one.first.max() == 3
    assert one.second.max() == 5


def test_with_replacement_a_stratum_may_be_smaller_than_its_share() -> None:
    assert simulator(0.8, 0.6, records=10, replacement=True).samples("s @ 0.8", 20, 0).shape == (20, 1)
    with pytest.raises(InvalidSecret, match="or replacement=True"):
        simulator(0.8, 0.6, records=10)
