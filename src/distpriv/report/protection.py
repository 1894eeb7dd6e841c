"""How often an attacker is right, and what that counts on: the sentences that pages and commands share."""

import math
from collections.abc import Mapping
from typing import Any, Self

from attrs import frozen

from distpriv.framework.target import PrivacyTarget
from distpriv.releasing.joint import Questions

__all__ = ["QUESTIONS", "Asked", "Protection", "Reading", "percent_at_most", "reading"]

QUESTIONS: Mapping[str, str] = {
    "alone": "No ledger was used: nothing is promised about these numbers together with any others of the same data.",
    "first": "No answer about this dataset had been given before, so nothing asked here can depend on one.",
    "declared": "All questions about this dataset, and the noise of their answers, were fixed before the first answer, "
    "so no question can have been chosen by looking at an answer.",
    "assumed": "It is assumed that no question was chosen by looking at earlier answers, and nothing enforces it: "
    "someone who reads answers and then picks the next question can learn more than is promised here.",
    "immune": "The noise protects each single dataset, with δ = 0, and not only datasets on average: so what is "
    "promised adds up, and later questions may depend on earlier answers.",
}
"""How later questions are covered, a sentence each."""


@frozen(kw_only=True)
class Asked:
    """What a policy asks for, in its own terms: how often an attacker may be right, or ε and δ.

    >>> Asked(target=PrivacyTarget(epsilon=0.0, delta=0.2), accuracy=0.6).sentence
    'nobody is right more than 60 times in 100'
    >>> Asked(target=PrivacyTarget(epsilon=1.0, delta=0.01)).sentence
    'ε = 1 and δ = 0.01, so that nobody is right more than 73.4 times in 100'
    """

    target: PrivacyTarget
    accuracy: float | None = None
    """How often an attacker may be right, where the policy says that; none where it says ε and δ."""

    @property
    def sentence(self) -> str:
        """What is promised."""
        if self.accuracy is not None:
            return f"nobody is right more than {100 * self.accuracy:g} times in 100"
        most = percent_at_most(self.target.attack_accuracy_ceiling).removesuffix(" %")
        said = f"ε = {self.target.epsilon:g} and δ = {self.target.delta:g}"
        return f"{said}, so that nobody is right more than {most} times in 100"


Reading = tuple[str, str, str]
"""A statistic, what its values are held within, and what a missing one counts as."""


def reading(written: Mapping[str, Any]) -> Reading:
    """Return how the values of a statistic are read from the private table, as a release.json says.

    >>> reading({"statistic": "age", "low": 17.0, "high": 90.0, "otherwise": 38.0})
    ('age', '17 to 90', '38')
    """
    low, high = (None if end is None else f"{end:.10g}" for end in (written["low"], written["high"]))
    within = f"{low or 'any'} to {high or 'any'}" if low or high else "any value"
    otherwise = written["otherwise"]
    missing = (
        "–" if otherwise is None else f"{otherwise:.10g}" if isinstance(otherwise, int | float) else str(otherwise)
    )
    return str(written["statistic"]), within, missing


@frozen(kw_only=True)
class Protection:
    """What a release, and all releases of its dataset together, leave an attacker; from what release.json says.

    >>> found = Protection.of({
    ...     "position": 2,
    ...     "joint_certificate": {"epsilon": 0.0, "delta": 0.29, "target": {"epsilon": 0.0, "delta": 0.3}},
    ...     "attacker": {"undefended": 0.699, "at_most": 0.602, "together": 0.6483},
    ...     "questions": "declared",
    ... })
    >>> print(found.sentences[0].partition(",")[0])
    From all declared releases of this dataset together nobody who does not know private rows is right more than 64.9 %
    of the time
    """

    undefended: float
    """How often the best attacker is right without noise, from this release alone."""
    alone: float
    """How often he is right at most, from this release alone."""
    together: float
    """How often he is right at most, from all releases of the dataset so far."""
    total: float | None
    """How often he may be right after all releases that are to come; none without a ledger."""
    position: int
    """The number of this release among all of the dataset."""
    releases: int
    """How many releases `together` is about; later ones too, where an old answer is shown again."""
    questions: Questions
    readings: tuple[Reading, ...] = ()
    """How rows of the private table are read."""

    @classmethod
    def of(cls, document: Mapping[str, Any]) -> Self:
        """Return what a release.json says."""
        attacker, joint, position = document["attacker"], document["joint_certificate"], document["position"] or 1
        evidence = document.get("evidence", {})
        releases = max(position, len((evidence.get("joint") or {"noises": ()})["noises"]))
        return cls(
            undefended=float(attacker["undefended"]),
            alone=float(min(attacker["at_most"], attacker["together"])),
            together=float(attacker["together"]),
            total=None if joint is None else PrivacyTarget(**joint["target"]).attack_accuracy_ceiling,
            position=position,
            releases=releases,
            questions=document["questions"],
            readings=tuple(map(reading, evidence.get("reading") or ())),
        )

    @property
    def several(self) -> bool:
        """Whether more than this release counts: others came before it, or were declared with it."""
        return self.releases > 1 or self.together > self.alone

    @property
    def all_of_them(self) -> str:
        """What `together` is about."""
        if self.questions != "declared" and self.releases == 2:
            return "both releases of this dataset"
        return f"all {'declared' if self.questions == 'declared' else self.releases} releases of this dataset"

    @property
    def sentences(self) -> list[str]:
        """What an attacker gets from everything, then from this release alone, and what may still come."""
        return [*self._figures(), *self._to_come(), QUESTIONS[self.questions]]

    def _figures(self) -> list[str]:
        rest = "of the time, with any method and any computer; a blind guess is right 50 % of the time."
        if not self.several:
            return [
                f"Without noise, someone who knows all that is public but no private rows, and wonders which of two "
                f"protected cases is true, would be right {percent_at_most(self.undefended)} of the time, if the "
                "statistics vary as modelled.",
                f"With the noise that was added, nobody who does not know private rows is right more than "
                f"{percent_at_most(self.together)} {rest}{self._ceiling()}",
            ]
        opening = "If no question depended on an earlier answer, then from" if self.questions == "assumed" else "From"
        return [
            f"{opening} {self.all_of_them} together nobody who does not know private rows is right more "
            f"than {percent_at_most(self.together)} {rest}",
            f"From this release alone it would be {percent_at_most(self.undefended)} without noise, if the statistics "
            f"vary as modelled, and is at most {percent_at_most(self.alone)} with the noise that was added."
            f"{self._ceiling()}",
        ]

    def _ceiling(self) -> str:
        """Return what to say where a promise allows more than the model gives without noise."""
        if self.alone <= self.undefended:
            return ""
        return (
            f" That is a ceiling, which holds whatever law the statistics have: if they vary as modelled, nobody is "
            f"right more than {percent_at_most(self.undefended)} of the time, noise or none."
        )

    def _to_come(self) -> list[str]:
        if self.total is None:
            return []
        return [
            f"The ledger holds whatever is released of this dataset later to a total, under which all releases "
            f"together allow {percent_at_most(max(self.total, self.together))} at most."
        ]


def percent_at_most(share: float) -> str:
    """Return a share as a percentage that is not below it, with one decimal where that is needed.

    >>> percent_at_most(0.6), percent_at_most(0.60201), percent_at_most(1.0)
    ('60 %', '60.3 %', '100 %')
    """
    return f"{min(1000, math.ceil(1000 * share - 1e-6)) / 10:g} %"
