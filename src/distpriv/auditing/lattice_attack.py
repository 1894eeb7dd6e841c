r"""Read the statistics off their lattice where noise leaves directions bare, then classify them as if undefended.

In units of the steps the statistics are whole numbers z up to an offset, and a release is z + Z. Noise along few axes
is known in all statistics once it is known in as many: :math:`Z = S_{\cdot T} S_{TT}^{-1} Z_T`. So try every value of
the statistics T; each gives Z_T and thereby all others, and only the true one makes all of them whole. Where S has full
rank but is fine in some direction the equation holds up to a small deviation, and that far off whole they may be.
"""

from itertools import combinations, product

import numpy as np
from attrs import evolve, frozen
from numpy.typing import NDArray

from distpriv.auditing.attacks import AttackerView, BayesAttack, FittedAttack, refuse_one_class
from distpriv.framework.arrays import Floats, Rows
from distpriv.noise.laws import GaussianNoise

__all__ = ["LatticeAttack", "LatticeDecoder", "lattice_decoder"]

FINE = 0.05
"""Noise with a deviation below this share of a step hides no step."""
MOST_CANDIDATES = 20_000
"""How many values are tried at most."""
CELLS = 4_000_000
"""Candidates times statistics computed at once."""
ROUNDING = 1e-6
"""How far off its lattice a statistic may be by rounding, in steps."""
CHANCE = 0.01
"""The most wrong candidates that may be expected to pass."""


@frozen(kw_only=True, eq=False)
class LatticeDecoder:
    """Finds the one whole z that explains a release."""

    coarse: Rows
    """The positions of the statistics that are on a lattice."""
    steps: Floats
    """Their steps."""
    offsets: Floats
    """Where the lattice of each scenario starts, one row each, in steps."""
    tried: Rows
    """The positions, among the coarse, of the statistics whose values are tried."""
    candidates: Floats
    """Those values, one row each, in steps from an offset."""
    carried: Floats
    """How noise in the tried statistics goes with noise in all: S_{·T} S_TT⁻¹."""
    tolerance: Floats
    """How far off its lattice each coarse statistic may be, in steps."""

    def decode(self, released: Floats) -> tuple[Floats, NDArray[np.bool_]]:
        """Return the clean statistics where just one candidate passes, releases as they are elsewhere; and where."""
        size = max(1, CELLS // (len(self.candidates) * len(self.offsets) * len(self.steps)))
        blocks = [self._decode(released[k : k + size]) for k in range(0, len(released), size)]
        return np.concatenate([clean for clean, _ in blocks]), np.concatenate([found for _, found in blocks])

    def _decode(self, released: Floats) -> tuple[Floats, NDArray[np.bool_]]:
        coarse = released[:, np.newaxis, self.coarse] / self.steps
        starts = np.repeat(self.offsets, len(self.candidates), axis=0)
        values = np.tile(self.candidates, (len(self.offsets), 1)) + starts[:, self.tried]
        shifts = (coarse[:, :, self.tried] - values) * self.steps[self.tried]
        places = coarse - shifts @ self.carried[self.coarse].T / self.steps - starts
        whole = np.round(places)
        passed = (np.abs(places - whole) <= self.tolerance).all(axis=2)
        each, which = np.arange(len(released)), passed.argmax(axis=1)
        clean = released - shifts[each, which] @ self.carried.T
        clean[:, self.coarse] = (whole[each, which] + starts[which]) * self.steps
        found = passed.sum(axis=1) == 1
        return np.where(found[:, np.newaxis], clean, released), found


def lattice_decoder(view: AttackerView) -> LatticeDecoder | None:
    """Return the decoder with the fewest candidates, or nothing where the noise covers the lattice."""
    coarse = np.flatnonzero(view.model.steps > 0)
    steps = view.model.steps[coarse]
    covariance = view.noise.covariance
    inside = covariance[np.ix_(coarse, coarse)] / np.outer(steps, steps)
    offsets = np.unique([np.round(clean[0, coarse] / steps % 1.0, 6) % 1.0 for clean in view.shadows.clean], axis=0)
    ranges = _ranges(view, coarse, steps)
    for count in range(len(coarse)):
        choices = [
            (int(np.prod([len(ranges[k]) for k in tried])), tried, tolerance)
            for tried in combinations(range(len(coarse)), count)
            if (tolerance := _tolerance(inside, tried)) is not None
        ]
        for number, tried, tolerance in sorted(choices, key=lambda choice: choice[0]):
            if number > MOST_CANDIDATES or number * np.minimum(1.0, 2 * tolerance).prod() > CHANCE:
                continue
            chosen = coarse[list(tried)]
            return LatticeDecoder(
                coarse=coarse,
                steps=steps,
                offsets=offsets,
                tried=np.array(tried, dtype=np.int64),
                candidates=np.array(list(product(*(ranges[k] for k in tried))), dtype=np.float64).reshape(
                    number, count
                ),
                carried=covariance[:, chosen] @ np.linalg.inv(covariance[np.ix_(chosen, chosen)]),
                tolerance=tolerance,
            )
    return None


def _tolerance(inside: Floats, tried: tuple[int, ...]) -> Floats | None:
    """Return how far each statistic may be off once these are known, or nothing if that is too far for the others."""
    chosen = list(tried)
    others = [k for k in range(len(inside)) if k not in tried]
    block = inside[np.ix_(chosen, chosen)]
    if chosen and (np.diag(block).min() <= 0 or np.linalg.cond(block) > 1e10):
        return None
    across = inside[:, chosen] @ np.linalg.inv(block)
    left = np.diag(inside) - (across * inside[:, chosen]).sum(axis=1)
    left = np.where(left > 1e-12 * np.diag(inside), left, 0.0)
    if np.sqrt(left[others]).max() > FINE:
        return None
    tolerance = ROUNDING * (1 + np.abs(across).sum(axis=1)) + 6 * np.sqrt(left)
    tolerance[chosen] = 0.5
    return np.asarray(tolerance)


def _ranges(view: AttackerView, coarse: Rows, steps: Floats) -> list[range]:
    """Return, for each coarse statistic, all whole numbers of steps that it can plausibly have."""
    laws = [view.model.distributions[name] for name in view.pair]
    reach = [8 * np.sqrt(np.maximum(np.diag(law.covariance), 0.0)) for law in laws]
    low = np.min([law.mean - width for law, width in zip(laws, reach, strict=True)], axis=0)[coarse] / steps
    high = np.max([law.mean + width for law, width in zip(laws, reach, strict=True)], axis=0)[coarse] / steps
    return [range(int(a), int(b) + 1) for a, b in zip(np.floor(low) - 1, np.ceil(high) + 1, strict=True)]


@frozen(kw_only=True)
class LatticeAttack:
    """Decodes what can be decoded and tests its likelihood without noise; the rest goes to the Bayes attack."""

    name: str = "lattice"
    knows_noise: bool = True

    def fit(self, view: AttackerView) -> FittedAttack:
        """Find out whether the noise leaves the lattice bare."""
        refuse_one_class(*view.shadows.clean)
        bayes = BayesAttack().fit(view)
        decoder = lattice_decoder(view)
        if decoder is None:
            return bayes
        left = view.noise.covariance - decoder.carried @ view.noise.covariance[decoder.coarse[decoder.tried]]
        left[decoder.coarse] = left[:, decoder.coarse] = 0.0
        stripped = evolve(view, noise=GaussianNoise.of((left + left.T) / 2))
        return _Decoding(decoder=decoder, stripped=BayesAttack().fit(stripped), noisy=bayes)


@frozen(kw_only=True, eq=False)
class _Decoding:
    decoder: LatticeDecoder
    stripped: FittedAttack
    noisy: FittedAttack

    def score(self, released: Floats) -> Floats:
        clean, found = self.decoder.decode(released)
        return np.where(found, self.stripped.score(clean), self.noisy.score(released))
