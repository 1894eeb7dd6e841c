"""Claims that were false once, each with what broke it."""

import numpy as np
import polars as pl
import pytest
from tests.mechanisms.shared import TARGET

import distpriv as dp
from distpriv.errors import InvalidModel, InvalidTarget
from distpriv.guarantees.attack_accuracy import attack_accuracy_upper_bound

M = dp.mechanisms


def test_a_scenario_that_does_not_vary_takes_no_floor_away() -> None:
    rng = np.random.default_rng(0)
    odd = np.repeat([1, 0], 2000)
    cents = 2 * rng.integers(0, 250_000, size=4000) + odd  # the parity of the sum gives the secret away
    table, still = pl.DataFrame({"x": cents / 100, "g": odd}), pl.DataFrame({"x": np.full(20, 2500.0)})
    secrets: list[dp.Share | dp.Scenarios] = [dp.Share("g = 1", values=(0.5, 0.55))]
    alone = dp.model(table, dp.Query(a=dp.mean("x")), secrets, records=20)
    secrets.append(dp.Scenarios({"c": still, "e": still.clone()}))
    model = dp.model(table, dp.Query(a=dp.mean("x")), secrets, records=20)
    assert model.floor[0] >= alone.floor[0] > 1
    for mechanism in (M.certified_gaussian(model, TARGET), M.certified_laplace(model, TARGET)):
        assert mechanism.noise.covariance[0, 0] >= alone.floor[0] ** 2 * (1 - 1e-9)
    assert M.no_noise(model, TARGET, covariance="pooled").certificate.assurance == "assumed"


@pytest.mark.slow
def test_a_singular_scenario_breaks_no_search() -> None:
    ones = np.ones((2, 2))
    model = dp.gaussian_model(
        means={"a": [0, 0], "b": [1, 1]}, covariances={"a": ones, "b": 0 * ones}, pairs=[("a", "b")]
    )
    mechanism = M.certified_laplace(model, TARGET)
    assert not mechanism.certificate.holds or mechanism.certificate.delta <= TARGET.delta


@pytest.mark.slow
@pytest.mark.parametrize("shift", [1e14, 1e20])
def test_shifts_far_beyond_the_deviations_need_no_memory(shift: float) -> None:
    model = dp.gaussian_model(
        means={"a": [0.0], "b": [shift]}, covariances={"a": [[1.0]], "b": [[1.1]]}, pairs=[("a", "b")]
    )
    found = dp.plan(model, TARGET)
    assert found.chosen is not None
    assert found.chosen.error > shift


@pytest.mark.parametrize("delta", [1e-150, 1e-160, 1e-200, 1e-300])
@pytest.mark.parametrize(
    "name", ["certified_gaussian", "eigenvector_gaussian", "expected_value_gaussian", "directional_gaussian"]
)
def test_a_delta_too_small_to_compute_with_is_refused(name: str, delta: float) -> None:
    model = dp.gaussian_model(means={"a": [0], "b": [1]}, covariances=[[1]], pairs=[("a", "b")])
    target = dp.PrivacyTarget(epsilon=0, delta=delta)
    with pytest.raises(InvalidTarget, match="too small"):
        getattr(M, name)(model, target)


def test_a_plan_at_such_a_delta_is_a_plan() -> None:
    model = dp.gaussian_model(means={"a": [0], "b": [1]}, covariances=[[1]], pairs=[("a", "b")])
    found = dp.plan(model, dp.PrivacyTarget(epsilon=0, delta=1e-200))
    assert found.chosen is None or found.mechanism.certificate.holds


def test_what_an_attacker_can_do_counts_the_lattice() -> None:
    model = dp.gaussian_model(
        means={"a": [0], "b": [0.01]}, covariances={"a": [[0.73**2]], "b": [[0.83**2]]}, pairs=[("a", "b")], steps=[1]
    )
    mechanism = M.certified_gaussian(model, TARGET)
    deviation = float(mechanism.noise.covariance[0, 0]) ** 0.5
    points, grid = np.arange(-20, 21.0), np.linspace(-25, 25, 20_001)
    worst = 0.0
    for offset in (0.0, 0.5):
        densities = []
        for law in model.distributions.values():
            chance = np.exp(-((points + offset - law.mean[0]) ** 2) / (2 * law.covariance[0, 0]))
            bells = np.exp(-(((grid[:, None] - points - offset) / deviation) ** 2) / 2) / deviation / (2 * np.pi) ** 0.5
            densities.append(bells @ (chance / chance.sum()))
        apart = np.abs(densities[0] - densities[1]).sum() * (grid[1] - grid[0]) / 2
        worst = max(worst, (1 + apart) / 2)
    assert worst > 0.5094
    assert attack_accuracy_upper_bound(model, mechanism) >= worst


def test_rounding_that_shows_through_coupled_noise_is_refused() -> None:
    offset = 1e10
    x = offset + 4 * np.spacing(offset) * np.repeat([0.0, 1.0], 50)
    table = pl.DataFrame({"x": x, "g": np.repeat([1, 0], 50)})
    secret = dp.Share("g = 1", values=(0.45, 0.55))
    target = dp.PrivacyTarget(epsilon=1, delta=0.01)
    for make in (M.coupled_gaussian, M.coupled_laplace):
        far = dp.model(table, dp.Query(a=dp.mean("x")), secret, records=20)
        with pytest.raises(InvalidModel, match="subtract a constant"):
            make(far, target, draws=20_000, seed=1)
        near = dp.model(table, dp.Query(a=dp.mean(f"x - {offset}")), secret, records=20)
        assert make(near, target, draws=20_000, seed=1).certificate.holds
