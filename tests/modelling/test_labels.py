import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import distpriv as dp
from distpriv.errors import DistprivError, InvalidModel
from distpriv.framework.tables import Table
from distpriv.modelling.tables import labelled

ROWS = pa.table(
    {
        "sex": ["F", "M", "M", "M"],
        "grade": [2, 1, 2, 2],
        "rich": [True, False, False, True],
        "age": [31.5, 40.0, 50.0, 20.0],
        "gaps": ["a", None, "b", "b"],
    }
)


def test_labels_are_those_of_the_reference_in_order() -> None:
    query = labelled(dp.Query(t=dp.table("count", by=["grade", "rich"])), [ROWS])
    assert query.names == ("t[1, False]", "t[2, False]", "t[2, True]")
    assert query.tables[0][1].empty == ((1, True),)


def test_labels_are_those_of_all_public_tables() -> None:
    other = pa.table({"sex": ["X"]})
    assert labelled(dp.Query(t=dp.table("count", by="sex")), [ROWS, other]).names == ("t[F]", "t[M]", "t[X]")


def test_a_declared_level_that_the_reference_lacks_is_a_structural_zero() -> None:
    query = labelled(dp.Query(t=dp.table("count", by="sex", levels={"sex": ["X", "M", "F"]})), [ROWS])
    assert query.names == ("t[M]", "t[F]")
    assert query.tables[0][1].labels == (("X", "M", "F"),)


def test_other_is_what_is_not_listed() -> None:
    query = dp.Query(t=dp.table("count", by="sex", levels={"sex": ["F"]}, other=True))
    model = dp.model(ROWS, query, dp.Share("rich", values=(0.5, 1.0)), records=2)
    assert model.names == ("t[F]", "t[other]")
    assert [law.mean.sum() for law in model.distributions.values()] == pytest.approx([2.0, 2.0])


def test_the_moments_of_a_table_are_those_of_its_cells_by_hand() -> None:
    secret = dp.Share("rich", values=(0.5, 1.0))
    table = dp.model(ROWS, dp.Query(t=dp.table("mean(age)", by="sex")), secret, records=2)
    query = dp.Query(
        a=dp.count("sex = 'F'"),
        b=dp.count("sex = 'M'"),
        c=dp.total("CASE WHEN sex = 'F' THEN age ELSE 0 END"),
        d=dp.total("CASE WHEN sex = 'M' THEN age ELSE 0 END"),
    )
    by_hand = dp.model(ROWS, query, secret, records=2)
    for name, law in table.distributions.items():
        np.testing.assert_allclose(law.mean, by_hand.distributions[name].mean)
        np.testing.assert_allclose(law.covariance, by_hand.distributions[name].covariance)


@pytest.mark.parametrize(
    ("what", "by", "message"),
    [
        ("count", ["sexx"], "there is no column 'sexx' to make a table by: did you mean 'sex'?"),
        ("count", ["age"], "is of type double: use a column of text"),
        ("count", ["gaps"], "has nulls in column 'gaps'"),
        ("mean(sex)", ["grade"], "'sex' is of type string, not a number, so it has no mean"),
        ("mean(agee)", ["grade"], "there is no column 'agee' in 'agee': did you mean 'age'?"),
    ],
)
def test_what_cannot_be_a_table_is_refused_in_a_sentence(what: str, by: list[str], message: str) -> None:
    with pytest.raises(DistprivError) as refusal:
        labelled(dp.Query(t=dp.table(what, by=by)), [ROWS])
    assert message in str(refusal.value)
    assert refusal.value.about == ("statistic", "t")


def test_levels_must_be_of_the_type_of_the_column() -> None:
    with pytest.raises(DistprivError, match="the level '1' is not"):
        labelled(dp.Query(t=dp.table("count", by="grade", levels={"grade": ["1"]})), [ROWS])


def test_rows_with_gaps_can_be_left_out() -> None:
    query = labelled(dp.Query(t=dp.table("count", by="gaps")), [ROWS], "drop")
    assert query.names == ("t[a]", "t[b]")


def test_too_many_cells_are_refused_with_their_number() -> None:
    many = pa.table({"a": list(range(100)) * 100, "b": [k // 100 for k in range(10_000)]})
    with pytest.raises(DistprivError, match="10,000 cells, and at most 1,000"):
        labelled(dp.Query(t=dp.table("count", by=["a", "b"])), [many])
    with pytest.raises(DistprivError, match="2,000 levels in the reference"):
        labelled(dp.Query(t=dp.table("count", by="a")), [pa.table({"a": list(range(2000))})])


def test_a_large_table_with_few_rows_has_few_cells() -> None:
    few = pa.table({"a": list(range(50)), "b": list(range(50))})
    query = labelled(dp.Query(t=dp.table("count", by=["a", "b"])), [few])
    assert query.dimension == 50
    assert query.names[:2] == ("t[0, 0]", "t[1, 1]")


def test_what_counts_for_a_cell_with_too_few_rows_is_that_of_all_public_rows_of_it() -> None:
    other = pa.table({"sex": ["F", "M"], "age": [10.5, 30.0]})
    asked = {"median": dp.table("median(age)", by="sex"), "spread": dp.table("variance(2 * age)", by="sex")}
    tables = dict(labelled(dp.Query(asked), [ROWS, other]).tables)
    women, men = np.array([31.5, 10.5]), np.array([40.0, 50.0, 20.0, 30.0])
    assert tables["median"].otherwise == (np.median(women), np.median(men))
    assert tables["spread"].otherwise == pytest.approx(((2 * women).var(ddof=1), (2 * men).var(ddof=1)))


@given(st.integers(0, 2**32 - 1), st.sampled_from([0.0, 0.3, 0.5, 1.0]))
@settings(max_examples=15)
def test_the_values_of_groups_are_what_a_loop_over_the_reference_finds(seed: int, level: float) -> None:
    rng = np.random.default_rng(seed)
    size = int(rng.integers(4, 30))
    rows = pa.table(
        {"g": rng.choice(["a", "b", "c"], size), "h": rng.random(size) < 0.5, "x": rng.integers(0, 9, size)}
    )
    query = labelled(dp.Query(t=dp.table(f"quantile(x, {level})", by=["g", "h"])), [rows])
    table = query.tables[0][1]
    group, half, x = (rows[name].to_numpy() for name in ("g", "h", "x"))
    expected = [np.quantile(x[(group == g) & (half == h)], level) for g, h in table.cells]
    assert table.otherwise == pytest.approx(expected, abs=1e-9)
    assert set(table.cells) == set(zip(group.tolist(), half.tolist(), strict=True))


def test_rows_without_a_number_are_left_out_with_those_that_are_dropped() -> None:
    gaps = pa.table({"sex": ["F", "F", "M"], "age": [1.0, None, 3.0]})
    query = labelled(dp.Query(t=dp.table("median(age)", by="sex")), [gaps], "drop")
    assert query.tables[0][1].otherwise == (1.0, 3.0)


def test_sampled_values_of_groups_are_those_of_the_datasets(adult: pa.Table) -> None:
    query = dp.Query(t=dp.table("median(hours_per_week)", by="sex"), people=dp.table("count", by="sex"))
    secret = dp.Share("income = '>50K'", values=(0.2, 0.4))
    model = dp.model(adult.slice(0, 3000), query, secret, records=40, draws=500, processes=1)
    assert model.names == ("t[Female]", "t[Male]", "people[Female]", "people[Male]")
    assert model.provenance.method == "sampling"
    points = next(iter(model.distributions.values())).points
    assert points is not None
    assert set((2 * points[:, :2]).ravel() % 1) == {0.0}
    assert set(points[:, 2:].sum(axis=1)) == {40.0}


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (
            dp.table("variance(age)", by="sex"),
            r"has 1 rows in the cell \['F'\] of a table of variance\(age\), and 2 are",
        ),
        (
            dp.table("median(age)", by="sex", levels={"sex": ["F", "X"]}, empty=[]),
            r"has 0 rows in the cell \['X'\] of a table of quantile\(age, 0.5\), and 1 are",
        ),
        (dp.table("median(sex)", by="grade"), "'sex' is of type string, not a number, so it has no quantile"),
    ],
)
def test_a_cell_of_which_the_reference_knows_too_little_is_refused(table: Table, message: str) -> None:
    with pytest.raises(DistprivError, match=message):
        labelled(dp.Query(t=table), [ROWS])


def test_exact_moments_of_medians_by_group_are_refused() -> None:
    query = dp.Query(t=dp.table("median(age)", by="sex"))
    with pytest.raises(InvalidModel, match="'t' is not a mean of a row expression: use method='sampling'"):
        dp.model(ROWS, query, dp.Share("rich", values=(0.5, 1.0)), records=2, method="exact")
