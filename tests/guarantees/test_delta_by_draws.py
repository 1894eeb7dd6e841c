"""δ from rows against exact two-dimensional distributions."""

import numpy as np
import pytest
from scipy.stats import binom, norm
from tests.guarantees.exact_laws import exact_delta

import distpriv as dp
from distpriv.framework.arrays import Floats
from distpriv.guarantees.delta_by_draws import SETTINGS, DrawSettings, delta_by_draws
from distpriv.guarantees.delta_from_rows import delta_from_rows
from distpriv.guarantees.lattice_floor import Smoothing
from distpriv.law.saddlepoint import Saddlepoints, TiltedLaw, TiltedStratum
from distpriv.noise.laws import GaussianNoise, LaplaceNoise, SumNoise


def coins(drawn: int) -> TiltedLaw:
    """Return how many of so many coins show heads, with Gaussian noise of deviation 2."""
    stratum = TiltedStratum(values=np.array([[-0.5], [0.5]]), counts=np.ones(2), drawn=drawn, replacement=True)
    return TiltedLaw.of([stratum], np.array([drawn / 2]), np.eye(1) * 4.0)


def exact_of_coins(first: int, second: int, epsilon: float) -> float:
    grid = np.linspace(-20, 45, 65_001)
    densities = [
        norm.pdf(grid[:, np.newaxis] - np.arange(drawn + 1), scale=2.0) @ binom.pmf(np.arange(drawn + 1), drawn, 0.5)
        for drawn in (first, second)
    ]
    return float(np.maximum(densities[0] - np.exp(epsilon) * densities[1], 0.0).sum() * (grid[1] - grid[0]))


@pytest.mark.parametrize("epsilon", [0.0, 0.5, 1.5])
def test_standard_errors_are_those_of_many_estimates_and_controls_make_them_smaller(epsilon: float) -> None:
    exact = exact_of_coins(24, 20, epsilon)
    plain = DrawSettings(folds=1)
    found = [delta_by_draws(coins(24), coins(20), epsilon, settings=DrawSettings(seed=seed)) for seed in range(40)]
    assert all(each.epsilon == epsilon for each in found)
    off = np.array([(each.delta - exact) / each.standard_error for each in found])
    assert abs(off.mean()) < 4 / np.sqrt(len(off)) + 0.5  # half a standard error is left for the second order
    assert 0.5 < off.std() < 1.5
    assert np.mean([each.upper_bound >= exact for each in found]) >= 0.95
    without = delta_by_draws(coins(24), coins(20), epsilon, settings=plain)
    assert np.median([each.standard_error for each in found]) < 0.8 * without.standard_error


AGE, MEXICO = dp.mean("age"), dp.count("native_country = 'Mexico'")


@pytest.mark.parametrize("records", [20, 100, 2000])
@pytest.mark.parametrize(("width", "epsilon"), [(1.0, 0.1), (0.3, 1.0), (1.0, 2.0)])
@pytest.mark.parametrize("line", [0.0, 1.5])
@pytest.mark.slow
def test_the_upper_bound_is_above_the_exact_delta_and_not_far(
    records: int, width: float, epsilon: float, line: float
) -> None:
    query, secret = dp.Query(age=AGE, mexico=MEXICO), dp.Share("income = '>50K'", values=(0.4, 0.6))
    model = dp.model(dp.datasets.adult(), query, secret, records=records, replacement=True, reference="population")
    law = model.distributions[model.protected_pairs[0][0]]
    deviations = np.sqrt(np.diag(law.covariance))
    gaussian = GaussianNoise.of(np.diag((width * deviations) ** 2))
    axis = deviations * [0.8, -0.6]
    length = float(np.linalg.norm(axis))
    laplace = LaplaceNoise(axes=(axis / length)[:, np.newaxis], scales=np.array([line * length]))
    noise = SumNoise(parts=(gaussian, laplace)) if line else gaussian
    continuous = dict.fromkeys(model.distributions, Smoothing(least=1.0, most=1.0))
    found = delta_from_rows(model, noise, epsilon, matters=0.0, smoothed=continuous)
    exact = exact_delta(model, noise, epsilon)
    assert found is not None
    assert found.delta >= 0.98 * exact
    if found.epsilon == epsilon and exact > 1e-10:
        assert abs(found.estimate - exact) < 4 * found.standard_error + 0.02 * exact
        assert found.delta < (1.5 if records > 20 else 2.5) * exact


def test_a_point_without_a_saddlepoint_counts_in_full_and_says_nothing_of_the_ratio(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    whole = delta_by_draws(coins(24), coins(20), 0.0)
    saddlepoints = TiltedLaw.saddlepoints

    def all_but_one(self: TiltedLaw, points: Floats, tilts: Floats) -> Saddlepoints:
        at = saddlepoints(self, points, tilts)
        at.log_densities[0] = -np.inf
        return at

    monkeypatch.setattr(TiltedLaw, "saddlepoints", all_but_one)
    lacking = delta_by_draws(coins(24), coins(20), 0.0)
    assert whole.delta < lacking.delta < whole.delta + 4 / lacking.draws
    assert abs(lacking.normalisation) < 4 * lacking.normalisation_error
    assert whole.upper_bound < lacking.upper_bound < 1.1 * whole.upper_bound


@pytest.mark.parametrize("epsilon", [1.5, 2.0, 3.0])
def test_far_out_among_many_statistics_a_moment_bounds_delta(epsilon: float) -> None:
    size = 40
    covariances, shift = {"a": np.eye(size), "b": np.diag(np.linspace(0.93, 1.07, size))}, np.full(size, 0.03)
    laws = [TiltedLaw.of([], mean, covariances[name]) for name, mean in (("a", shift), ("b", 0 * shift))]
    estimate = delta_by_draws(laws[0], laws[1], epsilon, matters=1e-3)
    model = dp.gaussian_model(means={"a": shift, "b": 0 * shift}, covariances=covariances, pairs=[("a", "b")])
    exact = dp.exact_delta(model, np.zeros((size, size)), epsilon=epsilon)
    assert estimate.epsilon == epsilon
    assert exact < estimate.upper_bound < 1e-3
    unseen = SETTINGS.unseen / SETTINGS.moment_draws
    assert estimate.upper_bound >= unseen
    assert delta_by_draws(laws[0], laws[1], epsilon, matters=unseen).epsilon < epsilon
