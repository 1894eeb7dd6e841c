"""The page of a release for those who have to decide about it: what is said, what stays hidden, how sure that is."""

from collections.abc import Iterator, Sequence

from attrs import field, frozen

from distpriv.auditing.report import AuditReport
from distpriv.framework.arrays import Floats, array_field
from distpriv.guarantees.certificate import Certificate
from distpriv.modelling.public_knowledge import ASSUMES
from distpriv.planning.option import Option
from distpriv.planning.plan import Plan
from distpriv.planning.table import hardly_worth
from distpriv.releasing.release import Release
from distpriv.report.figures import Axis, Bar, Series, bars, lines
from distpriv.report.page import Block, Bullets, Cell, Code, Fact, Figure, KeyFacts, Notice, Page, Prose, Section, Table
from distpriv.report.protection import QUESTIONS, Protection, percent_at_most

__all__ = ["BoardFacts", "ShownStatistic", "board_page"]

TRUST = {
    "sampling": "only that the data were drawn as the policy says",
    "gaussian": "that the data were drawn as the policy says, and that the statistics vary from dataset to dataset as "
    "a bell curve does",
    "assumed": "everything listed as assumed below, which the data may contradict",
}
MOST_BARS = 12
PUBLIC = "public mean, no release"


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

    dataset: str
    records: int
    release: Release
    plan: Plan
    statistics: Sequence[ShownStatistic]
    public_error: float
    """The error of the public means, all numbers together, weighted as the plan weighs them."""
    estimate_error: float
    """That of the estimates."""
    hidden: Sequence[str]
    """What is protected, a sentence each."""
    protection: Protection
    """What an attacker gets, from all releases and from this one alone."""
    epsilons: Floats = array_field()
    deltas_without: Floats = array_field()
    deltas_with: Floats = array_field()
    audit: AuditReport | None = field(default=None, repr=False)
    policy: str = field(repr=False)
    versions: str


def board_page(facts: BoardFacts) -> Page:
    """Return the page."""
    release = facts.release
    return Page(
        title=f"What was published about {facts.dataset}, and what stays hidden",
        subtitle=f"release {release.position} · {(release.time or '')[:10]} · {len(facts.statistics)} numbers about "
        f"{facts.records:,} records",
        blocks=[
            *_verdicts(release, facts.protection),
            *_misfit(release),
            _key_facts(facts),
            Section("What was published", *_published(facts)),
            Section("What stays hidden", Bullets(*facts.hidden)),
            Section("What an attacker can and cannot do", *_attacker(facts)),
            Section("What it cost, and what else was possible", *_options(facts)),
            Section("What this rests on", *_certificates(facts)),
            Section("Under attack", *_audit(facts)),
            Section("How to check it", *_how_to_check(facts)),
        ],
        footer=facts.versions,
    )


def _verdicts(release: Release, protection: Protection) -> Iterator[Notice]:
    """Yield whether all releases together keep their total, where there are several, and then whether this one does."""
    own = release.certificate
    if not protection.several or release.joint is None:
        yield _verdict(own, "The promise that was asked for is")
        return
    yield _verdict(release.joint, f"The total that was set for {protection.all_of_them} together is")
    yield _verdict(own, "The promise that was asked for of this release alone is")


def _misfit(release: Release) -> Iterator[Notice]:
    """Yield a warning where the answers are unlike anything that the reference leads one to expect."""
    if not release.fit.fits:
        yield Notice("bad", "The estimates lean on a reference that does not fit.", release.fit.sentence)


def _verdict(certificate: Certificate, what: str) -> Notice:
    promise = f"ε = {certificate.epsilon:g} and δ = {certificate.delta:.3g}, where δ = {certificate.target.delta:g} was"
    if certificate.holds:
        return Notice("good", f"{what} kept.", f"{promise} allowed.")
    return Notice("bad", f"{what} NOT kept.", f"{promise} allowed.")


def _key_facts(facts: BoardFacts) -> KeyFacts:
    protection = facts.protection
    before, after = f"{100 * protection.undefended:.0f} %", percent_at_most(protection.alone)
    if not protection.several:
        attacker = [Fact(f"{before} → {after}", "how often the best attacker is right", "50 % is a guess")]
    else:
        attacker = [
            Fact(
                f"at most {protection.headline}",
                f"how often the best attacker is right, from {protection.all_of_them} together",
                "50 % is a guess",
            ),
            Fact(f"{before} → {after}", "from this release alone", "without and with its noise"),
        ]
    return KeyFacts(
        *attacker,
        Fact(
            f"{facts.public_error:.3g} → {facts.estimate_error:.3g}",
            "error of all numbers together",
            "of what was public before, and of the estimates now",
        ),
        Fact(f"{len(facts.statistics)}", "numbers published", f"about {facts.records:,} records"),
        Fact(f"no. {protection.position}", "among the releases of this dataset"),
    )


def _published(facts: BoardFacts) -> list[Block]:
    fits = facts.release.fit.fits
    titles = ["estimate", "noisy value"] if fits else ["noisy value", "estimate"]
    return [
        Table(
            header=["number", *(title for kind in titles for title in (kind, "95 % interval")), "public mean"],
            rows=[_number_row(statistic, noisy_first=not fits) for statistic in facts.statistics],
            align="lrrrrr",
            caption="Published numbers. A noisy value is the true one with noise added on purpose; an estimate is the "
            "best guess from all noisy values and what is public; the public mean is what was known without them.",
        ),
        Bullets(*(f"{statistic.name}: {statistic.what}" for statistic in facts.statistics)),
        Prose(
            ASSUMES,
            f"{facts.release.fit.sentence} A true number is in the interval of its noisy value with a probability of "
            "95 %, and in that of its estimate with 95 % on average over the protected cases.",
        ),
        Prose(
            "Counts are shown as whole numbers that are possible, and shares between 0 and 1. The numbers as they were "
            "drawn are in release.json. Asked again, the same question gets the same answer, so that nobody can "
            "average the noise away."
        ),
    ]


def _number_row(shown: ShownStatistic, *, noisy_first: bool) -> list[Cell | str]:
    """Return the cells of a number: what to read first stands first, and stands out."""
    noisy = (shown.shown, f"{shown.low} to {shown.high}")
    estimate = (shown.estimate, f"{shown.estimate_low} to {shown.estimate_high}")
    (first, around), second = (noisy, estimate) if noisy_first else (estimate, noisy)
    return [shown.name, Cell(first, "strong"), around, *second, shown.public]


def _attacker(facts: BoardFacts) -> list[Block]:
    release, protection = facts.release, facts.protection
    certificate = release.certificate if release.joint is None else release.joint
    return [
        Bullets(
            *protection.sentences,
            f"To believe this one has to believe {TRUST[certificate.trust]}.",
            "It is about what these numbers say of the protected cases. It does not stop anyone from learning them "
            "elsewhere, and it is not about single persons.",
        ),
        _profile(facts),
    ]


def _this_release(facts: BoardFacts) -> str:
    """Return the words for what is about one release of several."""
    return "" if not facts.protection.several else ", from this release alone"


def _profile(facts: BoardFacts) -> Figure:
    shown = [
        Series(name, facts.epsilons[deltas > 1e-9], deltas[deltas > 1e-9], markers=False)
        for name, deltas in (("without noise", facts.deltas_without), ("as published", facts.deltas_with))
        if (deltas > 1e-9).any()
    ]
    target = facts.release.certificate.target
    if target.delta > 0:
        shown.append(Series("what was asked for", [target.epsilon], [target.delta]))
    return lines(
        "trade-off",
        shown,
        x=Axis("ε, how much more likely an answer may make one case", unit=None),
        y=Axis("δ, how often it may say more than that", unit="probability", log=True),
        caption=f"Privacy against ε{_this_release(facts)}, for statistics that follow a bell curve: the lower the "
        "curve, the less the numbers say. A proven bound where the noise is not Gaussian.",
        alt=f"δ falls as ε grows; at ε = 0 it is {facts.deltas_with[0]:.2g} with noise, and "
        f"{facts.deltas_without[0]:.2g} without.",
    )


def _options(facts: BoardFacts) -> list[Block]:
    plan, used = facts.plan, facts.release.mechanism.name
    attacker = f"attacker at most{_this_release(facts)}"
    public: list[Cell | str] = [PUBLIC, "", f"{plan.public_error:.4g}", "0%", "0", Cell("yes", "good"), "", "50%"]
    rows = [public, *(_option_row(option) for option in plan.options)]
    chosen = next((k for k, option in enumerate(plan.options, start=1) if option is plan.chosen), None)
    error = [Bar(PUBLIC, plan.public_error, f"{plan.public_error:.3g}", holds=True)] + [
        Bar(option.name, option.estimate_error, f"{option.estimate_error:.3g}", holds=option.may_be_used(plan.trust))
        for option in plan.options[: MOST_BARS - 1]
    ]
    least = "estimates have the least error" if plan.objective == "estimate" else "noise is least"
    blocks: list[Block] = [
        Prose(f"Published with {used}. Of all ways to add noise that keep the promise, the one whose {least} is taken. "
              "What a release is worth is what it adds to the public mean, which can be printed without it."),
    ]  # fmt: skip
    if (warning := hardly_worth(plan)) is not None:
        blocks.append(Prose(warning))
    if plan.options:
        blocks.append(
            bars(
                "errors",
                error,
                x=Axis(
                    "error of the estimates: root mean square over all numbers",
                    unit="their own units, weighted as asked",
                ),
                rows="way to add noise",
                legend="error of the estimates after one release",
                hollow=f"hollow: does not keep the promise at trust {plan.trust}",
                caption="How far off the estimates would be with each way, and without a release.",
                alt="; ".join(f"{bar.name}: {bar.value:.3g}" for bar in error),
            )
        )
        blocks.append(
            Table(
                header=[
                    "way to add noise",
                    "noise",
                    "estimates",
                    "information",
                    "δ at this ε",
                    "keeps the target",
                    "trust",
                    attacker,
                ],
                rows=rows,
                align="lrrrrclr",
                caption=f"All ways side by side, for ε = {plan.target.epsilon:g} and δ = {plan.target.delta:g}.",
                chosen=chosen,
            )
        )
    if plan.skipped:
        blocks.append(Bullets(*(f"{skipped.name} was not tried: {skipped.reason}" for skipped in plan.skipped)))
    if plan.refusals:
        blocks.append(Bullets(*(f"{refusal.name} does not apply: {refusal.reason}" for refusal in plan.refusals)))
    return blocks


def _option_row(option: Option) -> list[Cell | str]:
    certificate = option.mechanism.certificate
    return [
        option.name,
        f"{option.error:.4g}",
        f"{option.estimate_error:.4g}",
        f"{option.information:.0%}",
        f"{'≤ ' if option.delta_is == 'bound' and certificate.delta else ''}{certificate.delta:.2g}",
        Cell("yes", "good") if certificate.holds else Cell("no", "fails"),
        certificate.trust,
        percent_at_most(option.attack_accuracy),
    ]


def _certificates(facts: BoardFacts) -> Iterator[Block]:
    release = facts.release
    if release.joint is not None:
        yield from _joint(release.joint, facts.protection)
    yield from _assumptions(release.certificate, "This release alone")
    yield Prose(f"How later questions are covered: {QUESTIONS[facts.protection.questions]}")
    if facts.protection.readings:
        yield _readings(facts.protection)


def _joint(joint: Certificate, protection: Protection) -> Iterator[Block]:
    before = "the first release of this dataset"
    if protection.several:
        before = f"release {protection.position}, certified as one with {protection.all_of_them}"
    yield Notice(
        "good" if joint.holds else "bad",
        f"All releases together: δ ≤ {joint.delta:.3g} at ε = {joint.epsilon:g}.",
        f"The total allows δ = {joint.target.delta:g} at ε = {joint.target.epsilon:g}. This is {before}. What one "
        "release says can add to what another says, so all of them are held to one total.",
    )
    if protection.several:
        yield from _assumptions(joint, "All releases together")


def _readings(protection: Protection) -> Table:
    return Table(
        header=["number", "values are held within", "a missing value counts as"],
        rows=[[reading.statistic, reading.within, reading.otherwise] for reading in protection.readings],
        caption="How a row of the private table is read. This comes from the policy and from public rows alone, and is "
        "part of what was published: a value outside counts as the nearest one inside.",
    )


def _assumptions(certificate: Certificate, title: str) -> Iterator[Block]:
    yield Prose(
        f"{title}, by {certificate.theorem}: what was proved, what was checked on the data, and what has to be "
        "believed."
    )
    if certificate.law is not None:
        yield Prose(certificate.law.sentence)
    yield Bullets(*(f"{a.status}: {a.statement}" + (f". {_begun(a.evidence)}." if a.evidence else ".")
                    for a in certificate.assumptions))  # fmt: skip


def _begun(text: str) -> str:
    """Return text that begins a sentence."""
    return text[:1].upper() + text[1:]


def _audit(facts: BoardFacts) -> list[Block]:
    audit, several = facts.audit, facts.protection.several
    if audit is None:
        return [Notice("note", "No audit is part of this report.", "distpriv audit POLICY --bundle DIR adds one.")]
    verdict = _begun(audit.finding)
    rows = [
        [a.name, f"{a.undefended.accuracy:.1%}", f"{a.accuracy:.1%}", f"{a.epsilon_lower_bound:.3g}"]
        for a in audit.attacks
    ]
    return [
        Notice(
            "bad" if audit.failed else "good",
            f"Audit {'FAILED' if audit.failed else 'passed'}.",
            f"Of this release alone. {verdict}" if several else verdict,
        ),
        Table(
            header=["attack", "right without noise", "right with it", "proves ε of at least"],
            rows=rows,
            caption=f"Attacks on {audit.releases:,} simulated releases; at most "
            f"{percent_at_most(audit.attack_accuracy_ceiling)} is promised{_this_release(facts)}. "
            f"{_begun(audit.populations)}.",
        ),
    ]


def _how_to_check(facts: BoardFacts) -> list[Block]:
    return [
        Prose("Everything that the promise rests on is in release.json. Anyone can recompute it:"),
        Code("distpriv verify release.json"),
        *_ledger(facts.protection),
        Prose("What was asked for, with nothing of where private things are:"),
        Code(facts.policy),
    ]


def _ledger(protection: Protection) -> Iterator[Block]:
    """Yield where the release stands in its ledger, so that a ledger that was set back is found out."""
    if protection.ledger is None:
        return
    yield Prose(
        "The release was written to a ledger before it was shown. A ledger that does not have the entry below at its "
        "place was set back, emptied or exchanged. Whoever may read it can hold it against this bundle:"
    )
    yield Code("distpriv verify release.json --ledger URL")
    yield Table(
        header=["ledger", "entry", "digest of the entry"],
        rows=[[str(protection.ledger[key]) for key in ("id", "number", "head")]],
        caption="Where this release stands in its ledger. All entries before it are part of the digest.",
        align="lrl",
    )
