"""What the page of a plan says, and that of a release: the only place that words results for it."""

from collections.abc import Iterable, Mapping, Sequence
from math import ceil, floor

import numpy as np
from attrs import evolve, field, frozen

from distpriv._version import __version__
from distpriv.auditing.measures import Measures
from distpriv.auditing.report import AuditReport
from distpriv.framework.arrays import Floats
from distpriv.guarantees.attack_accuracy import undefended_attack_accuracy
from distpriv.guarantees.certificate import Assumption, Certificate
from distpriv.guarantees.exact_delta import privacy_profile
from distpriv.guarantees.upper_bound import delta_upper_bound
from distpriv.modelling.linear_estimate import HALF_WIDTH
from distpriv.modelling.model import QueryModel
from distpriv.modelling.public_knowledge import ASSUMES
from distpriv.modelling.telling_curves import TellingCurves, telling_curves
from distpriv.noise.laws import NoiseLaw, NoNoise
from distpriv.planning.plan import Plan
from distpriv.planning.table import hardly_worth, summary
from distpriv.releasing.attackers import attacker_figures
from distpriv.releasing.released import IN_TABLES, Release
from distpriv.releasing.released_tables import ReleasedTable
from distpriv.report.drawing import Picture, Profile, case_curves, option_errors, profile_curves
from distpriv.report.options import options_table, other_ways
from distpriv.report.protection import Asked, Protection, percent_at_most
from distpriv.report.result_page import Audited, Cell, Fact, HeatMap, Notice, Page, Proof, Table
from distpriv.report.text import counted

__all__ = ["Facts", "ShownStatistic", "plan_page", "release_page", "would_see"]

POINTS = 9
"""Of the privacy profile; a bound for Laplace noise takes its time."""

TINY = 1e-9
"""What rounding may add to half of an interval."""

BELIEVED = {
    "sampling": "only that the data were drawn as the policy says",
    "gaussian": "that the data were drawn as the policy says, and that the statistics vary from dataset to dataset as "
    "a bell curve does",
    "assumed": "everything listed as assumed below, which the data may contradict",
}


def plan_page(plan: Plan, *, figures: bool = True) -> Page:
    """Return the page of a plan; a notebook needs no figures."""
    first, *rest = summary(plan)
    records, chosen = plan.model.provenance.records, plan.chosen
    about = "" if records is None else f" about {counted(records, 'record')}"
    page = Page(
        released=False,
        title="What a release would tell, and what it would be worth",
        subtitle=f"{counted(plan.model.dimension, 'number')}{about} · nothing is released yet",
        notices=[Notice("bad" if chosen is None else "good", first, " ".join(rest))],
        why=hardly_worth(plan) or "",
        errors=option_errors(plan) if figures else None,
        options=options_table(plan),
        others=other_ways(plan),
        protected=[" against ".join(pair) for pair in plan.model.protected_pairs[::2]],
    )
    if chosen is None:
        return page
    certificate, noise = chosen.mechanism.certificate, chosen.mechanism.noise
    halves = dict(zip(chosen.mechanism.statistics, noise.half_widths.tolist(), strict=True))
    errors = ((chosen.estimate_errors[name], halves[name], plan.public_errors[name]) for name in plan.model.names)
    return evolve(
        page,
        numbers=Table(
            header=["number", "estimate", "noisy value", "public mean"],
            rows=[
                [name, f"± {HALF_WIDTH * estimate:.3g}", f"± {half:.3g}", f"± {HALF_WIDTH * public:.3g}"]
                for name, (estimate, half, public) in zip(plan.model.names, errors, strict=True)
            ],
            caption="How far off each number is at most in 95 of 100 releases.",
            align="lrrr",
        ),
        curves=would_see(plan.model, noise, plan.undefended_attack_accuracy, chosen.attack_accuracy) if figures else (),
        proofs=[_proof(certificate, "This release alone")],
        assumed=_assumed([certificate]),
    )


def would_see(model: QueryModel, noise: NoiseLaw, undefended: float, most: float) -> tuple[Picture, ...]:
    """Return what an attacker would see of a release with this noise; nothing where the statistics give all away."""
    found = telling_curves(model, noise)
    if found is None:
        return ()
    after = percent_at_most(min(undefended, most))
    captions = (
        f"As they are, the numbers tell the cases apart {percent_at_most(undefended)} of the time.",
        f"With the noise, {after} of the time at most if they vary as modelled.",
    )
    return case_curves(found, captions)


@frozen(kw_only=True)
class ShownStatistic:
    """One released number as a reader is to see it."""

    name: str
    what: str
    """Its definition; empty where that is not known."""
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
class Facts:
    """What the page of a release rests on: that of its model is computed by `of`, the rest is the policy's."""

    release: Release
    asked: Asked
    """What is asked for of this release."""
    total: Asked | None
    """What is asked for of all releases of the dataset together."""
    protection: Protection | None = None
    """What an attacker gets, from all releases and from this one alone; none of a release without its model."""
    undefended_together: float | None = None
    """How often the best attacker would be right about all releases without their noise; none where that is unknown."""
    curves: TellingCurves | None = field(default=None, repr=False)
    """What an attacker sees of the two cases that are told apart best; none where no noise would give them away."""
    profile: Profile | None = field(default=None, repr=False)
    title: str | None = None
    """What the policy calls the release."""
    records: int | None = None
    plan: Plan | None = None
    fixed: bool = False
    """Whether the noise was fixed before, by a declaration or an earlier answer, whatever the plan would choose."""
    statistics: Sequence[ShownStatistic] = ()
    """Those that are in no table."""
    tables: Sequence[ReleasedTable] = ()
    hidden: Sequence[str] = ()
    """What is protected, a sentence each."""
    audit: AuditReport | None = field(default=None, repr=False)
    policy: str = field(default="", repr=False)
    versions: str = f"distpriv {__version__}"

    @classmethod
    def of(cls, release: Release, model: QueryModel | None) -> "Facts":
        """Return what a release and its model say by themselves."""
        found = cls(
            release=release,
            asked=Asked(target=release.certificate.target),
            total=None if release.joint is None else Asked(target=release.joint.target),
            statistics=[_as_drawn(release, name) for name in release.values],
        )
        if model is None:
            return found
        noise, earlier = release.mechanism.noise, release.earlier
        epsilons = np.linspace(0.0, max(2 * found.asked.target.epsilon, 1.0), POINTS)
        return evolve(
            found,
            protection=Protection.of({**release.to_dict(), "attacker": attacker_figures(model, release)}),
            undefended_together=undefended_attack_accuracy(earlier.stack(model))
            if earlier is not None and earlier.releases
            else None,
            curves=telling_curves(model, noise),
            profile=Profile(
                epsilons=epsilons,
                without=_deltas(model, NoNoise(dimension=model.dimension), epsilons),
                published=_deltas(model, noise, epsilons),
            ),
            records=model.provenance.records,
        )

    @property
    def several(self) -> bool:
        """Whether more than this release counts."""
        if self.protection is None:
            return self.release.joint is not None and (self.release.position or 1) > 1
        return self.protection.several

    @property
    def about(self) -> str:
        """The words for what is about one release of several."""
        return ", from this release alone" if self.several else ""

    @property
    def modelled(self) -> float:
        """How often the best attacker is right with the noise if the statistics vary as modelled, at most.

        Noise never helps him, and what is promised holds whatever the model says.
        """
        assert self.protection is not None
        assert self.profile is not None
        return min(self.protection.undefended, (1 + float(self.profile.published[0])) / 2, self.protection.alone)

    @property
    def captions(self) -> tuple[str, str]:
        """What is said below the curves before and after noise."""
        assert self.protection is not None
        model = self.release.model
        drawn = ", if records are drawn as modelled" if model and model.provenance.drawing.robust is not None else ""
        return (
            "Published as they are, the numbers would tell the cases apart "
            f"{percent_at_most(self.protection.undefended)} of the time{drawn}.",
            f"As published{' by this release alone' if self.several else ''}, {percent_at_most(self.modelled)} of the "
            f"time{drawn}: the more the curves cover each other, the less can be told.",
        )


def _as_drawn(release: Release, name: str) -> ShownStatistic:
    ends = release.estimate_intervals[name]
    numbers = (release.values[name], *release.intervals[name], release.estimates[name], *ends)
    shown = [f"{number:.5g}" for number in (*numbers, release.public_means[name])]
    return ShownStatistic(
        name=name, what="", shown=shown[0], low=shown[1], high=shown[2],
        estimate=shown[3], estimate_low=shown[4], estimate_high=shown[5], public=shown[6],
    )  # fmt: skip


def _deltas(model: QueryModel, noise: NoiseLaw, epsilons: Floats) -> Floats:
    if noise.is_gaussian:
        return privacy_profile(model, noise, epsilons)
    return np.array([delta_upper_bound(model, noise, epsilon=float(epsilon)) for epsilon in epsilons])


def release_page(facts: Facts) -> Page:
    """Return the page of a release."""
    release, plan, protection = facts.release, facts.plan, facts.protection
    size = counted(len(release.values), "number")
    about = "" if facts.records is None else f" about {counted(facts.records, 'record')}"
    where = [f"release {release.position or 1}", (release.time or "")[:10]] if release.dataset else ["not in a ledger"]
    named = [] if facts.title is None or release.dataset is None else [release.dataset]
    joint = release.joint if facts.several else None
    return Page(
        released=True,
        title=facts.title
        or f"What was published{f' about {release.dataset}' * bool(release.dataset)}, and what stays hidden",
        subtitle=" · ".join([*named, *where, f"{size}{about}"]),
        notices=[*_verdicts(facts), *_misfit(release)],
        facts=_headline(facts),
        tables=[(_table(shown), HeatMap.of(shown)) for shown in facts.tables],
        numbers=_numbers(facts) if facts.statistics else None,
        definitions=[f"{each.name}: {each.what}" for each in facts.statistics if each.what],
        notes=_notes(facts),
        curves=case_curves(facts.curves, facts.captions) if facts.curves is not None else (),
        attacker=_attacker(facts),
        audited=_audited(facts) if facts.policy else None,
        joint=_joint(facts),
        proofs=[
            *([] if joint is None else [_proof(joint, "All releases together")]),
            _proof(release.certificate, "This release alone"),
        ],
        assumed=_assumed([each for each in (joint, release.certificate) if each is not None]),
        readings=None if protection is None or not protection.readings else _readings(protection),
        why="" if plan is None else _why(facts, plan),
        errors=None if plan is None else option_errors(plan),
        options=None if plan is None else options_table(plan, facts.about),
        others=[] if plan is None else other_ways(plan),
        profile=None if facts.profile is None else _privacy_profile(facts, facts.profile),
        policy=facts.policy,
        ledger=None if protection is None or protection.ledger is None else _ledger(protection),
        position=release.position,
        footer=facts.versions,
    )


def _verdicts(facts: Facts) -> list[Notice]:
    """Return whether all releases together keep their total, where there are several, and whether this one does."""
    release, protection = facts.release, facts.protection
    hidden = f"What is hidden: {' '.join(facts.hidden)}" if facts.hidden else ""
    alone = None if protection is None else protection.alone
    own = _verdict(release.certificate, facts.asked, alone, facts.about, "" if facts.several else hidden)
    if not facts.several or release.joint is None or facts.total is None:
        return [own]
    every = "all releases of this dataset" if protection is None else protection.all_of_them
    together = None if protection is None else protection.together
    return [_verdict(release.joint, facts.total, together, f", from {every} together", hidden), own]


def _verdict(certificate: Certificate, asked: Asked, most: float | None, about: str, hidden: str) -> Notice:
    certified = f"Certified is δ ≤ {_not_above(certificate)} at ε = {certificate.epsilon:g}."
    found = ""
    if most is not None:
        found = (
            f"With the noise that was added it is {percent_at_most(most)} at most, and of blind guesses 50 % are right."
        )
    text = " ".join(filter(None, (hidden, found, certified)))
    if certificate.holds:
        return Notice("good", f"The promise is kept: {asked.sentence}{about}.", text)
    return Notice("bad", f"The promise is NOT kept: {asked.sentence}{about}.", text)


def _not_above(certificate: Certificate) -> str:
    """Return δ in three digits; where it is within its limit, rounding does not take it above that."""
    rounded = float(f"{certificate.delta:.3g}")
    return f"{min(rounded, certificate.target.delta) if certificate.holds else rounded:.4g}"


def _misfit(release: Release) -> list[Notice]:
    """Return a warning where the answers are unlike anything that the reference leads one to expect."""
    if release.fit.fits:
        return []
    return [Notice("bad", "The estimates lean on a reference that does not fit.", release.fit.sentence)]


def _headline(facts: Facts) -> list[Fact]:
    """Return what an attacker gets, and what the numbers are worth."""
    protection, bare, plan = facts.protection, facts.undefended_together, facts.plan
    if protection is None:
        return []
    found = []
    if protection.several:
        known = bare is not None and bare >= protection.together
        found.append(
            Fact(
                f"at most {protection.headline}",
                f"of an attacker's guesses are right, from {protection.all_of_them} together",
                f"without any noise it would be {percent_at_most(bare)}" if bare and known else "this is promised",
            )
        )
    found += [
        Fact(
            f"at most {percent_at_most(protection.alone)}",
            f"of an attacker's guesses are right, by any method{facts.about}",
            "this is promised; of blind guesses 50 % are right",
        ),
        Fact(
            f"{percent_at_most(protection.undefended)} → {percent_at_most(facts.modelled)}",
            f"of the best attacker's guesses are right if the statistics vary as modelled{facts.about}",
            "without and with the noise",
        ),
    ]
    if plan is not None:
        public, estimate = (
            _together(plan, each) for each in (facts.release.public_errors, facts.release.estimate_errors)
        )
        found.append(
            Fact(
                f"{public:.3g} → {estimate:.3g}",
                "error of all numbers together",
                "of what was public before, and of the estimates now",
            )
        )
    return found


def _together(plan: Plan, errors: Mapping[str, float]) -> float:
    """Return the error of all numbers together, weighted as the plan weighs them."""
    each = np.array([errors[name] for name in plan.model.names])
    return float(np.sqrt(plan.weights @ each**2))


def _table(shown: ReleasedTable) -> Table:
    """Return a released table with the sums of its rows and columns, where it has some."""
    names, rows = _in_whole_numbers(shown) if shown.table.what == "count" else shown.in_words()
    labels = len(shown.table.by) - 1
    return Table(
        header=names,
        rows=[[*row[:-1], Cell(row[-1], "strong" if shown.table.adds_up else "")] for row in rows],
        align="l" * labels + "r" * (len(names) - labels),
        caption=f"{shown.name}: {shown.table.text}.",
    )


def _in_whole_numbers(shown: ReleasedTable) -> tuple[list[str], list[list[str]]]:
    """Return a table of counts in whole numbers that add up; intervals grow by what rounding takes."""
    cells = whole_parts([float(row["estimate"] or 0.0) for row in shown.rows])
    rounded = [{**row, "estimate": float(cell)} for row, cell in zip(shown.rows, cells, strict=True)]
    names, rows = evolve(shown, rows=tuple(rounded)).wide()
    labels, across = len(shown.table.by) - 1, shown.table.shape[-1]
    halves = [
        ceil(((row["high"] or 0.0) - (row["low"] or 0.0)) / 2 + abs(cell - (row["estimate"] or 0.0)) - TINY)
        for row, cell in zip(shown.rows, cells, strict=True)
    ]
    lines = []
    for place, row in enumerate(rows):
        line = [str(label) for label in row[:labels]]
        for column, value in enumerate(row[labels:]):
            number = place * across + column
            half = halves[number] if column < across and number < len(halves) else 0
            line.append(f"{round(value):,} ± {half:,}" if half else f"{round(value):,}")
        lines.append(line)
    return names, lines


def whole_parts(parts: Sequence[float]) -> list[int]:
    """Return whole numbers, none off by one or more, whose sum is that of the parts rounded: largest remainders first.

    >>> whole_parts([29.4, 70.6]), whole_parts([0.5, 0.5, 0.0])
    ([29, 71], [1, 0, 0])
    """
    low = [floor(part) for part in parts]
    left = round(sum(parts)) - sum(low)
    first = sorted(range(len(parts)), key=lambda place: low[place] - parts[place])[: max(left, 0)]
    return [number + (place in first) for place, number in enumerate(low)]


def _numbers(facts: Facts) -> Table:
    """Return the numbers that are in no table: what to read first stands first, and stands out."""
    titles = ["estimate", "noisy value"]
    rows: list[list[Cell | str]] = []
    for shown in facts.statistics:
        pairs = [
            (shown.estimate, f"{shown.estimate_low} to {shown.estimate_high}"),
            (shown.shown, f"{shown.low} to {shown.high}"),
        ]
        (first, around), second = pairs if facts.release.fit.fits else pairs[::-1]
        rows.append([shown.name, Cell(first, "strong"), around, *second, shown.public])
    return Table(
        header=[
            "number",
            *(title for kind in titles[:: 1 if facts.release.fit.fits else -1] for title in (kind, "95 % interval")),
            "public mean",
        ],
        rows=rows,
        align="lrrrrr",
        caption="Published numbers. A noisy value is the true one with noise added on purpose; an estimate is the "
        "best guess from all noisy values and what is public; the public mean is what was known without them.",
    )


def _notes(facts: Facts) -> list[str]:
    shown = (
        "Counts are shown as whole numbers that are possible, and shares between 0 and 1. The numbers as they were "
        "drawn are in release.json. Asked again, the same question gets the same answer, so that nobody can "
        "average the noise away."
    )
    return [
        *([IN_TABLES] if facts.tables else []),
        ASSUMES,
        f"{facts.release.fit.sentence} A true number is in the interval of its noisy value with a probability of "
        "95 %, and in that of its estimate with 95 % on average over the protected cases.",
        *([shown] if facts.policy else []),
    ]


def _attacker(facts: Facts) -> list[str]:
    if facts.protection is None:
        return []
    certificate = facts.release.joint or facts.release.certificate
    return [
        *facts.protection.sentences,
        f"To believe this one has to believe {BELIEVED[certificate.trust]}.",
        "It is about what these numbers say of the protected cases. It does not stop anyone from learning them "
        "elsewhere, and it is not about single persons.",
    ]


def _audited(facts: Facts) -> Audited:
    audit = facts.audit
    if audit is None:
        return Audited(
            notice=Notice("note", "No audit is part of this report.", "distpriv audit POLICY --bundle DIR adds one.")
        )
    finding = _begun(audit.finding)
    return Audited(
        notice=Notice(
            "bad" if audit.failed else "good",
            f"Audit {'FAILED' if audit.failed else 'passed'}.",
            f"Of this release alone. {finding}" if facts.several else finding,
        ),
        table=Table(
            header=["attack", "right without noise", "right with it", "proves ε of at least"],
            rows=[
                [a.name, _measure(a.undefended), _measure(a.defended), f"{a.epsilon_lower_bound:.3g}"]
                for a in audit.attacks
            ],
            caption=f"Attacks on {counted(audit.releases, 'simulated release')}; at most "
            f"{percent_at_most(audit.attack_accuracy_ceiling)} is promised{facts.about}. {_begun(audit.populations)}.",
            align="lrrr",
        ),
        note=_tolerance(audit),
    )


def _measure(found: Measures) -> str:
    low, high = found.interval
    return f"{found.accuracy:.1%} ± {50 * (high - low):.1f}".replace("%", " %")


def _tolerance(audit: AuditReport) -> str:
    """Return how figures that were measured are to be held against one that is promised."""
    promised, best = audit.attack_accuracy_ceiling, max(audit.attacks, key=lambda a: a.accuracy)
    rule = (
        f"± is how far a measured figure may be off by chance, at {100 * audit.confidence:g} % confidence. An audit "
        "fails where all figures together rule out what is promised at that confidence"
    )
    if audit.failed or best.accuracy <= promised:
        return f"{rule}."
    return (
        f"{rule}: {best.name} was right {_measure(best.defended)} of the time, above {percent_at_most(promised)} by no "
        "more than chance explains."
    )


def _joint(facts: Facts) -> Notice | None:
    joint, protection = facts.release.joint, facts.protection
    if joint is None or protection is None:
        return None
    before = "the first release of this dataset"
    if protection.several:
        before = f"release {protection.position}, certified as one with {protection.all_of_them}"
    return Notice(
        "good" if joint.holds else "bad",
        f"All releases together: δ ≤ {joint.delta:.3g} at ε = {joint.epsilon:g}.",
        f"The total allows δ = {joint.target.delta:g} at ε = {joint.target.epsilon:g}. This is {before}. What one "
        "release says can add to what another says, so all of them are held to one total.",
    )


def _proof(certificate: Certificate, title: str) -> Proof:
    """Return what follows, and what was found to hold on the reference."""
    sure = [each for each in certificate.assumptions if each.status != "assumed"]
    return Proof(
        title=f"{title}, by {certificate.theorem}",
        law=None if certificate.law is None else certificate.law.sentence,
        points=[f"{each.status}: {_sentence(each)}" for each in sure],
    )


def _assumed(certificates: Iterable[Certificate]) -> list[str]:
    """Return what nobody can check, the assumptions of all certificates once each."""
    believed = (a for each in certificates for a in each.assumptions if a.status == "assumed")
    return list(dict.fromkeys(map(_sentence, believed)))


def _sentence(assumption: Assumption) -> str:
    evidence = f" {_begun(assumption.evidence)}." if assumption.evidence else ""
    return f"{assumption.statement}.{evidence}"


def _begun(text: str) -> str:
    """Return text that begins a sentence."""
    return text[:1].upper() + text[1:]


def _readings(protection: Protection) -> Table:
    return Table(
        header=["number", "values are held within", "a missing value counts as"],
        rows=[[reading.statistic, reading.within, reading.otherwise] for reading in protection.readings],
        caption="How a row of the private table is read. This comes from the policy and from public rows alone, and is "
        "part of what was published: a value outside counts as the nearest one inside.",
        align="lrr",
    )


def _why(facts: Facts, plan: Plan) -> str:
    """Return why this noise was used: as the best of all, or since it was fixed before."""
    used = facts.release.mechanism.name
    least = "estimates have the least error" if plan.objective == "estimate" else "noise is least"
    chosen = (
        f"Published with {used}. Of all ways to add noise that keep the target at trust {plan.trust}, the one whose "
        f"{least} is taken."
    )
    if facts.fixed:
        chosen = (
            f"Published with {used}, whose noise is fixed since the question was declared or answered: below is what "
            "could be planned today."
        )
    worth = "What a release is worth is what it adds to the public mean, which can be printed without it."
    return " ".join(filter(None, (chosen, worth, hardly_worth(plan))))


def _privacy_profile(facts: Facts, profile: Profile) -> Picture:
    caption = (
        f"Privacy against ε{facts.about}, for statistics that follow a bell curve: δ is how often an answer may make "
        "one case more than e^ε times as likely as the other. The lower the curve, the less the numbers say. A proven "
        "bound where the noise is not Gaussian."
    )
    return profile_curves(profile, facts.release.certificate.target, caption)


def _ledger(protection: Protection) -> Table:
    """Return where the release stands in its ledger, so that a ledger that was set back is found out."""
    assert protection.ledger is not None
    return Table(
        header=["ledger", "entry", "digest of the entry"],
        rows=[[str(protection.ledger[key]) for key in ("id", "number", "head")]],
        caption="Where this release stands in its ledger. All entries before it are part of the digest.",
        align="lrl",
    )
