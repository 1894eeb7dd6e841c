import json
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate

from distpriv.errors import InvalidInput
from distpriv.framework.arrays import Floats
from distpriv.framework.records import Format, plain
from distpriv.noise.laws import GaussianNoise, LaplaceNoise, NoiseLaw, NoNoise, SumNoise, UnimodalNoise


def axes(size: int, count: int, seed: int = 0) -> Floats:
    return np.asarray(np.linalg.qr(np.random.default_rng(seed).normal(size=(size, count)))[0])


LAWS: dict[str, NoiseLaw] = {
    "isotropic Gaussian": GaussianNoise.isotropic(5, 3.0),
    "rank-deficient Gaussian": GaussianNoise(axes=axes(5, 2), variances=np.array([4.0, 0.01])),
    "uneven Gaussian": GaussianNoise(axes=axes(4, 4), variances=np.array([1e-4, 1.0, 4.0, 900.0])),
    "isotropic Laplace": LaplaceNoise.isotropic(3, 2.0),
    "directional Laplace": LaplaceNoise(axes=axes(5, 1), scales=np.array([3.0])),
    "uneven Laplace": LaplaceNoise(axes=axes(4, 3), scales=np.array([0.1, 1.0, 30.0])),
    "unimodal": UnimodalNoise(axes=axes(3, 1), edges=np.array([0, 0.5, 2, 9]), masses=np.array([0.5, 0.25, 0.25])),
    "none": NoNoise(dimension=3),
    "sum": SumNoise(parts=(GaussianNoise.isotropic(3, 2.0), LaplaceNoise(axes=axes(3, 1), scales=np.array([5.0])))),
    "sum of Laplace": SumNoise(parts=(LaplaceNoise.isotropic(2, 1.0), LaplaceNoise.isotropic(2, 4.0))),
}


@pytest.mark.parametrize("name", LAWS)
def test_what_a_law_says_of_itself_is_what_it_does(name: str) -> None:
    law = LAWS[name]
    drawn = law.simulate(200_000, seed=1)
    assert drawn.shape == (200_000, law.dimension)
    lengths = np.linalg.norm(drawn, axis=1)
    error = lengths.std() / len(lengths) ** 0.5
    assert abs(lengths.mean() - law.expected_l2) <= 4.5 * error
    assert (lengths**2).mean() == pytest.approx(law.expected_rms**2, abs=4.5 * (lengths**2).std() / len(lengths) ** 0.5)
    assert np.trace(law.covariance) == pytest.approx(law.expected_rms**2)
    scale = max(law.expected_rms**2, 1e-300)
    np.testing.assert_allclose(np.cov(drawn.T) / scale, law.covariance / scale, atol=0.02)
    inside = (np.abs(drawn) <= law.half_widths * (1 + 1e-12)).mean(axis=0)
    assert ((np.abs(inside - 0.95) < 4.5 * (0.0475 / len(drawn)) ** 0.5) | (law.half_widths == 0)).all()
    assert np.array_equal(drawn, law.simulate(200_000, seed=1))


@pytest.mark.parametrize("name", LAWS)
def test_the_characteristic_function_is_the_mean_of_waves_and_curved_by_the_covariance(
    name: str,
) -> None:
    law, draws = LAWS[name], 100_000
    widths = np.sqrt(np.diag(law.covariance)) + 1e-9
    frequencies = np.random.default_rng(2).normal(size=(20, law.dimension)) / widths
    phases = law.simulate(draws, seed=3) @ frequencies.T
    found = law.characteristic_function(frequencies)
    assert found.dtype == np.complex128
    np.testing.assert_allclose(found, np.exp(1j * phases).mean(axis=0), atol=5 / draws**0.5)
    np.testing.assert_array_equal(found, law.characteristic_function(-frequencies))
    np.testing.assert_array_equal(
        found[:12].reshape(3, 4), law.characteristic_function(frequencies[:12].reshape(3, 4, -1))
    )
    assert law.characteristic_function(np.zeros(law.dimension)) == 1
    scale = max(law.expected_rms, 1e-3)
    along = axes(law.dimension, law.dimension, seed=5).T
    curvatures = 2 * (1 - law.characteristic_function(along * 1e-3 / scale).real) * (scale / 1e-3) ** 2
    np.testing.assert_allclose(curvatures, np.diag(along @ law.covariance @ along.T), atol=1e-4 * scale**2)


@pytest.mark.parametrize("frequencies", [1.0, [1.0, 2.0], [[1.0, 2.0, 3.0, 4.0]]])
def test_frequencies_of_other_statistics_are_refused(frequencies: Floats) -> None:
    with pytest.raises(InvalidInput):
        GaussianNoise.isotropic(3, 1.0).characteristic_function(frequencies)


@pytest.mark.parametrize("name", LAWS)
def test_a_law_answers_for_its_parts_its_widths_and_itself_widened(name: str) -> None:
    law = LAWS[name]
    laplace = (law.laplace_axes * (2 * law.laplace_scales**2)) @ law.laplace_axes.T
    other = law.covariance if isinstance(law, UnimodalNoise) else np.zeros_like(law.covariance)
    np.testing.assert_allclose(law.gaussian.covariance + laplace + other, law.covariance, atol=1e-12)
    assert law.is_gaussian == np.allclose(law.gaussian.covariance, law.covariance)
    assert law.axes.shape == (law.dimension, len(law.widths))
    wider = law.widened(3.0)
    np.testing.assert_allclose(wider.widths, 3 * law.widths)
    np.testing.assert_allclose(wider.covariance, 9 * law.covariance, atol=1e-12)
    assert type(wider) is type(law)


@given(st.lists(st.floats(1e-6, 1e6), min_size=1, max_size=3), st.integers(0, 100))
def test_expected_length_is_between_the_largest_part_and_the_root_mean_square(sizes: list[float], seed: int) -> None:
    for law, largest in (
        (
            GaussianNoise(axes=axes(4, len(sizes), seed), variances=np.square(sizes)),
            max(sizes) * math.sqrt(2 / math.pi),
        ),
        (LaplaceNoise(axes=axes(4, len(sizes), seed), scales=np.array(sizes)), max(sizes)),
    ):
        assert largest * (1 - 1e-9) <= law.expected_l2 <= law.expected_rms * (1 + 1e-9)


def test_quadrature_agrees_with_closed_forms_and_with_integration_in_two_dimensions() -> None:
    nearly = GaussianNoise(axes=np.eye(5), variances=np.array([9.0, 9, 9, 9, 9 * (1 + 1e-12)]))
    assert nearly.expected_l2 == pytest.approx(GaussianNoise.isotropic(5, 3).expected_l2, rel=1e-11)
    one = LaplaceNoise(axes=np.eye(2), scales=np.array([5.0, 1e-9]))
    assert one.expected_l2 == pytest.approx(5.0, rel=1e-9)
    plane = LaplaceNoise(axes=np.eye(2), scales=np.array([1.0, 2.0]))
    by_integration = integrate.dblquad(
        lambda y, x: math.hypot(x, y) * math.exp(-x - y / 2) / 2, 0, 60, 0, 120, epsabs=1e-10
    )[0]
    assert plane.expected_l2 == pytest.approx(by_integration, rel=1e-7)
    uneven = GaussianNoise(axes=np.eye(2), variances=np.array([1.0, 4.0]))
    elliptic = integrate.quad(lambda t: math.hypot(math.cos(t), 2 * math.sin(t)), 0, 2 * math.pi)[0] / (2 * math.pi)
    assert uneven.expected_l2 == pytest.approx(math.sqrt(math.pi / 2) * elliptic, rel=1e-10)


def test_with_one_axis_of_laplace_noise_the_length_is_a_mean_over_its_size() -> None:
    gaussian = GaussianNoise(axes=axes(3, 3), variances=np.array([1.0, 4.0, 0.01]))
    direction = axes(3, 1, seed=4)
    law = SumNoise(parts=(gaussian, LaplaceNoise(axes=direction, scales=np.array([2.5]))))

    def at(e: float) -> float:
        widened = gaussian.covariance + 2 * 2.5**2 * e * direction @ direction.T
        return math.exp(-e) * GaussianNoise.of(widened).expected_l2

    assert law.expected_l2 == pytest.approx(integrate.quad(at, 0, 60, limit=200)[0], rel=1e-7)
    assert SumNoise(parts=(gaussian,)).expected_l2 == gaussian.expected_l2
    alone = SumNoise(parts=(LaplaceNoise(axes=direction, scales=np.array([2.5])),))
    assert alone.expected_l2 == pytest.approx(2.5, rel=1e-9)


@pytest.mark.parametrize(
    ("given_axes", "sizes"),
    [
        (np.array([[1.0], [1.0]]), np.array([1.0])),
        (np.eye(2), np.array([1.0])),
        (np.eye(2), np.array([1.0, -1.0])),
        (np.eye(2), np.array([1.0, np.inf])),
        (np.ones(2), np.array([1.0, 1.0])),
    ],
)
def test_noise_without_proper_axes_is_refused(given_axes: Floats, sizes: Floats) -> None:
    with pytest.raises(InvalidInput, match="axes"):
        GaussianNoise(axes=given_axes, variances=sizes)
    with pytest.raises(InvalidInput, match="axes"):
        LaplaceNoise(axes=given_axes, scales=sizes)


AXIS = np.array([[0.6], [-0.8]])


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"axes": np.eye(2)}, "one axis"),
        ({"axes": np.array([[0.6], [0.6]])}, "one axis"),
        ({"edges": [0.0, 1.0]}, "one more edge"),
        ({"edges": [0.5, 1.0, 2.0]}, "start at 0"),
        ({"edges": [0.0, 2.0, 1.0]}, "increase"),
        ({"masses": [0.5, 0.25]}, "sum to 1"),
        ({"masses": [1.5, -0.5]}, "at least 0"),
        ({"masses": [0.25, 0.75]}, "not increase"),
    ],
)
def test_what_is_no_staircase_is_refused(changed: dict[str, object], message: str) -> None:
    given: dict[str, object] = {"axes": AXIS, "edges": [0.0, 1.0, 2.0], "masses": [0.5, 0.5]}
    UnimodalNoise(**given)  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match=message):
        UnimodalNoise(**{**given, **changed})  # type: ignore[arg-type]


def test_masses_must_sum_to_one_exactly_and_not_only_in_floating_point() -> None:
    tenths = [0.1] * 10
    assert sum(map(Fraction, tenths)) != 1
    with pytest.raises(InvalidInput, match="exactly"):
        UnimodalNoise(axes=AXIS, edges=np.arange(11.0), masses=np.array(tenths))


def laws(seed: int, size: int) -> list[NoiseLaw]:
    """Return a random law of every kind."""
    rng = np.random.default_rng(seed)
    basis = axes(size, size, seed)
    gaussian = GaussianNoise(axes=basis[:, :1], variances=rng.exponential(size=1))
    laplace = LaplaceNoise(axes=basis, scales=rng.exponential(size=size))
    edges, masses = np.array([0.0, rng.uniform(0.1, 1.0), 2.5]), np.array([0.75, 0.25])
    stairs = UnimodalNoise(axes=basis[:, :1], edges=edges, masses=masses)
    return [gaussian, laplace, SumNoise(parts=(gaussian, laplace)), stairs, NoNoise(dimension=size)]


NOISE: Format[NoiseLaw] = Format(NoiseLaw)  # type: ignore[arg-type] # a union of classes


@given(st.integers(0, 10**6), st.integers(1, 4))
def test_laws_come_back_from_json_to_the_last_bit(seed: int, size: int) -> None:
    for law in laws(seed, size):
        assert NOISE.of(json.loads(json.dumps(plain(law)))) == law
    bare = GaussianNoise(axes=np.zeros((3, 0)), variances=np.zeros(0))
    assert NOISE.of(plain(bare)).dimension == 3


@pytest.mark.parametrize(
    "values", [None, {}, {"law": "cauchy"}, {"law": "gaussian"}, {"law": "laplace", "axes": [[1.0]], "scales": ["x"]}]
)
def test_what_describes_no_law_is_refused(values: object) -> None:
    with pytest.raises(InvalidInput):
        NOISE.of(values)
