"""Gaussian noise for any query, from coupled draws: nothing is assumed but how the data are drawn."""

import math
from collections.abc import Sequence
from functools import partial

import numpy as np
from attrs import evolve

from distpriv.distances.gaussian import gaussian_deltas_upper_bound
from distpriv.errors import InvalidInput
from distpriv.framework.arrays import Floats
from distpriv.framework.domains import one_of
from distpriv.framework.target import PrivacyTarget
from distpriv.guarantees.mechanism import AdditiveMechanism, across_ball
from distpriv.mechanisms.search.calibration import Kind, Shape, calibration, coupled
from distpriv.mechanisms.search.informative_shape import MOST_STATISTICS, embedded, informative_shape, slope
from distpriv.mechanisms.search.move_lengths import ROUGH, Lengths, length, pilot_scale, standard
from distpriv.modelling.coupling import Pairing
from distpriv.modelling.model import QueryModel
from distpriv.modelling.public_knowledge import Prior, PublicKnowledge
from distpriv.modelling.utility import OBJECTIVES, Objective, Weights
from distpriv.noise.laws import GaussianNoise
from distpriv.progress import Progress, silent

__all__ = ["coupled_gaussian", "gaussian_shape", "shape_for"]


@across_ball
def coupled_gaussian(
    model: QueryModel,
    target: PrivacyTarget,
    *,
    pairing: Pairing | None = None,
    draws: int | None = None,
    seed: int | None = None,
    weights: Weights = "relative",
    objective: Objective = "noise",
    prior: Prior = None,
    progress: Progress = silent,
) -> AdditiveMechanism:
    r"""Add Gaussian noise of the least scale at which coupled datasets show δ to be small enough.

    For every coupling of two scenarios :math:`δ ≤ E[δ_G(ε; \|S^{-1/2} (F(D_i) - F(D_j))\|)]`, whatever the laws of
    the statistics. The mean is bounded from draws of datasets that share all rows but those that must differ; the
    chance that the draws mislead counts into δ. Assurance `proved`.

    Args:
        model: the model of a Share, made from rows.
        target: what is asked for; δ must be above 0.
        pairing: whether swapped rows are independent or paired by optimal transport; by default the latter, where all
            that the query reads are numbers.
        draws: how many coupled datasets to draw; by default 1000/δ for means, and fewer for slow queries.
        seed: the same seed gives the same noise; by default one that nobody chose.
        weights: what an error in each statistic costs, as for `utility_weights`.
        objective: whether the shape is the one of least noise, or the one that leaves estimates the least error.
        prior: the probability of each scenario that estimates count on, by name; the same for all if not given.
        progress: told as drawing goes on.

    Raises:
        InvalidTarget: δ is 0.
        InvalidModel: the model has no rows of a Share, or its statistics are too large against what they vary by.
        InvalidInput: so few draws cannot show so small a δ.

    >>> import distpriv as dp
    >>> model = dp.model(dp.datasets.adult(), dp.Query(age=dp.mean("age")),
    ...                  dp.Share("income = '>50K'", values=(0.45, 0.55)), records=100)
    >>> mechanism = dp.mechanisms.coupled_gaussian(model, dp.PrivacyTarget(epsilon=1, delta=0.01), draws=20_000)
    >>> mechanism.certificate.assurance, mechanism.certificate.holds, 1.4 < mechanism.noise.expected_rms < 1.5
    ('proved', True, True)
    """
    one_of("objective", objective, OBJECTIVES, InvalidInput)
    plan = calibration(model, target, name=KIND.name, pairing=pairing, draws=draws, seed=seed, progress=progress)
    public = PublicKnowledge.of(model, prior).covariance if objective == "estimate" else None
    return coupled(model, target, evolve(KIND, shape=shape_for(public)), plan, weights)


def shape_for(public: Floats | None) -> Shape:
    """Return how the shape is chosen: for estimates where what is publicly unknown is given, else for little noise."""
    if public is None or len(public) > MOST_STATISTICS:
        return gaussian_shape
    return partial(informative_shape, public)


def gaussian_shape(
    differences: Sequence[Floats], weights: Floats, epsilon: float, limit: float
) -> tuple[GaussianNoise, float]:
    r"""Return noise of little weighted variance for its privacy, up to its scale, and about its weighted error.

    At the least :math:`\operatorname{tr}(QS)` with :math:`E φ(Δ^⊤ S^{-1} Δ) ≤ δ`, φ(t) = δ_G(ε; √t), the derivative
    in S vanishes: S Q S is proportional to :math:`E[φ'(Δ^⊤ S^{-1} Δ) ΔΔ^⊤]`. Solve that for S with the last S on the
    right, again and again, from φ' = 1 (`docs/proofs/coupled_gaussian.md`, "The shape"). Several laws share the right
    side by how near to δ they come.
    """
    units, moved = standard(differences)
    moving = units > 0
    root = np.sqrt(weights[moving]) * units[moving]
    curve = partial(gaussian_deltas_upper_bound, epsilon)
    importance, shares = [np.ones(len(law)) for law in moved], np.ones(len(moved))
    best, least = np.eye(len(root)), np.inf
    for _ in range(10 if len(root) else 0):  # every improvement gains less than the one before
        moments = [(law.T * w) @ law / len(law) for law, w in zip(moved, importance, strict=True)]
        covariance = _solution(np.tensordot(shares, moments, axes=1), root)
        lengths = [length(_whitening(covariance), 2, law) for law in moved]
        rough = [Lengths.rounded_up(law, ROUGH) for law in lengths]
        scale = pilot_scale(rough, curve, limit)
        cost = scale**2 * float(root**2 @ np.diag(covariance))
        if cost < least:
            best, least = covariance, cost
        importance = [slope(epsilon, law / scale) for law in lengths]
        shares = shares * [(law.mean(curve, scale) / limit) ** 2 for law in rough]
        if not any(w.any() for w in importance):  # they move so seldom that hardly any noise is needed
            break
    return embedded(best, units / units.max(initial=1e-300)), math.sqrt(least) if len(root) else 0.0


def _solution(moment: Floats, root: Floats, *, thinnest: float = 1e-8) -> Floats:
    """Return S with S Q S = M, Q the diagonal of the squares of `root`, no variance a less share of the largest."""
    values, vectors = np.linalg.eigh(moment * np.outer(root, root))
    inside = (vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T / np.outer(root, root)
    values, vectors = np.linalg.eigh(inside / np.abs(inside).max())
    return np.asarray((vectors * np.maximum(values, thinnest * values.max())) @ vectors.T)


def _whitening(covariance: Floats) -> Floats:
    values, vectors = np.linalg.eigh(covariance)
    return np.asarray(vectors / np.sqrt(values))


KIND = Kind(
    name="coupled_gaussian", measure="gaussian", order=2, shape=gaussian_shape, curve=gaussian_deltas_upper_bound
)
