r"""Rows each of which counts in one cell of a table: the law of such counts repeats on the lattice, and nowhere else.

With :math:`θ_c` the frequency of cell c and :math:`π_{sc}` its share of stratum s,
:math:`|φ_F| = \prod_s |\sum_c π_{sc} e^{iθ_c}|^{k_s}`. Its only local maxima that are high enough to matter are those
at which all :math:`θ_c` are equal up to multiples of 2π, if any two strata have enough records in the same cells
(`docs/proofs/delta_by_draws.md`): these are the lattice's, which are counted without a search.
"""

from itertools import combinations

import numpy as np

from distpriv.framework.arrays import Floats
from distpriv.modelling.row_laws import RowLaws

__all__ = ["repeats_on_lattice_only"]

LEAST_IN_COMMON = 70.0
"""How many records any two strata are expected to have in the same cells, each cell by the stratum with fewer."""

WHOLE = 1e-9
"""By how much of a step a row may be off."""


def repeats_on_lattice_only(rows: RowLaws, steps: Floats) -> bool:
    """Tell whether it is proved that the statistics repeat by their steps, and by nothing else.

    >>> counts = np.eye(3)[[0, 0, 1, 2]]
    >>> rows = RowLaws(strata=(counts, counts[1:]), drawn={"a": {0: 200, 1: 100}}, replacement=True)
    >>> repeats_on_lattice_only(rows, np.ones(3)), repeats_on_lattice_only(rows, 2 * np.ones(3))
    (True, False)
    """
    if not (steps > 0).all():
        return False
    shares = [_shares_of_cells(stratum.values[stratum.kinds[0]] / steps, stratum.kinds[1]) for stratum in rows.strata]
    if any(each is None for each in shares):
        return False
    known = [each for each in shares if each is not None]
    return all(
        float(np.minimum(one, other).sum()) >= LEAST_IN_COMMON
        for sizes in rows.drawn.values()
        for one, other in combinations([_records(rows, s, size) * known[s] for s, size in sizes.items() if size], 2)
        if one.any() and other.any()
    )


def _shares_of_cells(values: Floats, counts: Floats) -> Floats | None:
    """Return the share of every cell, and of records in none; None where a row counts in several, or in part."""
    inside = np.abs(values) > WHOLE
    if (np.abs(values[inside] - 1) > WHOLE).any() or (inside.sum(axis=1) > 1).any():
        return None
    cells = np.column_stack([inside, ~inside.any(axis=1)])
    return np.asarray(counts @ cells / max(float(counts.sum()), 1e-300))


def _records(rows: RowLaws, stratum: int, size: int) -> float:
    """Return how many independent rows of a stratum a dataset is worth."""
    return size if rows.replacement else size * (1 - size / rows.rows_of(stratum))
