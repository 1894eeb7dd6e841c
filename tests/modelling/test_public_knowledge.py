import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chi2

import distpriv as dp
from distpriv.errors import InvalidInput
from distpriv.framework.arrays import Floats
from distpriv.modelling.public_knowledge import PublicKnowledge, linear_estimator, noise_side_by_side
from distpriv.noise.laws import GaussianNoise, LaplaceNoise, NoNoise

seeds = st.integers(0, 2**32 - 1)
sizes = st.integers(1, 5)


def covariance(rng: np.random.Generator, size: int, rank: int | None = None) -> Floats:
    root = rng.normal(size=(size, size if rank is None else rank)) * 10 ** rng.uniform(-1, 1)
    return np.asarray(root @ root.T)


def said(means: Any, covariances: Any) -> PublicKnowledge:
    """Return knowledge of scenarios that are all as likely."""
    centres = np.array(means, dtype=float)
    scenarios, size = centres.shape
    return PublicKnowledge(
        names=tuple(f"statistic_{k + 1}" for k in range(size)),
        scenarios=tuple(f"scenario_{k + 1}" for k in range(scenarios)),
        chances=np.full(scenarios, 1 / scenarios),
        means=centres,
        covariances=np.array(covariances, dtype=float),
    )


def knowledge(rng: np.random.Generator, size: int, scenarios: int = 3, rank: int | None = None) -> PublicKnowledge:
    return said(rng.normal(size=(scenarios, size)) * 3, [covariance(rng, size, rank) for _ in range(scenarios)])


@given(seed=seeds, size=sizes, rank=st.none() | st.integers(0, 3))
def test_an_estimate_never_has_more_error_than_the_public_mean_or_than_the_noise(
    seed: int, size: int, rank: int | None
) -> None:
    rng = np.random.default_rng(seed)
    known, noise = knowledge(rng, size), covariance(rng, size, rank)
    error, scale = known.error_covariance(noise), np.trace(known.covariance) + np.trace(noise)
    for larger in (known.covariance, noise):
        assert np.linalg.eigvalsh(larger - error)[0] >= -1e-9 * scale
    weights = rng.uniform(0.1, 9, size)
    assert np.sqrt(weights @ np.diag(error)) <= known.error(weights) * (1 + 1e-9)
    assert 0 <= known.information(noise, weights) <= 1


@given(seed=seeds, size=sizes)
def test_the_estimate_does_not_depend_on_how_the_statistics_are_combined(seed: int, size: int) -> None:
    rng = np.random.default_rng(seed)
    known, noise = knowledge(rng, size), covariance(rng, size)
    turn = np.linalg.qr(rng.normal(size=(size, size)))[0] * 10 ** rng.uniform(-1, 1, size)
    turned = said(known.means @ turn.T, turn @ known.covariances @ turn.T)
    values = known.mean + rng.normal(size=size)
    one, other = known.estimate(values, noise), turned.estimate(turn @ values, turn @ noise @ turn.T)
    back = np.linalg.inv(turn)
    near = 1e-6 * float(np.trace(known.covariance))
    np.testing.assert_allclose(back @ other.values, one.values, rtol=1e-6, atol=near)
    np.testing.assert_allclose(back @ other.covariance @ back.T, one.covariance, rtol=1e-6, atol=near)


@given(seed=seeds, size=sizes, exponent=st.floats(-120, 120))
def test_units_of_any_size_leave_the_estimate_as_it_is(seed: int, size: int, exponent: float) -> None:
    rng = np.random.default_rng(seed)
    known, noise = knowledge(rng, size), covariance(rng, size)
    units = 10.0 ** rng.uniform(-abs(exponent), abs(exponent), size)
    scaled = said(known.means * units, known.covariances * np.outer(units, units))
    values = known.mean + rng.normal(size=size)
    found = scaled.estimate(values * units, noise * np.outer(units, units))
    np.testing.assert_allclose(found.values / units, known.estimate(values, noise).values, rtol=1e-6, atol=1e-6)


@given(seed=seeds, size=sizes)
def test_the_error_is_that_of_many_simulated_releases(seed: int, size: int) -> None:
    rng = np.random.default_rng(seed)
    known = knowledge(rng, size, scenarios=2)
    law = LaplaceNoise.isotropic(size, 1.0)
    estimator = linear_estimator(known.covariance, law.covariance)
    laws = zip(known.means, known.covariances, strict=True)
    truths = np.vstack([rng.multivariate_normal(m, c, 4000, method="eigh") for m, c in laws])
    answers = truths + law.simulate(len(truths), seed=seed)
    missed = known.mean + (answers - known.mean) @ estimator.gain.T - truths
    assert (missed**2).sum(axis=1).mean() == pytest.approx(np.trace(estimator.error_covariance), rel=0.2)


@pytest.mark.parametrize("noise", [1e30, math.inf])
def test_with_endless_noise_the_estimate_is_the_public_mean(noise: float) -> None:
    known = knowledge(np.random.default_rng(1), 2)
    found = known.estimate(known.mean + np.array([5.0, 7.0]), np.diag([noise, noise]))
    np.testing.assert_allclose(found.values, known.mean)
    np.testing.assert_allclose(found.covariance, known.covariance)
    assert known.information(np.diag([noise, noise]), np.ones(2)) == pytest.approx(0)


TWO_RELEASES = [GaussianNoise.isotropic(1, 2.0), LaplaceNoise.isotropic(1, math.sqrt(2))]


@pytest.mark.parametrize(
    ("mean", "covariance", "answer", "noise", "estimate", "error"),
    [
        # Endless noise on one statistic leaves what the other says of it.
        ([0, 0], [[1, 0.9], [0.9, 1]], [2, -1e9], np.diag([0.0, math.inf]), [2, 1.8], np.diag([0.0, 1 - 0.81])),
        # One that does not vary is known, and its noise says what other noise is.
        ([7, 0], [[0, 0], [0, 1]], [7.5, 2], np.ones((2, 2)), [7, 1.5], np.zeros((2, 2))),
        # Two releases of one statistic are better than either.
        ([40, 40], np.full((2, 2), 4.0), [43, 46], noise_side_by_side(TWO_RELEASES), [43, 43], np.full((2, 2), 4 / 3)),
    ],
)
def test_what_one_value_says_of_another_is_used(
    mean: Any, covariance: Any, answer: Any, noise: Any, estimate: Any, error: Any
) -> None:
    made = said([mean], [covariance]).estimate(answer, noise)
    np.testing.assert_allclose(made.values, estimate)
    np.testing.assert_allclose(made.covariance, error, atol=1e-12)


@given(seed=seeds, size=sizes)
@settings(max_examples=20)
def test_with_gaussian_noise_and_one_scenario_the_fit_is_chi_squared(seed: int, size: int) -> None:
    rng = np.random.default_rng(seed)
    known, law = knowledge(rng, size, scenarios=1), GaussianNoise.of(covariance(rng, size))
    values = known.mean + np.linalg.cholesky(known.covariance + law.covariance) @ rng.normal(size=size) * 1.5
    found = known.fit(values, [law])
    assert found.dimension == size
    assert found.p_value == pytest.approx(chi2.sf(found.distance, size), abs=0.01)


def test_far_scenarios_and_heavy_tails_are_counted_as_they_are() -> None:
    far = said([[-100], [100]], np.ones((2, 1, 1)))
    assert not far.fit([105.0], [NoNoise(dimension=1)]).fits
    assert far.fit([101.0], [NoNoise(dimension=1)]).p_value == pytest.approx(0.16, abs=0.01)
    heavy = said([[0]], [[[1e-6]]])
    answer = [math.sqrt(2) * 3.5]
    assert heavy.fit(answer, [LaplaceNoise.isotropic(1, 1.0)]).fits
    assert not heavy.fit(answer, [GaussianNoise.isotropic(1, math.sqrt(2))]).fits


@pytest.mark.parametrize(
    ("values", "fits"), [([7.0, 1.0, 2.0], True), ([7.1, 1.0, 2.0], False), ([7.0, 1.0, 2.1], False)]
)
def test_what_cannot_vary_and_does_is_a_misfit(values: list[float], fits: bool) -> None:
    spread = np.outer([0, 1, 2], [0, 1, 2])
    known = said([[7, 0, 0]], [spread])
    found = known.fit(values, [NoNoise(dimension=3)])
    assert (found.fits, found.dimension) == (fits, 1)


def two_scenarios() -> dp.QueryModel:
    return dp.gaussian_model(means={"low": [40], "high": [42]}, covariances=[[3]], pairs=[("low", "high")])


@pytest.mark.parametrize(
    ("prior", "words"),
    [
        ([0.5, 0.5], "by name"),
        ({"low": 0.5, "hihg": 0.5}, "did you mean 'high'"),
        ({"low": 1.0}, "says nothing of scenario 'high'"),
        ({"low": 0.5, "high": 0.6}, "sum to 1.1"),
        ({"low": 1.5, "high": -0.5}, "at least 0 and at most 1"),
    ],
)
def test_a_prior_that_is_no_probability_is_refused(prior: Any, words: str) -> None:
    with pytest.raises(InvalidInput, match=words):
        PublicKnowledge.of(two_scenarios(), prior)


@pytest.mark.parametrize("values", [[1.0, 2.0], [math.nan], [math.inf], 3.0])
def test_values_that_are_no_answer_are_refused(values: Any) -> None:
    with pytest.raises(InvalidInput, match="one for each of statistic_1"):
        PublicKnowledge.of(two_scenarios()).estimate(values, [[1.0]])


@pytest.mark.parametrize("noise", [[[1.0, 0.0]], [[math.nan]], [[-1.0]], 2.0])
def test_a_covariance_of_noise_that_is_none_is_refused(noise: Any) -> None:
    with pytest.raises(InvalidInput, match="1 × 1"):
        PublicKnowledge.of(two_scenarios()).estimate([40.0], noise)
