r"""The linear program behind `optimal_unimodal`: the least E|Z| of a symmetric unimodal step density.

Its unknowns are the masses of |Z| in cells and, for every cell of y, a slack of at least
:math:`\int (p(y) - e^ε p(y + α)) dy` over it, :math:`p = q * N(0, s^2)`; the slacks sum to at most δ. Comparing
integrals over cells misses a little of the divergence where the difference changes sign inside one. So the answer is
only a candidate: it is rounded to exact fractions, its divergence is bounded, and the program is solved again for a
smaller δ until that bound meets the target.
"""

import math
from typing import Any, Final, Literal

import numpy as np
from attrs import evolve, frozen
from scipy import sparse
from scipy.optimize import linprog
from scipy.special import ndtr

from distpriv.distances.unimodal_divergence import unimodal_delta_upper_bound
from distpriv.errors import InvalidTarget
from distpriv.framework.arrays import Floats
from distpriv.framework.target import PrivacyTarget

__all__ = ["Steps", "least_unimodal"]

TOTAL: Final = 2**52
"""Masses are whole multiples of one part in so many, which makes all their partial sums exact."""

REFINED: Final = (1, 4, 16, 64, 256)
"""Where the first cell is cut when there is blur, in 256ths: the best noise may have a spike at 0."""

ATTEMPTS: Final = 5
"""How often δ is lowered before ε is."""

BACK: Final = (0.0, 0.002, 0.01, 0.05)
"""By which share ε is lowered, in turn: where p touches e^ε p(· + α) inside a cell, a smaller δ is no cure."""

TOLERANCE: Final = 1e-10
"""What the solver calls feasible; every row is tightened by twice that, so that its answer is."""

LARGEST_EPSILON: Final = {"blurred": 10.0, "plain": 30.0}
"""Beyond this ε the program is solved for this one: its numbers would be too far apart for the solver."""

MOST_CELLS: Final = 4000
"""How large a program may become."""

RANGE: Final = 1.6
"""By how much the cells reach beyond truncated Laplace noise, which is feasible."""


@frozen(kw_only=True)
class Steps:
    """A symmetric step density: where |Z| has its edges and how likely it is between them, with a proven δ."""

    edges: Floats
    masses: Floats
    delta: float

    @property
    def expected(self) -> float:
        """E|Z|."""
        return float(self.masses @ (self.edges[:-1] + self.edges[1:])) / 2


def least_unimodal(target: PrivacyTarget, *, shift: float, deviation: float, cells: int) -> Steps:
    """Return noise of least E|Z| that hides every shift up to the given one, blurred by N(0, deviation²).

    Args:
        target: ε and δ > 0.
        shift: α, the largest shift.
        deviation: s, the blur; 0 for none.
        cells: about how many cells the density has on either side of 0.
    """
    found = None
    if deviation > 0:
        easier = evolve(target, epsilon=min(target.epsilon, LARGEST_EPSILON["blurred"]))
        grid = _blurred_grid(shift, RANGE * _truncated_laplace(easier, shift), deviation, cells)
        found = None if grid is None else _solved(grid, easier, shift, deviation)
    if found is None or target.epsilon > LARGEST_EPSILON["blurred"]:
        # What hides the shift alone hides it under any blur.
        easier = evolve(target, epsilon=min(target.epsilon, LARGEST_EPSILON["plain"]))
        plain = _solved(_plain_grid(shift, RANGE * _truncated_laplace(easier, shift), cells), easier, shift, 0.0)
        found = min((steps for steps in (found, plain) if steps is not None), key=lambda s: s.expected, default=None)
    if found is None:
        raise InvalidTarget(
            f"no unimodal noise is found whose δ is proven to be at most {target.delta:g} at ε = {target.epsilon:g}: "
            "give a larger delta, or use directional_laplace."
        )
    return found


@frozen(kw_only=True)
class _Grid:
    """Edges as whole multiples of a unit that has few binary digits, so that every edge and width is exact."""

    unit: float
    places: Floats
    shift: float
    """A whole number of cells, where cells are narrower than the shift: at least the shift asked for."""

    @property
    def edges(self) -> Floats:
        return self.places * self.unit


def _truncated_laplace(target: PrivacyTarget, shift: float) -> float:
    """The reach of truncated Laplace noise with the target: (α/ε) ln(1 + (e^ε − 1)/2δ), and α/2δ at ε = 0."""
    epsilon, delta = target.epsilon, target.delta
    if epsilon < 1e-9:
        return shift / (2 * delta)
    return shift / epsilon * math.log1p(math.expm1(epsilon) / (2 * delta))


def _plain_grid(shift: float, reach: float, cells: int) -> _Grid:
    """Equal cells of which an even number make up the shift: then the program is exact."""
    per_shift = 2 * max(1, math.ceil(cells * shift / reach / 2))
    count = math.ceil(reach / shift * per_shift) + 1
    if count > MOST_CELLS:
        raise InvalidTarget(
            f"unimodal noise would need {count:,} cells to hide this shift, and {MOST_CELLS:,} are possible: give a "
            "larger epsilon or delta, or use directional_gaussian."
        )
    unit = _few_digits(shift / per_shift)
    return _Grid(unit=unit, places=np.arange(count + 1.0), shift=per_shift * unit)


def _blurred_grid(shift: float, reach: float, deviation: float, cells: int) -> _Grid | None:
    """Equal cells but for the first, which is refined; none where cells would have to be wider than the blur."""
    width = reach / cells
    if width < shift:
        width = shift / (2 * math.ceil(shift / width / 2))
    if width > deviation:
        return None
    places = np.concatenate([[0.0], REFINED, REFINED[-1] * np.arange(2.0, math.ceil(reach / width) + 1)])
    return _Grid(unit=_few_digits(width / REFINED[-1]), places=places, shift=shift)


def _few_digits(value: float) -> float:
    """Round up to 30 binary digits."""
    fraction, exponent = math.frexp(value)
    return math.ldexp(math.ceil(fraction * 2**30), exponent - 30)


def _solved(grid: _Grid, target: PrivacyTarget, shift: float, deviation: float) -> Steps | None:
    """Solve for the target and for a little less, until the proven δ is at most the target's.

    `docs/proofs/optimal_unimodal.md`, "The program", *Until it is proven*.
    """
    for back in BACK:
        program = _program(grid, deviation, target.epsilon * (1 - back), target.delta)
        aim = target.delta
        for _ in range(ATTEMPTS):
            densities = _densities(program, aim)
            if densities is None:
                break
            found = _checked(grid, densities, target, shift, deviation)
            if found.delta <= target.delta:
                return found
            aim -= 1.2 * (found.delta - target.delta) + 1e-6 * target.delta
            if aim < target.delta / 4:
                break
    return None


def _checked(grid: _Grid, densities: Floats, target: PrivacyTarget, shift: float, deviation: float) -> Steps:
    masses = _whole(grid, densities)
    kept = int(np.flatnonzero(masses)[-1]) + 1
    edges, masses = grid.edges[: kept + 1], masses[:kept]
    delta = unimodal_delta_upper_bound(edges, masses, shift=shift, deviation=deviation, epsilon=target.epsilon)
    return Steps(edges=edges, masses=masses, delta=delta)


def _whole(grid: _Grid, densities: Floats) -> Floats:
    """Round masses down to whole multiples that never increase per unit, and give the rest to the first cell."""
    widths = np.diff(grid.places)
    falling = np.maximum.accumulate(np.maximum(densities, 0.0)[::-1])[::-1]
    whole = np.floor(falling * (TOTAL / float(falling @ widths)) * (1 - 1e-13)) * widths
    rest = TOTAL - int(sum(map(int, whole.tolist())))
    whole[0] += rest
    return np.asarray(whole / TOTAL)


@frozen(kw_only=True)
class _Program:
    """The program on one grid, all but δ: masses measured by `scale`, then one slack for every cell of y."""

    scale: Floats
    heights: Floats
    rows: sparse.csr_matrix
    budget: Floats
    total: Floats
    cost: Floats


def _program(grid: _Grid, deviation: float, epsilon: float, delta: float) -> _Program:
    """Write the program down, measured against Laplace noise so that all numbers are near 1 for the solver."""
    edges, shift = grid.edges, grid.shift
    widths = np.diff(edges)
    decay = np.exp(-np.minimum(epsilon * edges[:-1] / shift, -math.log(delta / 100)))
    heights = decay / float(decay @ widths)
    scale = heights * widths
    lines = _lines(edges, shift, deviation)
    # ∫ (p(y) − e^ε p(y + α)) dy over every cell of y, a row each, by the masses of the cells of |Z|, a column each.
    excess = _cell_masses(lines, edges, deviation)
    excess = scale * (excess - math.exp(epsilon) * _cell_masses(lines + shift, edges, deviation))
    excess[np.abs(excess) < 1e-14] = 0.0
    sizes = np.abs(excess).max(axis=1)
    excess, sizes = excess[sizes > 0], sizes[sizes > 0]
    count, slacks = len(widths), np.zeros(len(sizes))
    falling = sparse.eye_array(count - 1, count, k=1) * (heights[1:] / heights[:-1])[:, np.newaxis]
    falling = falling - sparse.eye_array(count - 1, count)
    return _Program(
        scale=scale,
        heights=heights,
        rows=sparse.csr_matrix(
            sparse.block_array([[excess / sizes[:, np.newaxis], -sparse.eye_array(len(sizes))], [falling, None]])
        ),
        budget=np.concatenate([np.zeros(count), sizes]),
        total=np.concatenate([scale, slacks]),
        cost=np.concatenate([scale * (edges[:-1] + edges[1:]) / (2 * shift), slacks]),
    )


def _densities(program: _Program, delta: float) -> Floats | None:
    """Return the density of |Z| in every cell for this δ, or nothing if the solver finds none."""
    rows = sparse.vstack([program.rows, sparse.csr_matrix(program.budget / delta)])
    count = len(program.scale)
    limits = np.append(np.full(program.rows.shape[0], -2 * TOLERANCE), 1.0)
    limits[-count:-1] = 0.0  # that densities fall is made exact afterwards
    methods: tuple[Literal["highs-ds", "highs-ipm"], ...] = ("highs-ipm", "highs-ds")
    for method in methods:
        found: Any = linprog(  # type: ignore[call-overload] # the stubs do not know of sparse rows
            program.cost,
            A_ub=rows,
            b_ub=limits,
            A_eq=program.total[np.newaxis],
            b_eq=[1.0],
            method=method,
            options={"primal_feasibility_tolerance": TOLERANCE, "dual_feasibility_tolerance": TOLERANCE},
        )
        if found.status == 0:
            return np.asarray(found.x[:count] * program.heights)
    return None


def _lines(edges: Floats, shift: float, deviation: float) -> Floats:
    """Where the cells of y end, from −α/2 on: at the edges, or much finer than the blur."""
    cell = float(edges[-1] - edges[-2])
    width = max(min(cell, deviation / 8), deviation / 16, cell / 4) if deviation > 0 else cell
    end = float(edges[-1]) + 7 * deviation
    return np.asarray(-shift / 2 + width * np.arange(math.ceil((end + shift / 2) / width) + 1))


def _cell_masses(lines: Floats, edges: Floats, deviation: float) -> Floats:
    """How likely Y is between two lines, given that |Z| is in a cell: one row for each of the former."""
    return np.asarray(-np.diff(_tails(lines, edges, deviation), axis=0))


def _tails(lines: Floats, edges: Floats, deviation: float) -> Floats:
    """Pr[Y > y] at every line, given the cell of |Z|."""
    y = lines[:, np.newaxis]
    if deviation == 0:
        beyond = np.diff(np.minimum(np.maximum(edges, np.abs(y)), edges[-1]), axis=1) / np.diff(edges) / 2
        return np.asarray(np.where(y >= 0, beyond, 1 - beyond))
    right, left = (y - edges) / deviation, (y + edges) / deviation
    losses = [np.exp(-(x**2) / 2) / math.sqrt(2 * math.pi) - x * ndtr(-x) for x in (right, left)]
    return np.asarray(np.diff(losses[0] - losses[1], axis=1) * (deviation / 2) / np.diff(edges))
