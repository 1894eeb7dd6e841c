r"""How much less private a release is than moments say: exact laws of combinations of its numbers.

Whoever sees F + Z sees :math:`w^\top (F + Z)` for every w, so H_ε of that number is at most δ. Where F is made of sums
over rows its law is known exactly (`law.fourier`), and so is H_ε: a certificate with a smaller δ is false.
"""

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np
from attrs import frozen

from distpriv.framework.arrays import Floats
from distpriv.framework.scenarios import Pair
from distpriv.framework.target import odds
from distpriv.guarantees.farthest_pairs import Places, largest_of_rows, lines_of, rows_of_pairs
from distpriv.law.fourier import Circle, projected, rounding_of
from distpriv.modelling.model import QueryModel
from distpriv.modelling.row_laws import RowLaws
from distpriv.noise.laws import Noise

__all__ = ["ProjectedLaws", "projected_laws", "worst_projected_pair"]


@frozen(kw_only=True)
class Settings:
    """How finely a distribution along a line is computed; deviations are those of the combination with its noise."""

    kinks: float = 1e-4
    """The relative error of an integral where two densities cross."""
    reach: float = 24.0
    """Deviations of the circle's circumference beside the means' range."""
    farthest_rows: float = 8.0
    """How many times the farthest row's distance from its mean the circle has beside that."""
    decayed: float = 8.6
    """The frequency, over 1/σ, beyond which a Gaussian has no digit left: e^{-37}."""


SETTINGS: Final = Settings()


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
        likely = odds(epsilon) * np.maximum(second - self.rounding[pair[1]], 0.0)
        total = float(np.maximum(first - likely, 0.0).mean() * self.circle.circumference)
        return min(1.0, total * (1 + SETTINGS.kinks))

    def doubt(self, lines: Sequence[Sequence[str]], at_once: int = 2**13) -> tuple[float, float]:
        """Return the depth of all valleys along lines of shares, and what rounding may hide of a density.

        A valley is a density that is lower than some on both sides of it, of the densities that `delta` counts on; the
        deepest at each point of the circle counts.
        """
        deepest, rounded = 0.0, 0.0
        for line in lines:
            lost = np.array([self.rounding[name] for name in line])
            size = len(self.densities[line[0]])
            pieces = (slice(start, start + at_once) for start in range(0, size, at_once))
            depth = sum(self._valleys(line, lost, piece) for piece in pieces) / size
            deepest, rounded = max(deepest, depth), max(rounded, float(lost.max()))
        return deepest * self.circle.circumference, rounded * self.circle.circumference

    def _valleys(self, line: Sequence[str], lost: Floats, piece: slice) -> float:
        """Return the depths of the deepest valleys at some points, added up."""
        likely = np.array([self.densities[name][piece] for name in line])
        likely = np.maximum(likely - lost[:, np.newaxis], 0.0)
        below, above = (np.maximum.accumulate(likely[::direction], axis=0)[::direction] for direction in (1, -1))
        return float((np.minimum(below, above) - likely).max(axis=0).sum())


def worst_projected_pair(model: QueryModel, laws: ProjectedLaws | None, epsilon: float) -> tuple[Pair, float]:
    """Return the worst ordered pair and its H_ε; of shares in a range the farthest pairs are computed.

    Without valleys :math:`p_y ≥ min(p_x, p_z)` for y between x and z, so that :math:`(p_x - e^ε p_y)_+` is at most
    :math:`(p_x - e^ε p_z)_+`. `docs/proofs/farthest_pairs.md` counts the valleys that there are.
    """
    pairs = model.protected_pairs
    if laws is None:
        return pairs[0], 0.0
    rows = rows_of_pairs(pairs, model.scenarios)
    depth, rounded = laws.doubt(lines_of(pairs, model.scenarios) if len(rows) < len(pairs) else [])
    # Densities all around a circle add up to 1 but for 1e-13, and a δ of 1e-12 is rounding alone.
    more = (1 + SETTINGS.kinks) * (odds(epsilon) * depth + rounded) + 1e-13

    def exact(places: Places) -> Floats:
        return np.array([laws.delta(pairs[place], epsilon) for place in places])

    place, delta = largest_of_rows(rows, exact, lambda places: exact(places) + more, known=1e-12)
    return pairs[place], delta


def projected_laws(
    model: QueryModel, rows: RowLaws, noise: Noise, direction: Floats, *, coarse: float = 0.0
) -> ProjectedLaws | None:
    """Return the law of one combination of the released numbers; none where it is the same number always.

    A `coarse` share of its own deviation may be smoothed away, which takes less time.
    """
    means = np.array([direction @ law.mean for law in model.distributions.values()])
    spread = max(float(direction @ law.covariance @ direction) for law in model.distributions.values())
    added = float(direction @ noise.covariance @ direction)
    of = SETTINGS
    reach = float(np.ptp(means)) + of.reach * np.sqrt(spread + added) + of.farthest_rows * _farthest(rows, direction)
    if reach == 0:
        return None
    gaussian = float(direction @ noise.gaussian.covariance @ direction)
    added_up = max(sum(sizes.values()) for sizes in rows.drawn.values())
    most = (Circle.MOST if gaussian > 0 else Circle.FEWEST) // Circle.points_a_frequency(added_up)
    finest = of.decayed * reach / (2 * np.pi * most)
    smooth = max(gaussian, finest**2, coarse**2 * spread)
    frequencies = int(np.ceil(of.decayed * reach / (2 * np.pi * np.sqrt(smooth))))
    circle = Circle(circumference=reach, frequencies=frequencies, rows=added_up)
    hidden = noise.characteristic_function(np.outer(circle.angular, direction)).real
    hidden = hidden * np.exp(-(smooth - gaussian) * circle.angular**2 / 2)
    laws = projected(rows, direction, circle)
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
