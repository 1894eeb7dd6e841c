r"""How much less private a release is than moments say: exact laws of combinations of its numbers.

Whoever sees F + Z sees :math:`w^\top (F + Z)` for every w, so H_ε of that number is at most δ. Where F is made of sums
over rows its law is known exactly (`modelling.projected_law`), and so is H_ε: a certificate with a smaller δ is false.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from functools import partial

import numpy as np
from attrs import evolve, frozen

from distpriv.framework.arrays import Floats
from distpriv.framework.scenarios import Pair
from distpriv.guarantees.farthest_pairs import Line, Places, largest_of_rows, lines_of, rows_of_pairs
from distpriv.modelling.model import QueryModel
from distpriv.modelling.projected_law import MOST_POINTS, POINTS, Circle, most_frequencies, rounding_of
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

LARGEST_EPSILON = 600.0
"""Beyond it e^ε is no number any more; H_ε of a larger one is no larger."""

ADDED_UP = 1e-13
"""What adding up densities all around a circle may lose: they add up to 1."""

NOTHING = 1e-12
"""A divergence that is rounding alone: which pair has it does not matter."""

AT_ONCE = 2**13
"""Points at which densities along a line are looked at together."""

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
    means = np.array([law.mean for law in model.distributions.values()])
    for direction in sorted(directions, key=lambda each: -float(np.ptp(means @ each))):  # what tells most leaves least
        laws = projected_laws(model, rows, noise, direction)
        resolved = laws is None or laws.resolved
        known = [max([NOTHING, *of]) for of in ([e.delta for e in found], [e.total_variation for e in found])]
        (pair, delta), (_, apart) = _worst(model, laws, (epsilon, 0.0), known)
        found.append(Refutation(direction=direction, pair=pair, delta=delta, resolved=resolved, total_variation=apart))
    most = max(refutation.total_variation for refutation in found)
    return evolve(max(found, key=lambda refutation: refutation.delta), total_variation=most)


@frozen(kw_only=True, eq=False)
class ProjectedLaws:
    """The exact law of one combination of the released numbers in every scenario, wrapped around a circle."""

    direction: Floats
    circle: Circle
    densities: Mapping[str, Floats]
    """By scenario, at points all around the circle."""
    rounding: Mapping[str, float]
    """By how much each density may be too high."""
    resolved: bool
    """Whether nothing is smoothed but by the noise itself."""

    def delta(self, pair: Pair, epsilon: float) -> float:
        """Return H_ε of a pair.

        A density is known up to its rounding, and e^ε times that would hide what one scenario has and the other lacks.
        So it is taken off: what lies where the other density may be rounding alone counts in full.
        """
        first, second = (self.densities[name] for name in pair)
        likely = np.exp(min(epsilon, LARGEST_EPSILON)) * np.maximum(second - self.rounding[pair[1]], 0.0)
        found = float(np.maximum(first - likely, 0.0).mean() * self.circle.circumference)
        return min(1.0, found * (1 + KINKS))

    def doubt(self, lines: Sequence[Line]) -> tuple[float, float]:
        """Return the depth of all valleys along lines of shares, and what rounding may hide of a density.

        A valley is a density that is lower than some on both sides of it, of the densities that `delta` counts on; the
        deepest at each point of the circle counts.
        """
        deepest, rounded = 0.0, 0.0
        for line in lines:
            lost = np.array([self.rounding[name] for name in line.names])
            size = len(self.densities[line.names[0]])
            pieces = (slice(start, start + AT_ONCE) for start in range(0, size, AT_ONCE))
            depth = sum(self._valleys(line, lost, piece) for piece in pieces) / size
            deepest, rounded = max(deepest, depth), max(rounded, float(lost.max()))
        return deepest * self.circle.circumference, rounded * self.circle.circumference

    def _valleys(self, line: Line, lost: Floats, piece: slice) -> float:
        """Return the depths of the deepest valleys at some points, added up."""
        likely = np.array([self.densities[name][piece] for name in line.names])
        likely = np.maximum(likely - lost[:, np.newaxis], 0.0)
        above = likely.copy()
        for k in range(len(above) - 2, -1, -1):
            np.maximum(above[k], above[k + 1], out=above[k])
        below, deepest = likely[0].copy(), np.zeros_like(likely[0])
        for here, beyond in zip(likely, above, strict=True):
            np.maximum(below, here, out=below)
            np.maximum(deepest, np.minimum(below, beyond) - here, out=deepest)
        return float(deepest.sum())

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


def _worst(
    model: QueryModel, laws: ProjectedLaws | None, epsilons: Sequence[float], known: Sequence[float]
) -> list[tuple[Pair, float]]:
    """Return the worst pair at each ε, and its H_ε; of shares in a range the farthest pairs are computed.

    Without valleys :math:`p_y ≥ min(p_x, p_z)` for y between x and z, so that :math:`(p_x - e^ε p_y)_+` is at most
    :math:`(p_x - e^ε p_z)_+`. `docs/proofs/farthest_pairs.md` counts the valleys that there are.
    """
    pairs = model.protected_pairs
    if laws is None:
        return [(pairs[0], 0.0) for _ in epsilons]
    rows = rows_of_pairs(pairs, model.scenarios)
    depth, rounded = laws.doubt(lines_of(pairs, model.scenarios) if len(rows) < len(pairs) else [])
    found = []
    for epsilon, enough in zip(epsilons, known, strict=True):
        exact = partial(_some_deltas, laws, pairs, epsilon)
        more = (1 + KINKS) * (math.exp(min(epsilon, LARGEST_EPSILON)) * depth + rounded) + ADDED_UP
        bound = partial(_some_deltas, laws, pairs, epsilon, more=more)
        place, delta = largest_of_rows(rows, exact, bound, known=enough)
        found.append((pairs[place], delta))
    return found


def _some_deltas(
    laws: ProjectedLaws, pairs: Sequence[Pair], epsilon: float, places: Places, more: float = 0.0
) -> Floats:
    return np.array([laws.delta(pairs[place], epsilon) for place in places]) + more


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
    added_up = max(sum(sizes.values()) for sizes in rows.drawn.values())
    most = most_frequencies(added_up, points=MOST_POINTS if gaussian > 0 else POINTS)
    finest = DECAYED * reach / (2 * np.pi * most)
    smooth = max(gaussian, finest**2, coarse**2 * spread)
    frequencies = int(np.ceil(DECAYED * reach / (2 * np.pi * np.sqrt(smooth))))
    circle = Circle(circumference=reach, frequencies=frequencies, rows=added_up)
    hidden = np.exp(-smooth * circle.angular**2 / 2) * _laplace(noise, direction, circle.angular)
    laws = rows.projected(direction, circle)
    transforms = {name: law * hidden for name, law in laws.items()}
    densities = dict(zip(transforms, circle.densities(list(transforms.values())), strict=True))
    return ProjectedLaws(
        direction=direction,
        circle=circle,
        densities=densities,
        rounding={name: rounding_of(density, transforms[name], added_up) for name, density in densities.items()},
        resolved=smooth <= gaussian,
    )


def _farthest(rows: RowLaws, direction: Floats) -> float:
    """Return how far a row lies from the mean of its stratum, at most."""
    drawn = {stratum for sizes in rows.drawn.values() for stratum in sizes}
    along = ((rows.strata[s].projected(direction)[0], float(rows.strata[s].mean @ direction)) for s in drawn)
    return max((float(np.abs(values - mean).max()) for values, mean in along), default=0.0)


def _laplace(noise: Noise, direction: Floats, angular: Floats) -> Floats:
    """Return the transform of what is not Gaussian of the noise along a direction."""
    if noise.line is not None:
        axis, law = noise.line
        return law.transform(float(direction @ axis) * angular)
    along = (direction @ noise.laplace_axes) * noise.laplace_scales
    return np.asarray(np.prod(1 / (1 + np.outer(along, angular) ** 2), axis=0))
