"""Models for the tests of guarantees: random, of any size, with equal or very unequal covariances."""

import numpy as np

import distpriv as dp
from distpriv.framework.arrays import Floats
from distpriv.guarantees.projections import projected_laws
from distpriv.modelling.row_laws import RowLaws
from distpriv.noise.laws import Noise


def random_covariance(rng: np.random.Generator, size: int, spread: float = 1.0) -> Floats:
    axes = np.linalg.qr(rng.normal(size=(size, size)))[0]
    return np.asarray((axes * 10.0 ** rng.uniform(-spread, spread, size)) @ axes.T)


def random_model(
    seed: int, size: int, *, unequal: float = 0.0, distance: float = 1.0, pairs: int = 1, parallel: bool = True
) -> dp.QueryModel:
    """Scenarios 0, 1, …, each protected against scenario 0."""
    rng = np.random.default_rng(seed)
    shared = random_covariance(rng, size)
    direction = rng.normal(size=size)
    factor = np.linalg.cholesky(shared)
    means, covariances = {"s0": np.zeros(size)}, {"s0": shared}
    for k in range(1, pairs + 1):
        step = direction if parallel else rng.normal(size=size)
        means[f"s{k}"] = distance * rng.uniform(0.3, 1.0) * step / np.linalg.norm(np.linalg.solve(factor, step))
        change = random_covariance(rng, size, unequal) if unequal else np.eye(size)
        covariances[f"s{k}"] = factor @ change @ factor.T if unequal else shared
    return dp.gaussian_model(means=means, covariances=covariances, pairs=[("s0", f"s{k}") for k in range(1, pairs + 1)])


def projected_deltas(model: dp.QueryModel, rows: RowLaws, noise: Noise, epsilon: float, direction: Floats) -> Floats:
    """H_ε of one combination of the released numbers, for every protected pair."""
    laws = projected_laws(model, rows, noise, direction)
    return np.array([0.0 if laws is None else laws.delta(pair, epsilon) for pair in model.protected_pairs])
