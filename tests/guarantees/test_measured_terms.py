"""δ of laws whose second-order term is large, and the same in both scenarios, held against the exact one."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.signal import fftconvolve
from scipy.stats import binom, norm

import distpriv as dp
from distpriv.framework.arrays import Floats
from distpriv.guarantees.checked_law import LARGEST_GATE
from distpriv.guarantees.saddlepoint import SaddlepointCheck, saddlepoint_check
from distpriv.modelling.row_laws import RowLaws
from distpriv.noise.laws import GaussianNoise

GRID, FARTHEST = 5e-4, 8.0


@given(seed=st.integers(0, 10_000), epsilon=st.floats(0, 2))
@settings(max_examples=50)
def test_what_both_laws_have_in_common_is_a_factor_and_the_rest_moves_epsilon(seed: int, epsilon: float) -> None:
    rng = np.random.default_rng(seed)
    leading = rng.dirichlet(np.ones(30), size=2)
    common, apart = rng.uniform(-0.5, 0.5, size=30), rng.uniform(-0.1, 0.1, size=30)
    first, second = leading[0] * np.exp(common), leading[1] * np.exp(common - apart)
    most, least = common.max(), apart.max()
    bound = math.exp(most) * np.maximum(leading[0] - math.exp(epsilon - least) * leading[1], 0).sum()
    assert np.maximum(first - math.exp(epsilon) * second, 0).sum() <= bound + 1e-12


def counted(means: Floats, more: Floats, records: int, variance: Floats, epsilon: float) -> SaddlepointCheck:
    """Independent counts, each of records of its own: with a chance in one scenario, and with another in the other."""
    cells, rows = len(means), 4000
    strata, drawn = [], {"a": {}, "b": {}}  # type: ignore[var-annotated]
    moments = {name: (np.zeros(cells), np.zeros(cells)) for name in drawn}
    for cell, (mean, grown) in enumerate(zip(means, more, strict=True)):
        for number, chance in enumerate((mean / records, mean * grown / records)):
            values = np.zeros((rows, cells))
            values[: round(rows * chance), cell] = 1
            drawn["ab"[number]][len(strata)] = records
            drawn["ab"[1 - number]][len(strata)] = 0
            share = round(rows * chance) / rows
            moments["ab"[number]][0][cell] = records * share
            moments["ab"[number]][1][cell] = records * share * (1 - share)
            strata.append(values)
    model = dp.gaussian_model(
        means={name: mean for name, (mean, _) in moments.items()},
        covariances={name: np.diag(square) for name, (_, square) in moments.items()},
        pairs=[("a", "b")],
    )
    laws = RowLaws(strata=tuple(strata), drawn=drawn, replacement=True)
    return saddlepoint_check(model, laws, GaussianNoise.of(np.diag(variance)), epsilon, model.protected_pairs)


def exact_delta(means: Floats, more: Floats, records: int, variance: Floats, epsilon: float) -> float:
    """The larger H_ε of both orders: log-ratios of independent counts add up, so that their laws are convolved."""
    found = []
    for order in (1, -1):
        total = np.ones(1)
        for mean, grown, square in zip(means, more, variance, strict=True):
            shares = [round(4000 * chance / records) / 4000 for chance in (mean, mean * grown)][::order]
            numbers, deviation = np.arange(records + 1), math.sqrt(square)
            places = np.arange(-9 * deviation, max(mean, mean * grown) * 3 + 30 + 9 * deviation, deviation / 40)
            bells = norm.pdf(places[:, np.newaxis], numbers, deviation)
            first, second = (bells @ binom.pmf(numbers, records, share) for share in shares)
            ratio = np.clip(np.log(first + 1e-300) - np.log(second + 1e-300), -FARTHEST, FARTHEST)
            at = (ratio + FARTHEST) / GRID
            low, mass = np.floor(at).astype(int), first * deviation / 40
            size = round(2 * FARTHEST / GRID) + 2
            law = np.bincount(low, mass * (low + 1 - at), size) + np.bincount(low + 1, mass * (at - low), size)
            total = np.maximum(fftconvolve(total, law), 0)
        ratios = np.arange(len(total)) * GRID - len(means) * FARTHEST
        found.append(float(total @ np.maximum(-np.expm1(epsilon - ratios), 0)))
    return max(found)


CASES = {
    "many cells": (np.linspace(8, 40, 16), np.linspace(1.02, 1.1, 16), 200, 0.0),
    "at another ε": (np.linspace(6, 20, 12), np.linspace(1.3, 0.9, 12), 200, 0.2),
    "few expected": (np.linspace(2, 6, 6), np.full(6, 1.1), 100, 0.0),
}


@pytest.mark.parametrize(
    "case", [pytest.param(case, marks=pytest.mark.slow if case == "many cells" else ()) for case in CASES]
)
def test_cells_whose_terms_add_up_are_known_as_well_as_their_ratio_is(case: str) -> None:
    means, more, records, epsilon = CASES[case]
    variance = np.maximum(0.3 * means, 0.5)
    check = counted(means, more, records, variance, epsilon)
    exact = exact_delta(means, more, records, variance, epsilon)
    assert check.largest_term > LARGEST_GATE
    assert check.measured is not None
    assert check.gate <= LARGEST_GATE
    assert exact <= check.delta_with_error <= 1.1 * exact


def test_cells_with_hardly_a_record_are_not_vouched_for() -> None:
    means = np.linspace(0.3, 1.2, 12)
    check = counted(means, np.full(12, 2.0), 50, np.full(12, 0.4), 1.0)
    assert check.gate > LARGEST_GATE
