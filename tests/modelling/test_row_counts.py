"""A reference row that counts for several people behaves as so many rows do, in models, laws and samples."""

from itertools import product
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import distpriv as dp
from distpriv.errors import InvalidInput, InvalidModel, InvalidSecret
from distpriv.modelling import reference
from distpriv.releasing.synthetic import synthetic_rows

QUERY = dp.Query(y=dp.mean("y"), high=dp.count("y > 1"))
SHARE = dp.Share("x > 0", values=(0.25, 0.5))
MEAN = dp.Mean("x", values=(0.4, 0.6))
MEDIAN = dp.Quantile("y", 0.5, values=(1, 2))
TOGETHER = dp.Correlation("x", "y", values=(0.0, 0.1))
SECRETS = [SHARE, MEAN, MEDIAN, TOGETHER]

ROWS = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 4)), min_size=0, max_size=12).map(
    lambda some: [(0, 1, 2), (1, 2, 1), (0, 3, 1), (1, 0, 3), (1, 4, 2), (0, 0, 1)] + [(k % 2, y, k) for k, y in some]
)
"""Rows x, y, and how many people they stand for: some for nobody."""


def counted(rows: list[tuple[int, int, int]]) -> pa.Table:
    x, y, people = zip(*rows, strict=True)
    return pa.table({"x": x, "y": y, "people": people})


def repeated(rows: list[tuple[int, int, int]]) -> pa.Table:
    return counted([row for row in rows for _ in range(row[2])])


def modelled(table: pa.Table, secret: Any, **options: Any) -> dp.QueryModel:
    return dp.model(table, QUERY, secret, records=4, **{"reference": "population", **options})


def same_laws(one: dp.QueryModel, other: dp.QueryModel) -> None:
    assert list(one.distributions) == list(other.distributions)
    for name, law in one.distributions.items():
        np.testing.assert_allclose(law.mean, other.distributions[name].mean, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(law.covariance, other.distributions[name].covariance, rtol=1e-8, atol=1e-12)


@pytest.mark.parametrize("secret", SECRETS, ids=["share", "mean", "quantile", "correlation"])
@given(rows=ROWS)
@settings(max_examples=15, deadline=None)
def test_a_row_that_counts_for_three_is_three_rows(secret: Any, rows: list[tuple[int, int, int]]) -> None:
    weighted = modelled(counted(rows), secret, weight="people")
    same_laws(weighted, modelled(repeated(rows), secret, replacement=True))


@pytest.mark.parametrize("secret", [SHARE, MEAN], ids=["share", "mean"])
def test_rows_that_count_for_nobody_make_no_lattice_finer(secret: Any) -> None:
    rows = [(k % 2, 2 * (k % 3), 1) for k in range(60)]
    odd = [(k % 2, 2 * (k % 3) + 1, 0) for k in range(60)]
    with_them, without = (modelled(counted(table), secret, weight="people") for table in (rows + odd, rows))
    np.testing.assert_array_equal(with_them.steps, without.steps)
    for name, law in with_them.distributions.items():
        np.testing.assert_array_equal(law.lattice, without.distributions[name].lattice)


def test_moments_of_a_share_are_those_of_all_datasets() -> None:
    people = np.array([2.0, 1.0, 0.5, 3.0, 0.0])
    table = pa.table({"x": [0, 0, 1, 1, 1], "y": [1.0, 4.0, 2.0, 0.0, 9.0], "people": people})
    model = dp.model(table, QUERY, SHARE, records=4, weight="people", reference="population")
    y = table["y"].to_numpy()
    for name, positives in (("x > 0 @ 0.25", 1), ("x > 0 @ 0.5", 2)):
        sides = [people * (table["x"].to_numpy() == side) for side in (1, 0)]
        chances = [side / side.sum() for side in sides]
        values, odds = [], []
        for rows in product(range(5), repeat=4):
            values.append([y[list(rows)].mean(), (y[list(rows)] > 1).sum()])
            odds.append(np.prod([chances[place >= positives][row] for place, row in enumerate(rows)]))
        mean = np.array(odds) @ np.array(values)
        about = np.array(values) - mean
        np.testing.assert_allclose(model.distributions[name].mean, mean, rtol=1e-12)
        np.testing.assert_allclose(model.distributions[name].covariance, (about.T * odds) @ about, rtol=1e-12)


@pytest.mark.parametrize("pairing", ["independent", "transport"])
@pytest.mark.parametrize("secret", [SHARE, MEAN], ids=["share", "mean"])
def test_coupled_datasets_have_the_law_of_weighted_rows_each(secret: Any, pairing: Any) -> None:
    rng = np.random.default_rng(5)
    people = rng.exponential(size=300)
    y = np.round(2 * people)  # weights that go with what is released
    table = pa.table({"x": rng.integers(2, size=300), "y": y, "people": people})
    model = dp.model(table, QUERY, secret, records=20, weight="people", reference="population")
    pair, draws = model.protected_pairs[0], 20_000
    simulator = model.rows()
    both = simulator.coupled_samples(pair, draws, 3, pairing)
    plain = [simulator.samples(name, draws, 4) for name in pair]
    for name, coupled, alone in zip(pair, both, plain, strict=True):
        law = model.distributions[name]
        error = np.sqrt(np.diag(law.covariance) / draws)
        for drawn in (coupled, alone):
            assert (np.abs(drawn.mean(axis=0) - law.mean) < 5 * error).all()
            np.testing.assert_allclose(np.cov(drawn.T), law.covariance, rtol=0.08, atol=0.02)
    differ = both[0] - both[1]
    (measured,) = simulator.measured_differences([pair], draws, 5, pairing, lambda each: each)
    np.testing.assert_allclose(np.abs(measured.mean(axis=0)), np.abs(differ.mean(axis=0)), atol=0.1)
    np.testing.assert_allclose(measured.std(axis=0), differ.std(axis=0), rtol=0.05)


@pytest.mark.parametrize("secret", [SHARE, MEAN, TOGETHER], ids=["share", "mean", "correlation"])
def test_what_a_sample_leaves_open_is_what_other_samples_have(secret: Any) -> None:
    rng = np.random.default_rng(6)

    def survey(rows: int) -> pa.Table:
        people = rng.exponential(size=rows) + 0.1
        x = rng.random(rows) < 0.5
        return pa.table({"x": 1.0 * x + 0.3 * rng.normal(size=rows), "y": people + x, "people": people})

    options: dict[str, Any] = {"records": 20, "weight": "people"}
    query = dp.Query(y=dp.mean("y"))
    secret = dp.Share("x > 0.5", values=(0.25, 0.5)) if secret is SHARE else secret
    one = dp.model(survey(2000), query, secret, **options)
    several = [dp.model(survey(2000), query, secret, **options) for _ in range(60)]
    for stratum in one.strata:
        assert stratum.rows < 1600  # an effective number
    for name in one.distributions:
        spread = np.std([float(model.distributions[name].mean[0]) for model in several], ddof=1)
        open_ = sum(stratum.drawn[name] ** 2 * stratum.error[0, 0] for stratum in one.strata if name in stratum.drawn)
        assert 0.7 * spread < np.sqrt(open_) < 1.45 * spread


def test_synthetic_rows_are_drawn_as_their_weights_say() -> None:
    table = counted([(0, 0, 9), (0, 4, 1), (1, 0, 1), (1, 4, 9)] * 50)
    model = modelled(table, SHARE, weight="people")
    even = dict.fromkeys(model.distributions, 0.5)
    means = {
        name: float(np.mean([law.mean[k] for law in model.distributions.values()]))
        for k, name in enumerate(QUERY.names)
    }
    drawn = synthetic_rows(model, means, even, rows=5000, seed=1)
    assert np.mean(drawn["people"].to_numpy() == 9) == pytest.approx(0.9, abs=0.02)


@pytest.mark.parametrize(
    ("people", "sentence"),
    [
        ([1.0, -1.0], "the weight 'people' is -1 in a row"),
        ([1.0, float("inf")], "has values that are infinite"),
        ([1.0, float("nan")], "missing"),
        ([1.0, None], "missing"),
        ([0.0, 0.0], "is 0 in all rows"),
        ([0.0, 1.0], "is 0 in all rows where x > 0 is not satisfied"),
    ],
)
def test_weights_that_are_none_are_refused(people: list[float | None], sentence: str) -> None:
    table = pa.table({"x": [0, 1] * 20, "y": range(40), "people": people * 20})
    with pytest.raises(InvalidInput, match=sentence):
        modelled(table, SHARE, weight="people")


@pytest.mark.parametrize("huge", [1e6, 1e300, 1.7e308])
def test_a_row_that_would_carry_all_is_refused(huge: float) -> None:
    table = pa.table({"x": [0, 1] * 200, "y": range(400), "people": [huge, *([1.0] * 399)]})
    with pytest.raises(InvalidModel, match=r"of 400 rows an effective number of 1(\.\d+)? would carry all"):
        modelled(table, SHARE, weight="people")
    with pytest.raises(InvalidInput, match="effective number"):
        modelled(table, dp.Mean("y", values=(20, 30)), weight="people")


def test_a_weight_that_is_no_number_or_not_there_is_refused_by_name() -> None:
    table = pa.table({"x": [0, 1] * 20, "y": range(40), "people": ["many"] * 40})
    with pytest.raises(InvalidInput, match="the weight"):
        modelled(table, SHARE, weight="people")
    with pytest.raises(InvalidInput, match="persons"):
        modelled(table, SHARE, weight="persons")
    for wrong in ("", 3, ["people"]):
        with pytest.raises(InvalidModel, match="weight must be the name of a column"):
            modelled(table, SHARE, weight=wrong)


def test_rows_that_count_are_never_drawn_without_replacement() -> None:
    table = counted([(k % 2, k % 5, 1) for k in range(60)])
    assert modelled(table, SHARE, weight="people").provenance.replacement
    with pytest.raises(InvalidModel, match="with a weight, records are drawn independently"):
        modelled(table, SHARE, weight="people", replacement=False)
    with pytest.raises(InvalidModel, match="with a mean, a quantile, a correlation or a shift"):
        modelled(table, MEAN, replacement=False)
    assert not modelled(table, SHARE).provenance.replacement


def test_medians_of_a_sample_with_weights_are_refused() -> None:
    table = counted([(k % 2, k % 5, 1 + k % 2) for k in range(600)])
    with pytest.raises(InvalidModel, match="means, counts and totals only"):
        dp.model(table, dp.Query(y=dp.quantile("y", 0.5)), SHARE, records=4, weight="people", draws=50)


def test_a_table_of_which_samples_are_held_has_no_weights(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reference, "READING", reference.ReadingSettings(most_rows=500))
    table = counted([(k % 2, k % 5, 1 + k % 2) for k in range(600)])
    with pytest.raises(InvalidSecret, match="needs all rows"):
        modelled(table, SHARE, weight="people")
