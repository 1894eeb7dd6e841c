"""What the promise rests on, in three blocks: what attacks measured, what is proved or checked, what is declared."""

from collections.abc import Iterator

from distpriv.auditing.measures import Measures
from distpriv.auditing.report import AuditReport
from distpriv.guarantees.certificate import Certificate
from distpriv.report.board.facts import BoardFacts
from distpriv.report.page import Block, Bullets, Notice, Prose, Section, Table
from distpriv.report.protection import QUESTIONS, Protection, percent_at_most
from distpriv.report.text import counted

__all__ = ["grounds_section"]


def grounds_section(facts: BoardFacts) -> Section:
    """Return the section."""
    return Section(
        "What this rests on",
        Section("Measured: attacks", *_measured(facts)),
        Section("Proved or checked", *_proved(facts)),
        Section("Declared: what has to be believed", *_declared(facts)),
    )


def _measured(facts: BoardFacts) -> Iterator[Block]:
    audit, several = facts.audit, facts.protection.several
    if audit is None:
        yield Notice("note", "No audit is part of this report.", "distpriv audit POLICY --bundle DIR adds one.")
        return
    finding = _begun(audit.finding)
    yield Notice(
        "bad" if audit.failed else "good",
        f"Audit {'FAILED' if audit.failed else 'passed'}.",
        f"Of this release alone. {finding}" if several else finding,
    )
    yield Table(
        header=["attack", "right without noise", "right with it", "proves ε of at least"],
        rows=[
            [a.name, _measure(a.undefended), _measure(a.defended), f"{a.epsilon_lower_bound:.3g}"]
            for a in audit.attacks
        ],
        caption=f"Attacks on {counted(audit.releases, 'simulated release')}; at most "
        f"{percent_at_most(audit.attack_accuracy_ceiling)} is promised{facts.about}. {_begun(audit.populations)}.",
    )
    yield Prose(_tolerance(audit))


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


def _proved(facts: BoardFacts) -> Iterator[Block]:
    release = facts.release
    if release.joint is not None:
        yield from _joint(release.joint, facts.protection)
    yield from _assumptions(release.certificate, "This release alone")


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


def _assumptions(certificate: Certificate, title: str) -> Iterator[Block]:
    """Yield what follows, and what was found to hold on the reference."""
    sure = [a for a in certificate.assumptions if a.status != "assumed"]
    yield Prose(f"{title}, by {certificate.theorem}: what was proved, and what was checked on the reference.")
    if certificate.law is not None:
        yield Prose(certificate.law.sentence)
    if sure:
        yield Bullets(*(f"{a.status}: {_sentence(a.statement, a.evidence)}" for a in sure))


def _declared(facts: BoardFacts) -> Iterator[Block]:
    """Yield what nobody can check, the assumptions of all certificates once each."""
    release = facts.release
    joint = [] if release.joint is None or not facts.protection.several else [release.joint]
    believed = [a for each in (*joint, release.certificate) for a in each.assumptions if a.status == "assumed"]
    said = dict.fromkeys(_sentence(a.statement, a.evidence) for a in believed)
    if said:
        yield Bullets(*(f"assumed: {each}" for each in said))
    yield Prose(f"How later questions are covered: {QUESTIONS[facts.protection.questions]}")
    if facts.protection.readings:
        yield _readings(facts.protection)


def _readings(protection: Protection) -> Table:
    return Table(
        header=["number", "values are held within", "a missing value counts as"],
        rows=[[reading.statistic, reading.within, reading.otherwise] for reading in protection.readings],
        caption="How a row of the private table is read. This comes from the policy and from public rows alone, and is "
        "part of what was published: a value outside counts as the nearest one inside.",
    )


def _sentence(statement: str, evidence: str) -> str:
    return f"{statement}. {_begun(evidence)}." if evidence else f"{statement}."


def _begun(text: str) -> str:
    """Return text that begins a sentence."""
    return text[:1].upper() + text[1:]
