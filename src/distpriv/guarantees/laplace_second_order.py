r"""What the rows' second-order law adds to δ where noise has a Laplace part.

Laplace noise carries the share t of a shift at t ε₁, whatever the laws of the statistics are, and given its variances
it is Gaussian. So for every t

.. math:: δ ≤ E_E \int (p_i - e^{ε - tε₁} p_j)_+ ,

with :math:`p_i` and :math:`p_j` the laws of the statistics, the share t of their shift taken away, with Gaussian noise
as wide as the exponentials E make it. Moments bound it (`two_steps`); the second-order law q exceeds what they say by
:math:`\int ((q_i - e^{ε - tε₁} q_j)_+ - (g_i - e^{ε - tε₁} g_j)_+)_+` at most, which is added. Of all t the
one is taken that looks best (`docs/proofs/saddlepoint_check.md`, "Laplace noise").
"""

import math
from collections.abc import Sequence
from functools import cached_property
from operator import itemgetter

import numpy as np
from attrs import evolve, frozen

from distpriv.framework.arrays import Floats
from distpriv.framework.secrets import Pair
from distpriv.guarantees.bells import Bell
from distpriv.guarantees.bent_bells import a_little_wider, as_far_as, bent_bell, candidates_of, much_wider
from distpriv.guarantees.deciding_points import Choice, blurred, largest_term, sticks
from distpriv.guarantees.two_steps import TwoSteps, Way, estimates, exponential_nodes
from distpriv.guarantees.upper_bound import bound_by
from distpriv.modelling.model import QueryModel
from distpriv.modelling.row_laws import RowLaws
from distpriv.modelling.tilted_law import TiltedLaw, tilted_laws
from distpriv.modelling.uneven_shapes import both_orders, kinds_of_pairs
from distpriv.noise.laws import Noise

__all__ = ["laplace_second_order"]

NODES = 3
"""How many values of the exponential stand for all of them."""

KINDS = 6
"""Of how many kinds pairs are looked at, those whose shapes differ most, and as many that moments say most of."""

IN_REACH, FINALISTS = 0.2, 6
"""The share of the worst look from which a pair may still be the worst, and how many are computed."""

POINTS, SHARES = 384, (0.4, 0.2, 0.4)
"""At how many points densities are computed, and which share of them where bent bells add to what those of the moments
tell, where either of them decides, and everywhere: rows may tell where skewness and kurtosis do not."""

FEWER = 2048
"""Of how many candidates a share is chosen by."""


@frozen(kw_only=True, eq=False)
class _Look:
    """A pair, a share of its shift that Laplace noise carries, and both laws for every value of the exponentials."""

    pair: Pair
    bound: float
    left: float
    chances: Floats
    laws: tuple[tuple[TiltedLaw, TiltedLaw], ...]

    @cached_property
    def bent(self) -> float:
        """About what the rows add to δ, by skewness and kurtosis."""
        return float(self.chances @ [_bent_excess(*both, self.left) for both in self.laws])


def laplace_second_order(
    model: QueryModel, rows: RowLaws, noise: Noise, epsilon: float, delta: float
) -> tuple[float, float]:
    """Return δ by the second-order law with as much more as its own error may be, and how far that may be off.

    Args:
        model: the model of the statistics.
        rows: the rows that they are sums over.
        noise: noise with a Laplace and a Gaussian part.
        epsilon: ε ≥ 0.
        delta: the target's δ.
    """
    pairs = _pairs(model, rows, noise, epsilon)
    looks = sorted((_best_look(model, rows, noise, epsilon, pair) for pair in pairs), key=lambda each: -each[0])
    worst, gate = 0.0, 0.0
    for _, look in [each for each in looks if each[0] >= IN_REACH * looks[0][0]][:FINALISTS]:
        added, error, off = _added(look, delta)
        worst, gate = max(worst, look.bound + added * (1 + off) + 2 * error), max(gate, off)
    return min(1.0, worst), gate


def _pairs(model: QueryModel, rows: RowLaws, noise: Noise, epsilon: float) -> list[Pair]:
    """Return ordered pairs of the kinds whose shapes differ most, and of those that moments say most of."""
    kinds = kinds_of_pairs(model, rows, noise.covariance)
    if len(kinds) > KINDS:
        steps = [TwoSteps.of(model, pair, noise) for pair in kinds]
        said = estimates(steps, [each.ways(epsilon)[0] for each in steps])
        kinds = [*kinds[:KINDS], *(kinds[k] for k in np.argsort(-said, kind="stable")[:KINDS] if k >= KINDS)]
    return both_orders(kinds)


def _best_look(model: QueryModel, rows: RowLaws, noise: Noise, epsilon: float, pair: Pair) -> tuple[float, _Look]:
    """Return how much of the shift had better be carried, and about what δ is then."""
    steps = TwoSteps.of(model, pair, noise)
    every = steps.shares_and_ways(epsilon)
    ways = [*every[:-1:2], every[-1]] if len(every) > 1 else every
    carried, chances = _carried(model, pair, noise), exponential_nodes(steps.count, NODES)[1]
    best: tuple[float, Way, _Look] | None = None
    for estimate, share, way in sorted(((steps.estimate(way), share, way) for share, way in ways), key=itemgetter(0)):
        if best is not None and estimate >= best[0]:
            break
        left, laws = max(0.0, epsilon - share * steps.cost), _laws(model, rows, noise, pair, share * carried)
        look = _Look(pair=pair, bound=estimate, left=left, chances=chances, laws=laws)
        if best is None or estimate + look.bent < best[0]:
            best = estimate + look.bent, way, look
    assert best is not None
    about, way, look = best
    return about, evolve(look, bound=bound_by(steps, way, 0.0))


def _carried(model: QueryModel, pair: Pair, noise: Noise) -> Floats:
    """Return the part of the shift inside the span of the Laplace noise's axes."""
    axes = noise.laplace_axes[:, noise.laplace_scales > 0]
    return np.asarray(axes @ (np.linalg.pinv(axes) @ model.mean_shift(pair)))


def _laws(
    model: QueryModel, rows: RowLaws, noise: Noise, pair: Pair, moved: Floats
) -> tuple[tuple[TiltedLaw, TiltedLaw], ...]:
    """Return both laws for every value of the exponentials, the first one moved back."""
    wide = noise.laplace_scales > 0
    loadings = noise.laplace_axes[:, wide] * (math.sqrt(2) * noise.laplace_scales[wide])
    found = []
    for exponentials in exponential_nodes(loadings.shape[1], NODES)[0]:
        covariance = noise.gaussian.covariance + (loadings * exponentials) @ loadings.T
        laws = tilted_laws(model, rows, covariance, only=pair, moved={pair[0]: -moved})
        found.append((laws[pair[0]], laws[pair[1]]))
    return tuple(found)


def _added(look: _Look, delta: float) -> tuple[float, float, float]:
    """Return what the second-order law adds to δ, its standard error, and |c₂|."""
    found = [_excess(*both, look.left, delta) for both in look.laws]
    values, errors, gates = (np.array(each) for each in zip(*found, strict=True))
    return float(look.chances @ values), float(np.linalg.norm(look.chances * errors)), float(gates.max())


def _bent_excess(first: TiltedLaw, second: TiltedLaw, epsilon: float) -> float:
    points, offered = candidates_of([much_wider(Bell.at_rest(first))], FEWER)
    more = _sticks([bent_bell(law, points) for law in (first, second)], epsilon, offered)
    bells = _sticks([Bell.at_rest(law).log_density(points) for law in (first, second)], epsilon, offered)
    return float(np.maximum(more - bells, 0.0).mean())


def _sticks(logs: Sequence[Floats], epsilon: float, offered: Floats) -> Floats:
    return sticks(logs[0], logs[1], epsilon, offered)


def _excess(first: TiltedLaw, second: TiltedLaw, epsilon: float, delta: float) -> tuple[float, float, float]:
    """Return the integral of what the second-order law exceeds the moments' by, its standard error, and |c₂|."""
    bells = [Bell.at_rest(law) for law in (first, second)]
    candidates, offered = candidates_of([wider(bells[0]) for wider in (a_little_wider, much_wider, as_far_as(delta))])
    plain = [bell.log_density(candidates) for bell in bells]
    bent = [bent_bell(law, candidates) for law in (first, second)]
    differs = np.abs(_sticks(bent, epsilon, offered) - _sticks(plain, epsilon, offered)) + np.finfo(float).tiny
    decides, order = blurred(bent[0], bent[1], epsilon)
    kinds = [np.log(differs) + offered, np.logaddexp(decides, blurred(plain[0], plain[1], epsilon)[0]), offered]
    points, chosen = Choice.of(candidates, offered, kinds, SHARES, order).points(POINTS)
    found = [law.saddlepoints(points, bell.tilts(points)) for law, bell in zip((first, second), bells, strict=True)]
    logs = [
        at.log_densities + math.log(max(1 + law.term_at_rest, 0.1))
        for at, law in zip(found, (first, second), strict=True)
    ]
    exact = _sticks(logs, epsilon, chosen)
    more = np.maximum(exact - _sticks([bell.log_density(points) for bell in bells], epsilon, chosen), 0.0)
    gates = (
        [largest_term(law, at, exact) for law, at in zip((first, second), found, strict=True)] if exact.any() else []
    )
    rest = max(abs(law.term_at_rest) for law in (first, second))
    return float(more.mean()), float(more.std() / math.sqrt(len(more))), max([rest, *gates])
