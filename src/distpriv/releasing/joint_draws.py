r"""Whether several releases hold together, told from coupled draws: for queries of any law.

For every coupling, joint convexity bounds the stack's divergence by the mean of that of the noise and the same noise
moved by :math:`Δ = (F_1(D_i) - F_1(D_j), …)`. Of noise with independent Gaussian and Laplace parts, moved by r and s in
their own units, :math:`H_ε ≤ (1 - e^{(ε' - s)/2})^+ + δ_G(ε - ε'; r)` for every ε' ≤ ε (basic composition); here ε' is
the lesser of s and ε. The mean is tested as in `mechanisms/search/coupled_draws.py`: a bet is fixed on other draws,
and its evidence only grows when noise is widened, so that the least factor that passes may be searched for.
"""

import hashlib
import math
from collections.abc import Sequence
from typing import Self

import numpy as np
from attrs import frozen

from distpriv.distances.gaussian import gaussian_deltas_upper_bound
from distpriv.errors import InvalidInput
from distpriv.framework.arrays import Floats
from distpriv.framework.domains import whole
from distpriv.framework.target import PrivacyTarget
from distpriv.guarantees.certificate import Certificate
from distpriv.guarantees.drawn import Drawn, DrawnLaw
from distpriv.guarantees.evidence import Evidence
from distpriv.guarantees.mean_bound import best_bet, log_evidence
from distpriv.mechanisms.search.coupled_draws import Calibration, Lengths, calibration, length
from distpriv.modelling.model import QueryModel
from distpriv.noise.laws import NoiseLaw
from distpriv.releasing.stack import stacked

__all__ = ["JointDraws", "joint_laws"]

LEVELS = 64
"""Into how many values ε' is rounded down where Laplace noise spends part of it."""


@frozen(kw_only=True)
class JointDraws:
    """Moves of all statistics in units of their noise: four lengths a draw, earlier and new, Gaussian and Laplace."""

    plan: Calibration
    target: PrivacyTarget
    earlier: tuple[NoiseLaw, ...]
    """The noise of each earlier release."""
    new: NoiseLaw
    moves: tuple[Floats, ...]
    """Of every law."""
    bets: tuple[float, ...]

    @classmethod
    def of(
        cls, model: QueryModel, earlier: Sequence[NoiseLaw], new: NoiseLaw, target: PrivacyTarget, seed: int | None
    ) -> Self:
        """Draw, once to fix the bets and once to test."""
        own = None if seed is None else _own_seed(seed, earlier)
        plan = calibration(model, target, name="a joint release", seed=own)

        def measure(differences: Floats) -> Floats:
            return _lengths(earlier, new, differences)

        pilot = plan.pilot(measure)
        moves = tuple(plan.tests(measure))
        bets = tuple(_bet(plan, target, law) for law in pilot)
        return cls(plan=plan, target=target, earlier=tuple(earlier), new=new, moves=moves, bets=bets)

    def certificate(self, factor: float, theorem: str, evidence: Sequence[Evidence]) -> Certificate:
        """Return what the draws show when the new noise is wider by a factor."""
        wanted = -math.log(self.plan.failure_of_one_law)
        laws = tuple(self._law(moves, bet, factor) for moves, bet in zip(self.moves, self.bets, strict=True))
        drawn = Drawn(
            measure="delta",
            noise=stacked([*self.earlier, self.new.widened(factor)]),
            scale=1.0,
            epsilon=self.target.epsilon,
            limit=self.plan.limit,
            failure=self.plan.failure,
            laws=laws,
        )
        shown = all(log_evidence(law.values, law.counts, drawn.limit, law.bet) >= wanted for law in laws)
        return Certificate(
            target=self.target,
            epsilon=self.target.epsilon,
            delta=self.plan.limit + self.plan.failure if shown else 1.0,
            assurance="proved",
            theorem=theorem,
            evidence=(*evidence, *self.plan.evidence()),
            drawn=drawn,
        )

    def _law(self, moves: Floats, bet: float, factor: float) -> DrawnLaw:
        return _histogram(self.target.epsilon, moves, bet, factor)


def joint_laws(
    plan: Calibration, target: PrivacyTarget, noises: Sequence[NoiseLaw], bets: Sequence[float]
) -> tuple[DrawnLaw, ...]:
    """Return what draws show of the noise of several releases as it is, with bets that were placed before."""
    moves = plan.tests(lambda differences: _lengths(noises[:-1], noises[-1], differences))
    return tuple(_histogram(target.epsilon, law, bet, 1.0) for law, bet in zip(moves, bets, strict=True))


def _histogram(epsilon: float, moves: Floats, bet: float, factor: float) -> DrawnLaw:
    """Return the bounds on δ of all draws, each rounded up as it will be written down."""
    rounded = Lengths.rounded_up(_deltas(epsilon, moves, factor))
    return DrawnLaw.of(np.minimum(rounded.values, 1.0), rounded.counts, bet)


def _own_seed(seed: int, earlier: Sequence[NoiseLaw]) -> int:
    """Return a seed for draws that no noise was chosen by, though noise may have been chosen with the same seed."""
    seed = whole("seed", seed, InvalidInput, at_least=0, cure="leave it out to have one drawn")
    named = f"a joint release\0{seed}\0{sum(law.dimension for law in earlier)}"
    return int(hashlib.sha256(named.encode()).hexdigest()[:15], 16)


def _bet(plan: Calibration, target: PrivacyTarget, pilot: Floats) -> float:
    """Return the bet that is best where the new noise is about as wide as it will have to be."""
    factor = 1.0
    while _deltas(target.epsilon, pilot, factor).mean() > 0.9 * plan.limit and factor < 1e5:
        factor *= 1.1
    values = _deltas(target.epsilon, pilot, factor)
    return best_bet(
        values, np.ones(len(values), dtype=np.int64), plan.limit, draws=plan.draws, failure=plan.failure_of_one_law
    )


def _lengths(earlier: Sequence[NoiseLaw], new: NoiseLaw, differences: Floats) -> Floats:
    """Return the lengths of moves of the earlier and the new statistics: Gaussian, Laplace, Gaussian, Laplace.

    Earlier releases have independent noise, each its own: Gaussian lengths add up in squares, Laplace lengths as they
    are, whichever kinds the releases have.
    """
    normal = laplace = np.zeros(len(differences))
    start = 0
    for law in earlier:
        one, other = _lengths_of(law, differences[:, start : start + law.dimension])
        normal, laplace = np.hypot(normal, one), laplace + other
        start += law.dimension
    return np.stack([normal, laplace, *_lengths_of(new, differences[:, start:])], axis=1)


def _lengths_of(law: NoiseLaw, moved: Floats) -> list[Floats]:
    """Return the Gaussian and the Laplace length of moves; what no noise covers is infinitely long.

    A sum of both kinds is no easier to tell apart than both by themselves, however a move is shared between them: here
    the Laplace part takes what leaves least to the Gaussian part.
    """
    nothing = np.zeros(len(moved))
    if not law.dimension:
        return [nothing, nothing]
    noise = stacked([law])
    whitening, axes, scales = noise.gaussian.whitening, noise.laplace_axes, noise.laplace_scales
    if len(scales) and not whitening.shape[1]:
        return [nothing, length(axes / scales, 1, moved)]
    if not len(scales) or whitening.shape[1] < law.dimension:
        return [length(whitening, 2, moved), nothing]
    shares = moved @ whitening @ np.linalg.pinv(whitening.T @ axes).T
    rest = moved - shares @ axes.T
    return [length(whitening, 2, rest), length(np.diag(1 / scales), 1, shares)]


def _deltas(epsilon: float, moves: Floats, factor: float) -> Floats:
    """Return a bound on the δ of every draw, rising with every length."""
    with np.errstate(invalid="ignore"):
        normal = np.hypot(moves[:, 0], moves[:, 2] / factor)
        laplace = moves[:, 1] + moves[:, 3] / factor
    if not laplace.any():
        return gaussian_deltas_upper_bound(epsilon, normal)
    # ε' is rounded up to one of few values, so that what is left for the Gaussian part is rounded down.
    level = np.ceil(np.minimum(laplace, epsilon) / epsilon * LEVELS) if epsilon else np.zeros(len(moves))
    spent = np.minimum(level / LEVELS * epsilon, epsilon)
    bound = np.clip(-np.expm1((np.minimum(laplace, epsilon) - laplace) / 2), 0.0, 1.0)
    for value in np.unique(spent):
        chosen = spent == value
        bound[chosen] += gaussian_deltas_upper_bound(epsilon - float(value), normal[chosen])
    return np.asarray(np.minimum(bound, 1.0))
