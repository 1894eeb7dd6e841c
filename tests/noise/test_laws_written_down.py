import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from distpriv.errors import InvalidInput
from distpriv.noise.laws import GaussianNoise, LaplaceNoise, NoiseLaw, NoNoise, SumNoise, UnimodalNoise, noise_from_dict


def laws(seed: int, size: int) -> list[NoiseLaw]:
    rng = np.random.default_rng(seed)
    axes = np.linalg.qr(rng.normal(size=(size, size)))[0]
    gaussian = GaussianNoise(axes=axes[:, :1], variances=rng.exponential(size=1))
    laplace = LaplaceNoise(axes=axes, scales=rng.exponential(size=size))
    stairs = UnimodalNoise(
        axes=axes[:, :1], edges=np.array([0.0, rng.uniform(0.1, 1.0), 2.5]), masses=np.array([0.75, 0.25])
    )
    return [gaussian, laplace, SumNoise(parts=(gaussian, laplace)), stairs, NoNoise(dimension=size)]


@given(st.integers(0, 10**6), st.integers(1, 4))
def test_laws_come_back_from_json_to_the_last_bit(seed: int, size: int) -> None:
    for law in laws(seed, size):
        assert noise_from_dict(json.loads(json.dumps(law.to_dict()))) == law


def test_noise_along_no_axis_keeps_its_dimension() -> None:
    bare = GaussianNoise(axes=np.zeros((3, 0)), variances=np.zeros(0))
    assert noise_from_dict(bare.to_dict()).dimension == 3


@pytest.mark.parametrize(
    "values", [None, {}, {"law": "cauchy"}, {"law": "gaussian"}, {"law": "laplace", "axes": [[1.0]], "scales": ["x"]}]
)
def test_what_describes_no_law_is_refused(values: object) -> None:
    with pytest.raises(InvalidInput):
        noise_from_dict(values)
