"""What a guarantee means to an attacker who must tell one scenario from another."""

import numpy as np
from attrs import evolve

from distpriv.errors import InvalidInput, InvalidModel
from distpriv.framework.target import PrivacyTarget
from distpriv.guarantees.certificate import Certificate
from distpriv.guarantees.certify import lattice_factors
from distpriv.guarantees.exact_delta import exact_delta
from distpriv.guarantees.exact_rows import exact_rows_delta
from distpriv.guarantees.mechanism import AdditiveMechanism
from distpriv.guarantees.reference_sample import worst_population
from distpriv.guarantees.relaxation import entropy_failure
from distpriv.guarantees.upper_bound import delta_upper_bound
from distpriv.law.cells import RowGrid
from distpriv.modelling.model import QueryDistribution, QueryModel
from distpriv.noise.laws import Noise, NoNoise

__all__ = ["attack_accuracy_upper_bound", "certified_ceiling", "undefended_attack_accuracy"]


def undefended_attack_accuracy(model: QueryModel) -> float:
    r"""Return how often the best attacker is right without any noise: :math:`(1 + H_0)/2`, f_θ taken as Gaussian.

    The odds are even and the pair is the worst. Where points are given it is their total variation. Where the reference
    is a sample it is that of the worst population it may be of, and in a ball around the model that of its edge.
    """
    return min(1.0, (1 + 2 * _around(model) + _undefended(model)) / 2)


def _undefended(model: QueryModel) -> float:
    """Return H_0 without noise of the worst pair."""
    if model.provenance.method == "given points":
        return max(
            _points_total_variation(*(model.distributions[name] for name in pair)) for pair in model.protected_pairs
        )
    none = NoNoise(dimension=model.dimension)
    total_variation = exact_delta(model, none, epsilon=0.0)
    if model.strata and total_variation < 1:
        total_variation = max(total_variation, exact_delta(worst_population(model, none, 0.0).model, none, epsilon=0.0))
    return total_variation


def _points_total_variation(one: QueryDistribution, other: QueryDistribution) -> float:
    """Return the total variation of two laws that are known by their points."""
    places, masses = [], []
    for law, sign in ((one, 1.0), (other, -1.0)):
        assert law.points is not None
        chances = np.ones(len(law.points)) if law.weights is None else law.weights
        places.append(law.points)
        masses.append(sign * chances / chances.sum())
    _, same = np.unique(np.vstack(places), axis=0, return_inverse=True)
    return float(np.maximum(np.bincount(same.ravel(), np.concatenate(masses)), 0.0).sum())


def attack_accuracy_upper_bound(model: QueryModel, mechanism: AdditiveMechanism) -> float:
    """Return how often the best attacker is right at most, by what the certificate rests on.

    With Gaussian noise at assurance `checked` or `assumed` this is exact for Gaussian statistics, but for what their
    lattice may add; with Laplace noise it is a bound on :math:`(1 + H_0)/2`. Where the reference is a sample it is that
    of the worst population it may be of, as the certificate's δ is, and no less than the rows show. It is never more
    than the ceiling of the certified (ε, δ), which is all that is known of coupled draws; of exact laws it is exact.
    Whatever is in a ball around the model may be seen, twice. Noise is post-processing, which helps no attacker: so
    it is never more than `undefended_attack_accuracy`, for statistics that vary as modelled, unless rows show more.

    >>> import distpriv as dp
    >>> model = dp.gaussian_model(means={"a": [0], "b": [1]}, covariances=[[1]], pairs=[("a", "b")])
    >>> mechanism = dp.mechanisms.expected_value_gaussian(model, dp.PrivacyTarget(epsilon=1, delta=0.001))
    >>> round(attack_accuracy_upper_bound(model, mechanism), 3)
    0.572
    """
    certificate = mechanism.certificate
    ceiling = certified_ceiling(certificate)
    around = 2 * _around(model)
    bare = undefended_attack_accuracy(model)
    if certificate.assurance == "proved" or isinstance(certificate.drawn, RowGrid):
        return min(ceiling, bare, (1 + around + _exact_total_variation(model, mechanism)) / 2)
    noise = mechanism.noise
    if certificate.law is not None:
        return min(ceiling, (1 + around + certificate.law.total_variation) / 2)
    known = _total_variation(model, noise)
    if model.strata and known < 1:
        known = max(known, _total_variation(worst_population(model, noise, 0.0).model, noise))
    return min(ceiling, bare, (1 + around + known) / 2)


def certified_ceiling(certificate: Certificate) -> float:
    """Return how often an attacker is right at most by the certified (ε, δ) alone, whatever the statistics are like."""
    if certificate.contradicted or certificate.delta >= 1 or not (certificate.epsilon or certificate.delta):
        return 1.0
    return PrivacyTarget(epsilon=certificate.epsilon, delta=certificate.delta).attack_accuracy_ceiling


def _around(model: QueryModel) -> float:
    """Return the total variation between datasets as modelled and any in the ball around the model, at most."""
    return entropy_failure((model.provenance.records or 0) * (model.provenance.drawing.robust or 0.0))


def _exact_total_variation(model: QueryModel, mechanism: AdditiveMechanism) -> float:
    """Return a bound on H_0 of the worst pair by the exact law that a certificate rests on; 1 where there is none."""
    laws, target = mechanism.certificate.drawn, mechanism.certificate.target
    if not isinstance(laws, RowGrid):
        return 1.0
    try:
        return exact_rows_delta(laws, [mechanism.noise], evolve(target, epsilon=0.0), model.protected_pairs)
    except (InvalidInput, InvalidModel):  # noise that was widened, or a law with too many points
        return 1.0


def _total_variation(model: QueryModel, noise: Noise) -> float:
    """Return a bound on H_0 of the worst pair: no noise helps an attacker, and a lattice that is smoothed hardly does.

    With densities on the lattice between a and b times the continuous ones, p and q, ∫ (bp − aq)₊ ≤ b H_0 + b − a.
    """
    most = exact_delta(model, NoNoise(dimension=model.dimension), epsilon=0.0)
    most = min(most, delta_upper_bound(model, noise, epsilon=0.0))
    low, high = lattice_factors(model, noise.gaussian)
    return min(1.0, high * most + high - low)
