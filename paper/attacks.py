"""The attack on income in either protocol: Figure 4 and Table 3."""

import math
from collections.abc import Callable, Sequence
from functools import cache

import numpy as np
from scipy.special import ndtr
from sklearn.linear_model import LogisticRegression

import distpriv as dp
from paper.models import Floats, exact_models, mechanism_of, model_of_rows, noise_of, strata
from paper.published import ATTACK_ACCURACIES, NEAR_GUESSING, UNDEFENDED_ACCURACY
from paper.repetitions import draw_datasets, repeated
from paper.result import Attacked, Claim, Result, compared
from paper.setting import DELTA, EPSILONS, GAUSSIAN, GROUP, INCOME, UNDEFENDED, Setting


def figure_4(setting: Setting) -> Result:
    """Return accuracies against ε, without noise as well, and what the paper says of them."""
    attacks = (
        attacked(UNDEFENDED, EPSILONS[0], DELTA, setting),
        *(attacked(m, epsilon, DELTA, setting) for m in (*GAUSSIAN, GROUP) for epsilon in EPSILONS),
    )
    published = {UNDEFENDED: UNDEFENDED_ACCURACY} | dict.fromkeys(GAUSSIAN, NEAR_GUESSING)
    return Result(
        name="figure_4",
        title="Figure 4: accuracy of the attack on income, Δp = 0.1, δ = 0.001",
        attacks=attacks,
        comparisons=tuple(
            compared(
                one.mechanism if one.mechanism == UNDEFENDED else f"{one.mechanism}, ε = {one.epsilon:g}",
                published[one.mechanism],
                one.accuracy,
                one.standard_error,
                setting,
            )
            for one in attacks
            if one.mechanism in published and one.epsilon == EPSILONS[0]
        ),
        claims=_claims(attacks),
    )


def _claims(attacks: Sequence[Attacked]) -> tuple[Claim, ...]:
    curves = {m: [one.accuracy for one in attacks if one.mechanism == m] for m in (*GAUSSIAN, GROUP)}
    mean = {m: sum(curve) / len(curve) for m, curve in curves.items()}
    top = max(GAUSSIAN, key=lambda m: curves[m][-1])
    return (
        Claim(
            text="Group privacy appears to be the strongest defence.",
            evidence=f"on average over ε the attack is right {mean[GROUP]:.1%} of the time, against "
            + ", ".join(f"{mean[m]:.1%} for {m}" for m in GAUSSIAN),
            holds=mean[GROUP] <= min(mean[m] for m in GAUSSIAN),
        ),
        Claim(
            text="The defence grows weaker as ε increases.",
            evidence=f"at ε = {EPSILONS[-1]:g} the attack on {top} is right {curves[top][-1]:.1%} of the time",
            holds=all(curves[m][-1] > mean[m] for m in GAUSSIAN),
        ),
    )


def table_3(setting: Setting) -> Result:
    """Compare the 27 accuracies, with the best attacker and the lattice attack beside them."""
    attacks = tuple(attacked(m, epsilon, delta, setting, lattice=True) for m, epsilon, delta in ATTACK_ACCURACIES)
    return Result(
        name="table_3",
        title="Table 3: accuracy of the attack on income, Δp = 0.1",
        attacks=attacks,
        comparisons=tuple(
            compared(
                f"{one.mechanism}, ε = {one.epsilon:g}, δ = {one.delta:g}",
                published,
                one.accuracy,
                one.standard_error,
                setting,
            )
            for one, published in zip(attacks, ATTACK_ACCURACIES.values(), strict=True)
        ),
        claims=(_delta_matters_less(attacks), _unknown_attacks(attacks)),
    )


def _delta_matters_less(attacks: Sequence[Attacked]) -> Claim:
    def spread(group: Callable[[Attacked], object]) -> float:
        groups: dict[object, list[float]] = {}
        for one in attacks:
            groups.setdefault(group(one), []).append(one.accuracy)
        return max(max(found) - min(found) for found in groups.values())

    by_delta = spread(lambda one: (one.mechanism, one.epsilon))
    by_epsilon = spread(lambda one: (one.mechanism, one.delta))
    return Claim(
        text="Varying δ matters much less than varying ε.",
        evidence=f"accuracies differ by up to {by_delta:.3f} over δ, and by up to {by_epsilon:.3f} over ε",
        holds=by_delta < by_epsilon / 2,
    )


def _unknown_attacks(attacks: Sequence[Attacked]) -> Claim:
    one = next(a for a in attacks if (a.mechanism, a.epsilon, a.delta) == ("DauM (G)", 0.2, DELTA))
    ceiling = dp.PrivacyTarget(epsilon=one.epsilon, delta=one.delta).attack_accuracy_ceiling
    return Claim(
        text="Formal guarantees defend against attacks that are not yet known.",
        evidence=f"reading statistics off their lattice is right {one.lattice_attack or 0:.1%} of the time about "
        f"DauM (G) at ε = {one.epsilon:g}, where (ε, δ) allows {ceiling:.1%}",
        holds=(one.lattice_attack or 0) <= ceiling,
    )


def attacked(mechanism: str, epsilon: float, delta: float, setting: Setting, *, lattice: bool = False) -> Attacked:
    """Attack the releases of one mechanism; the lattice attack is simulated, so it is tried only where asked for."""
    pooled, actual = exact_models(INCOME, INCOME.gap)
    noise = noise_of(mechanism, pooled, epsilon, delta)
    if setting.protocol == "exact":
        accuracy, error = _expected(noise.covariance, setting)
    else:
        accuracy, error = _sampled(mechanism, epsilon, delta, setting)
    return Attacked(
        mechanism=mechanism,
        epsilon=epsilon,
        delta=delta,
        accuracy=accuracy,
        standard_error=error,
        actual_delta=dp.exact_delta(actual, noise, epsilon=epsilon),
        best_attack=(1 + dp.exact_delta(actual, noise, epsilon=0.0)) / 2,
        lattice_attack=_lattice_attack(mechanism, epsilon, delta, setting.releases) if lattice else None,
    )


@cache
def _lattice_attack(mechanism: str, epsilon: float, delta: float, releases: int) -> float:
    model = model_of_rows(INCOME)
    made = mechanism_of(mechanism, model, epsilon, delta)
    return float(dp.audit(made, model=model, attacks=["lattice"], releases=releases).attacks[0].accuracy)


def _expected(noise: Floats, setting: Setting) -> tuple[float, float]:
    r"""Return how often attackers are right about Gaussian statistics, and the standard error of the repetitions.

    Such an attacker looks at :math:`w^\top(F + Z) + c`, which is normal: with probability
    :math:`Φ((w^\top μ_i + c)/\sqrt{w^\top(Σ_i + S)w})` he decides for the first scenario.
    """
    weights, intercepts = _attackers(setting)
    right = []
    for law, sign in zip(exact_models(INCOME, INCOME.gap)[1].distributions.values(), (1.0, -1.0), strict=True):
        spread = np.sqrt(np.einsum("ai,ij,aj->a", weights, law.covariance + noise, weights))
        right.append(ndtr(sign * (weights @ law.mean + intercepts) / spread))
    accuracies = np.mean(right, axis=0)
    by_tests = np.mean([p * (1 - p) for p in right]) / setting.tests
    return float(accuracies.mean()), math.sqrt((by_tests + accuracies.var(ddof=1)) / setting.repetitions)


def _sampled(mechanism: str, epsilon: float, delta: float, setting: Setting) -> tuple[float, float]:
    """Return the mean accuracy over repetitions, each with a model, an attacker, tests and noise of its own."""
    weights, intercepts = _attackers(setting)
    found = []
    for number, repetition in enumerate(repeated(INCOME, setting)):
        clean = np.concatenate(repetition.tests)
        noise = noise_of(mechanism, repetition.model(INCOME, INCOME.gap), epsilon, delta)
        released = clean + noise.simulate(len(clean), _seed(setting, number, mechanism, epsilon, delta))
        decided = released @ weights[number] + intercepts[number] > 0
        found.append(np.mean(decided == (np.arange(len(released)) < len(repetition.tests[0]))))
    return float(np.mean(found)), float(np.std(found, ddof=1) / math.sqrt(len(found)))


def _seed(setting: Setting, number: int, mechanism: str, epsilon: float, delta: float) -> int:
    key = [setting.seed, number, *mechanism.encode(), round(1e6 * epsilon), round(1e6 * delta)]
    return int(np.random.SeedSequence(key).generate_state(1)[0])


@cache
def _attackers(setting: Setting) -> tuple[Floats, Floats]:
    """Train attackers on the shadows of the repetitions, or of all rows in the exact protocol."""
    if setting.protocol == "paper":
        shadows = [repetition.shadows for repetition in repeated(INCOME, setting)]
    else:
        rng, half = np.random.default_rng([setting.seed, 4]), setting.shadows // 2
        drawn = [
            draw_datasets(rng, strata(INCOME), [share], setting.attackers * half)[share].reshape(-1, half, 5)
            for share in INCOME.shares()
        ]
        shadows = list(zip(*drawn, strict=True))
    fitted = [_logistic_regression(one, other) for one, other in shadows]
    return np.array([weights for weights, _ in fitted]), np.array([intercept for _, intercept in fitted])


def _logistic_regression(one: Floats, other: Floats) -> tuple[Floats, float]:
    """Return weights and intercept of logistic regression on the statistics as they are, as the paper has it.

    Its penalty depends on units: on standardised statistics the weights differ.
    """
    shadows = np.concatenate([one, other])
    centre = shadows.mean(axis=0)  # moves the intercept, which has no penalty, and nothing else
    fitted = LogisticRegression(max_iter=1000).fit(shadows - centre, np.repeat([1, 0], [len(one), len(other)]))
    weights = np.asarray(fitted.coef_[0])
    return weights, float(fitted.intercept_[0] - weights @ centre)
