"""How far noise is widened where rows are against it."""

import math

import pytest

from distpriv.guarantees.repair import WIDEST, _step_down


def test_the_step_is_where_a_falling_delta_has_fallen_by_so_much() -> None:
    step = _step_down(lambda step: 1e-3 * math.exp(-30 * step - 5 * step**2), 0.4, 0.03)
    assert 30 * step + 5 * step**2 == pytest.approx(0.4, abs=0.015)


@pytest.mark.parametrize("wanted", [0.01, 0.4, 5.0, math.inf])
def test_no_step_leads_to_noise_that_is_none(wanted: float) -> None:
    """Where δ hardly falls, a line through two of its points leads anywhere, and once led to a scale of −1e24."""
    falling = [
        lambda step: 1e-3 + 0.0 * step,
        lambda step: 1e-3 * (1 - 1e-12 * step),
        lambda step: 1e-3 * math.exp(-10 * min(step, 0.1) - 1e-9 * step),
        lambda step: 1e-3 if step < 1e-3 else 1e-9,
        lambda step: 1e-3 / (1 + 1e6 * step) ** 3,
        lambda step: 0.0 if step else 1e-3,
    ]
    for each in falling:
        assert 0 < _step_down(each, wanted, 0.03) <= WIDEST or _step_down(each, wanted, 0.03) == math.inf
