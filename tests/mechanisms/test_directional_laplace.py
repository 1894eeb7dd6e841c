import numpy as np
import pytest
from tests.mechanisms.shared import TARGET

import distpriv as dp

M = dp.mechanisms


def test_several_directions_of_laplace_noise_need_the_l1_length_in_their_basis() -> None:
    # With the L2 length, as the paper's sentence has it, the privacy loss of the diagonal shift would be √2 ε.
    model = dp.gaussian_model(
        means={"0": [0, 0], "x": [1, 0], "y": [0, 1], "xy": [1, 1]},
        covariances=np.eye(2),
        pairs=[("0", "x"), ("0", "y"), ("0", "xy")],
    )
    mechanism = M.directional_laplace(model, TARGET, directions="several")
    noise = mechanism.noise
    shifts = np.array([model.mean_shift(pair) for pair in model.protected_pairs])
    losses = np.abs(shifts @ noise.axes / noise.scales).sum(axis=1)  # type: ignore[union-attr]
    assert losses.max() == pytest.approx(1.0)


def test_laplace_noise_along_one_direction_is_contradicted_where_bare_directions_leak() -> None:
    model = dp.gaussian_model(
        means={"a": [0, 0], "b": [1, 0]}, covariances={"a": np.eye(2), "b": np.diag([1, 9])}, pairs=[("a", "b")]
    )
    certificate = M.directional_laplace(model, TARGET).certificate
    assert not certificate.holds
    assert certificate.delta > 0.1
