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

TABLE = pl.DataFrame({"x": np.arange(10.0), "s": [True] * 4 + [False] * 6})
MANY = pl.DataFrame({"x": np.arange(60.0), "s": np.arange(60) < 30})


def simulator(place: Place, *values: float, records: int = 5, replacement: bool = False) -> RowSimulator:
    query, secret = dp.Query(x=dp.mean("x")), dp.Share("s", values=values)
    return dp.model(
        place(TABLE), query, secret, records=records, replacement=replacement, reference="population"
    ).rows()


def test_a_sample_of_few_rows_stands_for_an_endless_population(place: Place) -> None:
    query, secret = dp.Query(x=dp.mean("x")), dp.Share("s", values=(0.4, 0.6))
    model, few = (dp.model(place(TABLE), query, secret, records=records) for records in (1000, 10))
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
    first = dp.Query(first=dp.function(lambda rows: rows["x"][0], columns=["x"]))
    model = dp.model(place(MANY), first, dp.Share("s", values=(0.2, 0.4)), records=5, draws=10)

    def seen(seed: int) -> list[set[float]]:
        return [set(part.samples("s @ 0.4", 2000, 1).ravel()) for part in model.rows().split((0.5, 0.5), seed)]

    one, other = seen(3)
    assert not one & other
    assert one | other == set(np.arange(60.0))
    assert seen(3) == [one, other] != seen(4)


@pytest.mark.parametrize("pairing", ["independent", "transport"])
def test_coupled_datasets_of_a_part_stay_in_it_also_when_paired(place: Place, pairing: str) -> None:
    model = dp.model(place(MANY), dp.Query(x=dp.total("x")), dp.Share("s", values=(0.0, 1.0)), records=1)
    one, other = (
        set(np.concatenate(part.coupled_samples(("s @ 0", "s @ 1"), 500, 0, pairing)).ravel())  # type: ignore[arg-type]
        for part in model.rows().split((0.5, 0.5), 0)
    )
    assert not one & other


def test_the_same_scenarios_can_be_drawn_from_another_table(place: Place) -> None:
    simulated = simulator(place, 0.2, 0.6)
    other = simulated.over(place(TABLE.with_columns(x=pl.col("x") + 100)))
    assert np.array_equal(other.samples("s @ 0.2", 20, 0), simulated.samples("s @ 0.2", 20, 0) + 100)
    with pytest.raises(InvalidModel, match=r"'s @ 0\.2' has no table among the sources"):
        simulated.over({"boom": TABLE})
