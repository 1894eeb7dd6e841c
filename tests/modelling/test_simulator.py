from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.spark import Place

import distpriv as dp
from distpriv.errors import InvalidModel, InvalidSecret
from distpriv.modelling.sampling import RowPool
from distpriv.modelling.simulator import RowSimulator
from distpriv.modelling.transport import RowPairing

TABLE = pl.DataFrame({"x": np.arange(10.0), "s": [True] * 4 + [False] * 6})


def simulator(place: Place, *values: float, records: int = 5, replacement: bool = False) -> RowSimulator:
    query, secret = dp.Query(x=dp.mean("x")), dp.Share("s", values=values)
    options: dict[str, Any] = {"replacement": replacement, "reference": "population"}
    model = dp.model(place(TABLE), query, secret, records=records, **options)
    assert isinstance(model.simulator, RowSimulator)
    return model.simulator


def test_the_dataset_with_more_positives_swaps_them_for_negatives(place: Place) -> None:
    more_first = simulator(place, 0.2, 0.6).swap(("s @ 0.6", "s @ 0.2"), "independent")
    assert (more_first.common_out, more_first.common_into, more_first.swapped) == (1, 2, 2)
    assert more_first.out.tolist() == [0, 1, 2, 3]
    fewer_first = simulator(place, 0.2, 0.6).swap(("s @ 0.2", "s @ 0.6"), "independent")
    assert (fewer_first.common_out, fewer_first.common_into, fewer_first.swapped) == (2, 1, 2)
    assert fewer_first.out.tolist() == [4, 5, 6, 7, 8, 9]


def test_both_orders_of_a_pair_use_one_pairing_the_other_way_round(place: Place) -> None:
    simulated = simulator(place, 0.2, 0.6)
    one = simulated.swap(("s @ 0.6", "s @ 0.2"), "transport").pairing
    other = simulated.swap(("s @ 0.2", "s @ 0.6"), "transport").pairing
    assert isinstance(one, RowPairing)
    assert isinstance(other, RowPairing)
    assert one.first.tolist() == other.second.tolist()
    assert one.first.max() == 3
    assert one.second.max() == 5


def test_a_sample_of_few_rows_stands_for_an_endless_population(place: Place) -> None:
    query, secret = dp.Query(x=dp.mean("x")), dp.Share("s", values=(0.4, 0.6))
    model = dp.model(place(TABLE), query, secret, records=1000)
    assert model.provenance.replacement
    few = dp.model(place(TABLE), query, secret, records=10)
    for name, law in model.distributions.items():  # no finite-population correction: variances fall like 1/n
        np.testing.assert_allclose(law.covariance * 100, few.distributions[name].covariance)
    assert model.rows().samples("s @ 0.6", 20, 0).shape == (20, 1)
    with pytest.raises(InvalidModel):
        dp.model(place(TABLE), query, secret, records=5, replacement=False)


def test_with_replacement_a_stratum_may_be_smaller_than_its_share(place: Place) -> None:
    assert simulator(place, 0.8, 0.6, records=10, replacement=True).samples("s @ 0.8", 20, 0).shape == (20, 1)
    with pytest.raises(InvalidSecret, match="replacement=True"):
        simulator(place, 0.8, 0.6, records=10)


@given(st.integers(20, 60), st.integers(0, 1000), st.floats(0.1, 0.5), st.floats(0.1, 0.5))
def test_parts_have_no_row_in_common_and_their_share_of_every_stratum(
    rows: int, seed: int, first: float, second: float
) -> None:
    rng = np.random.default_rng(seed)
    strata = {name: rng.random(rows) < 0.5 for name in ("s", "t")}
    pool = RowPool(size=rows, numbers=np.zeros((0, rows)), columns={}, strata=strata)
    parts = pool.parts((first, second), seed)
    assert len(set(np.concatenate(parts).tolist())) == sum(map(len, parts))
    for s in (True, False):
        for t in (True, False):
            alike = (strata["s"] == s) & (strata["t"] == t)
            for part, share in zip(parts, (first, second), strict=True):
                assert abs(alike[part].sum() - share * alike.sum()) <= 1


def test_a_split_draws_from_its_own_rows_and_the_same_seed_splits_alike(place: Place) -> None:
    query, share = (
        dp.Query(first=dp.function(lambda rows: rows["x"][0], columns=["x"])),
        dp.Share("s", values=(0.2, 0.4)),
    )
    table = pl.DataFrame({"x": np.arange(60.0), "s": np.arange(60) < 30})
    model = dp.model(place(table), query, share, records=5, draws=10)
    assert isinstance(model.simulator, RowSimulator)

    def seen(seed: int) -> list[set[float]]:
        assert isinstance(model.simulator, RowSimulator)
        return [set(part.samples("s @ 0.4", 2000, 1).ravel()) for part in model.simulator.split((0.5, 0.5), seed)]

    one, other = seen(3)
    assert not one & other
    assert one | other == set(np.arange(60.0))
    assert seen(3) == [one, other] != seen(4)


def test_coupled_datasets_of_a_part_stay_in_it_also_when_paired(place: Place) -> None:
    query, share = dp.Query(x=dp.total("x")), dp.Share("s", values=(0.0, 1.0))
    table = pl.DataFrame({"x": np.arange(40.0), "s": np.arange(40) < 20})
    model = dp.model(place(table), query, share, records=1)
    assert isinstance(model.simulator, RowSimulator)
    parts = model.simulator.split((0.5, 0.5), 0)
    for pairing in ("independent", "transport"):
        drawn = [np.concatenate(part.coupled_samples(("s @ 0", "s @ 1"), 500, 0, pairing)) for part in parts]
        assert not set(drawn[0].ravel()) & set(drawn[1].ravel())


def test_the_same_scenarios_can_be_drawn_from_another_table(place: Place) -> None:
    simulated = simulator(place, 0.2, 0.6)
    other = simulated.over(place(TABLE.with_columns(x=pl.col("x") + 100)))
    assert np.array_equal(other.samples("s @ 0.2", 20, 0), simulated.samples("s @ 0.2", 20, 0) + 100)
    with pytest.raises(InvalidModel, match=r"'s @ 0\.2' has no table among the sources"):
        simulated.over({"boom": TABLE})
