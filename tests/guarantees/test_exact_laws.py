"""The oracle of exact laws against closed forms, enumeration and itself."""

import itertools
import math

import numpy as np
import pytest
from scipy.stats import binom, hypergeom, norm
from tests.guarantees.exact_laws import Stratum, SumLaw, exact_deltas

from distpriv.framework.arrays import Floats
from distpriv.noise.laws import GaussianNoise, LaplaceNoise, Noise, SumNoise, UnimodalNoise

PAIRS = [("a", "b"), ("b", "a")]
NOISES: dict[str, Noise] = {
    "Gaussian": GaussianNoise.isotropic(1, 0.7),
    "Laplace": SumNoise(parts=(LaplaceNoise.isotropic(1, 2.0), GaussianNoise.isotropic(1, 0.5))),
    "Laplace alone": LaplaceNoise.isotropic(1, 2.0),
    "staircase": UnimodalNoise(axes=np.eye(1), edges=np.array([0.0, 2.0, 6.0]), masses=np.array([0.5, 0.5])),
}


def stratum(ones: int, rows: int, drawn: int, *, replacement: bool) -> Stratum:
    counts = np.array([rows - ones, ones], dtype=float)
    return Stratum(values=np.array([[0.0], [1.0]]), counts=counts, drawn=drawn, replacement=replacement)


def density(noise: Noise, points: Floats) -> Floats:
    """That of noise of one number, from its definition."""
    if isinstance(noise, UnimodalNoise):
        return np.where(np.abs(points) < 2, 0.125, np.where(np.abs(points) < 6, 0.0625, 0.0))
    if noise.is_gaussian:
        return np.asarray(norm.pdf(points, scale=0.7))
    laplace = np.exp(-np.abs(points) / 2) / 4
    if isinstance(noise, LaplaceNoise):
        return laplace
    step = points[1] - points[0]
    kernel = norm.pdf(np.arange(-3, 3 + step / 2, step), scale=0.5) * step
    return np.convolve(laplace, kernel, mode="same")


@pytest.mark.parametrize("replacement", [True, False])
@pytest.mark.parametrize("name", NOISES)
def test_counts_have_the_delta_of_their_binomial_and_hypergeometric_distributions(name: str, replacement: bool) -> None:
    sizes, noise, epsilon = {"a": (20, 10), "b": (12, 18)}, NOISES[name], 0.3
    laws, masses = {}, {}
    for key, drawn in sizes.items():
        strata = [stratum(ones, 400, n, replacement=replacement) for ones, n in zip((120, 300), drawn, strict=True)]
        laws[key] = SumLaw(strata=strata)
        parts = [
            (binom(n, ones / 400) if replacement else hypergeom(400, ones, n)).pmf(np.arange(n + 1))
            for ones, n in zip((120, 300), drawn, strict=True)
        ]
        masses[key] = np.convolve(parts[0], parts[1])
    step = 2**-8
    points = np.arange(-60, 90, step) + step / 2
    around = density(noise, np.arange(-100, 100, step) + step / 2)
    densities = {}
    for key, chances in masses.items():
        starts = np.round((points[0] - np.arange(31) + 100 - step / 2) / step).astype(int)
        densities[key] = sum(p * around[s : s + len(points)] for p, s in zip(chances, starts, strict=True))
    exact = max(
        float(np.maximum(densities[one] - math.exp(epsilon) * densities[other], 0).sum() * step) for one, other in PAIRS
    )
    found = exact_deltas(laws, noise, epsilon, PAIRS)
    assert found.smoothing < 1e-3
    assert found.delta == pytest.approx(exact, rel=3e-3)
    assert found.error < 3e-3 * exact


@pytest.mark.parametrize("size", [1, 2, 3])
@pytest.mark.parametrize("replacement", [True, False])
def test_few_rows_in_any_dimension_are_the_mixture_of_normal_distributions_that_they_are(
    size: int, replacement: bool
) -> None:
    """δ by simulation from the mixture over every set of rows, whose density is known."""
    rng = np.random.default_rng(size)
    groups = [rng.normal(k / 2, 1, size=(5, size)) for k in range(2)]
    root = rng.normal(size=(size, size)) / 3 + np.eye(size)
    noise = GaussianNoise.of(root @ root.T)
    laws, centres = {}, {}
    for name, drawn in {"a": (2, 1), "b": (1, 2)}.items():
        strata = [Stratum.of(rows, n, replacement=replacement) for rows, n in zip(groups, drawn, strict=True)]
        laws[name] = SumLaw(strata=strata)
        sums = [
            [rows[list(chosen)].sum(axis=0) for chosen in _choices(n, replacement)]
            for rows, n in zip(groups, drawn, strict=True)
        ]
        centres[name] = np.array([one + other for one in sums[0] for other in sums[1]])
        np.testing.assert_allclose(centres[name].mean(axis=0), laws[name].mean)
        np.testing.assert_allclose(
            np.cov(centres[name].T, bias=True).reshape(size, size), laws[name].covariance, atol=1e-12
        )
    draws = 40_000
    points = centres["a"][rng.integers(len(centres["a"]), size=draws)] + noise.simulate(draws, seed=1)
    inverse = np.linalg.inv(root)

    def log_density(name: str) -> Floats:
        squares = sum(np.subtract.outer(points @ row, centres[name] @ row) ** 2 for row in inverse)
        return np.asarray(np.log(np.exp(-squares / 2).mean(axis=1)))

    gains = -np.expm1(np.minimum(0.0, 0.2 - log_density("a") + log_density("b")))
    found = exact_deltas(laws, noise, 0.2, [("a", "b")])
    assert found.delta == pytest.approx(gains.mean(), abs=4.5 * gains.std() / draws**0.5)


def _choices(number: int, replacement: bool) -> list[tuple[int, ...]]:
    if replacement:
        return list(itertools.product(range(5), repeat=number))
    return list(itertools.combinations(range(5), number))


def test_a_view_and_more_noise_only_lower_delta() -> None:
    rng = np.random.default_rng(2)
    laws = {
        name: SumLaw(strata=[Stratum.of(rng.gamma(1.0, size=(50, 3)) + shift, 5, replacement=True)])
        for name, shift in {"a": 0.0, "b": 0.4}.items()
    }
    noise = GaussianNoise.isotropic(3, 1.0)
    whole = exact_deltas(laws, noise, 0.5, PAIRS).delta
    for view in (np.eye(3)[:2], np.ones((1, 3)), rng.normal(size=(2, 3))):
        assert exact_deltas(laws, noise, 0.5, PAIRS, view=view).delta <= whole * (1 + 1e-3)
    assert exact_deltas(laws, noise.widened(1.5), 0.5, PAIRS).delta < whole
