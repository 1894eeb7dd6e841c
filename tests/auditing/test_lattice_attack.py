import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.auditing.shared import accuracy, fresh, view

import distpriv as dp
from distpriv.auditing.attacks import BayesAttack
from distpriv.auditing.lattice_attack import LatticeAttack, lattice_decoder
from distpriv.noise.laws import GaussianNoise, LaplaceNoise, NoiseLaw, NoNoise

SHARE = dp.Share("income = '>50K'", values=(0.45, 0.55))


@pytest.fixture(scope="module")
def income(adult: pa.Table, paper_query: dp.Query) -> dp.QueryModel:
    return dp.model(adult, paper_query, SHARE, records=100)


def recovered(model: dp.QueryModel, noise: NoiseLaw, rounded_to: float = 0.0, releases: int = 1000) -> float:
    """Return the share of releases whose clean statistics are found exactly; a step's share may be rounded off."""
    decoder = lattice_decoder(view(model, noise, 10))
    assert decoder is not None
    drawn = fresh(model, noise, releases)
    clean, released = np.concatenate(drawn.clean), np.concatenate(drawn.released)
    if rounded_to:
        released = np.round(released / model.steps / rounded_to) * model.steps * rounded_to
    decoded, found = decoder.decode(released)
    assert np.array_equal(decoded[~found], released[~found])
    return float((found & np.isclose(decoded, clean, atol=1e-6).all(axis=1)).mean())


def test_directional_noise_is_stripped_off_every_release(income: dp.QueryModel) -> None:
    target = dp.PrivacyTarget(epsilon=0.2, delta=1e-3)
    options = {"radius": "classic", "covariance": "pooled"}
    for mechanism in (
        dp.mechanisms.directional_uncertainty(income, target, **options),  # type: ignore[arg-type]
        dp.mechanisms.directional_gaussian(income, target),
        dp.mechanisms.directional_laplace(income, target),
    ):
        assert recovered(income, mechanism.noise) == 1.0
        seen, tests = view(income, mechanism.noise), fresh(income, mechanism.noise, 10_000)
        assert accuracy(LatticeAttack().fit(seen), tests) > 0.75
        assert accuracy(BayesAttack().fit(seen), tests) < 0.6


def test_noise_in_every_direction_leaves_nothing_to_decode(income: dp.QueryModel) -> None:
    noise = dp.mechanisms.expected_value_gaussian(income, dp.PrivacyTarget(epsilon=1, delta=1e-3)).noise
    floor = GaussianNoise.along(np.eye(5), income.floor**2)
    for law in (noise, floor):
        assert lattice_decoder(view(income, law, 10)) is None
        seen, tests = view(income, law, 10), fresh(income, law, 1000)
        for part in tests.released:
            assert np.array_equal(LatticeAttack().fit(seen).score(part), BayesAttack().fit(seen).score(part))


def whole_numbers(size: int, seed: int = 0) -> dp.QueryModel:
    rng = np.random.default_rng(seed)
    table = pl.DataFrame({f"x{k}": rng.integers(0, 4, 3000) for k in range(size)}).with_columns(
        s=rng.random(3000) < 0.5
    )
    query = dp.Query({f"x{k}": dp.total(f"x{k}") for k in range(size)})
    return dp.model(table, query, dp.Share("s", values=(0.4, 0.6)), records=20)


@settings(max_examples=10)
@given(st.integers(0, 100), st.floats(0.5, 1000))
def test_any_noise_along_one_axis_can_be_decoded(seed: int, deviation: float) -> None:
    axis = np.linalg.qr(np.random.default_rng(seed).normal(size=(5, 1)))[0]
    assert recovered(whole_numbers(5), GaussianNoise(axes=axis, variances=np.array([deviation**2]))) > 0.99


def test_and_along_two() -> None:
    axes = np.linalg.qr(np.random.default_rng(1).normal(size=(5, 2)))[0]
    assert (
        recovered(whole_numbers(5), GaussianNoise(axes=axes, variances=np.array([900.0, 400.0])), releases=200) > 0.99
    )


def test_noise_that_is_only_fine_across_is_no_better_than_none() -> None:
    frame = np.linalg.qr(np.random.default_rng(3).normal(size=(5, 5)))[0]
    fine = GaussianNoise(axes=frame, variances=np.array([400.0, *np.full(4, 0.003**2)]))
    assert recovered(whole_numbers(5), fine) > 0.95
    coarse = GaussianNoise(axes=frame, variances=np.array([400.0, *np.full(4, 0.5**2)]))
    assert lattice_decoder(view(whole_numbers(5), coarse, 10)) is None


def test_rounding_the_release_does_not_help() -> None:
    frame = np.linalg.qr(np.random.default_rng(4).normal(size=(5, 5)))[0]
    noise = LaplaceNoise(axes=frame[:, :1], scales=np.array([30.0]))
    assert recovered(whole_numbers(5), noise, rounded_to=1e-7) == 1.0


def test_a_continuous_statistic_is_cleaned_along_with_the_others() -> None:
    rng = np.random.default_rng(0)
    table = pl.DataFrame(
        {
            "x": rng.integers(0, 9, 3000),
            "y": rng.integers(0, 9, 3000),
            "z": rng.random(3000),
            "s": rng.random(3000) < 0.5,
        }
    )
    query = dp.Query(x=dp.total("x"), y=dp.total("y"), z=dp.total("z"))
    model = dp.model(table, query, dp.Share("s", values=(0.4, 0.6)), records=20)
    assert model.steps.tolist() == [1.0, 1.0, 0.0]
    straight = GaussianNoise(axes=np.array([[0.48], [0.6], [0.64]]), variances=np.array([500.0]))
    assert recovered(model, straight) < 0.1  # such a line goes through a lattice point every 4 and 5 steps
    slanted = np.array([[0.3], [np.sqrt(2) / 2], [0.0]])
    slanted[2] = np.sqrt(1 - (slanted**2).sum())
    assert recovered(model, GaussianNoise(axes=slanted, variances=np.array([500.0]))) > 0.99


def test_lattices_that_do_not_start_at_zero_are_found_from_the_shadows() -> None:
    rng = np.random.default_rng(0)
    points = {name: rng.integers(0, 30, (400, 3)) + np.array([0.25, 0.5, 0.125]) for name in ("a", "b")}
    model = dp.empirical_model(samples=points, pairs=[("a", "b")], steps=[1, 1, 1])
    axis = np.linalg.qr(rng.normal(size=(3, 1)))[0]
    assert recovered(model, GaussianNoise(axes=axis, variances=np.array([100.0]))) > 0.99


def test_without_noise_there_is_nothing_to_strip_off_and_without_steps_nothing_to_decode(income: dp.QueryModel) -> None:
    assert recovered(income, NoNoise(dimension=5)) == 1.0
    smooth = dp.gaussian_model(means={"a": [0, 0], "b": [1, 1]}, covariances=np.eye(2), pairs=[("a", "b")])
    assert lattice_decoder(view(smooth, NoNoise(dimension=2), 10)) is None
