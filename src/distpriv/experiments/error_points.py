"""L2 errors of the paper's mechanisms in either protocol, and whether their noise holds what it claims."""

import math
from collections.abc import Iterable, Sequence

import numpy as np
from attrs import frozen

from distpriv.experiments.paper_noise import BASELINE, GROUP, exact_model, paper_noise
from distpriv.experiments.properties import Property, property_model
from distpriv.experiments.repetitions import repeated
from distpriv.experiments.result import ErrorPoint
from distpriv.experiments.setting import DELTA, Setting, stream
from distpriv.guarantees.exact_delta import exact_delta
from distpriv.guarantees.upper_bound import delta_lower_bound
from distpriv.modelling.model import QueryModel
from distpriv.noise.laws import NoiseLaw
from distpriv.progress import Progress, silent

__all__ = ["Asked", "actual_delta", "error_points", "expected_error", "mean_error", "tail_epsilon"]


@frozen(kw_only=True)
class Asked:
    """Where the error of a mechanism is wanted."""

    secret: Property
    gap: float
    mechanism: str
    epsilon: float
    delta: float = DELTA


def error_points(
    asked: Iterable[Asked], setting: Setting, *, name: str, progress: Progress = silent
) -> tuple[ErrorPoint, ...]:
    """Return the error at every point, and the actual δ of the noise by exact moments."""
    wanted = tuple(asked)
    if setting.protocol == "paper":
        for secret in dict.fromkeys(point.secret for point in wanted):
            repeated(secret, setting, progress)
    found = []
    for number, point in enumerate(wanted):
        error, standard_error = mean_error(point, setting)
        found.append(_point(point, error, standard_error))
        progress(name, number + 1, len(wanted))
    return tuple(found)


def mean_error(point: Asked, setting: Setting) -> tuple[float, float]:
    """Return the mean L2 error and the standard error of a mean of so many repetitions."""
    if setting.protocol == "exact":
        return expected_error(point, setting.repetitions)
    models = repeated(point.secret, setting).models(point.secret, point.gap)
    noise = paper_noise(point.mechanism, models, epsilon=point.epsilon, delta=point.delta)
    lengths = noise.lengths(stream(setting, repr(("errors", *_key(point)))))
    return float(lengths.mean()), float(lengths.std(ddof=1) / math.sqrt(len(lengths)))


def expected_error(point: Asked, repetitions: int) -> tuple[float, float]:
    """Return E‖Z‖ by exact moments, and the standard error that a mean of so many draws would have."""
    law = _law(point)
    mean, rms = law.expected_l2, law.expected_rms
    return mean, math.sqrt(max(0.0, rms**2 - mean**2) / repetitions)


def _law(point: Asked) -> NoiseLaw:
    model = exact_model(point.secret, point.gap)
    return paper_noise(point.mechanism, [model], epsilon=point.epsilon, delta=point.delta).laws[0]


def _key(point: Asked) -> Sequence[object]:
    return point.secret.name, point.gap, point.mechanism, point.epsilon, point.delta


def _point(asked: Asked, error: float, standard_error: float) -> ErrorPoint:
    model = property_model(asked.secret, asked.gap)
    noise = _law(asked)
    claimed = asked.delta if noise.is_gaussian else 0.0
    delta, exact, holds = actual_delta(model, noise, asked.epsilon, claimed)
    return ErrorPoint(
        secret=asked.secret.name,
        gap=asked.gap,
        mechanism=asked.mechanism,
        epsilon=asked.epsilon,
        delta=claimed,
        error=error,
        standard_error=standard_error,
        actual_delta=delta,
        delta_is_exact=exact,
        holds=None if asked.mechanism == BASELINE else holds,
        trust="sampling" if asked.mechanism == GROUP else "none" if asked.mechanism == BASELINE else "assumed",
    )


def actual_delta(model: QueryModel, noise: NoiseLaw, epsilon: float, claimed: float) -> tuple[float, bool, bool]:
    """Return the δ of noise on the model as it is, whether that is exact, and whether the claimed one holds.

    For Laplace noise it is a lower bound, from the directions that the noise leaves bare, and 0 if there are none.
    """
    if noise.is_gaussian:
        found = exact_delta(model, noise, epsilon=epsilon)
        return found, True, found <= claimed
    bound = delta_lower_bound(model, noise, epsilon=epsilon)
    return bound, False, bound <= claimed and tail_epsilon(model, noise) <= epsilon * (1 + 1e-9)


def tail_epsilon(model: QueryModel, noise: NoiseLaw) -> float:
    r"""Return how large the log-ratio of two scenarios' densities gets far out, where it is known in closed form.

    Far out in the orthant of signs s, with Laplace noise of scales b on every statistic, the density of F + Z is that
    of the noise times :math:`E e^{a^\top F}`, a = s/b. So the log-ratio of two scenarios tends to
    :math:`a^\top d + \frac12 a^\top (Σ_i - Σ_j) a`. At the a of the shift's own signs its first part is the ε of the
    theorem already, and the second is above 0 in one order of the pair or the other unless covariances are equal there.
    With noise along some directions only it is 0, which says nothing.

    >>> from distpriv.modelling.given import gaussian_model
    >>> from distpriv.noise.laws import LaplaceNoise
    >>> model = gaussian_model(means={"a": [1], "b": [0]}, covariances={"a": [[2]], "b": [[1]]}, pairs=[("a", "b")])
    >>> tail_epsilon(model, LaplaceNoise.isotropic(1, 1.0))
    1.5
    """
    axes, scales = noise.laplace_axes, noise.laplace_scales
    if axes.shape[1] < noise.dimension:
        return 0.0
    ratios = []
    for first, second in model.protected_pairs:
        one, other = model.distributions[first], model.distributions[second]
        shift = one.mean - other.mean
        towards = axes @ (np.where(axes.T @ shift < 0, -1.0, 1.0) / scales)
        ratios.append(float(towards @ shift + towards @ (one.covariance - other.covariance) @ towards / 2))
    return max(ratios)
