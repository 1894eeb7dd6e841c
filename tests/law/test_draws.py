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


MANY = np.random.default_rng(5).normal(size=(300, 2)) * 0.2, np.random.default_rng(6).integers(1, 9, 300).astype(float)


@pytest.mark.parametrize(
    ("rows", "drawn", "replacement"),
    [(MANY, 25, True), (MANY, 25, False), ((VALUES, COUNTS), 3, True), ((VALUES, COUNTS), 50, True)],
)
def test_few_of_many_and_many_of_few_rows_have_the_mean_that_their_log_moments_say(
    rows: tuple[Floats, Floats], drawn: int, replacement: bool
) -> None:
    kinds = RowKinds(values=rows[0], counts=rows[1], drawn=drawn, replacement=replacement)
    if not replacement:
        plain, tilted = (_NumbersOfKinds.of(kinds, kinds.values @ tilt).log_total for tilt in (0 * TILT, TILT))
        assert kinds.log_moments(TILT[np.newaxis])[0] == pytest.approx(tilted - plain, abs=1e-9)
    slopes = [
        (kinds.log_moments((TILT + step)[np.newaxis]) - kinds.log_moments((TILT - step)[np.newaxis]))[0] / 2e-5
        for step in 1e-5 * np.eye(2)
    ]
    sums = kinds.draw(TILT, 20_000, np.random.default_rng(1))
    assert (np.abs(sums.mean(axis=0) - slopes) < 5 * sums.std(axis=0) / np.sqrt(len(sums))).all()


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
