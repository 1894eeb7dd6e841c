"""Table 2: L2 errors at ε = 0.2, 1 and 5."""

from distpriv.experiments.errors import Asked, error_points
from distpriv.experiments.properties import INCOME
from distpriv.experiments.published import L2_ERRORS
from distpriv.experiments.result import Result, compared, result
from distpriv.experiments.setting import Setting
from distpriv.progress import Progress, silent

__all__ = ["table_2"]

NAME, TITLE = "table_2", "Table 2: L2 error, income, Δp = 0.1, δ = 0.001"


def table_2(setting: Setting, progress: Progress = silent) -> Result:
    """Return the errors of the Gaussian variants and of group privacy, each beside the published one.

    >>> found = table_2(Setting())
    >>> f"{found.agreeing} of {len(found.comparisons)}, DauM at ε = 1: {found.errors[7].error:.2f}"
    '12 of 12, DauM at ε = 1: 12.70'
    """
    asked = [
        Asked(secret=INCOME, gap=INCOME.gap, mechanism=mechanism, epsilon=epsilon) for mechanism, epsilon in L2_ERRORS
    ]
    points = error_points(asked, setting, name=NAME, progress=progress)
    comparisons = [
        compared(f"{one.mechanism}, ε = {one.epsilon:g}", published, one.error, one.standard_error, setting)
        for one, published in zip(points, L2_ERRORS.values(), strict=True)
    ]
    return result(NAME, TITLE, setting, errors=points, comparisons=comparisons)
