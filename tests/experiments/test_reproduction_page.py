"""docs/reproduction.md says what the exact protocol computes."""

import re
from pathlib import Path

import pytest
from scripts.reproduction_pictures import IMAGES, SHOWN
from scripts.reproduction_tables import PAGE, tables, written

import distpriv as dp
from distpriv.experiments.properties import INCOME, property_model
from distpriv.experiments.runs import run
from distpriv.experiments.setting import Setting
from distpriv.workflow.reproducing import reproduce

SETTING = Setting(protocol="exact")
TEXT = PAGE.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", ["table_2", pytest.param("table_3", marks=pytest.mark.slow)])
def test_the_tables_on_the_page_are_those_computed(name: str) -> None:
    assert written(TEXT, tables({name: run(name, SETTING)})) == TEXT


def test_a_table_without_a_place_is_refused() -> None:
    with pytest.raises(ValueError, match="table_9"):
        written(TEXT, {"table_9": "| |\n"})


def test_another_number_would_be_noticed() -> None:
    table = tables({"table_2": run("table_2", SETTING)})["table_2"]
    assert written(TEXT, {"table_2": table.replace("64.61", "64.62")}) != TEXT


@pytest.mark.slow
def test_the_numbers_of_the_text_are_those_computed() -> None:
    found = {name: run(name, SETTING) for name in ("figure_3", "figure_4", "figure_5")}
    assert written(TEXT, tables(found)) == TEXT


@pytest.mark.slow
def test_the_errors_beyond_the_paper_are_those_of_the_mechanisms() -> None:
    model = property_model(INCOME, 0.1)
    for shorthand, mechanism in (
        ("CertM (G)", dp.mechanisms.certified_gaussian),
        ("CertM (L)", dp.mechanisms.certified_laplace),
    ):
        row = re.search(rf"^\| {re.escape(shorthand)} \| gaussian \| (.*) \|$", TEXT, flags=re.MULTILINE)
        assert row is not None
        targets = [dp.PrivacyTarget(epsilon=epsilon, delta=1e-3) for epsilon in (0.2, 1.0, 5.0)]
        measured = [mechanism(model, target).noise.expected_l2 for target in targets]
        assert [float(shown) for shown in row[1].split(" | ")] == pytest.approx(measured, rel=2e-3)


@pytest.mark.slow
def test_the_pictures_on_the_page_are_those_drawn(tmp_path: Path) -> None:
    assert all(f"(images/{name}.svg)" in TEXT for name in SHOWN)
    reproduce(["figure_2"], setting=SETTING, out=tmp_path)
    drawn = (tmp_path / "exact" / "figure_2_income.svg").read_text(encoding="utf-8")
    assert (IMAGES / "figure_2_income.svg").read_text(encoding="utf-8") == drawn
