"""Everything that the page of a release says; the page computes nothing."""

from collections.abc import Sequence

from attrs import field, frozen

from distpriv.auditing.report import AuditReport
from distpriv.framework.arrays import Floats, array_field
from distpriv.framework.target import PrivacyTarget
from distpriv.modelling.telling_curves import TellingCurves
from distpriv.planning.plan import Plan
from distpriv.releasing.release import Release
from distpriv.releasing.released_tables import ReleasedTable
from distpriv.report.protection import Protection, percent_at_most

__all__ = ["Asked", "BoardFacts", "ShownStatistic"]


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


@frozen(kw_only=True)
class ShownStatistic:
    """One released number as a reader is to see it."""

    name: str
    what: str
    shown: str
    """With its noise, as a possible number."""
    low: str
    high: str
    estimate: str
    estimate_low: str
    estimate_high: str
    public: str
    """What was known of it without any release."""


@frozen(kw_only=True)
class BoardFacts:
    """Everything that the page says; it computes nothing."""

    title: str | None = None
    """What the policy calls the release."""
    dataset: str
    records: int
    release: Release
    plan: Plan
    asked: Asked
    """What is asked for of this release."""
    total: Asked
    """What is asked for of all releases of the dataset together."""
    statistics: Sequence[ShownStatistic]
    """Those that are in no table."""
    tables: Sequence[ReleasedTable] = ()
    public_error: float
    """The error of the public means, all numbers together, weighted as the plan weighs them."""
    estimate_error: float
    """That of the estimates."""
    hidden: Sequence[str]
    """What is protected, a sentence each."""
    protection: Protection
    """What an attacker gets, from all releases and from this one alone."""
    undefended_together: float | None = None
    """How often the best attacker would be right about all releases without their noise; none where that is unknown."""
    fixed: bool = False
    """Whether the noise was fixed before, by a declaration or an earlier answer, whatever the plan would choose."""
    curves: TellingCurves | None = field(default=None, repr=False)
    """What an attacker sees of the two cases that are told apart best; none where no noise would give them away."""
    epsilons: Floats = array_field()
    deltas_without: Floats = array_field()
    deltas_with: Floats = array_field()
    audit: AuditReport | None = field(default=None, repr=False)
    policy: str = field(repr=False)
    versions: str

    @property
    def modelled(self) -> float:
        """How often the best attacker is right with the noise if the statistics vary as modelled, at most.

        Noise never helps him, and what is promised holds whatever the model says.
        """
        protection = self.protection
        return min(protection.undefended, (1 + float(self.deltas_with[0])) / 2, protection.alone)

    @property
    def about(self) -> str:
        """The words for what is about one release of several."""
        return ", from this release alone" if self.protection.several else ""
