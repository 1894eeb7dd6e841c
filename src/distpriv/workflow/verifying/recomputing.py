"""Certificates computed anew, from moments, noise and draws that were written down."""

import math
from collections.abc import Sequence

import numpy as np
from attrs import evolve, frozen

from distpriv import mechanisms
from distpriv.distances.gaussian import gaussian_deltas_upper_bound
from distpriv.errors import InvalidInput
from distpriv.framework.arrays import Floats
from distpriv.framework.target import PrivacyTarget
from distpriv.guarantees.certificate import Certificate
from distpriv.guarantees.certify import certified, gaussian_certificate
from distpriv.guarantees.drawn import Drawn, DrawnLaw, Witness
from distpriv.guarantees.evidence import tail_evidence
from distpriv.guarantees.exact_rows import THEOREM as EXACT
from distpriv.guarantees.exact_rows import exact_certificate
from distpriv.guarantees.mean_bound import CHOICES, log_evidence
from distpriv.guarantees.relaxation import (
    allowing_for_ball,
    calibration_target,
    discretised_certificate,
    made_for,
    without_ball,
)
from distpriv.law.cells import RowGrid
from distpriv.mechanisms.search.coupled_draws import Lengths, Tail
from distpriv.mechanisms.search.noise_shapes import laplace_deltas_upper_bound
from distpriv.modelling.model import QueryModel
from distpriv.noise.integers import Discrepancy
from distpriv.noise.lattice import on_lattice
from distpriv.noise.laws import LaplaceNoise, NoiseLaw
from distpriv.releasing.immunity import THEOREM as IMMUNE
from distpriv.releasing.immunity import immune_certificate
from distpriv.releasing.joint import THEOREM, widening
from distpriv.releasing.stack import stacked
from distpriv.workflow.verifying.draws_again import draws_evidence

__all__ = ["BY_THEOREM", "JOINT", "THEOREMS", "Claim", "recomputed"]

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
"""What the certificates rest on whose δ is computed from moments or draws; those of formulas say so themselves."""

BY_THEOREM = ("bounded", "group_privacy_gaussian", "group_privacy_laplace", "wasserstein", "approximate_wasserstein")
"""Mechanisms whose noise follows from the model by a formula: it is applied again."""

BY_DRAWS = ("coupled_gaussian", "coupled_laplace")

BY_LAW = "exact_law"
"""The mechanism whose δ is that of laws that are written down."""

ROUNDING = 1e-9

LEAST = 3e-5
"""By which share noise that is the least to pass may be above the least."""


@frozen(kw_only=True)
class Claim:
    """What is to be checked: a certificate, and all that it rests on."""

    mechanism: str
    model: QueryModel
    noises: tuple[NoiseLaw, ...]
    """Of all releases that it is about."""
    written: Certificate
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
        return calibration_target(self.written.target)

    @property
    def within(self) -> PrivacyTarget:
        """What has to hold of that for the modelled laws, so that there is room for those around them."""
        return made_for(self.model, self.on_lattices)

    @property
    def times(self) -> tuple[float, ...]:
        """How many times as wide the noise is said to be as this release alone needs; when planned, and when made."""
        return tuple(filter(None, map(widening, self.written.evidence)))


def recomputed(claim: Claim) -> Certificate:
    """Return the certificate that moments, noise and draws give, drawing on a lattice included.

    Noise that was widened for the sake of all releases is no less private than the noise that it was made of, whose
    certificate it keeps.
    """
    written = sum(noise.dimension for noise in claim.noises)
    if written != claim.model.dimension:
        raise InvalidInput(f"noise for {written} of {claim.model.dimension} statistics is written down.")
    if claim.mechanism == JOINT and claim.written.theorem == IMMUNE:
        total = claim.written.target
        added = immune_certificate(claim.model, claim.noises, made_for(claim.model, total))
        return allowing_for_ball(added, claim.model, total)
    if (claim.mechanism == BY_LAW) != isinstance(claim.drawn, RowGrid) and claim.mechanism != JOINT:
        raise InvalidInput("the certificate rests on an exact law, and none is written down, or the other way round.")
    if (claim.mechanism in BY_DRAWS) != isinstance(claim.drawn, Drawn) and claim.mechanism != JOINT:
        raise InvalidInput("the certificate rests on coupled draws, and none are written down, or the other way round.")
    enough = _enough(claim)
    factor = math.prod(claim.times)
    if claim.times and not (1 < factor < math.inf and all(noise.is_sum_of_parts for noise in claim.noises)):
        raise InvalidInput(f"noise cannot have been widened {factor:g} times.")
    if enough is not None:
        if not math.isclose(_factor(claim.noise, enough), factor, rel_tol=ROUNDING):
            raise InvalidInput(f"the noise is not {factor:.4g} times as wide as the noise that was found to be enough.")
        return _on_lattice(claim, claim.noises if len(claim.noises) > 1 else (enough,))
    return _on_lattice(claim, (claim.noise.widened(1 / factor),) if claim.times else claim.noises)


def _on_lattice(claim: Claim, noises: Sequence[NoiseLaw]) -> Certificate:
    """Return the certificate of noise as a release draws it."""
    cost = sum((on_lattice(noise).cost for noise in noises), Discrepancy())
    found = _exact_again(claim, claim.drawn, noises) if isinstance(claim.drawn, RowGrid) else _continuous(claim, noises)
    return discretised_certificate(allowing_for_ball(found, claim.model, claim.on_lattices), cost, claim.written.target)


def _enough(claim: Claim) -> NoiseLaw | None:
    """Return the noise that draws or a formula have found to be enough; nothing where the check decides."""
    if isinstance(claim.drawn, Drawn):
        return claim.drawn.noise
    if claim.mechanism not in BY_THEOREM:
        return None
    if claim.model.provenance.method == "sampling" and not claim.mechanism.startswith("group_privacy"):
        raise InvalidInput("the certificate rests on sampled points, which a bundle does not hold.")
    noise: NoiseLaw = getattr(mechanisms, claim.mechanism)(claim.modelled, claim.within).noise
    return noise


def _exact_again(claim: Claim, rows: RowGrid, noises: Sequence[NoiseLaw]) -> Certificate:
    """Return the certificate of noise by the exact law of the rows that are written down, before it is on a lattice."""
    return exact_certificate(rows, noises, claim.within, claim.model.protected_pairs, THEOREMS[claim.mechanism])


def _continuous(claim: Claim, noises: Sequence[NoiseLaw]) -> Certificate:
    """Return the certificate of noise that is drawn without a lattice."""
    model, within = claim.modelled, claim.within
    noise = noises[0] if len(noises) == 1 else stacked(noises)
    if isinstance(claim.drawn, Drawn):
        drawn = claim.drawn
        of_one = drawn.measure != "delta"  # what draws tell of several releases is δ at one ε alone
        tail, kept = tail_evidence(within, lambda point: _tail_shown(drawn, point)) if of_one else ((), True)
        return Certificate(
            target=within,
            epsilon=within.epsilon,
            delta=_shown(claim, claim.drawn),
            assurance="proved",
            theorem=THEOREMS[claim.mechanism],
            evidence=(*draws_evidence(claim.drawn, claim.written, claim.model), *tail),
            contradicted=not kept,
        )
    if claim.mechanism in BY_THEOREM:
        certificate: Certificate = getattr(mechanisms, claim.mechanism)(model, within).certificate
        return certificate
    if claim.mechanism not in THEOREMS:
        raise InvalidInput(f"there is no mechanism {claim.mechanism!r}.")
    if claim.written.assurance == "proved":
        raise InvalidInput("the certificate rests on coupled draws, and none are written down.")
    theorem, name = THEOREMS[claim.mechanism], claim.mechanism
    law = claim.written.law
    if law is not None and law.peak is not None and len(law.peak) != model.dimension:
        raise InvalidInput("what the rows showed is of another number of statistics.")
    if law is not None and law.epsilon > within.epsilon * (1 + ROUNDING):
        raise InvalidInput(f"the rows showed δ at ε = {law.epsilon:g}, and {within.epsilon:g} is to hold.")
    if isinstance(noise, LaplaceNoise):
        return certified(model, within, noise, name=name, theorem=theorem).certificate
    return gaussian_certificate(model, within, noise, theorem, law=law)


def _shown(claim: Claim, drawn: Drawn) -> float:
    """Return the δ that draws show, or say why they show nothing."""
    if not math.isclose(drawn.epsilon, claim.within.epsilon, rel_tol=ROUNDING):
        raise InvalidInput(f"the draws were tested at epsilon = {drawn.epsilon:g}, not at that of the target.")
    if (drawn.measure == "delta") != (claim.mechanism == JOINT) and len(claim.noises) > 1:
        raise InvalidInput("draws of all releases tell of δ, and those of one of lengths.")
    _require_its_units(drawn)
    needed = _laws(claim.model)
    laws = drawn.laws
    if len(laws) < needed:
        raise InvalidInput(f"{len(laws)} laws of differences were drawn, and the protected pairs have {needed}.")
    if not 0 < drawn.limit < 1 or not 0 < drawn.failure < 1:
        raise InvalidInput("the limit and the chance of being misled must be between 0 and 1.")
    if len({int(law.counts.sum()) for law in drawn.laws}) != 1:
        raise InvalidInput("the laws of differences were drawn differently often.")
    for law in drawn.laws:
        if (law.counts <= 0).any() or (np.diff(law.values) <= 0).any():
            raise InvalidInput("a histogram of draws is not in order, or has a place where nothing was drawn.")
    wanted = math.log(CHOICES * len(laws) / drawn.failure) * (1 - ROUNDING)
    if not all(won >= wanted for won in _won(drawn)):  # what is no number shows nothing either
        raise InvalidInput(f"the draws do not show that delta is below {drawn.limit:.6g}.")
    if drawn.measure != "delta" and drawn.scale > 0:
        narrower = evolve(drawn, scale=drawn.scale * (1 - LEAST))
        tail = claim.within.tail
        if all(won >= wanted for won in _won(narrower)) and (tail is None or _tail_shown(narrower, tail)):
            raise InvalidInput("the draws allow for less noise than was chosen by them, so they are not its own.")
    return drawn.limit + drawn.failure


def _tail_shown(drawn: Drawn, point: PrivacyTarget) -> bool:
    """Return whether draws of lengths show the tail of a target."""
    curve = gaussian_deltas_upper_bound if drawn.measure == "gaussian" else laplace_deltas_upper_bound
    lengths = [Lengths(values=law.values, counts=law.counts) for law in drawn.laws]
    return all(Tail(point=point, curve=curve).shown(law, drawn.scale, len(lengths)) for law in lengths)


def _won(drawn: Drawn) -> list[float]:
    """Return the evidence of the draws of every law."""
    found = []
    for law in drawn.laws:
        if not 0 <= law.bet * (1 - drawn.limit) < 1:
            raise InvalidInput("a bet on the draws is out of its range.")
        found.append(log_evidence(_deltas(drawn, law), law.counts, drawn.limit, law.bet))
    return found


def _require_its_units(drawn: Drawn) -> None:
    """Refuse lengths that are not of the kind that noise is measured by, or a scale that it cannot have."""
    if drawn.measure == "delta":
        fits = drawn.scale == 1
    elif drawn.noise.kind == "none":
        fits = drawn.scale == 0
    else:
        fits = drawn.noise.kind == drawn.measure and 0 < drawn.scale < math.inf
    if not fits:
        raise InvalidInput(f"draws of {drawn.measure!r} at a scale of {drawn.scale:g} are not those of the noise.")


def _deltas(drawn: Drawn, law: DrawnLaw) -> Floats:
    if drawn.measure == "delta":
        return np.minimum(law.values, 1.0)

    def curve(lengths: Floats) -> Floats:
        bound = gaussian_deltas_upper_bound if drawn.measure == "gaussian" else laplace_deltas_upper_bound
        return bound(drawn.epsilon, lengths)

    return Lengths(values=law.values, counts=law.counts).deltas(curve, drawn.scale)


def _laws(model: QueryModel) -> int:
    """Return how many laws of differences the protected pairs have at least."""
    found = set()
    for pair in model.protected_pairs:
        one, other = (model.scenarios[name] for name in pair)
        if one.couples_with(other):
            values = frozenset(pair) if one.tilt is not None else one.swapped(other)
            found.add((one.predicate, values))
    return len(found)


def _factor(noise: NoiseLaw, enough: NoiseLaw) -> float:
    """Return how many times as wide noise is as other noise of its kind, along the same axes, or refuse it."""
    widths, enough_widths = noise.widths, enough.widths
    same = noise.kind == enough.kind and noise.axes.shape == enough.axes.shape
    if not same or not np.allclose(noise.axes, enough.axes, rtol=0, atol=ROUNDING):
        raise InvalidInput("the noise is of another kind, or along other axes, than the noise that was found enough.")
    if not widths.size:
        return 1.0
    if not (enough_widths > 0).all():
        raise InvalidInput("the noise that was found enough is none along one of its axes.")
    factors = widths / enough_widths
    if np.ptp(factors) > ROUNDING * factors.max() or factors.min() < 1 - ROUNDING:
        raise InvalidInput("the noise is narrower than the noise that was found to be enough.")
    return float(factors.max())
