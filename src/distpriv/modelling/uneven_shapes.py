r"""Combinations of the released numbers whose shape tells scenarios apart, although mean and variance may be the same.

The cumulants of a sum over rows are sums of the rows' cumulants: with :math:`k_s` rows of stratum s drawn, the third
cumulant of :math:`w^\top F` is :math:`\sum_s k_s E (w^\top x_s)^3` and the fourth
:math:`\sum_s k_s (E (w^\top x_s)^4 - 3 (E (w^\top x_s)^2)^2)`, x_s a row about the mean of its stratum. In coordinates
in which the noisy statistics have the identity as covariance, the difference of two scenarios is a polynomial on the
unit sphere, and its largest values are found by ascents from many places, always the same. A combination found this way
is then looked at by its exact law (`guarantees.projections`): nothing rests on cumulants.
"""

from collections.abc import Callable, Sequence

import numpy as np

from distpriv.framework.arrays import Floats
from distpriv.framework.scenarios import Pair
from distpriv.modelling.model import QueryModel
from distpriv.modelling.row_laws import RowLaws
from distpriv.modelling.spectrum import whitening
from distpriv.modelling.stratum_rows import StratumRows
from distpriv.modelling.tilted_stratum import cumulant_weights

__all__ = ["both_orders", "kinds_of_pairs", "uneven_directions"]

ROWS = 4000
"""How many rows of a stratum cumulants are taken of."""

STARTS, FEWEST_STARTS, STEPS, SEED = 96, 6, 25, 29
"""From how many random places ascents start, for all kinds of pairs and for each at least, how far, and their seed."""

AXES = 24
"""From how many axes of the noisy statistics they start as well."""

KEPT = 2
"""How many combinations of each order are looked at, for every kind of pair."""

KINDS = 32
"""Pairs of how many kinds are looked at: those that differ in the same strata in the same proportions are one kind."""

LOOKS = 128
"""Along so many combinations, and all axes, the sizes of cumulants are compared."""

NEGLIGIBLE = 0.003
"""A difference of cumulants, in units of the noisy numbers, that changes no likelihood worth looking at."""

MOST = 16
"""How many combinations are looked at in all, those whose cumulants differ most."""

APART = 0.95
"""Combinations whose cosine is larger are one."""

Ascended = Callable[[Floats], tuple[Floats, Floats]]
"""From places, one a column, to the values of a function there and its gradients."""


def uneven_directions(model: QueryModel, rows: RowLaws, noise: Floats) -> list[Floats]:
    """Return combinations along which third and fourth cumulants of protected pairs differ most."""
    found: list[tuple[float, Floats]] = []
    kinds = kinds_of_pairs(model, rows, noise)
    starts = max(FEWEST_STARTS, min(STARTS // 4, STARTS // max(len(kinds), 1)))
    for pair in kinds:
        noisy = np.mean([model.distributions[name].covariance for name in pair], axis=0) + noise
        axes = whitening(noisy)
        strata = {number: _some_rows(rows.strata[number]).along(axes) for number in _differing(rows, pair)}
        weights = {s: _weights(rows, pair[0], s) - _weights(rows, pair[1], s) for s in strata}
        for order in (3, 4):
            of_order = {s: float(each[order - 3]) for s, each in weights.items()}
            places, values = _highest(_difference(strata, of_order, order), axes.shape[1], starts)
            found += [(value, axes @ place) for place, value in zip(places, values, strict=True)]
    found.sort(key=lambda each: -each[0])
    return [direction for value, direction in found[:MOST] if value > NEGLIGIBLE]


def kinds_of_pairs(model: QueryModel, rows: RowLaws, noise: Floats) -> list[Pair]:
    """Return a pair of every kind, the one whose rows differ most, of the kinds whose shapes differ most."""
    found: dict[tuple[float, ...], tuple[float, Pair]] = {}
    for pair in model.protected_pairs:
        moves = [rows.drawn[pair[0]].get(s, 0) - rows.drawn[pair[1]].get(s, 0) for s in range(len(rows.strata))]
        most = max(map(abs, moves), default=0)
        if most:
            first = next(move for move in moves if move)
            kind = tuple(round(move / first, 6) for move in moves)
            found[kind] = max(found.get(kind, (0.0, pair)), (float(most), pair))
    pairs = [pair for _, pair in sorted(found.values(), reverse=True)]
    if len(pairs) < 2:
        return pairs
    sizes = _sizes(model, rows, noise, pairs)
    return [pairs[which] for which in np.argsort(-sizes, kind="stable")[:KINDS]]


def both_orders(pairs: Sequence[Pair]) -> list[Pair]:
    """Return pairs in both orders."""
    return [order for first, second in pairs for order in ((first, second), (second, first))]


def _sizes(model: QueryModel, rows: RowLaws, noise: Floats, pairs: Sequence[Pair]) -> Floats:
    """Return how large the differences of third and fourth cumulants are, by a look along many combinations."""
    axes = whitening(np.mean([law.covariance for law in model.distributions.values()], axis=0) + noise)
    drawn = np.random.default_rng(SEED).normal(size=(axes.shape[1], LOOKS))
    looks = np.concatenate([drawn / np.linalg.norm(drawn, axis=0), np.eye(axes.shape[1])], axis=1)
    third, fourth = [], []
    for stratum in rows.strata:
        some = _some_rows(stratum).along(axes @ looks)
        along = some.values
        squares = along * along
        third.append(some.average(squares * along))
        fourth.append(some.average(squares * squares) - 3 * some.average(squares) ** 2)
    moves = np.array(
        [[_weights(rows, first, s) - _weights(rows, second, s) for s in range(len(third))] for first, second in pairs]
    )
    return np.asarray(
        np.linalg.norm(moves[:, :, 0] @ np.array(third), axis=1)
        + np.linalg.norm(moves[:, :, 1] @ np.array(fourth), axis=1)
    )


def _differing(rows: RowLaws, pair: Pair) -> list[int]:
    first, second = (rows.drawn[name] for name in pair)
    return [s for s in range(len(rows.strata)) if first.get(s, 0) != second.get(s, 0)]


def _weights(rows: RowLaws, scenario: str, stratum: int) -> Floats:
    """Return how many times a row's third and fourth cumulant count."""
    size = rows.drawn[scenario].get(stratum, 0)
    return np.array(cumulant_weights(size, 0.0 if rows.replacement else size / rows.rows_of(stratum)))


def _some_rows(rows: StratumRows) -> StratumRows:
    """Return some of the rows about their mean, with the weights that they have."""
    if len(rows) > ROWS:
        chosen = np.random.default_rng(SEED).choice(len(rows), ROWS, replace=False)
        weights = None if rows.weights is None else rows.weights[chosen] / max(rows.weights[chosen].sum(), 1e-300)
        rows = StratumRows(values=rows.values[chosen], weights=weights)
    return StratumRows(values=rows.about_mean, weights=rows.weights)


def _difference(strata: dict[int, StratumRows], weights: dict[int, float], order: int) -> Ascended:
    """Return the difference of the scenarios' cumulants as a function of unit vectors."""

    def at(places: Floats) -> tuple[Floats, Floats]:
        value, gradient = np.zeros(places.shape[1]), np.zeros_like(places)
        for number, rows in strata.items():
            along, weight = rows.values @ places, weights[number]
            weighed = rows.values.T * rows.shares
            squares = along * along
            power = squares if order == 3 else squares * along
            value += weight * rows.average(power * along)
            gradient += weight * order * (weighed @ power)
            if order == 4:
                square = rows.average(squares)
                value -= 3 * weight * square**2
                gradient -= 12 * weight * square * (weighed @ along)
        return value, gradient

    return at


def _highest(function: Ascended, size: int, count: int) -> tuple[list[Floats], list[float]]:
    """Return where a homogeneous function is largest or least on the sphere, a few places apart, and its size there."""
    if size == 0:
        return [], []
    rng = np.random.default_rng(SEED)
    starts = np.concatenate([rng.normal(size=(size, count)), np.eye(size)[:, :AXES]], axis=1)
    places = starts / np.linalg.norm(starts, axis=0)
    values, gradients = function(places)
    shift = np.zeros(places.shape[1])
    for _ in range(STEPS):
        lengths = np.maximum(np.linalg.norm(gradients, axis=0), 1e-300)
        moved = np.sign(values) * gradients / lengths + shift * places
        moved /= np.maximum(np.linalg.norm(moved, axis=0), 1e-300)
        reached, there = function(moved)
        better = np.abs(reached) > np.abs(values)
        places, values = np.where(better, moved, places), np.where(better, reached, values)
        gradients = np.where(better, there, gradients)
        shift = np.where(better, shift / 2, np.maximum(1.0, 2 * shift))
    return _apart(places, np.abs(values))


def _apart(places: Floats, values: Floats) -> tuple[list[Floats], list[float]]:
    kept: list[int] = []
    for k in np.argsort(-values, kind="stable"):
        near: Sequence[float] = [abs(float(places[:, k] @ places[:, other])) for other in kept]
        if len(kept) < KEPT and all(cosine < APART for cosine in near):
            kept.append(int(k))
    return [places[:, k] for k in kept], [float(values[k]) for k in kept]
