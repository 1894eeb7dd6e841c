r"""The search for the noise whose release tells most, covariances as they are.

Privacy is a bound on K = (C + S)⁻¹, what the release tells. Let ρ_k(K) be the distance at which two Gaussians of equal
covariance would have the divergence of a pair, δ_G(ε; ρ_k) = H_ε: then ρ_k² ≤ r² is what privacy asks for, r the radius
of ε and δ. Where a pair's covariances are equal ρ_k² is convex in K, and linear if only these two scenarios are there.
So it is made linear around some K, by the gradient of the divergence, and the program of
:mod:`distpriv.mechanisms.search.information_program` is solved with that as a cut; what it finds is pulled back until
it is private, and gives more cuts. Where cuts cut off too much, as they may with covariances that differ, the older
ones are forgotten and steps get shorter. `docs/proofs/informative_gaussian.md`, "The search". The numbers are
estimates, and the exact check judges what comes out.
"""

import math
from collections.abc import Callable, Sequence
from typing import Final, Self

import numpy as np
from attrs import evolve, frozen
from scipy.optimize import brentq
from scipy.special import log_ndtr

from distpriv.framework.arrays import Floats
from distpriv.mechanisms.search.gaussian_search import Indices, Search
from distpriv.mechanisms.search.information_program import InformationProgram
from distpriv.progress import Progress, silent

__all__ = ["InformativeSearch"]

TOLD_AT_LEAST: Final = 0.02
"""What a release tells at least of any combination, and the share of r² that this may cost: noise stays a number."""
FINEST: Final = 1e-14
HAIR: Final = 1e-8
"""By how much less is told than may be, so that rounding does not matter."""
ROUNDS: Final = 60
"""How often the divergences are made linear."""
NEGLIGIBLE: Final = 3e-5
"""A gain below this share of the error ends the search, when steps are short."""
WIDEST: Final = 1.0
"""How far a step may go, where no K is farther from another than the root of the number of statistics."""
KEPT: Final = 12
"""How many linearisations are kept."""
IN_VIEW: Final = 2.0
"""Pairs are in view whose log H is no farther than this from log δ."""


@frozen(kw_only=True, eq=False)
class InformativeSearch:
    """A problem in coordinates in which what is publicly unknown and the floor add up to the identity."""

    worth: Floats
    """CQC, C what is publicly unknown and Q the weights."""
    unknown: float
    """tr(QC)."""
    search: Search
    """The pairs with their ε and δ; its lowest noise is the floor."""
    axes: Floats
    """What turns these coordinates into those that the problem was given in."""

    @classmethod
    def of(cls, search: Search, *, unknown: Floats, weights: Floats) -> Self:
        """Return the problem for pairs in any coordinates.

        Args:
            search: the pairs and the floor.
            unknown: C.
            weights: Q.
        """
        variances, vectors = np.linalg.eigh(unknown + search.lowest)
        deviations = np.sqrt(np.maximum(variances, 1e-30 * variances.max()))
        whitening, axes = (vectors / deviations).T, vectors * deviations

        def turned(matrices: Floats) -> Floats:
            return np.asarray(whitening @ matrices @ whitening.T)

        return cls(
            worth=turned(unknown) @ axes.T @ weights @ axes @ turned(unknown),
            unknown=float(np.sum(weights * unknown)),
            search=evolve(
                search,
                lowest=turned(search.lowest),
                shifts=search.shifts @ whitening.T,
                firsts=turned(search.firsts),
                seconds=turned(search.seconds),
            ),
            axes=axes,
        )

    def best(self, progress: Progress = silent) -> Floats:
        """Return the noise whose release tells most, of those found, as it was asked for; 0 if none is private."""
        one, least = np.eye(len(self.worth)), self._least()
        if least is None:
            return np.zeros_like(one)
        enough = self._excess(one).max() <= 0
        found = one if enough else self._climbed(self._pulled(self._hidden(least), least), least, progress)
        return np.asarray(self.axes @ self.noise(found) @ self.axes.T)

    def _climbed(self, here: Floats, least: float, progress: Progress) -> Floats:
        """Return the K that the rounds end with, from one that is private."""
        fresh, reach, cuts = here, WIDEST, [self._cut(here)]
        for k in range(ROUNDS):
            progress("climbing", k, ROUNDS)
            beyond = self._beyond(here, least, reach, cuts[-KEPT:])
            if beyond is None:
                break
            there = self._pulled(beyond, least)
            gain, hoped = self._gain(here, there), self._gain(here, beyond)
            if hoped < NEGLIGIBLE:
                if self._gain(fresh, here) < NEGLIGIBLE:
                    break
                fresh, reach, cuts = here, WIDEST, [self._cut(here)]
            elif gain > 0:
                here, reach = there, min(WIDEST, 2 * reach)
                cuts += [self._cut(beyond), self._cut(here)]
            else:
                reach /= 2
                cuts += [self._cut(beyond)]
        progress("climbing", ROUNDS, ROUNDS)
        return here

    def _gain(self, here: Floats, there: Floats) -> float:
        """Return how much more is told there, as a share of what is left to know here."""
        return (self.told(there) - self.told(here)) / max(self.unknown - self.told(here), 1e-300)

    def _beyond(self, here: Floats, least: float, reach: float, cuts: Sequence[tuple[Floats, Floats]]) -> Floats | None:
        forms, bounds = (np.concatenate(parts) for parts in zip(*cuts, strict=True))
        return InformationProgram(
            worth=self.worth, least=least, forms=forms, bounds=bounds, centre=here, reach=reach
        ).best()

    def told(self, information: Floats) -> float:
        """Return the weighted uncertainty that the estimate removes."""
        return float(np.sum(self.worth * information))

    def noise(self, information: Floats) -> Floats:
        """Return S = K⁻¹ − C, at the floor or above."""
        values, vectors = np.linalg.eigh(information)
        above = np.maximum(0.0, 1 / values - 1)
        return np.asarray(self.search.lowest + (vectors * above) @ vectors.T)

    def _excess(self, information: Floats) -> Floats:
        return self.search.excess(self.noise(information), self.search.everything)[0]

    def _least(self) -> float | None:
        """Return κ: all combinations may be told so much at once, at next to no cost; None if not even a hair may."""
        radii = self._radii(self.search.everything)
        longest = float((np.square(self.search.shifts).sum(axis=1) / np.maximum(radii, 1e-150) ** 2).max())
        least = TOLD_AT_LEAST / max(1.0, longest)
        while self._excess(least * np.eye(len(self.worth))).max() > 0:
            least /= 10
            if least < FINEST:
                return None
        return least

    def _radii(self, pairs: Indices) -> Floats:
        """Return the distance that each pair can bear."""
        return _distances(self.search.epsilons[pairs], np.log(self.search.deltas[pairs]))

    def _hidden(self, least: float) -> Floats:
        """Return a K to begin with: no pair's shift is told more of than it could be if the pair were all there is.

        Two scenarios with one covariance Γ and a shift d have C = Γ + ddᵀ/4, and dᵀ(Γ + S)⁻¹d ≤ r² exactly if
        dᵀKd ≤ r²/(1 + r²/4).
        """
        square = self._radii(self.search.everything) ** 2
        shifts = self.search.shifts / np.sqrt(square / (1 + square / 4))[:, np.newaxis]
        shifts = np.unique(np.round(np.where(shifts[:, :1] < 0, -shifts, shifts), 9), axis=0)
        forms = shifts[:, :, np.newaxis] * shifts[:, np.newaxis, :]
        found = InformationProgram(worth=self.worth, least=least, forms=forms, bounds=np.ones(len(forms))).best()
        return least * np.eye(len(self.worth)) if found is None else found

    def _cut(self, here: Floats) -> tuple[Floats, Floats]:
        """Return ρ² made linear, ρ²(K₀) + ⟨∇ρ², K − K₀⟩ ≤ r², as ⟨A, K⟩ ≤ b of each pair in view."""
        excess, slopes = self.search.excess(self.noise(here), self.search.everything)
        pairs = np.flatnonzero(excess > excess.max() - IN_VIEW)
        epsilons, logarithms = self.search.epsilons[pairs], excess[pairs] + np.log(self.search.deltas[pairs])
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
        """Return κI + c(K − κI), c ≤ 1 the largest with which it is private."""
        values, vectors = np.linalg.eigh(information)
        information = (vectors * np.clip(values, least, 1.0)) @ vectors.T
        base = least * np.eye(len(information))

        def along(share: float) -> Floats:
            return np.asarray(base + share * (information - base))

        hot, share = np.zeros(0, dtype=np.intp), 1.0
        while True:
            excess = self._excess(along(share))
            if excess.max() <= 0 or share <= 0:
                return along(share)
            hot = np.union1d(hot, np.flatnonzero(excess > max(0.0, excess.max() - IN_VIEW)))
            share = self._largest(along, hot, share)

    def _largest(self, along: Callable[[float], Floats], pairs: Indices, most: float) -> float:
        """Return the largest share, but for a hair, with which some pairs are private."""

        def above(share: float) -> float:
            return float(self.search.excess(self.noise(along(share)), pairs)[0].max())

        if above(0.0) >= 0:
            return 0.0
        return max(0.0, float(brentq(above, 0.0, most, xtol=HAIR, rtol=HAIR)) - 2 * HAIR)


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
