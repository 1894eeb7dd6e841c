"""The search for the least noise along one line, with Gaussian noise beside it, whose δ is the target's.

Its steps are those of `docs/proofs/certified_laplace.md`, "How the noise is chosen"; the numbers below are theirs.
"""

import math
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Self

import numpy as np
from attrs import evolve, frozen

from distpriv.deadline import require_time
from distpriv.distances.line_laws import LineLaw
from distpriv.framework.arrays import Floats
from distpriv.framework.scenarios import Pair
from distpriv.framework.target import PrivacyTarget
from distpriv.guarantees.certify import smoothed_target
from distpriv.guarantees.line_bound import LineNoise
from distpriv.guarantees.line_delta import FINE, ROUGH, Fineness, LineSum
from distpriv.modelling.model import QueryModel
from distpriv.modelling.sensitivity import mean_shifts
from distpriv.noise.laws import GaussianNoise

__all__ = ["NARROWEST", "LineSearch", "Shape", "least_factor"]

WORKING = 6
"""How many pairs a search looks at; what it finds is held against all of them."""

FIRST_STEP, LAST_STEP, ROUNDS = 0.5, 0.03, 40
"""The steps of the search: the first, the one at which it ends, and how many there are at most."""

FIRST_OFFS = (0.3, 1.5, 6.0, 16.0)
"""Gaussian noise off the line that a search begins with, over the shifts there: Gaussian noise alone needs 16 at
ε = 0.2 and δ = 10⁻³."""

MORE = 3.0
"""By how much log λ is larger where nothing is found that begins with less."""

WIDEST = 64.0
"""Noise that many times as wide as what carries the whole shift at ε does not help where less does not."""

NARROWEST = 1e-3
"""Noise is not looked for that is narrower than so much of that."""

ATTEMPTS = 3
"""How often pairs that were missing are added."""

CLOSE = 1e-3
"""How far the logarithm of a width may be off."""


@frozen(kw_only=True)
class Shape:
    """Gaussian noise beside the line by three numbers, and by how much the line is turned.

    All are logarithms of a size but the last; −∞ is none.
    """

    level: float = -math.inf
    """log λ: variances max(0, λ |d_k|^{2/3} − a_k) where covariances differ."""
    along: float = -math.inf
    """The deviation along the line, over the longest shift."""
    off: float = -math.inf
    """The deviation along the parts of the shifts that the line does not carry, over those."""
    turn: float = 0.0
    """The tangent of the angle between the line and the direction of most shifts."""


@frozen(kw_only=True, slots=False, eq=False)
class LineSearch:
    """What the least noise is for every shape, on the pairs that matter."""

    model: QueryModel
    epsilon: float
    delta: float
    weights: Floats
    floor: Floats
    pairs: tuple[Pair, ...]

    @classmethod
    def of(cls, model: QueryModel, target: PrivacyTarget, weights: Floats, floor: Floats) -> Self:
        """Return the search over noise of at least the floor, on the pairs that leak most."""
        smooth = smoothed_target(model, GaussianNoise.of(floor), target) or (target.epsilon, target.delta)
        epsilon = max(smooth[0], 1e-12)
        search = cls(
            model=model, epsilon=epsilon, delta=smooth[1], weights=weights, floor=floor, pairs=model.protected_pairs
        )
        if len(search.pairs) <= WORKING:
            return search
        return evolve(search, pairs=search.worst(search.widened_laplace()))

    def widened_laplace(self) -> LineNoise:
        """Return Laplace noise that about carries the longest shift."""
        from distpriv.distances.line_laws import LaplaceLine

        law = LaplaceLine(scale=self.longest / self.epsilon)
        return LineNoise(axis=self.axis(Shape()), law=law, gaussian=GaussianNoise.of(self.floor))

    def worst(self, noise: LineNoise) -> tuple[Pair, ...]:
        """Return the pairs that leak most under some noise."""
        found = noise.estimates(self.model, self.model.protected_pairs, self.epsilon)
        return tuple(sorted(found, key=lambda pair: -found[pair])[:WORKING])

    @cached_property
    def _shifts(self) -> Floats:
        return mean_shifts(self.model)

    @cached_property
    def _basis(self) -> Floats:
        """Where shifts are, as orthonormal columns in units in which all errors weigh the same, most of them first."""
        units = np.sqrt(self.weights)
        _, sizes, rows = np.linalg.svd(self._shifts * units, full_matrices=False)
        return np.asarray(rows[sizes > 1e-9 * sizes[0]].T)

    @property
    def turns(self) -> bool:
        """Whether shifts have more than one direction."""
        return bool(self._basis.shape[1] > 1)

    @cached_property
    def longest(self) -> float:
        """The length of the longest shift."""
        return float(np.linalg.norm(self._shifts, axis=1).max())

    def axis(self, shape: Shape) -> Floats:
        """Return the direction of the line."""
        basis = self._basis
        turned = basis[:, 0] + (shape.turn * basis[:, 1] if self.turns else 0.0)
        axis = turned / np.sqrt(self.weights)
        return np.asarray(axis / np.linalg.norm(axis))

    def gaussian(self, shape: Shape) -> GaussianNoise:
        """Return the Gaussian noise of a shape."""
        axis = self.axis(shape)
        directions, needs, given = _covariance_differences(self.model, axis, self.weights)
        spread = directions * np.sqrt(np.maximum(0.0, math.exp(shape.level) * needs - given))
        beside = axis * (math.exp(shape.along) * self.longest)
        off = self._off(axis) * math.exp(shape.off)
        return GaussianNoise.of(self.floor + spread @ spread.T + np.outer(beside, beside) + off @ off.T)

    def _off(self, axis: Floats) -> Floats:
        """Return what the line leaves of the shifts, as columns that have no more than their number of directions."""
        if not self.turns:
            return np.zeros((len(axis), 0))
        left = self._shifts - np.outer(self._shifts @ axis, axis)
        _, sizes, rows = np.linalg.svd(left, full_matrices=False)
        kept = sizes > 1e-9 * self.longest
        return np.asarray(rows[kept].T * np.abs(left @ rows[kept].T).max(axis=0))

    @property
    def least_level(self) -> float:
        """The logarithm of the least λ that adds anything; −∞ where covariances are equal."""
        _, needs, given = _covariance_differences(self.model, self.axis(Shape()), self.weights)
        some = needs > 0
        return math.log(float((given[some] / needs[some]).min())) if some.any() else -math.inf

    def sums(self, shape: Shape, law: LineLaw, fineness: Fineness) -> list[LineSum] | None:
        """Return the lattices of the working pairs; None where some pair has none."""
        noise = evolve(self.widened_laplace(), axis=self.axis(shape), gaussian=self.gaussian(shape))
        found = []
        for pair in self.pairs:
            along = noise.pair(self.model, pair)
            made = None if along is None else LineSum.of(along, law, self.epsilon, fineness)
            if made is None:
                return None
            found.append(made)
        return found

    def error(self, law: LineLaw, shape: Shape) -> float:
        """Return the weighted root mean square of the noise."""
        axis = self.axis(shape)
        along = law.variance * float(self.weights @ axis**2)
        return math.sqrt(along + float(self.weights @ np.diag(self.gaussian(shape).covariance)))

    def least(self, law: LineLaw, shape: Shape, fineness: Fineness, near: float | None = None) -> float:
        """Return the least factor by which a law must be wider to keep δ for this shape; infinite if none does.

        Args:
            law: a law whose δ falls when it is widened, about as wide as needed.
            shape: the Gaussian noise beside it.
            fineness: of the lattices.
            near: a factor that is about enough.
        """
        top = 1.3 if near is None else 1.3 * near
        while top <= WIDEST:
            require_time()
            sums = self.sums(shape, law.widened(top), fineness)
            if sums is None:
                return math.inf
            found = least_factor(lambda by: max(of.delta(law.widened(by)) for of in sums), self.delta, top)  # noqa: B023
            if found < math.inf:
                return found
            top *= 4
        return math.inf

    def found(self, law: LineLaw) -> tuple[Self, Shape, float] | None:
        """Return the best shape and how wide the law is for it, proven for the working pairs; None if none is found.

        Pairs that turn out to be worse are worked with, too, and the search that does so is returned.
        """
        search = self
        shape, by = search.best(law)
        for _ in range(ATTEMPTS):
            by = search.least(law, shape, FINE, near=by) if by < math.inf else by
            if by == math.inf:
                return None
            noise = LineNoise(axis=self.axis(shape), law=law.widened(by), gaussian=self.gaussian(shape))
            others = search.worst(noise)[:2] if len(search.pairs) < len(self.model.protected_pairs) else ()
            if set(others) <= set(search.pairs):
                return search, shape, by
            search = evolve(search, pairs=tuple(dict.fromkeys((*others, *search.pairs))))
            shape, by = search.best(law)
        return search, shape, by

    def best(self, law: LineLaw) -> tuple[Shape, float]:
        """Return the shape whose least noise has the least error, by estimates, and how wide the law is then."""
        tried: dict[Shape, tuple[float, float]] = {}

        def error(shape: Shape) -> float:
            if shape not in tried:
                by = self.least(law, shape, ROUGH)
                tried[shape] = (self.error(law.widened(by), shape) if by < math.inf else math.inf, by)
            return tried[shape][0]

        best = min(self._firsts(), key=error)
        if error(best) == math.inf:  # covariances differ by more than such noise hides
            best = min((evolve(shape, level=shape.level + MORE) for shape in self._firsts()), key=error)
        step = FIRST_STEP
        for _ in range(ROUNDS):
            better = min(_around(best, step), key=error, default=best)
            if error(better) < error(best) * (1 - 1e-4):
                best = better
            elif step <= LAST_STEP:
                break
            else:
                step /= 2
        return best, tried[best][1]

    def _firsts(self) -> list[Shape]:
        level = self.least_level
        levels = [-math.inf] if level == -math.inf else [level, level + 1.0, level + 2.5]
        alongs = (math.log(0.05), math.log(0.3))
        offs = tuple(map(math.log, FIRST_OFFS)) if self.turns else (-math.inf,)
        return [Shape(level=one, along=two, off=three) for one in levels for two in alongs for three in offs]


def _around(shape: Shape, step: float) -> Sequence[Shape]:
    """Return shapes a step away, and those without one of the parts."""
    found = []
    for name in ("level", "along", "off"):
        at = getattr(shape, name)
        if at > -math.inf:
            found += [evolve(shape, **{name: at + step}), evolve(shape, **{name: at - step})]
    if shape.off > -math.inf:
        found += [evolve(shape, turn=shape.turn + 0.2 * step), evolve(shape, turn=shape.turn - 0.2 * step)]
    return found


def _covariance_differences(model: QueryModel, axis: Floats, weights: Floats) -> tuple[Floats, Floats, Floats]:
    """Return eigenvectors of the covariances' differences away from the line, |d_k|^{2/3} and a_k along them (3)."""
    unit = np.sqrt(weights)
    along = unit * axis / np.linalg.norm(unit * axis)
    away = np.eye(model.dimension) - np.outer(along, along)
    squares, pooled = np.zeros_like(away), np.zeros_like(away)
    for pair in model.protected_pairs:
        first, second = (
            np.outer(unit, unit) * matrix for matrix in (model.distributions[name].covariance for name in pair)
        )
        change = away @ (first - second) @ away
        squares += change @ change / len(model.protected_pairs)
        pooled += (first + second) / (2 * len(model.protected_pairs))
    values, vectors = np.linalg.eigh(squares)
    some = values > 1e-20 * np.abs(pooled).max() ** 2
    values, vectors = values[some], vectors[:, some]
    given = np.einsum("ik,ij,jk->k", vectors, pooled, vectors)
    return vectors / unit[:, np.newaxis], np.cbrt(values), given


def least_factor(delta: Callable[[float], float], target: float, top: float) -> float:
    """Return about the least factor, up to the top, at which δ is at most the target; infinite if there is none.

    >>> round(least_factor(lambda factor: math.exp(-factor), math.exp(-2.0), 3.0), 3)
    2.0
    """
    high, low = math.log(top), math.log(NARROWEST)
    below = _log_ratio(delta(top), target)
    if below > 0:
        return math.inf
    above = _log_ratio(delta(NARROWEST), target)
    if above <= 0:
        return NARROWEST
    side = 0
    while high - low > CLOSE and below < -CLOSE:
        share = above / (above - below) if math.isfinite(above - below) else 0.5
        middle = low + (high - low) * min(max(share, 0.05), 0.95)
        at = _log_ratio(delta(math.exp(middle)), target)
        if at <= 0:
            high, below = middle, at
            above = above / 2 if side == -1 else above
            side = -1
        else:
            low, above = middle, at
            below = below / 2 if side == 1 else below
            side = 1
    return math.exp(high)


def _log_ratio(delta: float, target: float) -> float:
    return math.log(max(delta, 1e-300) / target)
