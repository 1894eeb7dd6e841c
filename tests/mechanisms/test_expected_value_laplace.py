from tests.mechanisms.shared import WORKED

import distpriv as dp
from distpriv.guarantees.upper_bound import delta_upper_bound

M = dp.mechanisms


def test_expected_value_laplace_is_the_l1_length_over_epsilon() -> None:
    mechanism = M.expected_value_laplace(WORKED, dp.PrivacyTarget(epsilon=0.5))
    assert mechanism.noise.scales.tolist() == [4.0, 4.0]  # type: ignore[union-attr]
    assert mechanism.certificate.holds
    assert mechanism.certificate.delta == 0.0
    assert mechanism.certificate.assurance == "assumed"
    assert delta_upper_bound(WORKED, mechanism, epsilon=0.5) == 0.0
