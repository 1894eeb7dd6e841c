r"""The search for Gaussian noise that leaves estimates the least error, or is the least, covariances as they are.

Privacy is a bound on K = (C + S)⁻¹, what the release tells. Let ρ_k(K) be the distance at which two Gaussians of equal
covariance would have the divergence of a pair, δ_G(ε; ρ_k) = H_ε: then ρ_k² ≤ r² is what privacy asks for, r the radius
of ε and δ. Where a pair's covariances are equal ρ_k² is convex in K, and linear if only these two scenarios are there.
So it is made linear around some K, by the gradient of the divergence, and an
:class:`~distpriv.mechanisms.search.semidefinite.InformationProgram` is solved with that as a cut; what it finds is
pulled back until it is private, and gives more cuts. Where cuts cut off too much, as they may with covariances that
differ, the older ones are forgotten and steps get shorter. `docs/proofs/certified_gaussian.md`, "The search". The
numbers are estimates, and the exact check judges what comes out.
"""

import math
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Final, Self

import numpy as np
from attrs import evolve, frozen
from scipy.optimize import brentq
from scipy.special import log_ndtr

from distpriv.deadline import running_late
from distpriv.framework.arrays import Floats
from distpriv.mechanisms.search.gaussian_constraints import GaussianConstraints, Indices
from distpriv.mechanisms.search.semidefinite import InformationProgram
from distpriv.modelling.utility import Objective
from distpriv.progress import Progress, silent

__all__ = ["SETTINGS", "GaussianSearch"]


@frozen(kw_only=True)
class SearchSettings:
    """How the best release is climbed to."""

    least_information: float = 0.02
    """What a release tells at least of any combination, and the share of r² that may cost: noise stays a number."""
    finest: float = 1e-14
    """Where not even so little may be told of all combinations there is no private noise."""
    hair: float = 1e-8
    """By how much less is told than may be, so that rounding does not matter."""
    rounds: int = 60
    """How often the divergences are made linear."""
    negligible: float = 3e-5
    """A gain below this share of the error ends the search, when steps are short."""
    widest: float = 1.0
    """How far a step may go, where no K is farther from another than the root of the number of statistics."""
    cuts: int = 12
    """How many linearisations are used at a time, the newest."""
    in_view: float = 2.0
    """Pairs are in view whose log H is no farther than this from log δ."""
    few: int = 10
    """Of more statistics than this, not all combinations are searched for what to withhold."""
    combinations: int = 7
    """How many are then, those that may tell scenarios apart."""
    coarser: int = 10
    """So many times larger are then gains that are negligible, and hairs by the square of it."""
    in_turn: int = 8
    """And so many pairs are looked at beside those that were looked at before."""
    additions: int = 3
    """How often rounds begin, with more pairs each time."""
    enough: float = 5e-3
    """No pairs are added for a gain, as a share of the error, below this."""
    shifted: int = 2
    """From how many directions of shifts combinations are made."""
    varied: int = 3
    """From how many directions of differences between covariances."""
    rates: tuple[float, ...] = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0)
    """Of many statistics: which share of the public uncertainty noise may cost for each unit of what it hides."""
    doublings: int = 14
    """How often the variance of the noise of a statistic may be doubled for that."""
    worthwhile: float = 0.9
    """The share of the loss that a higher floor must leave at most to begin with: rounds gain more above a low one."""
    resolved: tuple[float, ...] = (0.5, 0.1, 0.01)
    """With which shares of the largest worth what is told instead of a direction is looked for."""


SETTINGS: Final = SearchSettings()


@frozen(kw_only=True, eq=False, slots=False)
class GaussianSearch:
    """A problem in coordinates in which what is publicly unknown and the floor add up to the identity."""

    worth: Floats
    """CQC, C what is publicly unknown and Q the weights; Q for the least noise."""
    unknown: float
    """tr(QC)."""
    constraints: GaussianConstraints
    """The pairs with their ε and δ; its lowest noise is the floor."""
    axes: Floats
    """What turns these coordinates into those that the problem was given in."""
    turned: Floats | None = None
    """The combinations that are searched, where these were chosen before."""
    objective: Objective = "estimate"
    """Whether the error of estimates is to be small, or the noise."""

    @classmethod
    def of(
        cls, constraints: GaussianConstraints, *, unknown: Floats, weights: Floats, objective: Objective = "estimate"
    ) -> Self:
        """Return the problem for pairs in any coordinates."""
        variances, vectors = np.linalg.eigh(unknown + constraints.lowest)
        deviations = np.sqrt(np.maximum(variances, 1e-30 * variances.max()))
        whitening, axes = (vectors / deviations).T, vectors * deviations

        def turned(matrices: Floats) -> Floats:
            return np.asarray(whitening @ matrices @ whitening.T)

        return cls(
            worth=turned(unknown) @ axes.T @ weights @ axes @ turned(unknown)
            if objective == "estimate"
            else axes.T @ weights @ axes,
            objective=objective,
            unknown=float(np.sum(weights * unknown)),
            constraints=evolve(
                constraints,
                lowest=turned(constraints.lowest),
                shifts=constraints.shifts @ whitening.T,
                firsts=turned(constraints.firsts),
                seconds=turned(constraints.seconds),
            ),
            axes=axes,
        )

    @classmethod
    def above_best_floor(
        cls, constraints: GaussianConstraints, *, unknown: Floats, weights: Floats, objective: Objective = "estimate"
    ) -> Self:
        r"""Return the problem above the floor from which a first step removes most; the given one for few statistics.

        Of many statistics only some combinations are searched, and scenarios give themselves away by the variance of
        each of the others too, rare cells of tables above all. Noise of variance s on statistic k costs an estimate
        :math:`q_k C_{kk} s / (C_{kk} + s)` and leaves :math:`(Γ_{kk} - Γ'_{kk})^2 / (Γ_{kk} + s)^2` to tell the
        scenarios apart by. Each s is the best at one rate between the two, and the rate the best of a few.
        """
        plain = cls.of(constraints, unknown=unknown, weights=weights, objective=objective)
        if not plain._coarse or plain.constraints.satisfied:
            return plain
        lowest, variances = np.diag(constraints.lowest), np.diag(unknown)
        added = np.outer(2.0 ** np.arange(SETTINGS.doublings), lowest)
        costs = np.diag(weights) * (variances * added / (variances + added) if objective == "estimate" else added)
        gaps = np.abs(np.diagonal(constraints.firsts - constraints.seconds, axis1=1, axis2=2)).max(axis=0)
        spread = np.diagonal(constraints.firsts + constraints.seconds, axis1=1, axis2=2).mean(axis=0) / 2
        distinct = (gaps / (spread + added)) ** 2
        best, least = plain, plain._first_loss
        for rate in SETTINGS.rates:
            chosen = np.argmin(costs / plain.unknown + rate * distinct, axis=0)[np.newaxis]
            floor = np.take_along_axis(added, chosen, axis=0)[0]
            higher = evolve(constraints, lowest=constraints.lowest + np.diag(floor - lowest))
            raised = cls.of(higher, unknown=unknown, weights=weights, objective=objective)
            if (loss := raised._first_loss) > least:
                break
            best, least = raised, loss
        return best if least < SETTINGS.worthwhile * plain._first_loss else plain

    @property
    def _first_loss(self) -> float:
        """What the search begins with leaves to be desired; infinite where it has nothing to begin with."""
        least = self._least()
        return math.inf if least is None else self._loss(self._start(least))

    def best(self, progress: Progress = silent) -> Floats | None:
        """Return the noise whose release tells most, of those found, as it was asked for; None if none is private."""
        least = self._least()
        if least is None:
            return None
        start = self._start(least)
        if np.array_equal(start, np.eye(len(start))):  # there is nothing left to tell
            return self._as_asked(start)
        few = not self._coarse or len(self.constraints.deltas) <= SETTINGS.in_turn
        climbed = self._climbed if few else self._climbed_in_turn
        return self._as_asked(climbed(start, least, progress))

    def first(self) -> Floats | None:
        """Return the noise that the search begins with: private by estimates, found at once; None if none is."""
        least = self._least()
        return None if least is None else self._as_asked(self._start(least))

    def _start(self, least: float) -> Floats:
        one = np.eye(len(self.worth))
        return one if self._excess(one).max() <= 0 else self._pulled(self._hidden(least), least)

    def _as_asked(self, information: Floats) -> Floats:
        return np.asarray(self.axes @ self.noise(information) @ self.axes.T)

    @cached_property
    def basis(self) -> Floats:
        """The combinations, as columns, of which a search decides how much to tell; all others are told in full.

        Where one shift d is all there is to hide, it is best to withhold a multiple of (W + νI)⁻¹d for some ν: the
        program's maximiser is the projection on the positive part of W − λddᵀ. So these are among them, for several ν.
        """
        if self.turned is not None:
            return self.turned
        size = len(self.worth)
        if size <= SETTINGS.few:
            return np.eye(size)
        shifts = np.linalg.svd(self.constraints.shifts, full_matrices=False)
        moved = [shifts[2][k] for k in range(min(SETTINGS.shifted, size)) if shifts[1][k] > 1e-6 * shifts[1][0]]
        gaps = self.constraints.firsts - self.constraints.seconds
        squares = np.einsum("kij,kjl->il", gaps, gaps)
        varied = np.linalg.eigh(squares)[1][:, ::-1][:, : SETTINGS.varied].T
        values, vectors = np.linalg.eigh(self.worth)
        shares = [share * values[-1] for share in SETTINGS.resolved]
        turned = [vectors @ ((vectors.T @ along) / (values + share)) for share in shares for along in moved]
        chosen: list[Floats] = []
        for along in [*moved, *varied, *turned]:
            left = along / np.linalg.norm(along)
            for known in (*chosen, *chosen):
                left = left - known * float(known @ left)
            if (length := float(np.linalg.norm(left))) > 1e-6 and len(chosen) < SETTINGS.combinations:
                chosen.append(left / length)
        return np.array(chosen).T

    def _outside(self, information: Floats) -> Floats:
        """Return what is told of all combinations that are not searched."""
        rest = np.eye(len(self.worth)) - self.basis @ self.basis.T
        return np.asarray(rest @ information @ rest)

    def _program(self, fixed: Floats, least: float, forms: Floats, bounds: Floats) -> InformationProgram:
        """Return the program for what is told of the combinations that are searched, with all else as it is."""
        basis = self.basis
        return InformationProgram(
            worth=basis.T @ self.worth @ basis,
            least=least,
            forms=basis.T @ forms @ basis,
            bounds=bounds - np.einsum("kij,ij->k", forms, fixed),
            objective=self.objective,
        )

    def _climbed_in_turn(self, here: Floats, least: float, progress: Progress) -> Floats:
        """Return the K that rounds with few pairs end with: those that bind first, and those that it then violates.

        What is found with some of the pairs is pulled back until it is private for all of them.
        """
        chosen = self._nearest(here)
        for _ in range(SETTINGS.additions):
            some = evolve(self, constraints=self.constraints.only(chosen), turned=self.basis)
            beyond = some._climbed(here, least, progress)
            there = self._pulled(beyond, least)
            hoped, gain = self._gain(here, beyond), self._gain(here, there)
            here = there if gain > 0 else here
            if hoped - gain < SETTINGS.enough or running_late():
                break
            chosen = np.union1d(chosen, self._nearest(beyond))
        return here

    def _nearest(self, information: Floats) -> Indices:
        """Return the pairs that are violated most, or least private."""
        return np.argsort(-self._excess(information), kind="stable")[: SETTINGS.in_turn]

    def _climbed(self, here: Floats, least: float, progress: Progress) -> Floats:
        """Return the K that the rounds end with, from one that is private."""
        fresh, reach, cuts = here, SETTINGS.widest, [self._cut(here)]
        negligible = SETTINGS.negligible * (SETTINGS.coarser if self._coarse else 1)
        for k in range(SETTINGS.rounds):
            progress("climbing", k, SETTINGS.rounds)
            if running_late():
                break
            beyond = self._beyond(here, least, reach, cuts[-SETTINGS.cuts :])
            if beyond is None:
                break
            there = self._pulled(beyond, least)
            gain, hoped = self._gain(here, there), self._gain(here, beyond)
            if hoped < negligible:
                if self._gain(fresh, here) < negligible:
                    break
                fresh, reach, cuts = here, SETTINGS.widest, [self._cut(here)]
            elif gain > 0:
                here, reach = there, min(SETTINGS.widest, 2 * reach)
                cuts += [self._cut(beyond), self._cut(here)]
            else:
                reach /= 2
                cuts += [self._cut(beyond)]
        progress("climbing", SETTINGS.rounds, SETTINGS.rounds)
        return here

    @property
    def _coarse(self) -> bool:
        """Whether there are so many statistics that a step takes long."""
        return len(self.worth) > SETTINGS.few

    def _gain(self, here: Floats, there: Floats) -> float:
        """Return how much better it is there, as a share of what is left here."""
        return 1 - self._loss(there) / max(self._loss(here), 1e-300)

    def _beyond(self, here: Floats, least: float, reach: float, cuts: Sequence[tuple[Floats, Floats]]) -> Floats | None:
        forms, bounds = (np.concatenate(parts) for parts in zip(*cuts, strict=True))
        fixed, basis = self._outside(here), self.basis
        program = evolve(self._program(fixed, least, forms, bounds), centre=basis.T @ here @ basis, reach=reach)
        best = program.best()
        return None if best is None else np.asarray(fixed + basis @ best @ basis.T)

    def _loss(self, information: Floats) -> float:
        """Return the weighted mean square error of estimates, or of the noise but for a constant."""
        if self.objective == "noise":
            return float(np.sum(self.worth * np.linalg.inv(information)))
        return self.unknown - float(np.sum(self.worth * information))

    def noise(self, information: Floats) -> Floats:
        """Return S = K⁻¹ − C, at the floor or above."""
        values, vectors = np.linalg.eigh(information)
        above = np.maximum(0.0, 1 / values - 1)
        return np.asarray(self.constraints.lowest + (vectors * above) @ vectors.T)

    def _excess(self, information: Floats) -> Floats:
        return self.constraints.above(self.noise(information), self.constraints.everything)

    def _least(self) -> float | None:
        """Return κ: all combinations may be told so much at once, at next to no cost; None if not even a hair may."""
        radii = self._radii(self.constraints.everything)
        longest = float((np.square(self.constraints.shifts).sum(axis=1) / np.maximum(radii, 1e-150) ** 2).max())
        least = SETTINGS.least_information / max(1.0, longest)
        while self._excess(least * np.eye(len(self.worth))).max() > 0:
            least /= 10
            if least < SETTINGS.finest:
                return None
        return least

    def _radii(self, pairs: Indices) -> Floats:
        """Return the distance that each pair can bear."""
        return _distances(self.constraints.epsilons[pairs], np.log(self.constraints.deltas[pairs]))

    def _hidden(self, least: float) -> Floats:
        """Return a K to begin with: no pair's shift is told more of than it could be if the pair were all there is.

        Two scenarios with one covariance Γ and a shift d have C = Γ + ddᵀ/4, and dᵀ(Γ + S)⁻¹d ≤ r² exactly if
        dᵀKd ≤ r²/(1 + r²/4).
        """
        square = self._radii(self.constraints.everything) ** 2
        shifts = self.constraints.shifts / np.sqrt(square / (1 + square / 4))[:, np.newaxis]
        shifts = np.unique(np.round(np.where(shifts[:, :1] < 0, -shifts, shifts), 9), axis=0)
        forms = shifts[:, :, np.newaxis] * shifts[:, np.newaxis, :]
        fixed = self._outside(np.eye(len(self.worth)))
        hidden = self._program(fixed, least, forms, np.ones(len(forms))).best()
        if hidden is None:
            return least * np.eye(len(self.worth))
        return np.asarray(fixed + self.basis @ hidden @ self.basis.T)

    def _cut(self, here: Floats) -> tuple[Floats, Floats]:
        """Return ρ² made linear, ρ²(K₀) + ⟨∇ρ², K − K₀⟩ ≤ r², as ⟨A, K⟩ ≤ b of each pair in view."""
        excess, slopes = self.constraints.excess(self.noise(here), self.constraints.everything)
        pairs = np.flatnonzero(excess > excess.max() - SETTINGS.in_view)
        epsilons, logarithms = self.constraints.epsilons[pairs], excess[pairs] + np.log(self.constraints.deltas[pairs])
        distances = _distances(epsilons, logarithms)
        # dρ²/d log H = 2ρH/φ(ρ/2 − ε/ρ)
        with np.errstate(over="ignore", divide="ignore"):
            steepness = 2 * distances * np.exp(logarithms - _log_normal_density(distances / 2 - epsilons / distances))
        inverse = np.linalg.inv(here)
        # ∇_K ρ² = -K⁻¹ (∇_S ρ²) K⁻¹
        forms = -steepness[:, np.newaxis, np.newaxis] * (inverse @ slopes[pairs] @ inverse)
        bounds = self._radii(pairs) ** 2 - distances**2 + np.einsum("kij,ij->k", forms, here)
        sizes = np.maximum(np.abs(bounds), 1e-300)
        return forms / sizes[:, np.newaxis, np.newaxis], bounds / sizes

    def _pulled(self, information: Floats, least: float) -> Floats:
        """Return K₀ + c(K − K₀), c ≤ 1 the largest with which it is private.

        K₀ tells κ of all combinations that are searched, or of all there are if the others alone tell too much.
        """
        values, vectors = np.linalg.eigh(information)
        information = (vectors * np.clip(values, least, 1.0)) @ vectors.T
        base = self._outside(information) + least * self.basis @ self.basis.T
        if self._excess(base).max() > 0:
            base = least * np.eye(len(information))

        def along(share: float) -> Floats:
            return np.asarray(base + share * (information - base))

        hot, share = np.zeros(0, dtype=np.intp), 1.0
        while True:
            excess = self._excess(along(share))
            if excess.max() <= 0 or share <= 0:
                return along(share)
            more = np.flatnonzero(excess > max(0.0, excess.max() - SETTINGS.in_view))
            if self._coarse:
                more = more[np.argsort(-excess[more], kind="stable")[: SETTINGS.in_turn]]
            hot = np.union1d(hot, more)
            share = self._largest(along, hot, share)

    def _largest(self, along: Callable[[float], Floats], pairs: Indices, most: float) -> float:
        """Return the largest share, but for a hair, with which some pairs are private."""

        def above(share: float) -> float:
            return float(self.constraints.above(self.noise(along(share)), pairs).max())

        if above(0.0) >= 0:
            return 0.0
        hair = SETTINGS.hair * (SETTINGS.coarser**2 if self._coarse else 1)
        return max(0.0, float(brentq(above, 0.0, most, xtol=hair, rtol=hair)) - 2 * hair)


def _distances(epsilons: Floats, logarithms: Floats) -> Floats:
    """Return the ρ with log δ_G(ε; ρ) as given, by bisection in log ρ."""
    low, high = np.full(len(epsilons), math.log(1e-12)), np.full(len(epsilons), math.log(1e6))
    for _ in range(70):
        middle = np.exp((low + high) / 2)
        first, second = log_ndtr(middle / 2 - epsilons / middle), log_ndtr(-middle / 2 - epsilons / middle)
        with np.errstate(divide="ignore"):
            beyond = first + np.log(-np.expm1(np.minimum(0.0, epsilons + second - first))) > logarithms
        low, high = np.where(beyond, low, np.log(middle)), np.where(beyond, np.log(middle), high)
    return np.asarray(np.exp(low))


def _log_normal_density(values: Floats) -> Floats:
    return np.asarray(-(values**2) / 2.0 - np.log(np.sqrt(2 * np.pi)))
