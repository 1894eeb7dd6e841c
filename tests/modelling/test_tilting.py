"""Weights of rows under which a property has a value: they meet it, and no other weights are nearer to even ones."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from distpriv.errors import InvalidSecret
from distpriv.framework.arrays import Floats
from distpriv.framework.tilts import Tilt, TiltKind
from distpriv.modelling.tilting import effective_rows, property_of, row_weights, tilted


def some_points(seed: int, rows: int, columns: int) -> tuple[Floats, Floats]:
    rng = np.random.default_rng(seed)
    weights = rng.random(rows) + 0.01
    return rng.normal(size=(rows, columns)) * 10.0 ** rng.integers(-3, 4, columns), weights / weights.sum()


def relative_entropy(weights: Floats, base: Floats) -> float:
    kept = weights > 0
    return float(np.sum(weights[kept] * np.log(weights[kept] / base[kept])))


@given(st.integers(0, 10_000), st.integers(6, 60), st.integers(1, 4))
def test_weighed_means_are_the_wanted_ones_and_no_other_weights_that_give_them_are_nearer(
    seed: int, rows: int, columns: int
) -> None:
    points, base = some_points(seed, rows, columns)
    rng = np.random.default_rng(seed + 1)
    reached = rng.random(rows) + 0.2
    reached /= reached.sum()
    found = tilted(points, base, reached @ points)
    assert found is not None
    assert found.min() >= 0
    assert found.sum() == pytest.approx(1)
    assert np.allclose(found @ points, reached @ points, rtol=0, atol=1e-5 * points.std(axis=0))
    assert relative_entropy(found, base) <= relative_entropy(reached, base) + 1e-9


@given(st.integers(0, 10_000), st.floats(0.0, 3.0))
def test_means_at_the_edge_of_all_points_or_beyond_are_out_of_reach(seed: int, beyond: float) -> None:
    points, base = some_points(seed, 20, 2)
    edge = np.array([points[:, 0].max() + beyond * np.ptp(points[:, 0]), points[:, 1].mean()])
    assert tilted(points, base, edge) is None


def test_a_statistic_told_twice_is_met_once_and_two_that_contradict_each_other_never() -> None:
    points, base = some_points(3, 30, 1)
    twice = np.concatenate([points, 2 * points], axis=1)
    wanted = float(np.quantile(points, 0.6))
    found = tilted(twice, base, np.array([wanted, 2 * wanted]))
    assert found is not None
    assert found @ points[:, 0] == pytest.approx(wanted, rel=1e-5)
    assert tilted(twice, base, np.array([wanted, 2 * wanted + float(points.std())])) is None


numbers = st.floats(-1e3, 1e3, allow_subnormal=False).map(lambda x: round(x, 3))


def mean_of(value: float) -> Tilt:
    return Tilt(kind="mean", expressions=("x",), value=value)


def correlation_of(value: float) -> Tilt:
    return Tilt(kind="correlation", expressions=("a", "b"), value=value)


@given(st.lists(numbers, min_size=2, max_size=60), st.floats(0.05, 0.95))
def test_the_mean_of_weighted_rows_is_the_value_to_nine_digits(rows: list[float], place: float) -> None:
    values = np.array([rows])
    assume(np.ptp(values) > 0.01)
    wanted = float(values.min() + place * np.ptp(values))
    weights = row_weights(mean_of(wanted), values)
    assert abs(weights @ values[0] - wanted) <= 1e-9 * max(abs(wanted), values.std())
    assert weights.min() >= 0
    assert weights.sum() == pytest.approx(1, abs=1e-12)


@given(st.integers(0, 2**32), st.floats(-0.7, 0.7))
@settings(max_examples=40)
def test_the_correlation_is_the_value_and_means_and_variances_stay_as_they_are(seed: int, wanted: float) -> None:
    rng = np.random.default_rng(seed)
    rows = np.stack([rng.gamma(2.0, size=300) * 100 + 1e4, rng.integers(0, 12, 300).astype(float)])
    weights = row_weights(correlation_of(wanted), rows)
    assert property_of(correlation_of(wanted), rows, weights) == pytest.approx(wanted, abs=1e-9)
    means = rows @ weights
    assert means == pytest.approx(rows.mean(axis=1), rel=1e-9)
    assert ((rows - means[:, np.newaxis]) ** 2) @ weights == pytest.approx(rows.var(axis=1), rel=1e-8)


@given(st.lists(st.integers(0, 9), min_size=2, max_size=40), st.integers(0, 9), st.floats(0.05, 0.95))
def test_a_quantile_takes_two_weights_and_meets_its_level(rows: list[int], value: int, level: float) -> None:
    values = np.array([rows], dtype=float)
    assume(values.min() <= value < values.max())
    tilt = Tilt(kind="quantile", expressions=("x",), value=float(value), level=level)
    weights = row_weights(tilt, values)
    assert property_of(tilt, values, weights) == pytest.approx(level, abs=1e-9)
    assert weights.sum() == pytest.approx(1, abs=1e-12)
    assert len(np.unique(weights)) <= 2


def entropy(weights: Floats) -> float:
    """Relative to even weights."""
    some = weights[weights > 0]
    return float(some @ np.log(some * len(weights)))


def constraints(tilt: Tilt, rows: Floats) -> tuple[Floats, Floats]:
    """What weights must satisfy, written out: each row of a matrix times the weights is a number."""
    ones = np.ones(rows.shape[1])
    if tilt.kind == "mean":
        return np.stack([ones, rows[0]]), np.array([1.0, tilt.value])
    if tilt.kind == "quantile":
        return np.stack([ones, rows[0] <= tilt.value]).astype(float), np.array([1.0, tilt.level or 0.0])
    a, b = (rows - rows.mean(axis=1)[:, np.newaxis]) / rows.std(axis=1)[:, np.newaxis]
    return np.stack([ones, a, b, a * a, b * b, a * b]), np.array([1.0, 0.0, 0.0, 1.0, 1.0, tilt.value])


@pytest.mark.parametrize(("kind", "value"), [("mean", 0.4), ("quantile", 0.1), ("correlation", 0.35)])
def test_no_other_weights_with_the_property_are_nearer_to_even_ones(kind: TiltKind, value: float) -> None:
    rng = np.random.default_rng(4)
    rows = rng.normal(size=(2 if kind == "correlation" else 1, 30))
    tilt = Tilt(kind=kind, expressions=("a", "b")[: len(rows)], value=value, level=0.3 if kind == "quantile" else None)
    least = entropy(row_weights(tilt, rows))
    matrix, wanted = constraints(tilt, rows)
    nearest = row_weights(tilt, rows)
    assert matrix @ nearest == pytest.approx(wanted, abs=1e-9)
    assert least > 0
    for _ in range(100):
        corner = np.asarray(linprog(rng.normal(size=30), A_eq=matrix, b_eq=wanted, bounds=(0, None)).x)
        other = corner + rng.random() * (nearest - corner)
        assert matrix @ other == pytest.approx(wanted, abs=1e-7)
        assert entropy(other) >= least - 1e-9


@pytest.mark.parametrize(
    ("tilt", "rows", "said"),
    [
        (mean_of(3.0), [[1.0, 2.0]], "mean.x. cannot be 3: the rows have values from 1 to 2: give a mean"),
        (mean_of(2.0), [[1.0, 2.0]], "above the least of them and below the greatest"),
        (mean_of(2.0), [[1.0, np.inf]], "'x' has values that are infinite"),
        (correlation_of(0.5), [[1.0, 1.0, 1.0], [1.0, 2.0, 3.0]], "'a' is the same in every row"),
        (correlation_of(0.99), [[0.0, 0.0, 1.0, 1.0, 2.0], [0.0, 3.0, 1.0, 0.0, 1.0]], "no weights of the rows"),
        (
            Tilt(kind="quantile", expressions=("x",), value=0.0, level=0.5),
            [[1.0, 2.0]],
            "no row is at most that: give a value that is at least 1 and below 2",
        ),
        (Tilt(kind="quantile", expressions=("x",), value=2.0, level=0.5), [[1.0, 2.0]], "all rows are at most that"),
    ],
)
def test_a_value_out_of_reach_is_refused(tilt: Tilt, rows: list[list[float]], said: str) -> None:
    with pytest.raises(InvalidSecret, match=said) as refusal:
        row_weights(tilt, np.array(rows))
    assert refusal.value.about == ("property", tilt.what)


def test_few_rows_that_carry_nearly_all_weight_are_refused_with_their_number() -> None:
    rows = np.append(np.zeros(10_000), np.full(20, 1000.0))[np.newaxis]
    with pytest.raises(InvalidSecret, match=r"of 10,020 rows an effective number of 24.7 would carry it, and at least"):
        row_weights(mean_of(900.0), rows)
    assert effective_rows(np.full(8, 1 / 8)) == pytest.approx(8)
