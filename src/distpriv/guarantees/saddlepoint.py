r"""δ by the second-order law of the statistics: what the bell curve leaves out, where δ is decided.

The law of sums over rows with Gaussian noise is known to the next order (`modelling.tilted_law`). Around the points
that decide δ each scenario's density q is fitted by a Gaussian :math:`\tilde g`, to second order; its mass need not be
1. H_ε of two such is exact, and points drawn from :math:`(\tilde g_i - e^ε \tilde g_j)_+` tell by how much
:math:`\int (q_i - e^ε q_j)_+` differs from it (`docs/proofs/saddlepoint_check.md`).
"""

import math
from collections.abc import Mapping, Sequence

import numpy as np
from attrs import evolve, frozen
from scipy.special import logsumexp

from distpriv.distances.gaussian_estimates import hockey_stick_estimates
from distpriv.errors import InvalidInput
from distpriv.framework.arrays import Floats
from distpriv.framework.secrets import Pair
from distpriv.guarantees.bells import Bell
from distpriv.guarantees.bent_bells import a_little_wider, bent_bell, candidates_of, much_wider
from distpriv.guarantees.checked_law import LARGEST_GATE
from distpriv.guarantees.deciding_fits import Fit, fit_of, fits_of, fitted_delta
from distpriv.guarantees.deciding_points import Choice, blurred, largest_term, ratio, sticks
from distpriv.guarantees.exact_delta import pair_deltas
from distpriv.guarantees.measured_terms import MeasuredTerms
from distpriv.modelling.model import QueryModel
from distpriv.modelling.row_laws import RowLaws
from distpriv.modelling.tilted_law import TiltedLaw, tilted_laws
from distpriv.modelling.uneven_shapes import both_orders, kinds_of_pairs
from distpriv.noise.laws import Noise

__all__ = ["SaddlepointCheck", "saddlepoint_check"]

POINTS, MORE = 96, ((0.003, 384), (0.03, 1536))
"""At how many points the densities are computed; at more of them if the standard error of δ is a larger share of it."""

ASIDE = 0.1
"""Of the points: the share that lies where Gaussians of the moments decide, and the share that lies everywhere."""

BENT = (0.1, 0.7)
"""The least and the largest share of the others that lies where bent bells decide; the rest is where fitted ones do."""

WITHOUT_FITS = 0.1
"""With a larger standard error, as a share of δ, it is not known from points alone where fits do not settle."""

MEASURABLE, NEARLY = 0.5, 0.05
"""Up to which |c₂| it is measured what is beyond, and by how much below ε a log-ratio may be to be looked at."""

SMALLER = (0.75, 0.5, 0.25, 0.0)
"""Shares of ε to look at where hardly anything is above ε itself."""

SCREENED = 16
"""How many ordered pairs are looked at by their fitted Gaussians alone."""

FINALISTS = 2
"""How many of them are computed."""

IMPLAUSIBLE = 0.01
"""The share of the moments' δ below which fitted Gaussians may have been fitted where little is decided."""

DOUBT = 10.0
"""How many times the moments' δ of such a pair the δ that was found must be for the pair not to matter."""

MANY = 3000
"""Of more pairs than this, those to look at are chosen by estimates."""

IN_REACH = 0.7
"""The share of the largest δ of fitted Gaussians from which a pair may still be the worst."""

BENT_IN_REACH, BENT_FINALISTS = 0.2, 6
"""The same for δ by bent bells, which may be a fraction of the truth; and how many pairs are computed for it."""


@frozen(kw_only=True)
class SaddlepointCheck:
    """What the second-order law says of a pair of scenarios that moments say is hidden."""

    pair: Pair
    """The ordered pair with the largest δ by the second-order law."""
    gaussian_delta: float
    """δ of the pair if the statistics were Gaussian."""
    delta: float
    """δ of the pair by the second-order law."""
    epsilon: float
    """The ε it is for: smaller than asked for, so that δ is no smaller, where hardly anything is above that."""
    standard_error: float
    """Of δ, as a share of it."""
    second_order: Mapping[str, float]
    """c₂ of each scenario of the pair: by which share of itself the leading order errs at the mean."""
    tilted: float
    """The largest c₂ of both scenarios at points that decide, up to its sign; infinite where it cannot be known."""
    measured: MeasuredTerms | None = None
    """What was measured beyond the leading order, where c₂ is too large to tell; else none."""

    @property
    def ratio(self) -> float:
        """By which factor the moments' δ is too small."""
        if self.gaussian_delta > 0:
            return self.delta / self.gaussian_delta
        return math.inf if self.delta > 0 else 1.0

    @property
    def delta_with_error(self) -> float:
        """δ with as much more as the next order and chance may add."""
        return min(1.0, self.delta * (1 + self.share_unknown + 2 * self.standard_error))

    @property
    def share_unknown(self) -> float:
        """By which share of itself δ may be larger by what densities are beyond all that is counted."""
        return self.gate if self.measured is None else math.expm1(self.measured.first_error)

    @property
    def is_known(self) -> bool:
        """Whether points were found that decide, and densities at them."""
        return math.isfinite(self.gate) and math.isfinite(self.standard_error)

    @property
    def gate(self) -> float:
        """By which share the ratio of densities may be off: what was measured, or the largest |c₂|."""
        return self.largest_term if self.measured is None else self.measured.error

    @property
    def largest_term(self) -> float:
        """The largest |c₂|: where it is small, the second-order law is near the truth."""
        return max(self.tilted, *map(abs, self.second_order.values()))


def saddlepoint_check(
    model: QueryModel,
    rows: RowLaws,
    noise: Noise,
    epsilon: float,
    pairs: Sequence[Pair],
    *,
    enough: float = 0.0,
    measured: bool = True,
) -> SaddlepointCheck:
    """Return the ordered pair that the second-order law tells apart best.

    Of many pairs, those with a large δ by the moments are looked at, and the worst of them computed.

    A δ that is at most `enough`, with its error, need not be known better. Where c₂ is large, densities are measured if
    that is asked for.

    Raises:
        InvalidInput: the noise has a part that is not Gaussian.

    Exponential rows, of which 30 are drawn:

    >>> import distpriv as dp
    >>> values = -np.log1p(-(np.arange(200.0) + 0.5) / 200)[:, np.newaxis]
    >>> strata, drawn = (values, values + 1), {"a": {0: 15, 1: 15}, "b": {0: 12, 1: 18}}
    >>> rows = RowLaws(strata=strata, drawn=drawn, replacement=True)
    >>> model = dp.gaussian_model(means={"a": [45], "b": [48]}, covariances=[[29.9]], pairs=[("a", "b")])
    >>> from distpriv.noise.laws import GaussianNoise
    >>> noise = GaussianNoise.isotropic(1, 6.0)
    >>> check = saddlepoint_check(model, rows, noise, 1.0, model.protected_pairs)
    >>> check.pair, round(check.gaussian_delta, 5), round(check.delta, 4), check.gate < 0.01
    (('a', 'b'), 0.00062, 0.0013, True)
    """
    if not noise.is_gaussian:
        raise InvalidInput(
            f"the saddlepoint check is for Gaussian noise, and this is {type(noise).__name__}: use worst_projection."
        )
    other_kinds = both_orders(kinds_of_pairs(model, rows, noise.covariance))
    pairs = _most_telling(model, pairs, noise.gaussian.covariance, epsilon, other_kinds)
    deltas = pair_deltas(model, pairs, noise.gaussian, epsilon)
    laws = tilted_laws(model, rows, noise.gaussian.covariance)
    worst = int(deltas.argmax())
    if deltas[worst] >= 1 or not len(laws[pairs[worst][0]].mean):
        return _as_moments_say(pairs[worst], float(deltas[worst]), epsilon)
    at = dict(zip(pairs, deltas.tolist(), strict=True))
    fits = [fits_of(laws, pairs[which], epsilon) for which in _screened(deltas)]
    fits.sort(key=fitted_delta, reverse=True)
    reach = IN_REACH * fitted_delta(fits[0])
    finalists = [each for each in fits[:FINALISTS] if not each[0].settled or fitted_delta(each) >= reach]
    finalists += _bent_more(
        laws, [*(pair for pair in other_kinds if pair in at), *(each[0].pair for each in fits)], finalists
    )
    found = [_found(laws, each, at[each[0].pair], enough, measured=measured) for each in finalists]
    check = max(found, key=lambda each: each.delta_with_error)
    doubtful = any(
        check.delta < DOUBT * at[each[0].pair] and fitted_delta(each) < IMPLAUSIBLE * at[each[0].pair] for each in fits
    )
    unknown = doubtful or not all(each.is_known for each in found)
    return evolve(check, tilted=math.inf, measured=None) if unknown else check


def _most_telling(
    model: QueryModel, pairs: Sequence[Pair], noise: Floats, epsilon: float, others: Sequence[Pair]
) -> Sequence[Pair]:
    """Return the pairs to look at, of many by estimates of their δ, and some others beside them."""
    if len(pairs) <= MANY:
        return pairs
    laws = [[model.distributions[name] for name in pair] for pair in pairs]
    shifts = np.array([first.mean - second.mean for first, second in laws])
    firsts, seconds = (np.array([both[side].covariance for both in laws]) + noise for side in (0, 1))
    about = hockey_stick_estimates(np.full(len(pairs), epsilon), shifts, firsts, seconds)
    beside = set(others)
    chosen = {*_screened(about), *(place for place, pair in enumerate(pairs) if pair in beside)}
    return [pairs[place] for place in sorted(chosen)]


def _bent_more(
    laws: Mapping[str, TiltedLaw], pairs: Sequence[Pair], finalists: Sequence[Sequence[Fit]]
) -> list[list[Fit]]:
    """Return fits of the other pairs that skewness and kurtosis tell apart, if they may be as bad as what fits know."""
    known = {each[0].pair for each in finalists}
    epsilon = finalists[0][0].asked
    others = [pair for pair in dict.fromkeys(pairs) if pair not in known]
    bent = {pair: _bent_delta(laws[pair[0]], laws[pair[1]], epsilon) for pair in others}
    least = BENT_IN_REACH * max([*map(fitted_delta, finalists), *bent.values()])
    worst = sorted((pair for pair in others if bent[pair] >= least), key=lambda pair: -bent[pair])
    return [fits_of(laws, pair, epsilon) for pair in worst[:BENT_FINALISTS]]


def _as_moments_say(pair: Pair, delta: float, epsilon: float) -> SaddlepointCheck:
    """Return the check of a pair that is told apart with certainty, or of statistics that never vary."""
    return SaddlepointCheck(
        pair=pair,
        gaussian_delta=delta,
        delta=delta,
        epsilon=epsilon,
        standard_error=0.0,
        second_order=dict.fromkeys(pair, 0.0),
        tilted=0.0,
    )


def _found(
    laws: Mapping[str, TiltedLaw], fits: list[Fit], gaussian: float, enough: float, *, measured: bool
) -> SaddlepointCheck:
    """Return δ of a pair, at a smaller ε if hardly anything is above this one: it is no smaller there."""
    asked, choice = fits[0].asked, _choice(laws, fits)
    check = _computed(laws, fits, gaussian, choice, POINTS)
    for share in SMALLER:
        if check.is_known:
            break
        fits = [fit_of(laws, fit.pair, share * asked, mirrored=fit.mirrored) for fit in fits]
        choice = _choice(laws, fits)
        check = _computed(laws, fits, gaussian, choice, POINTS)
    terms = None
    if measured and LARGEST_GATE < check.gate <= MEASURABLE:
        terms = _measured(laws, fits[0], choice)
    if terms is not None:
        check = _computed(laws, fits, gaussian, choice, POINTS, terms)
    for known, points in MORE:
        if check.standard_error > known and check.delta_with_error > enough:
            check = _computed(laws, fits, gaussian, choice, points, terms)
    return check


def _measured(laws: Mapping[str, TiltedLaw], fit: Fit, choice: Choice) -> MeasuredTerms | None:
    """Return what laws are beyond the leading order, at points that decide or nearly do; none if that is not known."""
    both = [laws[name] for name in fit.pair]
    points, log_chosen = choice.points(POINTS)
    found = [law.saddlepoints(points, bell.tilts(points)) for law, bell in zip(both, fit.bells, strict=True)]
    held = sticks(found[0].log_densities, found[1].log_densities, fit.epsilon - NEARLY, log_chosen)
    terms = MeasuredTerms.of(both, found, held) if held.any() else None
    return terms if terms is not None and terms.error <= LARGEST_GATE else None


def _screened(deltas: Floats) -> list[int]:
    """Return the pairs to look at: half of them with the largest δ by moments, half evenly spread over those near."""
    order = np.argsort(-deltas, kind="stable")
    near = order[deltas[order] >= deltas.max() / 4]
    spread = near[np.linspace(0, len(near) - 1, SCREENED // 2).astype(int)]
    return list(dict.fromkeys([*order[: SCREENED // 2].tolist(), *spread.tolist()]))


def _computed(
    laws: Mapping[str, TiltedLaw],
    fits: Sequence[Fit],
    gaussian: float,
    choice: Choice,
    size: int,
    terms: MeasuredTerms | None = None,
) -> SaddlepointCheck:
    """Return δ of a pair by the second-order law, at points chosen by the Gaussians that fit it and by bent bells."""
    pair, main = fits[0].pair, fits[0]
    both = [laws[name] for name in pair]
    points, log_chosen = choice.points(size)
    found = [law.saddlepoints(points, bell.tilts(points)) for law, bell in zip(both, main.bells, strict=True)]
    factor, epsilon = _counted(main, terms)
    exact = sticks(found[0].log_densities, found[1].log_densities, epsilon, log_chosen)
    fitted = sum((fit.factors[0] * _sticks_of(fit, points, log_chosen) for fit in fits), np.zeros(size))
    delta, error = _mean(factor * exact, fitted, fitted_delta(fits))
    at_points = [largest_term(law, at, exact) for law, at in zip(both, found, strict=True)]
    return SaddlepointCheck(
        pair=pair,
        gaussian_delta=gaussian,
        delta=min(1.0, delta),
        epsilon=main.asked,
        standard_error=error,
        second_order={name: laws[name].term_at_rest for name in pair},
        tilted=max(*(fit.largest_term for fit in fits if fit.settled or error > WITHOUT_FITS), *at_points),
        measured=terms,
    )


def _counted(fit: Fit, terms: MeasuredTerms | None) -> tuple[float, float]:
    """Return the factor of the first density and the ε for the leading order, by c₂ or as measured."""
    if terms is None:
        return fit.factors[0], fit.epsilon
    return math.exp(terms.first), fit.asked - terms.apart - terms.apart_error


def _mean(exact: Floats, fitted: Floats, integral: float) -> tuple[float, float]:
    """Return the mean of one sum, and its standard error as a share of it: by that of another, if that is better."""
    factor, error = ratio(exact, fitted)
    mean = float(exact.mean())
    alone = float(exact.std()) / mean / math.sqrt(len(exact)) if mean > 0 else math.inf
    return (mean, alone) if alone < error else (factor * integral, error)


def _sticks_of(fit: Fit, points: Floats, log_chosen: Floats) -> Floats:
    near = [bell.log_density(points) for bell in fit.bells]
    return sticks(near[0], near[1], fit.epsilon, log_chosen)


def _bent_delta(first: TiltedLaw, second: TiltedLaw, epsilon: float) -> float:
    """Return about what δ is by the moments, skewness and kurtosis."""
    candidates, offered = candidates_of([much_wider(Bell.at_rest(first))])
    bent = [bent_bell(law, candidates) for law in (first, second)]
    return float(sticks(bent[0], bent[1], epsilon, offered).mean())


def _choice(laws: Mapping[str, TiltedLaw], fits: Sequence[Fit]) -> Choice:
    """Return candidates for points that decide: by the Gaussians that fit, by bent bells, and by moments."""
    first, second = (laws[name] for name in fits[0].pair)
    bell, epsilon = Bell.at_rest(first), fits[0].epsilon
    candidates, offered = candidates_of(
        [*(a_little_wider(fit.around) for fit in fits), a_little_wider(bell), much_wider(bell)]
    )
    fitted = [
        blurred(fit.bells[0].log_density(candidates), fit.bells[1].log_density(candidates), fit.epsilon) for fit in fits
    ]
    bent = blurred(bent_bell(first, candidates), bent_bell(second, candidates), epsilon)[0]
    rest = bell.log_density(candidates)
    moments = blurred(rest, Bell.at_rest(second).log_density(candidates), epsilon)[0]
    shares = _shares(fits, float(np.exp(logsumexp(bent - offered)) / len(offered)))
    kinds = [*(each for each, _ in fitted), bent, moments, rest]
    return Choice.of(candidates, offered, kinds, shares, fitted[0][1])


def _shares(fits: Sequence[Fit], bent: float) -> list[float]:
    """Return which share of the points is where each of the fits decides, bent bells, moments, and everywhere."""
    left, fitted = 1 - 2 * ASIDE, fitted_delta(fits)
    share = min(max(bent / (bent + fitted) if bent + fitted > 0 else 0.0, BENT[0]), BENT[1])
    even = [1 / len(fits)] * len(fits)
    each = [fit.delta / fitted for fit in fits] if fitted > 0 else even
    mixed = [(one + other) / 2 for one, other in zip(each, even, strict=True)]
    return [*(left * (1 - share) * one for one in mixed), left * share, ASIDE, ASIDE]
