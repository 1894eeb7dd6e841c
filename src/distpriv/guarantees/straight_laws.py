r"""How far Gaussian laws along a line of shares are from straight, which decides whether nearer pairs can be worse.

Where mean and covariance are affine in the number of positives, H_ε(P_x ‖ P_y) grows as y moves away from x: nearer
pairs need no check. Rows drawn without replacement bend the covariances by λ(1 − λ)t²Q, Q ⪰ 0, and that costs κ of ε;
what rounding leaves of either counts as total variation. `docs/proofs/farthest_pairs.md` proves it.
"""

import math
from collections.abc import Sequence
from typing import Self

import numpy as np
from attrs import frozen

from distpriv.framework.arrays import Floats
from distpriv.guarantees.exact_delta import along_noise
from distpriv.guarantees.farthest_pairs import Line
from distpriv.modelling.model import QueryModel
from distpriv.noise.laws import GaussianNoise

__all__ = ["Bend", "bend_of"]


@frozen(kw_only=True)
class Bend:
    """How much less a nearer pair is told apart than a farther one, but for what is named here.

    With z beyond y as seen from x: H_ε(P_x ‖ P_y) ≤ H_{ε − narrowed}(P_x ‖ P_z) + e^ε · moved.
    """

    narrowed: float = 0.0
    """κ, by how much smaller ε is."""
    moved: float = 0.0
    """The total variation that the rest of the law is worth; infinite where nothing is known."""

    @property
    def is_known(self) -> bool:
        """Whether there is a bound at all."""
        return math.isfinite(self.narrowed) and math.isfinite(self.moved)


def bend_of(model: QueryModel, noise: GaussianNoise, lines: Sequence[Line]) -> Bend:
    """Return what nearer pairs on any of these lines may cost.

    >>> import distpriv as dp
    >>> from distpriv.guarantees.farthest_pairs import lines_of
    >>> secret = dp.Share("income = '>50K'", between=(0.3, 0.7), within=0.1)
    >>> for reference in ("sample", "population"):
    ...     query = dp.Query(age=dp.mean("age"))
    ...     model = dp.model(dp.datasets.adult(), query, secret, records=100, reference=reference)
    ...     bend = bend_of(model, GaussianNoise.isotropic(1, 1.0), lines_of(model.protected_pairs, model.scenarios))
    ...     print(f"{bend.narrowed:.0e}", bend.moved < 1e-11)
    0e+00 True
    8e-06 True
    """
    bends = [_bend(model, noise, line) for line in lines if len(line.names) > 2]
    return Bend(
        narrowed=max((bend.narrowed for bend in bends), default=0.0),
        moved=max((bend.moved for bend in bends), default=0.0),
    )


def _bend(model: QueryModel, noise: GaussianNoise, line: Line) -> Bend:
    """Return what nearer pairs on one line may cost, by the mean and covariance that fit it best."""
    laws = _Whitened.of(model, noise, line)
    if laws is None:
        return Bend(narrowed=math.inf, moved=math.inf)
    length, size = line.positives[-1] - line.positives[0], laws.means.shape[1]
    along, reach = (np.array(line.positives, dtype=float) - line.positives[0]) / length, line.reach / length
    moved = float(np.linalg.norm(_rest(along, laws.means, 1)[0], axis=1).max()) + laws.lost_of_means
    rest, fitted = _rest(along, laws.covariances.reshape(len(along), -1), 2)
    bent = np.linalg.eigvalsh(-fitted[2].reshape(size, size))  # Q, by how much it is concave
    curved, convex = (float(np.maximum(sign * bent, 0.0).sum()) for sign in (1, -1))
    uneven = 2 * float(np.linalg.norm(rest, axis=1).max()) + reach**2 / 4 * convex + laws.lost
    if curved * reach**2 <= laws.lost:  # as straight as can be told
        uneven, curved = uneven + reach**2 / 4 * curved, 0.0
    if not uneven <= laws.least / 2:  # the proof ends there
        return Bend(narrowed=math.inf, moved=math.inf)
    return Bend(
        narrowed=(curved + laws.lost) * reach**2 / 8 / laws.least if curved else 0.0,
        moved=math.hypot(uneven / laws.least, 2 * moved / math.sqrt(laws.least)) / 2,
    )


def _rest(along: Floats, values: Floats, degree: int) -> tuple[Floats, Floats]:
    """Return what a polynomial leaves of values along a line, and its coefficients."""
    powers = along[:, np.newaxis] ** np.arange(degree + 1)
    fitted = np.asarray(np.linalg.lstsq(powers, values, rcond=None)[0], dtype=np.float64)
    return np.asarray(values - powers @ fitted), fitted


@frozen(kw_only=True, eq=False)
class _Whitened:
    """Laws along a line with their noise, in units in which the mean covariance is 1."""

    means: Floats
    covariances: Floats
    least: float
    """The least variance of any of them along any direction."""
    lost: float
    """What rounding may have done to a covariance, 10⁻¹³ of the largest number that it was made of."""
    lost_of_means: float

    @classmethod
    def of(cls, model: QueryModel, noise: GaussianNoise, line: Line) -> Self | None:
        """Return the laws, or nothing where one of them does not vary along some direction, or hardly."""
        laws, rounded = [model.distributions[name] for name in line.names], 1e-13
        shifts = np.array([law.mean - laws[0].mean for law in laws])
        own = np.array([law.covariance for law in laws])
        axes, covariances = along_noise(noise, own)
        units = np.sqrt(np.maximum(np.diag(covariances.mean(axis=0)), 0.0))
        if not (units > 0).all():
            return None
        values, vectors = np.linalg.eigh(covariances.mean(axis=0) / np.outer(units, units))
        if not values[0] > rounded:
            return None
        whitening = (vectors / np.sqrt(values)).T / units
        turned = whitening @ covariances @ whitening.T
        turned = (turned + turned.swapaxes(1, 2)) / 2
        went_in = np.abs(axes).T @ np.abs(own) @ np.abs(axes) / np.outer(units, units)
        lost = rounded * len(units) * (1 + float(went_in.max())) / float(values[0])
        lost_of_means = (
            rounded * len(units) * float((np.abs(shifts) @ np.abs(axes) / units).max()) / math.sqrt(values[0])
        )
        least = float(np.linalg.eigvalsh(turned).min()) - lost
        if not least > 0:
            return None
        means = shifts @ axes @ whitening.T
        return cls(means=means, covariances=turned, least=least, lost=lost, lost_of_means=lost_of_means)
