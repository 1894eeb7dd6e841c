"""A release on the terminal: verdict, estimates, what they are worth, what they rest on."""

import re
from collections.abc import Sequence

from distpriv.framework.display import columns, hanging
from distpriv.planning.table import evidence_line, headline_gain
from distpriv.report.summary import Summary

__all__ = ["printable", "release_text"]

# Neither HTML nor XML can hold control characters, halves of surrogate pairs and non-characters. Controls of writing
# direction could make a column's name rewrite the numbers beside it.
_UNSHOWABLE = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufdd0-\ufdef]"
)


def release_text(summary: Summary, detail: int = 0, notes: Sequence[str] = ()) -> str:
    """Return a release as text; detail 1 adds noisy values, the attacker's figures and the evidence with its codes."""
    attacker, fits = summary.attacker, summary.fit.fits
    named = [each for each in (summary.dataset, attacker.line, summary.promise) if each]
    parts = [f"{summary.word}  {' · '.join(named)}", ""]
    if summary.numbers:
        parts += columns(number_rows(summary, noisy=bool(detail) or not fits))
    for each in summary.tables:
        parts += [f"  {each.name}: {each.table.text}", *columns(*_table(each.in_words(), len(each.table.by) - 1))]
    parts.append(hanging(" · ".join([headline_gain(summary.gains)] * fits + [summary.consistency])))
    if not fits:
        parts.append(
            hanging("Read the noisy values; estimates, and the certificate, assume private rows like the reference.")
        )
    every = [each for certificate in summary.certificates.values() for each in certificate.evidence]
    parts += [hanging(line) for line in (evidence_line(every), *notes)]
    if detail:
        parts += ["", f"  mechanism: {summary.mechanism}", *(hanging(line) for line in attacker.details)]
        for title, certificate in summary.certificates.items():
            head = f"{title}, by {certificate.theorem}: δ = {certificate.delta:.3g} at ε = {certificate.epsilon:g}"
            parts += ["", hanging(head), *(hanging(str(each), "    ") for each in certificate.evidence)]
    return "\n".join(parts)


def number_rows(summary: Summary, *, noisy: bool, gains: bool = False) -> list[list[str]]:
    """Return the numbers below their header: estimates first, or noisy values where the reference does not fit."""
    kinds = [("estimate", "estimate_interval"), ("noisy", "noisy_interval")][: 2 if noisy else 1]
    if not summary.fit.fits:
        kinds.reverse()
    titles = {"estimate": "estimate", "noisy": "noisy value"}
    head = [title for kind, _ in kinds for title in (titles[kind], "95 % interval")]
    rows = [
        [
            each.name,
            *(getattr(each, key) for kind in kinds for key in kind),
            each.public,
            *([each.gain] if gains else []),
        ]
        for each in summary.numbers
    ]
    return [["statistic", *head, "public mean", *(["uncertainty removed"] if gains else [])], *rows]


def _table(found: tuple[list[str], list[list[str]]], labels: int) -> tuple[list[list[str]], range]:
    names, rows = found
    return [names, *rows], range(labels)


def printable(text: str) -> str:
    r"""Return text that a page can show: what none can becomes U+FFFD, so that a reader sees that something was there.

    >>> printable("a\x00<b>")
    'a�<b>'
    """
    clean = _UNSHOWABLE.sub("\ufffd", text.replace("\r\n", "\n").replace("\r", "\n"))
    return "".join("\ufffd" if ord(letter) & 0xFFFE == 0xFFFE else letter for letter in clean)
