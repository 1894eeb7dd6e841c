import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.guarantees.random_models import random_model
from tests.mechanisms.shared import targets

import distpriv as dp
from distpriv.guarantees.upper_bound import delta_upper_bound

M = dp.mechanisms
seeds, sizes = st.integers(0, 10**6), st.integers(1, 6)


@pytest.mark.slow
@settings(max_examples=40)
@given(seeds, st.integers(2, 6), targets)
def test_shifts_in_several_directions_are_covered_by_noise_in_their_span(
    seed: int, size: int, target: dp.PrivacyTarget
) -> None:
    model = random_model(seed, size, pairs=3, parallel=False, distance=3.0)
    assert M.directional_gaussian(model, target, directions="several").certificate.holds
    laplace = M.directional_laplace(model, target, directions="several")
    assert delta_upper_bound(model, laplace, epsilon=target.epsilon) == 0.0
