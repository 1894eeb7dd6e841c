"""Certificates computed anew, from moments, noise and draws that were written down."""

import math

import numpy as np
from attrs import evolve, frozen

from distpriv import mechanisms
from distpriv.distances.gaussian import gaussian_deltas_upper_bound
from distpriv.errors import InvalidInput
from distpriv.framework.arrays import Floats
from distpriv.framework.secrets import ShareScenario
from distpriv.framework.target import PrivacyTarget
from distpriv.guarantees.certificate import Certificate
from distpriv.guarantees.certify import gaussian_certificate, sum_certificate
from distpriv.guarantees.discretised import calibration_target, discretised_certificate
from distpriv.guarantees.drawn import Drawn, DrawnLaw
from distpriv.guarantees.mean_bound import CHOICES, average_evidence, log_evidence
from distpriv.guarantees.upper_bound import delta_upper_bound
from distpriv.mechanisms.coupled_laplace import laplace_deltas_upper_bound
from distpriv.mechanisms.lengths import Lengths
from distpriv.modelling.model import QueryModel
from distpriv.noise.integers import Discrepancy
from distpriv.noise.lattice import on_lattice
from distpriv.noise.laws import GaussianNoise, LaplaceNoise, NoiseLaw, NoNoise, SumNoise, UnimodalNoise
from distpriv.releasing.stack import stacked

__all__ = ["Claim", "recomputed"]

BY_THEOREM = ("bounded", "group_privacy_gaussian", "group_privacy_laplace", "wasserstein", "approximate_wasserstein")
"""Mechanisms whose noise follows from the model by a formula: it is applied again."""

ROUNDING = 1e-9


@frozen(kw_only=True)
class Claim:
    """What is to be checked: a certificate, and all that it rests on."""

    mechanism: str
    model: QueryModel
    noises: tuple[NoiseLaw, ...]
    """Of all releases that it is about."""
    written: Certificate
    drawn: Drawn | None

    @property
    def noise(self) -> NoiseLaw:
        """The noise as one law."""
        return self.noises[0] if len(self.noises) == 1 else stacked(self.noises)

    @property
    def within(self) -> PrivacyTarget:
        """What has to hold for continuous noise, so that there is room for its lattice."""
        return calibration_target(self.written.target)


def recomputed(claim: Claim) -> Certificate:
    """Return the certificate that moments, noise and draws give, drawing on a lattice included."""
    if claim.noise.dimension != claim.model.dimension:
        raise InvalidInput(f"noise for {claim.noise.dimension} of {claim.model.dimension} statistics is written down.")
    cost = sum((on_lattice(noise).cost for noise in claim.noises), Discrepancy())
    return discretised_certificate(_continuous(claim), cost, claim.written.target)


def _continuous(claim: Claim) -> Certificate:
    noise, theorem = claim.noise, claim.written.theorem
    if claim.drawn is not None:
        return evolve(
            claim.written, target=claim.within, epsilon=claim.within.epsilon, delta=_shown(claim, claim.drawn)
        )
    if claim.mechanism in BY_THEOREM:
        return _by_theorem(claim)
    if claim.written.trust == "sampling":
        raise InvalidInput("the certificate rests on coupled draws, and none are written down.")
    if isinstance(noise, GaussianNoise | NoNoise):
        return gaussian_certificate(claim.model, claim.within, noise, theorem)
    if isinstance(noise, SumNoise):
        return sum_certificate(claim.model, claim.within, noise, theorem)
    delta = delta_upper_bound(claim.model, noise, epsilon=claim.within.epsilon)
    return evolve(
        claim.written, target=claim.within, epsilon=claim.within.epsilon, delta=delta, trust="assumed", drawn=None
    )


def _by_theorem(claim: Claim) -> Certificate:
    """Apply the mechanism's formula again: noise at least as wide holds what that holds."""
    if claim.model.provenance.method == "sampling" and not claim.mechanism.startswith("group_privacy"):
        raise InvalidInput("the certificate rests on sampled points, which a bundle does not hold.")
    made = getattr(mechanisms, claim.mechanism)(claim.model, claim.within)
    _require_no_narrower(claim.noise, made.noise)
    certificate: Certificate = made.certificate
    return certificate


def _shown(claim: Claim, drawn: Drawn) -> float:
    """Return the δ that draws show, or say why they show nothing."""
    _require_no_narrower(claim.noise, drawn.noise)
    if not math.isclose(drawn.epsilon, claim.within.epsilon, rel_tol=ROUNDING):
        raise InvalidInput(f"the draws were tested at epsilon = {drawn.epsilon:g}, not at that of the target.")
    _require_its_units(drawn)
    needed = _laws(claim.model)
    if drawn.rounds < 1 or len(drawn.laws) % drawn.rounds:
        raise InvalidInput(f"{len(drawn.laws)} histograms of draws are no {drawn.rounds} rounds of every law.")
    laws = drawn.by_law()
    if len(laws) < needed:
        raise InvalidInput(f"{len(laws)} laws of differences were drawn, and the protected pairs have {needed}.")
    if not 0 < drawn.limit < 1 or not 0 < drawn.failure < 1:
        raise InvalidInput("the limit and the chance of being misled must be between 0 and 1.")
    wanted = math.log(CHOICES * len(laws) / drawn.failure)
    for rounds in laws:
        for law in rounds:
            if not 0 <= law.bet * (1 - drawn.limit) < 1 or (law.counts < 0).any() or law.bet != rounds[0].bet:
                raise InvalidInput("a bet or a count of the draws is out of its range.")
        evidence = [log_evidence(_deltas(drawn, law), law.counts, drawn.limit, law.bet) for law in rounds]
        if not average_evidence(evidence) >= wanted * (1 - ROUNDING):  # what is no number shows nothing either
            raise InvalidInput(f"the draws do not show that delta is below {drawn.limit:.6g}.")
    return drawn.limit + drawn.failure


def _require_its_units(drawn: Drawn) -> None:
    """Refuse lengths that are not of the kind that noise is measured by, or a scale that it cannot have."""
    if drawn.measure == "delta":
        fits = drawn.scale == 1
    elif isinstance(drawn.noise, NoNoise):
        fits = drawn.scale == 0
    else:
        kind = drawn.noise if 0 < drawn.scale < math.inf else None
        fits = isinstance(kind, GaussianNoise) and drawn.measure == "gaussian"
        fits = fits or (isinstance(kind, LaplaceNoise) and drawn.measure == "laplace")
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
        if isinstance(one, ShareScenario) and isinstance(other, ShareScenario):
            found.add((one.predicate, abs(one.positives - other.positives)))
    return len(found)


def _require_no_narrower(noise: NoiseLaw, enough: NoiseLaw) -> None:
    """Refuse noise that is not what was found to be enough, or the same stretched."""
    (axes, widths), (enough_axes, enough_widths) = _widths(noise), _widths(enough)
    same = type(noise) is type(enough) and axes.shape == enough_axes.shape
    if not same or not np.allclose(axes, enough_axes, rtol=0, atol=ROUNDING):
        raise InvalidInput("the noise is of another kind, or along other axes, than the noise that was found enough.")
    if (widths < enough_widths * (1 - ROUNDING)).any():
        raise InvalidInput("the noise is narrower than the noise that was found to be enough.")


def _widths(noise: NoiseLaw) -> tuple[Floats, Floats]:
    """Return the axes of all parts of noise, side by side, and how wide it is along each."""
    match noise:
        case GaussianNoise():
            return noise.axes, np.sqrt(noise.variances)
        case LaplaceNoise():
            return noise.axes, noise.scales
        case SumNoise():
            parts = [_widths(part) for part in noise.parts]
            return np.concatenate([axes for axes, _ in parts], axis=1), np.concatenate([sizes for _, sizes in parts])
        case UnimodalNoise():
            return noise.axes, noise.edges[-1:]
        case NoNoise():
            return np.zeros((noise.dimension, 0)), np.zeros(0)
