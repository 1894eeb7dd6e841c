"""Plans of policies: which mechanisms they choose from, and that none is made twice for one task."""

from pathlib import Path
from unittest.mock import patch

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.workflow.small import only, write_policy, write_tables

from distpriv.errors import InvalidPolicy
from distpriv.planning.option import Option, Refusal, Skipped
from distpriv.planning.plan import plan
from distpriv.workflow.plan_policy import each_plan_once, plan_policy
from distpriv.workflow.release_policy import release_policy

TRIED = ("expected_value_gaussian", "group_privacy_gaussian", "group_privacy_laplace", "no_noise")


@pytest.fixture
def folder(tmp_path: Path, adult: pa.Table, monkeypatch: pytest.MonkeyPatch) -> Path:
    write_tables(tmp_path, adult)
    write_policy(tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_policy_names_the_mechanisms_to_choose_from(folder: Path) -> None:
    write_policy(folder, ("delta = 0.01\n", 'delta = 0.01\nmechanisms = ["group_privacy_gaussian"]\n'))
    with only(*TRIED):
        bundle = release_policy("policy.toml", folder / "out")
    assert bundle.release.mechanism.name == "group_privacy_gaussian"
    assert bundle.document["policy"]["privacy"]["mechanisms"] == ["group_privacy_gaussian"]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ('mechanisms = ["certified_gausian"]', "there is no mechanism 'certified_gausian'"),
        ("mechanisms = []", "leave it out to try all"),
        ('mechanisms = ["no_noise", "no_noise"]', "named twice"),
    ],
)
def test_wrong_mechanisms_in_a_policy_are_refused_by_their_line(folder: Path, line: str, said: str) -> None:
    write_policy(folder, ("delta = 0.01\n", f"delta = 0.01\n{line}\n"))
    with pytest.raises(InvalidPolicy, match=r"privacy\.mechanisms") as refused:
        plan_policy("policy.toml")
    assert said in str(refused.value)


def test_every_line_of_a_plan_is_told_as_soon_as_it_is_known_what_costs_nothing_first(folder: Path) -> None:
    seen: list[Option | Refusal | Skipped] = []
    with only(*TRIED):
        plan_policy(str(folder / "policy.toml"), watch=seen.append)
    assert {each.name for each in seen} == set(TRIED)
    options = [each.name for each in seen if isinstance(each, Option)]
    assert options[0].startswith("group_privacy")
    assert options[-1] == "expected_value_gaussian"


@pytest.mark.parametrize(
    "edit",
    [
        ("epsilon = 1.0", "epsilon = 1.5"),
        ("mean(age, resolution = 1)", "mean(age + 1, resolution = 1)"),
        ("values = [0.45, 0.55]", "values = [0.4, 0.6]"),
        ("records = 100", "records = 60"),
        ("delta = 0.01\n", 'delta = 0.01\nassurance = "assumed"\n'),
        ("delta = 0.01\n", 'delta = 0.01\nobjective = "noise"\n'),
    ],
)
def test_a_plan_is_made_once_inside_for_the_same_policy(folder: Path, edit: tuple[str, str]) -> None:
    with only("expected_value_gaussian"), each_plan_once():
        first = plan_policy("policy.toml").plan
        with each_plan_once():
            assert plan_policy("policy.toml").plan is first
        assert plan_policy(str(write_policy(folder, edit))).plan is not first
    with only("expected_value_gaussian"):
        assert plan_policy(str(write_policy(folder))).plan is not first


def test_other_rows_are_planned_anew_under_the_same_name(folder: Path, adult: pa.Table) -> None:
    with only("expected_value_gaussian"), each_plan_once():
        first = plan_policy("policy.toml").plan
        pq.write_table(adult.slice(1, 2500), folder / "adult.parquet")
        assert plan_policy("policy.toml").plan is not first


def test_a_release_of_several_questions_plans_each_of_them_once(folder: Path) -> None:
    block = '[[release]]\nname = "{}"\nrecords = 100\n[release.statistics]\n{} = "{}"\n\n'
    two = block.format("ages", "age", "mean(age)") + block.format("hours", "hours", "mean(hours_per_week)")
    head, _, rest = (folder / "policy.toml").read_text(encoding="utf-8").partition("[release]\n")
    (folder / "policy.toml").write_text(head + two + "[[protect]]" + rest.partition("[[protect]]")[2], encoding="utf-8")
    with only("expected_value_gaussian"), patch("distpriv.workflow.plan_policy.plan", side_effect=plan) as made:
        release_policy("policy.toml", folder / "bundle", only="ages")
    assert made.call_count == 2
