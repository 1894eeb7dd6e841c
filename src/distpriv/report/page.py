"""The page of a release or a plan as one HTML document, or as a notebook shows it: what it is made of, its template."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, Literal

from attrs import evolve, field, frozen

from distpriv._version import __version__
from distpriv.framework.display import counted, percent, percent_at_most
from distpriv.guarantees.certificate import Certificate
from distpriv.guarantees.evidence_text import registry, sentence
from distpriv.planning.table import (
    HARDLY,
    advice,
    attacker_line,
    gain_text,
    option_rows,
    other_mechanisms,
    plan_gains,
    plan_verdict,
    planned_statistics,
)
from distpriv.report.figures import would_see
from distpriv.report.summary import Summary, about
from distpriv.report.text import number_rows, printable

if TYPE_CHECKING:
    from jinja2 import Template

    from distpriv.auditing.report import AuditReport
    from distpriv.modelling.utility import Gains
    from distpriv.planning.plan import Plan
    from distpriv.releasing.released_tables import ReleasedTable
    from distpriv.report.figures import Picture

__all__ = ["Fact", "Line", "Page", "Table", "heat_rows", "notebook_view", "plan_page", "release_page", "render"]

Mark = Literal["good", "bad", "doubt"]


@frozen(kw_only=True)
class Table:
    """A table of text; the first column is on the left, all others on the right unless `left` says how many are not."""

    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    caption: str
    left: int = 1
    strong: int | None = None
    """The column that stands out."""


@frozen
class Fact:
    """One number to take away, with what it is."""

    value: str
    label: str
    note: str = ""

    @property
    def sentence(self) -> str:
        """The fact in one line."""
        return f"{self.value} {self.label}" + (f" ({self.note})" if self.note else "")


@frozen
class Line:
    """One piece of evidence: its code, its title, and the sentence that is folded."""

    code: str
    title: str
    sentence: str


@frozen(kw_only=True)
class Page:
    """What a page says; what is empty or none is left out."""

    released: bool
    """Whether it is of a release, and not of a plan."""
    title: str
    subtitle: str
    mark: Mark
    verdict: str
    text: str = ""
    facts: Sequence[Fact] = ()
    numbers: Table | None = None
    tables: Sequence[tuple[Table, ReleasedTable]] = ()
    note: str = ""
    """Below the numbers."""
    more: Sequence[Table] = ()
    """Folded below the numbers."""
    definitions: Sequence[str] = ()
    curves: Sequence[Picture] = ()
    attacker: Sequence[str] = ()
    measured: Sequence[Line] = ()
    attacks: Table | None = None
    checked: Sequence[Line] = ()
    declared: Sequence[Line] = ()
    theorems: Sequence[str] = ()
    readings: Table | None = None
    options: Table | None = None
    others: Sequence[str] = ()
    policy: str = ""
    ledger: Mapping[str, Any] | None = field(default=None)
    position: int | None = None
    footer: str = f"distpriv {__version__}"


def release_page(summary: Summary, *, figures: bool = True) -> Page:
    """Return the page of a release; a notebook needs no figures."""
    attacker, fits = summary.attacker, summary.fit.fits
    title = summary.title or ("Published statistics" + (f" of {summary.dataset}" if summary.dataset else ""))
    where = [f"release {summary.position or 1}", (summary.time or "")[:10]] if summary.dataset else ["not in a ledger"]
    named = [summary.dataset] if summary.title and summary.dataset else []
    noisy = number_rows(evolve(summary, fit=evolve(summary.fit, p_value=0.0)), noisy=True)
    lines = _evidence(summary.certificates.values())
    curves: tuple[Picture, ...] = ()
    if figures and summary.model is not None and summary.noise is not None and attacker.undefended is not None:
        alone = ", from this release alone" if attacker.several else ""
        curves = would_see(summary.model, summary.noise, attacker.undefended, attacker.alone, alone)
    return Page(
        released=True,
        title=title,
        subtitle=" · ".join([*named, *where, about(summary)]),
        mark="bad" if not summary.holds else "good" if fits else "doubt",
        verdict=_verdict(summary),
        text=" ".join(summary.hidden and ("Hidden:", *summary.hidden)),
        facts=[*_attacker_facts(summary), _gain_fact(summary.gains), _fit_fact(summary)],
        numbers=_number_table(summary) if summary.numbers else None,
        tables=[(_released_table(shown), shown) for shown in summary.tables],
        note="" if fits else "Read the noisy values; the estimates assume private records like the reference.",
        more=[Table(header=noisy[0][:3], rows=[row[:3] for row in noisy[1:]], caption="Noisy values")]
        if summary.numbers and fits
        else [],
        definitions=[f"{each.name}: {each.what}" for each in summary.numbers if each.what],
        curves=curves,
        attacker=attacker.details,
        measured=[] if summary.audit is None else [_measured(summary.audit, several=attacker.several)],
        attacks=None if summary.audit is None else _attacks(summary.audit),
        checked=[line for line, status in lines if status != "assumed"],
        declared=[line for line, status in lines if status == "assumed"],
        theorems=[_theorem(name, certificate) for name, certificate in summary.certificates.items()],
        readings=Table(
            header=["statistic", "values between", "missing counts as"],
            rows=summary.readings,
            caption="How rows of the private table are read",
        )
        if summary.readings
        else None,
        policy=summary.policy,
        ledger=summary.ledger,
        position=summary.position,
        footer=summary.versions,
    )


def _verdict(summary: Summary) -> str:
    attacker = summary.attacker
    source = f" from {attacker.all_of_them}" if attacker.several else ""
    figure = (
        f"an attacker who guesses the secret{source} is right at most {percent_at_most(attacker.together)} of the time"
    )
    if not summary.holds:
        return f"Not certified: {figure}, more than was asked for."
    if not summary.fit.fits:
        return f"Unlike the reference: {figure} only if the private records are like the reference, which is doubtful."
    return f"Certified: {figure}."


def _attacker_facts(summary: Summary) -> list[Fact]:
    attacker = summary.attacker
    before = "" if attacker.several or attacker.undefended is None else percent_at_most(attacker.undefended)
    note = f"chance 50 %, undefended {before}" if before else "chance 50 %"
    whole = f"attack accuracy from {attacker.all_of_them}" if attacker.several else "attack accuracy"
    return [Fact(f"≤ {percent_at_most(attacker.together)}", whole, note)]


def _gain_fact(gains: Gains) -> Fact:
    least = gains.least
    note = "" if least is None else f"mean over statistics; least for {least} ({gain_text(gains.by_statistic[least])})"
    return Fact(percent(gains.mean), "of the public uncertainty removed", note)


def _fit_fact(summary: Summary) -> Fact:
    word = "consistent" if summary.fit.fits else "inconsistent"
    return Fact(word, "with the reference", f"p = {summary.fit.p_value:.2g}")


def _number_table(summary: Summary) -> Table:
    head, *rows = number_rows(summary, noisy=not summary.fit.fits, gains=True)
    return Table(header=head, rows=rows, strong=1, caption="Published statistics beside public knowledge")


def _released_table(shown: ReleasedTable) -> Table:
    names, rows = shown.in_words()
    return Table(header=names, rows=rows, left=len(shown.table.by) - 1, caption=f"{shown.name}: {shown.table.text}")


def _measured(audit: AuditReport, *, several: bool) -> Line:
    word, attacks = "FAILED" if audit.failed else "passed", counted(len(audit.attacks), "attack")
    title = f"Audit {word}: the best of {attacks} measured {audit.attacks[0].measured}"
    return Line("", title, f"{'This release alone: ' if several else ''}{audit.finding}. {audit.populations}")


def _attacks(audit: AuditReport) -> Table:
    head, *rows = audit.table()
    return Table(header=head, rows=rows, caption=f"Attacks on {counted(audit.releases, 'simulated release')}")


def _evidence(certificates: Iterable[Certificate]) -> list[tuple[Line, str]]:
    """Return the evidence of all certificates, the same of several once."""
    every = dict.fromkeys(each for certificate in certificates for each in certificate.evidence)
    return [(Line(each.code, registry()[each.code].title, sentence(each)), each.status) for each in every]


def _theorem(name: str, certificate: Certificate) -> str:
    """Return what is certified; where δ is within its target, rounding does not take it above that."""
    delta = float(f"{certificate.delta:.3g}")
    if certificate.holds:
        delta = min(delta, certificate.target.delta)
    return (
        f"{name}: δ ≤ {delta:.4g} at ε = {certificate.epsilon:g}, by {certificate.theorem}, at assurance "
        f"{certificate.assurance}; asked for: δ ≤ {certificate.target.delta:g} at ε = {certificate.target.epsilon:g}."
    )


def plan_page(plan: Plan, *, figures: bool = True) -> Page:
    """Return the page of a plan; a notebook needs no figures."""
    chosen, records = plan.chosen, plan.model.provenance.records
    size = "" if records is None else f" about {counted(records, 'record')}"
    word, said = plan_verdict(plan)
    head, *rows = option_rows(plan)
    page = Page(
        released=False,
        title="Plan of a release",
        subtitle=f"{counted(plan.model.dimension, 'number')}{size} · nothing is released yet",
        mark="bad" if chosen is None else "good",
        verdict=f"{word.capitalize()}: {' · '.join(said)}",
        text="\n".join(advice(plan)[:1]),
        options=Table(header=head, rows=rows, caption="Mechanisms that were tried") if plan.options else None,
        others=other_mechanisms(plan),
    )
    if chosen is None:
        return page
    gains, certificate, bare = plan_gains(plan), chosen.mechanism.certificate, plan.undefended_attack_accuracy
    lines = _evidence([certificate])
    before = attacker_line(chosen.attack_accuracy, bare).partition("(")[2].rstrip(")")
    shown = planned_statistics(plan)
    return evolve(
        page,
        mark="doubt" if gains.mean < HARDLY else "good",
        facts=[Fact(f"≤ {percent_at_most(chosen.attack_accuracy)}", "attack accuracy", before), _gain_fact(gains)],
        numbers=Table(
            header=["statistic", "estimate", "public mean", "uncertainty removed"],
            rows=[[each.name, each.estimate, each.public, each.gain] for each in shown],
            caption="95 % half-widths of what would be published, beside public knowledge",
            strong=1,
        ),
        more=[
            Table(header=["statistic", "noisy value"], rows=[[s.name, s.noise] for s in shown], caption="Noisy values")
        ],
        curves=would_see(plan.model, chosen.mechanism.noise, max(bare, chosen.attack_accuracy), chosen.attack_accuracy)
        if figures
        else (),
        checked=[line for line, status in lines if status != "assumed"],
        declared=[line for line, status in lines if status == "assumed"],
        theorems=[_theorem("A release", certificate)],
    )


def render(page: Page) -> str:
    """Return a page as one HTML document that needs nothing else."""
    return _template("page.html").render(page=page)


def notebook_view(page: Page) -> str:
    """Return the part of a page that a notebook shows."""
    return _template("notebook.html").render(page=page)


@cache
def _template(name: str) -> Template:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("distpriv.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        finalize=_finalized,
    )
    environment.filters |= {"printable": printable, "heat_rows": heat_rows}
    return environment.get_template(name)


def _finalized(value: Any) -> Any:
    """Return a value that the template shows: plain text can be seen, and no line ends before a percent sign."""
    return re.sub(r"(?<=\d) (?=%)", "\N{NO-BREAK SPACE}", printable(value)) if type(value) is str else value


def heat_rows(released: ReleasedTable) -> list[tuple[tuple[str, ...], list[tuple[float | None, str]]]]:
    """Return the labels of each row of a table, and the uncertainty removed of its cells, none of structural zeros."""
    zeros, rows = set(released.table.empty or ()), dict[tuple[str, ...], list[tuple[float | None, str]]]()
    for cell, row in zip(released.cells, released.rows, strict=True):
        share = None if cell in zeros else row["information"]
        rows.setdefault(tuple(map(str, cell[:-1])), []).append((share, "zero" if share is None else percent(share)))
    return list(rows.items())
