"""The paper's attack on income in either protocol, and what stronger attackers make of the same releases."""

import math
from collections.abc import Iterable, Sequence
from functools import cache

import numpy as np
from attrs import frozen
from scipy.special import ndtr

from distpriv.auditing.experiment import AttackAccuracies, attack_accuracies
from distpriv.experiments.error_points import actual_delta
from distpriv.experiments.paper_noise import exact_model, paper_noise
from distpriv.experiments.properties import INCOME, property_model, reference_table
from distpriv.experiments.repetitions import repeated
from distpriv.experiments.result import AttackPoint
from distpriv.experiments.setting import AUXILIARY, DELTA, TESTING, Setting, stream
from distpriv.extras import extra_needed
from distpriv.framework.arrays import Floats, array_field
from distpriv.guarantees.exact_delta import exact_delta
from distpriv.noise.laws import NoiseLaw, NoNoise
from distpriv.progress import Progress, silent

__all__ = ["UNDEFENDED", "Attacked", "attack_points", "strong_attacks"]

UNDEFENDED = "no noise"
STRONG_TESTS = 400


@frozen(kw_only=True)
class Attacked:
    """Whose releases are attacked."""

    mechanism: str
    epsilon: float
    delta: float = DELTA


@frozen(kw_only=True)
class _Attackers:
    """Linear attackers: each decides for the first scenario where weights · F + intercept is above 0."""

    weights: Floats = array_field()
    intercepts: Floats = array_field()


def attack_points(
    attacked: Iterable[Attacked], setting: Setting, *, name: str, progress: Progress = silent
) -> tuple[AttackPoint, ...]:
    """Return the accuracy of the paper's attacker, of the best one, and of the one who knows of the lattice."""
    wanted = tuple(attacked)
    if setting.protocol == "paper":
        repeated(INCOME, setting, progress)
    strong = _on_lattice(wanted, setting)
    found = []
    for number, one in enumerate(wanted):
        found.append(_point(one, setting, strong))
        progress(name, number + 1, len(wanted))
    return tuple(found)


def _point(one: Attacked, setting: Setting, strong: AttackAccuracies) -> AttackPoint:
    model, noise = property_model(INCOME, INCOME.gap), _law(one)
    accuracy, standard_error = _expected(noise, setting) if setting.protocol == "exact" else _sampled(one, setting)
    delta, _, holds = actual_delta(model, noise, one.epsilon, one.delta)
    undefended = one.mechanism == UNDEFENDED
    return AttackPoint(
        mechanism=one.mechanism,
        epsilon=one.epsilon,
        delta=one.delta,
        accuracy=accuracy,
        standard_error=standard_error,
        best_attack=(1 + exact_delta(model, noise, epsilon=0.0)) / 2,
        lattice_attack=strong.mean(_label(one), "lattice"),
        lattice_error=strong.standard_error(_label(one), "lattice"),
        actual_delta=None if undefended else delta,
        holds=None if undefended else holds,
    )


def _label(one: Attacked) -> str:
    return f"{one.mechanism}, ε = {one.epsilon:g}, δ = {one.delta:g}"


def _law(one: Attacked) -> NoiseLaw:
    model = exact_model(INCOME, INCOME.gap)
    if one.mechanism == UNDEFENDED:
        return NoNoise(dimension=model.dimension)
    return paper_noise(one.mechanism, [model], epsilon=one.epsilon, delta=one.delta).laws[0]


def _on_lattice(attacked: Sequence[Attacked], setting: Setting) -> AttackAccuracies:
    return strong_attacks({_label(one): _law(one) for one in attacked}, ("lattice",), setting)


def strong_attacks(laws: dict[str, NoiseLaw], attacks: Sequence[str], setting: Setting) -> AttackAccuracies:
    """Attack noise by exact moments on rows allocated as in the paper, a few times with many tests."""
    model = property_model(INCOME, INCOME.gap)
    rows = sum(stratum.rows for stratum in reference_table(INCOME).moments(INCOME.predicate).values())
    return attack_accuracies(
        model,
        laws,
        attacks=attacks,
        shadows=setting.shadows,
        tests=STRONG_TESTS,
        repetitions=setting.strong_repetitions,
        shares=(AUXILIARY / rows, TESTING / rows),
        seed=setting.seed,
    )


def _expected(noise: NoiseLaw, setting: Setting) -> tuple[float, float]:
    r"""Return how often attackers are right about Gaussian statistics, on average over attackers, tests and noise.

    Such an attacker looks at :math:`w^\top(F + Z) + c`, which is normal: with probability
    :math:`Φ((w^\top μ_i + c)/\sqrt{w^\top(Σ_i + S)w})` he decides for the first scenario.
    """
    model, attackers = property_model(INCOME, INCOME.gap), _trained(setting)
    right = []
    for scenario, sign in zip(model.protected_pairs[0], (1.0, -1.0), strict=True):
        law = model.distributions[scenario]
        spread = np.einsum("ai,ij,aj->a", attackers.weights, law.covariance + noise.covariance, attackers.weights)
        right.append(ndtr(sign * (attackers.weights @ law.mean + attackers.intercepts) / np.sqrt(spread)))
    each = np.mean(right, axis=0)
    by_tests = np.mean([p * (1 - p) for p in right]) / setting.tests
    return float(each.mean()), math.sqrt((by_tests + each.var(ddof=1)) / setting.repetitions)


def _sampled(one: Attacked, setting: Setting) -> tuple[float, float]:
    """Return the mean accuracy over repetitions, each with a model, an attacker, tests and noise of its own."""
    repetitions, attackers = repeated(INCOME, setting), _trained(setting)
    tests = repetitions.tests.reshape(setting.repetitions, -1, repetitions.tests.shape[3])
    if one.mechanism != UNDEFENDED:
        models = repetitions.models(INCOME, INCOME.gap)
        noise = paper_noise(one.mechanism, models, epsilon=one.epsilon, delta=one.delta)
        tests = tests + noise.draw(stream(setting, f"attack: {_label(one)}"), tests.shape[1])
    scores = np.einsum("rdm,rm->rd", tests, attackers.weights) + attackers.intercepts[:, np.newaxis]
    half = repetitions.tests.shape[2]
    right = np.concatenate([scores[:, :half] > 0, scores[:, half:] <= 0], axis=1).mean(axis=1)
    return float(right.mean()), float(right.std(ddof=1) / math.sqrt(len(right)))


@cache
def _trained(setting: Setting) -> _Attackers:
    """Train attackers on shadows: those of the repetitions, or of all rows in the exact protocol."""
    model = property_model(INCOME, INCOME.gap)
    if setting.protocol == "paper":
        shadows = repeated(INCOME, setting).shadows
    else:
        half = setting.shadows // 2
        drawn = [model.samples(s, setting.attackers * half, setting.seed) for s in model.protected_pairs[0]]
        shadows = np.stack([part.reshape(setting.attackers, half, -1) for part in drawn], axis=1)
    fitted = [_logistic_regression(first, second) for first, second in shadows]
    return _Attackers(
        weights=np.array([weights for weights, _ in fitted]),
        intercepts=np.array([intercept for _, intercept in fitted]),
    )


def _logistic_regression(first: Floats, second: Floats) -> tuple[Floats, float]:
    """Return weights and intercept of logistic regression on the statistics as they are, as the paper has it.

    Its penalty holds the weights of finely spread statistics back, so it is not the same as on standardised ones.
    """
    with extra_needed("audit", "the paper's attack"):
        from sklearn.linear_model import LogisticRegression

    shadows = np.concatenate([first, second])
    centre = shadows.mean(axis=0)  # moves the intercept, which has no penalty, and nothing else
    labels = np.repeat([1, 0], [len(first), len(second)])
    fitted = LogisticRegression(max_iter=1000).fit(shadows - centre, labels)
    weights = np.asarray(fitted.coef_[0])
    return weights, float(fitted.intercept_[0] - weights @ centre)
