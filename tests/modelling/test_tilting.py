import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from distpriv.framework.arrays import Floats
from distpriv.modelling.tilting import tilted


def some_points(seed: int, rows: int, columns: int) -> tuple[Floats, Floats]:
    rng = np.random.default_rng(seed)
    weights = rng.random(rows) + 0.01
    return rng.normal(size=(rows, columns)) * 10.0 ** rng.integers(-3, 4, columns), weights / weights.sum()


def entropy(weights: Floats, base: Floats) -> float:
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
    assert entropy(found, base) <= entropy(reached, base) + 1e-9


@given(st.integers(0, 10_000))
def test_means_that_are_there_already_change_no_weight(seed: int) -> None:
    points, base = some_points(seed, 20, 2)
    found = tilted(points, base, base @ points)
    assert found is not None
    assert np.allclose(found, base)


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


def test_points_without_weight_keep_none() -> None:
    points, base = some_points(4, 30, 1)
    base[:10] = 0
    base /= base.sum()
    found = tilted(points, base, np.array([np.mean(points[10:])]))
    assert found is not None
    assert (found[:10] == 0).all()
