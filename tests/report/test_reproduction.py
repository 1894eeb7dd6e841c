"""The page of the paper's tables and figures, from results that take no time."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve

from distpriv.experiments.result import AttackPoint, Comparison, ErrorPoint, Result
from distpriv.experiments.runs import run
from distpriv.experiments.setting import Setting
from distpriv.report import Cell, render
from distpriv.report.reproduction import figures_of, reproduction_page
from distpriv.report.reproduction_tables import attack_table, comparison_table, newer_table

SETTING = Setting(protocol="exact", repetitions=4, subsets=60, attackers=3, shadows=20, tests=20, strong_repetitions=2)
NAMES = ("table_1", "table_2", "figure_2", "table_3", "figure_5")


@pytest.fixture(scope="module")
def results() -> dict[str, Result]:
    return {name: run(name, SETTING) for name in NAMES}


def newer(**other: Any) -> ErrorPoint:
    point = ErrorPoint(
        secret="income",
        gap=0.1,
        mechanism="CertM (G)",
        epsilon=1.0,
        delta=1e-3,
        error=8.9,
        standard_error=0.0,
        actual_delta=9.9e-4,
        holds=True,
        trust="gaussian",
        best_attack=0.574,
    )
    return evolve(point, **other)


def cells(row: Sequence[Cell | str]) -> list[Cell]:
    return [cell for cell in row if isinstance(cell, Cell)]


def test_every_result_has_its_section_and_every_figure_a_name_of_its_own(results: dict[str, Result]) -> None:
    page = reproduction_page(results)
    html = render(page)
    for result in results.values():
        assert result.title in html
    names = [figure.name for figure in figures_of(page)]
    assert names == ["figure_2_income", "figure_2_work_class", "figure_5_mean_age", "figure_5_female"]


def test_a_page_shows_each_published_number_beside_ours(results: dict[str, Result]) -> None:
    html = render(reproduction_page(results))
    for one in results["table_3"].comparisons:
        assert f"{one.published:.4g}" in html
        assert one.label in html


def test_the_same_results_give_the_same_page(results: dict[str, Result]) -> None:
    assert render(reproduction_page(results)) == render(reproduction_page(dict(results)))


def test_disagreement_is_said_and_not_only_coloured() -> None:
    far = Comparison(label="x", published=9.0, ours=1.0, standard_error=1.0)
    table = comparison_table(Result(name="x", title="x", setting=SETTING, comparisons=(far,)), "caption")
    assert [cell.text for cell in cells(table.rows[0])] == ["x", "9", "1", "1", "+8.0", "no"]
    assert cells(table.rows[0])[-1].emphasis == "fails"


def test_a_lattice_attack_above_what_a_density_allows_stands_out() -> None:
    point = AttackPoint(
        mechanism="DauM (G)",
        epsilon=0.2,
        delta=1e-3,
        accuracy=0.51,
        standard_error=0.005,
        best_attack=0.515,
        lattice_attack=0.768,
        lattice_error=0.008,
        actual_delta=0.0024,
        holds=False,
    )
    rows = attack_table([point, evolve(point, lattice_attack=0.52, holds=True)], "caption").rows
    assert [cell.emphasis for cell in cells(rows[0])][-2:] == ["fails", "fails"]
    assert [cell.emphasis for cell in cells(rows[1])][-2:] == ["plain", "plain"]


def test_a_bound_is_not_shown_as_an_exact_number() -> None:
    rows = newer_table([newer(), newer(delta_is_exact=False)], "caption").rows
    assert cells(rows[0])[4].text == "0.00099"
    assert cells(rows[1])[4].text == "≤ 0.00099"


def test_the_newer_mechanisms_stand_beside_the_paper_s(results: dict[str, Result]) -> None:
    others = [newer(secret=s, gap=g, epsilon=e) for s, g in (("income", 0.1), ("work class", 0.04)) for e in (0.2, 1.0)]
    attack = AttackPoint(
        mechanism="CertM (G)",
        epsilon=1.0,
        delta=1e-3,
        accuracy=0.5,
        standard_error=0.01,
        lattice_attack=0.57,
        holds=True,
    )
    beyond = Result(name="beyond", title="Beyond the paper", setting=SETTING, errors=tuple(others), attacks=(attack,))
    page = reproduction_page({**results, "beyond": beyond})
    names = [figure.name for figure in figures_of(page)]
    assert "figure_2_income_beyond" in names
    assert "figure_2_work_class_beyond" in names
    assert render(page).count("CertM (G)") > 10


def test_results_are_only_read(results: dict[str, Result], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("distpriv.experiments.properties.model", None)
    monkeypatch.setattr("distpriv.experiments.properties.property_model", None)
    (tmp_path / "page.html").write_text(render(reproduction_page(results)), encoding="utf-8")
    assert (tmp_path / "page.html").stat().st_size > 50_000
