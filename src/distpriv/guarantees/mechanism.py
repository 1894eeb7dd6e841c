"""A mechanism: F(Data) + Z, with what it promises."""

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar, cast

from attrs import evolve, frozen

from distpriv.framework.target import PrivacyTarget
from distpriv.guarantees.certificate import Certificate
from distpriv.modelling.model import QueryModel
from distpriv.noise.laws import NoiseLaw

__all__ = ["AdditiveMechanism", "across_ball"]


@frozen(kw_only=True)
class AdditiveMechanism:
    """Adds independent noise to the statistics; every mechanism of this library has this form.

    Made by the functions of `distpriv.mechanisms`, or chosen by `distpriv.plan`.

    >>> import distpriv as dp
    >>> model = dp.gaussian_model(means={"a": [0], "b": [1]}, covariances=[[1]], pairs=[("a", "b")])
    >>> mechanism = dp.mechanisms.expected_value_laplace(model, dp.PrivacyTarget(epsilon=0.5))
    >>> mechanism.name, mechanism.statistics, mechanism.noise.covariance
    ('expected_value_laplace', ('statistic_1',), array([[8.]]))
    >>> mechanism.certificate.holds
    True
    >>> print(mechanism)
    expected_value_laplace: expected error 2 (L2)
    (0.5, 0)-distribution privacy at assurance 'assumed', by Theorem 4.1: the target (0.5, 0) holds
      assumed: the distributions of a protected pair are translations of each other, or Gaussian ...
    """

    name: str
    """What the function that made it is called."""
    statistics: tuple[str, ...]
    """The names of the statistics, in the order of the noise."""
    noise: NoiseLaw
    """The law of Z."""
    certificate: Certificate
    """What is promised about F(Data) + Z."""

    def __str__(self) -> str:
        return f"{self.name}: expected error {self.noise.expected_l2:.4g} (L2)\n{self.certificate}"


Make = TypeVar("Make", bound=Callable[..., AdditiveMechanism])


def across_ball(make: Make) -> Make:
    """Make a mechanism hold in the whole ball around its model: for a smaller target, and with what is left of it.

    Mechanisms that use others see no ball, so that it is counted once.
    """

    @wraps(make)
    def made(model: QueryModel, target: PrivacyTarget, **options: Any) -> AdditiveMechanism:
        given = isinstance(model, QueryModel) and isinstance(target, PrivacyTarget)  # others are refused by itself
        if not given or model.provenance.drawing.robust is None:
            return make(model, target, **options)
        from distpriv.guarantees.relaxation import allowing_for_ball, made_for, without_ball  # few models have one

        mechanism = make(without_ball(model), made_for(model, target), **options)
        return evolve(mechanism, certificate=allowing_for_ball(mechanism.certificate, model, target))

    return cast(Make, made)
