import math
import random
import secrets
from collections import Counter
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from tests.noise.lattice_oracle import LEAST_EXPECTED, SIGNIFICANCE, cells_on_a_line, goodness_of_fit

from distpriv.errors import InvalidInput
from distpriv.noise.integers import IntegerGaussian, IntegerNoise
from distpriv.noise.lattice import Frame, LatticeNoise, on_lattice
from distpriv.noise.laws import GaussianNoise, LaplaceNoise, NoiseLaw, NoNoise, SumNoise, UnimodalNoise

OBLIQUE = np.array([[0.6, -0.8], [0.8, 0.6]])


LAWS: dict[str, NoiseLaw] = {
    "Gaussian": GaussianNoise(axes=OBLIQUE, variances=np.array([9.0, 1e-4])),
    "Gaussian along one axis": GaussianNoise(axes=OBLIQUE[:, :1], variances=np.array([9.0])),
    "Gaussian with an empty axis": GaussianNoise(axes=OBLIQUE, variances=np.array([0.0, 4.0])),
    "Laplace": LaplaceNoise.isotropic(2, 0.3),
    "Laplace along one axis": LaplaceNoise(axes=OBLIQUE[:, 1:], scales=np.array([5.0])),
    "sum": SumNoise(
        parts=(
            GaussianNoise.isotropic(2, 0.01),
            LaplaceNoise(axes=OBLIQUE[:, :1], scales=np.array([3.0])),
        )
    ),
    "sum of three": SumNoise(
        parts=(
            LaplaceNoise(axes=OBLIQUE[:, :1], scales=np.array([1.0])),
            GaussianNoise(axes=OBLIQUE[:, :1], variances=np.array([1.0])),
            LaplaceNoise.isotropic(2, 4.0),
        )
    ),
    "unimodal": UnimodalNoise(axes=OBLIQUE[:, :1], edges=np.array([0.0, 1.0, 4.0]), masses=np.array([0.75, 0.25])),
    "none": NoNoise(dimension=2),
}


def one_axis(lattice: LatticeNoise) -> IntegerNoise:
    return lattice.base.coordinates[0]


@given(st.floats(1e-200, 1e200), st.integers(1, 40))
def test_a_step_is_a_power_of_two_that_divides_the_scale_exactly(scale: float, bits: int) -> None:
    lattice = on_lattice(LaplaceNoise.isotropic(1, scale), bits=bits)
    step, steps = float(lattice.steps[0]), one_axis(lattice).scale
    assert math.frexp(step)[0] == 0.5
    assert 2.0 ** (bits - 1) < steps <= 2.0**bits
    assert steps * step == scale


@given(st.floats(1e-100, 1e100))
def test_gaussian_noise_on_a_lattice_is_never_narrower_than_its_law(variance: float) -> None:
    lattice = on_lattice(GaussianNoise.isotropic(1, 1.0).along(np.eye(1), np.array([variance])))
    deviation = one_axis(lattice).scale * lattice.steps[0]
    assert variance <= deviation**2 * (1 + 2.0**-52)
    assert deviation**2 == pytest.approx(variance, rel=1e-14)


@pytest.mark.parametrize("name", LAWS)
def test_a_release_is_the_statistics_with_noise_of_the_law(name: str) -> None:
    lattice, value = on_lattice(LAWS[name]), np.array([1000.0, -0.25])
    noise = np.array([lattice.draw(value) - value for _ in range(1000)])
    if isinstance(LAWS[name], NoNoise):
        assert not noise.any()
        return
    simulated = LAWS[name].simulate(20_000, seed=3)
    for axis in np.vstack([np.eye(2), OBLIQUE.T]):
        expected = simulated @ axis
        if np.abs(expected).max() < 1e-9:
            assert np.abs(noise @ axis).max() <= lattice.grain.sum()
        else:
            assert stats.ks_2samp(noise @ axis, expected).pvalue > SIGNIFICANCE


@pytest.mark.parametrize(
    "law",
    [
        GaussianNoise.isotropic(1, 1.5),
        LaplaceNoise.isotropic(1, 1.0),
        SumNoise(parts=(GaussianNoise.isotropic(1, 1.0), LaplaceNoise.isotropic(1, 0.7))),
        UnimodalNoise(axes=np.eye(1), edges=np.array([0.0, 0.7, 2.0]), masses=np.array([0.75, 0.25])),
    ],
    ids=lambda law: type(law).__name__,
)
def test_a_coarse_release_has_exactly_the_law_that_summation_gives(law: NoiseLaw) -> None:
    lattice, value = on_lattice(law, bits=3), 0.3
    counts = Counter(round(lattice.draw(np.array([value]))[0] / lattice.steps[0]) for _ in range(4000))
    cells = np.arange(-300.0, 301.0)
    probabilities = cells_on_a_line(lattice, value, cells)
    assert probabilities.sum() == pytest.approx(1, abs=1e-9)
    assert goodness_of_fit(counts, cells, probabilities) > SIGNIFICANCE


def low_order_bits(released: float) -> tuple[int, int]:
    """The octave that a number is in, and how many bits of its fraction are in use."""
    octave = math.frexp(released)[1]
    return octave, octave + released.as_integer_ratio()[1].bit_length()


def same_bits(draw: Callable[[float], float], values: tuple[float, float], draws: int) -> float:
    """The p-value of the hypothesis that, in any octave, the low-order bits do not depend on the true value."""
    seen = [Counter(low_order_bits(draw(value)) for _ in range(draws)) for value in values]
    statistic, freedom = 0.0, 0
    for octave in range(-4, 1):
        kinds = [kind for kind in {*seen[0], *seen[1]} if kind[0] == octave]
        table = np.array([[counts[kind] for kind in kinds] for counts in seen])
        rare = table.sum(axis=0) * (table.sum(axis=1) / table.sum()).min() < LEAST_EXPECTED
        table = table[:, ~rare]
        if table.shape[1] > 1:
            found = stats.chi2_contingency(table, correction=False)
            statistic, freedom = statistic + found.statistic, freedom + found.dof
    assert freedom > 3
    return float(stats.chi2.sf(statistic, freedom))


@pytest.mark.slow
@pytest.mark.parametrize("values", [(0.0, 1.0), (0.0, 1 / 3)])
def test_low_order_bits_of_a_release_say_nothing_about_the_true_value(values: tuple[float, float]) -> None:
    plain = on_lattice(LaplaceNoise.isotropic(1, 1.0))
    assert same_bits(lambda value: float(plain.draw(np.array([value]))[0]), values, 2500) > SIGNIFICANCE
    turned = on_lattice(GaussianNoise(axes=OBLIQUE, variances=np.array([1.0, 0.04])))
    assert same_bits(lambda value: float(turned.draw(np.array([value, 0.5]))[0]), values, 2500) > SIGNIFICANCE


@pytest.mark.parametrize("values", [(0.0, 1.0), (0.0, 1 / 3)])
def test_low_order_bits_of_floating_point_noise_give_the_true_value_away(values: tuple[float, float]) -> None:
    rng = np.random.default_rng(1)
    assert same_bits(lambda value: value + float(rng.laplace()), values, 2500) < SIGNIFICANCE
    assert same_bits(lambda value: value + float(rng.normal()), values, 2500) < SIGNIFICANCE


@pytest.mark.parametrize("name", LAWS)
def test_no_release_touches_a_generator_that_can_be_predicted(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a release drew from a generator that can be predicted")

    for module in (np.random, random):
        for member in dir(module):
            if not member.startswith("_") and callable(getattr(module, member)):
                monkeypatch.setattr(module, member, refuse)
    with pytest.raises(AssertionError, match="predicted"):
        LAWS["Laplace"].simulate(1, seed=0)
    on_lattice(LAWS[name]).draw(np.array([1.0, 2.0]))


def without_noise(monkeypatch: pytest.MonkeyPatch) -> None:
    for kind in IntegerNoise.__args__:
        monkeypatch.setattr(kind, "draw", lambda _: 0)


@pytest.mark.parametrize("name", LAWS)
def test_rounding_is_always_the_same_and_below_a_step_and_a_grain(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    lattice = on_lattice(LAWS[name])
    without_noise(monkeypatch)
    for value in ([1 / 3, -2 / 7], [1e15, 1e-15], [123456.789, 0.0]):
        released = lattice.draw(np.array(value))
        assert np.array_equal(released, lattice.draw(np.array(value)))
        allowed = lattice.steps.sum() + lattice.grain + 4 * np.spacing(np.abs(value).max())
        assert (np.abs(released - value) <= allowed).all()


def test_statistics_along_an_axis_without_noise_keep_all_their_digits(monkeypatch: pytest.MonkeyPatch) -> None:
    lattice = on_lattice(LaplaceNoise(axes=np.array([[1.0], [0.0]]), scales=np.array([1e9])))
    without_noise(monkeypatch)
    assert lattice.draw(np.array([5.0, 1.23456789e-9]))[1] == 1.23456789e-9


@pytest.mark.parametrize("name", [name for name in LAWS if name != "none"])
def test_released_numbers_are_whole_numbers_of_grains_far_below_their_noise(name: str) -> None:
    lattice = on_lattice(LAWS[name])
    grains = lattice.draw(np.array([0.1, 0.2])) / lattice.grain
    assert np.array_equal(grains, np.round(grains))
    assert (lattice.grain <= 2.0**-28 * LAWS[name].simulate(1000, seed=0).std(axis=0)).all()


@given(st.floats(-12, 12), st.floats(-12, 12), st.floats(0, 3))
def test_noise_of_very_different_sizes_costs_no_more_than_other_noise(first: float, second: float, turn: float) -> None:
    axes = np.array([[math.cos(turn), -math.sin(turn)], [math.sin(turn), math.cos(turn)]])
    for law in (
        GaussianNoise(axes=axes, variances=np.array([10.0**first, 10.0**second])),
        LaplaceNoise(axes=axes, scales=np.array([10.0**first, 10.0**second])),
    ):
        cost = on_lattice(law).cost
        assert cost.divergence < 1e-10
        assert cost.failure < 1e-30


def test_the_cost_of_a_sum_grows_with_how_much_wider_the_other_part_is() -> None:
    def divergence(scale: float) -> float:
        wide = LaplaceNoise(axes=OBLIQUE[:, :1], scales=np.array([scale]))
        return on_lattice(SumNoise(parts=(GaussianNoise.isotropic(2, 1.0), wide))).cost.divergence

    assert divergence(1.0) < 1e-9 < divergence(1e5) < 1e-5


def test_the_part_that_others_are_rounded_with_is_the_widest_of_those_in_every_direction() -> None:
    narrow, wide = GaussianNoise.isotropic(2, 0.1), LaplaceNoise.isotropic(2, 10.0)
    assert on_lattice(SumNoise(parts=(narrow, wide))).base == on_lattice(wide).base
    one = LaplaceNoise(axes=OBLIQUE[:, :1], scales=np.array([1e6]))
    assert isinstance(one_axis(on_lattice(SumNoise(parts=(one, narrow)))), IntegerGaussian)


@pytest.mark.parametrize(
    "value",
    [[math.nan, 1.0], [1.0, math.inf], [-math.inf, 0.0], [1.0], [1.0, 2.0, 3.0], [[1.0, 2.0]]],
)
def test_statistics_that_are_no_numbers_are_refused_without_saying_what_they_are(value: list[float]) -> None:
    with pytest.raises(InvalidInput, match="2 statistics that are all finite") as refusal:
        on_lattice(LAWS["Laplace"]).draw(np.array(value))
    assert "nan" not in str(refusal.value)
    assert "inf" not in str(refusal.value).replace("finite", "")


def test_a_statistic_at_the_end_of_floating_point_is_refused_and_a_huge_one_is_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    lattice = on_lattice(LaplaceNoise.isotropic(1, 2.0**700))
    assert on_lattice(LAWS["Laplace"]).draw(np.array([1e300, 0.0]))[0] == 1e300
    monkeypatch.setattr(type(one_axis(lattice)), "draw", lambda _: 2**400)
    with pytest.raises(InvalidInput, match="too large for a number"):
        lattice.draw(np.array([1.7e308]))


def test_noise_that_has_no_lattice_is_refused() -> None:
    with pytest.raises(InvalidInput, match="no lattice in floating point"):
        on_lattice(LaplaceNoise.isotropic(1, 1e-300))
    with pytest.raises(InvalidInput, match="in every direction"):
        on_lattice(SumNoise(parts=(GaussianNoise(axes=OBLIQUE[:, :1], variances=np.array([1.0])),) * 2))
    with pytest.raises(InvalidInput, match="scale in steps"):
        on_lattice(LAWS["Laplace"], bits=41)


def test_the_source_of_even_noise_is_the_operating_system(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []

    def least(below: int) -> int:
        asked.append(below)
        return 0

    monkeypatch.setattr(secrets, "randbelow", least)
    lattice = on_lattice(LAWS["unimodal"])
    released = lattice.draw(np.zeros(2))
    assert len(asked) == 2
    np.testing.assert_allclose(released, [-2.4, -3.2], atol=float(lattice.grain.max()))


@given(st.integers(1, 6), st.data())
def test_a_frame_begins_with_its_axes_and_is_inverted_far_beyond_floating_point(size: int, data: st.DataObject) -> None:
    count, seed = data.draw(st.integers(0, size)), data.draw(st.integers(0, 1000))
    axes = np.linalg.qr(np.random.default_rng(seed).normal(size=(size, count)))[0]
    frame = Frame.along(axes)
    assert np.array_equal(frame.outward[:, :count], axes)
    np.testing.assert_allclose(frame.outward.T @ frame.outward, np.eye(size), atol=1e-14)
    assert frame.skewness(np.ones(size)) < 1e-44


def test_axes_that_are_orthonormal_to_nine_digits_only_are_inverted_as_they_are() -> None:
    axes = np.eye(3) + 3e-10 * np.random.default_rng(0).normal(size=(3, 3))
    assert np.abs(axes.T @ axes - np.eye(3)).max() > 1e-11
    assert Frame.along(axes).skewness(np.array([1e9, 1.0, 1e-9])) < 1e-20
