"""A page with every kind of block, names from hell and numbers that look like results."""

from typing import Any

import numpy as np

from distpriv.report import Bullets, Cell, Code, Fact, Figure, KeyFacts, Notice, Page, Prose, Section, Table
from distpriv.report.figures import Axis, Bar, Reference, Series, bars, histogram, lines

NASTY = (
    "<script>alert('hello')</script>",
    "say \"<b>&amp;</b>\" & 'run'",
    "$x_1^2$ costs 5$ or \\alpha_{i}",
    "_hidden by a leading underscore",
    "収入の割合（東京都における高所得者の比率）",
    "доля высоких доходов",
    "نسبة الدخل المرتفع",
    "count(marital_status = 'Never-married' AND native_country <> 'United-States' AND hours_per_week >= 40)",
)


def demo_page() -> Page:
    return Page(
        title="What this release gives away, and what it does not",
        subtitle="hospital-2026 · five statistics of 100 persons · released once",
        blocks=[
            Notice(
                "good", "The target holds.", "(1, 0.001)-distribution privacy at trust 'gaussian', checked exactly."
            ),
            KeyFacts(
                Fact("76 % → 58 %", "the best attacker's success, without and with noise", "even odds are 50 %"),
                Fact("1.0", "ε, how much an answer may tell", "smaller is more private"),
                Fact("0.001", "δ, how often it may tell more"),
                Fact("± 1.9 years", "95 % of released mean ages are this close"),
            ),
            Section("What was released", Prose("Five numbers.", "Their intervals hold 95 % of the time."), *_tables()),
            Section("What it costs", error_figure(), Section("By mechanism", bar_figure())),
            Section("What an attacker can do", trade_off_figure(), histogram_figure()),
            Section(
                "What it rests on",
                Bullets("proved: data are drawn as the policy says.", "checked: the noise smooths the lattice."),
                Notice("bad", "Not certified: DauM(G), classic.", "The exact δ is 0.0024, and 0.001 was asked for."),
                Notice("note", "The same query again returns the same answer."),
                Code(
                    '[privacy]\nepsilon = 1.0\ndelta = 1e-3  # <script>alert("no")</script> ' + "and a long line " * 8
                ),
            ),
            Section("Names that were not meant well", *nasty_figures(), nasty_table()),
        ],
        footer="distpriv 0.1 · seed 7 · numpy 2.0",
    )


def _tables() -> list[Table]:
    head = [
        "mechanism",
        "error",
        "δ at this ε",
        "holds",
        "trust",
        "attacker at most",
        "assumptions that the data contradict",
    ]
    return [
        Table(
            header=head,
            rows=[
                ["optimal_gaussian", "1.92", "9.98e-4", Cell("yes", "good"), "gaussian", "58.1 %", "none"],
                [
                    "directional_uncertainty, classic",
                    "1.71",
                    "2.39e-3",
                    Cell("no", "fails"),
                    "assumed",
                    "60.3 %",
                    "shared Σ",
                ],
                [
                    "group_privacy_gaussian",
                    "14.2",
                    "1.00e-3",
                    Cell("yes", "good"),
                    "sampling",
                    Cell("57.0 %", "strong"),
                    "",
                ],
            ],
            align="lrrclrl",
            caption="Every mechanism at ε = 1, δ = 0.001; the first is the one used.",
            chosen=0,
        )
    ]


def nasty_table() -> Table:
    return Table(header=["name <i>", 'value "x"'], rows=[[text, text] for text in NASTY], caption="<u>Nasty</u> names")


def error_figure() -> Figure:
    epsilon = np.geomspace(0.1, 10, 9)
    names = (
        "ExpM(G)",
        "DExpM(G)",
        "EigenM(G)",
        "DauM(G)",
        "optimal Gaussian",
        "certified Gaussian",
        "unimodal",
        "DP (group privacy)",
    )
    return lines(
        "error-against-epsilon",
        [
            Series(name, epsilon, (9 - k) / epsilon**0.8 + 0.1, holds=[k < 3 or e > 0.5 for e in epsilon])
            for k, name in enumerate(names)
        ],
        x=Axis("privacy ε, smaller is more private", unit=None, log=True),
        y=Axis("expected L2 error", unit="standard deviations", log=True),
        caption="Error against ε for income, Δp = 0.1 and δ = 0.001. Hollow points do not hold what they claim.",
        alt="Eight falling lines. All mechanisms need less noise as ε grows; group privacy needs the most.",
    )


def bar_figure() -> Figure:
    return bars(
        "errors",
        [
            Bar("optimal_gaussian", 1.92, "1.92"),
            Bar("directional_uncertainty, classic", 1.71, "1.71", holds=False),
            Bar("group_privacy_gaussian", 14.2, "14.2"),
        ],
        x=Axis("root mean square error", unit="persons"),
        rows="mechanism",
        legend="error of one release",
        caption="Errors side by side.",
        alt="Group privacy has seven times the error of the optimal Gaussian mechanism.",
    )


def trade_off_figure() -> Figure:
    alarm = np.linspace(0, 1, 60)
    return lines(
        "trade-off",
        [
            Series("without noise", alarm, (1 - alarm**0.3), markers=False),
            Series("with noise", alarm, (1 - alarm**0.8), markers=False),
        ],
        x=Axis("false alarms: says the second when it is the first", unit="probability", limits=(0, 1)),
        y=Axis("misses: says the first when it is the second", unit="probability", limits=(0, 1)),
        references=[Reference("a blind guess", (0.0, 1.0), (1.0, 0.0))],
        caption="The attacker's two errors. With noise the curve is close to that of a blind guess.",
        alt="Two curves below the diagonal; the one with noise is much closer to it.",
    )


def histogram_figure() -> Figure:
    draw = np.random.default_rng(1)
    grid = np.linspace(30, 50, 200)
    curve = [np.exp(-((grid - m) ** 2) / 8) / np.sqrt(8 * np.pi) for m in (38, 41, 38.3, 41.3)]
    return histogram(
        "gaussian-approximation",
        {"sampled, p = 0.45": draw.normal(38, 2, 4000), "sampled, p = 0.55": draw.normal(41, 2, 4000)},
        curves=[
            Series(name, grid, y)
            for name, y in zip(
                ("exact, p = 0.45", "exact, p = 0.55", "fitted, p = 0.45", "fitted, p = 0.55"), curve, strict=True
            )
        ],
        x=Axis("mean age", unit="years"),
        y=Axis("density", unit="1 / year"),
        caption="Sampled mean ages under both scenarios with the exact and the fitted normal curve.",
        alt="Two overlapping bell-shaped histograms, three years apart; curves follow them closely.",
    )


def nasty_figures() -> list[Figure]:
    x = Axis(NASTY[2] + " along " + NASTY[0], unit="<% & $>")
    words: dict[str, Any] = {"caption": NASTY[0], "alt": NASTY[1]}
    return [
        lines(
            "nasty-lines",
            [Series(t, [1, 2, 3], [k, k + 1, k], holds=[True, False, True]) for k, t in enumerate(NASTY)],
            x=x,
            y=Axis(NASTY[4], unit=NASTY[5]),
            **words,
        ),
        bars(
            "nasty-bars",
            [Bar(t, 1e6 * (k + 1), NASTY[k % 3]) for k, t in enumerate(NASTY)],
            x=x,
            rows=NASTY[3],
            legend=NASTY[7],
            **words,
        ),
    ]
