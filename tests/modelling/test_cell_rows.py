"""Where counts in cells repeat: on their lattice, and nowhere else unless groups hardly share a cell."""

import math

import numpy as np
import pytest
from distpriv.modelling.cell_rows import LEAST_IN_COMMON, repeats_on_lattice_only

from distpriv.framework.arrays import Floats
from distpriv.law.resonance import LEAST
from distpriv.modelling.row_laws import RowLaws


def cells_of(counts: list[int], size: int) -> Floats:
    return np.repeat(np.eye(size), counts, axis=0)


def laws_of(strata: list[Floats], drawn: list[int]) -> RowLaws:
    return RowLaws(strata=tuple(strata), drawn={"a": dict(enumerate(drawn))}, replacement=True)


def test_rows_that_count_in_one_cell_each_need_no_search() -> None:
    strata = [cells_of([5, 3, 2], 3), cells_of([2, 3, 5], 3)]
    assert repeats_on_lattice_only(laws_of(strata, [100, 150]), np.ones(3))
    assert repeats_on_lattice_only(
        laws_of([rows * [1, 2, 3] for rows in strata], [100, 150]), np.array([1.0, 2.0, 3.0])
    )


@pytest.mark.parametrize(
    ("rows", "steps"),
    [
        (np.eye(3)[[0, 1, 2, 0]] + np.eye(3)[[1, 1, 2, 0]], np.ones(3)),
        (np.eye(3)[[0, 1, 2, 0]] * 0.5, np.ones(3)),
        (np.eye(3)[[0, 1, 2, 0]], np.array([1.0, 1.0, 0.0])),
        (np.eye(3)[[0, 1, 2, 0]] + 1e-3, np.ones(3)),
    ],
)
def test_rows_that_count_twice_or_in_part_or_without_a_step_are_searched(rows: Floats, steps: Floats) -> None:
    assert not repeats_on_lattice_only(laws_of([rows, rows], [500, 500]), steps)


def test_groups_that_hardly_share_a_cell_are_searched() -> None:
    strata = [cells_of([9, 1, 0], 3), cells_of([0, 1, 9], 3)]
    assert not repeats_on_lattice_only(laws_of(strata, [500, 500]), np.ones(3))
    assert repeats_on_lattice_only(laws_of(strata, [int(10 * LEAST_IN_COMMON)] * 2), np.ones(3))


def log_height(angles: Floats, shares: Floats, sizes: Floats) -> float:
    return float(sizes @ np.log(np.abs(shares @ np.exp(1j * angles))))


def climbed(angles: Floats, shares: Floats, sizes: Floats) -> Floats:
    """Return the top that small steps uphill lead to."""
    for _ in range(4000):
        means = shares @ np.exp(1j * angles)
        slope = np.real((sizes / means) @ (shares * (1j * np.exp(1j * angles))))
        angles = angles + slope / (shares * sizes[:, np.newaxis]).sum(axis=0) / 2
    return angles


def test_five_groups_in_a_ring_repeat_where_no_lattice_does() -> None:
    """Each group has two cells, and the next group one of these: turned by a fifth of a circle a cell, all agree."""
    shares = (np.eye(5) + np.roll(np.eye(5), 1, axis=1)) / 2
    turned, sizes = 2 * np.pi * np.arange(5) / 5, np.full(5, 8.0)
    rng = np.random.default_rng(0)
    back = climbed(turned + 0.1 * rng.normal(size=5), shares, sizes)
    assert np.abs(np.exp(1j * (back - back[0])) - np.exp(1j * turned)).max() < 1e-6
    assert log_height(back, shares, sizes) > math.log(LEAST)
    strata = [cells_of((10 * row).astype(int).tolist(), 5) for row in shares]
    assert not repeats_on_lattice_only(laws_of(strata, [8] * 5), np.ones(5))


@pytest.mark.parametrize("seed", range(4))
def test_ascents_end_on_the_lattice_or_where_nothing_is_left(seed: int) -> None:
    rng = np.random.default_rng(seed)
    groups, cells = 2 + seed % 2, 4
    shares = np.array([rng.dirichlet(np.full(cells, 1.0)) for _ in range(groups)])
    common = min(np.minimum(one, other).sum() for k, one in enumerate(shares) for other in shares[:k])
    sizes = np.full(groups, LEAST_IN_COMMON / common)
    for _ in range(12):
        top = climbed(rng.uniform(-np.pi, np.pi, size=cells), shares, sizes)
        on_lattice = np.abs(np.exp(1j * (top - top[0])) - 1).max() < 1e-3
        assert on_lattice or log_height(top, shares, sizes) < math.log(LEAST / 4)
