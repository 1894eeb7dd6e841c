"""The page of a release made in Python: the numbers, what is promised of them, and what that rests on."""

from collections.abc import Iterator

from distpriv._version import __version__
from distpriv.guarantees.certificate import Certificate
from distpriv.modelling.telling_curves import telling_curves
from distpriv.releasing.released import Release
from distpriv.report.board.attacker import two_curves
from distpriv.report.page import Block, Bullets, Notice, Page, Prose, Section, Table
from distpriv.report.rendering import render
from distpriv.report.text import counted

__all__ = ["release_page", "release_page_text"]


def release_page(release: Release) -> Page:
    """Return the page; of a release without its model, without what an attacker sees of it."""
    where = "not in a ledger" if release.dataset is None else f"release {release.position} of {release.dataset}"
    first, *rest = str(release.joint or release.certificate).splitlines()
    holds = (release.joint or release.certificate).holds
    promised = "all releases of the dataset together" if release.joint is not None else "this release"
    return Page(
        title="What is published, and what it gives away",
        subtitle=f"{counted(len(release.values), 'number')} · {where}",
        blocks=[
            Notice("good" if holds else "bad", first, f"This is about {promised}."),
            _numbers(release),
            *_what_is_seen(release),
            _grounds("What it rests on", rest),
            *_alone(release),
        ],
        footer=f"distpriv {__version__}",
    )


def release_page_text(release: Release) -> str:
    """Return the page as HTML: one file, without scripts and without a network."""
    return render(release_page(release))


def _numbers(release: Release) -> Section:
    known = release.estimated is not None
    header = ["number", "noisy value", "95 % interval"]
    rows = [[name, f"{value:.5g}", _ends(*release.intervals[name])] for name, value in release.values.items()]
    if known:
        header = ["number", "estimate", "95 % interval", *header[1:], "public mean"]
        rows = [
            [name, f"{release.estimates[name]:.5g}", _ends(*release.estimate_intervals[name]), *noisy,
             f"{release.public_means[name]:.5g}"]
            for name, *noisy in rows
        ]  # fmt: skip
    caption = "Estimates combine the noisy values with what is public." if known else "With noise, as they were drawn."
    said = [Prose(release.fit.sentence)] if known else []
    return Section("What is published", Table(header=header, rows=rows, caption=caption), *said)


def _ends(low: float, high: float) -> str:
    return f"{low:.5g} to {high:.5g}"


def _what_is_seen(release: Release) -> Iterator[Block]:
    found = None if release.model is None else telling_curves(release.model, release.mechanism.noise)
    if found is not None:
        yield Section(
            "What an attacker sees",
            two_curves(found, "The numbers as they are.", "The numbers with the noise that was added."),
        )


def _alone(release: Release) -> Iterator[Block]:
    """Yield what is promised of this release alone, where the page begins with all of them."""
    if release.joint is not None:
        yield _grounds("This release alone", _lines(release.certificate))


def _grounds(title: str, lines: list[str]) -> Section:
    return Section(title, Bullets(*(line.strip() for line in lines if line.strip())))


def _lines(certificate: Certificate) -> list[str]:
    return str(certificate).splitlines()
