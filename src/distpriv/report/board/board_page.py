"""The order of the page: the verdict, what was published, what an attacker sees, what it rests on, and the rest."""

from collections.abc import Iterator

from distpriv.guarantees.certificate import Certificate
from distpriv.releasing.release import Release
from distpriv.report.board.attacker import attacker_section, profile
from distpriv.report.board.facts import Asked, BoardFacts
from distpriv.report.board.grounds import grounds_section
from distpriv.report.board.options import options_section
from distpriv.report.board.published_numbers import published_section
from distpriv.report.page import Block, Code, Fact, KeyFacts, Notice, Page, Prose, Section, Table
from distpriv.report.protection import Protection, percent_at_most
from distpriv.report.text import counted

__all__ = ["board_page"]


def board_page(facts: BoardFacts) -> Page:
    """Return the page."""
    release = facts.release
    numbers = f"{counted(len(release.values), 'number')} about {counted(facts.records, 'record')}"
    about = [] if facts.title is None else [facts.dataset]
    return Page(
        title=facts.title or f"What was published about {facts.dataset}, and what stays hidden",
        subtitle=" · ".join([*about, f"release {release.position or 1}", (release.time or "")[:10], numbers]),
        blocks=[
            *_verdicts(facts),
            *_misfit(release),
            _key_facts(facts),
            published_section(facts),
            attacker_section(facts),
            grounds_section(facts),
            options_section(facts),
            Section("How private it is at every ε", profile(facts)),
            Section("How to check it, and how to print it", *_how_to_check(facts)),
        ],
        footer=facts.versions,
    )


def _verdicts(facts: BoardFacts) -> Iterator[Notice]:
    """Yield whether all releases together keep their total, where there are several, and then whether this one does."""
    own, joint = facts.release.certificate, facts.release.joint
    hidden = f"What is hidden: {' '.join(facts.hidden)}"
    if not facts.protection.several or joint is None:
        yield _verdict(own, facts.asked, facts.protection.alone, "", hidden)
        return
    together = f", from {facts.protection.all_of_them} together"
    yield _verdict(joint, facts.total, facts.protection.together, together, hidden)
    yield _verdict(own, facts.asked, facts.protection.alone, ", from this release alone")


def _verdict(certificate: Certificate, asked: Asked, most: float, about: str, *more: str) -> Notice:
    found = (
        f"With the noise that was added it is {percent_at_most(most)} at most, and of blind guesses 50 % are right. "
        f"Certified is δ ≤ {_not_above(certificate)} at ε = {certificate.epsilon:g}."
    )
    text = " ".join([*more, found])
    if certificate.holds:
        return Notice("good", f"The promise is kept: {asked.sentence}{about}.", text)
    return Notice("bad", f"The promise is NOT kept: {asked.sentence}{about}.", text)


def _not_above(certificate: Certificate) -> str:
    """Return δ in three digits; where it is within its limit, rounding does not take it above that."""
    rounded = float(f"{certificate.delta:.3g}")
    return f"{min(rounded, certificate.target.delta) if certificate.holds else rounded:.4g}"


def _misfit(release: Release) -> Iterator[Notice]:
    """Yield a warning where the answers are unlike anything that the reference leads one to expect."""
    if not release.fit.fits:
        yield Notice("bad", "The estimates lean on a reference that does not fit.", release.fit.sentence)


def _key_facts(facts: BoardFacts) -> KeyFacts:
    protection = facts.protection
    return KeyFacts(
        *_together(facts),
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
        Fact(
            f"{facts.public_error:.3g} → {facts.estimate_error:.3g}",
            "error of all numbers together",
            "of what was public before, and of the estimates now",
        ),
    )


def _together(facts: BoardFacts) -> Iterator[Fact]:
    """Yield what all releases together allow, where there are several."""
    protection, bare = facts.protection, facts.undefended_together
    if not protection.several:
        return
    known = bare is not None and bare >= protection.together
    yield Fact(
        f"at most {protection.headline}",
        f"of an attacker's guesses are right, from {protection.all_of_them} together",
        f"without any noise it would be {percent_at_most(bare)}" if bare is not None and known else "this is promised",
    )


def _how_to_check(facts: BoardFacts) -> list[Block]:
    return [
        Prose("Everything that the promise rests on is in release.json. Anyone can recompute it:"),
        Code("distpriv verify release.json"),
        *_ledger(facts.protection),
        Prose("What was asked for, with nothing of where private things are:"),
        Code(facts.policy),
        Prose("For a PDF, open this page in a browser and print it to a file: it is laid out for A4 and Letter."),
    ]


def _ledger(protection: Protection) -> Iterator[Block]:
    """Yield where the release stands in its ledger, so that a ledger that was set back is found out."""
    if protection.ledger is None:
        return
    yield Prose(
        f"The release was written to a ledger before it was shown, as no. {protection.position} of this dataset. A "
        "ledger that does not have the entry below at its place was set back, emptied or exchanged. Whoever may read "
        "it can hold it against this bundle:"
    )
    yield Code("distpriv verify release.json --ledger URL")
    yield Table(
        header=["ledger", "entry", "digest of the entry"],
        rows=[[str(protection.ledger[key]) for key in ("id", "number", "head")]],
        caption="Where this release stands in its ledger. All entries before it are part of the digest.",
        align="lrl",
    )
