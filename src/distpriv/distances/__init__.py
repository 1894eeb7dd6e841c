"""How far apart two laws are: privacy curves, radii, divergences and transport distances.

>>> import distpriv as dp
>>> dp.distances.wasserstein_inf([0, 1, 2], [0.5, 1.5, 9])
7.0
>>> dp.distances.closeness_radius([0, 1, 2], [0.5, 1.5, 9], delta=0.4)
0.5
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from distpriv.distances.gaussian import (
    HockeyStick,
    HockeySticks,
    analytic_radius,
    classic_radius,
    gaussian_delta,
    gaussian_hockey_stick,
    gaussian_hockey_sticks,
)

if TYPE_CHECKING:
    from distpriv.distances.log_ratio import approximate_max_divergence, max_divergence
    from distpriv.distances.transport.closeness import (
        closeness_profile,
        closeness_radius,
        wasserstein_inf,
    )

__all__ = [
    "HockeyStick",
    "HockeySticks",
    "analytic_radius",
    "approximate_max_divergence",
    "classic_radius",
    "closeness_profile",
    "closeness_radius",
    "gaussian_delta",
    "gaussian_hockey_stick",
    "gaussian_hockey_sticks",
    "max_divergence",
    "wasserstein_inf",
]


def __getattr__(name: str) -> Any:
    """Load a distance that no theorem on given moments needs when it is first used."""
    if name not in __all__:
        raise AttributeError(f"module 'distpriv.distances' has no attribute {name!r}")
    module = "log_ratio" if name.endswith("max_divergence") else "transport.closeness"
    return getattr(import_module(f"distpriv.distances.{module}"), name)
