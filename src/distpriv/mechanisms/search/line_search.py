"""The least noise along one line, with Gaussian noise beside it, whose δ is the target's.

The steps are those of `docs/proofs/certified_laplace.md`, "How the noise is chosen".
"""

import math
from collections.abc import Sequence
from functools import cached_property
from typing import Self

import numpy as np
from attrs import evolve, frozen

from distpriv.deadline import require_time
from distpriv.framework.arrays import Floats
from distpriv.framework.bisection import least_crossing
from distpriv.framework.scenarios import Pair
from distpriv.framework.target import PrivacyTarget
from distpriv.guarantees.certify import smoothed_target
from distpriv.guarantees.line_noise import FINE, ROUGH, Fineness, LineNoise, LineSum
from distpriv.modelling.model import QueryModel
from distpriv.modelling.sensitivity import mean_shifts
from distpriv.noise.laws import GaussianNoise, LaplaceNoise, SumNoise

__all__ = ["LineSearch", "Shape"]


@frozen(kw_only=True)
class SearchSettings:
    """How noise is searched for; widths are in units of what carries the longest shift at ε."""

    working: int = 6
    """How many pairs a search looks at; what it finds is held against all of them."""
    first_step: float = 0.5
    """The step with which logarithms of sizes are changed at first; it is halved where nothing is better."""
    last_step: float = 0.03
    """The step at which the search ends."""
    rounds: int = 40
    """How many steps there are at most."""
    offs: tuple[float, ...] = (0.3, 1.5, 6.0, 16.0)
    """Deviations off the line to begin with, over the shifts there: Gaussian noise alone needs 16 at ε = 0.2 and
    δ = 10⁻³."""
    more: float = 3.0
    """By how much log λ is larger where nothing is found that begins with less."""
    widest: float = 64.0
    """Wider noise does not help where less does not."""
    narrowest: float = 1e-3
    """Narrower noise is not looked for."""
    attempts: int = 3
    """How often pairs that were missing are added."""
    close: float = 1e-3
    """How far the logarithm of a width may be off."""


SETTINGS = SearchSettings()


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

    def around(self, step: float) -> "list[Shape]":
        """Return the shapes a step away."""
        sizes = [name for name in ("level", "along", "off") if getattr(self, name) > -math.inf]
        moves = [(name, step) for name in sizes] + ([("turn", 0.2 * step)] if self.off > -math.inf else [])
        return [evolve(self, **{name: getattr(self, name) + sign * by}) for name, by in moves for sign in (1, -1)]


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
        epsilon, delta = smoothed_target(model, GaussianNoise.of(floor), target) or (target.epsilon, target.delta)
        pairs = model.protected_pairs
        search = cls(model=model, epsilon=max(epsilon, 1e-12), delta=delta, weights=weights, floor=floor, pairs=pairs)
        return (
            evolve(search, pairs=search.worst(search.noise(Shape(), 1.0))) if len(pairs) > SETTINGS.working else search
        )

    def noise(self, shape: Shape, width: float) -> LineNoise:
        """Return the noise of a shape, with Laplace noise so many times as wide as carries the longest shift at ε."""
        scale = width * self.longest / self.epsilon
        return LineNoise(axis=self.axis(shape), scale=scale, gaussian=self.gaussian(shape))

    def law(self, shape: Shape, width: float) -> SumNoise:
        """Return the same as a law of noise, without Laplace noise that is as narrow as none."""
        gaussian = self.gaussian(shape)
        if width <= SETTINGS.narrowest:
            return SumNoise(parts=(gaussian,))
        scales = np.array([width * self.longest / self.epsilon])
        return SumNoise(parts=(LaplaceNoise(axes=self.axis(shape)[:, np.newaxis], scales=scales), gaussian))

    def worst(self, noise: LineNoise) -> tuple[Pair, ...]:
        """Return the pairs that leak most under some noise."""
        pairs = self.model.protected_pairs
        order = np.argsort(-noise.delta_estimates(self.model, pairs, self.epsilon), kind="stable")
        return tuple(pairs[place] for place in order[: SETTINGS.working])

    @cached_property
    def _shifts(self) -> Floats:
        return mean_shifts(self.model)

    @cached_property
    def _basis(self) -> Floats:
        """Where shifts are, as orthonormal columns in units in which all errors weigh the same, most of them first."""
        _, sizes, rows = np.linalg.svd(self._shifts * np.sqrt(self.weights), full_matrices=False)
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
        turned = self._basis[:, 0] + (shape.turn * self._basis[:, 1] if self.turns else 0.0)
        axis = turned / np.sqrt(self.weights)
        return np.asarray(axis / np.linalg.norm(axis))

    def gaussian(self, shape: Shape) -> GaussianNoise:
        """Return the Gaussian noise of a shape."""
        axis = self.axis(shape)
        directions, needs, given = _covariance_differences(self.model, axis, self.weights)
        columns = [
            directions * np.sqrt(np.maximum(0.0, math.exp(shape.level) * needs - given)),
            axis[:, np.newaxis] * (math.exp(shape.along) * self.longest),
        ]
        if self.turns:  # what the line leaves of the shifts, along their directions
            left = self._shifts - np.outer(self._shifts @ axis, axis)
            _, sizes, rows = np.linalg.svd(left, full_matrices=False)
            rows = rows[sizes > 1e-9 * self.longest]
            columns.append(rows.T * np.abs(left @ rows.T).max(axis=0) * math.exp(shape.off))
        spread = np.concatenate(columns, axis=1)
        return GaussianNoise.of(self.floor + spread @ spread.T)

    def error(self, shape: Shape, width: float) -> float:
        """Return the weighted root mean square of the noise."""
        noise = self.noise(shape, width)
        variances = 2 * noise.scale**2 * noise.axis**2 + np.diag(noise.gaussian.covariance)
        return math.sqrt(float(self.weights @ variances))

    def least(self, shape: Shape, fineness: Fineness, near: float = 1.0) -> float:
        """Return about the least width that keeps δ for this shape, near a guess; infinite if none does."""
        top = 1.3 * near
        while top <= SETTINGS.widest:
            require_time()
            noise = self.noise(shape, top)
            sums = [noise.sums(self.model, pair, self.epsilon, fineness) for pair in self.pairs]
            lattices = [lattice for lattice in sums if lattice is not None]
            if len(lattices) < len(sums):
                return math.inf

            def excess(factor: float, noise: LineNoise = noise, lattices: list[LineSum] = lattices) -> float:
                largest = max(lattice.delta(noise.scale * factor) for lattice in lattices)
                return math.log(max(largest, 1e-300) / self.delta)

            least = SETTINGS.narrowest / top
            width = top * least_crossing(excess, 1.0, least=least, largest=1.0, within=SETTINGS.close)
            if width < math.inf:
                return width
            top *= 4
        return math.inf

    def result(self) -> SumNoise | None:
        """Return the noise of the best shape, proven for the working pairs; None if there is none.

        Pairs that turn out to be worse are worked with, too.
        """
        shape, width = self.best()
        search = self
        for _ in range(SETTINGS.attempts):
            width = search.least(shape, FINE, near=width) if width < math.inf else width
            if width == math.inf:
                return None
            all_pairs = len(search.pairs) == len(self.model.protected_pairs)
            others = () if all_pairs else search.worst(search.noise(shape, width))[:2]
            if set(others) <= set(search.pairs):
                break
            search = evolve(search, pairs=tuple(dict.fromkeys((*others, *search.pairs))))
            shape, width = search.best()
        return self.law(shape, width)

    def best(self) -> tuple[Shape, float]:
        """Return the shape whose least noise has the least error, by estimates, and the width of that."""
        tried: dict[Shape, tuple[float, float]] = {}

        def error(shape: Shape) -> float:
            if shape not in tried:
                width = self.least(shape, ROUGH)
                tried[shape] = (self.error(shape, width) if width < math.inf else math.inf, width)
            return tried[shape][0]

        best = min(self._firsts(0.0), key=error)
        if error(best) == math.inf:  # covariances differ by more than such noise hides
            best = min(self._firsts(SETTINGS.more), key=error)
        step = SETTINGS.first_step
        for _ in range(SETTINGS.rounds):
            better = min(best.around(step), key=error)
            if error(better) < error(best) * (1 - 1e-4):
                best = better
            elif step <= SETTINGS.last_step:
                break
            else:
                step /= 2
        return best, tried[best][1]

    def _firsts(self, more: float) -> Sequence[Shape]:
        """Return shapes to begin with, where covariances differ with the least λ that adds anything and more."""
        _, needs, given = _covariance_differences(self.model, self.axis(Shape()), self.weights)
        least = math.log(float((given / needs).min())) + more if len(needs) else -math.inf
        levels = [least, least + 1.0, least + 2.5] if len(needs) else [least]
        offs = SETTINGS.offs if self.turns else (0.0,)
        return [
            Shape(level=level, along=math.log(along), off=math.log(off) if off else -math.inf)
            for level in levels
            for along in (0.05, 0.3)
            for off in offs
        ]


def _covariance_differences(model: QueryModel, axis: Floats, weights: Floats) -> tuple[Floats, Floats, Floats]:
    """Return eigenvectors of the covariances' differences away from the line, |d_k|^{2/3} and a_k along them (3)."""
    unit = np.sqrt(weights)
    along = unit * axis / np.linalg.norm(unit * axis)
    away = np.eye(model.dimension) - np.outer(along, along)
    pairs = [[model.distributions[name].covariance for name in pair] for pair in model.protected_pairs]
    changes = [away @ (np.outer(unit, unit) * (first - second)) @ away for first, second in pairs]
    pooled = np.outer(unit, unit) * np.mean(pairs, axis=(0, 1))
    values, vectors = np.linalg.eigh(np.mean([change @ change for change in changes], axis=0))
    some = values > 1e-20 * np.abs(pooled).max() ** 2
    values, vectors = values[some], vectors[:, some]
    given = np.einsum("ik,ij,jk->k", vectors, pooled, vectors)
    return vectors / unit[:, np.newaxis], np.cbrt(values), given
