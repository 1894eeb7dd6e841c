import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scripts.float_bits import finest_bit, has_fine_bits

from distpriv.auditing.lower_bound import epsilon_lower_bound
from distpriv.framework.arrays import Floats

RELEASES = 200_000


@given(st.integers(1, 2**52).filter(lambda n: n % 2 == 1), st.integers(-900, 900))
def test_an_odd_multiple_of_a_power_of_two_has_that_power_as_its_finest_bit(odd: int, power: int) -> None:
    value = np.ldexp(float(odd), power)
    assert finest_bit(np.array([value, -value])).tolist() == [power, power]


@given(st.floats(-1e6, 1e6, allow_subnormal=False))
def test_every_number_is_a_whole_multiple_of_its_finest_bit_and_not_of_the_next(value: float) -> None:
    power = int(finest_bit(np.array([value]))[0])
    if value:
        assert float(np.ldexp(value, -power)).is_integer()
        assert not float(np.ldexp(value, -power - 1)).is_integer()


def float_noise(value: float, law: str, seed: int) -> Floats:
    return np.asarray(value + getattr(np.random.default_rng(seed), law)(0.0, 1.0, RELEASES))


def grid_noise(value: float, seed: int) -> Floats:
    """Add discrete Laplace noise in whole numbers of 2⁻²⁰, on which the value lies as well."""
    rng, chance = np.random.default_rng(seed), 1 - np.exp(-(2.0**-20))
    steps = rng.geometric(chance, RELEASES) - rng.geometric(chance, RELEASES)
    return np.asarray((round(value * 2**20) + steps) * 2.0**-20)


def shown(zero: Floats, one: Floats) -> float:
    hits = [int(has_fine_bits(released, 1.0).sum()) for released in (zero, one)]
    return epsilon_lower_bound(hits[0], RELEASES, hits[1], RELEASES, delta=0.0, confidence=0.95)


@pytest.mark.parametrize("law", ["laplace", "normal"])
def test_floating_point_noise_that_claims_epsilon_1_is_shown_to_have_more_than_9(law: str) -> None:
    zero, one = float_noise(0.0, law, 1), float_noise(1.0, law, 2)
    assert has_fine_bits(zero, 1.0).mean() > 0.25
    assert not has_fine_bits(one, 1.0).any()
    assert shown(zero, one) > 9


def test_whole_numbers_of_a_grid_show_nothing() -> None:
    zero, one = grid_noise(0.0, 1), grid_noise(1.0, 2)
    assert shown(zero, one) == 0
    assert finest_bit(zero).min() == finest_bit(one).min() == -20
    shares = [np.mean(finest_bit(released) == -20) for released in (zero, one)]
    assert shares[0] == pytest.approx(shares[1], abs=5 * (0.5 / RELEASES) ** 0.5)
