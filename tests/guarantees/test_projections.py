from collections.abc import Mapping
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.guarantees.exact_laws import Stratum, SumLaw, exact_deltas
from tests.guarantees.random_models import projected_deltas

import distpriv as dp
from distpriv.auditing.projection_attack import log_ratio
from distpriv.framework.arrays import Floats
from distpriv.guarantees.projections import projected_laws, worst_projected_pair
from distpriv.modelling.given import empirical_model
from distpriv.modelling.model import QueryModel
from distpriv.modelling.row_laws import RowLaws
from distpriv.noise.laws import GaussianNoise, LaplaceNoise, NoNoise

whole = st.integers(-12, 12).map(float)
rows = st.lists(st.tuples(whole, whole), min_size=4, max_size=6).map(np.array)


def sums_of(laws: RowLaws, name: str) -> Floats:
    """All datasets of a scenario, by enumeration."""
    parts = [
        [np.sum(chosen, axis=0) for chosen in combinations(laws.strata[stratum].values, size)]
        for stratum, size in laws.drawn[name].items()
    ]
    return np.array([np.sum(choice, axis=0) for choice in product(*parts)])


def enumerated(laws: RowLaws) -> tuple[QueryModel, Mapping[str, Floats]]:
    samples = {name: sums_of(laws, name) for name in laws.drawn}
    return empirical_model(samples=samples, pairs=[("a", "b")]), samples


def density(points: Floats, deviation: float, line: Floats) -> Floats:
    """Return the density of equally likely points with Gaussian noise."""
    distances = (line - points[:, np.newaxis]) / deviation
    return np.asarray(np.exp(-(distances**2) / 2).mean(axis=0) / (deviation * np.sqrt(2 * np.pi)))


@given(positives=rows, negatives=rows, epsilon=st.sampled_from([0.1, 1.0, 3.0]), angle=st.floats(0, 3))
@settings(max_examples=25)
def test_it_is_the_divergence_of_all_datasets(
    positives: Floats, negatives: Floats, epsilon: float, angle: float
) -> None:
    laws = RowLaws(strata=(positives, negatives), drawn={"a": {0: 3, 1: 1}, "b": {0: 1, 1: 3}}, replacement=False)
    model, _ = enumerated(laws)
    direction = np.array([np.cos(angle), np.sin(angle)])
    noise = GaussianNoise.isotropic(2, 1.5)
    oracle = {
        name: SumLaw(
            strata=[Stratum.of(laws.strata[s].values, size, replacement=False) for s, size in laws.drawn[name].items()]
        )
        for name in laws.drawn
    }
    for pair, found in zip(
        model.protected_pairs, projected_deltas(model, laws, noise, epsilon, direction), strict=True
    ):
        exact = exact_deltas(oracle, noise, epsilon, [pair], view=direction).delta
        assert found == pytest.approx(exact, rel=5e-4, abs=2e-5)


@given(positives=rows, negatives=rows, angle=st.floats(0, 3), shift=st.floats(-30, 30))
@settings(max_examples=25)
def test_the_ratio_is_that_of_the_densities_of_all_datasets(
    positives: Floats, negatives: Floats, angle: float, shift: float
) -> None:
    laws = RowLaws(strata=(positives, negatives), drawn={"a": {0: 3, 1: 1}, "b": {0: 1, 1: 3}}, replacement=False)
    model, samples = enumerated(laws)
    direction = np.array([np.cos(angle), np.sin(angle)])
    found = projected_laws(model, laws, GaussianNoise.isotropic(2, 1.5), direction)
    assert found is not None
    released = samples["a"] + shift / 10
    densities = [density(samples[name] @ direction, 1.5, released @ direction) for name in "ab"]
    seen = np.minimum(*densities) > 1e-6
    expected = np.log(densities[0][seen] / densities[1][seen])
    ratios = log_ratio(found, ("a", "b"), released)
    np.testing.assert_allclose(ratios[seen], expected, rtol=1e-3, atol=5e-3)
    np.testing.assert_allclose(log_ratio(found, ("b", "a"), released), -ratios)


@given(positives=rows, negatives=rows, size=st.integers(1, 3))
@settings(max_examples=25)
def test_mean_phases_with_replacement_are_those_of_independent_rows(
    positives: Floats, negatives: Floats, size: int
) -> None:
    laws = RowLaws(strata=(positives, negatives), drawn={"a": {0: size, 1: 1}}, replacement=True)
    t = np.array([0.3, -0.2])
    one, other = (np.exp(1j * (part.values @ t)).mean() for part in laws.strata)
    assert laws.phases(t)["a"] == pytest.approx(one**size * other, abs=1e-9)


def test_without_noise_laws_on_other_points_are_told_apart() -> None:
    even, odd = np.arange(0.0, 40.0, 2.0)[:, np.newaxis], np.arange(1.0, 41.0, 2.0)[:, np.newaxis]
    laws = RowLaws(strata=(even, odd), drawn={"a": {0: 5}, "b": {0: 4, 1: 1}}, replacement=False)
    model = empirical_model(samples={"a": [90.0, 100.0, 110.0], "b": [91.0, 101.0, 111.0]}, pairs=[("a", "b")])
    found = projected_deltas(model, laws, NoNoise(dimension=1), 5.0, np.ones(1))
    assert found.min() > 0.999


@pytest.mark.slow
def test_laplace_noise_along_a_translation_keeps_its_epsilon() -> None:
    values = np.array([[0.0], [1.0], [2.0], [5.0]])
    laws = RowLaws(strata=(values, values + 3.0), drawn={"a": {0: 2}, "b": {1: 2}}, replacement=False)
    model, _ = enumerated(laws)
    noise = LaplaceNoise(axes=np.eye(1), scales=np.array([6.0]))
    told = projected_laws(model, laws, noise, np.ones(1))
    assert told is not None
    at = {epsilon: max(told.delta(pair, epsilon) for pair in model.protected_pairs) for epsilon in (0.5, 1.001)}
    assert at[0.5] > 0.1
    assert at[1.001] < 1e-3


def test_rows_near_a_coarse_lattice_with_an_offset_are_found_out() -> None:
    rng = np.random.default_rng(1)
    near = np.asarray(100.0 * rng.integers(0, 6, 2000) + rng.integers(-3, 4, 2000), dtype=np.float64)
    laws = RowLaws(
        strata=(near[:1000, np.newaxis] + 13, near[1000:, np.newaxis]),
        drawn={"a": {0: 8, 1: 12}, "b": {0: 12, 1: 8}},
        replacement=False,
    )
    moments = {
        name: [sum(size * laws.strata[s].values.mean() for s, size in of.items())] for name, of in laws.drawn.items()
    }
    model = dp.gaussian_model(means=moments, covariances=[[20 * near.var()]], pairs=[("a", "b")])
    noise = GaussianNoise.isotropic(1, 4.0)
    assert dp.exact_delta(model, noise, epsilon=1.0) < 1e-6
    assert worst_projected_pair(model, projected_laws(model, laws, noise, np.ones(1)), 1.0)[1] > 0.5
