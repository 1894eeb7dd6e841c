import math
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom, norm

import distpriv as dp
from distpriv.framework.arrays import Floats
from distpriv.guarantees.delta_from_rows import tilted_laws
from distpriv.law.cumulants import second_order_terms
from distpriv.law.saddlepoint import TiltedLaw, TiltedStratum, symmetric
from distpriv.modelling.row_laws import RowLaws


def law_of(rows: Floats, drawn: int, variance: float, *, replacement: bool) -> TiltedLaw:
    stratum = TiltedStratum(
        values=rows - rows.mean(axis=0), counts=np.ones(len(rows)), drawn=drawn, replacement=replacement
    )
    return TiltedLaw.of([stratum], drawn * rows.mean(axis=0), variance * np.eye(rows.shape[1]))


def at_rest(law: TiltedLaw) -> float:
    """c₂ without a tilt."""
    found = law.saddlepoints(law.mean[np.newaxis], np.zeros((1, len(law.mean))))
    return float(second_order_terms(law, found, np.arange(1))[0])


def enumerated(rows: Floats, drawn: int, *, replacement: bool) -> Floats:
    every = product(rows, repeat=drawn) if replacement else combinations(rows, drawn)
    return np.array([np.sum(chosen, axis=0) for chosen in every])


@pytest.mark.parametrize(("drawn", "replacement"), [(3, True), (4, True), (3, False), (6, False), (9, False)])
def test_it_is_the_density_of_all_datasets_to_the_next_order(drawn: int, replacement: bool) -> None:
    rows = np.random.default_rng(1).random((12, 1)) ** 3 * 2.5
    sums = enumerated(rows, drawn, replacement=replacement)
    deviation = np.sqrt(sums.var() + 1.0)
    points = sums.mean() + deviation * np.linspace(-2, 2.5, 10)[:, np.newaxis]
    exact = np.exp(-((points - sums.T) ** 2) / 2).mean(axis=1) / np.sqrt(2 * np.pi)
    law = law_of(rows, drawn, 1.0, replacement=replacement)
    found = law.saddlepoints(points, np.zeros_like(points))
    terms = second_order_terms(law, found, np.arange(len(points)))
    leading = np.exp(found.log_densities) / exact
    corrected = leading * (1 + terms)
    assert np.abs(corrected - 1).max() < 0.03
    assert np.abs(corrected - 1).mean() < np.abs(leading - 1).mean() / 2


@given(seed=st.integers(0, 1000), drawn=st.integers(1, 20))
@settings(max_examples=25)
def test_the_second_order_term_is_mccullaghs(seed: int, drawn: int) -> None:
    rows = np.random.default_rng(seed).exponential(size=(30, 2))
    centred = rows - rows.mean(axis=0)
    covariance = drawn * centred.T @ centred / 30
    law = law_of(rows, drawn, 0.5, replacement=True)
    white = centred @ np.linalg.inv(np.linalg.cholesky(covariance + 0.5 * np.eye(2))).T
    second = white.T @ white / 30
    third = drawn * np.einsum("ra,rb,rc->abc", white, white, white) / 30
    fourth = drawn * ((white**2).sum(axis=1) ** 2).mean()
    fourth -= drawn * (np.trace(second) ** 2 + 2 * (second**2).sum())
    expected = fourth / 8 - (np.einsum("abb->a", third) ** 2).sum() / 8 - (third**2).sum() / 12
    assert at_rest(law) == pytest.approx(expected, abs=1e-10)


@given(seed=st.integers(0, 1000))
@settings(max_examples=25)
def test_newtons_steps_arrive_from_anywhere(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows = rng.lognormal(0, 1.5, size=(50, 2))
    law = law_of(rows / rows.std(axis=0) / 3, 9, 0.3, replacement=bool(seed % 2))
    points = law.mean + rng.normal(size=(20, 2))
    near, far = (law.saddlepoints(points, scale * rng.normal(size=(20, 2))) for scale in (0.0, 2.0))
    assert near.known.all()
    np.testing.assert_allclose(near.log_densities, far.log_densities, atol=2e-3)  # as near as steps are taken


def test_a_point_beyond_all_rows_has_no_density() -> None:
    law = law_of(np.array([[0.0], [1.0]]), 2, 1e-6, replacement=True)
    found = law.saddlepoints(np.array([[1.0], [5.0]]), np.zeros((2, 1)))
    assert found.known.tolist() == [True, False]
    assert not found.known[1]


def test_all_rows_of_a_stratum_are_a_constant_and_sums_that_add_up_leave_out_a_direction() -> None:
    rng = np.random.default_rng(0)
    one, other = rng.random((8, 1)), rng.random((20, 1))
    strata = tuple(np.column_stack([rows, 1 - rows, np.zeros(len(rows))]) for rows in (one, other))
    rows = RowLaws(strata=strata, drawn={"a": {0: 8, 1: 3}, "b": {0: 7, 1: 4}}, replacement=False)
    means = {"a": [0, 0, 0], "b": [0, 0, 0]}
    model = dp.gaussian_model(means=means, covariances=np.cov(strata[1].T), pairs=[("a", "b")])
    laws = tilted_laws(model, rows, np.zeros((3, 3)))
    assert [len(law.strata) for law in laws.values()] == [1, 2]
    assert len(laws["a"].mean) == 1


def test_a_sample_of_rows_stands_for_its_population() -> None:
    strata = (np.random.default_rng(0).random((20, 1)),)
    model = dp.gaussian_model(means={"a": [0], "b": [0]}, covariances=[[1]], pairs=[("a", "b")])
    laws = [
        tilted_laws(
            model,
            RowLaws(strata=rows, drawn={"a": {0: 10}, "b": {0: 9}}, replacement=False, populations=populations),
            np.eye(1),
        )["a"]
        for rows, populations in ((strata, (60,)), ((np.tile(strata[0], (3, 1)),), ()))
    ]
    assert laws[0].strata[0].share == laws[1].strata[0].share
    assert at_rest(laws[0]) == pytest.approx(at_rest(laws[1]), rel=1e-9)


@pytest.mark.parametrize(("deviation", "error"), [(1.0, 1e-3), (1.5, 5e-4), (2.0, 5e-4)])
@pytest.mark.parametrize("expected", [0.05, 0.5, 3.0, 20.0])
def test_noise_of_a_step_makes_ratios_of_rare_counts_right(expected: float, deviation: float, error: float) -> None:
    """Of counts from rare to common, on their lattice: no cell of a table varies too little for the expansion."""
    drawn, points = 4000, np.linspace(-4 * deviation, expected + 5 * math.sqrt(expected) + 5 * deviation, 50)
    exact, expanded = [], []
    for mean in (expected, 1.5 * expected):
        share = mean / drawn
        stratum = TiltedStratum(
            values=np.array([[-share], [1 - share]]),
            counts=np.array([1 - share, share]) * 1e6,
            drawn=drawn,
            replacement=True,
        )
        law = TiltedLaw.of([stratum], np.array([mean]), np.eye(1) * deviation**2)
        at = law.saddlepoints(points[:, np.newaxis], np.zeros((len(points), 1)))
        expanded.append(at.log_densities + np.log1p(second_order_terms(law, at, np.arange(len(points)))))
        counts = np.arange(int(mean + 40 + 15 * math.sqrt(mean)))
        chances = binom.pmf(counts, drawn, share)
        exact.append(np.log(norm.pdf(points[:, np.newaxis], counts, deviation) @ chances))
    np.testing.assert_allclose(expanded[1] - expanded[0], exact[1] - exact[0], atol=error)


SOME_ROWS = st.lists(st.tuples(st.floats(-3, 3), st.floats(-3, 3)), min_size=4, max_size=12).map(np.array)
TILTS = st.tuples(st.floats(-2, 2), st.floats(-2, 2)).map(lambda tilt: np.array([tilt]))


@given(values=SOME_ROWS, tilt=TILTS, replacement=st.booleans())
@settings(max_examples=50)
def test_derivatives_are_those_of_the_value(values: Floats, tilt: Floats, replacement: bool) -> None:
    stratum = TiltedStratum(values=values, counts=np.ones(len(values)), drawn=2, replacement=replacement)
    at, step = stratum.pull(tilt, None), 1e-5
    for axis in np.eye(2):
        above, below = (stratum.pull(tilt + sign * step * axis, at.level) for sign in (1, -1))
        np.testing.assert_allclose((above.value - below.value) / (2 * step), at.mean @ axis, atol=1e-6)
        if not replacement:
            slope = (above.mean - below.mean) / (2 * step)
            np.testing.assert_allclose(slope[0], symmetric(at.square)[0] @ axis, atol=1e-6)


def test_a_rare_huge_row_overflows_nothing() -> None:
    values = np.array([[0.0], [0.1], [1e6]])
    for replacement in (True, False):
        stratum = TiltedStratum(values=values, counts=np.array([1e3, 1e3, 1.0]), drawn=10, replacement=replacement)
        pull = stratum.pull(np.array([[5.0], [-5.0]]), None)
        assert np.isfinite(pull.value).all()
        assert np.isfinite(pull.profile).all()
