"""Claims about models that were false once, each with what broke it."""

import json
from pathlib import Path
from typing import Any, cast

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from tests.spark import Place

import distpriv as dp
from distpriv.errors import InvalidInput, InvalidModel, InvalidSource, MissingValues
from distpriv.modelling.drawing import Method
from distpriv.modelling.from_rows import remodelled

REFERENCE = json.loads((Path(__file__).parent / "adult_reference.json").read_text(encoding="utf-8"))
INCOME = dp.Share("income = '>50K'", values=(0.45, 0.55))
TABLE = pl.DataFrame(
    {
        "x": np.arange(100.0),
        "word": ["a", "b"] * 50,
        "s": [True] * 40 + [False] * 60,
        "hole": [None, 1.0] * 50,
        "nan": [float("nan")] + [1.0] * 99,
        "zero": [0.0] + [1.0] * 99,
    }
)
SHARE = dp.Share("s", values=(0.4, 0.6))


def test_adult_moments_are_the_reference_ones_to_ten_digits(
    place: Place, adult: pa.Table, paper_query: dp.Query
) -> None:
    model = dp.model(place(adult), paper_query, INCOME, records=100, reference="population")
    assert list(model.distributions) == ["income = '>50K' @ 0.45", "income = '>50K' @ 0.55"]
    for law, number in zip(model.distributions.values(), "12", strict=True):
        np.testing.assert_allclose(law.mean, REFERENCE["income"][f"mu{number}"], rtol=1e-10)
        np.testing.assert_allclose(law.covariance, REFERENCE["income"][f"cov{number}"], rtol=1e-10)
    shift = model.mean_shift(model.protected_pairs[0])
    assert np.linalg.norm(shift) == pytest.approx(4.2913354623, rel=1e-10)
    assert np.abs(shift).sum() == pytest.approx(7.354992898, rel=1e-9)
    assert model.steps.tolist() == [0.01, 0.01, 1, 1, 0.01]
    assert model.provenance.method == "exact moments"


def test_sampling_by_name_estimates_what_exact_moments_compute(
    place: Place, adult: pa.Table, paper_query: dp.Query
) -> None:
    methods: tuple[Method, ...] = ("exact", "sampling")
    exact, sampled = (
        dp.model(place(adult), paper_query, INCOME, records=100, draws=20_000, seed=9, method=method)
        for method in methods
    )
    assert (exact.provenance.draws, sampled.provenance.draws) == (None, 20_000)
    for name, law in exact.distributions.items():
        points = sampled.distributions[name].points
        assert points is not None
        assert_moments_agree(np.asarray(points), law.mean, law.covariance, name)
        np.testing.assert_allclose(sampled.distributions[name].covariance, np.cov(points.T), rtol=1e-9)


def assert_moments_agree(sampled: np.ndarray, mean: np.ndarray, covariance: np.ndarray, where: str) -> None:
    draws = len(sampled)
    error = np.sqrt(np.diag(covariance) / draws)
    rounding = 1e-12 * np.abs(mean)  # all there is where the scenario fixes a statistic
    assert (np.abs(sampled.mean(axis=0) - mean) <= 4.5 * error + rounding).all(), where
    products = (sampled - mean)[:, :, None] * (sampled - mean)[:, None, :]
    error = products.std(axis=0) / np.sqrt(draws)
    assert (np.abs(products.mean(axis=0) - covariance) <= 4.5 * error + np.outer(rounding, rounding)).all(), where


def test_a_large_offset_keeps_nine_digits_of_the_covariance(place: Place) -> None:
    rng = np.random.default_rng(4)
    x, y = rng.normal(size=20_000), rng.normal(size=20_000)
    s = rng.random(20_000) < 0.3
    query = dp.Query(x=dp.mean("x"), y=dp.mean("y"))
    near, far = (
        dp.model(place(pl.DataFrame({"x": x + offset, "y": y - offset, "s": s})), query, SHARE, records=100)
        for offset in (0.0, 1e6)
    )
    for name, law in near.distributions.items():
        scale = np.sqrt(np.outer(np.diag(law.covariance), np.diag(law.covariance)))
        assert (np.abs(far.distributions[name].covariance - law.covariance) < 1e-9 * scale).all()


def test_a_statistic_that_the_scenario_fixes_has_no_variance_at_all(place: Place) -> None:
    query = dp.Query(s=dp.count("s"), x=dp.mean("x"))
    model = dp.model(place(TABLE), query, SHARE, records=10)
    for name, law in model.distributions.items():
        assert law.mean[0] == round(10 * float(name[-3:]))
        assert law.covariance[0].tolist() == [0.0, 0.0]


def test_several_secrets_are_modelled_each_by_its_own_strata(place: Place) -> None:
    several = [SHARE, dp.Share("word = 'a'", values=(0.3, 0.5))]
    query = dp.Query(x=dp.mean("x"))
    table = place(TABLE)
    model = dp.model(table, query, several, records=10)
    assert len(model.protected_pairs) == 4
    for secret in several:
        alone = dp.model(table, query, secret, records=10)
        for name, law in alone.distributions.items():
            assert model.distributions[name].mean.tolist() == law.mean.tolist()
            assert model.distributions[name].covariance.tolist() == law.covariance.tolist()


def test_scenarios_draw_from_their_own_tables(place: Place) -> None:
    rng = np.random.default_rng(6)
    boom, bust = rng.normal(1, 1, size=50), rng.normal(0, 2, size=70)
    secret = dp.Scenarios({"boom": place(pl.DataFrame({"x": boom})), "bust": place(pl.DataFrame({"x": bust}))})
    model = dp.model(None, dp.Query(x=dp.mean("x")), secret, records=10)
    law = model.distributions["bust"]
    assert law.mean[0] == pytest.approx(bust.mean())
    assert law.covariance[0, 0] == pytest.approx(bust.var() / 10)
    drawn = model.samples("boom", 5000)[:, 0]
    assert abs(drawn.mean() - boom.mean()) < 5 * drawn.std() / 5000**0.5
    mixed = dp.model(place(TABLE), dp.Query(x=dp.mean("x")), [secret, SHARE], records=10)
    assert set(mixed.distributions) == {"boom", "bust", "s @ 0.4", "s @ 0.6"}


def test_rows_with_missing_values_are_dropped_when_asked(place: Place) -> None:
    query = dp.Query(x=dp.mean("x"), hole=dp.mean("hole"), nan=dp.mean("nan"))
    model = dp.model(place(TABLE), query, SHARE, records=10, missing="drop")
    kept = np.arange(1, 100, 2)
    expected = 0.4 * kept[kept < 40].mean() + 0.6 * kept[kept >= 40].mean()
    assert model.distributions["s @ 0.4"].mean[0] == pytest.approx(expected)
    assert model.samples("s @ 0.4", 50).shape == (50, 3)


def test_a_column_whose_nulls_are_provided_for_is_used_as_it_is(place: Place) -> None:
    query = dp.Query(hole=dp.count("hole is null"), h=dp.mean("coalesce(hole, 0)"))
    model = dp.model(place(TABLE), query, SHARE, records=10)
    assert model.distributions["s @ 0.4"].mean.tolist() == pytest.approx([5.0, 0.5])


@pytest.mark.parametrize("predicate", ["s or x > 90", "not s", "x < 20 or x > 70", "not (s and x > 3)"])
@pytest.mark.parametrize("method", ["exact", "sampling"])
def test_predicates_with_or_and_not_are_used_as_they_are(place: Place, predicate: str, method: Any) -> None:
    truth = TABLE.select(pl.sql_expr(predicate)).to_series().to_numpy()
    query = dp.Query(n=dp.count(predicate), x=dp.mean("x"))
    table = place(TABLE)
    model = dp.model(table, query, dp.Share(predicate, values=(0.4, 0.6)), records=5, method=method, draws=20)
    law = model.distributions[f"{predicate} @ 0.4"]
    assert law.mean[0] == pytest.approx(2.0)
    exact = dp.model(table, query, dp.Share(predicate, values=(0.4, 0.6)), records=5)
    x = np.arange(100.0)
    expected = 0.4 * x[truth].mean() + 0.6 * x[~truth].mean()
    assert exact.distributions[f"{predicate} @ 0.4"].mean[1] == pytest.approx(expected)


MEDIAN = dp.Query(m=dp.quantile("x", 0.5))


def made(place: Place, **given: Any) -> dp.QueryModel:
    source, secret = given.pop("source", TABLE), given.pop("secret", SHARE)
    query, records = given.pop("query", dp.Query(x=dp.mean("x"))), given.pop("records", 10)
    placed = place(source) if isinstance(source, pl.DataFrame) else source
    return dp.model(placed, query, secret(place) if callable(secret) else secret, records=records, **given)


def mean(expression: str) -> dict[str, Any]:
    return {"query": dp.Query(a=dp.mean(expression))}


def count(predicate: str) -> dict[str, Any]:
    return {"query": dp.Query(a=dp.count(predicate))}


def share(predicate: str, low: float = 0.4, high: float = 0.6, **options: Any) -> dict[str, Any]:
    return {"secret": dp.Share(predicate, values=(low, high)), **options}


NOTHING_LEFT = TABLE.select("s", x="hole").filter(pl.col("x") > 9)
SHORT = {"records": 100, "reference": "population"}
OWN_TABLES = {"secret": lambda place: dp.Scenarios({"a": place(TABLE), "b": place(TABLE.head(5))})}


@pytest.mark.parametrize("method", ["exact", "sampling"])
@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"source": "absent.parquet"}, "there is no file 'absent.parquet'"),
        ({"source": TABLE.head(0)}, "(polars table|Spark DataFrame) has no rows: give a table"),
        (mean("y"), "statistic 'a': there is no column 'y'"),
        (mean("wrd"), "did you mean 'word'"),
        (mean("word"), r"'word' is of type \w*string, not a number"),
        (mean("s"), "'s' is of type bool, not a number: use proportion or count"),
        (count("x"), "'x' is of type double, not true or false"),
        (share("x", 0, 1), "the secret: 'x' is of type double, not true or"),
        (share("x >= 0"), "'x >= 0' is true of every row of the (polars table|Spark DataFrame), so one stratum is"),
        (share("word = 'c'"), "\"word = 'c'\" is true of no row of the (polars table|Spark DataFrame), so one stratum"),
        (share("s", 0.455, 0.5, records=100), "share of 0.455"),
        (share("s", 0.5, 0.45, **SHORT), "'s @ 0.45' needs 45 rows where s is satisfied"),
        (share("s", 0.1, 0.3, **SHORT), "'s @ 0.1' needs 90 rows where s is not satisfied"),
        ({**OWN_TABLES, "reference": "population"}, "scenario 'b' needs 10 rows and the reference table has 5"),
        (mean("hole"), r"nulls or NaN in column 'hole' \(50 of 100 rows\)"),
        (mean("nan"), r"nulls or NaN in column 'nan' \(1 of 100 rows\)"),
        (count("nan > 0"), r"nulls or NaN in column 'nan' \(1 of 100 rows\)"),
        (share("hole > 0 or s"), r"column 'hole' \(50 of 100 rows\)"),
        (mean("nullif(x, 7)"), r"value of 'nullif\(x, 7\)' \(1 of 100 rows\)"),
        (mean("x / zero"), "that are infinite|nulls or NaN in the value of"),
        (mean("1 / zero"), "that are infinite|nulls or NaN in the value of"),
        (share("nullif(x, 7) > 50 and s"), r"value of 'nullif\(x, 7\) > 50 and s' \(1 of 100 rows\)"),
        (count("coalesce(nan, 0) > 5"), r"column 'nan' \(1 of 100 rows\)"),
        (count("(x - 5) / (zero - zero) > 1"), r"nulls or NaN in the value of '\(x - 5\) / \(zero - zero\) > 1'"),
        (mean("x * 1e200"), "so large that their squares are"),
        (mean("cast(x as bigint) + 9007199254740993"), "more digits than"),
        ({"records": 0}, "records must be a whole number, at least 1, got 0"),
        ({"records": "100"}, "records must be a whole number"),
        ({"source": None}, "the secret needs a reference table"),
        ({"secret": "income"}, "a secret is a Share, a Mean"),
    ],
)
def test_what_cannot_be_modelled_is_refused(place: Place, given: dict[str, Any], method: str, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        made(place, method=method, draws=10, **given)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"query": MEDIAN, "method": "exact"}, "use method='sampling'"),
        ({"method": np.array(["exact"])}, "method must be"),
        ({"query": MEDIAN, "draws": 10, "processes": 0}, "processes must be"),
        ({"query": dp.Query(f=dp.function(len, columns=["agee"]))}, "no column 'agee'"),
        ({"query": dp.Query(f=dp.function(len, columns=["hole"]))}, r"column 'hole' \(50 of 100 rows\)"),
        ({"source": NOTHING_LEFT, "missing": "drop"}, "has no rows left without"),
        ({"query": dp.mean("x")}, "query must be a Query"),
    ],
)
def test_options_that_make_no_sense_are_refused(place: Place, given: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        made(place, **given)


def test_a_model_of_other_statistics_is_the_one_made_from_the_same_rows(place: Place, adult: pa.Table) -> None:
    table = place(adult)
    tables = {"a": place(adult.slice(0, 900)), "b": table}
    secret: list[Any] = [dp.Share("income = '>50K'", values=(0.4, 0.6)), dp.Scenarios(tables)]
    query = dp.Query(age=dp.mean("age"), hours=dp.mean("hours_per_week"))
    first = dp.model(table, dp.Query(women=dp.count("sex = 'Female'")), secret, records=50)
    assert remodelled(first, query) == dp.model(table, query, secret, records=50)
    sampled = dp.Query(middle=dp.quantile("age", 0.5))
    assert remodelled(first, sampled) == dp.model(table, sampled, secret, records=50)
    with pytest.raises(InvalidModel, match="rows"):
        remodelled(dp.gaussian_model(means={"a": [0], "b": [1]}, covariances=[[1]], pairs=[("a", "b")]), query)


HOLED = pl.DataFrame({"x": [None, *range(1, 40)], "s": [k % 2 == 0 for k in range(40)]})


@pytest.mark.parametrize("method", ["exact", "sampling"])
@pytest.mark.parametrize(
    "expression",
    ["case when s then null else coalesce(x, 0) end", "nullif(x, 7)", "ln(coalesce(x, 3) - 3)", "sqrt(x - 3)"],
)
def test_no_row_is_dropped_for_what_an_expression_makes_of_it(place: Place, method: str, expression: str) -> None:
    """`missing='drop'` let a CASE choose the rows of the model, by the secret too, and counted them in private."""
    with pytest.raises(InvalidSource, match=r"COALESCE or ELSE|divides by nothing that is 0"):
        made(place, source=HOLED, **mean(expression), missing="drop", method=cast(Method, method), draws=10)


def test_rows_are_dropped_for_their_columns_and_that_is_said_to_concern_the_reference_alone(place: Place) -> None:
    model = made(place, source=HOLED, missing="drop")
    assert model.distributions["s @ 0.4"].mean[0] == pytest.approx(0.4 * 20 + 0.6 * 20)
    with pytest.raises(MissingValues, match=r"column 'x' \(1 of 40 rows\).*missing='drop', which leaves out none"):
        made(place, source=HOLED)
    with pytest.raises(MissingValues, match=r"the value of 'nullif\(x, 7\)' \(1 of 39 rows\): no row is left out"):
        made(place, source=HOLED, **mean("nullif(x, 7)"), missing="drop")
