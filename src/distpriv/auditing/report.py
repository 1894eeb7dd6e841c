"""What an audit found, as a frozen value that prints as a table and a sentence."""

from typing import Any, ClassVar, Literal

from attrs import frozen

from distpriv.auditing.measures import Measures
from distpriv.errors import AuditFailed
from distpriv.framework.display import columns, counted, hanging, percent_at_most
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
    >>> attack.measured
    '57... % ± 0.7'
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

    @property
    def measured(self) -> str:
        """Its accuracy with the half-width of the interval."""
        low, high = self.defended.interval
        return f"{100 * self.accuracy:.1f} % ± {50 * (high - low):.1f}"


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
    passed: the best attack, bayes, measured 57... % ± 0.7 (at most 73.2 % certified); ε is at least 0... of 1
    >>> report.to_rows()[0]["attack"], list(report.to_frame().index)
    ('bayes', ['bayes'])
    >>> report.to_dict()["attacks"][0]["name"], report.verdict == f"passed: {report.finding}"
    ('bayes', True)
    >>> report.table()[0]
    ['attack', 'measured with noise', 'without noise', 'ε at least']
    >>> report.circumstances
    ['expected_value_gaussian: a against b; 20,000 simulated releases, 95% confidence']
    >>> report.text().splitlines()[0] == f"PASSED  {report.finding}"
    True

    A mechanism that claims too much fails:

    >>> bare = dp.mechanisms.no_noise(model, dp.PrivacyTarget(epsilon=0.1, delta=0.001))
    >>> failed = dp.audit(bare, model=model, attacks=["bayes"], releases=20_000)
    >>> failed.failed
    True
    >>> failed.require_passed()
    Traceback (most recent call last):
    distpriv.errors.AuditFailed: the audit fails, so nothing is released: the best attack, bayes, measured 69...
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
        claim = (
            f"{percent_at_most(self.attack_accuracy_ceiling)} {'certified' if self.certificate_holds else 'asked for'}"
        )
        measured = f"the best attack, {best.name}, measured {best.measured} (at most {claim})"
        if self.failed:
            return (
                f"{measured}; ε is at least {self.epsilon_lower_bound:.3g} at δ = {self.delta:.3g} with "
                f"{self.confidence:.0%} confidence, where {self.epsilon:g} was claimed"
            )
        return f"{measured}; ε is at least {self.epsilon_lower_bound:.3g} of {self.epsilon:g}"

    def require_passed(self) -> None:
        """Refuse a release that attacks tell apart better than is claimed.

        Raises:
            AuditFailed: the claim is ruled out.
        """
        if self.failed:
            raise AuditFailed(
                f"the audit fails, so nothing is released: {self.finding}: run distpriv audit on the policy to see "
                "every attack, and leave out the statistic that reveals the secret, or ask for assurance 'proved'."
            )

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

    def table(self) -> list[list[str]]:
        """Return what attacks measured as text, below a header."""
        head = ["attack", "measured with noise", "without noise", "ε at least"]
        return [
            head,
            *(
                [each.name, each.measured, f"{100 * each.undefended.accuracy:.1f} %", f"{each.epsilon_lower_bound:.3g}"]
                for each in self.attacks
            ),
        ]

    @property
    def circumstances(self) -> list[str]:
        """How it was measured, and whether an attack does better than the model of the statistics allows."""
        found = [
            f"{self.mechanism}: {self.pair[0]} against {self.pair[1]}; {self.releases:,} simulated releases, "
            f"{self.confidence:.0%} confidence"
        ]
        if self.accuracy_lower_bound > self.modelled_accuracy:
            found.append(
                "an attack does better than the normal approximation allows "
                f"({percent_at_most(self.modelled_accuracy)}): the statistics have other structure, such as a lattice"
            )
        return found

    def _repr_html_(self) -> str:
        head, *rows = self.table()
        return shown(
            paragraph(self.verdict, strong=True),
            html_table(self.circumstances[0], head, rows),
            paragraph(self.populations),
        )

    def text(self, detail: int = 0, *, dataset: str = "") -> str:
        """Return the audit as text; detail 1 adds how releases were simulated and how well attacks rank them."""
        verdict = " · ".join(filter(None, (dataset, self.finding)))
        lines = [f"{'FAILED' if self.failed else 'PASSED'}  {verdict}", "", *columns(self.table())]
        lines += [hanging(line) for line in self.circumstances]
        if detail:
            lines.append(hanging(f"{self.populations}; {counted(self.shadows, 'shadow dataset')}, seed {self.seed}"))
            lines += [
                f"  {each.name}: AUC {each.defended.auc:.3f}, true positives at 1 % false positives "
                f"{100 * each.defended.tpr_at_1_percent_fpr:.1f} %"
                for each in self.attacks
            ]
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.text()
