r"""What skewness and kurtosis do to a bell curve, at many points at once: where to look for what moments do not show.

With :math:`t = Σ^{-1} (x - μ)` and the cumulants :math:`κ_3, κ_4` of a sum over rows, the logarithm of its saddlepoint
density differs from the bell curve's by

.. math::

    \tfrac16 κ_3(t, t, t) - \tfrac12 κ_3(t, Σ^{-1}) - \tfrac18 |κ_3(t, t, ·)|^2_{Σ^{-1}} + \tfrac1{24} κ_4(t, t, t, t)

and terms of higher order: K(s) − sᵀx with :math:`K = \tfrac12 s^\top Σ s + R`, least to second order in R at
:math:`t - Σ^{-1} R'(t)`, and half of :math:`\log |K''|` to first order. It serves to choose points and pairs that
are then computed, and nothing rests on its value.
"""

from collections.abc import Sequence
from functools import cached_property

import numpy as np
from attrs import frozen

from distpriv.framework.arrays import Floats
from distpriv.modelling.tilted_stratum import TiltedStratum

__all__ = ["Bend"]

MOST_FOR_TENSORS = 16
"""With more statistics cumulants are taken of rows along every tilt, which takes less time then."""

AT_ONCE = 512
"""Tilts that are computed together."""

FARTHEST = 3.0
"""No bend is taken for more than this, up to its sign: far out the terms left out are larger than those here."""


@frozen(kw_only=True, eq=False)
class Bend:
    """The third and fourth cumulants of a sum over rows, for all combinations at once."""

    strata: tuple[TiltedStratum, ...]

    def at(self, tilts: Floats, precision: Floats) -> Floats:
        """Return by how much the log-density differs from the bell curve's at these tilts, one a row.

        >>> values = np.array([[-0.5], [-0.5], [1.0]])
        >>> stratum = TiltedStratum.of(values, np.ones(3), 200, replacement=True)
        >>> Bend(strata=(stratum,)).at(np.array([[-0.2], [0.0], [0.2]]), np.array([[0.01]])).round(3)
        array([-0.027,  0.   ,  0.007])
        """
        if not self.strata:
            return np.zeros(len(tilts))
        found = (
            self._by_tensors(tilts, precision)
            if tilts.shape[1] <= MOST_FOR_TENSORS
            else self._by_rows(tilts, precision)
        )
        return np.asarray(np.clip(found, -FARTHEST, FARTHEST))

    def _by_tensors(self, tilts: Floats, precision: Floats) -> Floats:
        twice = (tilts[:, :, np.newaxis] * tilts[:, np.newaxis, :]).reshape(len(tilts), -1)
        along = twice @ self._third
        bend = (along * tilts).sum(axis=1) / 6 - tilts @ (precision.ravel() @ self._third) / 2
        bend -= ((along @ precision) * along).sum(axis=1) / 8
        for weight, fourth, square in self._fourth:
            bend += weight * (((twice @ fourth) * twice).sum(axis=1) - 3 * (twice @ square) ** 2) / 24
        return np.asarray(bend)

    def _by_rows(self, tilts: Floats, precision: Floats) -> Floats:
        return np.concatenate(
            [self._of_some(tilts[start : start + AT_ONCE], precision) for start in range(0, len(tilts), AT_ONCE)]
        )

    def _of_some(self, tilts: Floats, precision: Floats) -> Floats:
        bend, along = np.zeros(len(tilts)), np.zeros_like(tilts)
        for stratum in self.strata:
            three, four = stratum.cumulant_weights
            weights, values = stratum.counts / stratum.counts.sum(), stratum.values
            lengths = ((values @ precision) * values).sum(axis=1)
            moved = tilts @ values.T
            squares = moved * moved
            along += three * (squares * weights) @ values
            bend -= three * moved @ (weights * lengths) / 2
            bend += four * ((squares * squares) @ weights - 3 * (squares @ weights) ** 2) / 24
        return np.asarray(bend + (along * tilts).sum(axis=1) / 6 - ((along @ precision) * along).sum(axis=1) / 8)

    @cached_property
    def _third(self) -> Floats:
        """κ₃, with its first two indices as one."""
        return np.asarray(
            sum(stratum.cumulant_weights[0] * _mean_of(stratum, stratum.values) for stratum in self.strata)
        )

    @cached_property
    def _fourth(self) -> Sequence[tuple[float, Floats, Floats]]:
        """Of each stratum, how often it counts, the mean of x ⊗ x ⊗ x ⊗ x and that of x ⊗ x."""
        found = []
        for stratum in self.strata:
            fourth = _mean_of(stratum, _squares(stratum.values))
            found.append(
                (stratum.cumulant_weights[1], fourth, _mean_of(stratum, np.ones((len(stratum.values), 1)))[:, 0])
            )
        return found


def _squares(values: Floats) -> Floats:
    return np.asarray((values[:, :, np.newaxis] * values[:, np.newaxis, :]).reshape(len(values), -1))


def _mean_of(stratum: TiltedStratum, of: Floats) -> Floats:
    """Return the mean of x ⊗ x times something over the rows of a stratum."""
    weights = stratum.counts / stratum.counts.sum()
    return np.asarray(_squares(stratum.values).T @ (weights[:, np.newaxis] * of))
