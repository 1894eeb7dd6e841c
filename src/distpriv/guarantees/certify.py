"""Certify noise: compute the δ of a model with this noise, and state what the result rests on.

Modules for rows, samples, lattices and Laplace noise are imported where a model or its noise needs them, so that a
theorem of the paper on given moments loads neither the engine nor Fourier transforms.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from distpriv.distances.gaussian import variance_ratio
from distpriv.framework.target import PrivacyTarget
from distpriv.guarantees.certificate import Assurance, Certificate
from distpriv.guarantees.evidence import Evidence, tail_evidence
from distpriv.guarantees.exact_delta import worst_gaussian_pair
from distpriv.guarantees.mechanism import AdditiveMechanism
from distpriv.modelling.model import QueryModel
from distpriv.noise.laws import GaussianNoise, LaplaceNoise, Noise, NoiseLaw, NoNoise, SumNoise

if TYPE_CHECKING:
    from distpriv.framework.scenarios import Pair
    from distpriv.guarantees.certificate import RowDelta
    from distpriv.guarantees.drawn import Drawn
    from distpriv.guarantees.lattice_floor import Smoothing

__all__ = [
    "by_coupling",
    "certified",
    "gaussian_certificate",
    "is_estimated",
    "lattice_factors",
    "moments_delta",
    "smoothed_target",
]

LARGEST_SMOOTHING = 1e-3
"""The smoothing error above which the statistics do not count as continuous."""

ROOM_FOR_ERROR = (1e-7, 1e-6, 1e-5, 1e-4)
"""Relative increases of the variances, tried in turn until the numerical error of δ fits below the target."""


def certified(
    model: QueryModel,
    target: PrivacyTarget,
    noise: GaussianNoise | NoNoise | LaplaceNoise | SumNoise,
    *,
    name: str,
    theorem: str,
    evidence: Sequence[Evidence] = (),
) -> AdditiveMechanism:
    """Return the mechanism with this noise and its certificate.

    Gaussian noise, with or without Laplace noise, is certified by `gaussian_certificate`; Laplace noise alone by a
    theorem for translations. δ includes the numerical error of its computation: Gaussian noise that misses the target
    by this error alone is widened by a few parts in a million.
    """
    if isinstance(noise, LaplaceNoise):
        certificate = _translation_certificate(model, target, noise, theorem, evidence)
    else:
        certificate = gaussian_certificate(model, target, noise, theorem, evidence)
        narrow = noise.parts and noise.is_gaussian and target.delta < certificate.delta <= 1.001 * target.delta
        for more in ROOM_FOR_ERROR if narrow else ():
            wider = GaussianNoise(axes=noise.gaussian.axes, variances=noise.gaussian.variances * (1 + more))
            widened = gaussian_certificate(model, target, wider, theorem, (*evidence, Evidence.of("DP101", share=more)))
            if widened.holds:
                noise, certificate = wider, widened
                break
    return AdditiveMechanism(name=name, statistics=model.names, noise=noise, certificate=certificate)


def by_coupling(
    model: QueryModel,
    target: PrivacyTarget,
    noise: NoiseLaw,
    *,
    name: str,
    theorem: str,
    delta: float,
    assurance: Assurance,
    evidence: Sequence[Evidence],
    contradicted: bool = False,
    drawn: Drawn | None = None,
) -> AdditiveMechanism:
    """Return a mechanism whose proof is a coupling of the scenarios' datasets."""
    certificate = Certificate(
        target=target,
        epsilon=target.epsilon,
        delta=delta,
        assurance=assurance,
        theorem=theorem,
        evidence=tuple(evidence),
        contradicted=contradicted,
        drawn=drawn,
    )
    return AdditiveMechanism(name=name, statistics=model.names, noise=noise, certificate=certificate)


def moments_delta(model: QueryModel, target: PrivacyTarget, noise: Noise) -> float:
    """Return the δ of Gaussian statistics, lattice included; 1 if the noise does not smooth the lattice.

    It is cheap beside δ from the rows. If the reference is a sample and its own δ meets the target, the result is that
    of the worst population consistent with the sample.
    """
    lattice, smoothed = _lattice(model, noise.gaussian)
    if lattice.status != "checked":
        return 1.0
    own = _worst_pair(model, noise, target.epsilon, smoothed)[1]
    return own if own > target.delta else _allowed(model, noise, target.epsilon, smoothed, own)


def gaussian_certificate(
    model: QueryModel,
    target: PrivacyTarget,
    noise: Noise,
    theorem: str,
    evidence: Sequence[Evidence] = (),
    law: RowDelta | None = None,
) -> Certificate:
    """Return the certificate of noise: δ from the rows if there are any, else for Gaussian statistics.

    For Gaussian statistics δ is exact under Gaussian noise and a proven bound if there is Laplace noise too. If it
    exceeds ten times the target's δ, the rows are not used and the certificate does not hold. Laplace noise is a
    Gaussian with a random variance, so the Gaussian part alone decides how well the lattice is smoothed. δ from the
    rows is computed unless it is given as `law`.
    """
    lattice, smoothed = _lattice(model, noise.gaussian)
    pair, by_moments = _worst_pair(model, noise, target.epsilon, smoothed)
    summed = model.provenance.method == "exact moments"
    rows = summed and model.simulator is not None
    believed = lattice.status == "checked" and not is_estimated(model) and (rows or law is not None or not summed)
    hopeless = believed and rows and law is None and by_moments > 10 * target.delta
    if believed and rows and law is None and not hopeless:
        law = _law(model, target, noise, smoothed)
    if law is not None:
        allowed = law.delta
    else:
        from_rows = rows and believed
        allowed = by_moments if from_rows else _allowed(model, noise, target.epsilon, smoothed, by_moments)
    tail: tuple[Evidence, ...] = ()
    tail_holds = True
    if allowed <= target.delta:
        tail, tail_holds = tail_evidence(target, lambda point: gaussian_certificate(model, point, noise, theorem).holds)
    code = "DP203" if noise.is_gaussian else "DP204"
    by_formula = Evidence.of(code, ratio=_largest_ratio(model), delta=by_moments, epsilon=target.epsilon, pair=pair)
    return Certificate(
        target=target,
        epsilon=target.epsilon,
        delta=allowed,
        assurance="checked" if believed and (law.holds if law is not None else not rows) else "assumed",
        theorem=theorem,
        evidence=(
            *evidence,
            _distribution(model, law),
            *(() if law is not None else (by_formula,)),
            lattice,
            *_sample(model, noise, allowed, by_rows=law is not None),
            *tail,
        ),
        contradicted=hopeless or not tail_holds,
        law=law,
    )


def _law(model: QueryModel, target: PrivacyTarget, noise: Noise, smoothed: dict[str, Smoothing]) -> RowDelta | None:
    """Return δ from the rows of the reference, or of the worst population consistent with a sample."""
    from distpriv.guarantees.delta_from_rows import delta_from_rows
    from distpriv.guarantees.reference_sample import worst_population

    of, epsilon = worst_population(model, noise, target.epsilon) if model.strata else None, target.epsilon
    try:
        return delta_from_rows(model, noise, epsilon, matters=target.delta, smoothed=smoothed, population=of)
    except np.linalg.LinAlgError:  # covariances too ill-conditioned for a factorisation
        return None


def _allowed(model: QueryModel, noise: Noise, epsilon: float, smoothed: dict[str, Smoothing], own: float) -> float:
    """Return δ by moments; for a sample that of the worst population consistent with it."""
    if not model.strata or own >= 1:
        return own
    from distpriv.guarantees.reference_sample import worst_population

    return max(own, _worst_pair(worst_population(model, noise, epsilon).model, noise, epsilon, smoothed)[1])


def _sample(model: QueryModel, noise: Noise, delta: float, *, by_rows: bool) -> tuple[Evidence, ...]:
    """Return the assumptions of a certificate on a sample; none where the reference is the population."""
    if not model.strata:
        return ()
    from distpriv.guarantees.reference_sample import reference_evidence, unseen_rows_evidence

    return (*reference_evidence(model, noise, delta), *(unseen_rows_evidence(model) if by_rows else ()))


def _distribution(model: QueryModel, law: RowDelta | None) -> Evidence:
    """Return the evidence about the distribution of the statistics."""
    if law is None:
        made = model.provenance
        return Evidence.of("DP301", method=made.method, draws=made.draws if is_estimated(model) else None)
    known = ("delta", "pair", "epsilon", "pairs", "total_variation")
    drawn = ("draws", "estimate", "standard_error", "normalisation", "normalisation_error", "ripple", "missed")
    by_rows = "DP201" if law.exact else "DP202" if law.holds else "DP302"
    return Evidence.of(by_rows, **{name: getattr(law, name) for name in (known if law.exact else known + drawn)})


def _worst_pair(model: QueryModel, noise: Noise, epsilon: float, smoothed: dict[str, Smoothing]) -> tuple[Pair, float]:
    """Return the ordered pair with the largest δ, and that δ, with what the lattice costs where it is smoothed."""
    pairs = model.protected_pairs
    reduced, most = np.full(len(pairs), epsilon), np.ones(len(pairs))
    if smoothed:
        from distpriv.guarantees.lattice_floor import counted

        reduced, most = counted(pairs, smoothed, epsilon)
    if noise.is_gaussian:
        return worst_gaussian_pair(model, noise.gaussian, reduced, most)
    from distpriv.guarantees.upper_bound import worst_pair_upper_bound

    left, missing = np.maximum(0.0, reduced), -np.expm1(np.minimum(0.0, reduced))
    pair, delta = worst_pair_upper_bound(model, noise, left, most)
    return pair, min(1.0, delta + float((most * missing).max()))


def _translation_certificate(
    model: QueryModel, target: PrivacyTarget, noise: LaplaceNoise, theorem: str, evidence: Sequence[Evidence]
) -> Certificate:
    """Return the certificate of Laplace noise by a theorem for translations, which promises δ = 0.

    Where the covariances of a pair differ the distributions are no translations, and the certificate has the δ that is
    proven for Gaussian distributions with these covariances instead.
    """
    from distpriv.guarantees.upper_bound import delta_upper_bound

    most = delta_upper_bound(model, noise, epsilon=target.epsilon)
    translations = Evidence.of("DP303", ratio=_largest_ratio(model), most=most)
    return Certificate(
        target=target,
        epsilon=target.epsilon,
        delta=most,
        assurance="assumed",
        theorem=theorem,
        evidence=(*evidence, translations, _uncovered(noise)),
    )


def smoothed_target(model: QueryModel, noise: GaussianNoise, target: PrivacyTarget) -> tuple[float, float] | None:
    """Return the ε and δ that must hold for continuous statistics, or None if noise does not smooth their lattice."""
    from distpriv.guarantees.lattice_floor import counted

    lattice, smoothed = _lattice(model, noise)
    if lattice.status != "checked":
        return None
    reduced, most = counted(model.protected_pairs, smoothed, target.epsilon)
    return float(reduced.min()), target.delta / float(most.max())


def lattice_factors(model: QueryModel, noise: GaussianNoise) -> tuple[float, float]:
    """Return bounds on the density on the lattice over the continuous one; (1, 1) if it is not smoothed."""
    smoothed = _lattice(model, noise)[1].values()
    return min((factor.least for factor in smoothed), default=1.0), max(
        (factor.most for factor in smoothed), default=1.0
    )


def _lattice(model: QueryModel, noise: GaussianNoise) -> tuple[Evidence, dict[str, Smoothing]]:
    """Return evidence that the noise smooths the lattice of every scenario or not, and the smoothing by scenario."""
    from distpriv.guarantees.lattice_floor import covers_floor, smoothing

    if not covers_floor(model, noise):
        return _uncovered(noise), {}
    smoothed = {name: smoothing(model, law, noise) for name, law in model.distributions.items()}
    worst = max(factor.error for factor in smoothed.values())
    if worst > LARGEST_SMOOTHING:
        return Evidence.of("DP304", error=worst), {}
    return Evidence.of("DP205", deviations=model.floor, error=worst), smoothed


def _uncovered(noise: Noise) -> Evidence:
    """Return the reason why noise does not smooth a lattice."""
    axes = noise.axes.shape[1]
    if axes < noise.dimension:
        return Evidence.of("DP305", covered=axes, dimension=noise.dimension)
    if noise.is_gaussian:
        return Evidence.of("DP306")
    return Evidence.of("DP307", noise="Laplace" if noise.parts else noise.kind)


def is_estimated(model: QueryModel) -> bool:
    """Tell whether moments are estimated from draws, not known exactly."""
    return model.provenance.method not in ("exact moments", "given moments")


def _largest_ratio(model: QueryModel) -> float:
    pairs = model.protected_pairs
    return max(variance_ratio(*(model.distributions[name].covariance for name in pair)) for pair in pairs)
