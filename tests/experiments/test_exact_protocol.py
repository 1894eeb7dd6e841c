import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad

import distpriv as dp
from distpriv.experiments.attack_points import UNDEFENDED
from distpriv.experiments.error_points import actual_delta, tail_epsilon
from distpriv.experiments.figure_3 import crossing
from distpriv.experiments.properties import INCOME, WORK_CLASS, property_model
from distpriv.experiments.published import ATTACK_ACCURACIES, L2_ERRORS
from distpriv.experiments.result import Result
from distpriv.experiments.runs import run
from distpriv.experiments.setting import Setting
from distpriv.noise.laws import LaplaceNoise


@pytest.fixture(scope="module")
def results() -> dict[str, Result]:
    names = ("table_1", "table_2", "figure_2", "table_3", "figure_5")
    return {name: run(name, Setting(protocol="exact", attackers=40, strong_repetitions=2)) for name in names}


def test_table_2_has_the_exact_errors(results: dict[str, Result]) -> None:
    errors = {(p.mechanism, p.epsilon): p.error for p in results["table_2"].errors}
    golden = [172.41, 34.48, 6.896, 172.31, 34.01, 4.965, 64.61, 12.70, 0.9455, 7533, 1506.6, 301.3]
    assert list(errors) == list(L2_ERRORS)
    np.testing.assert_allclose(list(errors.values()), golden, rtol=4e-4)


def test_published_errors_are_within_three_standard_errors_in_every_cell(results: dict[str, Result]) -> None:
    assert results["table_2"].agreeing == len(L2_ERRORS) == 12


def test_published_accuracies_are_within_three_standard_errors(results: dict[str, Result]) -> None:
    assert results["table_3"].agreeing == len(ATTACK_ACCURACIES) == 27


def test_curves_cross_where_the_paper_says_about() -> None:
    assert crossing(INCOME) == pytest.approx(0.118, abs=1e-3)
    assert crossing(WORK_CLASS) == pytest.approx(0.291, abs=1e-3)


def test_points_say_which_of_them_do_not_hold(results: dict[str, Result]) -> None:
    points = {(p.mechanism, p.epsilon): p for p in results["table_2"].errors}
    assert points["DauM (G)", 0.2].actual_delta == pytest.approx(2.39e-3, rel=5e-3)
    assert points["DauM (G)", 0.2].holds is False
    assert points["DauM (G)", 1.0].actual_delta == pytest.approx(4.1e-5, rel=1e-2)
    assert points["DauM (G)", 1.0].holds is True
    laplace = [p for p in results["figure_2"].errors if p.mechanism in ("ExpM (L)", "DirM (L)")]
    assert len(laplace) == 80
    assert not any(p.holds for p in laplace)


def test_errors_fall_as_epsilon_grows(results: dict[str, Result]) -> None:
    curves: dict[tuple[str, str], list[float]] = {}
    for p in results["figure_2"].errors:
        curves.setdefault((p.secret, p.mechanism), []).append(p.error)
    assert len(curves) == 12
    assert all(np.diff(curve).max() <= 0 for curve in curves.values())


def test_what_the_paper_says_of_figure_2_is_borne_out(results: dict[str, Result]) -> None:
    assert [claim.holds for claim in results["figure_2"].claims] == [True, True, True, False]


def test_the_lattice_gives_daum_away_at_every_epsilon(results: dict[str, Result]) -> None:
    for p in results["table_3"].attacks:
        assert p.lattice_attack is not None
        assert p.best_attack is not None
        assert p.accuracy <= p.best_attack + 5e-4
        if p.mechanism == "DauM (G)":
            assert p.lattice_attack > 0.7


def test_the_undefended_attack_is_right_three_times_in_four() -> None:
    from distpriv.experiments.attack_points import Attacked, attack_points

    setting = Setting(attackers=60, strong_repetitions=2)
    (found,) = attack_points([Attacked(mechanism=UNDEFENDED, epsilon=1.0)], setting, name="test")
    assert found.accuracy == pytest.approx(0.75, abs=0.01)
    assert found.best_attack == pytest.approx(0.7615, abs=1e-3)


def test_exact_normal_laws_are_those_of_the_model(results: dict[str, Result]) -> None:
    model = property_model(INCOME, 0.1)
    women = [one for one in results["figure_5"].samples if one.statistic == "female"]
    expected = [model.distributions[s].covariance[3, 3] for s in model.protected_pairs[0]]
    assert [one.exact[1] for one in women] == pytest.approx(expected)
    assert results["figure_5"].agreeing == 2


def test_every_listed_mechanism_is_one(results: dict[str, Result]) -> None:
    listed = results["table_1"].mechanisms
    assert sum(one.in_paper for one in listed) == 6
    assert {one.function for one in listed} <= set(dp.mechanisms.__all__)


@given(shift=st.floats(0.2, 3), epsilon=st.floats(0.2, 2), wide=st.floats(1.0, 3.0))
def test_laplace_ratios_far_out_are_what_the_formula_says(shift: float, epsilon: float, wide: float) -> None:
    model = dp.gaussian_model(
        means={"a": [shift], "b": [0.0]}, covariances={"a": [[wide]], "b": [[1.0]]}, pairs=[("a", "b")]
    )
    scale = shift / epsilon
    noise = LaplaceNoise.isotropic(1, scale)
    far = 40.0 + 10 * scale

    def density(mean: float, variance: float) -> float:
        def integrand(x: float) -> float:  # times e^{far/scale}, which both densities share
            return math.exp(-((x - mean) ** 2) / (2 * variance) + (x - far) / scale + far / scale)

        reach = mean + variance / scale
        limits = reach - 12 * math.sqrt(variance), reach + 12 * math.sqrt(variance)
        return quad(integrand, *limits)[0] / math.sqrt(2 * math.pi * variance)

    ratio = math.log(density(shift, wide) / density(0.0, 1.0))
    assert ratio == pytest.approx(epsilon + (wide - 1) / (2 * scale**2), rel=1e-6)
    assert tail_epsilon(model, noise) == pytest.approx(ratio, rel=1e-6)


def test_equal_covariances_let_laplace_noise_hold_what_it_claims() -> None:
    model = dp.gaussian_model(means={"a": [1, 0], "b": [0, 1]}, covariances=np.eye(2), pairs=[("a", "b")])
    noise = dp.mechanisms.expected_value_laplace(model, dp.PrivacyTarget(epsilon=1.0)).noise
    assert actual_delta(model, noise, 1.0, 0.0) == (0.0, False, True)
