"""Table 1: the mechanisms, those of the paper and those beyond it."""

from distpriv.experiments.result import Listed, Result, result
from distpriv.experiments.setting import Setting
from distpriv.progress import Progress, silent

__all__ = ["table_1"]

NAME, TITLE = "table_1", "Table 1: the mechanisms"

_TRANSLATIONS = "laws that differ by a translation"
_SHARED = "Gaussian statistics, equal covariances"

MECHANISMS = (
    ("ExpM (L)", "expected_value_laplace", "Laplace, every statistic", "Theorem 4.1", _TRANSLATIONS, True),
    ("DirM (L)", "directional_laplace", "Laplace, along the shift", "Theorem 4.3", _TRANSLATIONS, True),
    ("ExpM (G)", "expected_value_gaussian", "Gaussian, every statistic", "Theorem 4.2", _TRANSLATIONS, True),
    ("EigM (G)", "eigenvector_gaussian", "Gaussian, along eigenvectors", "Theorem 4.5", _SHARED, True),
    ("DauM (G)", "directional_uncertainty", "Gaussian, along the shift", "Theorem A.1", _SHARED, True),
    ("GroupDP (G)", "group_privacy_gaussian", "Gaussian, every statistic", "group privacy", "bounded columns", True),
    ("OptM (G)", "optimal_gaussian", "Gaussian, least variance", "least majorant", _SHARED, False),
    ("CertM (G)", "certified_gaussian", "Gaussian, every direction", "the exact check", "Gaussian statistics", False),
    ("CertM (L)", "certified_laplace", "Laplace and Gaussian", "exact along a line", "Gaussian statistics", False),
    ("CoupM (G)", "coupled_gaussian", "Gaussian, every direction", "coupled draws", "how rows are drawn", False),
)
"""Shorthand, function, noise, what proves it, what it needs, and whether the paper has it."""


def table_1(setting: Setting, progress: Progress = silent) -> Result:
    """Return the list of mechanisms."""
    listed = [
        Listed(shorthand=short, function=function, noise=noise, theorem=theorem, needs=needs, in_paper=paper)
        for short, function, noise, theorem, needs, paper in MECHANISMS
    ]
    progress(NAME, 1, 1)
    return result(NAME, TITLE, setting, mechanisms=listed)
