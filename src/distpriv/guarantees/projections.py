r"""How much less private a release is than moments say: exact laws of combinations of its numbers.

Whoever sees F + Z sees :math:`w^\top (F + Z)` for every w, so H_ε of that number is at most δ. Where F is made of sums
over rows its law is known exactly (`modelling.projected_law`), and so is H_ε: a certificate with a smaller δ is false.
"""

from collections.abc import Iterable, Sequence

import numpy as np
from attrs import frozen

from distpriv.framework.arrays import Floats
from distpriv.framework.secrets import Pair
from distpriv.modelling.model import QueryModel
from distpriv.modelling.projected_law import POINTS, Circle
from distpriv.modelling.row_laws import RowLaws
from distpriv.noise.laws import Noise

__all__ = ["Refutation", "projected_deltas", "worst_projection"]

REACH = 12.0
"""Standard deviations to each side of the means that a circle has room for."""

OUTLIERS = 4
"""So many of the rows farthest out, beside that, to each side."""

DECAYED = 8.6
"""Frequencies in units of 1/σ beyond which a Gaussian has no digit left: e^{-37}."""

FINEST = POINTS // 16
"""The most frequencies that are looked at."""


@frozen(kw_only=True, eq=False)
class Refutation:
    """A combination of the released numbers, and how well it tells a pair of scenarios apart."""

    direction: Floats
    pair: Pair
    delta: float


def worst_projection(
    model: QueryModel, rows: RowLaws, noise: Noise, epsilon: float, directions: Iterable[Floats]
) -> Refutation:
    """Return the combination that tells most, for the worst ordered pair."""
    found = []
    for direction in directions:
        deltas = projected_deltas(model, rows, noise, epsilon, direction)
        worst = int(deltas.argmax())
        pair = model.protected_pairs[worst]
        found.append(Refutation(direction=direction, pair=pair, delta=float(deltas[worst])))
    return max(found, key=lambda refutation: refutation.delta)


def projected_deltas(model: QueryModel, rows: RowLaws, noise: Noise, epsilon: float, direction: Floats) -> Floats:
    r"""Return H_ε of one combination of the released numbers, for every protected pair.

    The circle and a little Gaussian noise of its own only hide: the truth is not below.
    """
    means = np.array([direction @ law.mean for law in model.distributions.values()])
    spread = max(float(direction @ law.covariance @ direction) for law in model.distributions.values())
    added = float(direction @ noise.covariance @ direction)
    reach = float(np.ptp(means)) + 2 * REACH * np.sqrt(spread + added) + 2 * OUTLIERS * _farthest(rows, direction)
    if reach == 0:
        return np.zeros(len(model.protected_pairs))
    gaussian = float(direction @ noise.gaussian.covariance @ direction)
    finest = DECAYED * reach / (2 * np.pi * FINEST)
    smooth = max(gaussian, finest**2)
    circle = Circle(circumference=reach, frequencies=int(np.ceil(DECAYED * reach / (2 * np.pi * np.sqrt(smooth)))))
    hidden = np.exp(-smooth * circle.angular**2 / 2) * _laplace(noise, direction, circle.angular)
    laws = rows.projected(direction, circle)
    names = list(laws)
    densities = dict(zip(names, circle.densities([laws[name] * hidden for name in names]), strict=True))
    return np.array([_hockey_stick(circle, densities, pair, epsilon) for pair in model.protected_pairs])


def _farthest(rows: RowLaws, direction: Floats) -> float:
    """Return how far a row lies from the mean of its stratum, at most."""
    drawn = {stratum for sizes in rows.drawn.values() for stratum in sizes}
    values = (rows.strata[stratum] @ direction for stratum in drawn)
    return max((float(np.abs(of - of.mean()).max()) for of in values), default=0.0)


def _laplace(noise: Noise, direction: Floats, angular: Floats) -> Floats:
    """Return the transform of the Laplace part of the noise along a direction."""
    along = (direction @ noise.laplace_axes) * noise.laplace_scales
    return np.asarray(np.prod(1 / (1 + np.outer(along, angular) ** 2), axis=0))


def _hockey_stick(circle: Circle, densities: dict[str, Floats], pair: Sequence[str], epsilon: float) -> float:
    first, second = (densities[name] for name in pair)
    return float(np.maximum(first - np.exp(epsilon) * second, 0.0).mean() * circle.circumference)
