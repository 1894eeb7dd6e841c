"""What the page of a plan says, and that of a release: the only place that words results for it."""

from collections.abc import Mapping, Sequence
from math import ceil, floor

import numpy as np
from attrs import evolve, field, frozen

from distpriv._version import __version__
from distpriv.auditing.measures import Measures
from distpriv.auditing.report import AuditReport
from distpriv.framework.arrays import Floats
from distpriv.guarantees.certificate import Certificate
from distpriv.guarantees.exact_delta import privacy_profile
from distpriv.guarantees.upper_bound import delta_upper_bound
from distpriv.modelling.model import QueryModel
from distpriv.modelling.public_knowledge import ASSUMES, HALF_WIDTH
from distpriv.modelling.telling_curves import telling_curves
from distpriv.noise.laws import NoiseLaw, NoNoise
from distpriv.planning.plan import Plan
from distpriv.planning.table import errors_are, hardly_worth, summary
from distpriv.releasing.attackers import attacker_figures
from distpriv.releasing.released import IN_TABLES, Release
from distpriv.releasing.released_tables import ReleasedTable
from distpriv.report.figures import Picture, Profile, case_curves, option_errors, profile_curves
from distpriv.report.options import options_table, other_ways
from distpriv.report.page import Audited, Cell, Fact, Notice, Page, Table
from distpriv.report.protection import Asked, Protection, percent_at_most
from distpriv.report.text import begun, counted

__all__ = ["Facts", "ShownStatistic", "plan_page", "release_page", "would_see"]

POINTS = 9  # of the privacy profile; a bound for Laplace noise takes its time
TINY = 1e-9  # what rounding may add to half of an interval

ALONE = "This release alone"
MISFIT = "The estimates lean on a reference that does not fit."

BELIEVED = {
    "proved": "only that the data were drawn as the policy says",
    "checked": "that the data were drawn as the policy says, and that the statistics vary from dataset to dataset as "
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
    noise = chosen.mechanism.noise
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
        certificates={ALONE: chosen.mechanism.certificate},
    )


def would_see(
    model: QueryModel, noise: NoiseLaw, undefended: float, most: float, about: str = ""
) -> tuple[Picture, ...]:
    """Return what an attacker sees before and after noise; nothing where the statistics give all away."""
    found = telling_curves(model, noise)
    if found is None:
        return ()
    drawn = ", if records are drawn as modelled" if model.provenance.drawing.robust is not None else ""
    captions = (
        f"Published as they are, the numbers tell the cases apart {percent_at_most(undefended)} of the time{drawn}.",
        f"With the noise{about}, {percent_at_most(min(undefended, most))} of the time at most{drawn}: the more the "
        "curves cover each other, the less can be told.",
    )
    return case_curves(found, captions)


@frozen(kw_only=True)
class ShownStatistic:
    """One released number as a reader is to see it."""

    name: str
    what: str = ""
    """Its definition; empty where that is not known."""
    noisy: tuple[str, str]
    """With its noise, as a possible number, and its interval."""
    estimate: tuple[str, str]
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
    model: QueryModel | None = field(default=None, repr=False)
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
        epsilons = np.linspace(0.0, max(2 * found.asked.target.epsilon, 1.0), POINTS)
        return evolve(
            found,
            protection=Protection.of({**release.to_dict(), "attacker": attacker_figures(model, release)}),
            model=model,
            profile=Profile(
                epsilons=epsilons,
                without=_deltas(model, NoNoise(dimension=model.dimension), epsilons),
                published=_deltas(model, release.mechanism.noise, epsilons),
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


def _as_drawn(release: Release, name: str) -> ShownStatistic:
    both = (release.values, release.intervals), (release.estimates, release.estimate_intervals)
    noisy, estimate = ((f"{values[name]:.5g}", "{:.5g} to {:.5g}".format(*ends[name])) for values, ends in both)
    return ShownStatistic(name=name, noisy=noisy, estimate=estimate, public=f"{release.public_means[name]:.5g}")


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
        notices=[*_verdicts(facts), *([] if release.fit.fits else [Notice("bad", MISFIT, release.fit.sentence)])],
        facts=_headline(facts),
        tables=[(_table(shown), shown) for shown in facts.tables],
        numbers=_numbers(facts) if facts.statistics else None,
        definitions=[f"{each.name}: {each.what}" for each in facts.statistics if each.what],
        notes=[*([IN_TABLES] if facts.tables else []), ASSUMES, release.fit.sentence],
        curves=_seen(facts),
        attacker=_attacker(facts),
        audited=_audited(facts) if facts.policy else None,
        certificates={**({} if joint is None else {"All releases together": joint}), ALONE: release.certificate},
        readings=() if protection is None else protection.readings,
        why="" if plan is None else _why(facts, plan),
        errors=None if plan is None else option_errors(plan),
        options=None if plan is None else options_table(plan, facts.about),
        others=[] if plan is None else other_ways(plan),
        profile=None if facts.profile is None else _privacy_profile(facts, facts.profile),
        policy=facts.policy,
        ledger=release.ledger,
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
    said = [hidden] if hidden else []
    if most is not None:
        most_often = percent_at_most(most)
        said.append(f"With the noise that was added it is {most_often} at most, and of blind guesses 50 % are right.")
    text = " ".join([*said, f"Certified is δ ≤ {_not_above(certificate)} at ε = {certificate.epsilon:g}."])
    if certificate.holds:
        return Notice("good", f"The promise is kept: {asked.sentence}{about}.", text)
    return Notice("bad", f"The promise is NOT kept: {asked.sentence}{about}.", text)


def _not_above(certificate: Certificate) -> str:
    """Return δ in three digits; where it is within its limit, rounding does not take it above that."""
    rounded = float(f"{certificate.delta:.3g}")
    return f"{min(rounded, certificate.target.delta) if certificate.holds else rounded:.4g}"


def _headline(facts: Facts) -> list[Fact]:
    """Return what an attacker gets, from all releases first, and what the numbers are worth."""
    protection, release, plan = facts.protection, facts.release, facts.plan
    if protection is None:
        return []
    right, note = "of the best attacker's guesses are right", "of blind guesses 50 % are right"
    found = []
    if protection.several:
        most = percent_at_most(protection.together)
        found.append(Fact(f"at most {most}", f"{right}, from {protection.all_of_them} together", note))
    pair = f"{percent_at_most(protection.undefended)} → {percent_at_most(facts.modelled)}"
    about = f"{right} without and with the noise, if the statistics vary as modelled{facts.about}"
    found.append(Fact(pair, about, note))
    if plan is not None:
        public, estimate = (_together(plan, each) for each in (release.public_errors, release.estimate_errors))
        removed = 1 - (estimate / public) ** 2 if public > 0 else 0.0
        worth = f"their errors over all statistics are counted{errors_are(plan) or ' in the units of the statistics'}"
        found.append(Fact(f"{removed:.0%}", "of the public uncertainty is removed by the estimates", worth))
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
    step = 1 if facts.release.fit.fits else -1
    rows: list[list[Cell | str]] = []
    for shown in facts.statistics:
        (first, around), second = (shown.estimate, shown.noisy)[::step]
        rows.append([shown.name, Cell(first, "strong"), around, *second, shown.public])
    return Table(
        header=[
            "number",
            *(title for kind in ("estimate", "noisy value")[::step] for title in (kind, "95 % interval")),
            "public mean",
        ],
        rows=rows,
        align="lrrrrr",
        caption="Published numbers. A noisy value is the true one with noise added on purpose; an estimate is the "
        "best guess from all noisy values and what is public; the public mean is what was known without them.",
    )


def _seen(facts: Facts) -> tuple[Picture, ...]:
    if facts.model is None or facts.protection is None:
        return ()
    noise, undefended = facts.release.mechanism.noise, facts.protection.undefended
    return would_see(facts.model, noise, undefended, facts.modelled, facts.about)


def _attacker(facts: Facts) -> list[str]:
    if facts.protection is None:
        return []
    certificate = facts.release.joint or facts.release.certificate
    return [*facts.protection.sentences, f"To believe this one has to believe {BELIEVED[certificate.assurance]}."]


def _audited(facts: Facts) -> Audited:
    audit = facts.audit
    if audit is None:
        return Audited(
            notice=Notice("note", "No audit is part of this report.", "distpriv audit POLICY --bundle DIR adds one.")
        )
    finding = begun(audit.finding)
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
            f"{percent_at_most(audit.attack_accuracy_ceiling)} is promised{facts.about}. {begun(audit.populations)}.",
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


def _why(facts: Facts, plan: Plan) -> str:
    """Return why this noise was used: as the best of all, or since it was fixed before."""
    used = facts.release.mechanism.name
    least = "estimates have the least error" if plan.objective == "estimate" else "noise is least"
    chosen = (
        f"Published with {used}. Of all ways to add noise that keep the target at assurance {plan.assurance}, the one "
        f"whose {least} is taken."
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
