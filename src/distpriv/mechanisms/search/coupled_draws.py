"""Noise from coupled draws: how many are drawn, which of them choose what, and how much noise they show to be enough.

Some draws choose the shape of the noise. Others, which have no part in that, find its scale: the least at which they
are evidence that δ is below its limit. `docs/proofs/coupled_gaussian.md` says why this needs no correction for the
search.
"""

import math
import secrets
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Final, Self

import numpy as np
from attrs import field, frozen

from distpriv.errors import InvalidInput, InvalidModel, InvalidTarget
from distpriv.framework.arrays import Floats, Rows, array_field
from distpriv.framework.bisection import least_passing
from distpriv.framework.domains import one_of, whole
from distpriv.framework.scenarios import Pair
from distpriv.framework.target import PrivacyTarget
from distpriv.guarantees.certify import by_coupling
from distpriv.guarantees.drawn import PER_OCTAVE, Drawn, DrawnLaw, Measure
from distpriv.guarantees.evidence import Evidence, tail_evidence
from distpriv.guarantees.mean_bound import CHOICES, best_bet, least_draws, log_evidence, shows_tail
from distpriv.guarantees.mechanism import AdditiveMechanism
from distpriv.guarantees.reference_sample import unseen_rows_evidence
from distpriv.mechanisms.hypotheses import require_target
from distpriv.modelling.coupling import Pairing
from distpriv.modelling.model import QueryModel, as_they_are, require_model
from distpriv.modelling.utility import Weights, utility_weights
from distpriv.noise.laws import GaussianNoise, LaplaceNoise, NoiseLaw, NoNoise
from distpriv.progress import Progress, silent

if TYPE_CHECKING:
    from distpriv.modelling.simulator import RowSimulator

__all__ = [
    "SETTINGS",
    "Calibration",
    "Curve",
    "Lengths",
    "Shape",
    "calibration",
    "coupled",
    "draws_evidence",
    "length",
    "pilot_scale",
    "standard",
]

Curve = Callable[[Floats], Floats]
"""An upper bound on the δ of noise and the same noise moved by a length, which rises with the length."""

Shape = Callable[[Sequence[Floats], Floats, float, float], tuple[GaussianNoise | LaplaceNoise, float]]
"""From differences of every law, weights, ε and the limit of δ to noise up to its scale, and about its error."""


@frozen(kw_only=True)
class DrawSettings:
    """What draws may cost, unless δ needs more, and what of δ they may take."""

    failure: float = 0.01
    """The share of δ that pays for the chance that the draws mislead."""
    rounding: float = 1e-4
    """The share of δ that may be lost by statistics being rounded to floating point."""
    most: int = 4_000_000
    """Draws that test the noise, at most."""
    usual: int = 200_000
    """The same at least, of means; between the two it is 1000/δ."""
    pilot_draws: int = 5000
    """Draws that estimate the noise before anything is decided, from a thousand rows of each stratum."""
    pilot_lengths: int = 512
    """Lengths in a factor of 2 for a choice; for a certificate they are `PER_OCTAVE`."""
    shape_draws: int = 100_000
    """Draws of one law that choose the shape, at most."""
    shape_draws_of_all: int = 1_000_000
    """Draws that choose the shape, of all laws together."""
    shape_numbers: int = 4_000_000
    """Numbers that are drawn of many statistics to choose the shape."""
    shape_calls: int = 5000
    """Draws that choose the shape of noise on what a function returns."""
    rows: int = 200_000_000
    """Rows that are read for a query that has to be evaluated on whole datasets."""
    numbers: int = 50_000_000
    """Numbers that are drawn of many statistics to test noise."""
    calls: int = 50_000
    """Calls of a function to test noise."""
    swaps: int = 40_000_000
    """Rows of means that are swapped to test noise, in all draws of one law; a fourth as many choose its shape."""


SETTINGS: Final = DrawSettings()


@frozen(kw_only=True)
class Lengths:
    """Lengths, each rounded up to one of few, and how often each occurs."""

    values: Floats = array_field()
    counts: Rows = field()

    @classmethod
    def rounded_up(cls, lengths: Floats, per_octave: int = PER_OCTAVE) -> Self:
        """Return the lengths rounded up by at most a factor of 2^(1/per_octave); 0 and infinity stay as they are.

        >>> Lengths.rounded_up(np.array([0.0, 1.5, 1.5]), 1).values.round(6)
        array([0., 2.])
        """
        with np.errstate(divide="ignore"):
            places = np.floor(np.log2(lengths) * per_octave + 1)
        occupied, counts = np.unique(places, return_counts=True)
        with np.errstate(over="ignore"):
            return cls(values=np.exp2(occupied / per_octave) * (1 + 1e-12), counts=counts)

    def deltas(self, curve: Curve, scale: float) -> Floats:
        """Return the δ of each length under noise of a scale, which may be 0 or infinite."""
        if scale in (0, math.inf):
            return np.asarray(self.values > 0 if scale == 0 else np.isinf(self.values), dtype=np.float64)
        return curve(self.values / scale)

    def mean(self, curve: Curve, scale: float) -> float:
        """Return the mean δ under noise of a scale."""
        return float(self.counts @ self.deltas(curve, scale) / self.counts.sum())

    @property
    def moves(self) -> bool:
        """Whether any length is above 0."""
        return bool(self.values.any())


def length(whitening: Floats, order: int, differences: Floats) -> Floats:
    """Return the L1 or L2 length of differences in units of the noise; infinite where one moves what has no noise.

    A rounding error of the product is added. A difference of exactly 0 has the length 0.
    """
    bare = ~whitening.any(axis=1)
    whitened = np.abs(differences @ whitening)
    lengths = whitened.sum(axis=1) if order == 1 else np.sqrt(np.square(whitened).sum(axis=1))
    steepest = float(np.abs(whitening).max(initial=0.0))
    lengths += 1e-15 * whitening.size * steepest * np.abs(differences).max(axis=1)
    lengths[differences[:, bare].any(axis=1)] = np.inf
    return np.asarray(lengths)


def pilot_scale(pilot: Sequence[Lengths], curve: Curve, limit: float) -> float:
    """Return about the least scale at which every law's mean is below the limit."""

    def passes(scale: float) -> bool:
        return all(lengths.mean(curve, scale) <= limit for lengths in pilot)

    if not any(lengths.moves for lengths in pilot):
        return 1.0
    return _least_scale(passes, max(float(lengths.values.max()) for lengths in pilot), within=1e-4)


def _least_scale(passes: Callable[[float], bool], start: float, *, within: float) -> float:
    return least_passing(passes, 1e-12 * start, start, largest=math.inf, within=within)


def standard(differences: Sequence[Floats]) -> tuple[Floats, list[Floats]]:
    """Return the largest move of each statistic, and the moves of those that move at all in units of it."""
    units = np.max([np.abs(law).max(axis=0) for law in differences], axis=0)
    return units, [law[:, units > 0] / units[units > 0] for law in differences]


@frozen(kw_only=True)
class Tail:
    """The tail of a target with ε = 0, to be shown by the draws that show its δ."""

    point: PrivacyTarget
    curve: Callable[[float, Floats], Floats]

    def shown(self, law: Lengths, scale: float, laws: int) -> bool:
        """Return whether draws show it of one of so many laws, for noise of a scale."""
        failure = SETTINGS.failure * self.point.delta
        values = law.deltas(partial(self.curve, self.point.epsilon), scale)
        return shows_tail(values, law.counts, self.point.delta - failure, failure / (CHOICES * laws))


@frozen(kw_only=True)
class Calibration:
    """How noise is calibrated on coupled draws of a model."""

    rows: "RowSimulator"
    groups: tuple[tuple[Pair, ...], ...]
    """Pairs whose differences come from one set of draws."""
    laws: int
    """How many laws of differences there are, each of which has to be below the limit."""
    pairing: Pairing
    draws: int
    """How many coupled datasets test the noise."""
    swapped: int = 1
    """How many rows of a dataset are swapped at most."""
    fewer: bool
    """Whether there are fewer draws than a query of means would get."""
    seed: int
    seed_given: bool
    failure: float
    """The chance that the draws mislead, all laws and both coupled mechanisms together; it counts into δ."""
    limit: float
    """What is left of δ."""
    rounding: Floats = array_field()
    """By how much each statistic of a dataset may be rounded, however its rows are summed."""
    unseen: tuple[Evidence, ...] = ()
    """What has to be believed of rows that the reference lacks."""
    progress: Progress

    @property
    def failure_of_one_law(self) -> float:
        """The chance that the draws of one law may mislead, β/2L in `docs/proofs/coupled_gaussian.md`, "The scale".

        A plan may take the better of `CHOICES` coupled mechanisms, and each is misled if any of its L laws is: by the
        union bound these chances add up to `failure`, β.
        """
        return self.failure / (CHOICES * self.laws)

    @property
    def all_draws(self) -> int:
        """How many draws choose the noise and test it, of all laws."""
        return self.laws * (self.draws + self.shape_draws)

    def scale(
        self, whitening: Floats, order: int, curve: Curve, shape: Sequence[Floats], tail: "Tail | None" = None
    ) -> tuple[float, list[DrawnLaw]]:
        """Return the least scale at which other draws than those of the shape show δ to be below its limit, and them.

        Where the target has a tail they show that, too.

        That is ŝ of `docs/proofs/coupled_gaussian.md`, "The scale": evidence only grows with the scale, so the least
        one may be searched for. A scale of 0 says that the statistics move so seldom that no noise is needed.
        """
        pilot = [
            Lengths.rounded_up(length(whitening, order, differences), SETTINGS.pilot_lengths) for differences in shape
        ]
        bets, start = self._bets(pilot, curve)
        measure = partial(length, whitening, order)
        drawn = [Lengths.rounded_up(lengths) for lengths in self.tests(measure)]
        wanted = -math.log(self.failure_of_one_law)
        least = 0.0
        for law, bet in zip(drawn, bets, strict=True):

            def passes(scale: float, law: Lengths = law, bet: float = bet) -> bool:
                if log_evidence(law.deltas(curve, scale), law.counts, self.limit, bet) < wanted:
                    return False
                return tail is None or tail.shown(law, scale, self.laws)

            if not passes(math.inf):
                raise InvalidModel(
                    f"some statistics stay the same in {len(shape[0]):,} draws and move in others, too often to be "
                    "left without noise: give more draws."
                )
            if not passes(least):
                least = _least_scale(passes, max(least, start), within=1e-5) * (1 + 1e-6)
        if least > 0:
            rounding = np.where(whitening.any(axis=1), self.rounding, 0.0)
            # A curve rises by at most half of what a length grows by, and that much of δ was set aside.
            if length(whitening, order, rounding[np.newaxis])[0] / least > SETTINGS.rounding * self.limit:
                raise InvalidModel(
                    "the statistics are so large against what they vary by that the rounding of their sums shows "
                    "through the noise: subtract a constant, as in mean('x - 1000000')."
                )
        return least, [DrawnLaw.of(law.values, law.counts, bet) for law, bet in zip(drawn, bets, strict=True)]

    def _bets(self, pilot: Sequence[Lengths], curve: Curve) -> tuple[list[float], float]:
        """Return a bet for every law, and about the scale at which they will win.

        The best bets depend on the scale, and the least scale that passes on the bets: each is found from the other in
        turn, on the pilot's draws, as if there were as many as will test.
        """
        failure = self.failure_of_one_law
        start = pilot_scale(pilot, curve, self.limit)
        bets: list[float] = []
        for _ in range(4):
            values = [curve(lengths.values / start) for lengths in pilot]
            bets = [
                best_bet(v, lengths.counts, self.limit, draws=self.draws, failure=failure)
                for v, lengths in zip(values, pilot, strict=True)
            ]

            def passes(scale: float, bets: list[float] = bets) -> bool:
                return all(
                    log_evidence(curve(lengths.values / scale), lengths.counts, self.limit, bet)
                    * (self.draws / lengths.counts.sum())
                    >= -math.log(failure)
                    for lengths, bet in zip(pilot, bets, strict=True)
                )

            start = _least_scale(passes, start, within=1e-4) if any(lengths.moves for lengths in pilot) else start
        return bets, start

    def pilot(self, measure: Callable[[Floats], Floats]) -> list[Floats]:
        """Draw and measure the differences of every law that choose the noise; no other draw may."""
        return self._measured(self.shape_draws, 0, measure)

    @property
    def shape_draws(self) -> int:
        """How many draws of each law choose the noise; fewer where functions are called for each."""
        if self.rows.query.has_functions:
            return min(self.draws, SETTINGS.shape_calls)
        of_one_law = max(2000, SETTINGS.shape_draws_of_all // self.laws)
        numbers = min(SETTINGS.shape_numbers // len(self.rounding), SETTINGS.swaps // (4 * self.swapped))
        return min(self.draws, SETTINGS.shape_draws, of_one_law, max(10_000, numbers))

    def tests(self, measure: Callable[[Floats], Floats]) -> list[Floats]:
        """Draw and measure the differences that test what was chosen, of every law."""
        return self._measured(self.draws, 1, measure)

    def _measured(self, draws: int, stream: int, measure: Callable[[Floats], Floats]) -> list[Floats]:
        """Draw differences of every law and measure them; stream 0 chooses, and stream 1 tests what was chosen."""
        seed = int(np.random.SeedSequence(self.seed).generate_state(2, np.uint64)[stream])
        lengths = []
        for group in self.groups:
            lengths += self.rows.measured_differences(group, draws, seed, self.pairing, measure, self.progress)
        return lengths

    def evidence(self) -> tuple[Evidence, ...]:
        """Return what the guarantee rests on."""
        return draws_evidence(
            self.unseen,
            pairing=self.pairing,
            limit=self.limit,
            failure=self.failure,
            draws=self.draws,
            laws=self.laws,
            slow=self.fewer,
            seed=self.seed,
            seed_given=self.seed_given,
        )


def draws_evidence(
    unseen: Sequence[Evidence],
    *,
    pairing: Pairing,
    limit: float,
    failure: float,
    draws: int,
    laws: int,
    slow: bool,
    seed: int,
    seed_given: bool,
) -> tuple[Evidence, ...]:
    """Return what a guarantee by coupled draws rests on."""
    return (
        Evidence.of("DP322"),
        *unseen,
        Evidence.of("DP107", pairing=pairing),
        Evidence.of("DP211", limit=limit, failure=failure, draws=draws, laws=laws, slow=slow),
        Evidence.of("DP323", seed=seed, chosen_by="caller" if seed_given else "system"),
    )


def coupled(
    model: QueryModel,
    target: PrivacyTarget,
    plan: Calibration,
    weights: Weights,
    *,
    name: str,
    measure: Measure,
    shape: Shape,
    curve: Callable[[float, Floats], Floats],
) -> AdditiveMechanism:
    """Return the mechanism with noise of a shape, at the least scale at which coupled draws show δ to be small enough.

    Statistics whose rounding the noise does not hide are refused: draws are of exact sums, a release is not. Moves are
    measured in L2 for Gaussian noise, in L1 for Laplace noise, and `curve` bounds the δ of a move at some ε.
    """
    differences = plan.pilot(as_they_are)
    law, _ = shape(differences, utility_weights(model, weights), target.epsilon, plan.limit)
    order = 2 if measure == "gaussian" else 1
    tail = None if target.tail is None else Tail(point=target.tail, curve=curve)
    scale, laws = plan.scale(law.whitening, order, partial(curve, target.epsilon), differences, tail)
    noise: NoiseLaw = NoNoise(dimension=model.dimension)
    if scale > 0:
        noise, squares = law.widened(scale), (scale * law.widths) ** 2
        if (squares == 0).any() or not np.isfinite(squares).all():
            raise InvalidModel("the statistics are too small or too large to square: multiply them by a constant.")
    return by_coupling(
        model,
        target,
        noise,
        name=name,
        theorem="coupled draws",
        delta=plan.limit + plan.failure,
        assurance="proved",
        evidence=(*plan.evidence(), *tail_evidence(target, lambda _: True)[0]),
        drawn=Drawn(
            measure=measure,
            noise=noise,
            scale=scale,
            epsilon=target.epsilon,
            limit=plan.limit,
            failure=plan.failure,
            laws=tuple(laws),
        ),
    )


def calibration(
    model: QueryModel,
    target: PrivacyTarget,
    *,
    name: str,
    pairing: Pairing | None = None,
    draws: int | None = None,
    seed: int | None = None,
    progress: Progress = silent,
) -> Calibration:
    """Return how to calibrate the noise of a mechanism, or say why it cannot be done."""
    require_model(model)
    require_target(target)
    if target.delta == 0:
        raise InvalidTarget(
            f"{name} cannot reach delta = 0, since draws never show what cannot happen: give a delta above 0, or use "
            "wasserstein or group_privacy_laplace."
        )
    given = seed is not None
    seed = secrets.randbits(63) if seed is None else seed
    seed = whole("seed", seed, InvalidInput, at_least=0, cure="leave it out to have one drawn")
    rows = model.rows()
    of_all_rows = model.provenance.method != "sampling" or model.provenance.reference == "population"
    if rows.is_sampled and of_all_rows:
        raise InvalidModel(
            "coupled draws prove what they show of the rows that they are drawn from, and the reference has too many "
            "to be held in memory: give a random sample of its rows as the reference."
        )
    groups = tuple(rows.difference_groups(model.protected_pairs))
    if pairing is not None:
        one_of("pairing", pairing, ("independent", "transport"), InvalidInput)
    swaps = [{model.scenarios[a].swapped(model.scenarios[b]) for a, b in group} for group in groups]
    laws, swapped = sum(map(len, swaps)), max(1, *(max(of_group) for of_group in swaps))
    failure = SETTINGS.failure * target.delta
    limit = (target.delta - failure) * (1 - SETTINGS.rounding)
    drawn, fewer = _draws(model, laws, swapped, limit, failure / (CHOICES * laws), draws)
    return Calibration(
        rows=rows,
        groups=groups,
        laws=laws,
        pairing=rows.best_pairing(groups[0][0]) if pairing is None else pairing,
        draws=drawn,
        swapped=swapped,
        fewer=fewer,
        seed=seed,
        seed_given=given,
        failure=failure,
        limit=limit,
        rounding=_rounding(model),
        unseen=unseen_rows_evidence(model),
        progress=progress,
    )


def _rounding(model: QueryModel) -> Floats:
    """Return a bound on the rounding of a sum of rows: 2⁻⁴⁸ of the root of their mean square, or more."""
    roots = [
        np.abs(law.mean) + np.sqrt((model.provenance.records or 1) * np.maximum(np.diag(law.covariance), 0.0))
        for law in model.distributions.values()
    ]
    return np.asarray(2.0**-48 * np.max(roots, axis=0))


def _draws(
    model: QueryModel, laws: int, swapped: int, limit: float, failure: float, given: int | None
) -> tuple[int, bool]:
    """Return how many coupled datasets to draw, and whether that is fewer than means would get."""
    assert model.query is not None
    least = least_draws(limit, failure)
    many = int(min(max(1000 / limit, SETTINGS.usual), SETTINGS.most))
    cure = f"at least {least:,} draws can show it, and {max(many, 4 * least):,} do so with little noise"
    if given is not None:
        given = whole("draws", given, InvalidInput, at_least=1, cure=cure)
        if given < least:
            raise InvalidInput(f"draws = {given:,} cannot show that delta is below {limit:.3g}: {cure}.")
        return given, given < many
    if model.query.has_exact_moments:
        if many < least:
            raise InvalidInput(f"delta = {limit:.3g} is too small for the usual {many:,} draws: {cure}; give draws=….")
        cheap = min(SETTINGS.numbers // model.dimension, SETTINGS.swaps // swapped)
        affordable = max(cheap, math.ceil(200 / limit), 2 * least)
        return min(many, affordable), affordable < many
    datasets = SETTINGS.calls if model.query.has_functions else SETTINGS.rows // (model.provenance.records or 1)
    affordable = max(datasets // (2 * laws), 2 * least)
    return min(many, affordable), affordable < many
