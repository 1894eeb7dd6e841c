r"""What an attacker sees of two protected cases along the direction that tells them apart, before and after noise.

Of two Gaussian laws the direction is :math:`(Σ + N)^{-1}(μ_j - μ_i)`, Σ the mean of their covariances and N that of the
noise. Noise that is not Gaussian is drawn, and every draw shifts the bell curve: the mean over the draws is the law of
the noisy statistic along the direction, up to the draws. For pictures; no certificate rests on it.
"""

from collections.abc import Mapping

import numpy as np
from attrs import frozen

from distpriv.framework.arrays import Floats, array_field
from distpriv.framework.scenarios import Pair
from distpriv.modelling.model import QueryModel
from distpriv.noise.laws import NoiseLaw

__all__ = ["CaseDensities", "case_densities"]


@frozen(kw_only=True)
class CaseDensities:
    """Two densities before and after noise, over the same standard deviations; made by `case_densities`.

    >>> import distpriv as dp
    >>> from distpriv.report.densities import case_densities
    >>> from distpriv.noise.laws import GaussianNoise
    >>> model = dp.gaussian_model(means={"few": [0], "many": [2]}, covariances=[[1]], pairs=[("few", "many")])
    >>> found = case_densities(model, GaussianNoise.isotropic(1, 3.0))
    >>> list(found.before), [round(found.overlap(each), 2) for each in (found.before, found.after)]
    (['few', 'many'], [0.32, 0.75])
    """

    grid: Floats = array_field()
    """Standard deviations from the middle of the two cases."""
    before: Mapping[str, Floats]
    """The density of the statistics as they are, by scenario."""
    after: Mapping[str, Floats]
    """That of the noisy ones."""

    def overlap(self, curves: Mapping[str, Floats]) -> float:
        """Return the area a below both curves: who sees no more than this is right 1 - a/2 of the time at best."""
        least = np.min(list(curves.values()), axis=0)
        return float(np.trapezoid(least, self.grid))


def case_densities(model: QueryModel, noise: NoiseLaw, draws: int = 20_000) -> CaseDensities | None:
    """Return the densities of the pair that is told apart best; None where the statistics give it away for certain."""
    none = np.zeros_like(noise.covariance)
    directions = [(pair, _direction(model, pair, none)) for pair in model.protected_pairs]
    pair, bare = max(
        directions, key=lambda of: np.inf if of[1] is None else float(model.mean_shift(of[0]) @ of[1]) ** 2
    )
    covered = _direction(model, pair, noise.covariance)
    if bare is None or covered is None:
        return None
    shifts = np.zeros(1) if noise.is_gaussian else noise.simulate(draws, 0) @ covered
    added = noise.covariance if noise.is_gaussian else none
    reach = 3.6 + max(abs(model.mean_shift(pair) @ along) / 2 for along in (bare, covered))
    grid = np.linspace(-reach, reach, 241)
    return CaseDensities(
        grid=grid,
        before=_densities(model, pair, bare, none, np.zeros(1), grid),
        after=_densities(model, pair, covered, added, shifts, grid),
    )


def _direction(model: QueryModel, pair: Pair, added: Floats) -> Floats | None:
    """Return what tells a pair apart best, with a pooled deviation of 1; None where nothing varies along the shift."""
    first, second = (model.distributions[name].covariance for name in pair)
    pooled, shift = (first + second) / 2 + added, -model.mean_shift(pair)
    along = np.linalg.lstsq(pooled, shift, rcond=None)[0]
    if not np.allclose(pooled @ along, shift, atol=1e-6 * float(np.abs(shift).max(initial=0.0))):
        return None
    if not along.any():  # the means are the same: where the covariances differ most
        values, vectors = np.linalg.eigh(second - first)
        along = vectors[:, int(np.abs(values).argmax())]
    spread = float(np.sqrt(along @ pooled @ along))
    return np.asarray(along / spread, dtype=np.float64) if spread > 0 else None


def _densities(
    model: QueryModel, pair: Pair, along: Floats, added: Floats, shifts: Floats, grid: Floats
) -> dict[str, Floats]:
    laws = {name: model.distributions[name] for name in pair}
    middle = sum(law.mean for law in laws.values()) / 2
    curves = {}
    for name, law in laws.items():
        spread = max(float(np.sqrt(along @ (law.covariance + added) @ along)), 1e-3)
        away = (grid[:, np.newaxis] - (law.mean - middle) @ along - shifts) / spread
        curves[name] = np.exp(-(away**2) / 2).mean(axis=1) / (spread * np.sqrt(2 * np.pi))
    return curves
