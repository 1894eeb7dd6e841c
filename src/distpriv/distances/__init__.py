"""How far apart two laws are: privacy curves, radii and divergences."""

from distpriv.distances.gaussian import analytic_radius, classic_radius, gaussian_delta
from distpriv.distances.gaussian_divergence import HockeyStick, gaussian_hockey_stick

__all__ = ["HockeyStick", "analytic_radius", "classic_radius", "gaussian_delta", "gaussian_hockey_stick"]
