"""What is known of the law of noisy statistics beyond its moments, from the rows that they are made of.

Trust `gaussian` believes that the statistics are Gaussian. Where they are sums over reference rows their law is known,
and three things are looked at before a certificate leaves (`docs/proofs/law_check.md`): ripples that the noise leaves
standing, exact laws of combinations of the released numbers, and how far the law is from its bell curve.
"""

from collections.abc import Mapping
from typing import Any, Self
from weakref import WeakKeyDictionary

import numpy as np
from attrs import asdict, frozen

from distpriv.framework.arrays import Floats
from distpriv.framework.secrets import Pair
from distpriv.guarantees.directions import telling_directions
from distpriv.guarantees.lattice_floor import Smoothing
from distpriv.guarantees.projections import worst_projection
from distpriv.modelling.model import QueryModel
from distpriv.modelling.row_laws import RowLaws
from distpriv.modelling.spectrum import Spectrum, spectrum
from distpriv.noise.laws import Noise

__all__ = [
    "LARGEST_RIPPLE",
    "CheckedLaw",
    "checked_law",
    "combination_in_words",
    "rows_behind",
    "standing_peaks",
    "unknown_covariance",
]

LARGEST_RIPPLE = 1e-3
"""A ripple that is higher is not smoothed by the noise, and a bell curve says nothing about it."""

MOST_PEAKS = 6
"""How many peaks, those with the highest ripples, are looked at along their own direction."""

_found: WeakKeyDictionary[RowLaws, dict[bytes, Spectrum]] = WeakKeyDictionary()


@frozen(kw_only=True)
class CheckedLaw:
    """What the rows say of statistics with some noise, as numbers."""

    ripple: float
    """η: by which share of itself the density ripples beyond the bell curve, at most, at the peaks that were found."""
    peak: tuple[float, ...] | None
    """The frequency of the highest ripple, one number a statistic; none where there is no peak."""
    missed: float
    """The chance that the search passed by a peak."""
    projected: float
    """The largest exact δ of a combination of the released numbers: no certificate may promise less."""
    combination: tuple[float, ...]
    """That combination, one number a statistic."""
    combinations: int
    """How many were looked at."""

    @property
    def is_complete(self) -> bool:
        """Whether the exact law is that of everything released, as of a single number: then δ is known without more."""
        return len(self.combination) == 1

    @property
    def is_smooth(self) -> bool:
        """Whether no ripple is left that neither a bell curve nor the exact law says anything about."""
        return self.is_complete or self.ripple <= LARGEST_RIPPLE

    def rippled(self, smoothed: Mapping[str, Smoothing]) -> Mapping[str, Smoothing]:
        """Return between which factors of the bell curve's the density lies, with ripple and lattice."""
        if self.is_complete:
            return smoothed
        return {
            name: Smoothing(least=law.least * (1 - self.ripple), most=law.most * (1 + self.ripple))
            for name, law in smoothed.items()
        }

    def to_dict(self) -> dict[str, Any]:
        """Return everything as numbers and lists."""
        return {name: list(value) if isinstance(value, tuple) else value for name, value in asdict(self).items()}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """Return what `to_dict` wrote down."""
        peak = values["peak"]
        lists = {"peak": None if peak is None else tuple(peak), "combination": tuple(values["combination"])}
        return cls(**{**values, **lists})


def checked_law(model: QueryModel, noise: Noise, epsilon: float, pair: Pair) -> CheckedLaw | None:
    """Look at the rows behind statistics with this noise; None where there are none, or no sums over them.

    Args:
        model: the model.
        noise: what is added to the statistics.
        epsilon: ε.
        pair: the scenarios that moments tell apart best.
    """
    rows = rows_behind(model)
    if rows is None:
        return None
    found = _spectrum(model, rows, np.diag(model.floor**2))
    ripples = _ripples(model, noise, found)
    frequencies = _highest(found, ripples)
    directions = telling_directions(model, rows, noise.covariance, pair, frequencies)
    worst = worst_projection(model, rows, noise, epsilon, directions)
    return CheckedLaw(
        ripple=float(ripples.sum()),
        peak=tuple(frequencies[0].tolist()) if frequencies else None,
        missed=found.missed,
        projected=worst.delta,
        combination=tuple(worst.direction.tolist()),
        combinations=len(directions),
    )


def rows_behind(model: QueryModel) -> RowLaws | None:
    """Return the rows that statistics are sums over; None where there are none, or no sums over them."""
    if model.simulator is None or model.provenance.method != "exact moments":
        return None
    return model.simulator.row_laws()


def standing_peaks(model: QueryModel, rows: RowLaws, noise: Noise) -> list[Floats]:
    """Return the frequencies whose ripples are highest in statistics with this noise, for whoever looks for them.

    Noise below the model's floor is searched as if it were there: what stands higher up stands at these, too.
    """
    found = _spectrum(model, rows, np.diag(model.floor**2) + noise.gaussian.covariance)
    return _highest(found, _ripples(model, noise, found))


def _highest(found: Spectrum, ripples: Floats) -> list[Floats]:
    """Return the frequencies of the highest ripples, the highest first."""
    order = np.argsort(-ripples, kind="stable")[:MOST_PEAKS]
    return [found.peaks[k].frequency for k in order if ripples[k] > 0]


def _spectrum(model: QueryModel, rows: RowLaws, floor: Floats) -> Spectrum:
    """Return the peaks that noise of no less than a floor may leave, found once for these rows."""
    known = _found.setdefault(rows, {})
    key = floor.tobytes()
    if key not in known:
        covariances = {name: law.covariance for name, law in model.distributions.items()}
        known[key] = spectrum(rows, covariances, floor)
    return known[key]


def _ripples(model: QueryModel, noise: Noise, found: Spectrum) -> Floats:
    """Return the height of each peak's ripple, both signs of its frequency, in the scenario where it is highest."""
    heights = np.zeros(len(found.peaks))
    for name, law in model.distributions.items():
        left = unknown_covariance(law.covariance, noise.gaussian.covariance)
        heights = np.maximum(heights, [2 * peak.ripple(left, name) for peak in found.peaks])
    return heights


def unknown_covariance(covariance: Floats, noise: Floats) -> Floats:
    """Return C = Σ (Σ + S)⁻¹ S, the covariance of what is not known of F once F + Z is seen."""
    units = np.sqrt(np.maximum(np.diag(covariance + noise), 0.0))
    units = np.where(units > 0, units, 1.0)
    scale = np.outer(units, units)
    own, added = covariance / scale, noise / scale
    left = own @ np.linalg.pinv(own + added, rcond=1e-12, hermitian=True) @ added * scale
    return np.asarray((left + left.T) / 2)


def combination_in_words(names: tuple[str, ...], coefficients: tuple[float, ...], deviations: Floats) -> str:
    """Say which combination of statistics it is, the one first that matters most.

    >>> combination_in_words(("age", "women", "hours"), (0.25, 0.5, 1e-9), np.array([10.0, 5.0, 1.0]))
    'age + 2·women'
    """
    effects = np.abs(np.array(coefficients)) * deviations
    order = [int(k) for k in np.argsort(-effects, kind="stable") if effects[k] > 0.01 * effects.max()]
    said = ""
    for k in order:
        share = coefficients[k] / coefficients[order[0]]
        times = "" if abs(abs(share) - 1) < 1e-9 else f"{abs(share):.3g}·"
        sign = (" + " if share > 0 else " − ") if said else ""
        said += f"{sign}{times}{names[k]}"
    return said
