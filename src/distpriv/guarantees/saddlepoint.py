r"""δ by the second-order law of the statistics: what the bell curve leaves out, where δ is decided.

The law of sums over rows with Gaussian noise is known to the next order (`modelling.tilted_law`). Around the points
that decide δ each scenario's density q is fitted by a Gaussian :math:`\tilde g`, to second order; its mass need not be
1. H_ε of two such is exact, and points drawn from :math:`(\tilde g_i - e^ε \tilde g_j)_+` tell by how much
:math:`\int (q_i - e^ε q_j)_+` differs from it (`docs/proofs/saddlepoint_check.md`).
"""

import math
from collections.abc import Mapping, Sequence

import numpy as np
from attrs import frozen

from distpriv.errors import InvalidInput
from distpriv.framework.arrays import Floats
from distpriv.framework.secrets import Pair
from distpriv.guarantees.bells import Bell, deciding, hockey_stick
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

ROUNDS = 8
"""Of fitting Gaussians where the ones before decide."""

SETTLED = 0.1
"""Standard deviations by which a round may move the point that decides, if it is the last."""

NEGLIGIBLE = 1e-9
"""A δ of the fitted Gaussians that is not looked at more closely."""

SMALLER = (0.75, 0.5, 0.25, 0.0)
"""Shares of ε to look at where hardly anything is above ε itself."""

LEAST = 0.1
"""A factor 1 + c₂ that is smaller means nothing."""

SCREENED = 16
"""How many ordered pairs are looked at by their fitted Gaussians alone."""

FINALISTS = 2
"""How many of them are computed."""


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
        return self.delta / self.gaussian_delta if self.gaussian_delta > 0 else math.inf

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


@frozen(kw_only=True, eq=False)
class Fit:
    """The Gaussians that fit both laws of an ordered pair where it is decided, and around which points that is."""

    pair: Pair
    bells: tuple[Bell, Bell]
    terms: tuple[float, float]
    """c₂ of both there."""
    around: Bell
    asked: float
    """ε."""
    settled: bool
    """Whether they decide where they were fitted."""

    @property
    def largest_term(self) -> float:
        """The larger c₂ of both, up to its sign; infinite where rounds did not settle."""
        return max(map(abs, self.terms)) if self.settled else math.inf

    @property
    def factors(self) -> tuple[float, float]:
        """1 + c₂ of both."""
        return max(1 + self.terms[0], LEAST), max(1 + self.terms[1], LEAST)

    @property
    def epsilon(self) -> float:
        """The ε for the leading order that is ε with the second."""
        return self.asked + math.log(self.factors[1] / self.factors[0])

    @property
    def delta(self) -> float:
        """δ of the fitted Gaussians."""
        return self.factors[0] * hockey_stick(*self.bells, self.epsilon)


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
    fits = [_fit(laws, pairs[which], epsilon) for which in _screened(deltas)]
    fits.sort(key=lambda fit: -fit.delta)
    at = dict(zip(pairs, deltas.tolist(), strict=True))
    found = [_found(laws, fit, at[fit.pair]) for fit in fits[:FINALISTS]]
    return max(found, key=lambda check: check.delta)


def _found(laws: Mapping[str, TiltedLaw], fit: Fit, gaussian: float) -> SaddlepointCheck:
    """Return δ of a pair, at a smaller ε if hardly anything is above this one: it is no smaller there."""
    if fit.settled and fit.delta < NEGLIGIBLE:
        return _checked(laws, fit, gaussian, (1.0, 1.0), fit.largest_term)
    asked, check = fit.asked, _computed(laws, fit, gaussian, POINTS[0])
    for share in SMALLER:
        if check.is_known:
            break
        fit = _fit(laws, fit.pair, share * asked)
        check = _computed(laws, fit, gaussian, POINTS[0])
    for points in POINTS[1:]:
        if check.standard_error > KNOWN:
            check = _computed(laws, fit, gaussian, points)
    return check


def _screened(deltas: Floats) -> list[int]:
    """Return the pairs to look at: half of them with the largest δ by moments, half evenly spread over those near."""
    order = np.argsort(-deltas, kind="stable")
    near = order[deltas[order] > deltas.max() / 4]
    spread = near[np.linspace(0, len(near) - 1, SCREENED // 2).astype(int)]
    return list(dict.fromkeys([*order[: SCREENED // 2].tolist(), *spread.tolist()]))


def _fit(laws: Mapping[str, TiltedLaw], pair: Pair, epsilon: float) -> Fit:
    """Return the Gaussians that fit where they decide; those of the moments if rounds do not settle."""
    first, second = (laws[name] for name in pair)
    rest = Bell.at_rest(first), Bell.at_rest(second)
    bells, around = rest, deciding(*rest, epsilon)
    point, stride = around.mean, 1.0
    for _ in range(ROUNDS):
        found = [
            law.saddlepoints(point[np.newaxis], bell.tilts(point[np.newaxis]))
            for law, bell in zip((first, second), bells, strict=True)
        ]
        if not all(each.found[0] for each in found):
            point = (point + rest[0].mean) / 2
            continue
        bells = Bell.touching(found[0], point), Bell.touching(found[1], point)
        around = deciding(*bells, epsilon)
        move = stride * (around.mean - point)
        point, stride = point + move, 0.7 * stride
        if np.linalg.norm(move) < SETTLED:
            terms = first.second_order(found[0], 0), second.second_order(found[1], 0)
            return Fit(pair=pair, bells=bells, terms=terms, around=around, asked=epsilon, settled=True)
    terms = first.term_at_rest, second.term_at_rest
    return Fit(pair=pair, bells=rest, terms=terms, around=deciding(*rest, epsilon), asked=epsilon, settled=False)


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
