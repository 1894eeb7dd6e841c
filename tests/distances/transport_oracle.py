"""Random weighted point sets, and the radii that linear programming finds on them."""

import math
from bisect import bisect_left

import numpy as np
from attrs import frozen
from numpy.typing import NDArray
from scipy.optimize import linprog

Array = NDArray[np.float64]


@frozen(eq=False)
class Case:
    """Two laws on points that often coincide, with weights in hundredths that are often 0, or none."""

    x: Array
    y: Array
    x_weights: Array | None
    y_weights: Array | None
    norm: float

    @classmethod
    def random(cls, seed: int, columns: int | None = None) -> "Case":
        rng = np.random.default_rng(seed)
        columns = columns or int(rng.integers(1, 5))
        sizes = rng.integers(1, 8, size=2)
        x, y = (rng.normal(size=(size, columns)) for size in sizes)
        if rng.random() < 0.5:
            x, y = x.round(), y.round()
        weights = [_hundredths(rng, size) if rng.random() < 0.7 else None for size in sizes]
        return cls(x, y, weights[0], weights[1], float(rng.choice([1, 2, math.inf])))

    @property
    def lengths(self) -> Array:
        """All pairwise distances, computed column by column with the same operations, for there is no other way to
        get the same last bit."""
        parts = [np.abs(np.subtract.outer(self.x[:, k], self.y[:, k])) for k in range(self.x.shape[1])]
        total = parts[0]
        for part in parts[1:]:
            total = {1.0: np.add, 2.0: np.hypot}.get(self.norm, np.maximum)(total, part)
        return np.asarray(total)

    def laws(self) -> tuple[Array, Array]:
        p = np.full(len(self.x), 1 / len(self.x)) if self.x_weights is None else self.x_weights
        q = np.full(len(self.y), 1 / len(self.y)) if self.y_weights is None else self.y_weights
        return p, q


def radius_by_linear_programming(case: Case, delta: float) -> float:
    """The least pairwise distance within which a linear program moves 1 - δ; masses are 1e-7 apart or equal."""
    candidates = np.unique(case.lengths).tolist()
    # Within a larger distance no less can be moved.
    least = bisect_left(candidates, True, key=lambda radius: moved(case, radius) >= 1 - delta - 1e-7)
    return float(candidates[least])


def moved(case: Case, radius: float) -> float:
    p, q = case.laws()
    near = np.argwhere(case.lengths <= radius)
    if not len(near):
        return 0.0
    rows = np.zeros((len(p) + len(q), len(near)))
    rows[near[:, 0], np.arange(len(near))] = 1
    rows[len(p) + near[:, 1], np.arange(len(near))] = 1
    found = linprog(-np.ones(len(near)), A_ub=rows, b_ub=np.concatenate([p, q]), method="highs")
    return -float(found.fun or 0.0)


def _hundredths(rng: np.random.Generator, size: int) -> Array:
    counts = rng.multinomial(100, rng.dirichlet(np.full(size, 0.7)))
    return np.array([float(f"{count / 100:.2f}") for count in counts])
