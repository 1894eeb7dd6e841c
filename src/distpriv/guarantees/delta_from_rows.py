"""δ of noisy statistics that are sums over reference rows: what certificates at assurance `checked` rest on.

The distribution of one statistic is known exactly, by a Fourier transform. Of several δ is estimated by exact draws and
saddlepoint ratios (`delta_by_draws`). Where the rows nearly repeat, the characteristic function has peaks that no
saddlepoint sees: what noise leaves of them is bounded and taken off ε (`docs/proofs/delta_by_draws.md`). A reference
that is a sample is replaced by the population, of a hundred that it may be a sample of, in which the noise hides least.
"""

from collections.abc import Collection, Mapping, Sequence
from weakref import WeakKeyDictionary

import numpy as np
from attrs import evolve, frozen

from distpriv.distances.gaussian import whitening
from distpriv.framework.arrays import Floats
from distpriv.framework.scenarios import Pair
from distpriv.guarantees.certificate import LARGEST_CHANCE, RowDelta
from distpriv.guarantees.delta_by_draws import delta_by_draws
from distpriv.guarantees.delta_by_lines import LaplacePart, delta_by_lines
from distpriv.guarantees.exact_delta import pair_deltas
from distpriv.guarantees.farthest_pairs import farthest
from distpriv.guarantees.lattice_floor import Smoothing, counted, has_rows
from distpriv.guarantees.projections import projected_laws, worst_projected_pair
from distpriv.law.resonance import (
    Spectrum,
    distinct_peaks,
    repeats_on_lattice_only,
    spectrum,
    unknown_covariance,
)
from distpriv.law.rows import QuantisedRows, quantised
from distpriv.law.saddlepoint import TiltedLaw, TiltedStratum
from distpriv.modelling.model import QueryModel
from distpriv.modelling.plausible_models import Population
from distpriv.modelling.row_laws import RowLaws
from distpriv.noise.laws import GaussianNoise, Noise

__all__ = ["RowSettings", "delta_from_rows", "rows_behind", "standing_peaks", "tilted_laws"]


@frozen(kw_only=True)
class RowSettings:
    """What is computed for a model's many pairs, and in which coordinates."""

    worst_pairs: int = 8
    """Ordered pairs, those with the largest Gaussian δ, whose δ is computed from the rows."""
    other_pairs: int = 4
    """Pairs evenly spaced among the others."""
    peaks: int = 6
    """Frequencies with the highest ripples that attacks look at."""
    rounding: float = 1e-9
    """A variance, where 1 is that of the statistics, that keeps all matrices regular and hides nothing."""


SETTINGS = RowSettings()


def rows_behind(model: QueryModel) -> RowLaws | None:
    """Return the rows that statistics are sums over; None where there are none, or no sums over them."""
    return model.rows().row_laws() if has_rows(model) else None


def delta_from_rows(
    model: QueryModel,
    noise: Noise,
    epsilon: float,
    *,
    matters: float,
    smoothed: Mapping[str, Smoothing],
    population: Population | None = None,
) -> RowDelta | None:
    """Return δ of noise at ε, computed from the rows; None for noise that is neither Gaussian nor along one line.

    Far below the δ that `matters` it need not be known well. A lattice costs what `smoothed` says, by scenario; the
    rows may be a sample of a population.
    """
    rows = model.rows().row_laws()
    of = model if population is None else population.model
    if model.dimension == 1:
        return _of_one(of, rows if population is None else population.moved(rows), noise, epsilon)
    if not noise.is_gaussian and noise.line is None:
        return None
    search = _peaks_with(model, rows, noise)
    ripples = _ripples(model, noise, search)
    ripple, pairs = float(ripples.sum()), _pairs(of, noise, epsilon)
    rippled = {
        name: Smoothing(least=max(own.least * (1 - ripple), 1e-300), most=own.most * (1 + ripple))
        for name, own in smoothed.items()
    }
    laws = tilted_laws(of, rows, noise.gaussian.covariance, population, only={name for pair in pairs for name in pair})
    frame = law_frame(of, noise.gaussian.covariance)
    along = None
    if noise.line is not None:
        along = LaplacePart(axis=noise.line[0] @ frame, scale=noise.line[1])
    reduced, most = counted(pairs, rippled, epsilon)
    worst: RowDelta | None = None
    total_variation = 0.0
    for (one, other), left, factor in zip(pairs, reduced.tolist(), most.tolist(), strict=True):
        known = max(matters, worst.delta if worst else 0.0)
        if along is None:
            drawn = delta_by_draws(laws[one], laws[other], max(left, 0.0), matters=known)
        else:
            drawn = delta_by_lines(laws[one], laws[other], along, max(left, 0.0), matters=known)
        below = -float(np.expm1(min(0.0, left)))
        delta = min(1.0, drawn.upper_bound + below)
        total_variation = max(total_variation, drawn.total_variation * factor + factor - rippled[other].least)
        if worst is None or delta > worst.delta:
            worst = RowDelta(
                delta=delta,
                pair=(one, other),
                total_variation=0.0,
                exact=False,
                epsilon=drawn.epsilon,
                estimate=drawn.delta,
                standard_error=drawn.standard_error,
                normalisation=drawn.normalisation,
                normalisation_error=drawn.normalisation_error,
                draws=drawn.draws,
                pairs=len(pairs),
                ripple=ripple,
                peak=tuple(search.peaks[int(np.argmax(ripples))].frequency.tolist()) if ripple > 0 else None,
                missed=search.missed,
            )
    assert worst is not None
    return evolve(worst, total_variation=min(1.0, total_variation))


def _of_one(model: QueryModel, rows: RowLaws, noise: Noise, epsilon: float) -> RowDelta | None:
    """Return δ of one statistic, whose distribution is known exactly if the noise is not too narrow for a grid."""
    laws = projected_laws(model, rows, noise, np.ones(1))
    if laws is not None and not laws.resolved:
        return None
    pair, delta = worst_projected_pair(model, laws, epsilon)
    return RowDelta(
        delta=delta,
        pair=pair,
        total_variation=min(1.0, worst_projected_pair(model, laws, 0.0)[1]),
        epsilon=epsilon,
        estimate=delta,
        pairs=len(model.protected_pairs),
    )


def _pairs(model: QueryModel, noise: Noise, epsilon: float) -> list[Pair]:
    """Return the ordered pairs to compute: those worst by Gaussian figures first, and some of the others."""
    every = [model.protected_pairs[place] for place in farthest(model.protected_pairs, model.scenarios)]
    of = SETTINGS
    if len(every) == 1:
        return every
    deltas = pair_deltas(model, every, GaussianNoise.of(noise.covariance), epsilon)
    order = [int(k) for k in np.argsort(-deltas, kind="stable")]
    rest = order[of.worst_pairs :]
    step = -(-len(rest) // of.other_pairs) or 1
    return [every[k] for k in [*order[: of.worst_pairs], *rest[::step]]]


def tilted_laws(
    model: QueryModel,
    rows: RowLaws,
    noise: Floats,
    population: Population | None = None,
    *,
    only: Collection[str] | None = None,
) -> dict[str, TiltedLaw]:
    """Return the distribution of every scenario with Gaussian noise of a covariance, in units of about its deviation.

    Directions in which nothing varies are left out.

    The rows may be a sample of a population; `only` names the scenarios to look at, if not all of them.
    """
    turn = law_frame(model, noise)
    origin = np.mean([law.mean for law in model.distributions.values()], axis=0)
    kinds: Sequence[QuantisedRows] = quantised(rows)
    if population is not None:
        moved = zip(kinds, population.of(rows), strict=True)
        kinds = [
            stratum_kinds if of is None else stratum_kinds.mapped(of.matrix, of.shift) for stratum_kinds, of in moved
        ]
    laws = {}
    for name, sizes in rows.drawn.items():
        if only is not None and name not in only:
            continue
        strata, mean, inside = [], -origin, turn.T @ noise @ turn
        for which, size in sizes.items():
            if not size:
                continue
            of = kinds[which]
            counts = of.counts * (rows.rows_of(which) / of.counts.sum())
            stratum = TiltedStratum(values=of.values @ turn, counts=counts, drawn=size, replacement=rows.replacement)
            strata.append(stratum)
            mean = mean + size * of.mean
            inside = inside + stratum.variance * turn.T @ of.inside @ turn
        laws[name] = TiltedLaw.of(strata, mean @ turn, inside + SETTINGS.rounding * np.eye(len(inside)))
    return laws


def law_frame(model: QueryModel, noise: Floats) -> Floats:
    """Return columns that measure in standard deviations of noisy statistics, averaged over scenarios."""
    return whitening(np.mean([law.covariance for law in model.distributions.values()], axis=0) + noise).T


_spectra: WeakKeyDictionary[RowLaws, dict[bytes, Spectrum]] = WeakKeyDictionary()


def standing_peaks(model: QueryModel, rows: RowLaws, noise: Noise) -> list[Floats]:
    """Return the frequencies whose ripples are highest in statistics with this noise, for whoever looks for them.

    Noise below the model's floor is searched as if it were there: what stands higher up stands at these, too.
    """
    search = _spectrum(model, rows, np.diag(model.floor**2) + noise.gaussian.covariance)
    ripples = _ripples(model, noise, search)
    order = np.argsort(-ripples, kind="stable")[: SETTINGS.peaks]
    return [search.peaks[k].frequency for k in order if ripples[k] > 0]


def _peaks_with(model: QueryModel, rows: RowLaws, noise: Noise) -> Spectrum:
    """Return the peaks that noise may leave: of those that the floor may, found once, and of a search for this noise.

    Wider noise leaves less room for peaks, so that a search through all of it takes fewer draws, and those that are
    smoothed away hide no others.
    """
    if repeats_on_lattice_only(rows, model.steps):
        return Spectrum(peaks=(), missed=0.0)
    try:
        of_floor = _spectrum(model, rows, np.diag(model.floor**2))
        if not of_floor.peaks and of_floor.missed <= LARGEST_CHANCE:
            return of_floor
        again = _spectrum(model, rows, noise.gaussian.covariance)
    except np.linalg.LinAlgError:  # numbers of all sizes: nothing was looked for
        return Spectrum(peaks=(), missed=1.0)
    covariance = np.mean([law.covariance for law in model.distributions.values()], axis=0)
    both = distinct_peaks([*of_floor.peaks, *again.peaks], covariance)
    return Spectrum(peaks=both, missed=min(of_floor.missed, again.missed))


def _spectrum(model: QueryModel, rows: RowLaws, floor: Floats) -> Spectrum:
    """Return the peaks that noise of no less than a floor may leave, found once for these rows."""
    known = _spectra.setdefault(rows, {})
    key = floor.tobytes()
    if key not in known:
        covariances = {name: law.covariance for name, law in model.distributions.items()}
        known[key] = spectrum(rows, covariances, floor)
    return known[key]


def _ripples(model: QueryModel, noise: Noise, search: Spectrum) -> Floats:
    """Return the height of each peak's ripple, both signs of its frequency, in the scenario where it is highest."""
    heights = np.zeros(len(search.peaks))
    for name, law in model.distributions.items():
        left = unknown_covariance(law.covariance, noise.gaussian.covariance)
        heights = np.maximum(heights, [2 * peak.ripple(left, name) for peak in search.peaks])
    return heights
