"""Exact tilted draws against enumeration."""

from itertools import combinations

import numpy as np
import pytest

from distpriv.framework.arrays import Floats
from distpriv.law.draws import RowKinds, TiltedMixture, _NumbersOfKinds
from distpriv.law.saddlepoint import TiltedLaw, TiltedStratum

VALUES, COUNTS = np.array([[0.0, 1.0], [1.0, 0.0], [2.0, 1.0], [5.0, 2.0]]), np.array([2.0, 3.0, 1.0, 2.0])
TILT = np.array([0.3, -0.2])


def enumerated(tilt: Floats, drawn: int) -> tuple[float, Floats]:
    """log E e^{θᵀsum} over all subsets of the rows, and the mean of the sum under the tilt."""
    rows = np.repeat(VALUES, COUNTS.astype(int), axis=0)
    sums = np.array([rows[list(chosen)].sum(axis=0) for chosen in combinations(range(len(rows)), drawn)])
    weights = np.exp(sums @ tilt)
    return float(np.log(weights.mean())), np.asarray(weights @ sums / weights.sum())


@pytest.mark.parametrize("drawn", [1, 4, 7])
@pytest.mark.parametrize("strength", [0.0, 1.0, -3.0])
def test_subsets_are_tilted_as_enumeration_has_them(drawn: int, strength: float) -> None:
    kinds = RowKinds(values=VALUES, counts=COUNTS, drawn=drawn, replacement=False)
    log_moment, mean = enumerated(strength * TILT, drawn)
    np.testing.assert_allclose(kinds.log_moments(strength * TILT[np.newaxis]), [log_moment], atol=1e-9)
    drawn_sums = kinds.draw(strength * TILT, 20_000, np.random.default_rng(0))
    error = drawn_sums.std(axis=0) / np.sqrt(len(drawn_sums)) + 1e-9
    assert (np.abs(drawn_sums.mean(axis=0) - mean) < 5 * error).all()


@pytest.mark.parametrize("replacement", [True, False])
def test_few_of_many_rows_are_all_different_by_newtons_identities(replacement: bool) -> None:
    rng = np.random.default_rng(5)
    values, counts = rng.normal(size=(300, 2)) * 0.2, rng.integers(1, 9, 300).astype(float)
    kinds = RowKinds(values=values, counts=counts, drawn=25, replacement=replacement)
    slow = _NumbersOfKinds.of(kinds, values @ TILT).log_total - _NumbersOfKinds.of(kinds, np.zeros(300)).log_total
    if not replacement:
        assert kinds.log_moments(TILT[np.newaxis])[0] == pytest.approx(slow, abs=1e-9)
    slopes = [
        (kinds.log_moments((TILT + step)[np.newaxis]) - kinds.log_moments((TILT - step)[np.newaxis]))[0] / 2e-5
        for step in 1e-5 * np.eye(2)
    ]
    sums = kinds.draw(TILT, 20_000, rng)
    assert (np.abs(sums.mean(axis=0) - slopes) < 5 * sums.std(axis=0) / np.sqrt(len(sums))).all()


def test_many_draws_of_few_kinds_and_few_draws_of_many_kinds_have_the_same_mean() -> None:
    rng = np.random.default_rng(1)
    for drawn in (3, 50):
        kinds = RowKinds(values=VALUES, counts=COUNTS, drawn=drawn, replacement=True)
        slopes = [
            (kinds.log_moments((TILT + step)[np.newaxis]) - kinds.log_moments((TILT - step)[np.newaxis]))[0] / 2e-5
            for step in 1e-5 * np.eye(2)
        ]
        drawn_sums = kinds.draw(TILT, 20_000, rng)
        assert (np.abs(drawn_sums.mean(axis=0) - slopes) < 5 * drawn_sums.std(axis=0) / np.sqrt(len(drawn_sums))).all()


@pytest.mark.parametrize("replacement", [True, False])
def test_weights_take_a_mixture_back_to_the_untilted_distribution(replacement: bool) -> None:
    kinds = TiltedStratum(values=VALUES, counts=COUNTS * 10, drawn=12, replacement=replacement)
    sums = TiltedLaw.of([kinds], np.array([1.0, 2.0]), np.diag([0.3, 0.2]))
    mixture = TiltedMixture(of=sums, tilts=np.array([[0.0, 0.0], TILT, -TILT]), shares=np.array([0.4, 0.3, 0.3]))
    points = mixture.draw(40_000, np.random.default_rng(3))
    weights = mixture.weights(points)
    assert weights.max() <= 1 / 0.4 + 1e-9
    assert abs(weights.mean() - 1) < 5 * weights.std() / 200
    plain = sums.draw(np.zeros(2), 40_000, np.random.default_rng(4))
    error = np.hypot((weights[:, np.newaxis] * points).std(axis=0), plain.std(axis=0)) / 200
    assert (np.abs((weights[:, np.newaxis] * points).mean(axis=0) - plain.mean(axis=0)) < 5 * error).all()
