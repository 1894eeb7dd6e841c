import math
from collections.abc import Callable, Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from distpriv.framework.arrays import Floats, Rows
from distpriv.law.resonance import (
    SETTINGS,
    Peak,
    SomeRows,
    Spectrum,
    peak_at,
    repeats_on_lattice_only,
    spectrum,
    unknown_covariance,
)
from distpriv.modelling.row_laws import RowLaws

ROWS = 1500


def laws_of(rows: Floats, groups: Rows, records: int) -> RowLaws:
    half = records // 2
    return RowLaws(
        strata=(rows[groups == 1], rows[groups == 0]),
        drawn={"a": {0: half, 1: records - half}, "b": {0: half - records // 5, 1: records - half + records // 5}},
        replacement=True,
    )


def covariances_of(laws: RowLaws) -> dict[str, Floats]:
    size = laws.strata[0].values.shape[1]
    return {
        name: np.sum(
            [n * np.cov(laws.strata[s].values.T, bias=True).reshape(size, size) for s, n in sizes.items()], axis=0
        )
        for name, sizes in laws.drawn.items()
    }


def floor_of(laws: RowLaws, share: float = 0.1) -> Floats:
    return share**2 * np.diag(np.diag(np.mean(list(covariances_of(laws).values()), axis=0)))


def searched(laws: RowLaws) -> Spectrum:
    return spectrum(laws, covariances_of(laws), floor_of(laws))


def highest_ripple(laws: RowLaws, peaks: Sequence[Peak]) -> float:
    """The largest ripple of some peaks under noise of a tenth of every statistic's deviation."""
    left = {name: unknown_covariance(own, floor_of(laws)) for name, own in covariances_of(laws).items()}
    return max((peak.ripple(left[name], name) for peak in peaks for name in left), default=0.0)


def planted(seed: int, dimension: int) -> tuple[RowLaws, Floats]:
    """Rows of which one combination lies near multiples of 50, shifted by the group, and that combination."""
    rng = np.random.default_rng(seed)
    groups = rng.integers(0, 2, ROWS)
    weights = np.append(rng.uniform(0.3, 1.0, dimension - 1) * rng.choice([-1, 1], dimension - 1), 1.0)
    others = rng.normal(0, 15, (ROWS, dimension - 1))
    residue = 50.0 * rng.integers(0, 2, ROWS) + rng.uniform(5, 45) * groups + rng.normal(0, rng.uniform(0.1, 1.5), ROWS)
    last = residue - others @ weights[:-1]
    return laws_of(np.column_stack([others, last]), groups, 20), weights


@pytest.mark.parametrize("seed", range(20))
def test_a_combination_that_repeats_is_found(seed: int) -> None:
    laws, weights = planted(seed, 1 + seed % 4)
    found = searched(laws)
    assert found.peaks
    highest = max(found.peaks, key=lambda peak: max(peak.heights.values()))
    expected = 2 * np.pi / 50 * weights
    turned = highest.frequency * np.sign(highest.frequency[-1])
    np.testing.assert_allclose(turned, expected, rtol=0.06)
    assert max(highest.heights.values()) > 0.3


def carried_by_few(seed: int, dimension: int, records: int = 100_000, carriers: int = 20) -> tuple[RowLaws, Floats]:
    """Rows most of which add nothing: so many of a dataset add 1 to one combination, and few more vary otherwise."""
    rng = np.random.default_rng(seed)
    lattice, others = np.zeros(records), np.zeros((records, dimension - 1))
    lattice[:carriers] = 1.0
    others[: 6 * carriers] = rng.normal(size=(6 * carriers, dimension - 1))
    others /= others.std(axis=0)
    turned = np.linalg.qr(
        np.column_stack([rng.uniform(0.7, 1.3, dimension), rng.normal(size=(dimension, dimension - 1))])
    )
    matrix = turned.Q * np.append(1.0, np.full(dimension - 1, 0.7 * lattice.std()))
    rows = np.column_stack([lattice, others]) @ matrix.T
    few = records // 20
    constant = np.tile(rows.mean(axis=0), (10, 1))
    drawn = {"a": {0: records}, "b": {0: records - few, 1: few}}
    return RowLaws(strata=(rows, constant), drawn=drawn, replacement=True), np.linalg.inv(matrix)[0]


@pytest.mark.parametrize("seed", range(8))
def test_what_one_row_in_thousands_makes_repeat_is_found(seed: int) -> None:
    laws, weights = carried_by_few(seed, 2 + seed % 3)
    planted = highest_ripple(laws, [peak_at(laws, 2 * np.pi * weights)])
    assert planted > 1e-3
    assert highest_ripple(laws, searched(laws).peaks) > 0.95 * planted


def test_rows_that_stand_for_others_keep_their_means() -> None:
    rng = np.random.default_rng(0)
    values = rng.normal(size=(20_000, 2)) * (rng.random((20_000, 1)) < 0.002)
    values[7] = 100.0
    several = [SomeRows.of(values, 200, np.random.default_rng(seed)) for seed in range(300)]
    assert all(abs(len(some.values) - 200) <= 1 and (some.values == 100).any() for some in several)
    squares = np.array([some.shares @ some.values**2 for some in several])
    np.testing.assert_allclose(squares.mean(axis=0), (values**2).mean(axis=0), rtol=0.01)
    assert max(some.shares.max() for some in several) < 2.1 / 200


SMOOTH: list[Callable[[np.random.Generator, int], Floats]] = [
    lambda rng, m: rng.normal(size=(ROWS, m)),
    lambda rng, m: rng.exponential(size=(ROWS, m)),
    lambda rng, m: np.exp(rng.normal(size=(ROWS, m)) / 2),
    lambda rng, m: rng.uniform(size=(ROWS, m)) @ rng.normal(size=(m, m)),
    lambda rng, m: rng.normal(size=(ROWS, m)) + 4 * (rng.random((ROWS, m)) < 0.3),
]


@pytest.mark.slow
def test_where_nothing_repeats_nothing_is_found() -> None:
    flagged = 0
    for seed in range(50):
        rng = np.random.default_rng(seed)
        rows = SMOOTH[seed % len(SMOOTH)](rng, 1 + seed % 3)
        found = searched(laws_of(rows, rng.integers(0, 2, ROWS), 40))
        flagged += any(max(peak.heights.values()) > 1e-3 for peak in found.peaks)
    assert flagged <= 1


@pytest.mark.slow
@given(scale=st.floats(1e-6, 1e6), turn=st.floats(0, 3))
@settings(max_examples=8, deadline=None)
def test_other_units_have_the_same_peaks(scale: float, turn: float) -> None:
    laws, _ = planted(5, 2)
    matrix = scale * np.array([[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]])
    turned = RowLaws(strata=tuple(rows.values @ matrix.T for rows in laws.strata), drawn=laws.drawn, replacement=True)
    covariance = np.cov(np.concatenate([rows.values for rows in laws.strata]).T) * 20
    floor = 0.01 * covariance
    one = spectrum(laws, dict.fromkeys(laws.drawn, covariance), floor)
    other = spectrum(turned, dict.fromkeys(laws.drawn, matrix @ covariance @ matrix.T), matrix @ floor @ matrix.T)
    highest = [max(max(peak.heights.values()) for peak in found.peaks) for found in (one, other)]
    assert highest[0] == pytest.approx(highest[1], rel=1e-3)


COMMON = 70.0


def cells_of(counts: list[int], size: int) -> Floats:
    return np.repeat(np.eye(size), counts, axis=0)


def cell_laws(strata: list[Floats], drawn: list[int]) -> RowLaws:
    return RowLaws(strata=tuple(strata), drawn={"a": dict(enumerate(drawn))}, replacement=True)


def test_rows_that_count_in_one_cell_each_need_no_search() -> None:
    strata = [cells_of([5, 3, 2], 3), cells_of([2, 3, 5], 3)]
    assert repeats_on_lattice_only(cell_laws(strata, [100, 150]), np.ones(3))
    assert repeats_on_lattice_only(
        cell_laws([rows * [1, 2, 3] for rows in strata], [100, 150]), np.array([1.0, 2.0, 3.0])
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
    assert not repeats_on_lattice_only(cell_laws([rows, rows], [500, 500]), steps)


def test_groups_that_hardly_share_a_cell_are_searched() -> None:
    strata = [cells_of([9, 1, 0], 3), cells_of([0, 1, 9], 3)]
    assert not repeats_on_lattice_only(cell_laws(strata, [500, 500]), np.ones(3))
    assert repeats_on_lattice_only(cell_laws(strata, [int(10 * COMMON)] * 2), np.ones(3))


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
    assert log_height(back, shares, sizes) > math.log(SETTINGS.least)
    strata = [cells_of((10 * row).astype(int).tolist(), 5) for row in shares]
    assert not repeats_on_lattice_only(cell_laws(strata, [8] * 5), np.ones(5))


@pytest.mark.parametrize("seed", range(4))
def test_ascents_end_on_the_lattice_or_where_nothing_is_left(seed: int) -> None:
    rng = np.random.default_rng(seed)
    groups, cells = 2 + seed % 2, 4
    shares = np.array([rng.dirichlet(np.full(cells, 1.0)) for _ in range(groups)])
    common = min(np.minimum(one, other).sum() for k, one in enumerate(shares) for other in shares[:k])
    sizes = np.full(groups, COMMON / common)
    for _ in range(12):
        top = climbed(rng.uniform(-np.pi, np.pi, size=cells), shares, sizes)
        on_lattice = np.abs(np.exp(1j * (top - top[0])) - 1).max() < 1e-3
        assert on_lattice or log_height(top, shares, sizes) < math.log(SETTINGS.least / 4)
