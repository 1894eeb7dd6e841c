from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from distpriv.errors import InvalidInput
from distpriv.framework.arrays import Floats
from distpriv.noise.laws import UnimodalNoise

AXIS = np.array([[0.6], [-0.8]])


def test_draws_along_the_axis_have_the_staircase_for_their_density() -> None:
    noise = UnimodalNoise(axes=AXIS, edges=np.array([0, 1, 3, 10]), masses=np.array([0.5, 0.375, 0.125]))
    along = noise.simulate(50_000, seed=3) @ AXIS[:, 0]

    def below(y: Floats) -> Floats:
        half = np.interp(np.abs(y), noise.edges, np.concatenate([[0], np.cumsum(noise.masses)])) / 2
        return np.asarray(0.5 + np.sign(y) * half)

    assert stats.kstest(below(along), stats.uniform.cdf).pvalue > 1e-4
    np.testing.assert_allclose(noise.simulate(10, seed=1) @ [0.8, 0.6], 0, atol=1e-14)


def test_densities_on_both_sides_integrate_to_one() -> None:
    noise = UnimodalNoise(axes=AXIS, edges=np.array([0, 1, 3, 10]), masses=np.array([0.5, 0.375, 0.125]))
    assert 2 * float(noise.densities @ np.diff(noise.edges)) == pytest.approx(1)


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
