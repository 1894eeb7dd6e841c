"""What an audit found, as a frozen value that prints as a table and a sentence."""

from typing import Any, ClassVar, Literal

from attrs import frozen

from distpriv.auditing.measures import Measures
from distpriv.errors import AuditFailed
from distpriv.framework.frames import frame_of
from distpriv.framework.html import html_table, paragraph, shown
from distpriv.framework.records import plain
from distpriv.framework.scenarios import Pair

__all__ = ["AttackResult", "AuditReport", "AuditRule"]

AuditRule = Literal["optional", "required"]
"""Whether a release is attacked before it is made only when that is asked for, or always."""


@frozen(kw_only=True)
class AttackResult:
    """One attack: what it achieves on unseen rows, defended and not, and what it proves about the modelled law.

    >>> import distpriv as dp
    >>> model = dp.gaussian_model(means={"a": [0], "b": [1]}, covariances=[[1]], pairs=[("a", "b")])
    >>> mechanism = dp.mechanisms.expected_value_gaussian(model, dp.PrivacyTarget(epsilon=1, delta=0.001))
    >>> report = dp.audit(mechanism, model=model, attacks=["bayes"], releases=20_000)
    >>> attack = report.attacks[0]
    >>> attack.name, round(attack.accuracy, 2), round(attack.undefended.accuracy, 2)
    ('bayes', 0.57, 0.69)
    >>> attack.accuracy == attack.defended.accuracy, attack.accuracy_lower_bound < attack.accuracy
    (True, True)
    """

    name: str
    """The attack's name."""
    defended: Measures
    """Against releases with their noise."""
    undefended: Measures
    """Against the statistics without noise."""
    accuracy_lower_bound: float
    """How often it is right at least, about releases of the modelled law."""
    epsilon_lower_bound: float
    """At the claim's δ. All bounds of a report hold together with its confidence."""

    @property
    def accuracy(self) -> float:
        """How often it is right about a release."""
        return self.defended.accuracy


@frozen(kw_only=True)
class AuditReport:
    """All attacks, the strongest first, held against what the mechanism claims; made by `distpriv.audit`.

    >>> import distpriv as dp
    >>> model = dp.gaussian_model(means={"a": [0], "b": [1]}, covariances=[[1]], pairs=[("a", "b")])
    >>> mechanism = dp.mechanisms.expected_value_gaussian(model, dp.PrivacyTarget(epsilon=1, delta=0.001))
    >>> report = dp.audit(mechanism, model=model, attacks=["bayes"], releases=20_000)
    >>> report.epsilon, round(report.delta, 6), [attack.name for attack in report.attacks], report.failed
    (1.0, 0.000509, ['bayes'], False)
    >>> 0 < report.epsilon_lower_bound < report.epsilon, report.accuracy_lower_bound < report.modelled_accuracy
    (True, True)
    >>> print(report.verdict)
    passed: no attack exceeded the claim; the attack, bayes, was right 57...% ± 0.7 of the time, where (1, 0.000509)
    allows 73.1% and the Gaussian model at most 57.2%; ε is at least 0.5...
    >>> report.to_rows()[0]["attack"], list(report.to_frame().index)
    ('bayes', ['bayes'])
    >>> report.to_dict()["attacks"][0]["name"], report.verdict == f"passed: {report.finding}"
    ('bayes', True)

    A mechanism that claims too much fails:

    >>> bare = dp.mechanisms.no_noise(model, dp.PrivacyTarget(epsilon=0.1, delta=0.001))
    >>> failed = dp.audit(bare, model=model, attacks=["bayes"], releases=20_000)
    >>> failed.failed
    True
    >>> failed.require_passed()
    Traceback (most recent call last):
    distpriv.errors.AuditFailed: the audit fails, so nothing is released: with 95% confidence the release is not what it
    claims: ε is at least ...
    """

    DERIVED: ClassVar = ("failed", "verdict", "epsilon_lower_bound")

    mechanism: str
    """Its name."""
    pair: Pair
    """The scenarios that were told apart."""
    epsilon: float
    """What is claimed: the certificate's ε and δ if it holds, else the target's."""
    delta: float
    """The claimed δ."""
    certificate_holds: bool
    """Whether the certificate meets its target."""
    attack_accuracy_ceiling: float
    """The most that the claimed (ε, δ) allows."""
    modelled_accuracy: float
    """The most that Gaussian statistics with this noise allow; none for noise where no bound is known."""
    attacks: tuple[AttackResult, ...]
    """What each attack achieved."""
    confidence: float
    """The probability with which all bounds hold together, at least."""
    shadows: int
    """How many datasets the attacks learnt from."""
    releases: int
    """How many releases they were tried on."""
    seed: int
    """The same seed gives the same report."""
    populations: str
    """Which rows the shadows and the tests were drawn from, in words."""

    @property
    def epsilon_lower_bound(self) -> float:
        """The highest bound of all attacks, which they have together with the report's confidence."""
        return max(attack.epsilon_lower_bound for attack in self.attacks)

    @property
    def accuracy_lower_bound(self) -> float:
        """The highest bound of all attacks, which they have together with the report's confidence."""
        return max(attack.accuracy_lower_bound for attack in self.attacks)

    @property
    def failed(self) -> bool:
        """Whether the claim is ruled out at the report's confidence."""
        return self.epsilon_lower_bound > self.epsilon or self.accuracy_lower_bound > self.attack_accuracy_ceiling

    @property
    def verdict(self) -> str:
        """What was found, in one sentence."""
        return f"{'FAILED' if self.failed else 'passed'}: {self.finding}"

    @property
    def finding(self) -> str:
        """What was found, without the word for it."""
        best = self.attacks[0]
        low, high = best.defended.interval
        claim = f"({self.epsilon:g}, {self.delta:.3g})" + ("" if self.certificate_holds else ", the target,")
        count = f"the best of {len(self.attacks)} attacks" if len(self.attacks) > 1 else "the attack"
        measured = (
            f"{count}, {best.name}, was right {best.accuracy:.1%} ± {100 * (high - low) / 2:.1f} of the time, where "
            f"{claim} allows {self.attack_accuracy_ceiling:.1%}{self._modelled()}"
        )
        if self.failed:
            return (
                f"with {self.confidence:.0%} confidence the release is not what it claims: ε is at least "
                f"{self.epsilon_lower_bound:.3g}, and {measured}."
            )
        return f"no attack exceeded the claim; {measured}; ε is at least {self.epsilon_lower_bound:.3g}."

    def require_passed(self) -> None:
        """Refuse a release that attacks tell apart better than is claimed.

        Raises:
            AuditFailed: the claim is ruled out.
        """
        if self.failed:
            raise AuditFailed(
                f"the audit fails, so nothing is released: {self.finding.rstrip('.')}: run distpriv audit on the "
                "policy to see every attack, and leave out the statistic that tells, or ask for assurance 'proved'."
            )

    def _modelled(self) -> str:
        over = "; an attack does better, so the statistics are not as modelled, but on a lattice, say"
        beaten = self.accuracy_lower_bound > self.modelled_accuracy
        return f" and the Gaussian model at most {self.modelled_accuracy:.1%}{over if beaten else ''}"

    def to_dict(self) -> dict[str, Any]:
        """Return everything as JSON can hold it."""
        found: dict[str, Any] = plain(self)
        return found

    def to_rows(self) -> list[dict[str, Any]]:
        """Return for each attack how often it was right, with the interval, and what it proves."""
        return [
            {
                "attack": attack.name,
                "accuracy": attack.accuracy,
                "low": attack.defended.interval[0],
                "high": attack.defended.interval[1],
                "undefended": attack.undefended.accuracy,
                "auc": attack.defended.auc,
                "tpr_at_1_percent_fpr": attack.defended.tpr_at_1_percent_fpr,
                "epsilon_lower_bound": attack.epsilon_lower_bound,
            }
            for attack in self.attacks
        ]

    def to_frame(self) -> Any:
        """Return the rows of `to_rows` as a pandas frame, by the name of the attack.

        Raises:
            InvalidInput: pandas is not installed.
        """
        rows = self.to_rows()
        return frame_of(rows, "attack", list(rows[0]), "report.to_rows()")

    def _repr_html_(self) -> str:
        header = ["attack", "right with noise", "right without", "AUC", "ε at least"]
        rows = [
            [
                attack.name,
                f"{attack.accuracy:.1%} ± {50 * _width(attack):.1f} %",
                f"{attack.undefended.accuracy:.1%}",
                f"{attack.defended.auc:.3f}",
                f"{attack.epsilon_lower_bound:.3f}",
            ]
            for attack in self.attacks
        ]
        caption = f"{self.mechanism}: {self.pair[0]} against {self.pair[1]}, {self.releases:,} releases"
        return shown(
            paragraph(self.verdict, strong=True), html_table(caption, header, rows), paragraph(self.populations)
        )

    def __str__(self) -> str:
        head = f"{'attack':<12} {'accuracy':>15} {'undefended':>10} {'AUC':>6} {'TPR at 1 % FPR':>14} {'ε ≥':>7}"
        rows = [
            f"{attack.name:<12} {attack.accuracy:>6.1%} ± {50 * _width(attack):>4.1f} % "
            f"{attack.undefended.accuracy:>10.1%} {attack.defended.auc:>6.3f} "
            f"{attack.defended.tpr_at_1_percent_fpr:>14.1%} {attack.epsilon_lower_bound:>7.3f}"
            for attack in self.attacks
        ]
        title = (
            f"{self.mechanism}: {self.pair[0]} against {self.pair[1]}, {self.shadows:,} shadows and {self.releases:,} "
            f"releases, bounds at {self.confidence:.0%} confidence"
        )
        return "\n".join([title, head, *rows, self.verdict, f"({self.populations})"])


def _width(attack: AttackResult) -> float:
    return attack.defended.interval[1] - attack.defended.interval[0]
