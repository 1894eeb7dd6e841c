"""The page of a plan: what a release would tell, what it would be worth, and what it would rest on."""

from collections.abc import Iterator
from pathlib import Path

from distpriv._version import __version__
from distpriv.errors import InvalidInput
from distpriv.framework.folders import write_whole
from distpriv.modelling.linear_estimate import HALF_WIDTH
from distpriv.modelling.telling_curves import telling_curves
from distpriv.planning.plan import Plan
from distpriv.planning.table import summary
from distpriv.report.board.attacker import two_curves
from distpriv.report.board.options import option_blocks
from distpriv.report.page import Block, Bullets, Code, Notice, Page, Prose, Section, Table
from distpriv.report.protection import percent_at_most
from distpriv.report.rendering import render
from distpriv.report.text import counted

__all__ = ["plan_page", "write_plan_page"]


def plan_page(plan: Plan) -> Page:
    """Return the page."""
    first, *rest = summary(plan)
    records = plan.model.provenance.records
    about = "" if records is None else f" about {counted(records, 'record')}"
    return Page(
        title="What a release would tell, and what it would be worth",
        subtitle=f"{counted(plan.model.dimension, 'number')}{about} · nothing is released yet",
        blocks=[
            Notice("bad" if plan.chosen is None else "good", first, " ".join(rest)),
            *_what_is_seen(plan),
            *_what_it_is_worth(plan),
            Section("What else is possible", *option_blocks(plan)),
            *_grounds(plan),
            Section(
                "What is protected", Bullets(*(" against ".join(pair) for pair in plan.model.protected_pairs[::2]))
            ),
        ],
        footer=f"distpriv {__version__}",
    )


def write_plan_page(plan: Plan, path: str | Path) -> Path:
    """Write the page to a file, whole or not at all.

    Raises:
        InvalidInput: it cannot be written.
    """
    place = Path(path)
    try:
        write_whole(place, render(plan_page(plan)))
    except OSError as failure:
        raise InvalidInput(
            f"the file {str(path)!r} cannot be written ({failure.strerror}): give another one."
        ) from failure
    return place


def _what_is_seen(plan: Plan) -> Iterator[Block]:
    if plan.chosen is None:
        return
    found = telling_curves(plan.model, plan.chosen.mechanism.noise)
    if found is None:
        return
    before, most = plan.undefended_attack_accuracy, plan.chosen.attack_accuracy
    after = f"With the noise, {percent_at_most(min(before, most))} of the time at most if they vary as modelled."
    yield Section(
        "What an attacker would see",
        two_curves(
            found, f"As they are, the numbers tell the cases apart {percent_at_most(before)} of the time.", after
        ),
    )


def _what_it_is_worth(plan: Plan) -> Iterator[Block]:
    chosen = plan.chosen
    if chosen is None:
        return
    halves = dict(zip(chosen.mechanism.statistics, chosen.mechanism.noise.half_widths.tolist(), strict=True))
    rows = [
        [
            name,
            f"± {HALF_WIDTH * chosen.estimate_errors[name]:.3g}",
            f"± {halves[name]:.3g}",
            f"± {HALF_WIDTH * plan.public_errors[name]:.3g}",
        ]
        for name in plan.model.names
    ]
    caption = "How far off each number is at most in 95 of 100 releases."
    table = Table(header=["number", "estimate", "noisy value", "public mean"], rows=rows, caption=caption)
    yield Section("What it would be worth", table)


def _grounds(plan: Plan) -> Iterator[Block]:
    if plan.chosen is None:
        return
    certificate = plan.chosen.mechanism.certificate
    law = [] if certificate.law is None else [Prose(certificate.law.sentence)]
    yield Section(
        "What it would rest on",
        Prose(f"By {certificate.theorem}: what is proved, what was checked on the reference, and what is assumed."),
        *law,
        Bullets(*(str(assumption) for assumption in certificate.assumptions)),
        Prose("In Python, what is shown here is:"),
        Code("plan.to_frame(), plan.plot(), plan.mechanism.certificate"),
    )
