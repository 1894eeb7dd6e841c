from collections.abc import Iterator
from pathlib import Path
from unittest.mock import patch

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.workflow.small import only, write_policy, write_tables

from distpriv.planning.plan import plan
from distpriv.workflow.plan_policy import plan_policy
from distpriv.workflow.release_policy import release_policy
from distpriv.workflow.remembered_plans import remembered_plans


@pytest.fixture
def folder(tmp_path: Path, adult: pa.Table, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    write_tables(tmp_path, adult)
    monkeypatch.chdir(tmp_path)
    with only("expected_value_gaussian"):
        yield tmp_path


def test_a_plan_is_made_once_inside_and_each_time_outside(folder: Path) -> None:
    policy = str(write_policy(folder))
    with remembered_plans():
        first = plan_policy(policy).plan
        with remembered_plans():
            assert plan_policy(policy).plan is first
        assert plan_policy(policy).plan is first
    assert plan_policy(policy).plan is not first


@pytest.mark.parametrize(
    "edit",
    [
        ("epsilon = 1.0", "epsilon = 1.5"),
        ("mean(age, resolution = 1)", "mean(age + 1, resolution = 1)"),
        ("values = [0.45, 0.55]", "values = [0.4, 0.6]"),
        ("records = 100", "records = 60"),
        ("delta = 0.01\n", 'delta = 0.01\nobjective = "noise"\n'),
    ],
)
def test_what_is_asked_otherwise_is_planned_anew(folder: Path, edit: tuple[str, str]) -> None:
    with remembered_plans():
        first = plan_policy(str(write_policy(folder))).plan
        assert plan_policy(str(write_policy(folder, edit))).plan is not first


def test_other_rows_are_planned_anew_under_the_same_name(folder: Path, adult: pa.Table) -> None:
    policy = str(write_policy(folder))
    with remembered_plans():
        first = plan_policy(policy).plan
        pq.write_table(adult.slice(1, 2500), folder / "adult.parquet")
        assert plan_policy(policy).plan is not first


def test_a_release_of_several_questions_plans_each_of_them_once(folder: Path) -> None:
    block = '[[release]]\nname = "{}"\nrecords = 100\n[release.statistics]\n{} = "{}"\n\n'
    two = block.format("ages", "age", "mean(age)") + block.format("hours", "hours", "mean(hours_per_week)")
    text = write_policy(folder).read_text(encoding="utf-8")
    head, _, rest = text.partition("[release]\n")
    (folder / "policy.toml").write_text(head + two + "[[protect]]" + rest.partition("[[protect]]")[2], encoding="utf-8")
    with patch("distpriv.workflow.plan_policy.plan", side_effect=plan) as made:
        release_policy("policy.toml", folder / "bundle", only="ages")
    assert made.call_count == 2


def test_a_mechanism_is_made_once_for_plans_that_differ_in_trust_only(folder: Path) -> None:
    trusting = ("delta = 0.01\n", 'delta = 0.01\ntrust = "assumed"\n')
    stricter = ("epsilon = 1.0", "epsilon = 0.5")
    with remembered_plans():
        first, again, other = (
            plan_policy(str(write_policy(folder, *edits))).plan for edits in ((), (trusting,), (stricter,))
        )
    assert again.trust != first.trust
    assert again.options[0] is first.options[0]
    assert other.options[0] != first.options[0]
