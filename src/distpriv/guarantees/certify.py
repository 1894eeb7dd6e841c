"""From noise to a mechanism with its certificate: no certificate leaves the library without its check.

What models of rows, samples, lattices and Laplace noise need is imported where a model or its noise has them: a theorem
of the paper on given moments loads neither engine nor transforms.
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
"""A lattice that costs more than this is not smoothed by the noise, and the continuous check does not apply."""

ROOM_FOR_ERROR = (1e-7, 1e-6, 1e-5, 1e-4)
"""By which share of themselves variances are widened, in turn, until the error of computing δ fits below the target."""


def certified(
    model: QueryModel,
    target: PrivacyTarget,
    noise: GaussianNoise | NoNoise | LaplaceNoise | SumNoise,
    *,
    name: str,
    theorem: str,
    evidence: Sequence[Evidence] = (),
) -> AdditiveMechanism:
    """Return the mechanism with this noise, certified by what its law allows on the model as it is.

    Gaussian noise, or none, by the exact check; with Laplace noise beside it by the bound of `upper_bound`; Laplace
    noise alone by a theorem that assumes translations. The exact check adds the error of its own computation to δ:
    Gaussian noise that misses the target by no more than that is widened by a few parts in a million, so that it does
    not.
    """
    if isinstance(noise, LaplaceNoise):
        certificate = _translation_certificate(model, target, noise, theorem, evidence)
    else:
        certificate = gaussian_certificate(model, target, noise, theorem, evidence)
        narrow = noise.parts and noise.is_gaussian and target.delta < certificate.delta <= 1.001 * target.delta
        for more in ROOM_FOR_ERROR if narrow else ():
            wider = GaussianNoise(axes=noise.gaussian.axes, variances=noise.gaussian.variances * (1 + more))
            said = (*evidence, Evidence.of("DP101", share=more))
            if (anew := gaussian_certificate(model, target, wider, theorem, said)).holds:
                noise, certificate = wider, anew
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
    """Return a mechanism whose proof is a coupling: it holds for any laws that can be coupled as assumed."""
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
    """Return the δ of noise by moments and lattice alone, before the rows are looked at; 1 if the lattice shows.

    Above the target it is the model's own, which tells enough, and nothing of populations that a sample may be of.
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
    """Return what noise is worth: by the rows where the statistics are sums over them, else for Gaussian statistics.

    By moments δ is exact for Gaussian noise, or none; a proven bound where there is Laplace noise too. Where it is ten
    times the target's the rows are not looked at, and no target is met. Given its variances Laplace noise only widens
    the Gaussian part, which alone tells how well the lattice is smoothed.

    The δ of the rows is computed where it is not given as `law`.
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
    kept = True
    if allowed <= target.delta:
        tail, kept = tail_evidence(target, lambda point: gaussian_certificate(model, point, noise, theorem).holds)
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
        contradicted=hopeless or not kept,
        law=law,
    )


def _law(model: QueryModel, target: PrivacyTarget, noise: Noise, smoothed: dict[str, Smoothing]) -> RowDelta | None:
    """Return δ by the rows of the reference, or of the worst population that it may be a sample of."""
    from distpriv.guarantees.delta_from_rows import delta_from_rows
    from distpriv.guarantees.reference_sample import worst_population

    of, epsilon = worst_population(model, noise, target.epsilon) if model.strata else None, target.epsilon
    try:
        return delta_from_rows(model, noise, epsilon, matters=target.delta, smoothed=smoothed, population=of)
    except np.linalg.LinAlgError:  # numbers of all sizes, of which nothing can be computed
        return None


def _allowed(model: QueryModel, noise: Noise, epsilon: float, smoothed: dict[str, Smoothing], own: float) -> float:
    """Return the δ by moments, of a sample that of the worst population it may be of."""
    if not model.strata or own >= 1:
        return own
    from distpriv.guarantees.reference_sample import worst_population

    return max(own, _worst_pair(worst_population(model, noise, epsilon).model, noise, epsilon, smoothed)[1])


def _sample(model: QueryModel, noise: Noise, delta: float, *, by_rows: bool) -> tuple[Evidence, ...]:
    """Return what a certificate on a sample rests on; nothing where the reference is the population."""
    if not model.strata:
        return ()
    from distpriv.guarantees.reference_sample import reference_evidence, unseen_rows_evidence

    return (*reference_evidence(model, noise, delta), *(unseen_rows_evidence(model) if by_rows else ()))


def _distribution(model: QueryModel, law: RowDelta | None) -> Evidence:
    """Return what a certificate rests on as to the distribution of the statistics."""
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
    at = dict(zip(pairs, zip(left.tolist(), most.tolist(), strict=True), strict=True))
    pair, delta = worst_pair_upper_bound(model, noise, at.__getitem__)
    return pair, min(1.0, delta + float((most * missing).max()))


def _translation_certificate(
    model: QueryModel, target: PrivacyTarget, noise: LaplaceNoise, theorem: str, evidence: Sequence[Evidence]
) -> Certificate:
    """Return what Laplace noise is worth by a theorem that assumes translations, and promises δ = 0 for them.

    Where the covariances of a pair differ the laws are no translations, and the certificate has the δ that is proven
    for Gaussian laws with these covariances instead.
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
    """Return between which factors of the continuous density that on the lattice is; (1, 1) if it is not smoothed."""
    smoothed = _lattice(model, noise)[1].values()
    return min((factor.least for factor in smoothed), default=1.0), max(
        (factor.most for factor in smoothed), default=1.0
    )


def _lattice(model: QueryModel, noise: GaussianNoise) -> tuple[Evidence, dict[str, Smoothing]]:
    """Return whether the noise smooths the lattice of every scenario, and how well it does."""
    from distpriv.guarantees.lattice_floor import covers_floor, smoothing

    if not covers_floor(model, noise):
        return _uncovered(noise), {}
    smoothed = {name: smoothing(model, law, noise) for name, law in model.distributions.items()}
    worst = max(factor.error for factor in smoothed.values())
    if worst > LARGEST_SMOOTHING:
        return Evidence.of("DP304", error=worst), {}
    return Evidence.of("DP205", deviations=model.floor, error=worst), smoothed


def _uncovered(noise: Noise) -> Evidence:
    """Return why noise smooths no lattice."""
    axes = noise.axes.shape[1]
    if axes < noise.dimension:
        return Evidence.of("DP305", covered=axes, dimension=noise.dimension)
    if noise.is_gaussian:
        return Evidence.of("DP306")
    return Evidence.of("DP307", noise="Laplace" if noise.parts else noise.kind)


def is_estimated(model: QueryModel) -> bool:
    """Tell whether moments are those of draws, and not known exactly."""
    return model.provenance.method not in ("exact moments", "given moments")


def _largest_ratio(model: QueryModel) -> float:
    pairs = model.protected_pairs
    return max(variance_ratio(*(model.distributions[name].covariance for name in pair)) for pair in pairs)
