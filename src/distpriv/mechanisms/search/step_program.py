r"""The linear program behind `exact_law`: the least symmetric unimodal noise on whole steps.

Noise is even on −k … k steps with probability :math:`a_k`, and δ of an ordered pair is a sum over bins of the steps of
the largest of many linear functions of a. So a program with a slack for every pair and bin, of at least what the sets
of the noises tried so far say, is solved again until its noise keeps δ (`docs/proofs/exact_law.md`, "The program").
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

import numpy as np
from attrs import frozen
from numpy.typing import NDArray
from scipy import sparse
from scipy.optimize import linprog

from distpriv.errors import InvalidTarget
from distpriv.framework.arrays import Floats
from distpriv.framework.bisection import least_passing
from distpriv.framework.scenarios import Pair
from distpriv.framework.target import PrivacyTarget
from distpriv.law.step_laws import MARGIN, EvenSums, StepLaws
from distpriv.noise.laws import UnimodalNoise

__all__ = ["least_on_steps"]


@frozen(kw_only=True)
class Settings:
    """How the program is solved."""

    fineness: float = 1.05
    """The factor from one width to the next, where that is more than a step."""
    bins: int = 64
    """Into how many bins the steps are divided, about equally likely ones."""
    rounds: int = 60
    """How often the program is solved at most."""
    violated: int = 4
    """Of how many pairs, the worst, sets are taken in a round."""
    room: float = 1e-3
    """The share of δ that is left between the program's noise and the target, so that rounds end."""
    widest: float = 2.0**20
    """Noise that is wider, in steps, is out of proportion."""
    nothing: float = 1e-12
    """A probability below this says nothing that a program could be told."""
    least_share: float = 2.0**-8
    """The narrowest geometric noise, as a share of the one that is known to do."""
    within: float = 2e-3
    """By which share of itself such a share, or that of this noise in a mixture, may be too large."""
    tail: float = 4.0
    """Noise reaches so many scales farther than where its tail is δ."""


SETTINGS: Final = Settings()

Cut = tuple[int, int, Floats]
"""The number of a limit, of a bin, and what a set in it says of noise of every width."""


def least_on_steps(
    laws: StepLaws, targets: Sequence[PrivacyTarget], pairs: Sequence[Pair], step: float
) -> UnimodalNoise:
    """Return the symmetric unimodal noise of least variance that meets all targets; one step at least.

    On steps of these laws it is even on −k … k, with an even part of one step; it is given in the statistic's units.

    Raises:
        InvalidTarget: no noise of a reasonable width has so small a δ.

    >>> laws = StepLaws(step=1.0, origin=0.0, masses={"a": np.array([1.0, 0]), "b": np.array([0, 1.0])}, outside=0.0)
    >>> noise = least_on_steps(laws, [PrivacyTarget(epsilon=1.0, delta=0.05)], [("a", "b"), ("b", "a")], step=1.0)
    >>> round(noise.expected_rms, 2)
    1.34
    """
    names = list(laws.masses)
    limits = []
    for target in targets:
        ratio = math.exp(target.epsilon)
        left = target.delta * (1 - SETTINGS.room / 10) - (1 + ratio) * (laws.outside + MARGIN)
        if left <= target.delta / 2:
            raise InvalidTarget(
                f"the exact law is known to {laws.outside:.1g}, too little for delta = {target.delta:g} at epsilon = "
                f"{target.epsilon:g}: give a larger delta, or use coupled_gaussian."
            )
        limits += [
            Limit(first=names.index(one), second=names.index(other), ratio=ratio, delta=left) for one, other in pairs
        ]
    left = min(limit.delta for limit in limits)
    scale = 1.0
    while (widest := math.ceil(scale * (1 + SETTINGS.tail - math.log(left)))) <= SETTINGS.widest:
        problem = _Problem.of(laws.masses.values(), limits, widest)
        if problem.keeps(problem.geometric(scale)):
            shares = _solved(problem, scale)
            widths = (problem.widths[shares > 0] + 0.5).astype(np.float64)
            return UnimodalNoise.mixed(np.ones(1), widths * step, shares[shares > 0])
        scale *= 2
    raise InvalidTarget(
        f"no noise on steps of {laws.step:g} has delta = {targets[0].delta:g} at epsilon = {targets[0].epsilon:g} "
        "within reason: give a larger epsilon or delta."
    )


@frozen(kw_only=True)
class Limit:
    """What is asked of an ordered pair, by the numbers of its laws: a δ at ε, given as e^ε."""

    first: int
    second: int
    ratio: float
    delta: float

    def excess(self, laws: Floats) -> Floats:
        """Return p − e^ε q on every step."""
        return np.asarray(laws[self.first] - self.ratio * laws[self.second])


@frozen(kw_only=True, eq=False)
class _Problem:
    """The laws, what is asked of their pairs, and widths."""

    laws: EvenSums
    limits: Sequence[Limit]
    widths: NDArray[np.int64]

    @classmethod
    def of(cls, laws: Iterable[Floats], limits: Sequence[Limit], widest: int) -> "_Problem":
        """Return the problem for widths up to one: neighbouring ones are a factor apart, or a step."""
        widths = [1]
        while widths[-1] < widest:
            widths.append(max(widths[-1] + 1, math.floor(widths[-1] * SETTINGS.fineness)))
        sums = EvenSums.of(laws, widths[-1])
        return cls(laws=sums, limits=limits, widths=np.array(widths))

    def geometric(self, scale: float) -> Floats:
        """Return the shares of noise whose probabilities fall like e^(−k/scale), as far as these widths reach."""
        heights = np.exp(-self.widths / scale)
        shares = -np.diff(np.append(heights, 0.0)) * (2 * self.widths + 1)
        return np.asarray(shares / shares.sum())

    def mixed(self, shares: Floats) -> Floats:
        """Return the laws with a mixture of noise of these widths."""
        return self.laws.mixed(self.widths.astype(np.float64), shares)

    def spent(self, noisy: Floats) -> Floats:
        """Return δ of every pair, as a share of its limit."""
        return np.array([np.maximum(limit.excess(noisy), 0.0).sum() / limit.delta for limit in self.limits])

    def keeps(self, shares: Floats) -> bool:
        """Return whether δ of a mixture is small enough for every pair."""
        return bool(self.spent(self.mixed(shares)).max() <= 1)

    def bins(self, shares: Floats) -> NDArray[np.int64]:
        """Return where bins begin that are about equally likely with such noise."""
        likely = np.cumsum(self.mixed(shares).mean(axis=0))
        ends = np.searchsorted(likely, likely[-1] * np.arange(1, SETTINGS.bins) / SETTINGS.bins)
        return np.unique(np.append(0, ends))

    def cuts(self, which: Sequence[int], noisy: Floats, bins: NDArray[np.int64]) -> Iterator[Cut]:
        """Yield the number of a limit and of a bin, and what the worst set in it says of every width."""
        inside = {k: self.limits[k].excess(noisy) > 0 for k in which}
        excesses = {k: np.zeros((len(bins), len(self.widths))) for k in which}
        for column, width in enumerate(self.widths.tolist()):
            laws = self.laws.even(width)
            for k, mask in inside.items():
                excesses[k][:, column] = np.add.reduceat(self.limits[k].excess(laws) * mask, bins)
        for k, limit in ((k, self.limits[k]) for k in which):
            excesses[k] /= limit.delta
        for k, of_bins in excesses.items():
            yield from ((k, place, row) for place, row in enumerate(of_bins) if np.abs(row).max() > SETTINGS.nothing)


def _solved(problem: _Problem, scale: float) -> Floats:
    """Return the shares of the least noise of these widths; geometric noise of this scale is known to do."""
    least, of = SETTINGS.least_share, {"high": 1.0, "largest": 1.0, "within": SETTINGS.within}
    enough = problem.geometric(
        scale * least_passing(lambda share: problem.keeps(problem.geometric(share * scale)), least, **of)
    )
    bins = problem.bins(enough)
    noise: Floats = np.eye(len(problem.widths))[0]
    cuts: list[Cut] = []
    for _ in range(SETTINGS.rounds):
        noisy = problem.mixed(noise)
        spent = problem.spent(noisy)
        if spent.max() <= 1:
            return noise
        worst = [int(k) for k in np.argsort(-spent, kind="stable")[: SETTINGS.violated] if spent[k] > 1]
        cuts += problem.cuts(worst, noisy, bins)
        candidate = _program(problem, cuts, len(bins))
        if candidate is None:
            return enough
        noise = candidate

    def mixed(share: float) -> Floats:
        return np.asarray((1 - share) * noise + share * enough)

    # δ is convex in the shares
    return mixed(least_passing(lambda share: problem.keeps(mixed(share)), 0.0, **of))


def _program(problem: _Problem, cuts: Sequence[Cut], bins: int) -> Floats | None:
    """Return the least noise by the sets so far; None where the solver finds none, for lack of precision."""
    pairs = sorted({pair for pair, _, _ in cuts})
    count = len(problem.widths)
    slacks = [count + pairs.index(pair) * bins + place for pair, place, _ in cuts]
    excesses = sparse.csr_matrix(np.array([row for _, _, row in cuts]))
    taken = sparse.csr_matrix(
        (-np.ones(len(cuts)), (np.arange(len(cuts)), np.array(slacks) - count)), shape=(len(cuts), len(pairs) * bins)
    )
    sums = sparse.kron(sparse.eye_array(len(pairs)), np.ones((1, bins)))
    rows = sparse.vstack(
        [sparse.hstack([excesses, taken]), sparse.hstack([sparse.csr_matrix((len(pairs), count)), sums])]
    )
    cost = (2 * problem.widths + 1.0) ** 2
    solution: Any = linprog(  # type: ignore[call-overload] # the stubs do not know of sparse rows
        np.concatenate([cost / cost[-1], np.zeros(len(pairs) * bins)]),
        A_ub=sparse.csr_matrix(rows),
        b_ub=np.concatenate([np.zeros(len(cuts)), np.full(len(pairs), 1 - SETTINGS.room)]),
        A_eq=np.concatenate([np.ones(count), np.zeros(len(pairs) * bins)])[np.newaxis],
        b_eq=[1.0],
        method="highs",
    )
    if not solution.success:
        return None
    shares = np.maximum(solution.x[:count], 0.0)
    return np.asarray(shares / shares.sum())
