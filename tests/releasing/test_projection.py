import numpy as np
import pytest
from scipy.optimize import minimize

from distpriv.releasing.projection import possible


@pytest.mark.parametrize("seed", range(8))
def test_it_is_the_nearest_point_in_standard_errors(seed: int) -> None:
    rng = np.random.default_rng(seed)
    size = 9
    spread = np.eye(size) - 1 / size
    estimates = rng.normal(1.0, 2.0, size)
    errors = rng.uniform(0.5, 2.0, size)
    counts = rng.random(size) < 0.8
    found = possible(estimates, errors, spread, counts)
    best = minimize(  # type: ignore[call-overload]
        lambda x: (((x - estimates) / errors) ** 2).sum(),
        np.full(size, float(estimates.sum()) / size),
        bounds=[(0, None) if count else (None, None) for count in counts],
        constraints={"type": "eq", "fun": lambda x: x.sum() - estimates.sum()},
        method="SLSQP",
        options={"ftol": 1e-14, "maxiter": 1000},
    )
    np.testing.assert_allclose(found, best.x, atol=1e-5)
    assert (found[counts] >= 0).all()
    assert found.sum() == pytest.approx(estimates.sum(), abs=1e-8)


def test_estimates_that_could_be_true_stay_as_they_are() -> None:
    estimates = np.array([1.0, 2.0, -3.0])
    found = possible(estimates, np.ones(3), np.eye(3), np.array([True, True, False]))
    assert found.tolist() == estimates.tolist()


def test_what_has_no_error_does_not_move() -> None:
    found = possible(np.array([-1.0, 5.0, 2.0]), np.array([1.0, 1.0, 0.0]), np.eye(3), np.full(3, True))
    assert found.tolist() == [0.0, 5.0, 2.0]


def test_all_margins_that_two_tables_share_stay_equal() -> None:
    rows = np.random.default_rng(1).multinomial(1, [0.3, 0.05, 0.6, 0.05], 4000)
    both = np.hstack([rows, rows[:, [0]] + rows[:, [1]], rows[:, [2]] + rows[:, [3]]]).astype(float)
    estimates = np.array([4.0, -1.0, 8.0, -1.0, 3.0, 7.0])
    found = possible(estimates, np.full(6, 1.0), np.cov(both.T), np.full(6, True))
    assert found[0] + found[1] == pytest.approx(found[4], abs=1e-8)
    assert found[2] + found[3] == pytest.approx(found[5], abs=1e-8)
    assert found[:4].sum() == pytest.approx(10.0, abs=1e-8)
