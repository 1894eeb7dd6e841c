import math
from itertools import product

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.guarantees.exact_laws import exact_delta

import distpriv as dp
from distpriv.framework.arrays import Floats
from distpriv.guarantees.lattice_floor import covers_floor, never_smooth, smoothing
from distpriv.modelling.model import QueryDistribution
from distpriv.noise.laws import GaussianNoise


def model_of(covariance: Floats, steps: list[float]) -> dp.QueryModel:
    size = len(steps)
    return dp.gaussian_model(
        means={"a": np.zeros(size), "b": np.ones(size)}, covariances=covariance, pairs=[("a", "b")], steps=steps
    )


def density(x: Floats, covariance: Floats) -> Floats:
    quadratic = (x @ np.linalg.inv(covariance) * x).sum(axis=-1)
    return np.asarray(np.exp(-quadratic / 2) / math.sqrt(np.linalg.det(2 * np.pi * covariance)))


def factors(covariance: Floats, noise: Floats, basis: Floats, seed: int) -> Floats:
    """Divide the released density of a Gaussian profile on a lattice, summed point by point, by the continuous one."""
    reach = range(-40, 41)
    points = np.array(list(product(reach, repeat=basis.shape[1]))) @ basis.T
    profile = density(points, covariance)
    profile /= profile.sum()
    total = covariance + noise
    places = np.random.default_rng(seed).multivariate_normal(np.zeros(len(total)), total, size=20)
    return np.array([(profile * density(y - points, noise)).sum() / density(y, total) for y in places])


@given(st.floats(0.3, 3), st.floats(0.35, 2), st.integers(0, 100))
def test_the_smoothing_bounds_the_factor_on_a_line(deviation: float, noise: float, seed: int) -> None:
    model = model_of(np.array([[deviation**2]]), [1.0])
    found = smoothing(model, model.distributions["a"], GaussianNoise.isotropic(1, noise))
    measured = factors(np.array([[deviation**2]]), np.array([[noise**2]]), np.eye(1), seed)
    assert found.least - 1e-10 <= measured.min()
    assert measured.max() <= found.most + 1e-10


@pytest.mark.parametrize("basis", [np.eye(2), np.array([[1.0, 1.0], [1.0, -1.0]]), np.array([[1.0, 0.0], [3.0, 2.0]])])
@pytest.mark.parametrize("seed", range(4))
def test_and_in_the_plane_also_where_the_statistics_are_tied_together(basis: Floats, seed: int) -> None:
    rng = np.random.default_rng(seed)
    factor = rng.normal(size=(2, 2))
    covariance, noise = factor @ factor.T + 2 * np.eye(2), np.diag(rng.uniform(0.5, 1.5, 2))
    law = QueryDistribution(mean=np.zeros(2), covariance=covariance, lattice=basis)
    found = smoothing(model_of(covariance, [1.0, 1.0]), law, GaussianNoise.of(noise))
    measured = factors(covariance, noise, basis, seed)
    assert found.least - 1e-10 <= measured.min()
    assert measured.max() <= found.most + 1e-10
    assert found.error < 2000 * max(np.abs(measured - 1).max(), 1e-12)


def test_a_lattice_in_one_statistic_beside_a_continuous_one_is_smoothed_by_what_is_not_known_of_it() -> None:
    # The second statistic is released almost exactly and nearly determines the first: no noise on the first helps.
    law = QueryDistribution(mean=np.zeros(2), covariance=np.array([[1.0, 0.9999], [0.9999, 1.0]]))
    model = model_of(law.covariance, [1.0, 0.0])
    assert smoothing(model, law, GaussianNoise.of(np.diag([1.0, 1e-6]))).error > 1e-2
    assert smoothing(model, law, GaussianNoise.of(np.diag([1.0, 100.0]))).error < 1e-3


def test_variance_outside_the_lattice_or_no_lattice_where_there_should_be_one_is_not_smoothed() -> None:
    model = model_of(np.eye(2), [1.0, 1.0])
    for lattice in (np.array([[1.0], [1.0]]), np.zeros((2, 0))):
        law = QueryDistribution(mean=np.zeros(2), covariance=np.eye(2), lattice=lattice)
        assert smoothing(model, law, GaussianNoise.isotropic(2, 10.0)).error == math.inf


def test_the_floor_is_the_step_or_one_percent_of_the_deviation() -> None:
    model = model_of(np.diag([100.0, 10_000.0]), [1.0, 0.0])
    assert model.floor.tolist() == [1.0, 1.0]
    assert covers_floor(model, GaussianNoise.isotropic(2, 1.0))
    assert covers_floor(model, GaussianNoise.of(np.array([[2.0, 1.0], [1.0, 2.0]])))
    assert not covers_floor(model, GaussianNoise.of(np.array([[1.0, 0.5], [0.5, 1.0]])))
    assert not covers_floor(model, GaussianNoise.of(np.diag([1.0, 0.99])))


def rows_of(kind: str) -> pl.DataFrame:
    """Return rows with a group s, whose totals are tied together in some way."""
    rng = np.random.default_rng(3)
    s = rng.random(6000) < 0.5
    x = rng.integers(0, 101, 6000)
    far = x + 40 * rng.integers(0, 3, 6000)
    odd = s & (rng.random(6000) < 0.05)
    y = {
        "by two": x + 2 * rng.integers(0, 50, 6000),
        "free": rng.integers(0, 101, 6000),
        "by forty": far + 2 * s,
        "but for few rows": far + np.where(odd, rng.integers(1, 40, 6000), 0),
        "sum is constant": 100 - x,
    }[kind]
    return pl.DataFrame({"x": x, "y": y, "s": s})


@pytest.mark.parametrize(
    ("kind", "shares", "volume"),
    [
        ("by two", (0.4, 0.6), 2.0),
        ("free", (0.4, 0.6), 1.0),
        ("by forty", (0.4, 0.6), 40.0),
        ("but for few rows", (0.02, 0.03, 0.5), 40.0),
        ("sum is constant", (0.4, 0.6), None),
    ],
)
def test_statistics_tied_together_are_found_on_the_rows(
    kind: str, shares: tuple[float, ...], volume: float | None
) -> None:
    query, secret = dp.Query(x=dp.total("x"), y=dp.total("y")), dp.Share("s", values=shares)
    model = dp.model(rows_of(kind), query, secret, records=100)
    law = model.distributions[f"s @ {shares[0]}"]
    assert law.lattice is not None
    error = smoothing(model, law, GaussianNoise.isotropic(2, 1.0)).error
    if volume is None:
        assert law.lattice.shape == (2, 1)
        assert error < 1e-3
    else:  # a tie costs more
        assert abs(np.linalg.det(law.lattice)) == pytest.approx(volume)
        assert {1.0: 0, 2.0: 1e-6, 40.0: 0.05}[volume] < error <= {1.0: 1e-7, 2.0: 1e-2, 40.0: math.inf}[volume]


def test_a_stratum_drawn_in_full_does_not_fill_the_lattice() -> None:
    rng = np.random.default_rng(0)
    x = np.concatenate([rng.integers(0, 101, 45), rng.choice([0, 100], 4000)])
    table = pl.DataFrame({"x": x, "s": np.arange(4045) < 45})
    query, secret = dp.Query(x=dp.total("x")), dp.Share("s", values=(0.40, 0.45))
    for replacement, step in ((False, 100.0), (True, 1.0)):
        model = dp.model(table, query, secret, records=100, reference="population", replacement=replacement)
        assert model.steps.tolist() == [step]


def test_rows_that_hardly_ever_vary_still_have_their_lattice() -> None:
    rng = np.random.default_rng(1)
    s = rng.random(40_000) < 0.5
    table = pl.DataFrame({"x": rng.random(40_000) < np.where(s, 0.006, 0.0005), "s": s})
    model = dp.model(table, dp.Query(x=dp.count("x")), dp.Share("s", values=(0.2, 0.6)), records=100)
    assert all(law.lattice is not None and law.lattice.tolist() == [[1.0]] for law in model.distributions.values())
    found = dp.mechanisms.expected_value_gaussian(model, dp.PrivacyTarget(epsilon=0, delta=0.05))
    assert found.certificate.law is not None
    assert found.certificate.law.exact
    assert found.certificate.delta >= exact_delta(model, found.noise, 0.0)


@pytest.mark.parametrize("shift", [[134587542, 78131140], [3e9, 4e9 + 1], [1e8, 7.3e7]])
def test_noise_along_one_direction_covers_nothing_however_strong_it_is(shift: list[float]) -> None:
    model = dp.gaussian_model(
        means={"a": [0, 0], "b": shift}, covariances=100 * np.eye(2), pairs=[("a", "b")], steps=[1, 1]
    )
    mechanism = dp.mechanisms.directional_gaussian(model, dp.PrivacyTarget(epsilon=1, delta=1e-3))
    assert mechanism.certificate.assurance == "assumed"
    strong = GaussianNoise(axes=np.linalg.qr(np.array([shift, [1.0, 0.0]]).T)[0], variances=np.array([1e18, 0.9]))
    assert not covers_floor(model, strong)
    assert covers_floor(model, GaussianNoise(axes=strong.axes, variances=np.array([1e18, 1.1])))


def test_the_step_of_one_scenario_does_not_hide_the_tie_of_another() -> None:
    rng = np.random.default_rng(0)

    def table(offset: int, unit: int) -> pl.DataFrame:
        x = unit * rng.integers(0, 100, 3000)
        return pl.DataFrame({"x": x, "y": x + offset + 40 * rng.integers(0, 3, 3000) if unit == 1 else x})

    other = table(0, 7)
    tables = {"a": table(0, 1), "b": table(20, 1), "c": other, "d": other}
    secret = dp.Scenarios(tables, pairs=[("a", "b"), ("c", "d")])
    model = dp.model(None, dp.Query(x=dp.total("x"), y=dp.total("y")), secret, records=101)
    assert model.steps.tolist() == [7.0, 7.0]
    lattice = model.distributions["a"].lattice
    assert lattice is not None
    assert abs(np.linalg.det(lattice)) == pytest.approx(40)


def test_a_table_whose_cells_add_up_is_smoothed_by_noise_of_one_step() -> None:
    schooling = ("education_num < 9", "education_num = 9", "education_num between 10 and 12", "education_num > 12")
    age = ("age < 30", "age between 30 and 39", "age between 40 and 49", "age >= 50")
    cells = {f"cell_{i}{j}": dp.count(f"({e}) and ({a})") for i, e in enumerate(schooling) for j, a in enumerate(age)}
    secret = dp.Share("income = '>50K'", values=(0.24, 0.26))
    model = dp.model(dp.datasets.adult(), dp.Query(cells), secret, records=2000)
    noise = GaussianNoise.along(np.eye(16), np.ones(16))
    assert max(smoothing(model, law, noise).error for law in model.distributions.values()) < 1e-5


@given(st.floats(0.05, 1.2), st.floats(0.05, 1.2), st.floats(-0.9, 0.9))
def test_what_never_is_smooth_is_not_with_any_noise(first: float, second: float, tied: float) -> None:
    off = tied * math.sqrt(first * second)
    model = model_of(np.array([[first, off], [off, second]]), [1.0, 1.0])
    still = never_smooth(model, 1e-3)
    if still:
        law = model.distributions["a"]
        errors = [smoothing(model, law, GaussianNoise.isotropic(2, width)).error for width in (1.0, 30.0, 1e4)]
        assert min(errors) > 1e-3
    assert set(still) <= {"statistic_1", "statistic_2"}


def test_cells_that_sum_up_are_not_counted_twice() -> None:
    rows = pl.DataFrame({"sex": ["F", "M"] * 50, "rich": [True, True, False, False] * 25})
    query = dp.Query(people=dp.table("count", by="sex"))
    model = dp.model(rows, query, dp.Share("rich", values=(0.5, 1.0)), records=2)
    variance = min(float(law.covariance[0, 0]) for law in model.distributions.values())
    total = 2 * math.exp(-2 * math.pi**2 * variance)
    error = (1 + total) / (1 - total) - 1
    assert never_smooth(model, error * 0.999) != ()
    assert never_smooth(model, error * 1.001) == ()
