"""How far mass must move between two weighted point sets: W∞ and (W, δ)-closeness."""

from distpriv.distances.transport.closeness import (
    closeness_profile,
    closeness_radius,
    wasserstein_inf,
    wasserstein_inf_coupling,
)

__all__ = ["closeness_profile", "closeness_radius", "wasserstein_inf", "wasserstein_inf_coupling"]
