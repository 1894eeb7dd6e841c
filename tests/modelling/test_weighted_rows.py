"""Rows with weights: a row that counts for several people is so many rows, in models, laws, lattices and samples."""

from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import distpriv as dp
from distpriv.errors import InvalidInput, InvalidModel, InvalidSecret
from distpriv.framework.arrays import Floats, Rows
from distpriv.framework.records import Format, plain
from distpriv.law.cells import RowGrid, row_grid
from distpriv.law.fourier import Circle, projected
from distpriv.law.resonance import peak_at
from distpriv.law.step_laws import step_laws
from distpriv.modelling import reference
from distpriv.modelling.row_lattice import joint_lattice
from distpriv.modelling.row_laws import RowLaws, StratumRows
from distpriv.modelling.tilting import row_weights
from distpriv.releasing.synthetic import synthetic_rows

QUERY = dp.Query(y=dp.mean("y"), high=dp.count("y > 1"))
SHARE = dp.Share("x > 0", values=(0.25, 0.5))
MEAN = dp.Mean("x", values=(0.4, 0.6))
TOGETHER = dp.Correlation("x", "y", values=(0.0, 0.1))
SECRETS = {"share": SHARE, "mean": MEAN, "quantile": dp.Quantile("y", 0.5, values=(1, 2)), "correlation": TOGETHER}
ROWS = np.array([[0, 1], [1, 2], [3, 0], [2, 5], [4, 1]], dtype=float)
ADULT = dp.Query(age=dp.mean("age"), women=dp.count("sex = 'Female'"))


def counted(rows: list[tuple[int, int, int]]) -> pa.Table:
    """Rows x, y, and how many people they stand for."""
    return pa.table(dict(zip(("x", "y", "people"), map(list, zip(*rows, strict=True)), strict=True)))


def modelled(table: pa.Table, secret: Any, **options: Any) -> dp.QueryModel:
    return dp.model(table, QUERY, secret, records=4, **{"reference": "population", **options})


def tilted(rows: Floats, values: tuple[float, ...], records: int, query: dp.Query | None = None) -> dp.QueryModel:
    asked = query or dp.Query(y=dp.mean("y"), high=dp.count("x > 1"))
    table = pa.table({"x": rows[:, 0], "y": rows[:, 1]})
    return dp.model(table, asked, dp.Mean("x", values=values), records=records, reference="population")


def enumerated(rows: Floats, weights: Floats, records: int, of: Callable[[Floats], Any]) -> tuple[Floats, Floats]:
    """Every dataset of so many rows: what the statistics are, and how likely it is."""
    chosen = np.array(list(product(range(len(rows)), repeat=records)))
    return np.array([of(rows[dataset]) for dataset in chosen]), weights[chosen].prod(axis=1)


def weights_of(model: dp.QueryModel, name: str, rows: Floats) -> Floats:
    tilt = model.scenarios[name].tilt
    assert tilt is not None
    return row_weights(tilt, rows[:, :1].T)


@given(
    st.lists(st.tuples(st.integers(0, 4), st.integers(-3, 3)), min_size=3, max_size=6),
    st.floats(0.2, 0.8),
    st.integers(1, 4),
)
@settings(max_examples=25, deadline=None)
def test_moments_are_those_of_all_datasets(listed: list[tuple[int, int]], place: float, records: int) -> None:
    rows = np.array(listed, dtype=float)
    assume(np.ptp(rows[:, 0]) > 0)
    values = tuple(float(rows[:, 0].min() + share * np.ptp(rows[:, 0])) for share in (place, place + 0.1))
    model = tilted(rows, values, records)
    for name, law in model.distributions.items():
        points, chances = enumerated(
            rows, weights_of(model, name, rows), records, lambda d: [d[:, 1].mean(), (d[:, 0] > 1).sum()]
        )
        mean = chances @ points
        assert law.mean == pytest.approx(mean, abs=1e-9)
        assert law.covariance == pytest.approx(((points - mean).T * chances) @ (points - mean), abs=1e-9)


def test_the_exact_law_is_that_of_all_datasets() -> None:
    model = tilted(ROWS, (1.5, 2.5), 4, dp.Query(total=dp.total("y")))
    laws = step_laws(row_grid(model))
    for name in model.scenarios:
        points, chances = enumerated(ROWS, weights_of(model, name, ROWS), 4, lambda dataset: dataset[:, 1].sum())
        for place, mass in enumerate(laws.masses[name]):
            value = laws.origin + laws.step * place
            assert mass == pytest.approx(chances[np.isclose(points, value)].sum(), abs=1e-9)


@pytest.mark.parametrize("secret", SECRETS.values(), ids=SECRETS)
@given(some=st.lists(st.tuples(st.integers(0, 3), st.integers(0, 4)), max_size=12))
@settings(max_examples=15, deadline=None)
def test_a_row_that_counts_for_three_is_three_rows(secret: Any, some: list[tuple[int, int]]) -> None:
    rows = [(0, 1, 2), (1, 2, 1), (0, 3, 1), (1, 0, 3), (1, 4, 2), (0, 0, 1)]
    rows += [(k % 2, y, k) for k, y in some]  # also rows that count for nobody
    weighted = modelled(counted(rows), secret, weight="people")
    repeated = modelled(counted([row for row in rows for _ in range(row[2])]), secret, replacement=True)
    assert list(weighted.distributions) == list(repeated.distributions)
    for name, law in weighted.distributions.items():
        np.testing.assert_allclose(law.mean, repeated.distributions[name].mean, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(law.covariance, repeated.distributions[name].covariance, rtol=1e-8, atol=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_moments_and_transforms_of_weighted_rows_are_those_of_repeated_ones(seed: int) -> None:
    rng = np.random.default_rng(seed)
    weighted, repeated = [], []
    for _ in range(2):
        values, often = np.round(rng.gamma(2.0, size=(40, 2)), 2), rng.integers(1, 5, 40)
        weighted.append(StratumRows(values=values, weights=often / often.sum()))
        repeated.append(StratumRows(values=np.repeat(values, often, axis=0)))
        assert weighted[-1].mean == pytest.approx(repeated[-1].mean)
        assert weighted[-1].variances == pytest.approx(repeated[-1].variances)
        assert weighted[-1].covariance == pytest.approx(repeated[-1].covariance)
    drawn, circle = {"a": {0: 30}, "b": {1: 30}}, Circle(circumference=900.0, frequencies=200)
    one, other = (RowLaws(strata=tuple(rows), drawn=drawn, replacement=True) for rows in (weighted, repeated))
    here, there = (projected(laws, np.array([1.0, -2.0]), circle) for laws in (one, other))
    for name in drawn:
        assert here[name] == pytest.approx(there[name], abs=1e-10)
    frequency = np.array([2 * np.pi / 0.01, 1.0])
    assert one.phases(frequency) == pytest.approx(other.phases(frequency))
    assert peak_at(one, frequency).heights == pytest.approx(peak_at(other, frequency).heights)


@pytest.mark.parametrize("secret", [SHARE, MEAN], ids=["share", "mean"])
def test_rows_that_count_for_nobody_make_no_lattice_finer(secret: Any) -> None:
    rows = [(k % 2, 2 * (k % 3), 1) for k in range(60)]
    odd = [(k % 2, 2 * (k % 3) + 1, 0) for k in range(60)]
    with_them, without = (modelled(counted(table), secret, weight="people") for table in (rows + odd, rows))
    np.testing.assert_array_equal(with_them.steps, without.steps)
    for name, law in with_them.distributions.items():
        np.testing.assert_array_equal(law.lattice, without.distributions[name].lattice)


def test_a_joint_lattice_is_that_of_most_datasets_by_their_weights() -> None:
    rows: Rows = np.random.default_rng(0).integers(0, 8, size=(400, 2))
    heavy = np.where(rows.sum(axis=1) % 2 == 0, 1.0, 1e-8)
    of_most = joint_lattice([rows - rows[:1]], [[20]], 2, [heavy / heavy.sum()])
    assert abs(np.linalg.det(of_most)) == pytest.approx(2.0)
    assert abs(np.linalg.det(joint_lattice([rows - rows[:1]], [[20]], 2))) == pytest.approx(1.0)


def test_cells_of_weighted_rows_are_written_down_and_read_again() -> None:
    grid = row_grid(tilted(ROWS, (1.5, 2.5), 4))
    again = Format(RowGrid).of(plain(grid))
    for name in grid.drawn:
        for one, other in zip(grid.moments(name), again.moments(name), strict=True):
            assert one == pytest.approx(other)
    broken = plain(grid)
    broken["strata"][0]["weights"][0] += 0.1
    for wrong in (broken, {**plain(grid), "replacement": False}):
        with pytest.raises(InvalidInput, match="these are no weights of cells"):
            Format(RowGrid).of(wrong)


@pytest.mark.parametrize("pairing", ["independent", "transport"])
@pytest.mark.parametrize("secret", [SHARE, MEAN], ids=["share", "mean"])
def test_coupled_datasets_have_the_law_of_weighted_rows_each(secret: Any, pairing: Any) -> None:
    rng = np.random.default_rng(5)
    people = rng.exponential(size=300)
    y = np.round(2 * people)  # weights that go with what is released
    table = pa.table({"x": rng.integers(2, size=300), "y": y, "people": people})
    model = dp.model(table, QUERY, secret, records=20, weight="people", reference="population")
    pair, draws, simulator = model.protected_pairs[0], 20_000, model.rows()
    both = simulator.coupled_samples(pair, draws, 3, pairing)
    for name, coupled in zip(pair, both, strict=True):
        law = model.distributions[name]
        error = np.sqrt(np.diag(law.covariance) / draws)
        for drawn in (coupled, simulator.samples(name, draws, 4)):
            assert (np.abs(drawn.mean(axis=0) - law.mean) < 5 * error).all()
            np.testing.assert_allclose(np.cov(drawn.T), law.covariance, rtol=0.08, atol=0.02)
    differ = both[0] - both[1]
    (measured,) = simulator.measured_differences([pair], draws, 5, pairing, lambda differences: differences)
    np.testing.assert_allclose(np.abs(measured.mean(axis=0)), np.abs(differ.mean(axis=0)), atol=0.1)
    np.testing.assert_allclose(measured.std(axis=0), differ.std(axis=0), rtol=0.05)


@pytest.mark.parametrize("secret", [SHARE, MEAN, TOGETHER], ids=["share", "mean", "correlation"])
def test_what_a_sample_leaves_open_is_what_other_samples_have(secret: Any) -> None:
    rng = np.random.default_rng(6)
    secret = dp.Share("x > 0.5", values=(0.25, 0.5)) if secret is SHARE else secret

    def model_of_survey() -> dp.QueryModel:
        people, x = rng.exponential(size=2000) + 0.1, rng.random(2000) < 0.5
        table = pa.table({"x": 1.0 * x + 0.3 * rng.normal(size=2000), "y": people + x, "people": people})
        return dp.model(table, dp.Query(y=dp.mean("y")), secret, records=20, weight="people")

    one, several = model_of_survey(), [model_of_survey() for _ in range(60)]
    assert all(stratum.rows < 1600 for stratum in one.strata)  # an effective number
    for name in one.distributions:
        spread = np.std([float(model.distributions[name].mean[0]) for model in several], ddof=1)
        error = sum(stratum.drawn[name] ** 2 * stratum.error[0, 0] for stratum in one.strata if name in stratum.drawn)
        assert 0.7 * spread < np.sqrt(error) < 1.45 * spread


def test_synthetic_rows_are_drawn_as_their_weights_say() -> None:
    model = modelled(counted([(0, 0, 9), (0, 4, 1), (1, 0, 1), (1, 4, 9)] * 50), SHARE, weight="people")
    public = np.mean([law.mean for law in model.distributions.values()], axis=0)
    even = dict.fromkeys(model.distributions, 0.5)
    drawn = synthetic_rows(model, dict(zip(model.names, public, strict=True)), even, rows=5000, seed=1)
    assert np.mean(drawn["people"].to_numpy() == 9) == pytest.approx(0.9, abs=0.02)


def test_a_mean_of_zeros_and_ones_is_a_share_that_is_drawn_instead_of_fixed() -> None:
    rows, options = dp.datasets.adult().slice(0, 3000), {"reference": "population", "replacement": True}

    def laws(secret: Any) -> list[Any]:
        return list(dp.model(rows, ADULT, secret, records=50, **options).distributions.values())  # type: ignore[arg-type]

    drawn = laws(dp.Mean("CASE WHEN income = '>50K' THEN 1 ELSE 0 END", values=(0.4, 0.5)))
    fixed = laws(dp.Share("income = '>50K'", values=(0.4, 0.5)))
    none, all_ = laws(dp.Share("income = '>50K'", values=(0, 1)))
    for share, one, other in zip((0.4, 0.5), drawn, fixed, strict=True):
        assert one.mean == pytest.approx(other.mean, rel=1e-9)
        between = share * (1 - share) / 50 * np.outer(all_.mean - none.mean, all_.mean - none.mean)
        assert one.covariance == pytest.approx(other.covariance + between, rel=1e-9)


def test_a_share_beside_a_mean_is_drawn_with_replacement_too() -> None:
    rows, share = dp.datasets.adult().slice(0, 500), dp.Share("income = '>50K'", values=(0.4, 0.5))
    secrets: list[Any] = [share, dp.Mean("hours_per_week", values=(38, 42))]
    both = dp.model(rows, ADULT, secrets, records=50, reference="population")
    alone = dp.model(rows, ADULT, share, records=50, reference="population", replacement=True)
    for name, law in alone.distributions.items():
        assert both.distributions[name].covariance == pytest.approx(law.covariance)
    assert len(both.rows().row_laws().strata) == 4


@pytest.mark.parametrize(
    ("secret", "message"),
    [
        (dp.Mean("hours_per_weak", values=(38, 42)), "hours_per_weak"),
        (dp.Mean("income", values=(38, 42)), "'income' is of type string, not a number"),
        (dp.Mean("income = '>50K'", values=(0.1, 0.2)), "is of type bool, not a number"),
        (dp.Mean("hours_per_week", values=(38, 142)), "mean.hours_per_week. cannot be 142: the rows have values from"),
    ],
)
def test_a_property_that_the_table_has_not_is_refused(secret: dp.Mean, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        dp.model(dp.datasets.adult().slice(0, 500), ADULT, secret, records=50, reference="population")


@pytest.mark.parametrize(
    ("missing", "message"), [("refuse", "nulls or NaN in column 'x'"), ("drop", "such rows cannot be left out")]
)
def test_nulls_in_what_rows_are_weighed_by_are_refused_and_not_dropped(missing: Any, message: str) -> None:
    rows = pa.table({"x": [1.0, 2.0, 3.0, None], "y": [1.0, 2.0, 4.0, 9.0]})
    with pytest.raises(InvalidInput, match=message):
        modelled(rows, dp.Mean("x", values=(1.8, 2.2)), missing=missing)


@pytest.mark.parametrize(
    ("people", "message"),
    [
        ([1.0, -1.0], "the weight 'people' is -1 in a row"),
        ([1.0, float("inf")], "has values that are infinite"),
        ([1.0, float("nan")], "missing"),
        ([1.0, None], "missing"),
        ([0.0, 0.0], "is 0 in all rows"),
        ([0.0, 1.0], "is 0 in all rows where x > 0 is not satisfied"),
        (["many", "few"], "the weight"),
    ],
)
def test_weights_that_are_none_are_refused(people: list[Any], message: str) -> None:
    table = pa.table({"x": [0, 1] * 20, "y": range(40), "people": people * 20})
    with pytest.raises(InvalidInput, match=message):
        modelled(table, SHARE, weight="people")
    with pytest.raises(InvalidInput, match="persons"):
        modelled(table, SHARE, weight="persons")


@pytest.mark.parametrize("wrong", ["", 3, ["people"]])
def test_a_weight_that_names_no_column_is_refused(wrong: Any) -> None:
    with pytest.raises(InvalidModel, match="weight must be the name of a column"):
        modelled(counted([(0, 1, 1), (1, 2, 1)]), SHARE, weight=wrong)


@pytest.mark.parametrize("huge", [1e6, 1e300, 1.7e308])
def test_a_row_that_would_carry_all_is_refused(huge: float) -> None:
    table = pa.table({"x": [0, 1] * 200, "y": range(400), "people": [huge, *([1.0] * 399)]})
    with pytest.raises(InvalidModel, match=r"of 400 rows an effective number of 1(\.\d+)? would carry all"):
        modelled(table, SHARE, weight="people")
    with pytest.raises(InvalidInput, match="effective number"):
        modelled(table, dp.Mean("y", values=(20, 30)), weight="people")


def test_rows_that_count_are_never_drawn_without_replacement() -> None:
    table = counted([(k % 2, k % 5, 1) for k in range(60)])
    assert modelled(table, SHARE, weight="people").provenance.replacement
    with pytest.raises(InvalidModel, match="with a weight, records are drawn independently"):
        modelled(table, SHARE, weight="people", replacement=False)
    with pytest.raises(InvalidModel, match="with a mean, a quantile, a correlation or a shift"):
        modelled(table, MEAN, replacement=False)
    assert not modelled(table, SHARE).provenance.replacement
    rows = StratumRows(values=np.zeros((2, 1)), weights=np.array([0.5, 0.5]))
    with pytest.raises(InvalidModel, match="rows with weights are drawn independently"):
        RowLaws(strata=(rows,), drawn={"a": {0: 1}}, replacement=False)


def test_medians_of_a_sample_with_weights_and_tables_of_which_samples_are_held_are_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    table = counted([(k % 2, k % 5, 1 + k % 2) for k in range(600)])
    with pytest.raises(InvalidModel, match="means, counts and totals only"):
        dp.model(table, dp.Query(y=dp.quantile("y", 0.5)), SHARE, records=4, weight="people", draws=50)
    monkeypatch.setattr(reference, "READING", reference.ReadingSettings(most_rows=500))
    with pytest.raises(InvalidSecret, match="needs all rows"):
        modelled(table, SHARE, weight="people")
