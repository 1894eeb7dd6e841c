r"""How much less private a release is than moments say: exact laws of combinations of its numbers.

Whoever sees F + Z sees :math:`w^\top (F + Z)` for every w, so H_ε of that number is at most δ. Where F is made of sums
over rows its law is known exactly (`modelling.projected_law`), and so is H_ε: a certificate with a smaller δ is false.
"""

from collections.abc import Iterable, Mapping

import numpy as np
from attrs import evolve, frozen

from distpriv.framework.arrays import Floats
from distpriv.framework.secrets import Pair
from distpriv.modelling.model import QueryModel
from distpriv.modelling.projected_law import FREQUENCIES, MOST_FREQUENCIES, Circle
from distpriv.modelling.row_laws import RowLaws
from distpriv.noise.laws import Noise

__all__ = ["ProjectedLaws", "Refutation", "projected_deltas", "projected_laws", "worst_projection"]

REACH = 12.0
"""Standard deviations to each side of the means that a circle has room for."""

OUTLIERS = 4
"""So many of the rows farthest out, beside that, to each side."""

DECAYED = 8.6
"""Frequencies in units of 1/σ beyond which a Gaussian has no digit left: e^{-37}."""

KINKS = 1e-4
"""By which share of itself an integral may err where two densities cross."""

INVISIBLE = 1e-12
"""The share of its highest density below which a transform has no digit left."""


@frozen(kw_only=True, eq=False)
class Refutation:
    """A combination of the released numbers, and how well it tells a pair of scenarios apart."""

    direction: Floats
    pair: Pair
    delta: float
    resolved: bool
    """Whether nothing was smoothed but by the noise itself: then the law is that of the combination, no less."""
    total_variation: float
    """H_0 of the combination and the pair for which that is largest, of all that were looked at."""


def worst_projection(
    model: QueryModel, rows: RowLaws, noise: Noise, epsilon: float, directions: Iterable[Floats]
) -> Refutation:
    """Return the combination that tells most, for the worst ordered pair."""
    found: list[Refutation] = []
    for direction in directions:
        laws = projected_laws(model, rows, noise, direction)
        deltas = _deltas(model, laws, epsilon)
        worst = int(deltas.argmax())
        resolved = laws is None or laws.resolved
        found.append(
            Refutation(
                direction=direction,
                pair=model.protected_pairs[worst],
                delta=float(deltas[worst]),
                resolved=resolved,
                total_variation=float(_deltas(model, laws, 0.0).max()),
            )
        )
    most = max(refutation.total_variation for refutation in found)
    return evolve(max(found, key=lambda refutation: refutation.delta), total_variation=most)


@frozen(kw_only=True, eq=False)
class ProjectedLaws:
    """The exact law of one combination of the released numbers in every scenario, wrapped around a circle."""

    direction: Floats
    circle: Circle
    densities: Mapping[str, Floats]
    """By scenario, at points all around the circle."""
    resolved: bool
    """Whether nothing is smoothed but by the noise itself."""

    def delta(self, pair: Pair, epsilon: float) -> float:
        """Return H_ε of a pair."""
        first, second = (self.densities[name] for name in pair)
        likely = np.exp(epsilon) * np.maximum(second, 0.0)  # what is negative by rounding is no evidence
        found = float(np.maximum(first - likely, 0.0).mean() * self.circle.circumference)
        return min(1.0, found * (1 + KINKS))

    def log_ratio(self, pair: Pair, released: Floats) -> Floats:
        """Return by how much each release speaks for the first of a pair: the logarithm of the two densities' ratio."""
        size = len(self.densities[pair[0]])
        place = np.mod(released @ self.direction / self.circle.circumference, 1.0) * size
        below = np.floor(place).astype(np.int64)
        above = place - below
        logs = []
        for name in pair:
            density = self.densities[name]
            between = (1 - above) * density[below % size] + above * density[(below + 1) % size]
            logs.append(np.log(np.maximum(between, 0.0) + INVISIBLE * density.max()))
        return np.asarray(logs[0] - logs[1])


def projected_deltas(model: QueryModel, rows: RowLaws, noise: Noise, epsilon: float, direction: Floats) -> Floats:
    r"""Return H_ε of one combination of the released numbers, for every protected pair.

    The circle and a little Gaussian noise of its own only hide: the truth is not below.
    """
    return _deltas(model, projected_laws(model, rows, noise, direction), epsilon)


def _deltas(model: QueryModel, laws: ProjectedLaws | None, epsilon: float) -> Floats:
    return np.array([0.0 if laws is None else laws.delta(pair, epsilon) for pair in model.protected_pairs])


def projected_laws(
    model: QueryModel, rows: RowLaws, noise: Noise, direction: Floats, *, coarse: float = 0.0
) -> ProjectedLaws | None:
    """Return the law of one combination of the released numbers; none where it is the same number always.

    Args:
        model: the model.
        rows: the rows behind it.
        noise: what is added to the statistics.
        direction: the combination.
        coarse: the share of the combination's own deviation that may be smoothed away, which takes less time.
    """
    means = np.array([direction @ law.mean for law in model.distributions.values()])
    spread = max(float(direction @ law.covariance @ direction) for law in model.distributions.values())
    added = float(direction @ noise.covariance @ direction)
    reach = float(np.ptp(means)) + 2 * REACH * np.sqrt(spread + added) + 2 * OUTLIERS * _farthest(rows, direction)
    if reach == 0:
        return None
    gaussian = float(direction @ noise.gaussian.covariance @ direction)
    finest = DECAYED * reach / (2 * np.pi * (MOST_FREQUENCIES if gaussian > 0 else FREQUENCIES))
    smooth = max(gaussian, finest**2, coarse**2 * spread)
    circle = Circle(circumference=reach, frequencies=int(np.ceil(DECAYED * reach / (2 * np.pi * np.sqrt(smooth)))))
    hidden = np.exp(-smooth * circle.angular**2 / 2) * _laplace(noise, direction, circle.angular)
    laws = rows.projected(direction, circle)
    densities = circle.densities([law * hidden for law in laws.values()])
    return ProjectedLaws(
        direction=direction,
        circle=circle,
        densities=dict(zip(laws, densities, strict=True)),
        resolved=smooth <= gaussian,
    )


def _farthest(rows: RowLaws, direction: Floats) -> float:
    """Return how far a row lies from the mean of its stratum, at most."""
    drawn = {stratum for sizes in rows.drawn.values() for stratum in sizes}
    values = (rows.strata[stratum] @ direction for stratum in drawn)
    return max((float(np.abs(of - of.mean()).max()) for of in values), default=0.0)


def _laplace(noise: Noise, direction: Floats, angular: Floats) -> Floats:
    """Return the transform of the Laplace part of the noise along a direction."""
    along = (direction @ noise.laplace_axes) * noise.laplace_scales
    return np.asarray(np.prod(1 / (1 + np.outer(along, angular) ** 2), axis=0))
