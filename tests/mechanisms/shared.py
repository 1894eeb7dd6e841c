"""What the tests of several mechanisms share."""

import math

import numpy as np
import pyarrow as pa
from hypothesis import strategies as st
from scipy import stats

import distpriv as dp
from distpriv.framework.arrays import Floats
from distpriv.guarantees.mechanism import AdditiveMechanism
from distpriv.noise.laws import LaplaceNoise

WORKED = dp.gaussian_model(
    means={"a": [100, 101], "b": [99, 102]}, covariances=[[22, -6], [-6, 13]], pairs=[("a", "b")]
)
TARGET = dp.PrivacyTarget(epsilon=1, delta=0.001)
targets = st.builds(dp.PrivacyTarget, epsilon=st.floats(0.05, 8), delta=st.floats(1e-8, 0.2))


def transformed(model: dp.QueryModel, matrix: np.ndarray) -> dp.QueryModel:
    return dp.gaussian_model(
        means={name: matrix @ law.mean for name, law in model.distributions.items()},
        covariances={name: matrix @ law.covariance @ matrix.T for name, law in model.distributions.items()},
        pairs=model.protected_pairs,
    )


def income(adult: pa.Table, query: dp.Query, difference: float) -> dp.QueryModel:
    """Return the paper's model, made once for each query and difference."""
    if (query, difference) not in _INCOME:
        share = dp.Share("income = '>50K'", values=(0.5 - difference / 2, 0.5 + difference / 2))
        _INCOME[query, difference] = dp.model(adult, query, share, records=100, reference="population")
    return _INCOME[query, difference]


_INCOME: dict[tuple[dp.Query, float], dp.QueryModel] = {}


def decode(released: np.ndarray, direction: np.ndarray, steps: np.ndarray) -> np.ndarray | None:
    """Find the one point of the lattice on the line that the noise moved the statistics along.

    Every value of the third statistic, a count of 0 … 100, gives a point on the line; only the true one has all
    the other statistics on their lattices as well.
    """
    moved = (released[2] - np.arange(101)) / direction[2]
    candidates = released - np.outer(moved, direction)
    units = candidates / steps
    on_lattice = np.abs(units - np.round(units)).max(axis=1) < 1e-5
    return np.round(units[on_lattice][0]) * steps if on_lattice.sum() == 1 else None


def released_cells(points: Floats, weights: Floats, scale: float, laplace: bool, edges: Floats) -> Floats:
    """The mass of the released law in every cell of a grid."""
    law = stats.laplace if laplace else stats.norm
    return np.asarray(np.diff(law.cdf((edges[:, None] - points) / scale) @ weights))


def worst_delta(model: dp.QueryModel, mechanism: AdditiveMechanism, epsilon: float) -> float:
    """The largest δ of both orders of every pair; cells are narrow against the noise."""
    laplace = isinstance(mechanism.noise, LaplaceNoise)
    scale = float(mechanism.noise.scales[0]) if laplace else mechanism.noise.expected_rms  # type: ignore[union-attr]
    edges = np.linspace(-60 * scale - 200, 60 * scale + 300, 400_001)
    deltas = []
    for first, second in model.protected_pairs:
        cells = []
        for name in (first, second):
            law = model.distributions[name]
            assert law.points is not None
            weights = np.full(len(law.points), 1 / len(law.points)) if law.weights is None else law.weights
            cells.append(released_cells(law.points[:, 0], weights, scale, laplace, edges))
        deltas.append(float(np.maximum(0, cells[0] - math.exp(epsilon) * cells[1]).sum()))
    return max(deltas)
