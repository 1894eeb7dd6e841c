import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from distpriv.errors import InvalidInput
from distpriv.noise.lattice import on_lattice
from distpriv.noise.laws import GaussianNoise, RoundedNoise, noise_from_dict
from distpriv.releasing.stack import stacked


def noise_with(axes: object, variances: object, steps: object) -> RoundedNoise:
    return RoundedNoise(axes=np.array(axes), variances=np.array(variances), steps=np.array(steps))


widths = st.floats(0.05, 8.0)


@given(st.lists(widths, min_size=1, max_size=3), st.integers(0, 10**6))
def test_it_comes_back_from_json_to_the_last_bit(deviations: list[float], seed: int) -> None:
    steps = np.random.default_rng(seed).choice([0.0, 0.01, 1.0], size=len(deviations))
    noise = noise_with(axes=np.eye(len(deviations)), variances=np.square(deviations), steps=steps)
    assert noise_from_dict(json.loads(json.dumps(noise.to_dict()))) == noise


@pytest.mark.parametrize("deviation", [0.05, 0.2, 0.4, 1.0, 3.0, 7.0])
def test_its_moments_are_those_of_what_is_drawn(deviation: float) -> None:
    noise = noise_with(axes=np.eye(2), variances=[deviation**2, 4.0], steps=[1.0, 0.5])
    drawn = noise.simulate(400_000, seed=1)
    assert np.cov(drawn.T) == pytest.approx(noise.covariance, rel=0.05, abs=0.1)
    assert noise.expected_l2 == pytest.approx(np.linalg.norm(drawn, axis=1).mean(), rel=0.02)
    inside = (np.abs(drawn) <= noise.half_widths + 1e-9).mean(axis=0)
    assert (inside > 0.947).all()


@given(st.floats(1.0, 20.0))
def test_rounding_more_than_a_step_adds_a_twelfth(deviation: float) -> None:
    noise = noise_with(axes=[[1.0]], variances=[deviation**2], steps=[1.0])
    assert noise.covariance[0, 0] == pytest.approx(deviation**2 + 1 / 12, rel=1e-6)


def test_only_noise_of_more_than_a_step_is_counted_on() -> None:
    noise = RoundedNoise.of(np.diag([0.0, 4.0, 9.0]), [0.2, 0.0, 0.0], [1.0, 1.0, 0.01])
    assert noise.narrow.tolist() == [True, False, False]
    assert np.diag(noise.credited.covariance).tolist() == [0.0, 4.0, 9.0]
    wider = noise.widened(2.0)
    assert np.diag(wider.credited.covariance).tolist() == [0.0, 16.0, 36.0]
    assert np.diag(wider.unrounded.covariance)[0] == pytest.approx(0.04)


def test_narrow_noise_that_depends_on_other_noise_is_refused() -> None:
    axes = np.linalg.qr(np.array([[1.0, 0.3], [0.3, 1.0]]))[0]
    with pytest.raises(InvalidInput, match="independent of all other noise"):
        noise_with(axes=axes, variances=[0.01, 9.0], steps=[1.0, 1.0])


@pytest.mark.parametrize("steps", [[1.0], [1.0, -1.0], [1.0, np.inf]])
def test_steps_must_be_those_of_the_statistics(steps: list[float]) -> None:
    with pytest.raises(InvalidInput, match="a step of at least 0"):
        noise_with(axes=np.eye(2), variances=[1.0, 1.0], steps=steps)


def test_what_is_released_is_whole_however_the_statistics_are() -> None:
    noise = RoundedNoise.of(np.diag([0.0, 0.02]), [0.2, 0.0], [1.0, 0.01])
    lattice = on_lattice(noise)
    for value in ([12.0, 38.57], [12.0000001, 38.573], [0.0, 0.0]):
        count, mean = lattice.draw(np.array(value)).tolist()
        assert count == round(count)
        assert mean == round(mean, 2)


def test_counts_are_changed_by_one_in_about_one_of_eighty_answers() -> None:
    lattice = on_lattice(RoundedNoise.of(np.zeros((40, 40)), np.full(40, 0.2), np.ones(40)))
    drawn = np.concatenate([lattice.draw(np.full(40, 7.0)) for _ in range(50)]) - 7
    assert 5 < np.count_nonzero(drawn) < 60  # 24.8 of 2,000 expected
    assert set(np.unique(drawn).tolist()) <= {-1.0, 0.0, 1.0}
    assert lattice.cost.divergence == lattice.cost.failure == 0.0


def test_drawing_costs_what_the_noise_that_counts_costs() -> None:
    noise = RoundedNoise.of(np.diag([0.0, 4.0]), [0.2, 0.0], [1.0, 1.0])
    assert on_lattice(noise).cost == on_lattice(GaussianNoise.isotropic(1, 2.0)).cost


def test_it_stands_beside_other_releases_only_where_all_of_it_counts() -> None:
    everywhere = RoundedNoise.of(np.diag([4.0]), [0.0], [1.0])
    assert stacked([everywhere, GaussianNoise.isotropic(1, 3.0)]).covariance.tolist() == [[4.0, 0.0], [0.0, 9.0]]
    with pytest.raises(InvalidInput, match="cannot be certified together with other releases"):
        stacked([RoundedNoise.of(np.zeros((1, 1)), [0.2], [1.0]), GaussianNoise.isotropic(1, 3.0)])
