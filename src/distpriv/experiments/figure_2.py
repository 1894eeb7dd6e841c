"""Figure 2: error against ε, income and work class, all five variants."""

from collections.abc import Sequence

import numpy as np

from distpriv.experiments.error_points import Asked, error_points, tail_epsilon
from distpriv.experiments.paper_noise import GROUP, VARIANTS, exact_model
from distpriv.experiments.properties import INCOME, PROPERTIES, WORK_CLASS, Property, property_model
from distpriv.experiments.result import Claim, ErrorPoint, Result, result
from distpriv.experiments.setting import Setting
from distpriv.mechanisms.expected_value_laplace import expected_value_laplace_noise
from distpriv.progress import Progress, silent

__all__ = ["EPSILONS", "figure_2"]

NAME, TITLE = "figure_2", "Figure 2: L2 error against ε, δ = 0.001"

EPSILONS = tuple(float(f"{epsilon:.6g}") for epsilon in np.logspace(-1, 1, 20))
"""From 0.1 to 10, evenly spaced in their logarithms."""


def figure_2(setting: Setting, progress: Progress = silent) -> Result:
    """Return the curves of both properties, group privacy with them, and what the paper says of them."""
    asked = [
        Asked(secret=secret, gap=secret.gap, mechanism=mechanism, epsilon=epsilon)
        for secret in PROPERTIES
        for mechanism in (*VARIANTS, GROUP)
        for epsilon in EPSILONS
    ]
    points = error_points(asked, setting, name=NAME, progress=progress)
    return result(NAME, TITLE, setting, errors=points, claims=_claims(points))


def _claims(points: Sequence[ErrorPoint]) -> list[Claim]:
    errors = {(p.secret, p.mechanism, p.epsilon): p.error for p in points}
    group = _ratios(errors, GROUP, "ExpM (G)")
    directed = _ratios(errors, "DirM (L)", "ExpM (L)")
    small = _ratios(errors, "EigM (G)", "ExpM (G)", (EPSILONS[0], EPSILONS[3]))
    large = _ratios(errors, "EigM (G)", "ExpM (G)", (EPSILONS[-1],))
    return [
        Claim(
            text="Group privacy has errors an order of magnitude larger than the Expected Value Mechanism.",
            evidence=f"at least {min(group):.0f} times those of ExpM (G)",
            holds=min(group) >= 10,
        ),
        Claim(
            text="Directional assumptions reduce the error.",
            evidence=f"DirM (L) has {min(directed):.0%} to {max(directed):.0%} of the error of ExpM (L)",
            holds=max(directed) < 1,
        ),
        Claim(
            text="What the attacker does not know anyway is noticeable for large ε only.",
            evidence=f"EigM (G) has {min(small):.1%} of the error of ExpM (G) or more for ε up to {EPSILONS[3]:.2g}, "
            f"{max(large):.1%} or less at ε = {EPSILONS[-1]:g}",
            holds=min(small) > 0.8 > max(large),
        ),
        Claim(
            text="The Laplace variants are (ε, 0)-private.",
            evidence=f"with covariances as they are ExpM (L) for ε = 1 reaches ε = {_tail(INCOME):.3f} (income) and "
            f"{_tail(WORK_CLASS):.3f} (work class) far out, and DirM (L) leaves directions bare",
            holds=all(point.holds for point in points if point.mechanism in ("ExpM (L)", "DirM (L)")),
        ),
    ]


def _tail(secret: Property) -> float:
    law = expected_value_laplace_noise(exact_model(secret, secret.gap), 1.0)
    return tail_epsilon(property_model(secret, secret.gap), law)


def _ratios(
    errors: dict[tuple[str, str, float], float], one: str, other: str, epsilons: Sequence[float] = EPSILONS
) -> list[float]:
    return [errors[s.name, one, e] / errors[s.name, other, e] for s in PROPERTIES for e in epsilons]
