import math

import numpy as np
import pytest
from scipy.stats import norm

from distpriv.guarantees.deciding_points import Choice, blurred, normals, ratio, sticks


def test_evenly_chosen_points_integrate_what_they_were_chosen_by() -> None:
    candidates = 1.5 * normals(1)[:, 0]
    offered, target = norm(scale=1.5).logpdf(candidates), norm(0.5).logpdf(candidates)
    kinds = target, norm.logpdf(candidates)
    points, chosen = Choice.of(candidates, offered, kinds, (0.9, 0.1), candidates).points(100)
    assert float(np.mean(np.exp(norm(0.5).logpdf(points) - chosen))) == pytest.approx(1.0, abs=0.01)
    assert float(np.mean(np.exp(norm(0.5).logpdf(points) - chosen) * points)) == pytest.approx(0.5, abs=0.02)


def test_a_blurred_border_holds_more_than_the_sharp_one() -> None:
    first, second = norm.logpdf(np.linspace(-4, 4, 99)), norm(-1).logpdf(np.linspace(-4, 4, 99))
    logs, above = blurred(first, second, 1.0)
    sharp = sticks(first, second, 1.0, np.zeros(99))
    assert (np.exp(logs) >= sharp).all()
    assert (sharp[above <= 0] == 0).all()


def test_where_the_first_law_has_no_density_nothing_is_told_and_where_only_the_second_has_none_all() -> None:
    none = -math.inf
    found = sticks(np.array([none, 0.0, none]), np.array([0.0, none, none]), 1.0, np.zeros(3))
    assert found.tolist() == [0.0, 1.0, 0.0]


def test_a_ratio_that_one_point_decides_is_not_known() -> None:
    assert ratio(np.array([2.0, 0.0]), np.array([1.0, 0.0]))[1] == math.inf
    assert ratio(np.zeros(3), np.ones(3)) == (1.0, math.inf)
    factor, error = ratio(np.array([2.0, 2.2, 1.8]), np.ones(3))
    assert factor == pytest.approx(2.0)
    assert error == pytest.approx(np.std([2.0, 2.2, 1.8], ddof=1) / math.sqrt(3) / 2)
