r"""What the rows' second-order law adds to δ where noise along one line is added to Gaussian noise.

The density of a release is that of the statistics with the Gaussian part of the noise, :math:`q_i`, averaged over where
the noise along the line may have been. Bell curves are averaged in closed form, and the ratio of :math:`q_i` to its
bell curve, of which a few saddlepoints along the line tell enough, by a grid. What is added to δ is
:math:`\int ((p_i - e^ε p_j)_+ - (g_i - e^ε g_j)_+)_+`, p the second-order densities and g those of the moments:
a mean over lines of an integral along each of them (`docs/proofs/saddlepoint_check.md`, "Noise along a line").
"""

import math
from collections.abc import Sequence
from functools import cached_property

import numpy as np
from attrs import frozen

from distpriv.errors import InvalidModel
from distpriv.framework.arrays import Floats
from distpriv.framework.secrets import Pair
from distpriv.guarantees.bells import Bell
from distpriv.guarantees.bent_bells import a_little_wider, as_far_as, candidates_of, much_wider
from distpriv.guarantees.deciding_points import Choice, largest_term, sticks
from distpriv.guarantees.line_bells import FEW_OFFSETS, OFFSETS, LineBell
from distpriv.guarantees.line_bound import LineNoise
from distpriv.modelling.model import QueryModel
from distpriv.modelling.row_laws import RowLaws
from distpriv.modelling.tilted_law import Saddlepoints, TiltedLaw, law_frame, tilted_laws
from distpriv.modelling.uneven_shapes import both_orders, kinds_of_pairs

__all__ = ["line_second_order"]

KINDS = 6
"""Of how many kinds pairs are looked at, those whose shapes differ most, and as many that moments say most of."""

IN_REACH, FINALISTS = 0.2, 6
"""The share of the worst look from which a pair may still be the worst, and how many are computed."""

CANDIDATES, LINES, SHARES = 512, 256, (0.5, 0.2, 0.3)
"""From how many lines how many are chosen, and which share of them where rows add to what moments tell, where either
of them decides, and everywhere."""

STEPS, MOST_STEPS = 6, 4096
"""How many steps along a line are one deviation of what is Gaussian along it, and how many there may be."""

LEFT_OUT = 1e-6
"""The share of the target's δ that may be beyond the last of them."""

AVERAGED = 0.1
"""The share of what is added that averages over the noise along the line may be off by."""

ERRORS = 3.0
"""How many standard errors are added: a few lines may hold much of an integral."""


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

    def candidates(self, delta: float) -> tuple[Floats, Floats]:
        """Return normal points for lines beside each other, made wider, and the logarithm of their density.

        One of three is from as far out as what decides a δ may be.
        """
        size = len(self.lines[0].axis) - 1
        if size == 0:
            return np.zeros((1, 0)), np.zeros(1)
        bell = Bell(mean=np.zeros(size), covariance=np.eye(size))
        return candidates_of([wider(bell) for wider in (a_little_wider, much_wider, as_far_as(delta))], CANDIDATES)

    @property
    def term_at_rest(self) -> float:
        """|c₂| in the middle of both laws."""
        return max(abs(law.term_at_rest) for law in self.tilted)

    def steps(self, points: Floats, outside: float) -> tuple[Floats, Floats]:
        """Return even steps along the lines through points, beyond which so little is left, and how much each counts.

        Far out both densities fall by the same factor with every step: there the last one stands for all.
        """
        one, other = self.lines
        half, moved = one.law.half(one.own, outside), other.along(points)
        low = min(-half, -other.law.half(other.own, outside) - float(moved.max()))
        high = max(half, other.law.half(other.own, outside) - float(moved.min()))
        count = math.ceil(STEPS * (high - low) / min(one.own, other.own))
        if count > MOST_STEPS:
            raise InvalidModel(
                "scenarios differ too much along the line of the noise to be compared there: use certified_gaussian."
            )
        steps = np.linspace(low, high, count + 1)
        counts = np.full(len(steps), steps[1] - steps[0])
        counts[[0, -1]] *= one.law.beyond(float(steps[1] - steps[0]))
        return steps, counts

    def saddlepoints(self, points: Floats, offsets: Floats) -> list[list[Saddlepoints]]:
        """Return those of both laws at the origins of points, offset by offset."""
        return [
            law.saddlepoints_along(origins := line.origins(points, offsets), [line.bell.tilts(at) for at in origins])
            for law, line in zip(self.tilted, self.lines, strict=True)
        ]


@frozen(kw_only=True, eq=False, slots=False)
class _Sheet:
    """Lines beside each other, and the densities of both laws along them."""

    laws: _Laws
    normals: Floats
    log_chosen: Floats
    """The logarithm of the density that the lines are chosen by."""
    delta: float
    offsets: Floats

    @cached_property
    def points(self) -> Floats:
        """Where the lines go through."""
        return self.laws.lines[0].across(self.normals)

    @cached_property
    def _steps(self) -> tuple[Floats, Floats]:
        return self.laws.steps(self.points, LEFT_OUT * self.delta)

    @cached_property
    def plain(self) -> list[Floats]:
        """The logarithms of both densities by moments, one line a row."""
        return [line.along_lines(self.points, self._steps[0]) for line in self.laws.lines]

    @cached_property
    def saddlepoints(self) -> list[list[Saddlepoints]]:
        """Those of both laws."""
        return self.laws.saddlepoints(self.points, self.offsets)

    @cached_property
    def by_rows(self) -> list[Floats]:
        """The logarithms of both densities by the second-order law."""
        found = []
        for which, (law, line) in enumerate(zip(self.laws.tilted, self.laws.lines, strict=True)):
            logs = [each.log_densities for each in self.saddlepoints[which]]
            more = line.rows_along_lines(self.points, self._steps[0], logs, self.offsets)
            found.append(self.plain[which] + more + math.log(max(1 + law.term_at_rest, 0.1)))
        return found

    def sticks(self, logs: Sequence[Floats], epsilon: float) -> Floats:
        """Return (p_i − e^ε p_j)₊ step by step along each line, as parts of an integral."""
        volume = self.laws.lines[0].log_volume
        return sticks(logs[0], logs[1], epsilon, self.log_chosen[:, np.newaxis] - volume - np.log(self._steps[1]))

    def more(self, epsilon: float, off: float) -> Floats:
        """Return what the rows add to δ along each line, where logarithms of their densities may be off by so much.

        Noise along a line leaves much of the mass with a ratio of densities that is just e^ε, so that a small error in
        their logarithms counts there in full: the second-order law is taken at an ε that is lower by that error, |c₂|.
        """
        exact, plain = self.sticks(self.by_rows, epsilon - off), self.sticks(self.plain, epsilon)
        return np.asarray(np.maximum(exact - plain, 0.0).sum(axis=1))

    def gate(self, epsilon: float) -> float:
        """Return the largest |c₂| of either law on some of the lines, by how much of δ they hold."""
        rest = self.laws.term_at_rest
        held = self.sticks(self.by_rows, epsilon - rest).sum(axis=1)
        if not held.any():
            return rest
        middle = len(self.offsets) // 2
        found = [
            largest_term(law, at[middle], held) for law, at in zip(self.laws.tilted, self.saddlepoints, strict=True)
        ]
        return max(rest, *found)


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
        look = _look(_Laws.of(model, rows, noise, pair), delta)
        seen = look.gate(epsilon)
        looks.append((said[pair] + float(look.more(epsilon, seen).mean()), seen, look))
    looks.sort(key=lambda each: -each[0])
    worst, gate = 0.0, 0.0
    for _, seen, look in [each for each in looks if each[0] >= IN_REACH * looks[0][0]][:FINALISTS]:
        chosen = _chosen(look, epsilon - seen)
        off = max(seen, chosen.gate(epsilon))
        more = chosen.more(epsilon, off)
        added, error = float(more.mean()), float(more.std() / math.sqrt(len(more)))
        bound = noise.delta(model, look.laws.pair, epsilon)
        worst, gate = max(worst, bound + added * (1 + off + AVERAGED) + ERRORS * error), max(gate, off)
    return min(1.0, worst), gate


def _pairs(model: QueryModel, rows: RowLaws, noise: LineNoise, said: dict[Pair, float]) -> list[Pair]:
    """Return ordered pairs of the kinds whose shapes differ most, and of those that moments say most of."""
    kinds = kinds_of_pairs(model, rows, noise.covariance)
    if len(kinds) > KINDS:
        rest = sorted(kinds[KINDS:], key=lambda pair: -max(said.get(pair, 0.0), said.get(pair[::-1], 0.0)))
        kinds = [*kinds[:KINDS], *rest[:KINDS]]
    return [pair for pair in both_orders(kinds) if pair in said]


def _look(laws: _Laws, delta: float) -> _Sheet:
    """Return many lines with few saddlepoints on each."""
    points, offered = laws.candidates(delta)
    return _Sheet(laws=laws, normals=points, log_chosen=offered, delta=delta, offsets=FEW_OFFSETS)


def _chosen(look: _Sheet, epsilon: float) -> _Sheet:
    """Return the lines that tell most, with all saddlepoints."""
    exact, plain = look.sticks(look.by_rows, epsilon), look.sticks(look.plain, epsilon)
    differs, decides = np.abs(exact - plain).sum(axis=1), (exact + plain).sum(axis=1)
    tiny = np.finfo(float).tiny
    kinds = [np.log(each + tiny) + look.log_chosen for each in (differs, decides)]
    kinds.append(-(look.normals**2).sum(axis=1) / 2)
    choice = Choice.of(look.normals, look.log_chosen, kinds, SHARES, differs / (decides + tiny))
    normals_, chosen = choice.points(LINES)
    return _Sheet(laws=look.laws, normals=normals_, log_chosen=chosen, delta=look.delta, offsets=OFFSETS)
