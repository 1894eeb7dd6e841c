import csv
import errno
import io
import json
import os
import tomllib
from collections.abc import Iterator
from pathlib import Path
from unittest.mock import patch

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.workflow.shared import record_of
from tests.workflow.small import SAMPLE, only, write_policy, write_tables

import distpriv as dp
from distpriv.bundle import verify_bundle
from distpriv.bundle.write import BundleFolder, csv_text, replace_files
from distpriv.errors import BudgetSpent, BundleNotWritten, InvalidInput, InvalidPolicy, NotCertified
from distpriv.framework.display import display_values
from distpriv.ledger import Ledger
from distpriv.releasing.joint import widening
from distpriv.workflow.ledgers import list_ledger
from distpriv.workflow.plan_policy import plan_policy
from distpriv.workflow.release_policy import release_policy

FILES = ["policy.toml", "release.csv", "release.json", "report.html"]


@pytest.fixture
def folder(tmp_path: Path, adult: pa.Table) -> Iterator[Path]:
    write_tables(tmp_path, adult)
    with only("group_privacy_laplace"):
        yield tmp_path


def releases(folder: Path) -> int:
    return len(Ledger.open(f"sqlite:///{folder / 'ledger.db'}").history("ward").entries)


def test_a_bundle_holds_what_was_released_and_nothing_of_where_private_things_are(folder: Path) -> None:
    with only("expected_value_gaussian", page=True):
        bundle = release_policy(str(write_policy(folder)), folder / "out")
    assert sorted(path.name for path in bundle.folder.iterdir()) == FILES
    for path in bundle.folder.rglob("*.*"):
        text = path.read_text(encoding="utf-8")
        for private in ("private.parquet", "ledger.db", "ward 7", str(folder)):
            assert private not in text, (path.name, private)
    document = json.loads((folder / "out" / "release.json").read_text(encoding="utf-8"))
    assert document["values"] == bundle.release.values
    assert document["policy"]["data"]["id"] == "ward"
    assert document["certificate"]["holds"]
    assert tomllib.loads((folder / "out" / "policy.toml").read_text(encoding="utf-8"))["release"]["records"] == 100
    rows = list(csv.DictReader(io.StringIO((folder / "out" / "release.csv").read_text(encoding="utf-8"))))
    assert [row["statistic"] for row in rows] == ["age", "never_married"]
    assert list(rows[0]) == ["statistic", "estimate", "low", "high", "noisy_value", "noise"]
    assert float(rows[1]["low"]) < float(rows[1]["estimate"]) < float(rows[1]["high"])
    assert int(rows[1]["estimate"]) == round(document["estimates"]["never_married"])
    assert int(rows[1]["noisy_value"]) == document["display"]["never_married"]
    assert float(rows[1]["noise"]) == pytest.approx(bundle.release.noise_deviations["never_married"], rel=0.005)
    page = (folder / "out" / "report.html").read_text(encoding="utf-8")
    assert f'<td class="r strong">{rows[0]["estimate"]}' in page
    assert f"{rows[0]['low']} to {rows[0]['high']}" in page


def test_the_same_question_gets_the_same_bytes_even_when_a_row_was_edited(folder: Path, adult: pa.Table) -> None:
    first = release_policy(str(write_policy(folder)), folder / "one")
    pq.write_table(adult.slice(2000, 100), folder / "private.parquet")
    age, never = 'age = "mean(age, resolution = 1)"', "never_married = \"count(marital_status = 'Never-married')\""
    again = write_policy(folder, (f"{age}\n{never}", f"{never}\n{age.replace('age =', 'mean_age =')}"))
    second = release_policy(str(again), folder / "two")
    assert second.release.repeated
    assert second.release.values["mean_age"] == first.release.values["age"]
    third = release_policy(str(write_policy(folder)), folder / "three")
    assert (folder / "one" / "release.json").read_bytes() == (folder / "three" / "release.json").read_bytes()
    assert third.release.position == 1
    assert releases(folder) == 1
    assert verify_bundle(folder / "two").holds


@only("expected_value_gaussian")
def test_a_second_release_is_certified_together_with_the_first_and_one_without_room_is_refused(folder: Path) -> None:
    release_policy(str(write_policy(folder)), folder / "one")
    assumed = ("delta = 0.02\n", 'delta = 0.02\nadaptive = "assumed"\n')
    other = write_policy(folder, ('"mean(age, resolution = 1)"', '"mean(education_num, resolution = 1)"'), assumed)
    assert len(plan_policy(str(other)).rest.releases) == 1
    bundle = release_policy(str(other), folder / "two")
    assert bundle.release.position == 2
    assert bundle.release.joint is not None
    assert bundle.release.joint.holds
    assert len(bundle.document["evidence"]["joint"]["noises"]) == 2
    assert verify_bundle(folder / "two" / "release.json").holds
    greedy = write_policy(folder, ("epsilon = 2.0", "epsilon = 3.0"), ("mean(age", "mean(hours_per_week"))
    with pytest.raises(BudgetSpent, match="since it was first asked about"):
        release_policy(str(greedy), folder / "three")
    assert not (folder / "three").exists()
    assert releases(folder) == 2


@pytest.mark.slow
def test_noise_is_widened_until_the_total_holds_and_where_none_helps_nothing_is_released(folder: Path) -> None:
    age, never = 'age = "mean(age, resolution = 1)"\n', "never_married = \"count(marital_status = 'Never-married')\"\n"
    total = ("epsilon = 2.0\ndelta = 0.02\n", 'adaptive = "assumed"\n')
    asked = ["education = 'mean(education_num, resolution = 1)'\n", "hours = 'mean(hours_per_week, resolution = 1)'\n"]
    with only("expected_value_gaussian"):
        release_policy(str(write_policy(folder, total, SAMPLE, (age, ""))), folder / "one")
        second = release_policy(str(write_policy(folder, total, SAMPLE, (age, ""), (never, asked[0]))), folder / "two")
        assert any(map(widening, second.release.certificate.evidence))
        assert verify_bundle(second.folder).holds
        with pytest.raises(BudgetSpent, match="2 earlier releases leave no room for hours"):
            release_policy(str(write_policy(folder, total, SAMPLE, (age, ""), (never, asked[1]))), folder / "three")
    assert not (folder / "three").exists()
    assert releases(folder) == 2


def test_a_folder_that_holds_something_is_refused_before_anything_is_released(folder: Path) -> None:
    (folder / "out").mkdir()
    (folder / "out" / "notes.txt").write_text("mine", encoding="utf-8")
    with pytest.raises(InvalidInput, match=r"not empty: a bundle needs a new one"):
        release_policy(str(write_policy(folder)), folder / "out")
    with pytest.raises(InvalidInput, match="is a file"):
        release_policy(str(write_policy(folder)), folder / "adult.parquet")
    assert [path.name for path in (folder / "out").iterdir()] == ["notes.txt"]
    assert not (folder / "ledger.db").exists()


def test_an_empty_folder_will_do_and_nothing_else_is_left_beside_it(folder: Path) -> None:
    (folder / "out").mkdir()
    release_policy(str(write_policy(folder)), folder / "out")
    assert sorted(path.name for path in (folder / "out").iterdir()) == FILES
    assert not list(folder.glob(".*partial"))


@pytest.mark.slow
def test_a_bundle_that_could_not_be_written_is_completed_by_asking_again(folder: Path) -> None:
    policy = str(write_policy(folder))
    full = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    with patch("os.fsync", side_effect=full), pytest.raises(BundleNotWritten, match=r"in the ledger.*No space.*again"):
        release_policy(policy, folder / "out")
    assert not (folder / "out").exists()
    assert not list(folder.glob(".*partial"))
    assert releases(folder) == 1
    bundle = release_policy(policy, folder / "out")
    assert bundle.release.repeated
    assert verify_bundle(bundle.folder).holds


def test_a_page_that_cannot_be_drawn_is_said_after_the_ledger_was_written(folder: Path) -> None:
    broken = patch("distpriv.workflow.release_policy._page", side_effect=MemoryError("no memory"))
    with broken, pytest.raises(BundleNotWritten, match="again"):
        release_policy(str(write_policy(folder)), folder / "out")
    assert releases(folder) == 1


def test_what_holds_at_no_mechanism_is_not_released(folder: Path) -> None:
    with only("no_noise"), pytest.raises(NotCertified):
        release_policy(str(write_policy(folder)), folder / "out")
    assert not (folder / "out").exists()
    assert not (folder / "ledger.db").exists()


def test_a_withheld_policy_can_be_planned_and_not_released(folder: Path) -> None:
    release_policy(str(write_policy(folder)), folder / "out")
    public = str(folder / "out" / "policy.toml")
    (folder / "out" / "adult.parquet").symlink_to(folder / "adult.parquet")
    assert plan_policy(public).plan.chosen is not None
    with pytest.raises(InvalidPolicy, match="withheld"):
        release_policy(public, folder / "again")


def test_planning_and_listing_make_no_ledger(folder: Path) -> None:
    policy = str(write_policy(folder))
    plan_policy(policy)
    assert "no release yet" in str(list_ledger(policy))
    assert not (folder / "ledger.db").exists()


def test_the_ledger_lists_what_was_asked_and_what_it_costs_together(folder: Path) -> None:
    policy = str(write_policy(folder))
    bundle = release_policy(policy, folder / "out")
    for where in (policy, f"sqlite:///{folder / 'ledger.db'}"):
        listing = list_ledger(where)
        (dataset,) = listing.to_dict()["datasets"]
        (listed,) = dataset["releases"]
        assert listed["values"] == bundle.release.values
        assert listed["statistics"]["age"] == "mean(age, resolution = 1)"
        assert dataset["total"] == {"epsilon": 2.0, "delta": 0.02}
        assert str(listing).splitlines()[3].split()[-1] == "0.02"


def test_a_formula_in_a_name_is_text_to_a_spreadsheet() -> None:
    assert csv_text(record_of("=1+1")).splitlines()[1] == "'=1+1,-2.25,-3.0,-1.5,-2.5,0.5"


@pytest.mark.parametrize(("value", "count", "share"), [(-7.4, 0, 0.0), (0.51, 1, 0.51), (250.0, 100, 1.0)])
def test_counts_and_shares_are_shown_as_they_can_be(value: float, count: int, share: float) -> None:
    query = dp.Query(a=dp.count("x > 1"), b=dp.proportion("x > 1"), c=dp.mean("x"), d=dp.total("x"))
    shown = display_values(dict.fromkeys("abcd", value), query, 100)
    assert shown == {"a": count, "b": share, "c": value, "d": value}


def test_files_of_a_bundle_that_is_gone_are_not_written_in_silence(tmp_path: Path) -> None:
    with pytest.raises(BundleNotWritten, match=r"could not be written \(No such file .*run the same command again"):
        replace_files(tmp_path / "gone", {"audit.json": "{}"})


def test_a_folder_that_cannot_be_made_is_said_so(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(InvalidInput, match="cannot be written"):
        BundleFolder.prepared(tmp_path / "file" / "out")
