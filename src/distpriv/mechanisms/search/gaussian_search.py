"""The search for the Gaussian noise of the least weighted mean square whose divergences are small enough.

The divergence falls as noise grows, so any shape becomes feasible by scaling, if scaling can do it at all. No convexity
is known: the search starts from several shapes and finds a local minimum, by estimates and only for the pairs that
matter. The numbers below are those of `docs/proofs/certified_gaussian.md`, "The search"; the exact check judges.
"""

from collections.abc import Iterable
from functools import cache
from typing import Any, Final, Self

import numpy as np
from attrs import evolve, frozen
from numpy.typing import NDArray
from scipy.optimize import minimize

from distpriv.deadline import require_time, running_late
from distpriv.distances.gaussian import analytic_radius, mahalanobis
from distpriv.distances.gaussian.estimates import hockey_stick_estimates, hockey_stick_slopes
from distpriv.framework.arrays import Floats
from distpriv.framework.bisection import least_crossing
from distpriv.mechanisms.search.semidefinite import least_majorant
from distpriv.progress import Progress, silent

__all__ = ["Indices", "Search", "least_noise", "pooled_noise"]

Indices = NDArray[np.intp]


@frozen(kw_only=True)
class SearchSettings:
    """How noise is searched for."""

    added: int = 6
    """Violated pairs that are added at a time."""
    additions: int = 8
    """How often pairs are added before the noise is scaled instead."""
    variables: int = 200
    """With more than so many unknowns the noise above the floor is sought with fewer axes than there are statistics."""
    steps: int = 12_000
    """Steps a minimisation may take, times the number of unknowns: a step costs more the more there are."""
    largest: float = 7e10
    """The largest scaling that is tried, from where base and shape are alike; its inverse is the smallest."""
    farthest: float = 1e100
    """Unknowns of a minimisation, in units of the noise it starts with, are never larger: their squares are numbers."""
    tiny: float = 1e-290
    """Divergences below this count as this."""
    starts: int = 2
    """Shapes that are descended from; with more than `few` statistics, where that is slow, one."""
    few: int = 10


SETTINGS: Final = SearchSettings()


@frozen(kw_only=True, eq=False)
class Search:
    """A problem in the statistics' natural units; ε, δ, shift and covariances have an entry for every ordered pair."""

    costs: Floats
    lowest: Floats
    epsilons: Floats
    deltas: Floats
    shifts: Floats
    firsts: Floats
    seconds: Floats

    @property
    def everything(self) -> Indices:
        """The numbers of all pairs."""
        return np.arange(len(self.deltas))

    def only(self, pairs: Indices) -> Self:
        """Return the problem of some of the pairs."""
        of_pairs = ("epsilons", "deltas", "shifts", "firsts", "seconds")
        return evolve(self, **{name: getattr(self, name)[pairs] for name in of_pairs})

    def cost(self, covariance: Floats) -> float:
        """The weighted trace."""
        return float(self.costs @ np.diag(covariance))

    def excess(self, covariance: Floats, pairs: Indices) -> tuple[Floats, Floats]:
        """Return log H − log δ of some pairs, and its gradients in S."""
        require_time()
        firsts, seconds = self.firsts[pairs] + covariance, self.seconds[pairs] + covariance
        try:
            slopes = hockey_stick_slopes(self.epsilons[pairs], self.shifts[pairs], firsts, seconds)
        except np.linalg.LinAlgError:  # too uneven to be computed with: not to be taken
            return -np.log(self.deltas[pairs]), np.zeros_like(firsts)
        values = np.maximum(slopes.values, SETTINGS.tiny)
        gradients = np.where(np.isfinite(slopes.gradients), slopes.gradients, 0.0) / values[:, np.newaxis, np.newaxis]
        return np.log(values) - np.log(self.deltas[pairs]), gradients

    def above(self, covariance: Floats, pairs: Indices) -> Floats:
        """Return log H − log δ of some pairs."""
        require_time()
        firsts, seconds = self.firsts[pairs] + covariance, self.seconds[pairs] + covariance
        try:
            values = hockey_stick_estimates(self.epsilons[pairs], self.shifts[pairs], firsts, seconds)
        except np.linalg.LinAlgError:
            return np.asarray(-np.log(self.deltas[pairs]))
        return np.asarray(np.log(np.maximum(values, SETTINGS.tiny)) - np.log(self.deltas[pairs]))

    @property
    def satisfied(self) -> bool:
        """Whether noise at the floor is enough."""
        return not len(self.worst(self.lowest))

    def worst(self, covariance: Floats, beside: Indices | None = None) -> Indices:
        """Return the pairs that are violated most, a few of them, beside those known already."""
        excess = self.above(covariance, self.everything)
        violated = np.flatnonzero(excess > 1e-9)
        violated = np.setdiff1d(violated, [] if beside is None else beside)
        return violated[np.argsort(-excess[violated], kind="stable")][: SETTINGS.added]

    def scaled(self, base: Floats, shape: Floats) -> Floats | None:
        """Return base + c · shape with the least c ≥ 0 that is feasible (3 and 5); None if there is none."""
        hot, scale = self.worst(base), 0.0
        while len(hot):
            scale = max(scale, self._scale(base, shape, hot))
            if scale == np.inf:
                return None
            more = self.worst(base + scale * shape, hot)
            if not len(more):
                break
            hot = np.append(hot, more)
        return np.asarray(base + scale * shape)

    def _scale(self, base: Floats, shape: Floats, pairs: Indices) -> float:
        """Return the least c with max_ij log H_ε(base + c · shape) ≤ log δ over some pairs; infinite if there is none."""
        alike = float(np.trace(base) / np.trace(shape))

        def excess(scale: float) -> float:
            return float(self.above(base + scale * shape, pairs).max())

        of = {"least": alike / SETTINGS.largest, "largest": alike * SETTINGS.largest, "within": 1e-11}
        return least_crossing(excess, alike, **of) * (1 + 1e-10)

    def descended(self, start: Floats) -> Floats | None:
        """Return a local minimum near a start, found on a factor of S − F (4), and made feasible by scaling (5)."""
        count = min(len(self.costs), max(2, SETTINGS.variables // len(self.costs)))
        factor = _factor(start - self.lowest, count)
        excess = self.above(start, self.everything)
        hot = np.argsort(-excess, kind="stable")[: SETTINGS.added]
        for _ in range(1 if running_late() else SETTINGS.additions):
            factor = self._minimum(_factor(factor @ factor.T, count), np.eye(count), hot)
            factor = self._minimum(np.eye(len(factor)), factor, hot)
            more = self.worst(self.lowest + factor @ factor.T, hot)
            if not len(more):
                break
            hot = np.append(hot, more)
        return self.scaled(self.lowest, factor @ factor.T)

    def _minimum(self, frame: Floats, start: Floats, pairs: Indices) -> Floats:
        """Minimise over S = F + LLᵀ, L = BX with a fixed B, some pairs in view, by sequential quadratic programming.

        B a factor of the noise and X = I takes long steps along strong and weak axes alike; B = I and X the factor is
        for axes that shrink to nothing.
        """
        pulled = (frame.T * self.costs) @ frame / self.cost(frame @ start @ start.T @ frame.T)
        known: dict[bytes, tuple[Floats, Floats]] = {}

        def constraint(x: Floats) -> tuple[Floats, Floats]:
            if x.tobytes() not in known:
                known.clear()
                known[x.tobytes()] = self._margins(frame, x.reshape(start.shape), pairs)
            return known[x.tobytes()]

        programming: Any = minimize  # its stubs know no constraints without arguments
        solution = programming(
            lambda x: _quadratic(pulled, x.reshape(start.shape)),
            start.ravel(),
            jac=lambda x: 2 * (pulled @ x.reshape(start.shape)).ravel(),
            constraints={"type": "ineq", "fun": lambda x: constraint(x)[0], "jac": lambda x: constraint(x)[1]},
            method="SLSQP",
            options={"maxiter": min(200, SETTINGS.steps // start.size), "ftol": 1e-6},
        )
        moved = solution.x if np.isfinite(solution.x).all() else start.ravel()
        return np.asarray(frame @ moved.reshape(start.shape))

    def _margins(self, frame: Floats, x: Floats, pairs: Indices) -> tuple[Floats, Floats]:
        """Return log δ − log H of some pairs for S = F + LLᵀ, L = BX, and its gradients in X, one row for each."""
        if not np.abs(x).max() <= SETTINGS.farthest:
            return np.log(self.deltas[pairs]), np.zeros((len(pairs), x.size))  # not to be taken
        factor = frame @ x
        excess, gradients = self.excess(self.lowest + factor @ factor.T, pairs)
        return -excess, -2 * (frame.T @ gradients @ factor).reshape(len(pairs), -1)

    def cheapest(self, candidates: Iterable[Floats | None]) -> list[Floats]:
        """Return those candidates that could be made feasible, the cheapest first."""
        feasible = [c for c in candidates if c is not None and np.isfinite(c).all()]
        return sorted(feasible, key=self.cost)


def _quadratic(form: Floats, x: Floats) -> float:
    """Return tr(XᵀPX), infinite for an X that no search should go to.

    Where H is flat in the noise, as it is where it has underflowed, a quadratic program takes steps of any length: its
    numbers would overflow. The line search after it takes back a step to where the cost is infinite.
    """
    return float(x.ravel() @ (form @ x).ravel()) if np.abs(x).max() <= SETTINGS.farthest else np.inf


def _factor(covariance: Floats, count: int) -> Floats:
    """Return L with so many columns and LLᵀ near the covariance; no column is zero, where no search could leave it."""
    variances, axes = np.linalg.eigh(covariance)
    deviations = np.sqrt(np.maximum(variances, 1e-3 * variances.max()))
    return np.asarray((axes * deviations)[:, ::-1][:, :count])


def least_noise(search: Search, progress: Progress = silent) -> Floats | None:
    """Return private noise with a small trace, a local minimum as a rule; None if no scaling makes it private.

    The result is never worse than noise of the same size on all statistics, or than the noise that would do with pooled
    covariances, above the floor and scaled until it is private.
    """
    if search.satisfied:
        return search.lowest
    size = len(search.costs)
    shapes = [np.eye(size)] if size == 1 else [np.eye(size), pooled_noise(search) - search.lowest]
    shapes = [shape for shape in shapes if np.trace(shape) > 0]
    feasible = search.cheapest(
        [search.scaled(search.lowest, shape) for shape in shapes]
        + [search.scaled(search.lowest + shape, search.lowest + shape) for shape in shapes]
    )
    starts = 0 if size == 1 else SETTINGS.starts if size <= SETTINGS.few else 1
    descended = []
    for k, start in enumerate(feasible[:starts]):
        progress("descending", k, starts)
        descended.append(search.descended(start))
    progress("descending", starts, starts)
    return next(iter(search.cheapest([*feasible, *descended])), None)


def pooled_noise(search: Search) -> Floats:
    r"""Return the least noise above the floor that hides every shift, the covariances of a pair replaced by their mean.

    With one covariance a pair is private exactly if :math:`dᵀ(Σ + S)^{-1}d ≤ r^2`, which is :math:`S ⪰ ddᵀ/r^2 - Σ`.
    """
    radius = cache(analytic_radius)
    radii = np.array([radius(float(e), float(d)) for e, d in zip(search.epsilons, search.deltas, strict=True)])
    pooled = (search.firsts + search.seconds) / 2
    shifts = search.shifts / np.maximum(radii, 1e-100)[:, np.newaxis]
    bare = [k for k, shift in enumerate(shifts) if mahalanobis(shift, pooled[k] + search.lowest) > 1]
    if not bare:
        return search.lowest
    missing = [np.outer(shifts[k], shifts[k]) - pooled[k] for k in bare]
    return least_majorant(search.costs, np.array([*missing, search.lowest]))
