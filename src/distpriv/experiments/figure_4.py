"""Figure 4: how often the attack on income is right, against ε."""

from collections.abc import Sequence

from distpriv.experiments.attack_points import UNDEFENDED, Attacked, attack_points
from distpriv.experiments.figure_2 import EPSILONS
from distpriv.experiments.paper_noise import GAUSSIAN, GROUP
from distpriv.experiments.published import NEAR_GUESSING, UNDEFENDED_ACCURACY
from distpriv.experiments.result import AttackPoint, Claim, Result, compared, result
from distpriv.experiments.setting import DELTA, Setting
from distpriv.framework.target import PrivacyTarget
from distpriv.progress import Progress, silent

__all__ = ["figure_4"]

NAME, TITLE = "figure_4", "Figure 4: accuracy of the attack on income, Δp = 0.1, δ = 0.001"


def figure_4(setting: Setting, progress: Progress = silent) -> Result:
    """Return the accuracies from ε = 0.1 to 10, without noise as well, and what the paper says of them."""
    attacked = [Attacked(mechanism=UNDEFENDED, epsilon=EPSILONS[0])] + [
        Attacked(mechanism=mechanism, epsilon=epsilon) for mechanism in (*GAUSSIAN, GROUP) for epsilon in EPSILONS
    ]
    points = attack_points(attacked, setting, name=NAME, progress=progress)
    said = {UNDEFENDED: UNDEFENDED_ACCURACY} | dict.fromkeys(GAUSSIAN, NEAR_GUESSING)
    comparisons = [
        compared(_label(point), said[point.mechanism], point.accuracy, point.standard_error, setting)
        for point in points
        if point.mechanism in said and point.epsilon == EPSILONS[0]
    ]
    return result(NAME, TITLE, setting, attacks=points, comparisons=comparisons, claims=_claims(points))


def _label(point: AttackPoint) -> str:
    return point.mechanism if point.mechanism == UNDEFENDED else f"{point.mechanism}, ε = {point.epsilon:g}"


def _claims(points: Sequence[AttackPoint]) -> list[Claim]:
    by_epsilon = {m: sorted((p.epsilon, p.accuracy) for p in points if p.mechanism == m) for m in (*GAUSSIAN, GROUP)}
    mean = {m: sum(accuracy for _, accuracy in found) / len(found) for m, found in by_epsilon.items()}
    last = {m: found[-1][1] for m, found in by_epsilon.items()}
    top = max(GAUSSIAN, key=lambda m: last[m])
    read = next(p.lattice_attack or 0.0 for p in points if p.mechanism == "DauM (G)" and p.epsilon == EPSILONS[0])
    ceiling = PrivacyTarget(epsilon=EPSILONS[0], delta=DELTA).attack_accuracy_ceiling
    return [
        Claim(
            text="Group privacy appears to be the strongest defence.",
            evidence=f"on average over ε the attack is right {mean[GROUP]:.1%} of the time, against "
            + ", ".join(f"{mean[m]:.1%} for {m}" for m in GAUSSIAN),
            holds=mean[GROUP] <= min(mean[m] for m in GAUSSIAN),
        ),
        Claim(
            text="The defence grows weaker as ε increases.",
            evidence=f"at ε = {EPSILONS[-1]:g} the attack on {top} is right {last[top]:.1%} of the time",
            holds=all(last[m] > mean[m] for m in GAUSSIAN),
        ),
        Claim(
            text="Formal guarantees defend against attacks that are not yet known.",
            evidence=f"an attacker who reads statistics off their lattice is right {read:.1%} of the time about "
            f"DauM (G) at ε = {EPSILONS[0]:g}, where (ε, δ) allows {ceiling:.1%}",
            holds=read <= ceiling,
        ),
    ]
