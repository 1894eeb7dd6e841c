"""The search behind `exact_law` for two and three statistics: Laplace or Gaussian noise along the shifts, and a floor.

The floor is Gaussian noise of some share of every statistic's standard deviation. For each share the noise along the
shifts is made as narrow as the exact δ allows; neighbouring shares are tried as long as that lowers the error. The
search only chooses: δ is that of the noise that comes out of it.
"""

import math
from collections.abc import Callable, Iterator
from functools import cache
from typing import Final

import numpy as np
from attrs import frozen

from distpriv.deadline import require_time
from distpriv.errors import InvalidModel, InvalidTarget
from distpriv.framework.arrays import Floats
from distpriv.framework.target import PrivacyTarget
from distpriv.guarantees.exact_grid import exact_grid_delta
from distpriv.modelling.model import QueryModel
from distpriv.modelling.row_grid import RowGrid
from distpriv.modelling.sensitivity import mean_shifts, shift_basis
from distpriv.modelling.utility import weighted_rms
from distpriv.noise.laws import GaussianNoise, LaplaceNoise, NoiseLaw, SumNoise

__all__ = ["least_on_grid"]

SHARES: Final = (0.04, 0.07, 0.12, 0.2, 0.3, 0.45, 0.7, 1.0, 1.5)
"""The floors that are tried, in standard deviations of the statistics."""

FIRST: Final = 5
"""Which of them is tried first."""

GAIN: Final = 0.997
"""A floor that lowers the error by less is the last one that is tried."""

CLOSE, CLOSER = 0.85, 0.99
"""Which share of δ noise must spend while floors are compared, and in the end."""

WIDEST: Final = 64.0
"""How many times wider than for δ = 0 noise may have to be."""

ONE_STEP: Final = math.sqrt(9 / 12)
"""The deviation, in steps, of the least noise there is: none at all would trust the reference to its last row."""

LOOKS: Final = 16
"""How often δ is computed for one floor at most."""


@frozen(kw_only=True, eq=False)
class _Search:
    model: QueryModel
    rows: RowGrid
    target: PrivacyTarget
    weights: Floats
    axes: Floats
    scales: Floats
    """Of noise along the shifts that would do with δ = 0."""
    spread: Floats
    """The standard deviations of the statistics."""

    @classmethod
    def of(cls, model: QueryModel, rows: RowGrid, target: PrivacyTarget, weights: Floats) -> "_Search":
        shifts, laws = mean_shifts(model), model.distributions.values()
        axes = shift_basis(model)
        scales = _unit_scales(shifts, axes, weights) / max(target.epsilon, 0.01) if axes.size else np.zeros(0)
        spread = np.sqrt(np.max([np.diag(law.covariance) for law in laws], axis=0))
        return cls(
            model=model,
            rows=rows,
            target=target,
            weights=weights,
            axes=axes,
            scales=scales,
            spread=spread,
        )

    def noise(self, kind: str, share: float, factor: float) -> NoiseLaw:
        """Return noise with a floor, and so many times what would do with δ = 0 along the shifts."""
        variances = np.maximum(share * self.spread, ONE_STEP * self.rows.steps) ** 2
        floor = GaussianNoise(axes=np.eye(len(variances)), variances=variances)
        if factor == 0 or not self.axes.size:
            return floor
        if kind == "gaussian":
            return GaussianNoise.of(floor.covariance + (self.axes * (factor * self.scales) ** 2) @ self.axes.T)
        along = LaplaceNoise(axes=self.axes, scales=factor * self.scales)
        return SumNoise(parts=(floor, along))

    def delta(self, noise: NoiseLaw) -> float:
        """Return δ as it will be certified."""
        require_time()
        return exact_grid_delta(self.rows, [noise], self.target, self.model.protected_pairs)

    def cost(self, noise: NoiseLaw) -> float:
        return weighted_rms(noise.covariance, self.weights)

    def narrowest(self, kind: str, share: float, close: float, about: float) -> float | None:
        """Return about the least factor with this floor whose δ is small enough; nothing where there is none."""

        @cache
        def spent(factor: float) -> float:
            return self.delta(self.noise(kind, share, factor)) / self.target.delta

        try:
            return _root(spent, close, about, bare=self.axes.size == 0)
        except InvalidModel:
            return None


def _unit_scales(shifts: Floats, axes: Floats, weights: Floats) -> Floats:
    r"""Return scales b with :math:`\max_{ij} Σ_k |v_kᵀd_{ij}|/b_k = 1` and little :math:`Σ_k w_k b_k^2`.

    For one shift :math:`b_k ∝ (|v_kᵀd|/w_k)^{1/3}` is best, w the weights of the axes.
    """
    parts = np.abs(shifts @ axes)
    scales = np.cbrt(parts.max(axis=0) / np.maximum(weights @ axes**2, 1e-300))
    return np.asarray(scales * (parts / scales).sum(axis=1).max())


def _root(spent: Callable[[float], float], close: float, about: float, *, bare: bool) -> float | None:
    """Return about the least factor at which no more than all of δ is spent: regula falsi on logarithms."""
    if spent(0.0) <= 1:
        return 0.0
    if bare:
        return None
    low = high = about
    step = 1.05
    while spent(high) > 1:
        if high > WIDEST:
            return None
        low, high, step = high, high * step, step**2
    while low == high or spent(low) <= 1:
        if low < 1e-3:
            return high
        low, high, step = low / step, low, step**2
    for _ in range(LOOKS):
        if spent(high) >= close or high < low * 1.0005:
            break
        above, below = math.log(spent(low)), math.log(max(spent(high), 1e-30))
        part = min(max(above / (above - below) + 0.02, 0.15), 0.85)
        middle = low * (high / low) ** part
        low, high = (low, middle) if spent(middle) <= 1 else (middle, high)
    return high


def _floors(start: int) -> Iterator[Iterator[int]]:
    """Yield the floors to try, upwards and downwards."""
    yield iter(range(start + 1, len(SHARES)))
    yield iter(range(start - 1, -1, -1))


def least_on_grid(model: QueryModel, rows: RowGrid, target: PrivacyTarget, weights: Floats) -> NoiseLaw:
    """Return noise of little error whose exact δ is at most the target's.

    Raises:
        InvalidModel: the law has too many points at any floor.
        InvalidTarget: no noise of a reasonable width has so small a δ.
    """
    search = _Search.of(model, rows, target, weights)
    factors: dict[tuple[str, int], float | None] = {}

    def cost(kind: str, which: int) -> float:
        if (kind, which) not in factors:
            known = [factor for (of, _), factor in factors.items() if factor and of == kind]
            factors[kind, which] = search.narrowest(kind, SHARES[which], CLOSE, known[-1] if known else 1.0)
        factor = factors[kind, which]
        return math.inf if factor is None else search.cost(search.noise(kind, SHARES[which], factor))

    best = ("laplace", FIRST)
    for floors in _floors(FIRST):
        for which in floors:
            before = cost(*best)
            if cost("laplace", which) < before:
                best = ("laplace", which)
            if math.isfinite(before) and cost("laplace", which) > GAIN * before:
                break
    if search.axes.size and cost("gaussian", best[1]) < cost(*best):
        best = ("gaussian", best[1])
    kind, share, about = best[0], SHARES[best[1]], factors[best]
    if about is not None:
        closer = search.narrowest(kind, share, CLOSER, about or 1.0)
        return search.noise(kind, share, about if closer is None else closer)
    search.delta(search.noise("gaussian", 1.0, 1.0))
    raise InvalidTarget(
        f"no noise has delta = {target.delta:g} at epsilon = {target.epsilon:g} by the exact law within reason: give a "
        "larger epsilon or delta."
    )
