"""L2 errors in either protocol: Table 2, Figures 2 and 3."""

import math
from collections.abc import Iterable, Sequence
from functools import cache

import numpy as np
from attrs import frozen
from joblib import Parallel, delayed
from scipy.optimize import brentq

from paper.models import Floats, delta_of, exact_models, noise_of
from paper.published import CROSSINGS, L2_ERRORS
from paper.repetitions import Repetition, repeated
from paper.result import Claim, Comparison, Errors, Result, compared
from paper.setting import (
    DELTA,
    DP,
    EPSILONS,
    GAPS,
    GROUP,
    INCOME,
    MECHANISMS,
    SECRETS,
    VARIANTS,
    WORK_CLASS,
    Secret,
    Setting,
)


@frozen(kw_only=True)
class Point:
    """A mechanism at one ε and Δp."""

    secret: Secret
    gap: float
    mechanism: str
    epsilon: float


def table_2(setting: Setting) -> Result:
    """Compare the errors of the Gaussian variants and of group privacy.

    >>> found = table_2(Setting())
    >>> f"{found.agreeing} of {len(found.comparisons)}, DauM at ε = 1: {found.errors[7].error:.2f}"
    '12 of 12, DauM at ε = 1: 12.70'
    """
    errors = _errors([Point(secret=INCOME, gap=INCOME.gap, mechanism=m, epsilon=e) for m, e in L2_ERRORS], setting)
    return Result(
        name="table_2",
        title="Table 2: L2 error, income, Δp = 0.1, δ = 0.001",
        errors=errors,
        comparisons=tuple(
            compared(f"{one.mechanism}, ε = {one.epsilon:g}", published, one.error, one.standard_error, setting)
            for one, published in zip(errors, L2_ERRORS.values(), strict=True)
        ),
    )


def figure_2(setting: Setting) -> Result:
    """Return errors against ε for both secrets, and what the paper says of them."""
    points = [
        Point(secret=secret, gap=secret.gap, mechanism=mechanism, epsilon=epsilon)
        for secret in SECRETS
        for mechanism in (*VARIANTS, GROUP)
        for epsilon in EPSILONS
    ]
    errors = _errors(points, setting)
    return Result(
        name="figure_2", title="Figure 2: L2 error against ε, δ = 0.001", errors=errors, claims=_claims(errors)
    )


def _claims(errors: Sequence[Errors]) -> tuple[Claim, ...]:
    by_point = {(one.secret, one.mechanism, one.epsilon): one.error for one in errors}

    def ratios(one: str, other: str, epsilons: Sequence[float] = EPSILONS) -> list[float]:
        return [by_point[s.name, one, e] / by_point[s.name, other, e] for s in SECRETS for e in epsilons]

    group, directed = ratios(GROUP, "ExpM (G)"), ratios("DirM (L)", "ExpM (L)")
    small, large = (ratios("EigM (G)", "ExpM (G)", (EPSILONS[k],)) for k in (3, -1))
    return (
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
            text="The attacker's own uncertainty matters for large ε only.",
            evidence=f"EigM (G) has {min(small):.1%} of the error of ExpM (G) or more at ε = {EPSILONS[3]:.2g}, "
            f"{max(large):.1%} or less at ε = {EPSILONS[-1]:g}",
            holds=min(small) > 0.8 > max(large),
        ),
        Claim(
            text="The Laplace variants are (ε, 0)-private.",
            evidence="with the covariances as they are the log-ratio of densities under ExpM (L) for ε = 1 reaches "
            f"{laplace_epsilon(INCOME):.3f} (income) and {laplace_epsilon(WORK_CLASS):.3f} (work class) in the tail",
            holds=all(one.holds for one in errors if MECHANISMS[one.mechanism].is_laplace),
        ),
    )


def laplace_epsilon(secret: Secret) -> float:
    r"""Return the log-ratio of densities that ExpM (L) for ε = 1 reaches in the tail, covariances as they are.

    With Laplace noise of scale b on every statistic, the density far out in the orthant of signs s is that of the noise
    times :math:`E e^{a^\top F}`, a = s/b. The log-ratio of two Gaussian distributions F then tends to
    :math:`a^\top d + \frac12 a^\top (Σ_1 - Σ_2) a`, whose first part is the ε of the theorem for the signs of d. The
    second is positive in one order of the pair unless both covariances are equal along a.
    """
    pooled, actual = exact_models(secret, secret.gap)
    one, other = actual.distributions.values()
    shift = one.mean - other.mean
    scale = math.sqrt(noise_of("ExpM (L)", pooled, 1.0, 0.0).covariance[0, 0] / 2)
    towards = np.sign(shift) / scale
    return float(abs(towards @ shift) + abs(towards @ (one.covariance - other.covariance) @ towards) / 2)


def figure_3(setting: Setting) -> Result:
    """Return errors against Δp at ε = 1, and the Δp up to which DauM has less error than differential privacy."""
    points = [
        Point(secret=secret, gap=gap, mechanism=mechanism, epsilon=1.0)
        for secret in SECRETS
        for mechanism in (*VARIANTS, DP)
        for gap in GAPS
    ]
    errors = _errors(points, setting)
    return Result(
        name="figure_3",
        title="Figure 3: L2 error against Δp, ε = 1, δ = 0.001",
        errors=errors,
        comparisons=tuple(_crossing(secret, errors, setting) for secret in SECRETS),
    )


def crossing(secret: Secret) -> float:
    """Return the Δp at which DauM has the error of differential privacy, by exact moments.

    >>> round(crossing(INCOME), 3)
    0.118
    """
    return float(brentq(lambda gap: _excess(secret, gap), GAPS[0], GAPS[-1], xtol=1e-10))


def _crossing(secret: Secret, errors: Sequence[Errors], setting: Setting) -> Comparison:
    ours, step = crossing(secret), 1e-4
    slope = (_excess(secret, ours + step) - _excess(secret, ours - step)) / (2 * step)
    spread = math.hypot(*(_expected(secret, ours, m, setting)[1] for m in ("DauM (G)", DP)))
    if setting.protocol == "paper":
        ours = _sampled_crossing([one for one in errors if one.secret == secret.name])
    label = f"{secret.name}: DauM (G) below DP up to Δp"
    return compared(label, CROSSINGS[secret.name], ours, spread / abs(slope), setting)


def _sampled_crossing(errors: Sequence[Errors]) -> float:
    """Return where the curve of DauM first crosses that of differential privacy, on a line between two points."""
    curves = {m: np.array([one.error for one in errors if one.mechanism == m]) for m in ("DauM (G)", DP)}
    excess = curves["DauM (G)"] - curves[DP]
    above = max(1, int(np.argmax(excess > 0)))
    before, after = excess[above - 1 : above + 1]
    return float(GAPS[above - 1] + (GAPS[above] - GAPS[above - 1]) * before / (before - after))


def _excess(secret: Secret, gap: float) -> float:
    one, other = (_expected(secret, gap, mechanism, Setting())[0] for mechanism in ("DauM (G)", DP))
    return one - other


def _expected(
    secret: Secret, gap: float, mechanism: str, setting: Setting, epsilon: float = 1.0
) -> tuple[float, float]:
    """Return E‖Z‖ by exact moments, and the standard error of a mean over the repetitions."""
    noise = noise_of(mechanism, exact_models(secret, gap)[0], epsilon, DELTA)
    variance = max(0.0, noise.expected_rms**2 - noise.expected_l2**2)
    return noise.expected_l2, math.sqrt(variance / setting.repetitions)


def _errors(points: Sequence[Point], setting: Setting) -> tuple[Errors, ...]:
    if setting.protocol == "exact":
        found: Iterable[tuple[float, float]] = (
            _expected(one.secret, one.gap, one.mechanism, setting, one.epsilon) for one in points
        )
    else:
        lengths = np.hstack([_lengths(secret, tuple(points), setting) for secret in SECRETS])
        found = zip(lengths.mean(axis=0), lengths.std(axis=0, ddof=1) / math.sqrt(len(lengths)), strict=True)
    return tuple(
        Errors(
            secret=one.secret.name,
            gap=one.gap,
            mechanism=one.mechanism,
            epsilon=one.epsilon,
            error=float(error),
            standard_error=float(standard_error),
            claimed_delta=0.0 if MECHANISMS[one.mechanism].is_laplace else DELTA,
            actual_delta=_delta(one),
        )
        for one, (error, standard_error) in zip(points, found, strict=True)
    )


@cache
def _delta(point: Point) -> float:
    return delta_of(point.secret, point.gap, point.mechanism, point.epsilon, DELTA)


def _lengths(secret: Secret, points: tuple[Point, ...], setting: Setting) -> Floats:
    """Return ‖Z‖ drawn once for each repetition and each point of a secret."""
    own = [point for point in points if point.secret == secret]
    if not own:
        return np.empty((setting.repetitions, 0))
    drawn = Parallel(n_jobs=-1)(
        delayed(_drawn)(repetition, own, [setting.seed, number])
        for number, repetition in enumerate(repeated(secret, setting))
    )
    return np.array(drawn)


def _drawn(repetition: Repetition, points: Sequence[Point], seed: list[int]) -> list[float]:
    seeds = np.random.SeedSequence(seed).generate_state(len(points))
    return [
        float(
            np.linalg.norm(
                noise_of(p.mechanism, repetition.model(p.secret, p.gap), p.epsilon, DELTA).simulate(1, int(s))
            )
        )
        for p, s in zip(points, seeds, strict=True)
    ]
