"""The mechanisms beyond the paper at points of its figures, from exact moments, each once."""

from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any

from attrs import frozen
from joblib import Parallel, delayed

from distpriv import mechanisms
from distpriv.experiments.attack_points import strong_attacks
from distpriv.experiments.properties import INCOME, PROPERTIES, Property, property_model
from distpriv.experiments.result import AttackPoint, ErrorPoint, Result, result
from distpriv.experiments.setting import DELTA, Setting
from distpriv.framework.target import PrivacyTarget
from distpriv.guarantees.attack_accuracy import attack_accuracy_upper_bound
from distpriv.guarantees.exact_delta import exact_delta
from distpriv.guarantees.mechanism import AdditiveMechanism
from distpriv.processes import tied, usable_processes
from distpriv.progress import Progress, silent

__all__ = ["BEYOND", "NEW_EPSILONS", "NEW_GAPS", "beyond"]

NAME, TITLE = "beyond", "Beyond the paper: newer mechanisms at the same points"

BEYOND: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "OptM (G)": ("optimal_gaussian", {"covariance": "pooled"}),
    "CertM (G)": ("certified_gaussian", {}),
    "CertM (L)": ("certified_laplace", {}),
    "CoupM (G)": ("coupled_gaussian", {}),
}
"""Function and options by shorthand; the first assumes what the paper assumes, the others do not."""

NEW_EPSILONS = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)
NEW_GAPS = (0.02, 0.1, 0.2, 0.3, 0.4)


@frozen(kw_only=True)
class _Made:
    """A mechanism at a point."""

    point: ErrorPoint
    mechanism: AdditiveMechanism


def beyond(setting: Setting, progress: Progress = silent) -> Result:
    """Return errors, certified δ and attack accuracies of the newer mechanisms."""
    made = _all_made(_jobs(), setting, progress)
    attacked = {
        f"{one.point.mechanism}, ε = {one.point.epsilon:g}": one
        for one in made
        if one.point.secret == INCOME.name and one.point.gap == INCOME.gap
    }
    laws = {label: one.mechanism.noise for label, one in attacked.items()}
    found = strong_attacks(laws, ("naive", "lattice"), setting)
    attacks = [
        AttackPoint(
            mechanism=one.point.mechanism,
            epsilon=one.point.epsilon,
            delta=one.point.delta,
            accuracy=found.mean(label, "naive"),
            standard_error=found.standard_error(label, "naive"),
            best_attack=one.point.best_attack,
            lattice_attack=found.mean(label, "lattice"),
            lattice_error=found.standard_error(label, "lattice"),
            actual_delta=one.point.actual_delta,
            holds=one.point.holds,
        )
        for label, one in attacked.items()
    ]
    return result(NAME, TITLE, setting, errors=[one.point for one in made], attacks=attacks)


def _jobs() -> list[tuple[str, Property, float, tuple[float, ...]]]:
    """Return mechanism, property, Δp and several ε; what draws rows pairs them once for all of its ε."""
    jobs = []
    for secret in PROPERTIES:
        for gap in sorted({secret.gap, *NEW_GAPS}):
            epsilons = NEW_EPSILONS if gap == secret.gap else (1.0,)
            for shorthand in BEYOND:
                together = [epsilons] if shorthand == "CoupM (G)" else [(epsilon,) for epsilon in epsilons]
                jobs += [(shorthand, secret, gap, several) for several in together]
    return sorted(jobs, key=lambda job: job[0] != "CoupM (G)")


def _all_made(
    jobs: list[tuple[str, Property, float, tuple[float, ...]]], setting: Setting, progress: Progress
) -> list[_Made]:
    workers = setting.processes or usable_processes()
    work = partial(_make, setting.seed)
    found: Iterable[list[_Made]] = (
        Parallel(n_jobs=workers, return_as="generator", **tied())(delayed(work)(*job) for job in jobs)
        if workers > 1
        else (work(*job) for job in jobs)
    )
    made: list[_Made] = []
    for number, several in enumerate(found):
        made += several
        progress(NAME, number + 1, len(jobs))
    order = list(BEYOND)
    return sorted(made, key=lambda m: (m.point.secret, m.point.gap, order.index(m.point.mechanism), m.point.epsilon))


def _make(seed: int, shorthand: str, secret: Property, gap: float, epsilons: tuple[float, ...]) -> list[_Made]:
    model = property_model(secret, gap)
    function, options = BEYOND[shorthand]
    drawn = {"seed": seed} if shorthand == "CoupM (G)" else {}
    made = []
    for epsilon in epsilons:
        target = PrivacyTarget(epsilon=epsilon, delta=DELTA)
        mechanism = getattr(mechanisms, function)(model, target, **options, **drawn)
        exact = mechanism.noise.is_gaussian
        delta = exact_delta(model, mechanism, epsilon=epsilon) if exact else mechanism.certificate.delta
        made.append(
            _Made(
                mechanism=mechanism,
                point=ErrorPoint(
                    secret=secret.name,
                    gap=gap,
                    mechanism=shorthand,
                    epsilon=epsilon,
                    delta=DELTA,
                    error=mechanism.noise.expected_l2,
                    standard_error=0.0,
                    actual_delta=delta,
                    delta_is_exact=exact,
                    holds=mechanism.certificate.holds,
                    trust=mechanism.certificate.trust,
                    best_attack=attack_accuracy_upper_bound(model, mechanism),
                ),
            )
        )
    return made
