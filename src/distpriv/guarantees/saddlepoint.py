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

from distpriv.errors import InvalidInput
from distpriv.framework.arrays import Floats
from distpriv.framework.secrets import Pair
from distpriv.guarantees.bells import Bell
from distpriv.guarantees.deciding_fits import Fit, fit_of, fits_of, fitted_delta
from distpriv.guarantees.deciding_points import blurred, evenly, largest_term, normals, ratio, sticks
from distpriv.guarantees.exact_delta import pair_deltas
from distpriv.modelling.model import QueryModel
from distpriv.modelling.row_laws import RowLaws
from distpriv.modelling.tilted_law import TiltedLaw, tilted_laws
from distpriv.noise.laws import Noise

__all__ = ["SaddlepointCheck", "saddlepoint_check"]

POINTS = (96, 384)
"""At how many points the densities are computed; at more of them only if δ is not known well from fewer."""

KNOWN = 0.003
"""The standard error, as a share of δ, with which it is known well."""

SHARES = (0.8, 0.1, 0.1)
"""Of the points: where the fitted Gaussians decide, where those of the moments do, and everywhere."""

WIDER = 1.2
"""By which factor covariances are widened to draw candidates from."""

NEGLIGIBLE = 1e-9
"""A δ of the fitted Gaussians that is not looked at more closely."""

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

IN_REACH = 0.7
"""The share of the largest δ of fitted Gaussians from which a pair may still be the worst."""


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

    @property
    def ratio(self) -> float:
        """By which factor the moments' δ is too small."""
        if self.gaussian_delta > 0:
            return self.delta / self.gaussian_delta
        return math.inf if self.delta > 0 else 1.0

    @property
    def delta_with_error(self) -> float:
        """δ with as much more as the next order and chance may add."""
        return min(1.0, self.delta * (1 + self.gate + 2 * self.standard_error))

    @property
    def is_known(self) -> bool:
        """Whether points were found that decide, and densities at them."""
        return math.isfinite(self.gate) and math.isfinite(self.standard_error)

    @property
    def gate(self) -> float:
        """The largest |c₂|: where it is small, the second-order law is near the truth."""
        return max(self.tilted, *map(abs, self.second_order.values()))


def saddlepoint_check(
    model: QueryModel, rows: RowLaws, noise: Noise, epsilon: float, pairs: Sequence[Pair]
) -> SaddlepointCheck:
    """Return the ordered pair that the second-order law tells apart best.

    Of many pairs, those with a large δ by the moments are looked at, and the worst of them computed.

    Args:
        model: the model of the statistics.
        rows: the rows that the statistics are sums over.
        noise: Gaussian noise.
        epsilon: ε ≥ 0.
        pairs: ordered pairs of scenarios.

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
    deltas = pair_deltas(model, pairs, noise.gaussian, epsilon)
    laws = tilted_laws(model, rows, noise.gaussian.covariance)
    worst = int(deltas.argmax())
    if deltas[worst] >= 1 or not len(laws[pairs[worst][0]].mean):
        return _as_moments_say(pairs[worst], float(deltas[worst]), epsilon)
    fits = [fits_of(laws, pairs[which], epsilon) for which in _screened(deltas)]
    fits.sort(key=fitted_delta, reverse=True)
    at = dict(zip(pairs, deltas.tolist(), strict=True))
    reach = IN_REACH * fitted_delta(fits[0])
    finalists = [each for each in fits[:FINALISTS] if not each[0].settled or fitted_delta(each) >= reach]
    found = [_together([_found(laws, fit, at[fit.pair]) for fit in each]) for each in finalists]
    check = max(found, key=lambda each: each.delta)
    doubtful = any(
        check.delta < DOUBT * at[each[0].pair] and fitted_delta(each) < IMPLAUSIBLE * at[each[0].pair] for each in fits
    )
    return evolve(check, tilted=math.inf) if doubtful else check


def _together(checks: Sequence[SaddlepointCheck]) -> SaddlepointCheck:
    """Return the check of a pair that is decided in several places: δ is at most the sum."""
    total = sum(check.delta for check in checks)
    errors = [check.standard_error * check.delta / total if total else check.standard_error for check in checks]
    return evolve(
        checks[0],
        delta=min(1.0, total),
        epsilon=min(check.epsilon for check in checks),
        standard_error=max(errors) if math.inf in errors else math.hypot(*errors),
        tilted=max(check.tilted for check in checks),
    )


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


def _found(laws: Mapping[str, TiltedLaw], fit: Fit, gaussian: float) -> SaddlepointCheck:
    """Return δ of a pair, at a smaller ε if hardly anything is above this one: it is no smaller there."""
    if fit.settled and fit.delta < NEGLIGIBLE:
        return _checked(laws, fit, gaussian, (1.0, 1.0), fit.largest_term)
    asked, check = fit.asked, _computed(laws, fit, gaussian, POINTS[0])
    for share in SMALLER:
        if check.is_known:
            break
        fit = fit_of(laws, fit.pair, share * asked, mirrored=fit.mirrored)
        check = _computed(laws, fit, gaussian, POINTS[0])
    for points in POINTS[1:]:
        if check.standard_error > KNOWN:
            check = _computed(laws, fit, gaussian, points)
    return check


def _screened(deltas: Floats) -> list[int]:
    """Return the pairs to look at: half of them with the largest δ by moments, half evenly spread over those near."""
    order = np.argsort(-deltas, kind="stable")
    near = order[deltas[order] >= deltas.max() / 4]
    spread = near[np.linspace(0, len(near) - 1, SCREENED // 2).astype(int)]
    return list(dict.fromkeys([*order[: SCREENED // 2].tolist(), *spread.tolist()]))


def _computed(laws: Mapping[str, TiltedLaw], fit: Fit, gaussian: float, size: int) -> SaddlepointCheck:
    """Return δ of a pair by the second-order law, at points chosen by the Gaussians that fit it."""
    first, second = (laws[name] for name in fit.pair)
    points, log_chosen = _points(fit, Bell.at_rest(first), Bell.at_rest(second), size)
    found = [law.saddlepoints(points, bell.tilts(points)) for law, bell in zip((first, second), fit.bells, strict=True)]
    exact = sticks(found[0].log_densities, found[1].log_densities, fit.epsilon, log_chosen)
    near = [bell.log_density(points) for bell in fit.bells]
    fitted = sticks(near[0], near[1], fit.epsilon, log_chosen)
    at_points = [largest_term(law, at, exact) for law, at in zip((first, second), found, strict=True)]
    return _checked(laws, fit, gaussian, ratio(exact, fitted), max(fit.largest_term, *at_points))


def _checked(
    laws: Mapping[str, TiltedLaw], fit: Fit, gaussian: float, factor: tuple[float, float], tilted: float
) -> SaddlepointCheck:
    """Return the check with a factor for what the fitted Gaussians say, and its standard error."""
    return SaddlepointCheck(
        pair=fit.pair,
        gaussian_delta=gaussian,
        delta=fit.delta * factor[0],
        epsilon=fit.asked,
        standard_error=factor[1],
        second_order={name: laws[name].term_at_rest for name in fit.pair},
        tilted=tilted,
    )


def _points(fit: Fit, first: Bell, second: Bell, size: int) -> tuple[Floats, Floats]:
    """Return points that decide, by the Gaussians that fit or by those of the moments, and the log of their density."""
    sources = fit.around.wider(WIDER), first.wider(WIDER)
    parts = np.array_split(normals(len(first.mean)), len(sources))
    candidates = np.concatenate([source.drawn(part) for source, part in zip(sources, parts, strict=True)])
    offered = np.logaddexp(*(source.log_density(candidates) for source in sources)) - math.log(len(sources))
    near = [bell.log_density(candidates) for bell in fit.bells]
    rest = [bell.log_density(candidates) for bell in (first, second)]
    fitted, above = blurred(near[0], near[1], fit.epsilon)
    kinds = fitted, blurred(rest[0], rest[1], fit.epsilon)[0], rest[0]
    taken, chosen = evenly(kinds, SHARES, offered, above, size)
    return candidates[taken], chosen
