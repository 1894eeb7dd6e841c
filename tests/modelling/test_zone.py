import numpy as np
import pytest

from distpriv.framework.arrays import Floats
from distpriv.modelling.row_laws import RowLaws
from distpriv.modelling.zone import zone_spectrum


def laws_of(values: Floats, size: int) -> tuple[RowLaws, dict[str, Floats]]:
    rows = RowLaws(strata=(values,), drawn={"a": {0: size}}, replacement=True)
    return rows, {"a": size * np.cov(values.T, ddof=0).reshape(values.shape[1], -1)}


def coins(chances: list[float], seed: int = 0) -> Floats:
    rng = np.random.default_rng(seed)
    return np.asarray(rng.random((600, len(chances))) < chances, dtype=np.float64)


def test_counts_of_independent_rows_are_smooth_all_over_their_zone() -> None:
    rows, covariances = laws_of(coins([0.3, 0.5, 0.6]), 60)
    found = zone_spectrum(rows, covariances, np.zeros((3, 3)), np.ones(3))
    assert found.peaks == ()
    assert found.missed < 0.01


@pytest.mark.parametrize("broken", [0.0, 0.01])
def test_counts_that_nearly_add_up_to_even_numbers_are_found(broken: float) -> None:
    values = coins([0.5, 0.5, 0.4], seed=1)
    odd = np.random.default_rng(2).random(600) < broken
    values[:, 1] = values[:, 0] + 2 * values[:, 1] + odd
    rows, covariances = laws_of(values, 40)
    found = zone_spectrum(rows, covariances, np.diag([0.0, 0.0, 1.0]), np.array([1.0, 1.0, 0.0]))
    assert found.peaks
    highest = max(found.peaks, key=lambda peak: peak.heights["a"])
    assert np.abs(highest.frequency[:2]) == pytest.approx([np.pi, np.pi], abs=0.1)
    assert highest.heights["a"] == pytest.approx((1 - 2 * odd.mean()) ** 40, abs=0.05)


def test_all_frequencies_that_are_found_are_in_the_zone() -> None:
    values = np.floor(coins([0.5, 0.5], seed=3) * 2) + coins([0.01, 0.01], seed=4)
    rows, covariances = laws_of(values, 40)
    found = zone_spectrum(rows, covariances, np.zeros((2, 2)), np.ones(2))
    assert found.peaks
    assert all(np.abs(peak.frequency).max() <= np.pi * (1 + 1e-9) for peak in found.peaks)
