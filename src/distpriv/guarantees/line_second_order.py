r"""What the rows' second-order law adds to δ where noise along one line is added to Gaussian noise.

The density of a release is that of the statistics with the Gaussian part of the noise, :math:`q_i`, averaged over where
the noise along the line may have been. Bell curves are averaged in closed form, and the ratio of :math:`q_i` to its
bell curve, whose logarithm is about a polynomial of degree 4 along the line, by a grid. What is added to δ is
:math:`\int ((p_i - e^ε p_j)_+ - (g_i - e^ε g_j)_+)_+`, p the second-order densities and g those of the moments
(`docs/proofs/saddlepoint_check.md`, "Noise along a line").
"""

import math
from collections.abc import Callable, Sequence

import numpy as np
from attrs import frozen

from distpriv.framework.arrays import Floats
from distpriv.framework.secrets import Pair
from distpriv.guarantees.bells import Bell
from distpriv.guarantees.bent_bells import a_little_wider, bent_bell, much_wider
from distpriv.guarantees.deciding_points import Choice, blurred, largest_term, normals, sticks
from distpriv.guarantees.line_bells import LineBell
from distpriv.guarantees.line_bound import LineNoise
from distpriv.modelling.model import QueryModel
from distpriv.modelling.row_laws import RowLaws
from distpriv.modelling.tilted_law import TiltedLaw, law_frame, tilted_laws
from distpriv.modelling.uneven_shapes import both_orders, kinds_of_pairs

__all__ = ["line_second_order"]

KINDS = 6
"""Of how many kinds pairs are looked at, those whose shapes differ most, and as many that moments say most of."""

IN_REACH, FINALISTS = 0.2, 6
"""The share of the worst look from which a pair may still be the worst, and how many are computed."""

POINTS, FEWER_POINTS, SHARES = 512, 192, (0.5, 0.2, 0.3)
"""At how many points densities are computed, of few statistics at fewer, and which share of them where bent bells add
to what those of the moments tell, where either of them decides, and everywhere."""

FEW_STATISTICS = 3
"""So many statistics are few."""

CANDIDATES, FEWER = 8192, 2048
"""Of how many candidates points are chosen, and a look is made of."""

NEGLIGIBLE = 1e-4
"""A share of the target's δ that is not looked at more closely if skewness and kurtosis change no more."""

AVERAGED = 0.1
"""The share of what is added that averages over the noise along the line may be off by."""

ERRORS = 3.0
"""How many standard errors are added: a few points may hold much of an integral."""


@frozen(kw_only=True, eq=False)
class _Laws:
    """Both laws of a pair, with the noise along the line beside them."""

    pair: Pair
    tilted: tuple[TiltedLaw, TiltedLaw]
    lines: tuple[LineBell, LineBell]

    @classmethod
    def of(cls, model: QueryModel, rows: RowLaws, noise: LineNoise, pair: Pair) -> "_Laws":
        covariance = noise.gaussian.covariance
        laws = tilted_laws(model, rows, covariance, only=pair)
        axis = noise.axis @ law_frame(model, covariance)
        one, other = (laws[name] for name in pair)
        lines = tuple(LineBell(bell=Bell.at_rest(law), axis=axis, law=noise.law) for law in (one, other))
        return cls(pair=pair, tilted=(one, other), lines=(lines[0], lines[1]))

    def candidates(self, wider: Sequence[Callable[[Bell], Bell]], most: int) -> tuple[Floats, Floats]:
        """Return points of the first law, bell curve and noise made wider, and the logarithm of their density."""
        first = self.lines[0]
        sources = [LineBell(bell=of(first.bell), axis=first.axis, law=first.law.spread) for of in wider]
        parts = np.array_split(normals(len(first.axis) + 1)[:most], len(sources))
        points = np.concatenate([source.drawn(part) for source, part in zip(sources, parts, strict=True)])
        offered = np.logaddexp.reduce([source.log_density(points) for source in sources])
        return points, offered - math.log(len(sources))

    @property
    def term_at_rest(self) -> float:
        """|c₂| in the middle of both laws."""
        return max(abs(law.term_at_rest) for law in self.tilted)

    def plain(self, points: Floats) -> tuple[Floats, Floats]:
        """Return the logarithms of both densities by moments."""
        one, other = self.lines
        return one.log_density(points), other.log_density(points)

    def bent(self, points: Floats) -> tuple[Floats, Floats]:
        """Return the same, bent by skewness and kurtosis."""
        (one, other), (first, second) = self.lines, self.tilted
        return (
            one.averaged(points, [bent_bell(first, at) for at in one.origins(points)]),
            other.averaged(points, [bent_bell(second, at) for at in other.origins(points)]),
        )


def line_second_order(
    model: QueryModel, rows: RowLaws, noise: LineNoise, epsilon: float, delta: float
) -> tuple[float, float]:
    """Return δ by the second-order law with as much more as its own error may be, and how far that may be off.

    Args:
        model: the model of the statistics.
        rows: the rows that they are sums over.
        noise: noise along one line and Gaussian noise.
        epsilon: ε ≥ 0.
        delta: the target's δ.
    """
    said = noise.estimates(model, model.protected_pairs, epsilon)
    looks = []
    for pair in _pairs(model, rows, noise, said):
        laws = _Laws.of(model, rows, noise, pair)
        bent, differs = _bent_excess(laws, epsilon)
        looks.append((said[pair] + bent, differs, laws))
    looks.sort(key=lambda each: -each[0])
    worst, gate = 0.0, 0.0
    for _, differs, laws in [each for each in looks if each[0] >= IN_REACH * looks[0][0]][:FINALISTS]:
        if differs < NEGLIGIBLE * delta:
            added, error, off = differs, 0.0, laws.term_at_rest
        else:
            added, error, off = _added(laws, epsilon)
        bound = noise.delta(model, laws.pair, epsilon)
        worst, gate = max(worst, bound + added * (1 + off + AVERAGED) + ERRORS * error), max(gate, off)
    return min(1.0, worst), gate


def _pairs(model: QueryModel, rows: RowLaws, noise: LineNoise, said: dict[Pair, float]) -> list[Pair]:
    """Return ordered pairs of the kinds whose shapes differ most, and of those that moments say most of."""
    kinds = kinds_of_pairs(model, rows, noise.covariance)
    if len(kinds) > KINDS:
        rest = sorted(kinds[KINDS:], key=lambda pair: -max(said.get(pair, 0.0), said.get(pair[::-1], 0.0)))
        kinds = [*kinds[:KINDS], *rest[:KINDS]]
    return [pair for pair in both_orders(kinds) if pair in said]


def _bent_excess(laws: _Laws, epsilon: float) -> tuple[float, float]:
    """Return what skewness and kurtosis add to δ, and by how much they change it anywhere."""
    points, offered = laws.candidates([much_wider], FEWER)
    lower = epsilon - laws.term_at_rest
    more = sticks(*laws.bent(points), lower, offered) - sticks(*laws.plain(points), epsilon, offered)
    return float(np.maximum(more, 0.0).mean()), float(np.abs(more).mean())


def _added(laws: _Laws, epsilon: float) -> tuple[float, float, float]:
    """Return the integral of what the second-order law exceeds the moments' by, its standard error, and |c₂|.

    Noise along a line leaves much of the mass with a ratio of densities that is just e^ε, so that a small error in
    their logarithms counts there in full: the second-order law is taken at an ε that is lower by that error, |c₂|.
    """
    candidates, offered = laws.candidates([a_little_wider, much_wider], CANDIDATES)
    plain, bent = laws.plain(candidates), laws.bent(candidates)
    differs = np.abs(sticks(*bent, epsilon, offered) - sticks(*plain, epsilon, offered)) + np.finfo(float).tiny
    decides, order = blurred(*bent, epsilon)
    kinds = [np.log(differs) + offered, np.logaddexp(decides, blurred(*plain, epsilon)[0]), plain[0]]
    points, chosen = Choice.of(candidates, offered, kinds, SHARES, order).points(
        POINTS if candidates.shape[1] > FEW_STATISTICS else FEWER_POINTS
    )
    logs, middles = [], []
    for law, line in zip(laws.tilted, laws.lines, strict=True):
        origins = line.origins(points)
        found = law.saddlepoints_along(origins, [line.bell.tilts(at) for at in origins])
        averaged = line.averaged(points, [each.log_densities for each in found])
        logs.append(averaged + math.log(max(1 + law.term_at_rest, 0.1)))
        middles.append(found[len(found) // 2])
    near = sticks(logs[0], logs[1], epsilon - laws.term_at_rest, chosen)
    gates = [largest_term(law, at, near) for law, at in zip(laws.tilted, middles, strict=True)] if near.any() else []
    off = max([laws.term_at_rest, *gates])
    exact = sticks(logs[0], logs[1], epsilon - off, chosen)
    more = np.maximum(exact - sticks(*laws.plain(points), epsilon, chosen), 0.0)
    return float(more.mean()), float(more.std() / math.sqrt(len(more))), off
