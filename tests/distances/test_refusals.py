"""What no distance is computed of."""

import math
from typing import Any

import numpy as np
import pytest

from distpriv.distances import approximate_max_divergence, closeness_profile, closeness_radius, wasserstein_inf
from distpriv.distances.gaussian import (
    analytic_radius,
    classic_radius,
    gaussian_delta,
    gaussian_hockey_stick,
    gaussian_hockey_sticks,
)
from distpriv.errors import InvalidInput

ONE, TWO, NAN, INF = [[1.0]], np.eye(2), math.nan, math.inf
RADII = (analytic_radius, classic_radius)
WRONG_NUMBERS, WRONG_DELTAS = (-0.1, NAN, INF), (-0.1, 1, 1.5, NAN, "0.1")


@pytest.mark.parametrize(
    ("distance", "arguments", "names"),
    [
        *((of, (wrong, 0.1), "epsilon") for of in (gaussian_delta, *RADII) for wrong in WRONG_NUMBERS),
        *((radius, (1.0, wrong), "delta") for radius in RADII for wrong in WRONG_NUMBERS),
        *((gaussian_delta, (1.0, wrong), "distance") for wrong in (-1.0, NAN)),
        (gaussian_hockey_stick, (1.0, 1.0, ONE, ONE), "mean_difference must be a vector"),
        (gaussian_hockey_stick, (1.0, [], np.zeros((0, 0)), np.zeros((0, 0))), "mean_difference must be a vector"),
        (gaussian_hockey_stick, (1.0, [NAN], ONE, ONE), "mean_difference must be finite"),
        (gaussian_hockey_stick, (1.0, [1.0], [1.0], ONE), "covariance_1 must be a matrix"),
        (gaussian_hockey_stick, (1.0, [1.0], ONE, TWO), "covariance_2 must have the shape"),
        (gaussian_hockey_stick, (1.0, [1.0], ONE, [[-1.0]]), "covariance_2 must have no negative"),
        (gaussian_hockey_stick, (1.0, [1.0, 1.0], [[1.0, 0.5], [0.4, 1.0]], TWO), "covariance_1 must be symmetric"),
        (gaussian_hockey_stick, (1.0, [1.0, 1.0], TWO, [[0.0, 1e-9], [1e-9, 1.0]]), "covariance_2 must be positive"),
        (gaussian_hockey_sticks, (1.0, [[1.0]] * 2, [ONE] * 2, [ONE, [[-1.0]]]), "covariance_2 of pair 1"),
        (gaussian_hockey_sticks, ([1.0] * 3, [[1.0]] * 2, [ONE] * 2, [ONE] * 2), "epsilons must be one number or 2"),
        *((gaussian_hockey_sticks, ([1.0, e], [[1.0]] * 2, [ONE] * 2, [ONE] * 2), "epsilon") for e in WRONG_NUMBERS),
        (approximate_max_divergence, ([1], [0.5, 0.5], 0), "same atoms"),
        (approximate_max_divergence, ([], [], 0), "same atoms"),
        (approximate_max_divergence, ([0.5, 0.6], [0.5, 0.5], 0), "p must sum to 1"),
        (approximate_max_divergence, ([0.5, 0.5], [NAN, 0.5], 0), "q must be finite"),
        (approximate_max_divergence, ([0.5, 0.5], [1.5, -0.5], 0), "q must be finite and at least 0"),
        (approximate_max_divergence, ([1], [1], 1), "delta"),
        (wasserstein_inf, ([], [1]), "x must be points .* at least one"),
        (wasserstein_inf, ([1], [[[1]]]), "y must be points"),
        (wasserstein_inf, ([1, NAN], [1]), "NaN in row 1"),
        (wasserstein_inf, (["a"], [1]), "x must be an array of numbers"),
        (wasserstein_inf, ([[1, 2]], [1]), "same number of columns"),
        (wasserstein_inf, ([1, 2], [1], [1]), "x_weights must have one weight per point"),
        (wasserstein_inf, ([1, 2], [1], [1.5, -0.5]), "x_weights must be finite and at least 0"),
        (wasserstein_inf, ([1, 2], [1], [1, NAN]), "x_weights must be finite"),
        (wasserstein_inf, ([1], [1, 2], None, [0.5, 0.4]), "y_weights must sum to 1, but sum to 0.9"),
        (wasserstein_inf, ([1], [1, 2], None, [0, 0]), "y_weights must sum to 1"),
        (wasserstein_inf, ([1], [1], None, None, 3), "norm must be"),
        (wasserstein_inf, ([1, INF], [1]), "closeness_radius"),
        (wasserstein_inf, ([[1e308, 0]], [[-1e308, 0]]), "overflow"),
        *((closeness_radius, ([1], [2], delta), "delta must be at least 0 and below 1") for delta in WRONG_DELTAS),
        (closeness_profile, ([1], [2], 0.1), "deltas must be a list"),
    ],
)
def test_what_has_no_distance_is_refused(distance: Any, arguments: tuple[Any, ...], names: str) -> None:
    with pytest.raises(InvalidInput, match=names):
        distance(*arguments)
