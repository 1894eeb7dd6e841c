from tests.mechanisms.shared import TARGET

import distpriv as dp

M = dp.mechanisms


def test_no_noise_holds_exactly_up_to_the_radius() -> None:
    for distance, holds in ((0.3884, True), (0.3885, False)):
        model = dp.gaussian_model(means={"a": [0], "b": [3 * distance]}, covariances=[[9]], pairs=[("a", "b")])
        assert M.no_noise(model, TARGET).certificate.holds is holds
