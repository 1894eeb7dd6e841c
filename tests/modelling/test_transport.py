from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment

from distpriv.modelling import transport
from distpriv.modelling.transport import PairingSettings, RowPairing


def cost(pairing: RowPairing, first: np.ndarray, second: np.ndarray) -> float:
    squares = ((first[pairing.first] - second[pairing.second]) ** 2).sum(axis=1)
    return float(squares @ pairing.units / pairing.units.sum())


@given(st.integers(1, 40), st.integers(1, 40), st.integers(1, 3), st.integers(0, 10**6), st.booleans(), st.booleans())
def test_both_marginals_are_exactly_uniform_also_of_lists_too_long_to_match(
    n: int, m: int, width: int, seed: int, ties: bool, long: bool
) -> None:
    rng = np.random.default_rng(seed)
    first, second = rng.normal(size=(n, width)), rng.normal(size=(m, width))
    if ties:
        first, second = first.round(), second.round()
    with patch.object(transport, "PAIRING", PairingSettings(most_matched=0 if long else 200_000)):
        pairing = RowPairing.between(first, second)
    assert np.bincount(pairing.first, weights=pairing.units, minlength=n).tolist() == [m] * n
    assert np.bincount(pairing.second, weights=pairing.units, minlength=m).tolist() == [n] * m


@pytest.mark.parametrize("seed", range(5))
def test_small_strata_of_one_size_are_paired_optimally(seed: int) -> None:
    rng = np.random.default_rng(seed)
    first, second = rng.normal(size=(60, 3)), rng.normal(size=(60, 3)) + 1
    distances = ((first[:, None] - second[None]) ** 2).sum(axis=2)
    rows, columns = linear_sum_assignment(distances)
    assert cost(RowPairing.between(first, second), first, second) == pytest.approx(distances[rows, columns].mean())


@pytest.mark.slow
def test_pairs_are_much_closer_than_independent_ones_and_near_the_optimum() -> None:
    rng = np.random.default_rng(0)
    first, second = rng.normal(size=(900, 3)), rng.normal(size=(600, 3)) + 0.5
    distances = ((first[:, None] - second[None]) ** 2).sum(axis=2)
    copies = np.repeat(np.repeat(distances, 2, axis=0), 3, axis=1)
    optimum = copies[linear_sum_assignment(copies)].mean()
    ours = cost(RowPairing.between(first, second), first, second)
    assert optimum <= ours * (1 + 1e-9)
    assert ours < 1.25 * optimum < 0.3 * distances.mean()
