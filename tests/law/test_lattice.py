import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from distpriv.framework.arrays import Floats
from distpriv.law.lattice import RATE, SETTINGS, lattice_sum

forms = st.integers(1, 3).flatmap(
    lambda size: st.lists(st.floats(-1, 1), min_size=size * size, max_size=size * size).map(
        lambda entries: np.array(entries).reshape(size, size)
    )
)


def summed(form: Floats, reach: int) -> float:
    """All vectors of a box but 0."""
    points = np.array(list(product(range(-reach, reach + 1), repeat=len(form))), dtype=np.float64)
    norms = np.einsum("ki,ij,kj->k", points, form, points)
    return float(np.exp(-RATE * norms[points.any(axis=1)]).sum())


@given(root=forms, least=st.floats(0.05, 1.0))
@settings(max_examples=60, deadline=None)
def test_it_is_above_the_sum_and_close_to_it_where_that_is_small(root: Floats, least: float) -> None:
    form = root @ root.T + least * np.eye(len(root))
    true = summed(form, 8)
    bound = lattice_sum(form)
    assert bound >= true * (1 - 1e-9)
    if true < 1e-3:
        assert bound <= max(2 * true, SETTINGS.negligible)


@pytest.mark.parametrize("seed", range(50))
def test_on_random_lattices_it_is_never_below_the_sum_and_within_ten_times(seed: int) -> None:
    """Bases that are long and skewed, as those of tied counts are, with sums from next to nothing to about one."""
    rng = np.random.default_rng(seed)
    size = 2 + seed % 3
    root = np.linalg.qr(rng.normal(size=(size, size)))[0] * rng.uniform(0.35, 0.9, size=size)
    root = root + 0.1 * rng.normal(size=(size, size))
    form = root @ root.T + 0.08 * np.eye(size)
    true = summed(form, 10 if size < 4 else 7)
    change = np.eye(size)
    for _ in range(8):
        i, j = rng.permutation(size)[:2]
        change[i] += rng.integers(-3, 4) * change[j]
    for basis in (np.eye(size), change):
        bound = lattice_sum(basis @ form @ basis.T)
        assert true * (1 - 1e-9) <= bound <= 10 * true


@pytest.mark.parametrize("cells", [4, 16, 40, 224])
def test_cells_that_add_up_are_smoothed_by_noise_of_one_step(cells: int) -> None:
    # The dual of the lattice of counts that add up to n, in the basis that leaves the last cell out.
    form = np.eye(cells - 1) - np.full((cells - 1, cells - 1), 1 / cells)
    shortest = 2 * cells * math.exp(-RATE * (1 - 1 / cells))
    assert lattice_sum(form) >= shortest * (1 - 1e-9)
    assert lattice_sum(form) <= (4 if cells < 100 else 20) * shortest


def test_what_is_singular_has_no_bound() -> None:
    assert lattice_sum(np.ones((2, 2))) == math.inf
    assert lattice_sum(np.zeros((0, 0))) == 0
