"""Laplace noise for any query, from coupled draws: nothing is assumed but how the data are drawn."""

import math
from collections.abc import Sequence
from functools import partial

import numpy as np

from distpriv.framework.arrays import Floats
from distpriv.framework.target import PrivacyTarget
from distpriv.guarantees.mechanism import AdditiveMechanism, across_ball
from distpriv.mechanisms.search.calibration import Kind, calibration, coupled
from distpriv.mechanisms.search.move_lengths import ROUGH, Lengths, pilot_scale, standard
from distpriv.modelling.coupling import Pairing
from distpriv.modelling.model import QueryModel
from distpriv.modelling.utility import Weights
from distpriv.noise.laws import LaplaceNoise
from distpriv.progress import Progress, silent

__all__ = ["coupled_laplace", "laplace_deltas_upper_bound", "laplace_shape"]


@across_ball
def coupled_laplace(
    model: QueryModel,
    target: PrivacyTarget,
    *,
    pairing: Pairing | None = None,
    draws: int | None = None,
    seed: int | None = None,
    weights: Weights = "relative",
    progress: Progress = silent,
) -> AdditiveMechanism:
    r"""Add Laplace noise of the least scale at which coupled datasets show δ to be small enough.

    As for `coupled_gaussian`, with noise of scale b_k along axes v_k: moved by Δ it is
    :math:`(1 - e^{(ε - s)/2})^+`-close to itself, :math:`s = Σ_k |v_k^⊤ Δ| / b_k`. Assurance `proved`.

    Args:
        model: the model of a Share, made from rows.
        target: what is asked for; δ must be above 0.
        pairing: whether swapped rows are independent or paired by optimal transport; by default the latter, where all
            that the query reads are numbers.
        draws: how many coupled datasets to draw; by default 1000/δ for means, and fewer for slow queries.
        seed: the same seed gives the same noise; by default one that nobody chose.
        weights: what an error in each statistic costs, as for `utility_weights`.
        progress: told as drawing goes on.

    Raises:
        InvalidTarget: δ is 0.
        InvalidModel: the model has no rows of a Share, or its statistics are too large against what they vary by.
        InvalidInput: so few draws cannot show so small a δ.

    >>> import distpriv as dp
    >>> model = dp.model(dp.datasets.adult(), dp.Query(age=dp.mean("age")),
    ...                  dp.Share("income = '>50K'", values=(0.45, 0.55)), records=100)
    >>> mechanism = dp.mechanisms.coupled_laplace(model, dp.PrivacyTarget(epsilon=1, delta=0.01), draws=20_000)
    >>> mechanism.certificate.assurance, mechanism.certificate.holds, 0.78 < mechanism.noise.expected_l2 < 0.84
    ('proved', True, True)
    """
    plan = calibration(model, target, name=KIND.name, pairing=pairing, draws=draws, seed=seed, progress=progress)
    return coupled(model, target, KIND, plan, weights)


def laplace_deltas_upper_bound(epsilon: float, lengths: Floats) -> Floats:
    r"""Return a bound on H_ε of Laplace noise and the same noise moved by L1 lengths: :math:`(1 - e^{(ε - s)/2})^+`.

    Exact along one axis. A product of such noise, moved along several axes, is no easier to tell apart than noise on
    one axis that is moved by the sum (`docs/proofs/coupled_laplace.md`, "The bound for one difference").

    >>> laplace_deltas_upper_bound(1.0, np.array([0.5, 1.0, 3.0, np.inf])).round(4)
    array([0.    , 0.    , 0.6321, 1.    ])
    """
    return np.clip(-np.expm1((epsilon - lengths) / 2) * (1 + 1e-15), 0.0, 1.0) + 0.0


def laplace_shape(
    differences: Sequence[Floats], weights: Floats, epsilon: float, limit: float
) -> tuple[LaplaceNoise, float]:
    """Return noise of little weighted variance for its privacy, up to its scale, and about its weighted error.

    It is the best of two sets of axes: the statistics themselves, and the principal axes of their differences.
    """
    units, _ = standard(differences)
    moving = units > 0
    moved = [law[:, moving] / units.max(initial=1e-300) for law in differences]
    second = np.mean([law.T @ law / len(law) for law in moved], axis=0)
    shapes = [
        _scales(moved, axes, weights[moving], epsilon, limit)
        for axes in (np.eye(int(moving.sum())), np.linalg.eigh(second)[1])
    ]
    least, axes, scales = min(shapes, key=lambda shape: shape[0])
    embedded = np.zeros((len(units), len(scales)))
    embedded[moving] = axes
    error = math.sqrt(2 * least) * float(units.max()) if moving.any() else 0.0
    return LaplaceNoise(axes=embedded, scales=scales), error


def _scales(
    moved: Sequence[Floats], axes: Floats, weights: Floats, epsilon: float, limit: float
) -> tuple[float, Floats, Floats]:
    r"""Return the weighted variance, the axes and the scales of noise along the axes, the variance at its true scale.

    At the least :math:`Σ_k c_k b_k^2` with E ψ(s) ≤ δ, :math:`s = Σ_k |u_k|/b_k`, the derivative in b_k vanishes:
    :math:`b_k^3` is proportional to :math:`E[ψ'(s) |u_k|] / c_k` (`docs/proofs/coupled_laplace.md`, "The shape").
    Several laws share it by how near to δ they come.
    """
    along = [np.abs(law @ axes) for law in moved]
    sizes = np.max([law.mean(axis=0) for law in along], axis=0)
    costs = weights @ axes**2
    curve = partial(laplace_deltas_upper_bound, epsilon)
    importance, shares = [np.ones(len(law)) for law in along], np.ones(len(along))
    best, least = np.ones(len(costs)), np.inf
    for _ in range(8 if len(costs) else 0):  # every improvement gains less than the one before
        pull = np.sum([c * (w @ law) / len(law) for c, w, law in zip(shares, importance, along, strict=True)], axis=0)
        scales = np.cbrt(pull / costs)
        # No scale is less than a ten-thousandth of the largest, each in units of the moves along its axis.
        thinnest = 1e-4 * (scales[sizes > 0] / sizes[sizes > 0]).max()
        scales = np.maximum(scales, thinnest * np.maximum(sizes, 1e-12 * sizes.max()))
        lengths = [(law / scales).sum(axis=1) for law in along]
        rough = [Lengths.rounded_up(law, ROUGH) for law in lengths]
        scale = pilot_scale(rough, curve, limit)
        cost = scale**2 * float(costs @ scales**2)
        if cost < least:
            best, least = scales, cost
        importance = [np.where(s > epsilon * scale, np.exp((epsilon - s / scale) / 2), 0.0) for s in lengths]
        shares = shares * [(law.mean(curve, scale) / limit) ** 2 for law in rough]
        if not any(w.any() for w in importance):  # they move so seldom that hardly any noise is needed
            break
    return least, axes, best


KIND = Kind(name="coupled_laplace", measure="laplace", order=1, shape=laplace_shape, curve=laplace_deltas_upper_bound)
