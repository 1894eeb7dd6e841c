from itertools import combinations, product

import numpy as np
import pytest

from distpriv.modelling.row_laws import RowLaws


def enumerated(strata: tuple[np.ndarray, ...], sizes: dict[int, int], frequency: np.ndarray, *, again: bool) -> complex:
    """The mean of e^{itᵀF} over all datasets there are."""
    found = 1 + 0j
    for stratum, size in sizes.items():
        rows = strata[stratum]
        chosen = product(rows, repeat=size) if again else combinations(rows, size)
        found *= np.mean([np.exp(1j * (np.sum(some, axis=0) @ frequency)) for some in chosen])
    return complex(found)


@pytest.mark.parametrize("again", [True, False])
@pytest.mark.parametrize("lattice", [True, False])
def test_phases_are_those_of_all_datasets(again: bool, lattice: bool) -> None:
    rng = np.random.default_rng(3)
    strata = tuple(
        rng.integers(0, 4, (6, 2)).astype(np.float64) if lattice else rng.normal(size=(6, 2)) for _ in range(2)
    )
    drawn = {"a": {0: 1, 1: 4}, "b": {0: 4, 1: 2}}
    laws = RowLaws(strata=strata, drawn=drawn, replacement=again)
    for _ in range(5):
        frequency = rng.normal(size=2) * 3
        for name, found in laws.phases(frequency).items():
            assert found == pytest.approx(enumerated(strata, drawn[name], frequency, again=again), abs=1e-12)


def test_a_parity_that_draws_without_replacement_keep_is_seen() -> None:
    rows = np.array([[0.0], [1.0]] * 4)
    laws = RowLaws(strata=(rows,), drawn={"a": {0: 4}}, replacement=False)
    assert laws.phases(np.array([np.pi]))["a"] == pytest.approx(6 / 70)
