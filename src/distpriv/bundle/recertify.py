"""The certificate of noise as it is: from the moments that are written down, or from the rows of the reference."""

import math
from collections.abc import Mapping, Sequence
from functools import partial
from itertools import accumulate
from operator import mul

import numpy as np
from attrs import evolve, frozen

from distpriv import mechanisms
from distpriv.distances.gaussian import gaussian_deltas_upper_bound
from distpriv.errors import InvalidInput
from distpriv.framework.arrays import Floats
from distpriv.framework.target import PrivacyTarget
from distpriv.guarantees.certificate import Certificate
from distpriv.guarantees.certify import ROOM_FOR_ERROR, certified, gaussian_certificate
from distpriv.guarantees.drawn import Drawn, DrawnLaw, Witness
from distpriv.guarantees.evidence import Evidence, tail_evidence
from distpriv.guarantees.exact_rows import THEOREM as EXACT
from distpriv.guarantees.exact_rows import exact_certificate
from distpriv.guarantees.masked_directions import masked_evidence
from distpriv.guarantees.mean_bound import CHOICES, log_evidence
from distpriv.guarantees.reference_sample import unseen_rows_evidence
from distpriv.guarantees.relaxation import (
    allowing_for_ball,
    calibration_target,
    discretised_certificate,
    made_for,
    without_ball,
)
from distpriv.law.cells import RowGrid, row_grid
from distpriv.mechanisms.hypotheses import equal_means
from distpriv.mechanisms.search.coupled_draws import Lengths, Tail, calibration, draws_evidence, length
from distpriv.mechanisms.search.noise_shapes import laplace_deltas_upper_bound
from distpriv.modelling.coupling import Pairing
from distpriv.modelling.model import QueryModel
from distpriv.noise.integers import Discrepancy
from distpriv.noise.lattice import on_lattice
from distpriv.noise.laws import LaplaceNoise, NoiseLaw
from distpriv.releasing.immunity import THEOREM as IMMUNE
from distpriv.releasing.immunity import immune_certificate
from distpriv.releasing.joint import THEOREM, widening, widening_evidence
from distpriv.releasing.joint_draws import joint_laws
from distpriv.releasing.stack import stacked

__all__ = ["BY_FORMULA", "JOINT", "THEOREMS", "Claim", "beside", "recertified", "witnessed"]

JOINT = "all releases together"
"""What is claimed of all releases, in place of a mechanism's name."""

THEOREMS = {
    "no_noise": "Theorem 4.4",
    "certified_laplace": "the bound for Laplace noise",
    "certified_gaussian": "the exact check",
    "coupled_gaussian": "coupled draws",
    "coupled_laplace": "coupled draws",
    "exact_law": EXACT,
    "directional_uncertainty": "Theorem A.1",
    "eigenvector_gaussian": "Theorem 4.5",
    "directional_gaussian": "Theorem 4.3 with Gaussian noise",
    "directional_laplace": "Theorem 4.3",
    "expected_value_gaussian": "Theorem 4.2",
    "expected_value_laplace": "Theorem 4.1",
    JOINT: THEOREM,
}
"""What certificates rest on whose δ is computed for noise as it is; those of formulas say so themselves."""

BY_FORMULA = ("bounded", "group_privacy_gaussian", "group_privacy_laplace", "wasserstein", "approximate_wasserstein")
"""Mechanisms whose noise follows from the model by a formula: it is applied again."""

ROUNDING = 1e-9
"""By which share numbers may differ that are the same but for rounding."""


@frozen(kw_only=True)
class Claim:
    """What is to be certified: noise as it is, and what the certificate is said to rest on."""

    mechanism: str
    model: QueryModel
    noises: tuple[NoiseLaw, ...]
    """Of all releases that it is about."""
    target: PrivacyTarget
    written: Certificate
    """What was promised: the seed of draws, how far noise was widened and, without rows, δ by rows are its own."""
    drawn: Witness | None

    @property
    def noise(self) -> NoiseLaw:
        """The noise as one law."""
        return self.noises[0] if len(self.noises) == 1 else stacked(self.noises)

    @property
    def modelled(self) -> QueryModel:
        """The model of the reference, without what may be around it."""
        return without_ball(self.model)

    @property
    def on_lattices(self) -> PrivacyTarget:
        """What has to hold for continuous noise, so that there is room for its lattice."""
        return calibration_target(self.target)

    @property
    def within(self) -> PrivacyTarget:
        """What has to hold of that for the modelled laws, so that there is room for those around them."""
        return made_for(self.model, self.on_lattices)

    @property
    def times(self) -> tuple[float, ...]:
        """How many times as wide the noise is said to be as this release alone needs; when planned, and when made."""
        return tuple(filter(None, map(widening, self.written.evidence)))

    @property
    def has_rows(self) -> bool:
        """Whether the reference is there."""
        return self.model.simulator is not None


def recertified(claim: Claim) -> Certificate:
    """Return the certificate of the noise, drawing on a lattice included.

    Noise that was widened for the sake of all releases is no less private than the noise that it was made of, whose
    certificate it keeps.
    """
    if sum(noise.dimension for noise in claim.noises) != claim.model.dimension:
        raise InvalidInput("the noise is for another number of statistics.")
    if claim.written.theorem == IMMUNE and claim.mechanism == JOINT:
        added = immune_certificate(claim.model, claim.noises, made_for(claim.model, claim.target))
        return allowing_for_ball(added, claim.model, claim.target)
    if claim.mechanism not in (*THEOREMS, *BY_FORMULA):
        raise InvalidInput(f"there is no mechanism {claim.mechanism!r:.60}.")
    kind = {"exact_law": RowGrid, "coupled_gaussian": Drawn, "coupled_laplace": Drawn}.get(claim.mechanism, type(None))
    if claim.mechanism != JOINT and not isinstance(claim.drawn, kind):
        raise InvalidInput("the certificate does not rest on what its mechanism draws.")
    factor, noises = math.prod(claim.times), claim.noises
    if claim.times and not (1 < factor < math.inf and all(noise.is_sum_of_parts for noise in noises)):
        raise InvalidInput(f"noise cannot have been widened {factor:g} times.")
    enough = _enough(claim)
    if enough is not None:
        _require_widened(claim.noise, enough, factor)
        noises = noises if len(noises) > 1 else (enough,)
    elif claim.times:
        noises = (claim.noise.widened(1 / factor),)
    cost = sum((on_lattice(noise).cost for noise in noises), Discrepancy())
    found = allowing_for_ball(_continuous(claim, noises), claim.model, claim.on_lattices)
    return discretised_certificate(found, cost, claim.target)


def _enough(claim: Claim) -> NoiseLaw | None:
    """Return the noise that draws or a formula have found to be enough; nothing where δ is that of the noise."""
    if isinstance(claim.drawn, Drawn):
        return claim.drawn.noise
    if claim.mechanism not in BY_FORMULA:
        return None
    if claim.model.provenance.method == "sampling" and not (claim.has_rows or "group" in claim.mechanism):
        raise InvalidInput("the certificate rests on sampled points, which a bundle does not hold: give --reference.")
    noise: NoiseLaw = getattr(mechanisms, claim.mechanism)(claim.modelled, claim.within).noise
    return noise


def _continuous(claim: Claim, noises: Sequence[NoiseLaw]) -> Certificate:
    """Return the certificate of noise that is drawn without a lattice."""
    model, within, name = claim.modelled, claim.within, claim.mechanism
    theorem = THEOREMS.get(name, "")
    if isinstance(claim.drawn, RowGrid):
        return exact_certificate(claim.drawn, noises, within, model.protected_pairs, theorem)
    if isinstance(claim.drawn, Drawn):
        return _by_draws(claim, claim.drawn, theorem)
    if name in BY_FORMULA:
        certificate: Certificate = getattr(mechanisms, name)(model, within).certificate
        return certificate
    noise = noises[0] if len(noises) == 1 else stacked(noises)
    if isinstance(noise, LaplaceNoise):
        return certified(model, within, noise, name=name, theorem=theorem).certificate
    law = None if claim.has_rows else claim.written.law
    if law is not None and (law.epsilon > within.epsilon * (1 + ROUNDING) or law.pair not in model.protected_pairs):
        raise InvalidInput("the rows showed δ at another ε, or for another pair, than is to hold.")
    return gaussian_certificate(model, within, noise, theorem, law=law)


def _by_draws(claim: Claim, drawn: Drawn, theorem: str) -> Certificate:
    """Return what coupled draws show; what they tell of several releases is δ at one ε alone."""
    facts, within = _facts(claim.written), claim.within
    tail: tuple[Evidence, ...] = ()
    kept = True
    if drawn.measure != "delta":
        tail, kept = tail_evidence(within, partial(_tail_shown, drawn))
    return Certificate(
        target=within,
        epsilon=within.epsilon,
        delta=_shown(claim, drawn),
        assurance="proved",
        theorem=theorem,
        evidence=(
            *draws_evidence(
                unseen_rows_evidence(claim.model),
                pairing=_pairing(facts),
                limit=drawn.limit,
                failure=drawn.failure,
                draws=int(drawn.laws[0].counts.sum()),
                laws=len(drawn.laws),
                slow=facts.get("slow") is True,
                seed=_seed(facts),
                seed_given=facts.get("chosen_by") == "caller",
            ),
            *tail,
        ),
        contradicted=not kept,
    )


def _facts(written: Certificate) -> dict[str, object]:
    """Return what is said of draws: how they were paired and who chose the seed cannot be seen in them."""
    return {name: fact for evidence in written.evidence for name, fact in evidence.facts.items()}


def _seed(facts: Mapping[str, object]) -> int:
    seed = facts.get("seed")
    if type(seed) is not int or seed < 0:
        raise InvalidInput("it is not said by which seed rows were drawn.")
    return seed


def _pairing(facts: Mapping[str, object]) -> Pairing:
    return "transport" if facts.get("pairing") == "transport" else "independent"


def _shown(claim: Claim, drawn: Drawn) -> float:
    """Return the δ that draws show, or say why they show nothing."""
    several, laws = claim.mechanism == JOINT and len(claim.noises) > 1, len(drawn.laws)
    units = {"delta": drawn.scale == 1, drawn.noise.kind: 0 < drawn.scale < math.inf}
    fits = units.get(drawn.measure, drawn.noise.kind == "none" and drawn.scale == 0)
    if not fits or (drawn.measure == "delta") != several or not 0 < drawn.limit < 1 or not 0 < drawn.failure < 1:
        raise InvalidInput(f"draws of {drawn.measure!r} at a scale of {drawn.scale:g} are not those of the noise.")
    if not math.isclose(drawn.epsilon, claim.within.epsilon, rel_tol=ROUNDING):
        raise InvalidInput(f"the draws were tested at epsilon = {drawn.epsilon:g}, not at that of the target.")
    if laws < _least_laws(claim.model) or len({int(law.counts.sum()) for law in drawn.laws}) != 1:
        raise InvalidInput("the laws of differences of the protected pairs were not all drawn, or differently often.")
    if not all(0 <= law.bet * (1 - drawn.limit) < 1 for law in drawn.laws):
        raise InvalidInput("a bet on the draws is out of its range.")
    wanted = math.log(CHOICES * laws / drawn.failure) * (1 - 1e-6)
    won = [log_evidence(_deltas(drawn, law), law.counts, drawn.limit, law.bet) for law in drawn.laws]
    if not all(evidence >= wanted for evidence in won):  # what is no number shows nothing either
        raise InvalidInput(f"the draws do not show that delta is below {drawn.limit:.6g}.")
    if drawn.measure in ("gaussian", "laplace") and 2 * max(map(_mean, drawn.laws)) < _shift(claim.model, drawn):
        raise InvalidInput("the draws are less than half as far apart as the means of their scenarios.")
    return drawn.limit + drawn.failure


def _mean(law: DrawnLaw) -> float:
    return float(law.values @ law.counts / law.counts.sum())


def _shift(model: QueryModel, drawn: Drawn) -> float:
    """Return how far apart the means of two scenarios are at most, in the unit of the draws.

    However two datasets are coupled, they are at least as far apart on average.
    """
    means = {name: law.mean for name, law in model.distributions.items()}
    order, whitening = (2 if drawn.measure == "gaussian" else 1), drawn.noise.whitening * drawn.scale
    return max(float(np.linalg.norm((means[a] - means[b]) @ whitening, order)) for a, b in model.protected_pairs)


def _deltas(drawn: Drawn, law: DrawnLaw) -> Floats:
    if drawn.measure == "delta":
        return np.minimum(law.values, 1.0)
    curve = gaussian_deltas_upper_bound if drawn.measure == "gaussian" else laplace_deltas_upper_bound
    return Lengths(values=law.values, counts=law.counts).deltas(partial(curve, drawn.epsilon), drawn.scale)


def _tail_shown(drawn: Drawn, point: PrivacyTarget) -> bool:
    """Return whether draws of lengths show the tail of a target."""
    curve = gaussian_deltas_upper_bound if drawn.measure == "gaussian" else laplace_deltas_upper_bound
    lengths = [Lengths(values=law.values, counts=law.counts) for law in drawn.laws]
    return all(Tail(point=point, curve=curve).shown(law, drawn.scale, len(lengths)) for law in lengths)


def _least_laws(model: QueryModel) -> int:
    """Return how many laws of differences the protected pairs have at least."""
    found = set()
    for pair in model.protected_pairs:
        one, other = (model.scenarios[name] for name in pair)
        if one.couples_with(other):
            values = frozenset(pair) if one.tilt is not None else one.swapped(other)
            found.add((one.predicate, values))
    return len(found)


def _require_widened(noise: NoiseLaw, enough: NoiseLaw, factor: float) -> None:
    """Refuse noise that is not so many times as wide as other noise of its kind, along the same axes."""
    widths, least = noise.widths, enough.widths * factor
    same = noise.kind == enough.kind and noise.axes.shape == enough.axes.shape
    if not same or not np.allclose(noise.axes, enough.axes, rtol=0, atol=ROUNDING):
        raise InvalidInput("the noise is of another kind, or along other axes, than the noise that was found enough.")
    if not np.allclose(widths, least, rtol=1e-6, atol=0):
        raise InvalidInput(f"the noise is not {factor:.4g} times as wide as the noise that was found to be enough.")


def witnessed(claim: Claim) -> Witness | None:
    """Return the draws, or the exact law of the rows, that a certificate rests on, from the reference itself."""
    drawn, written = claim.drawn, _facts(claim.written)
    if drawn is None or isinstance(drawn, RowGrid):
        return None if drawn is None else row_grid(claim.model)
    draws, seed = int(drawn.laws[0].counts.sum()), _seed(written)
    plan = calibration(claim.modelled, claim.within, name="verify", pairing=_pairing(written), draws=draws, seed=seed)
    bets = [law.bet for law in drawn.laws]
    if drawn.measure == "delta":
        return evolve(drawn, laws=joint_laws(plan, claim.within, claim.noises, bets))
    order, whitening = (2 if drawn.measure == "gaussian" else 1), drawn.noise.whitening * drawn.scale
    again = [Lengths.rounded_up(lengths) for lengths in plan.tests(partial(length, whitening, order))]
    laws = tuple(DrawnLaw.of(law.values, law.counts, bet) for law, bet in zip(again, bets, strict=True))
    return evolve(drawn, laws=laws)


def beside(claim: Claim, others: int, total: PrivacyTarget) -> list[Evidence]:
    """Return what a mechanism may say beyond what the certificate of its noise rests on.

    Args:
        claim: its certificate, and what that rests on.
        others: how many other questions it was certified with; noise was widened for some or all of them.
        total: what all of them may cost.
    """
    said = [Evidence.of("DP101", share=more) for more in ROOM_FOR_ERROR]
    said += [widening_evidence(times, earlier, total) for times in claim.times for earlier in range(others + 1)]
    said += equal_means(claim.model)
    if claim.mechanism == "certified_gaussian":  # by the noise as it is, and before it was widened for other releases
        factors = accumulate(reversed(claim.times), mul, initial=1.0)
        said += [masked_evidence(claim.model, claim.noise.covariance / factor**2) for factor in factors]
    if claim.mechanism == "no_noise":
        bare = mechanisms.no_noise(claim.modelled, claim.within, covariance="pooled")
        said.append(bare.certificate.evidence[0])
    return said
