"""The page that sets the paper's tables and figures beside ours."""

from collections.abc import Callable, Mapping

from distpriv.experiments.paper_noise import BASELINE, GAUSSIAN, GROUP
from distpriv.experiments.properties import PROPERTIES
from distpriv.experiments.result import ErrorPoint, Result
from distpriv.report.page import Block, Fact, Figure, KeyFacts, Page, Prose, Section
from distpriv.report.reproduction_figures import attack_figure, error_figure, sample_figures
from distpriv.report.reproduction_tables import (
    attack_table,
    claims,
    comparison_table,
    delta_cell,
    delta_table,
    mechanism_table,
    newer_table,
    time_table,
)

__all__ = ["figures_of", "reproduction_page"]

Results = Mapping[str, Result]

WORDS = {
    "paper": "the paper's protocol: rows allocated anew and models fitted to 1000 sampled datasets in each of 50 "
    "repetitions",
    "exact": "expectations by exact moments in place of 50 repetitions",
}


def reproduction_page(results: Results) -> Page:
    """Return the page for those results that there are; nothing is computed here but sums."""
    first = next(iter(results.values()))
    sections = [_SECTIONS[name](results) for name in _SECTIONS if name in results]
    stamps = " · ".join(f"{name} {version}" for name, version in first.versions.items())
    return Page(
        title="The paper's tables and figures, beside ours",
        subtitle=f"Distribution privacy mechanisms on the Adult data, by {WORDS[first.setting.protocol]}",
        blocks=[_summary(results), *sections, Section("Times", time_table(results.values()))],
        footer=f"{stamps} · seed {first.setting.seed}",
    )


def figures_of(page: Page) -> list[Figure]:
    """Return every figure of a page, in its order."""
    found: list[Figure] = []
    waiting: list[Block] = list(page.blocks)
    while waiting:
        block = waiting.pop(0)
        if isinstance(block, Figure):
            found.append(block)
        elif isinstance(block, Section):
            waiting = [*block.blocks, *waiting]
    return found


def _summary(results: Results) -> KeyFacts:
    compared = sum(len(result.comparisons) for result in results.values())
    agreeing = sum(result.agreeing for result in results.values())
    facts = [Fact(f"{agreeing} of {compared}", "published numbers are within three standard errors of ours")]
    if "figure_3" in results:
        crossings = ", ".join(f"{one.ours:.3f}" for one in results["figure_3"].comparisons)
        facts.append(Fact(crossings, "Δp up to which DauM beats DP", "income and work class; the paper: 0.12, 0.28"))
    if "figure_4" in results:
        undefended = results["figure_4"].comparisons[0].ours
        facts.append(Fact(f"{undefended:.1%}", "of attacks succeed without noise", "the paper: 75 %"))
    points = [p for name in ("figure_2", "figure_3") if name in results for p in results[name].errors]
    gaussian = [p for p in points if p.mechanism in GAUSSIAN]
    if gaussian:
        failing = sum(not p.holds for p in gaussian)
        note = "covariances as they are; the Laplace variants claim δ = 0, which fails at every point"
        facts.append(Fact(f"{failing} of {len(gaussian)}", "points with Gaussian noise miss the δ they claim", note))
    return KeyFacts(*facts)


def _table_1(results: Results) -> Section:
    return Section("Table 1: the mechanisms", mechanism_table(results["table_1"]))


def _table_2(results: Results) -> Section:
    result = results["table_2"]
    delta = {one.label: delta_cell(p) for one, p in zip(result.comparisons, result.errors, strict=True)}
    blocks: list[Block] = [
        comparison_table(
            result, "L2 errors, and the δ that the noise has on the model as it is.", {"exact δ": dict(delta)}
        )
    ]
    wanted = {point.epsilon for point in result.errors}
    blocks += _newer(results, lambda p: p.secret == "income" and p.gap == 0.1 and p.epsilon in wanted)
    return Section(result.title, *blocks, *([claims(result)] if result.claims else []))


def _newer(results: Results, chosen: Callable[[ErrorPoint], bool]) -> list[Block]:
    if "beyond" not in results:
        return []
    points = [point for point in results["beyond"].errors if chosen(point)]
    return [newer_table(points, "The mechanisms beyond the paper at the same points, δ = 0.001.")]


def _curves(
    results: Results, name: str, along: str, baseline: str, chosen: Callable[[ErrorPoint], bool]
) -> list[Block]:
    """Return, for each property, the paper's curves, the newer ones beside two of the paper's, and the δ."""
    blocks: list[Block] = []
    heading = "ε" if along == "epsilon" else "Δp"
    for secret in PROPERTIES:
        own = [p for p in results[name].errors if p.secret == secret.name]
        word = secret.name.replace(" ", "_")
        paper = [p for p in own if p.mechanism != GROUP]
        said = f", Δp = {secret.gap:g}" if along == "epsilon" else ", ε = 1"
        blocks.append(
            error_figure(f"{name}_{word}", paper, along=along, caption=f"{secret.name}{said}: the paper's mechanisms.")
        )
        if "beyond" in results:
            newer = [p for p in results["beyond"].errors if p.secret == secret.name and chosen(p)]
            beside = [p for p in own if p.mechanism in ("DauM (G)", baseline)]
            caption = f"{secret.name}{said}: the mechanisms beyond the paper, beside DauM (G)."
            blocks.append(error_figure(f"{name}_{word}_beyond", [*newer, *beside], along=along, caption=caption))
        checked = [p for p in own if p.mechanism not in (GROUP, BASELINE)]
        caption = f"{secret.name}{said}: the δ that the noise has; claimed are 0.001 and, for (L), 0."
        blocks.append(delta_table(checked, along=along, heading=heading, caption=caption))
    return blocks


def _figure_2(results: Results) -> Section:
    gaps = {secret.name: secret.gap for secret in PROPERTIES}
    blocks = _curves(results, "figure_2", "epsilon", "ExpM (G)", lambda p: p.gap == gaps[p.secret])
    return Section(results["figure_2"].title, *blocks, claims(results["figure_2"]))


def _figure_3(results: Results) -> Section:
    table = comparison_table(results["figure_3"], "Where DauM (G) has the error of differential privacy of one record.")
    blocks = _curves(results, "figure_3", "gap", BASELINE, lambda p: p.epsilon == 1.0)
    return Section(results["figure_3"].title, table, *blocks)


def _figure_4(results: Results) -> Section:
    result = results["figure_4"]
    blocks: list[Block] = [
        comparison_table(result, "What the paper says of the attack in its text."),
        attack_figure(
            "figure_4", result.attacks, "accuracy", caption="The paper's attacker, trained on statistics without noise."
        ),
        attack_figure(
            "figure_4_lattice",
            result.attacks,
            "lattice_attack",
            caption="The attacker who reads statistics off their lattice where noise leaves directions bare, and "
            "is the best one elsewhere.",
        ),
    ]
    if "beyond" in results:
        caption = "The same attacker and the mechanisms beyond the paper."
        blocks.append(attack_figure("figure_4_beyond", results["beyond"].attacks, "lattice_attack", caption=caption))
    return Section(result.title, *blocks, claims(result))


def _table_3(results: Results) -> Section:
    result = results["table_3"]
    return Section(
        result.title,
        comparison_table(result, "The paper's attacker."),
        attack_table(result.attacks, "Stronger attackers on the same releases, and the δ that the noise has."),
        claims(result),
    )


def _figure_5(results: Results) -> Section:
    result = results["figure_5"]
    table = comparison_table(result, "Variances that the paper gives in its appendix.")
    return Section(result.title, *sample_figures(result.samples), table)


def _beyond(results: Results) -> Section:
    result = results["beyond"]
    rests = Prose(
        "CertM holds with the covariances as they are and the lattice covered; CoupM rests on how rows are drawn and "
        "on nothing else. OptM assumes equal covariances, as the paper does: it shows what that is worth, and where it "
        "fails."
    )
    tables = [
        newer_table([p for p in result.errors if p.secret == secret.name], f"{secret.name}, δ = 0.001.")
        for secret in PROPERTIES
    ]
    attacks = attack_table(result.attacks, "income, Δp = 0.1: attackers on the releases of the newer mechanisms.")
    return Section(result.title, rests, *tables, attacks)


_SECTIONS: Mapping[str, Callable[[Results], Section]] = {
    "table_1": _table_1,
    "table_2": _table_2,
    "figure_2": _figure_2,
    "figure_3": _figure_3,
    "figure_4": _figure_4,
    "table_3": _table_3,
    "figure_5": _figure_5,
    "beyond": _beyond,
}
