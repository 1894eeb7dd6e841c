"""About what noise coupled draws would need, from few of them: this decides what is tried, and no more.

A pilot draws rows of both strata and pairs them as the mechanism would pair all of them; its datasets differ in sums of
such pairs. The noise that other draws certify has a mean δ below its limit, so that in the pilot it is seldom more than
three standard deviations above: noise that is enough at that higher limit is, as a rule, less than what the mechanism
needs. A closer look takes the draws that would choose the shape of the noise, with all rows.
"""

import math
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from attrs import evolve

from distpriv.framework.arrays import Floats
from distpriv.framework.scenarios import Pair
from distpriv.framework.target import PrivacyTarget
from distpriv.guarantees.relaxation import calibration_target
from distpriv.mechanisms.search.coupled_draws import SETTINGS, Shape, calibration
from distpriv.mechanisms.search.noise_shapes import gaussian_shape, laplace_shape
from distpriv.modelling.coupling import row_sums, widest
from distpriv.modelling.model import QueryModel, as_they_are
from distpriv.modelling.transport import RowPairing, in_units_of_noise
from distpriv.modelling.utility import weighted_rms

if TYPE_CHECKING:
    from distpriv.modelling.simulator import RowSimulator

__all__ = ["close_covariance_estimate", "covariance_estimates"]


def covariance_estimates(
    model: QueryModel, target: PrivacyTarget, weights: Floats, seed: int, public: Floats | None = None
) -> dict[str, Floats]:
    """Return about the least noise of every mechanism that draws; nothing where a pilot would not be quick.

    Raises:
        InvalidModel: the scenarios are not shares of one predicate.
    """
    rows = model.simulator
    if rows is None or not rows.query.has_exact_moments or target.delta == 0:
        return {}
    rng = np.random.default_rng(seed)
    groups = rows.difference_groups(model.protected_pairs)
    pairs = [pair for group in groups for pair in group]
    swapped = max(model.scenarios[one].swapped(model.scenarios[other]) for one, other in pairs)
    if swapped * SETTINGS.pilot_draws > SETTINGS.swaps:
        return {}
    differences = [_differences(rows, group, rng) for group in groups]
    limit = target.delta + 3 * math.sqrt(target.delta / SETTINGS.pilot_draws) + 3 / SETTINGS.pilot_draws
    return {
        name: _covariance(shape, differences, weights, target.epsilon, min(limit, 0.5))
        for name, shape in _shapes(public).items()
    }


def close_covariance_estimate(
    name: str, model: QueryModel, target: PrivacyTarget, weights: Floats, seed: int, public: Floats | None = None
) -> Floats:
    """Return about the noise of one of them, by the draws that would choose its shape."""
    made_for = calibration_target(target)
    plan = calibration(model, made_for, name=name, seed=seed)
    return _covariance(_shapes(public)[name], plan.pilot(as_they_are), weights, made_for.epsilon, plan.limit)


def _shapes(public: Floats | None) -> dict[str, Shape]:
    return {"coupled_gaussian": partial(gaussian_shape, public=public), "coupled_laplace": laplace_shape}


def _covariance(shape: Shape, differences: Sequence[Floats], weights: Floats, epsilon: float, limit: float) -> Floats:
    """Return the covariance of noise that is given up to its scale, with its weighted error."""
    noise, error = shape(differences, weights, epsilon, limit)
    unscaled = weighted_rms(noise.covariance, weights)
    return np.asarray(noise.covariance * ((error / unscaled) ** 2 if unscaled > 0 else 0.0))


def _differences(rows: "RowSimulator", pairs: Sequence[Pair], rng: np.random.Generator) -> Floats:
    """Draw differences of the statistics of coupled datasets that differ in as many rows as any of the pairs."""
    draws = SETTINGS.pilot_draws
    if rows.has_weights(pairs[0][0]):
        seed = int(rng.integers(2**32))
        return rows.measured_differences(pairs, draws, seed, rows.best_pairing(pairs[0]), as_they_are)[-1]
    swaps = [rows.swap(pair, "independent") for pair in pairs]
    swap = widest(swaps)
    out, into = (rng.choice(side, size=min(1000, len(side)), replace=False) for side in (swap.out, swap.into))
    swap = evolve(swap, out=out, into=into, replacement=True)
    features = rows.features(pairs[0][0])
    if rows.best_pairing(pairs[0]) == "transport":
        metric = in_units_of_noise(features[out], features[into], swap.swapped)
        swap = evolve(swap, pairing=RowPairing.between(*metric))
    ((ends, first, second),) = swap.differing(rng, draws, [swap.swapped])
    return row_sums(features, first, ends) - row_sums(features, second, ends)
