"""What a guarantee means to an attacker who must tell one scenario from another."""

from distpriv.framework.target import PrivacyTarget
from distpriv.guarantees.exact_delta import exact_delta
from distpriv.guarantees.mechanism import AdditiveMechanism
from distpriv.guarantees.total_variation import total_variation_upper_bound
from distpriv.modelling.model import QueryModel
from distpriv.noise.laws import LaplaceNoise, NoNoise, SumNoise, UnimodalNoise

__all__ = ["attack_accuracy_upper_bound", "undefended_attack_accuracy"]


def undefended_attack_accuracy(model: QueryModel) -> float:
    r"""Return how often the best attacker is right without any noise, f_θ taken as Gaussian: :math:`(1 + H_0)/2`.

    The odds are even and the pair is the worst.

    >>> from distpriv.modelling.model import gaussian_model
    >>> model = gaussian_model(means={"a": [0], "b": [1]}, covariances=[[1]], pairs=[("a", "b")])
    >>> round(undefended_attack_accuracy(model), 4)
    0.6915
    """
    return (1 + exact_delta(model, NoNoise(dimension=model.dimension), epsilon=0.0)) / 2


def attack_accuracy_upper_bound(model: QueryModel, mechanism: AdditiveMechanism) -> float:
    """Return how often the best attacker is right at most, by what the certificate rests on.

    With Gaussian noise at trust `gaussian` or `assumed` this is exact for Gaussian statistics with a density; elsewhere
    it is the ceiling of the certified (ε, δ), or a bound on :math:`(1 + H_0)/2` for Laplace noise if that is less.

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
    noise = mechanism.noise
    if certificate.trust == "sampling" or isinstance(noise, UnimodalNoise):
        return ceiling
    if isinstance(noise, LaplaceNoise | SumNoise):
        return min(ceiling, (1 + total_variation_upper_bound(model, noise)) / 2)
    return min(ceiling, (1 + exact_delta(model, noise, epsilon=0.0)) / 2)
