import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import distpriv as dp
from distpriv.modelling.row_lattice import integer_basis, spacing

SHARE = dp.Share("s", values=(0.4, 0.6))


@given(
    st.lists(st.integers(-1000, 1000), min_size=2, max_size=30, unique=True),
    st.sampled_from([1.0, 0.5, 0.1, 0.01, 1 / 3, 1 / 7, 25.0, 1e6]),
    st.floats(-1e3, 1e3),
)
def test_the_spacing_is_the_greatest_common_divisor_of_the_differences(
    multiples: list[int], unit: float, offset: float
) -> None:
    divisor = np.gcd.reduce(np.diff(multiples))
    assert spacing([np.array(multiples) * unit + offset]) == pytest.approx(abs(divisor) * unit, rel=1e-6)


def test_continuous_values_have_no_spacing_and_neither_have_constant_ones() -> None:
    assert spacing([np.random.default_rng(0).normal(size=200)]) == 0.0
    assert spacing([np.full(10, 3.7)]) == 0.0
    assert spacing([]) == 0.0


def test_where_one_stratum_lies_relative_to_the_other_does_not_matter() -> None:
    # With the numbers of rows fixed, sums of 10 a and sums of 10 b + 5 are both spaced by 10, not by 5.
    assert spacing([np.array([0.0, 10, 30]), np.array([5.0, 25])]) == 10.0


def steps(values: np.ndarray, records: int = 100, resolution: float | None = None) -> float:
    share = dp.Share("s", values=(0, 1)) if records == 1 else SHARE
    table = pl.DataFrame({"x": values, "s": np.random.default_rng(2).random(len(values)) < 0.4})
    return float(dp.model(table, dp.Query(x=dp.mean("x", resolution=resolution)), share, records=records).steps[0])


RNG = np.random.default_rng(1)
WHOLE = RNG.integers(0, 90, 5000)
TENTHS = RNG.integers(0, 90, 5000) / 10


@pytest.mark.parametrize(
    ("values", "records", "resolution", "step"),
    [
        (WHOLE, 100, None, 0.01),
        (WHOLE * 0.25, 100, None, 0.0025),
        (WHOLE * 1000, 100, None, 10.0),
        (WHOLE * 1000 + (np.arange(5000) % 1000 == 0), 100, None, 10.0),  # a few odd rows hide nothing
        (RNG.normal(size=5000), 100, None, 0.0),
        # Single precision, large offsets and wide ranges hide no lattice.
        (TENTHS.astype("float32"), 10, None, 0.01),
        ((1012 + TENTHS).astype("float32"), 10, None, 0.01),
        (1e8 + TENTHS, 10, None, 0.01),
        (RNG.integers(0, 150_000, 5000), 1, None, 1.0),
        # A declared resolution counts where it is coarser than the rows.
        (RNG.normal(size=500), 100, 0.5, 0.005),
        (WHOLE, 100, 5, 0.05),
        (WHOLE * 2, 100, 0.3, 0.02),
        # A value that hardly ever changes counts with its whole range.
        (np.where(np.arange(200_000) == 123_456, 500.0, 0.0), 100, None, 5.0),
    ],
)
def test_steps_are_those_of_the_reference_rows(
    values: np.ndarray, records: int, resolution: float | None, step: float
) -> None:
    assert steps(values, records, resolution) == pytest.approx(step, rel=1e-4)


@pytest.mark.parametrize(
    ("odd", "records", "step"), [(0.02, 10, 0.1), (0.02, 20, 0.05), (0.003, 100, 0.01), (0.05, 100, 0.005)]
)
def test_the_step_is_the_one_on_which_most_datasets_lie(odd: float, records: int, step: float) -> None:
    rng = np.random.default_rng(1)
    values = rng.integers(0, 90, 9000) + 0.5 * (rng.random(9000) < odd)
    assert steps(values, records) == pytest.approx(step)


def test_the_variance_of_an_odd_number_of_whole_numbers_has_twice_the_step() -> None:
    assert dp.variance("x").steps(5, [1.0]) == pytest.approx([2 / 20])
    assert dp.variance("x").steps(4, [1.0]) == pytest.approx([1 / 12])


def test_totals_counts_quantiles_variances_and_functions_have_their_own_steps() -> None:
    rng = np.random.default_rng(2)
    table = pl.DataFrame({"x": rng.integers(0, 50, 3000), "s": np.arange(3000) % 3 == 0})
    query = dp.Query(
        total=dp.total("x"),
        count=dp.count("x > 10"),
        share=dp.proportion("x > 10"),
        median=dp.quantile("x", 0.5),
        decile=dp.quantile("x", 0.9),
        spread=dp.variance("x"),
        twice=dp.function(lambda rows: 2 * rows["x"].sum(), columns=["x"]),
        ratio=dp.function(lambda rows: rows["x"].mean() / rows["x"].std(), columns=["x"]),
        declared=dp.function(lambda rows: rows["x"].mean(), columns=["x"], resolution=0.125),
    )
    model = dp.model(table, query, SHARE, records=100, draws=400)
    assert model.steps.tolist() == pytest.approx([1.0, 1.0, 0.01, 1.0, 1.0, 1 / 9900, 2.0, 0.0, 0.125])


def test_scenarios_with_tables_of_their_own_take_the_coarsest_step() -> None:
    rng = np.random.default_rng(3)
    fine, coarse = pl.DataFrame({"x": rng.integers(0, 90, 500)}), pl.DataFrame({"x": rng.integers(0, 9, 500) * 10})
    model = dp.model(None, dp.Query(x=dp.mean("x")), dp.Scenarios({"a": fine, "b": coarse}), records=10)
    assert model.steps.tolist() == [1.0]


@given(st.integers(1, 4), st.integers(0, 10**6))
def test_the_basis_generates_exactly_the_lattice_of_the_vectors(size: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    true = rng.integers(-3, 4, size=(size, size))
    vectors = rng.integers(-4, 5, size=(40, size)) @ true.T
    basis = integer_basis(vectors)
    coordinates = np.linalg.lstsq(basis, vectors.T, rcond=None)[0] if basis.size else np.zeros((0, 40))
    np.testing.assert_allclose(coordinates, np.round(coordinates), atol=1e-6)
    assert basis.shape[1] == np.linalg.matrix_rank(vectors)
    if abs(np.linalg.det(true)) > 0.5 and basis.shape[1] == size:
        volume = abs(np.linalg.det(basis))
        assert volume / abs(np.linalg.det(true)) == pytest.approx(round(volume / abs(np.linalg.det(true))))


def test_numbers_of_any_size_do_not_overflow() -> None:
    rng = np.random.default_rng(0)
    true = rng.integers(-3, 4, size=(10, 10))
    basis = integer_basis(rng.integers(-5, 6, size=(300, 10)) @ true.T)
    assert abs(np.linalg.det(basis)) == pytest.approx(abs(np.linalg.det(true)))
