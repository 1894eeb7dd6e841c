"""A table from a policy to a bundle that is verified, and nothing in it of levels that only private rows have."""

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.workflow.small import only, write_policy, write_tables

from distpriv.bundle import verify_bundle
from distpriv.framework.records import json_text
from distpriv.policy import read_policy
from distpriv.policy.load import policy_in_release
from distpriv.workflow.release_policy import release_policy

TABLES = (
    '[release.statistics]\nage = "mean(age, resolution = 1)"\n'
    "never_married = \"count(marital_status = 'Never-married')\"\n",
    '[release.tables.people]\ncount = true\nby = ["sex", "race"]\nlevels = {race = ["White"]}\nother = true\n\n'
    '[release.tables.work]\nmean = "hours_per_week"\nby = ["relationship"]\n',
)


def released(
    folder: Path,
    adult: pa.Table,
    *edits: tuple[str, str],
    private: pa.Table | None = None,
    page: bool = False,
    analyst: bool = False,
) -> dict[str, Any]:
    write_tables(folder, adult)
    if private is not None:
        pq.write_table(private, folder / "private.parquet")
    with only("group_privacy_gaussian", page=page):
        policy = str(write_policy(folder, TABLES, *edits))
        return dict(release_policy(policy, out=folder / "bundle", analyst=analyst).document)


def test_a_bundle_of_tables_is_verified_and_one_that_was_changed_is_not(tmp_path: Path, adult: pa.Table) -> None:
    document = released(tmp_path, adult, page=True)
    assert list(document["tables"]) == ["people", "work"]
    verdict = verify_bundle(tmp_path / "bundle")
    assert verdict.holds, str(verdict)
    assert "people: count by sex, race" in (tmp_path / "bundle" / "report.html").read_text(encoding="utf-8")
    written = json.loads((tmp_path / "bundle" / "release.json").read_text(encoding="utf-8"))
    written["tables"]["people"][0]["estimate"] += 1
    (tmp_path / "bundle" / "release.json").write_text(json_text(written), encoding="utf-8")
    assert [check.name for check in verify_bundle(tmp_path / "bundle").checks if not check.passed] == ["manifest"]


def test_the_policy_in_a_bundle_names_all_labels_so_that_no_table_is_opened_to_read_it(
    tmp_path: Path, adult: pa.Table
) -> None:
    document = released(tmp_path, adult)
    (tmp_path / "adult.parquet").unlink()
    policy = policy_in_release(document)
    assert policy.query().is_labelled
    assert list(policy.query().names) == list(document["values"])
    assert document["policy"]["release"]["tables"]["people"]["levels"]["sex"] == ["Female", "Male"]


@pytest.mark.parametrize("analyst", [False, True])
def test_nothing_of_a_level_that_only_private_rows_have_is_in_a_bundle(
    tmp_path: Path, adult: pa.Table, analyst: bool
) -> None:
    private = adult.slice(1000, 100)
    place = private.schema.get_field_index("relationship")
    strange = private.set_column(place, "relationship", pa.array(["Atlantean"] * 50 + ["Own-child"] * 50))
    folders = [tmp_path / "usual", tmp_path / "strange"]
    bundles = []
    for folder, rows in zip(folders, (private, strange), strict=True):
        folder.mkdir()
        declared = "" if analyst else 'levels.relationship = {Atlantean = "Own-child"}\n'
        edit = ('id = "ward"\n', f'id = "ward"\n{declared}')
        bundles.append(released(folder, adult, edit, private=rows, analyst=analyst))
    assert _keys(bundles[0]) == _keys(bundles[1])
    assert list(bundles[0]["manifest"]) == list(bundles[1]["manifest"])
    files = [sorted(file.name for file in (folder / "bundle").rglob("*")) for folder in folders]
    assert files[0] == files[1]
    for file in (folders[1] / "bundle").rglob("*.*"):
        assert b"Atlantean" not in file.read_bytes()


GROUPS = (
    TABLES[0],
    '[release.tables.median]\nquantile = "hours_per_week"\nlevel = 0.5\nby = ["sex", "relationship"]\n'
    'levels = {relationship = ["Husband", "Own-child"]}\n\n'
    '[release.tables.spread]\nvariance = "age"\nby = ["sex"]\n',
)


@pytest.mark.parametrize(
    "mechanism", ["group_privacy_gaussian", pytest.param("coupled_gaussian", marks=pytest.mark.slow)]
)
def test_quantiles_and_variances_by_group_go_from_a_policy_to_a_bundle_that_is_verified(
    tmp_path: Path, adult: pa.Table, mechanism: str
) -> None:
    write_tables(tmp_path, adult)
    policy = read_policy(write_policy(tmp_path, GROUPS))
    children = ("median[Female, Own-child]", "median[Male, Husband]", "median[Male, Own-child]")
    assert policy.query().names == (*children, "spread[Female]", "spread[Male]")
    with only(mechanism, page=True):
        document = release_policy(str(tmp_path / "policy.toml"), out=tmp_path / "bundle").document
    verdict = verify_bundle(tmp_path / "bundle")
    assert verdict.holds, str(verdict)
    assert document["certificate"]["assurance"] == "proved"
    written = document["policy"]["release"]["tables"]
    assert written["median"]["level"] == 0.5
    assert [len(written[name]["otherwise"]) for name in written] == [3, 2]
    assert policy_in_release(document).query() == policy.query()
    wide = (tmp_path / "bundle" / "table_median_wide.csv").read_text(encoding="utf-8").splitlines()
    assert wide[0] == "sex,Husband,Own-child"
    assert wide[1].startswith("Female,,")
    assert len(wide) == 3
    page = (tmp_path / "bundle" / "report.html").read_text(encoding="utf-8")
    assert "median: quantile(hours_per_week, 0.5) by sex, relationship" in page
    assert "median: uncertainty removed by cell" in page
    document["evidence"]["reading"][0]["high"] += 1
    (tmp_path / "bundle" / "release.json").write_text(json_text(document), encoding="utf-8")
    assert [check.name for check in verify_bundle(tmp_path / "bundle").checks if not check.passed] == ["certificate"]


def _keys(value: Any) -> Any:
    """Return what a document has, without its numbers, and without text that is made of them."""
    if isinstance(value, dict):
        return {key: _keys(inner) for key, inner in value.items() if key not in ("ledger", "manifest", "time")}
    if isinstance(value, list):
        return [_keys(inner) for inner in value]
    return value if isinstance(value, str) and "p = " not in value else "number"


@pytest.mark.parametrize("by", [["sex"], ["sex", "race"]])
def test_reading_a_policy_takes_its_labels_from_the_reference(tmp_path: Path, adult: pa.Table, by: list[str]) -> None:
    write_tables(tmp_path, adult)
    edit = (TABLES[0], f"[release.tables.people]\ncount = true\nby = {json.dumps(by)}\n")
    policy = read_policy(write_policy(tmp_path, edit))
    assert policy.query().is_labelled
    assert policy.to_dict()["release"]["tables"]["people"]["by"] == by


def test_what_is_gathered_goes_from_a_policy_to_a_bundle_as_levels_and_is_verified(
    tmp_path: Path, adult: pa.Table
) -> None:
    write_tables(tmp_path, adult)
    asked = '[release.tables.people]\ncount = true\nby = ["race", "sex"]\nmin_expected = 1\n'
    policy = read_policy(write_policy(tmp_path, (TABLES[0], asked)))
    ((_, table),) = policy.query().tables
    assert table.labels == (("Black", "White", "other"), ("Female", "Male"))
    with only("group_privacy_gaussian", page=False):
        document = release_policy(str(tmp_path / "policy.toml"), out=tmp_path / "bundle").document
    assert verify_bundle(tmp_path / "bundle").holds
    written = document["policy"]["release"]["tables"]["people"]
    assert (written["levels"]["race"], written["other"], "min_expected" in written) == (
        ["Black", "White"],
        ["race"],
        False,
    )
    assert policy_in_release(document).query() == policy.query()
    wide = (tmp_path / "bundle" / "table_people_wide.csv").read_text(encoding="utf-8").splitlines()
    assert [line.split(",")[0] for line in wide] == ["race", "Black", "White", "other", "total"]
