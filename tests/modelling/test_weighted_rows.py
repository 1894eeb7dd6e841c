"""Rows with weights behave in every check as the same rows repeated, and their laws are those of all datasets."""

from collections.abc import Callable
from itertools import product

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import distpriv as dp
from distpriv.errors import InvalidInput, InvalidModel
from distpriv.framework.arrays import Floats, Rows
from distpriv.law.resonance import peak_at
from distpriv.modelling.projected_law import Circle
from distpriv.modelling.row_grid import RowGrid, row_grid
from distpriv.modelling.row_lattice import joint_lattice
from distpriv.modelling.row_laws import RowLaws, StratumRows
from distpriv.modelling.step_laws import step_laws
from distpriv.modelling.tilting import row_weights


def table_of(rows: Floats, *names: str) -> dict[str, list[float]]:
    return {name: column.tolist() for name, column in zip(names, rows.T, strict=True)}


def as_arrow(columns: dict[str, list[float]]) -> object:
    import pyarrow as pa

    return pa.table(columns)


def tilted_model(
    rows: Floats, values: tuple[float, float], records: int, query: dp.Query | None = None
) -> dp.QueryModel:
    source = as_arrow(table_of(rows, "x", "y"))
    asked = query or dp.Query(y=dp.mean("y"), high=dp.count("x > 1"))
    return dp.model(source, asked, dp.Mean("x", values=values), records=records, reference="population")


def enumerated(rows: Floats, weights: Floats, records: int, of: Callable[[Floats], Floats]) -> tuple[Floats, Floats]:
    """Every dataset of so many rows: what the statistics are, and how likely it is."""
    chosen = np.array(list(product(range(len(rows)), repeat=records)))
    return np.array([of(rows[each]) for each in chosen]), weights[chosen].prod(axis=1)


def statistics(dataset: Floats) -> Floats:
    return np.array([dataset[:, 1].mean(), float((dataset[:, 0] > 1).sum())])


small = st.lists(st.tuples(st.integers(0, 4), st.integers(-3, 3)), min_size=3, max_size=6)


@given(small, st.floats(0.2, 0.8), st.integers(1, 4))
@settings(max_examples=25, deadline=None)
def test_moments_are_those_of_all_datasets_by_full_enumeration(
    listed: list[tuple[int, int]], place: float, records: int
) -> None:
    rows = np.array(listed, dtype=float)
    assume(np.ptp(rows[:, 0]) > 0)
    values = tuple(float(rows[:, 0].min() + share * np.ptp(rows[:, 0])) for share in (place, place + 0.1))
    model = tilted_model(rows, (values[0], values[1]), records)
    for law, scenario in zip(model.distributions.values(), model.scenarios.values(), strict=True):
        assert scenario.tilt is not None
        weights = row_weights(scenario.tilt, rows[:, :1].T)
        points, chances = enumerated(rows, weights, records, statistics)
        mean = chances @ points
        assert law.mean == pytest.approx(mean, abs=1e-9)
        assert law.covariance == pytest.approx(((points - mean).T * chances) @ (points - mean), abs=1e-9)


def test_the_exact_law_is_that_of_all_datasets_by_full_enumeration() -> None:
    rows = np.array([[0, 1], [1, 2], [3, 0], [2, 5], [4, 1]], dtype=float)
    model = tilted_model(rows, (1.5, 2.5), 4, dp.Query(total=dp.total("y")))
    laws = step_laws(row_grid(model))
    for name, scenario in model.scenarios.items():
        assert scenario.tilt is not None
        weights = row_weights(scenario.tilt, rows[:, :1].T)
        points, chances = enumerated(rows, weights, 4, lambda dataset: dataset[:, 1].sum())
        for place, mass in enumerate(laws.masses[name]):
            value = laws.origin + laws.step * place
            assert mass == pytest.approx(chances[np.isclose(points, value)].sum(), abs=1e-9)


def test_the_transform_of_a_combination_is_that_of_all_datasets() -> None:
    rows = np.array([[0.0, 1.0], [1.3, 2.2], [3.1, 0.4]])
    weights = np.array([0.2, 0.5, 0.3])
    laws = RowLaws(strata=(StratumRows(values=rows, weights=weights),), drawn={"a": {0: 3}}, replacement=True)
    direction = np.array([0.7, -0.3])
    points, chances = enumerated(rows, weights, 3, lambda dataset: dataset.sum(axis=0) @ direction)
    circle = Circle(circumference=20.0, frequencies=8)
    expected = np.exp(1j * np.outer(circle.angular, points)) @ chances
    assert laws.projected(direction, circle)["a"] == pytest.approx(expected, abs=1e-9)
    t = 1.7 * direction
    points, chances = enumerated(rows, weights, 3, lambda dataset: dataset.sum(axis=0) @ t)
    assert laws.phases(t)["a"] == pytest.approx(np.exp(1j * points) @ chances, abs=1e-12)


def weighted_and_repeated(seed: int, rows: int, columns: int) -> tuple[StratumRows, StratumRows]:
    """The same law twice: rows with weights, and every row as often as its weight says."""
    rng = np.random.default_rng(seed)
    values = np.round(rng.gamma(2.0, size=(rows, columns)), 2)
    often = rng.integers(1, 5, rows)
    return StratumRows(values=values, weights=often / often.sum()), StratumRows(values=np.repeat(values, often, axis=0))


def laws_of(stratum: StratumRows, other: StratumRows) -> RowLaws:
    return RowLaws(strata=(stratum, other), drawn={"a": {0: 30}, "b": {1: 30}}, replacement=True)


def both_laws(seed: int, rows: int = 40, columns: int = 2) -> tuple[RowLaws, RowLaws]:
    one, other = weighted_and_repeated(seed, rows, columns), weighted_and_repeated(seed + 1000, rows, columns)
    return laws_of(one[0], other[0]), laws_of(one[1], other[1])


@pytest.mark.parametrize("seed", range(3))
def test_moments_and_transforms_of_weighted_rows_are_those_of_repeated_ones(seed: int) -> None:
    weighted, repeated = both_laws(seed)
    for one, other in zip(weighted.strata, repeated.strata, strict=True):
        assert one.mean == pytest.approx(other.mean)
        assert one.variances == pytest.approx(other.variances)
        assert one.shares.sum() == pytest.approx(1)
    circle = Circle(circumference=900.0, frequencies=200)
    here, there = (laws.projected(np.array([1.0, -2.0]), circle) for laws in (weighted, repeated))
    for name in here:
        assert here[name] == pytest.approx(there[name], abs=1e-10)
    t = np.array([2 * np.pi / 0.01, 1.0])
    assert peak_at(weighted, t).heights == pytest.approx(peak_at(repeated, t).heights)


def test_a_joint_lattice_is_that_of_most_datasets_by_their_weights() -> None:
    rng = np.random.default_rng(0)
    rows: Rows = rng.integers(0, 8, size=(400, 2))
    even = rows.sum(axis=1) % 2 == 0
    heavy = np.where(even, 1.0, 1e-8)
    found = joint_lattice([rows - rows[:1]], [[20]], 2, [heavy / heavy.sum()])
    assert abs(np.linalg.det(found)) == pytest.approx(2.0)
    assert abs(np.linalg.det(joint_lattice([rows - rows[:1]], [[20]], 2))) == pytest.approx(1.0)


def test_cells_of_weighted_rows_are_written_down_and_read_again() -> None:
    rows = np.array([[0, 1], [1, 2], [3, 0], [2, 5], [4, 1]], dtype=float)
    grid = row_grid(tilted_model(rows, (1.5, 2.5), 4))
    again = RowGrid.from_dict(grid.to_dict())
    for name in grid.drawn:
        for one, other in zip(grid.moments(name), again.moments(name), strict=True):
            assert one == pytest.approx(other)
    broken = grid.to_dict()
    broken["strata"][0]["weights"][0] += 0.1
    with pytest.raises(InvalidInput, match="these are no weights of cells"):
        RowGrid.from_dict(broken)
    with pytest.raises(InvalidInput, match="these are no weights of cells"):
        RowGrid.from_dict({**grid.to_dict(), "replacement": False})


def test_weighted_rows_are_never_drawn_without_replacement() -> None:
    rows = StratumRows(values=np.zeros((2, 1)), weights=np.array([0.5, 0.5]))
    with pytest.raises(InvalidModel, match="rows with weights are drawn independently"):
        RowLaws(strata=(rows,), drawn={"a": {0: 1}}, replacement=False)


@pytest.fixture(scope="module")
def adult() -> dp.QueryModel:
    query = dp.Query(age=dp.mean("age"), women=dp.count("sex = 'Female'"))
    secret = dp.Mean("hours_per_week", values=(38, 42))
    return dp.model(dp.datasets.adult().slice(0, 4000), query, secret, records=50, reference="population")


def test_a_mean_of_zeros_and_ones_is_a_share_that_is_drawn_instead_of_fixed() -> None:
    rows = dp.datasets.adult().slice(0, 3000)
    query = dp.Query(age=dp.mean("age"), women=dp.count("sex = 'Female'"))
    rich = "CASE WHEN income = '>50K' THEN 1 ELSE 0 END"
    options = {"records": 50, "reference": "population", "replacement": True}
    drawn = dp.model(rows, query, dp.Mean(rich, values=(0.4, 0.5)), **options)  # type: ignore[arg-type]
    fixed = dp.model(rows, query, dp.Share("income = '>50K'", values=(0.4, 0.5)), **options)  # type: ignore[arg-type]
    every = dp.model(rows, query, dp.Share("income = '>50K'", values=(0, 1)), **options)  # type: ignore[arg-type]
    none, all_ = every.distributions.values()
    for share, one, other in zip((0.4, 0.5), drawn.distributions.values(), fixed.distributions.values(), strict=True):
        assert one.mean == pytest.approx(other.mean, rel=1e-9)
        between = share * (1 - share) / 50 * np.outer(all_.mean - none.mean, all_.mean - none.mean)
        assert one.covariance == pytest.approx(other.covariance + between, rel=1e-9)


def test_a_share_beside_a_mean_is_drawn_with_replacement_too() -> None:
    rows, query = dp.datasets.adult().slice(0, 500), dp.Query(age=dp.mean("age"))
    share = dp.Share("income = '>50K'", values=(0.4, 0.5))
    both = dp.model(
        rows, query, [share, dp.Mean("hours_per_week", values=(38, 42))], records=50, reference="population"
    )
    alone = dp.model(rows, query, share, records=50, reference="population", replacement=True)
    for name, law in alone.distributions.items():
        assert both.distributions[name].covariance == pytest.approx(law.covariance)
    assert len(both.rows().row_laws().strata) == 4


@pytest.mark.parametrize(
    ("secret", "said"),
    [
        (dp.Mean("hours_per_weak", values=(38, 42)), "hours_per_weak"),
        (dp.Mean("income", values=(38, 42)), "'income' is of type string, not a number"),
        (dp.Mean("income = '>50K'", values=(0.1, 0.2)), "is of type bool, not a number"),
        (dp.Mean("hours_per_week", values=(38, 142)), "mean.hours_per_week. cannot be 142: the rows have values from"),
    ],
)
def test_a_property_that_the_table_has_not_is_refused(secret: dp.Mean, said: str) -> None:
    rows, query = dp.datasets.adult().slice(0, 500), dp.Query(age=dp.mean("age"))
    with pytest.raises(InvalidInput, match=said):
        dp.model(rows, query, secret, records=50, reference="population")


def test_nulls_in_what_rows_are_weighed_by_are_refused_and_not_dropped() -> None:
    rows = as_arrow({"x": [1.0, 2.0, 3.0, None], "y": [1.0, 2.0, 4.0, 9.0]})  # type: ignore[list-item]
    query, secret = dp.Query(y=dp.mean("y")), dp.Mean("x", values=(1.8, 2.2))
    with pytest.raises(InvalidInput, match="nulls or NaN in column 'x'"):
        dp.model(rows, query, secret, records=5, reference="population")
    with pytest.raises(InvalidInput, match="such rows cannot be left out"):
        dp.model(rows, query, secret, records=5, reference="population", missing="drop")
