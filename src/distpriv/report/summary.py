"""What people are told of a release, as a plain value that the terminal, the page and notebooks only read."""

from collections.abc import Mapping, Sequence
from typing import Any

from attrs import field, frozen

from distpriv._version import __version__
from distpriv.auditing.report import AuditReport
from distpriv.framework.display import (
    counted,
    display_interval,
    interval_text,
    number_text,
    percent_at_most,
    with_half,
)
from distpriv.framework.queries import Query
from distpriv.framework.target import PrivacyTarget
from distpriv.guarantees.certificate import Certificate
from distpriv.modelling.model import QueryModel
from distpriv.modelling.public_knowledge import HALF_WIDTH, Fit
from distpriv.modelling.utility import Gains, gain
from distpriv.noise.laws import NoiseLaw
from distpriv.planning.table import attacker_line, gain_text, promise_line
from distpriv.releasing.attackers import attacker_figures
from distpriv.releasing.joint import Questions
from distpriv.releasing.released import Release
from distpriv.releasing.released_tables import ReleasedTable

__all__ = ["QUESTIONS", "Attacker", "Number", "Reading", "Summary", "reading", "release_summary"]

QUESTIONS: Mapping[str, str] = {
    "alone": "No ledger was used: the certificate says nothing about combining these numbers with other releases.",
    "first": "This is the first answer about the dataset, so no question can depend on an earlier answer.",
    "declared": "All questions and their noise were declared before the first answer, so none can depend on one.",
    "assumed": "Assumed, not enforced: no question was chosen after reading earlier answers. Someone who does that can "
    "learn more than certified.",
    "immune": "The noise protects every single dataset with δ = 0, so later questions may depend on earlier answers.",
}
"""Whether questions may depend on answers, a sentence each."""

Reading = tuple[str, str, str]
"""A statistic, the range of its values, and what a missing one counts as."""


@frozen(kw_only=True)
class Number:
    """One released number, as it is shown everywhere."""

    name: str
    what: str
    """Its definition; empty where that is not known."""
    estimate: str
    estimate_interval: str
    noisy: str
    noisy_interval: str
    public: str
    """The public mean with its 95 % half-width."""
    gain: str
    """The public uncertainty that is removed."""


@frozen(kw_only=True)
class Attacker:
    """What an attacker gets: the one figure, and behind it those of this release, of all and of the ledger's limit.

    >>> one = Attacker(alone=0.56, together=0.56, undefended=0.76)
    >>> one.line
    'attack accuracy ≤ 56 % (chance 50 %, undefended 76 %)'
    >>> Attacker(alone=0.56, together=0.64, undefended=0.76, limit=0.7, releases=2).line
    'attack accuracy ≤ 64 % from all 2 releases (chance 50 %)'
    """

    alone: float
    """Attack accuracy from this release alone, at most."""
    together: float
    """The same from all releases of the dataset so far."""
    undefended: float | None
    """That of these statistics without noise; none where it was not computed."""
    limit: float | None = None
    """What the ledger allows all releases of the dataset together; none without a ledger."""
    releases: int = 1
    """How many releases `together` is about."""
    questions: Questions = "alone"

    @property
    def several(self) -> bool:
        """Whether more than this release counts: others came before it, or were declared with it."""
        return self.releases > 1 or self.together > self.alone

    @property
    def line(self) -> str:
        """The figure to quote."""
        if self.several:
            return f"attack accuracy ≤ {percent_at_most(self.together)} from {self.all_of_them} (chance 50 %)"
        if self.undefended is None:
            return f"attack accuracy ≤ {percent_at_most(self.together)} (chance 50 %)"
        return attacker_line(self.together, self.undefended)

    @property
    def all_of_them(self) -> str:
        """What `together` is about."""
        return "all declared releases" if self.questions == "declared" else f"all {self.releases} releases"

    @property
    def details(self) -> list[str]:
        """What stands behind the figure, a sentence each."""
        found = []
        if self.several:
            before = "" if self.undefended is None else f", and {percent_at_most(self.undefended)} without noise"
            found.append(f"From this release alone it is at most {percent_at_most(self.alone)}{before}.")
        if self.limit is not None:
            most = percent_at_most(max(self.limit, self.together))
            found.append(f"The ledger limits all releases of this dataset, later ones too, to {most}.")
        return [*found, QUESTIONS[self.questions]]


@frozen(kw_only=True)
class Summary:
    """Everything that is told of a release; made by `release_summary`."""

    title: str | None
    """What the policy calls it."""
    dataset: str | None
    position: int | None
    time: str | None
    repeated: bool
    records: int | None
    mechanism: str
    attacker: Attacker
    certificates: Mapping[str, Certificate]
    """What each is about, and the certificate: that of all releases first, where there are several."""
    fit: Fit
    numbers: Sequence[Number]
    """Those that are in no table."""
    tables: Sequence[ReleasedTable]
    gains: Gains
    hidden: Sequence[str] = ()
    """What is protected, a sentence each."""
    readings: Sequence[Reading] = ()
    """How rows of the private table are read."""
    audit: AuditReport | None = field(default=None, repr=False)
    ledger: Mapping[str, Any] | None = None
    policy: str = field(default="", repr=False)
    """The public part of the policy; empty where there was none."""
    versions: str = f"distpriv {__version__}"
    model: QueryModel | None = field(default=None, repr=False, eq=False)
    """For the curves."""
    noise: NoiseLaw | None = field(default=None, repr=False, eq=False)

    @property
    def holds(self) -> bool:
        """Whether all certificates hold."""
        return all(certificate.holds for certificate in self.certificates.values())

    @property
    def certificate(self) -> Certificate:
        """That of this release alone."""
        return [*self.certificates.values()][-1]

    @property
    def word(self) -> str:
        """The verdict in capitals."""
        if not self.holds:
            return "NOT CERTIFIED"
        again = "RELEASED AGAIN" if self.repeated else "RELEASED"
        return again if self.fit.fits else f"{again}, BUT UNLIKE THE REFERENCE"

    @property
    def promise(self) -> str:
        """ε, δ and the assurance that was asked for."""
        return promise_line(self.certificate.target, self.certificate.assurance)

    @property
    def consistency(self) -> str:
        """Whether the noisy values are plausible under the reference."""
        verdict = "consistent" if self.fit.fits else "INCONSISTENT"
        return f"{verdict} with the reference (p = {self.fit.p_value:.2g})"


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


def release_summary(
    release: Release,
    *,
    figures: Mapping[str, float] | None = None,
    model: QueryModel | None = None,
    query: Query | None = None,
    records: int | None = None,
    tables: Sequence[ReleasedTable] | None = None,
    releases: int = 1,
    **known: Any,
) -> Summary:
    """Return what is told of a release.

    Args:
        release: what was released.
        figures: what `attacker_figures` found; computed if not given and there is a model.
        model: the model of its statistics, for the curves; the release's own if not given.
        query: what its statistics are; the model's own if not given.
        records: how many the private table has; the model's own if not given.
        tables: its tables; the release's own if not given.
        releases: how many there are of the dataset, this one included.
        known: further fields of the summary.
    """
    model = release.model if model is None else model
    if model is not None:
        query, records = query or model.query, records or model.provenance.records
        figures = figures or attacker_figures(model, release)
    if tables is None:
        tables = [*release.tables.values()] if release.model is not None else []
    joint = release.joint
    attacker = _attacker(release, figures, max(releases, release.position or 1))
    certificates = {"This release alone": release.certificate}
    if joint is not None and attacker.several:
        certificates = {f"{attacker.all_of_them.capitalize()} together": joint, **certificates}
    cells = {name for each in tables for name in each.table.names(each.name)}
    errors = release.estimate_errors, release.public_errors
    return Summary(
        dataset=release.dataset,
        position=release.position,
        time=release.time,
        repeated=release.repeated,
        records=records,
        mechanism=release.mechanism.name,
        attacker=attacker,
        certificates=certificates,
        fit=release.fit,
        numbers=[_number(release, name, query, records) for name in release.values if name not in cells],
        tables=tables,
        gains=Gains.of(query if query is not None and set(query.names) == set(release.values) else None, *errors),
        ledger=release.ledger,
        model=model,
        noise=release.mechanism.noise,
        **{"title": None, **known},
    )


def _attacker(release: Release, figures: Mapping[str, float] | None, releases: int) -> Attacker:
    joint = release.joint
    limit = None if joint is None else joint.target.attack_accuracy_ceiling
    if figures is None:
        own, every = (
            1.0 if found.contradicted else PrivacyTarget(found.epsilon, found.delta).attack_accuracy_ceiling
            for found in (release.certificate, joint or release.certificate)
        )
        figures = {"at_most": own, "together": max(own, every) if releases > 1 else own}
    together = figures["together"]
    return Attacker(
        alone=min(figures["at_most"], together),
        together=together,
        undefended=figures.get("undefended"),
        limit=limit,
        releases=releases,
        questions=release.questions,
    )


def _number(release: Release, name: str, query: Query | None, records: int | None) -> Number:
    """Return a number as it is shown: counts whole, shares between 0 and 1, rounded by its interval."""
    kinds = {} if query is None else {number.name: number.statistic for number in query.numbers}
    statistic = kinds.get(name)

    def shown(value: float, ends: tuple[float, float]) -> tuple[str, str]:
        half = (ends[1] - ends[0]) / 2
        if statistic is not None and records is not None:
            value, ends = statistic.displayed(value, records), display_interval(ends, statistic, records)
        return number_text(value, half), interval_text(ends, half)

    estimate, around = shown(release.estimates[name], release.estimate_intervals[name])
    noisy, near = shown(release.values[name], release.intervals[name])
    public, half = release.public_means[name], HALF_WIDTH * release.public_errors[name]
    if statistic is not None and records is not None:
        public = statistic.displayed(public, records)
    return Number(
        name=name,
        what="" if statistic is None else statistic.text,
        estimate=estimate,
        estimate_interval=around,
        noisy=noisy,
        noisy_interval=near,
        public=with_half(public, half),
        gain=gain_text(gain(release.estimate_errors[name], release.public_errors[name])),
    )


def about(summary: Summary) -> str:
    """Return the size of a release in words."""
    size = counted(len(summary.numbers), "statistic") if summary.numbers else ""
    tables = counted(len(summary.tables), "table") if summary.tables else ""
    records = "" if summary.records is None else f" about {counted(summary.records, 'record')}"
    return " and ".join(filter(None, (size, tables))) + records
