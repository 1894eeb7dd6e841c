"""What a guarantee means to an attacker who must tell one scenario from another."""

from distpriv.errors import InvalidInput, InvalidModel
from distpriv.framework.target import PrivacyTarget
from distpriv.guarantees.certify import lattice_factors
from distpriv.guarantees.entropy_ball import entropy_failure
from distpriv.guarantees.exact_delta import exact_delta
from distpriv.guarantees.exact_grid import exact_grid_delta
from distpriv.guarantees.exact_steps import exact_steps_delta
from distpriv.guarantees.mechanism import AdditiveMechanism
from distpriv.guarantees.reference_sample import worst_population
from distpriv.guarantees.upper_bound import delta_upper_bound
from distpriv.modelling.model import QueryModel
from distpriv.modelling.row_grid import RowGrid
from distpriv.noise.laws import Noise, NoNoise, UnimodalNoise

__all__ = ["attack_accuracy_upper_bound", "undefended_attack_accuracy"]


def undefended_attack_accuracy(model: QueryModel) -> float:
    r"""Return how often the best attacker is right without any noise, f_θ taken as Gaussian: :math:`(1 + H_0)/2`.

    The odds are even and the pair is the worst.

    >>> from distpriv.modelling.given import gaussian_model
    >>> model = gaussian_model(means={"a": [0], "b": [1]}, covariances=[[1]], pairs=[("a", "b")])
    >>> round(undefended_attack_accuracy(model), 4)
    0.6915
    """
    return (1 + exact_delta(model, NoNoise(dimension=model.dimension), epsilon=0.0)) / 2


def attack_accuracy_upper_bound(model: QueryModel, mechanism: AdditiveMechanism) -> float:
    """Return how often the best attacker is right at most, by what the certificate rests on.

    With Gaussian noise at assurance `checked` or `assumed` this is exact for Gaussian statistics, but for what their
    lattice may add; with Laplace noise it is a bound on :math:`(1 + H_0)/2`. Where the reference is a sample it is that
    of the worst population it may be of, as the certificate's δ is, and no less than the rows show. It is never more
    than the ceiling of the certified (ε, δ), which is all that is known of coupled draws; of exact laws it is exact.
    Whatever is in a ball around the model may be seen, twice.

    >>> import distpriv as dp
    >>> model = dp.gaussian_model(means={"a": [0], "b": [1]}, covariances=[[1]], pairs=[("a", "b")])
    >>> mechanism = dp.mechanisms.expected_value_gaussian(model, dp.PrivacyTarget(epsilon=1, delta=0.001))
    >>> round(attack_accuracy_upper_bound(model, mechanism), 3)
    0.572
    """
    certificate = mechanism.certificate
    ceiling = 1.0
    if not certificate.contradicted and certificate.delta < 1 and (certificate.epsilon or certificate.delta):
        ceiling = PrivacyTarget(epsilon=certificate.epsilon, delta=certificate.delta).attack_accuracy_ceiling
    around = 2 * _around(model)
    if certificate.assurance == "proved" or isinstance(certificate.drawn, RowGrid):
        return min(ceiling, (1 + around + _exact_total_variation(model, mechanism)) / 2)
    noise = mechanism.noise
    known = _total_variation(model, noise)
    if model.strata and known < 1:
        known = max(known, _total_variation(worst_population(model, noise, 0.0), noise))
    if certificate.law is not None:
        known = max(known, certificate.law.total_variation)
    return min(ceiling, (1 + around + known) / 2)


def _around(model: QueryModel) -> float:
    """Return the total variation between datasets as modelled and any in the ball around the model, at most."""
    return entropy_failure((model.provenance.records or 0) * (model.provenance.drawing.robust or 0.0))


def _exact_total_variation(model: QueryModel, mechanism: AdditiveMechanism) -> float:
    """Return a bound on H_0 of the worst pair by the exact law that a certificate rests on; 1 where there is none."""
    laws, noise = mechanism.certificate.drawn, mechanism.noise
    try:
        if isinstance(laws, RowGrid) and isinstance(noise, UnimodalNoise):
            return exact_steps_delta(laws, noise, 0.0, model.protected_pairs)
        if isinstance(laws, RowGrid):
            target = PrivacyTarget(epsilon=0.0, delta=mechanism.certificate.target.delta)
            return exact_grid_delta(laws, [noise], target, model.protected_pairs)
    except (InvalidInput, InvalidModel):  # noise that was widened, or a law with too many points
        return 1.0
    return 1.0


def _total_variation(model: QueryModel, noise: Noise) -> float:
    """Return a bound on H_0 of the worst pair: no noise helps an attacker, and a lattice that is smoothed hardly does.

    With densities on the lattice between a and b times the continuous ones, p and q, ∫ (bp − aq)₊ ≤ b H_0 + b − a.
    """
    most = exact_delta(model, NoNoise(dimension=model.dimension), epsilon=0.0)
    most = min(most, delta_upper_bound(model, noise, epsilon=0.0))
    low, high = lattice_factors(model, noise.gaussian)
    return min(1.0, high * most + high - low)
