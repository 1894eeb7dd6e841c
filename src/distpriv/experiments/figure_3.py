"""Figure 3: error against Δp beside differential privacy, and where the curves cross."""

from scipy.optimize import brentq

from distpriv.experiments.error_points import Asked, error_points, expected_error, mean_error
from distpriv.experiments.paper_noise import BASELINE, VARIANTS
from distpriv.experiments.properties import GAPS, PROPERTIES, Property
from distpriv.experiments.published import CROSSINGS
from distpriv.experiments.result import Comparison, Result, compared, result
from distpriv.experiments.setting import Setting
from distpriv.progress import Progress, silent

__all__ = ["EPSILON", "crossing", "figure_3"]

NAME, TITLE = "figure_3", "Figure 3: L2 error against Δp, ε = 1, δ = 0.001"
EPSILON = 1.0


def figure_3(setting: Setting, progress: Progress = silent) -> Result:
    """Return the curves of both properties, and the Δp up to which DauM has less error than differential privacy."""
    asked = [
        Asked(secret=secret, gap=gap, mechanism=mechanism, epsilon=EPSILON)
        for secret in PROPERTIES
        for mechanism in (*VARIANTS, BASELINE)
        for gap in GAPS
    ]
    points = error_points(asked, setting, name=NAME, progress=progress)
    return result(
        NAME, TITLE, setting, errors=points, comparisons=[_compared(secret, setting) for secret in PROPERTIES]
    )


def _compared(secret: Property, setting: Setting) -> Comparison:
    found = crossing(secret) if setting.protocol == "exact" else _sampled_crossing(secret, setting)
    label = f"{secret.name}: DauM (G) below DP up to Δp"
    return compared(label, CROSSINGS[secret.name], found, _crossing_error(secret, setting), setting)


def crossing(secret: Property) -> float:
    """Return the Δp at which DauM has just the error of differential privacy, by exact moments.

    >>> from distpriv.experiments.properties import INCOME
    >>> round(crossing(INCOME), 3)
    0.118
    """
    return float(brentq(lambda gap: _excess(secret, gap), GAPS[0], GAPS[-1], xtol=1e-10))


def _excess(secret: Property, gap: float) -> float:
    one, other = (_expected(secret, gap, mechanism)[0] for mechanism in ("DauM (G)", BASELINE))
    return one - other


def _expected(secret: Property, gap: float, mechanism: str, repetitions: int = 1) -> tuple[float, float]:
    return expected_error(Asked(secret=secret, gap=gap, mechanism=mechanism, epsilon=EPSILON), repetitions)


def _sampled_crossing(secret: Property, setting: Setting) -> float:
    """Return where the sampled curve crosses the sampled baseline first, in a straight line between two points."""
    excesses = []
    for gap in GAPS:
        asked = [Asked(secret=secret, gap=gap, mechanism=m, epsilon=EPSILON) for m in ("DauM (G)", BASELINE)]
        one, other = (mean_error(point, setting)[0] for point in asked)
        excesses.append(one - other)
    above = next((k for k, excess in enumerate(excesses) if excess > 0), len(GAPS) - 1)
    if above == 0:
        return GAPS[0]
    before, after = excesses[above - 1], excesses[above]
    return GAPS[above - 1] + (GAPS[above] - GAPS[above - 1]) * before / (before - after)


def _crossing_error(secret: Property, setting: Setting) -> float:
    """Return the standard error of a crossing of sampled curves: that of their difference over its slope."""
    gap, step = crossing(secret), 1e-4
    errors = [_expected(secret, gap, mechanism, setting.repetitions)[1] for mechanism in ("DauM (G)", BASELINE)]
    slope = (_excess(secret, gap + step) - _excess(secret, gap - step)) / (2 * step)
    return float((errors[0] ** 2 + errors[1] ** 2) ** 0.5 / abs(slope))
