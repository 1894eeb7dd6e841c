"""One file per theorem, each with one function from a model and a target to noise with its certificate.

Every one is called in the same way and returns the same kind of value, so they can be compared:

>>> import distpriv as dp
>>> model = dp.gaussian_model(means={"a": [0, 0], "b": [1, 1]}, covariances=[[4, 0], [0, 1]], pairs=[("a", "b")])
>>> target = dp.PrivacyTarget(epsilon=1, delta=0.001)
>>> for name in ("expected_value_gaussian", "eigenvector_gaussian", "directional_gaussian"):
...     mechanism = getattr(dp.mechanisms, name)(model, target)
...     print(f"{name}: {mechanism.noise.expected_rms:.2f}, holds: {mechanism.certificate.holds}")
expected_value_gaussian: 5.15, holds: True
eigenvector_gaussian: 4.64, holds: True
directional_gaussian: 3.64, holds: True
"""

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from distpriv.mechanisms.approximate_wasserstein import approximate_wasserstein
    from distpriv.mechanisms.bounded import bounded
    from distpriv.mechanisms.certified_gaussian import certified_gaussian
    from distpriv.mechanisms.certified_laplace import certified_laplace
    from distpriv.mechanisms.coupled_gaussian import coupled_gaussian
    from distpriv.mechanisms.coupled_laplace import coupled_laplace
    from distpriv.mechanisms.directional_gaussian import directional_gaussian
    from distpriv.mechanisms.directional_laplace import directional_laplace
    from distpriv.mechanisms.directional_uncertainty import directional_uncertainty
    from distpriv.mechanisms.eigenvector_gaussian import eigenvector_gaussian
    from distpriv.mechanisms.exact_law import exact_law
    from distpriv.mechanisms.expected_value_gaussian import expected_value_gaussian
    from distpriv.mechanisms.expected_value_laplace import expected_value_laplace
    from distpriv.mechanisms.group_privacy_gaussian import group_privacy_gaussian
    from distpriv.mechanisms.group_privacy_laplace import group_privacy_laplace
    from distpriv.mechanisms.no_noise import no_noise
    from distpriv.mechanisms.wasserstein import wasserstein

__all__ = [
    "approximate_wasserstein",
    "bounded",
    "certified_gaussian",
    "certified_laplace",
    "coupled_gaussian",
    "coupled_laplace",
    "directional_gaussian",
    "directional_laplace",
    "directional_uncertainty",
    "eigenvector_gaussian",
    "exact_law",
    "expected_value_gaussian",
    "expected_value_laplace",
    "group_privacy_gaussian",
    "group_privacy_laplace",
    "no_noise",
    "wasserstein",
]


class _Mechanisms(ModuleType):
    """The package, in which a mechanism's name is its function and not the module of that name that it is in."""

    def __getattr__(self, name: str) -> Any:
        if name not in __all__:
            raise AttributeError(f"module 'distpriv.mechanisms' has no attribute {name!r}")
        import_module(f"distpriv.mechanisms.{name}")
        return vars(self)[name]

    def __setattr__(self, name: str, value: object) -> None:
        is_module = name in __all__ and isinstance(value, ModuleType)  # as importing a submodule sets it
        super().__setattr__(name, getattr(value, name) if is_module else value)

    def __dir__(self) -> list[str]:
        return sorted(__all__)


# Mechanisms load when they are first used: a theorem on given moments needs little of what the others need.
sys.modules[__name__].__class__ = _Mechanisms
