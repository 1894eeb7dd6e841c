import json
from pathlib import Path

import pytest

from distpriv.distances import analytic_radius

RECORDED = json.loads((Path(__file__).parent / "dp_accounting_sigma.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize(("epsilon", "delta", "sigma"), RECORDED["rows"])
def test_the_analytic_radius_is_that_of_dp_accounting(epsilon: float, delta: float, sigma: float) -> None:
    assert 1 / analytic_radius(epsilon, delta) == pytest.approx(sigma, rel=1e-5)
