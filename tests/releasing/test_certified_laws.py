import numpy as np
import pytest

from distpriv.releasing.certified_laws import same_moments

WRITTEN = {"mean": [40.0, 2.0], "covariance": [[0.0, 0.0], [0.0, 4.0]]}


def test_rounding_makes_no_other_law_of_a_statistic_that_never_varies() -> None:
    assert same_moments(WRITTEN, np.array([40.0, 2.0]), np.array([[8e-28, -1e-15], [-1e-15, 4.0]]))


@pytest.mark.parametrize(
    ("mean", "covariance"),
    [
        ([40.001, 2.0], [[0.0, 0.0], [0.0, 4.0]]),
        ([40.0, 2.001], [[0.0, 0.0], [0.0, 4.0]]),
        ([40.0, 2.0], [[1e-6, 0.0], [0.0, 4.0]]),
        ([40.0, 2.0], [[0.0, 0.0], [0.0, 4.001]]),
    ],
)
def test_other_moments_are_another_law(mean: list[float], covariance: list[list[float]]) -> None:
    assert not same_moments(WRITTEN, np.array(mean), np.array(covariance))
