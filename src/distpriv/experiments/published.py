"""The numbers that the paper gives, in Tables 2 and 3, section 5 and appendix C.

M. Chen and O. Ohrimenko, "Protecting Global Properties of Datasets with Distribution Privacy Mechanisms", AISTATS 2023.
"""

from collections.abc import Mapping

__all__ = [
    "ATTACK_ACCURACIES",
    "CROSSINGS",
    "FEMALE_VARIANCES",
    "L2_ERRORS",
    "NEAR_GUESSING",
    "UNDEFENDED_ACCURACY",
]

L2_ERRORS: Mapping[tuple[str, float], float] = {
    ("ExpM (G)", 0.2): 177.28,
    ("ExpM (G)", 1.0): 34.98,
    ("ExpM (G)", 5.0): 7.11,
    ("EigM (G)", 0.2): 175.65,
    ("EigM (G)", 1.0): 34.87,
    ("EigM (G)", 5.0): 4.89,
    ("DauM (G)", 0.2): 69.85,
    ("DauM (G)", 1.0): 13.40,
    ("DauM (G)", 5.0): 1.24,
    ("GroupDP (G)", 0.2): 7394.67,
    ("GroupDP (G)", 1.0): 1539.93,
    ("GroupDP (G)", 5.0): 293.17,
}
"""Table 2: income, Δp = 0.1, δ = 0.001; by mechanism and ε."""

ATTACK_ACCURACIES: Mapping[tuple[str, float, float], float] = {
    ("ExpM (G)", 0.2, 1e-4): 0.492,
    ("ExpM (G)", 0.2, 1e-3): 0.500,
    ("ExpM (G)", 0.2, 1e-2): 0.502,
    ("ExpM (G)", 1.0, 1e-4): 0.506,
    ("ExpM (G)", 1.0, 1e-3): 0.511,
    ("ExpM (G)", 1.0, 1e-2): 0.520,
    ("ExpM (G)", 5.0, 1e-4): 0.530,
    ("ExpM (G)", 5.0, 1e-3): 0.539,
    ("ExpM (G)", 5.0, 1e-2): 0.549,
    ("EigM (G)", 0.2, 1e-4): 0.507,
    ("EigM (G)", 0.2, 1e-3): 0.501,
    ("EigM (G)", 0.2, 1e-2): 0.512,
    ("EigM (G)", 1.0, 1e-4): 0.510,
    ("EigM (G)", 1.0, 1e-3): 0.512,
    ("EigM (G)", 1.0, 1e-2): 0.503,
    ("EigM (G)", 5.0, 1e-4): 0.537,
    ("EigM (G)", 5.0, 1e-3): 0.550,
    ("EigM (G)", 5.0, 1e-2): 0.545,
    ("DauM (G)", 0.2, 1e-4): 0.517,
    ("DauM (G)", 0.2, 1e-3): 0.508,
    ("DauM (G)", 0.2, 1e-2): 0.511,
    ("DauM (G)", 1.0, 1e-4): 0.548,
    ("DauM (G)", 1.0, 1e-3): 0.545,
    ("DauM (G)", 1.0, 1e-2): 0.562,
    ("DauM (G)", 5.0, 1e-4): 0.714,
    ("DauM (G)", 5.0, 1e-3): 0.739,
    ("DauM (G)", 5.0, 1e-2): 0.744,
}
"""Table 3: income, Δp = 0.1; by mechanism, ε and δ."""

CROSSINGS: Mapping[str, float] = {"income": 0.12, "work class": 0.28}
"""Section 5.2: up to this Δp DauM has less error than differential privacy, at ε = 1 and δ = 0.001."""

UNDEFENDED_ACCURACY = 0.75
"""Section 5.3: the attack on income when statistics are released as they are."""

NEAR_GUESSING = 0.50
"""Section 5.3: what the mechanisms bring that down to at ε = 0.1, "near 50 %"."""

FEMALE_VARIANCES: Mapping[float, float] = {0.45: 18.31, 0.55: 18.03}
"""Appendix C.1: the variance of the number of women, by the share of high earners."""
