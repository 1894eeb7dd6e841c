import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.noise.test_laws import axes

from distpriv.errors import InvalidInput
from distpriv.noise.laws import GaussianNoise, LaplaceNoise, NoiseLaw, NoNoise, SumNoise, UnimodalNoise
from distpriv.releasing.stack import stacked


def laws(seed: int, size: int) -> list[NoiseLaw]:
    """Return a random law of every kind."""
    rng = np.random.default_rng(seed)
    basis = axes(size, size, seed)
    gaussian = GaussianNoise(axes=basis[:, :1], variances=rng.exponential(size=1))
    laplace = LaplaceNoise(axes=basis, scales=rng.exponential(size=size))
    edges, masses = np.array([0.0, rng.uniform(0.1, 1.0), 2.5]), np.array([0.75, 0.25])
    stairs = UnimodalNoise(axes=basis[:, :1], edges=edges, masses=masses)
    return [gaussian, laplace, SumNoise(parts=(gaussian, laplace)), stairs, NoNoise(dimension=size)]


def drawable(seed: int, size: int) -> list[NoiseLaw]:
    return [law for law in laws(seed, size) if not isinstance(law, UnimodalNoise)]


@given(st.integers(0, 10**6), st.integers(1, 3), st.integers(1, 3))
def test_a_stack_has_each_noise_on_its_own_statistics_and_none_in_common(seed: int, first: int, second: int) -> None:
    for one in drawable(seed, first):
        for other in drawable(seed + 1, second):
            covariance = stacked([one, other]).covariance
            assert np.allclose(covariance[:first, :first], one.covariance)
            assert np.allclose(covariance[first:, first:], other.covariance)
            assert not covariance[:first, first:].any()


@settings(max_examples=8, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 3), st.floats(1, 100))
def test_wider_noise_is_a_multiple(seed: int, size: int, factor: float) -> None:
    for law in laws(seed, size):
        assert np.allclose(law.widened(factor).covariance, factor**2 * law.covariance)
        assert np.allclose(law.widened(factor).half_widths, factor * law.half_widths, rtol=1e-6)


def test_unimodal_noise_is_not_stacked() -> None:
    with pytest.raises(InvalidInput, match="together with other releases: use a mechanism with Gaussian noise"):
        stacked([law for law in laws(0, 2) if isinstance(law, UnimodalNoise)])
