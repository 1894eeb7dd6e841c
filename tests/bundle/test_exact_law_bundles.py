"""Releases by exact laws are verified from the cells in their bundles, alone and together."""

import shutil
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from tests.bundle.forging import accepted, everything, forged, read
from tests.workflow.small import SAMPLE, only, write_policy, write_tables

from distpriv.bundle import verify_bundle
from distpriv.errors import BudgetSpent, NotCertified
from distpriv.workflow.plan_policy import plan_policy
from distpriv.workflow.release_policy import release_policy


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory, adult: pa.Table) -> Path:
    folder = tmp_path_factory.mktemp("exact")
    write_tables(folder, adult)
    one = ('age = "mean(age, resolution = 1)"\n', "")
    assurance = ("delta = 0.01\n", 'delta = 0.01\nassurance = "proved"\n')
    with only("exact_law"):
        return release_policy(str(write_policy(folder, one, assurance)), folder / "out").folder


def test_a_release_is_verified_from_the_laws_in_its_bundle(bundle: Path) -> None:
    for given in ({}, everything(bundle)):
        verdict = verify_bundle(bundle, **given)
        assert verdict.holds, str(verdict)
    assert read(bundle)["mechanism"] == "exact_law"


@pytest.mark.parametrize("left_out", [[('age = "mean(age, resolution = 1)"\n', "")], []])
def test_a_release_of_a_sample_is_verified_in_all_its_populations(
    tmp_path: Path, adult: pa.Table, left_out: list[tuple[str, str]]
) -> None:
    write_tables(tmp_path, adult)
    with only("exact_law"):
        folder = release_policy(str(write_policy(tmp_path, *left_out, SAMPLE)), tmp_path / "out").folder
    assert read(folder)["certificate"]["assurance"] == "checked"
    verdict = verify_bundle(folder)
    assert verdict.holds, str(verdict)

    def population(document: dict[str, Any]) -> None:
        document["evidence"]["drawn"]["release"]["sample"] = False

    def more_rows(document: dict[str, Any]) -> None:
        strata = document["evidence"]["drawn"]["release"]["strata"]
        strata[0]["counts"] = [10 * count for count in strata[0]["counts"]]

    for change in (population, more_rows):
        assert not accepted(forged(folder, tmp_path / change.__name__, change), folder)


def _narrower(document: dict[str, Any]) -> None:
    document["noise"]["edges"] = [edge / 3 for edge in document["noise"]["edges"]]


def _closer(document: dict[str, Any]) -> None:
    drawn = document["evidence"]["drawn"]["release"]["drawn"]
    first, second = drawn
    drawn[first] = drawn[second]


def _off(document: dict[str, Any]) -> None:
    document["evidence"]["drawn"]["release"]["off"] = -1.0


def _other_rows(document: dict[str, Any]) -> None:
    cells = document["evidence"]["drawn"]["release"]["strata"][0]
    cells["counts"][0] += 50


def _without(document: dict[str, Any]) -> None:
    document["evidence"]["drawn"]["release"] = None


@pytest.mark.parametrize("change", [_narrower, _closer, _off, _other_rows, _without])
def test_a_forged_law_is_found_out(bundle: Path, tmp_path: Path, change: Any) -> None:
    assert not accepted(forged(bundle, tmp_path / "forged", change), bundle)


SECOND = ("never_married = \"count(marital_status = 'Never-married')\"\n", "")
LATER = ("delta = 0.02\n", 'delta = 0.02\nadaptive = "assumed"\n')


@pytest.mark.parametrize("mechanism", ["exact_law", "certified_gaussian"])
def test_a_second_release_is_certified_with_it_by_the_exact_law_of_both(
    bundle: Path, tmp_path: Path, mechanism: str
) -> None:
    folder = shutil.copytree(bundle.parent, tmp_path / "again")
    with only(mechanism):
        second = release_policy(str(write_policy(folder, SECOND, LATER, name="second.toml")), folder / "second").folder
    document = read(second)
    assert "strata" in document["evidence"]["drawn"]["joint"]
    for given in ({}, everything(second)):
        verdict = verify_bundle(second, **given)
        assert verdict.holds, str(verdict)
    for number, change in enumerate((_other_rows_together, _closer_together)):
        place = forged(second, tmp_path / f"forged_{number}", change)
        verdict = verify_bundle(place, reference=everything(second)["reference"])
        assert "model" in [check.name for check in verdict.checks if not check.passed]


def _other_rows_together(document: dict[str, Any]) -> None:
    document["evidence"]["drawn"]["joint"]["strata"][0]["counts"][0] += 50


def _closer_together(document: dict[str, Any]) -> None:
    drawn = document["evidence"]["drawn"]["joint"]["drawn"]
    first, second = drawn
    drawn[first] = drawn[second]


@pytest.mark.slow
def test_releases_by_draws_of_a_known_population_are_certified_together_by_its_law(
    tmp_path: Path, adult: pa.Table
) -> None:
    write_tables(tmp_path, adult)
    assurance = ("delta = 0.01\n", 'delta = 0.01\nassurance = "proved"\n')
    with only("coupled_gaussian"):
        for number, left_out in enumerate((('age = "mean(age, resolution = 1)"\n', ""), SECOND)):
            policy = write_policy(tmp_path, assurance, LATER, left_out)
            made = release_policy(str(policy), tmp_path / str(number)).folder
    assert "strata" in read(made)["evidence"]["drawn"]["joint"]
    verdict = verify_bundle(made)
    assert verdict.holds, str(verdict)


def test_a_fourth_number_is_refused_in_a_sentence(bundle: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(bundle.parent, tmp_path / "again")
    three = (
        "never_married = \"count(marital_status = 'Never-married')\"\n",
        'women = "count(sex = \'Female\')"\nhours = "mean(hours_per_week)"\n',
    )
    policy = write_policy(folder, three, LATER, name="third.toml")
    with only("certified_gaussian"), pytest.raises((BudgetSpent, NotCertified)):
        release_policy(str(policy), folder / "third")
    with only("certified_gaussian"):
        plan = plan_policy(str(policy)).plan
    assert any("3 numbers in all, and this would be 4" in refusal.reason for refusal in plan.refusals)


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory, adult: pa.Table) -> Path:
    folder = tmp_path_factory.mktemp("two")
    write_tables(folder, adult)
    with only("exact_law"):
        policy = write_policy(folder, ("delta = 0.01\n", 'delta = 0.01\nassurance = "proved"\n'))
        return release_policy(str(policy), folder / "out").folder


def test_a_release_of_two_statistics_is_verified_from_the_cells_in_its_bundle(two: Path, tmp_path: Path) -> None:
    assert "strata" in read(two)["evidence"]["drawn"]["release"]
    verdict = verify_bundle(two)
    assert verdict.holds, str(verdict)
    assert not verify_bundle(forged(two, tmp_path / "narrower", _half)).holds


def _half(document: dict[str, Any]) -> None:
    for part in document["noise"].get("parts", [document["noise"]]):
        for name in ("variances", "scales"):
            if name in part:
                part[name] = [value / 2 for value in part[name]]
