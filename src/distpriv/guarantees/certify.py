"""From noise to a mechanism with its certificate: no certificate leaves the library without its check."""

from collections.abc import Mapping, Sequence

import numpy as np

from distpriv.distances.gaussian import variance_ratio
from distpriv.framework.scenarios import Pair
from distpriv.framework.target import PrivacyTarget
from distpriv.guarantees.certificate import Assumption, Assurance, Certificate
from distpriv.guarantees.delta_from_rows import delta_from_rows, has_rows
from distpriv.guarantees.drawn import Drawn
from distpriv.guarantees.exact_delta import worst_gaussian_pair
from distpriv.guarantees.lattice_floor import Smoothing, counted, covers_floor, smoothing
from distpriv.guarantees.mechanism import AdditiveMechanism
from distpriv.guarantees.reference_sample import allowed_delta, reference_assumptions, worst_population
from distpriv.guarantees.row_delta import RowDelta
from distpriv.guarantees.unseen_rows import unseen_rows_assumptions
from distpriv.guarantees.upper_bound import delta_lower_bound, delta_upper_bound, worst_pair_upper_bound
from distpriv.modelling.model import QueryModel
from distpriv.noise.laws import GaussianNoise, LaplaceNoise, Noise, NoiseLaw, NoNoise, SumNoise

__all__ = [
    "by_coupling",
    "certified",
    "gaussian_certificate",
    "gaussian_delta",
    "is_estimated",
    "lattice_factors",
    "moments_delta",
    "smoothed_target",
]

LARGEST_SMOOTHING = 1e-3
"""A lattice that costs more than this is not smoothed by the noise, and the continuous check does not apply."""

NEAR = 1e-3
"""A δ that misses its target by less than this share may miss it by the error of its computation alone."""

ROOM_FOR_ERROR = (1e-7, 1e-6, 1e-5, 1e-4)
"""By which share of themselves variances are widened, in turn, until the error of computing δ fits below the target."""

FAR_ABOVE = 10.0
"""A δ by moments that is so many times the target's is not computed from the rows."""


def certified(
    model: QueryModel,
    target: PrivacyTarget,
    noise: GaussianNoise | NoNoise | LaplaceNoise | SumNoise,
    *,
    name: str,
    theorem: str,
    assumptions: Sequence[Assumption] = (),
) -> AdditiveMechanism:
    """Return the mechanism with this noise, certified by what its law allows on the model as it is.

    Gaussian noise, or none, by the exact check; with Laplace noise beside it by the bound of `upper_bound`; Laplace
    noise alone by a theorem that assumes translations. The exact check adds the error of its own computation to δ:
    Gaussian noise that misses the target by no more than that is widened by a few parts in a million, so that it does
    not.
    """
    if isinstance(noise, LaplaceNoise):
        certificate = _translation_certificate(model, target, noise, theorem, assumptions)
    else:
        certificate = gaussian_certificate(model, target, noise, theorem, assumptions)
        near = target.delta < certificate.delta <= target.delta * (1 + NEAR)
        if near and noise.parts and noise.is_gaussian:
            noise, certificate = _widened(model, target, noise, theorem, assumptions) or (noise, certificate)
    return AdditiveMechanism(name=name, statistics=model.names, noise=noise, certificate=certificate)


def _widened(
    model: QueryModel,
    target: PrivacyTarget,
    noise: Noise,
    theorem: str,
    assumptions: Sequence[Assumption],
) -> tuple[GaussianNoise, Certificate] | None:
    """Return the noise a few parts in a million wider, with its certificate; None if that is not enough."""
    for more in ROOM_FOR_ERROR:
        wider = GaussianNoise(axes=noise.gaussian.axes, variances=noise.gaussian.variances * (1 + more))
        said = Assumption(
            statement=f"variances are {more:g} of themselves wider than the theorem has them",
            status="proved",
            evidence="room for the error of computing δ",
        )
        certificate = gaussian_certificate(model, target, wider, theorem, (*assumptions, said))
        if certificate.holds:
            return wider, certificate
    return None


def by_coupling(
    model: QueryModel,
    target: PrivacyTarget,
    noise: NoiseLaw,
    *,
    name: str,
    theorem: str,
    delta: float,
    assurance: Assurance,
    assumptions: Sequence[Assumption],
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
        assumptions=tuple(assumptions),
        contradicted=contradicted,
        drawn=drawn,
    )
    return AdditiveMechanism(name=name, statistics=model.names, noise=noise, certificate=certificate)


def moments_delta(model: QueryModel, target: PrivacyTarget, noise: Noise) -> float:
    """Return the δ of noise by moments and lattice alone, before the rows are looked at; 1 if the lattice shows.

    Above the target it is the model's own, which tells enough, and nothing of populations that a sample may be of.
    """
    lattice, smoothed = _lattice_assumption(model, noise.gaussian)
    if lattice.status != "checked":
        return 1.0
    return allowed_delta(
        model,
        noise,
        target.epsilon,
        lambda of: _worst_pair(of, noise, target.epsilon, smoothed)[1],
        limit=target.delta,
    )


def gaussian_delta(model: QueryModel, noise: Noise, epsilon: float) -> float:
    """Return the δ of noise for continuous Gaussian statistics with the model's own moments, which guides searches."""
    return _worst_pair(model, noise, epsilon, {})[1]


def gaussian_certificate(
    model: QueryModel,
    target: PrivacyTarget,
    noise: Noise,
    theorem: str,
    assumptions: Sequence[Assumption] = (),
    law: RowDelta | None = None,
) -> Certificate:
    """Return what noise is worth: by the rows where the statistics are sums over them, else for Gaussian statistics.

    By moments δ is exact for Gaussian noise, or none; a proven bound where there is Laplace noise too. Where it is far
    above the target the rows are not looked at, and no target is met. Given its variances Laplace noise only widens the
    Gaussian part, which alone tells how well the lattice is smoothed.

    Args:
        model: the model of the statistics.
        target: what is asked for.
        noise: what is added.
        theorem: what the certificate follows from.
        assumptions: what it rests on besides.
        law: the δ of the rows, where that is known already.
    """
    lattice, smoothed = _lattice_assumption(model, noise.gaussian)
    pair, by_moments = _worst_pair(model, noise, target.epsilon, smoothed)
    rows = has_rows(model)
    believed = (
        lattice.status == "checked" and not is_estimated(model) and (rows or law is not None or not _summed(model))
    )
    hopeless = believed and rows and law is None and by_moments > FAR_ABOVE * target.delta
    if believed and rows and law is None and not hopeless:
        law = _law(model, target, noise, smoothed)
    if law is None:
        allowed = by_moments
        if not rows or not believed:
            allowed = allowed_delta(
                model,
                noise,
                target.epsilon,
                lambda of: by_moments if of is model else _worst_pair(of, noise, target.epsilon, smoothed)[1],
            )
    else:
        allowed = law.delta
    return Certificate(
        target=target,
        epsilon=target.epsilon,
        delta=allowed,
        assurance="checked" if believed and (law.holds if law is not None else not rows) else "assumed",
        theorem=theorem,
        assumptions=(
            *assumptions,
            _distribution_assumption(model, law),
            *(() if law is not None else (_moments_assumption(model, noise, target, pair, by_moments),)),
            lattice,
            *reference_assumptions(model, noise, allowed),
            *(unseen_rows_assumptions(model) if law is not None else ()),
        ),
        contradicted=hopeless,
        law=law,
    )


def _law(model: QueryModel, target: PrivacyTarget, noise: Noise, smoothed: Mapping[str, Smoothing]) -> RowDelta | None:
    """Return δ by the rows of the reference, or of the worst population that it may be a sample of."""
    population = worst_population(model, noise, target.epsilon) if model.strata else None
    try:
        return delta_from_rows(
            model, noise, target.epsilon, matters=target.delta, smoothed=smoothed, population=population
        )
    except np.linalg.LinAlgError:  # numbers of all sizes, of which nothing can be computed
        return None


def _distribution_assumption(model: QueryModel, law: RowDelta | None) -> Assumption:
    """Return what a certificate rests on as to the distribution of the statistics."""
    if law is None:
        method = model.provenance.method
        return Assumption(
            statement="the statistics are Gaussian with the modelled means and covariances, on their lattice",
            status="assumed",
            evidence=f"moments estimated from {model.provenance.draws or 'given'} points"
            if is_estimated(model)
            else method,
        )
    evidence = f"δ = {law.delta:.3g} by the exact distribution, worst for {law.pair[0]} against {law.pair[1]}"
    if not law.exact:
        ripple = "no periodic structure" if law.peak is None else f"periodic structure of amplitude {law.ripple:.1e}"
        evidence = (
            f"δ ≤ {law.delta:.3g} by {law.draws:,} tilted draws, an estimate of {law.estimate:.3g} ± "
            f"{law.standard_error:.1g} with margins, worst for {law.pair[0]} against {law.pair[1]}; normalisation off "
            f"by {law.normalisation:.2g} ± {law.normalisation_error:.1g}; {ripple}, missed with a chance of "
            f"{law.missed:.1e}"
        )
    return Assumption(
        statement="δ is computed from the distribution of the reference rows",
        status="checked" if law.holds else "assumed",
        evidence=evidence,
    )


def _moments_assumption(model: QueryModel, noise: Noise, target: PrivacyTarget, pair: Pair, delta: float) -> Assumption:
    delta_is, relation = ("exact", "=") if noise.is_gaussian else ("a proven bound", "≤")
    return Assumption(
        statement=f"δ is {delta_is} for the covariances as they are",
        status="checked",
        evidence=f"they differ by a factor of up to {_largest_ratio(model):.3g}; δ {relation} {delta:.3g} at "
        f"ε = {target.epsilon:g}, worst for {pair[0]} against {pair[1]}",
    )


def _worst_pair(
    model: QueryModel, noise: Noise, epsilon: float, smoothed: Mapping[str, Smoothing]
) -> tuple[Pair, float]:
    """Return the ordered pair with the largest δ, and that δ, with what the lattice costs where it is smoothed."""
    pairs = model.protected_pairs
    unchanged = np.full(len(pairs), epsilon), np.ones(len(pairs))
    reduced, most = counted(pairs, smoothed, epsilon) if smoothed else unchanged
    if noise.is_gaussian:
        return worst_gaussian_pair(model, noise.gaussian, reduced, most)
    left, missing = np.maximum(0.0, reduced), -np.expm1(np.minimum(0.0, reduced))
    at = dict(zip(pairs, zip(left.tolist(), most.tolist(), strict=True), strict=True))
    pair, delta = worst_pair_upper_bound(model, noise, at.__getitem__)
    return pair, min(1.0, delta + float((most * missing).max()))


def _translation_certificate(
    model: QueryModel, target: PrivacyTarget, noise: LaplaceNoise, theorem: str, assumptions: Sequence[Assumption]
) -> Certificate:
    """Return what Laplace noise is worth by a theorem that assumes translations, and promises δ = 0 for them.

    Where the covariances of a pair differ the laws are no translations, and the certificate has the δ that is proven
    for Gaussian laws with these covariances instead.
    """
    least = delta_lower_bound(model, noise, epsilon=target.epsilon)
    most = delta_upper_bound(model, noise, epsilon=target.epsilon)
    return Certificate(
        target=target,
        epsilon=target.epsilon,
        delta=most,
        assurance="assumed",
        theorem=theorem,
        assumptions=(
            *assumptions,
            Assumption(
                statement="the laws of a protected pair are translations of each other, or Gaussian",
                status="assumed",
                evidence=f"covariances differ by a factor of up to {_largest_ratio(model):.3g}; for Gaussian laws that "
                f"differ so, δ is between {least:.3g} and {most:.3g}",
            ),
            _uncovered_assumption(noise),
        ),
    )


def smoothed_target(model: QueryModel, noise: GaussianNoise, target: PrivacyTarget) -> tuple[float, float] | None:
    """Return the ε and δ that must hold for continuous statistics, or None if noise does not smooth their lattice."""
    lattice, smoothed = _lattice_assumption(model, noise)
    if lattice.status != "checked":
        return None
    reduced, most = counted(model.protected_pairs, smoothed, target.epsilon)
    return float(reduced.min()), target.delta / float(most.max())


def lattice_factors(model: QueryModel, noise: GaussianNoise) -> tuple[float, float]:
    """Return between which factors of the continuous density that on the lattice is; (1, 1) if it is not smoothed."""
    smoothed = _lattice_assumption(model, noise)[1]
    return min((f.least for f in smoothed.values()), default=1.0), max((f.most for f in smoothed.values()), default=1.0)


def _lattice_assumption(model: QueryModel, noise: GaussianNoise) -> tuple[Assumption, dict[str, Smoothing]]:
    """Return whether the noise smooths the lattice of every scenario, and how well it does."""
    if not covers_floor(model, noise):
        return _uncovered_assumption(noise), {}
    smoothed = {name: smoothing(model, of, noise) for name, of in model.distributions.items()}
    worst = max(found.error for found in smoothed.values())
    if worst > LARGEST_SMOOTHING:
        return (
            Assumption(
                statement="the statistics are continuous",
                status="assumed",
                evidence="the noise does not smooth the lattice that the statistics are on, or are tied together on "
                f"(error {worst:.2g}), so the lattice attack may read them off",
            ),
            {},
        )
    return (
        Assumption(
            statement="the noise is coarse against the lattice that the statistics live on",
            status="checked",
            evidence=f"standard deviations of at least {', '.join(f'{h:.3g}' for h in model.floor)}; a smoothing error "
            f"of {worst:.1e} is in δ",
        ),
        smoothed,
    )


def _uncovered_assumption(noise: Noise) -> Assumption:
    axes = noise.axes.shape[1]
    attack = "counts and means of whole numbers are on a lattice, and the lattice attack reads them off"
    if axes < noise.dimension:
        evidence = f"noise covers {axes} of {noise.dimension} directions: {attack}"
    elif noise.is_gaussian:
        evidence = f"the noise is finer than the lattice in some direction: {attack}"
    else:
        kind = "Laplace" if noise.parts else noise.kind
        evidence = f"{kind} noise covers every direction, but no proof says that it smooths a lattice"
    return Assumption(statement="the statistics are continuous", status="assumed", evidence=evidence)


def _summed(model: QueryModel) -> bool:
    """Tell whether the statistics are sums over rows, at hand or not."""
    return model.provenance.method == "exact moments"


def is_estimated(model: QueryModel) -> bool:
    """Tell whether moments are those of draws, and not known exactly."""
    return model.provenance.method not in ("exact moments", "given moments")


def _largest_ratio(model: QueryModel) -> float:
    pairs = model.protected_pairs
    return max(variance_ratio(*(model.distributions[name].covariance for name in pair)) for pair in pairs)
