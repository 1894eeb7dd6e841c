"""The page of a release for those who have to decide about it: what is said, what stays hidden, how sure that is."""

from collections.abc import Iterator, Sequence

from attrs import field, frozen

from distpriv.auditing.report import AuditReport
from distpriv.framework.arrays import Floats, array_field
from distpriv.guarantees.certificate import Certificate
from distpriv.planning.option import Option
from distpriv.planning.plan import Plan
from distpriv.releasing.release import Release
from distpriv.report.figures import Axis, Bar, Series, bars, lines
from distpriv.report.page import Block, Bullets, Cell, Code, Fact, Figure, KeyFacts, Notice, Page, Prose, Section, Table

__all__ = ["BoardFacts", "ShownStatistic", "board_page"]

TRUST = {
    "sampling": "only that the data were drawn as the policy says",
    "gaussian": "that the data were drawn as the policy says, and that the statistics vary from dataset to dataset as "
    "a bell curve does",
    "assumed": "everything listed as assumed below, which the data may contradict",
}
MOST_BARS = 12


@frozen(kw_only=True)
class ShownStatistic:
    """One released number as a reader is to see it."""

    name: str
    what: str
    shown: str
    low: str
    high: str


@frozen(kw_only=True)
class BoardFacts:
    """Everything that the page says; it computes nothing."""

    dataset: str
    records: int
    release: Release
    plan: Plan
    statistics: Sequence[ShownStatistic]
    hidden: Sequence[str]
    """What is protected, a sentence each."""
    undefended: float
    """How often the best attacker is right without noise."""
    at_most: float
    """How often he is right at most, with the noise of the release."""
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
            _verdict(release.certificate),
            _key_facts(facts),
            Section("What was published", *_published(facts)),
            Section("What stays hidden", Bullets(*facts.hidden)),
            Section("What an attacker can and cannot do", *_attacker(facts)),
            Section("What it cost, and what else was possible", *_options(facts)),
            Section("What this rests on", *_certificates(facts)),
            Section("Under attack", *_audit(facts.audit)),
            Section("How to check it", *_how_to_check(facts)),
        ],
        footer=facts.versions,
    )


def _verdict(certificate: Certificate) -> Notice:
    promise = f"ε = {certificate.epsilon:g} and δ = {certificate.delta:.3g}, where δ = {certificate.target.delta:g} was"
    if certificate.holds:
        return Notice("good", "The promise that was asked for is kept.", f"{promise} allowed.")
    return Notice("bad", "The promise that was asked for is NOT kept.", f"{promise} allowed.")


def _key_facts(facts: BoardFacts) -> KeyFacts:
    return KeyFacts(
        Fact(
            f"{facts.undefended:.0%} → {facts.at_most:.0%}", "how often the best attacker is right", "50 % is a guess"
        ),
        Fact(f"{len(facts.statistics)}", "numbers published", f"about {facts.records:,} records"),
        Fact(f"no. {facts.release.position}", "among the releases of this dataset"),
    )


def _published(facts: BoardFacts) -> list[Block]:
    rows: list[list[Cell | str]] = [
        [s.name, Cell(s.shown, "strong"), f"{s.low} to {s.high}", s.what] for s in facts.statistics
    ]
    return [
        Table(
            header=["number", "published", "95 % interval", "what it is"],
            rows=rows,
            align="lrrl",
            caption="Published numbers. Each has noise added on purpose; the true one is in its interval with a "
            "probability of 95 %.",
        ),
        Prose(
            "Counts are shown as whole numbers that are possible, and shares between 0 and 1. The numbers as they were "
            "drawn are in release.json. Asked again, the same question gets the same answer, so that nobody can "
            "average the noise away."
        ),
    ]


def _attacker(facts: BoardFacts) -> list[Block]:
    certificate = facts.release.certificate
    return [
        Bullets(
            f"Without noise, someone who knows everything else, and wonders which of two protected cases is true, "
            f"would be right {facts.undefended:.1%} of the time from these numbers alone.",
            f"With the noise that was added, nobody can be right more than {facts.at_most:.1%} of the time, with any "
            f"method and any computer. A blind guess is right 50 % of the time.",
            f"To believe this one has to believe {TRUST[certificate.trust]}.",
            "It is about what these numbers say of the protected cases. It does not stop anyone from learning them "
            "elsewhere, and it is not about single persons.",
        ),
        _profile(facts),
    ]


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
        caption="Privacy against ε, for statistics that follow a bell curve: the lower the curve, the less the numbers "
        "say. A proven bound where the noise is not Gaussian.",
        alt=f"δ falls as ε grows; at ε = 0 it is {facts.deltas_with[0]:.2g} with noise, and "
        f"{facts.deltas_without[0]:.2g} without.",
    )


def _options(facts: BoardFacts) -> list[Block]:
    plan, used = facts.plan, facts.release.mechanism.name
    rows = [_option_row(option) for option in plan.options]
    chosen = next((k for k, option in enumerate(plan.options) if option is plan.chosen), None)
    error = [
        Bar(option.name, option.error, f"{option.error:.3g}", holds=option.mechanism.certificate.holds_at(plan.trust))
        for option in plan.options[:MOST_BARS]
    ]
    blocks: list[Block] = [
        Prose(f"Published with {used}. Of all ways to add noise that keep the promise, the one with the least error is "
              "taken."),
    ]  # fmt: skip
    if error:
        blocks.append(
            bars(
                "errors",
                error,
                x=Axis("error: root mean square over all numbers", unit="their own units, weighted as asked"),
                rows="way to add noise",
                legend="error of one release",
                hollow=f"hollow: does not keep the promise at trust {plan.trust}",
                caption="How much noise each way would add.",
                alt="; ".join(f"{bar.name}: {bar.value:.3g}" for bar in error),
            )
        )
        blocks.append(
            Table(
                header=["way to add noise", "error", "δ at this ε", "keeps the target", "trust", "attacker at most"],
                rows=rows,
                align="lrrclr",
                caption=f"All ways side by side, for ε = {plan.target.epsilon:g} and δ = {plan.target.delta:g}.",
                chosen=chosen,
            )
        )
    if plan.refusals:
        blocks.append(Bullets(*(f"{refusal.name} does not apply: {refusal.reason}" for refusal in plan.refusals)))
    return blocks


def _option_row(option: Option) -> list[Cell | str]:
    certificate = option.mechanism.certificate
    return [
        option.name,
        f"{option.error:.4g}",
        f"{'≤ ' if option.delta_is == 'bound' and certificate.delta else ''}{certificate.delta:.2g}",
        Cell("yes", "good") if certificate.holds else Cell("no", "fails"),
        certificate.trust,
        f"{option.attack_accuracy:.1%}",
    ]


def _certificates(facts: BoardFacts) -> Iterator[Block]:
    release = facts.release
    yield from _assumptions(release.certificate, "This release alone")
    if release.joint is not None:
        total = release.joint.target
        earlier = (release.position or 1) - 1
        before = "the first release of this dataset" if not earlier else f"certified as one with {earlier} before it"
        yield Notice(
            "good" if release.joint.holds else "bad",
            f"All releases together: δ ≤ {release.joint.delta:.3g} at ε = {release.joint.epsilon:g}.",
            f"The total allows δ = {total.delta:g} at ε = {total.epsilon:g}. This is {before}. What one release says "
            "can add to what another says, so all of them are held to one total.",
        )
        if earlier:
            yield from _assumptions(release.joint, "All releases together")


def _assumptions(certificate: Certificate, title: str) -> Iterator[Block]:
    yield Prose(
        f"{title}, by {certificate.theorem}: what was proved, what was checked on the data, and what has to be "
        "believed."
    )
    yield Bullets(*(f"{a.status}: {a.statement}" + (f". {_begun(a.evidence)}." if a.evidence else ".")
                    for a in certificate.assumptions))  # fmt: skip


def _begun(text: str) -> str:
    """Return text that begins a sentence."""
    return text[:1].upper() + text[1:]


def _audit(audit: AuditReport | None) -> list[Block]:
    if audit is None:
        return [Notice("note", "No audit is part of this report.", "distpriv audit POLICY --bundle DIR adds one.")]
    verdict = audit.verdict.partition(": ")[2]
    rows = [
        [a.name, f"{a.undefended.accuracy:.1%}", f"{a.accuracy:.1%}", f"{a.epsilon_lower_bound:.3g}"]
        for a in audit.attacks
    ]
    return [
        Notice("bad" if audit.failed else "good", f"Audit {'FAILED' if audit.failed else 'passed'}.", _begun(verdict)),
        Table(
            header=["attack", "right without noise", "right with it", "proves ε of at least"],
            rows=rows,
            caption=f"Attacks on {audit.releases:,} simulated releases; {audit.attack_accuracy_ceiling:.1%} is "
            f"promised at most. {_begun(audit.populations)}.",
        ),
    ]


def _how_to_check(facts: BoardFacts) -> list[Block]:
    return [
        Prose("Everything that the promise rests on is in release.json. Anyone can recompute it:"),
        Code("distpriv verify release.json"),
        Prose("What was asked for, with nothing of where private things are:"),
        Code(facts.policy),
    ]
