"""Plans kept beside a policy: what they save, and that no file makes a release that is not certified anew."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.workflow.small import only, write_policy, write_tables

from distpriv import __version__
from distpriv.errors import InvalidPolicy
from distpriv.planning import running, trying
from distpriv.planning.candidates import Candidate
from distpriv.planning.option import Option, Refusal, Skipped
from distpriv.workflow.kept_plans import FOLDER, KeptPlan
from distpriv.workflow.plan_policy import plan_policy
from distpriv.workflow.release_policy import audit_policy, release_policy

TRIED = ("expected_value_gaussian", "group_privacy_gaussian", "group_privacy_laplace", "no_noise")
CHOSEN = "expected_value_gaussian"


@pytest.fixture
def folder(tmp_path: Path, adult: pa.Table) -> Path:
    write_tables(tmp_path, adult)
    write_policy(tmp_path)
    return tmp_path


@contextmanager
def counted() -> Iterator[list[str]]:
    """Collect the names of all mechanisms that are run."""
    names: list[str] = []
    attempt = running.attempt

    def noted(candidate: Candidate, *rest: Any) -> Option | Refusal:
        names.append(candidate.name)
        return attempt(candidate, *rest)

    with only(*TRIED), patch.object(running, "attempt", noted), patch.object(trying, "attempt", noted):
        yield names


def ran(folder: Path, **options: Any) -> list[str]:
    """Plan, and return what was run."""
    with counted() as names:
        plan_policy(str(folder / "policy.toml"), **options)
    return names


def kept_file(folder: Path) -> Path:
    (file,) = (folder / FOLDER).iterdir()
    return file


def forge(folder: Path, **changes: Any) -> None:
    file = kept_file(folder)
    file.write_text(json.dumps(json.loads(file.read_text(encoding="utf-8")) | changes), encoding="utf-8")


def test_releasing_and_auditing_after_a_plan_run_the_chosen_mechanism_and_no_other(folder: Path) -> None:
    policy = str(folder / "policy.toml")
    assert len(ran(folder)) > 1
    with counted() as names, patch("distpriv.workflow.release_policy.attack"):
        audit_policy(policy)
    assert names == [CHOSEN]
    with counted() as names:
        bundle = release_policy(policy, folder / "out")
    assert names == [CHOSEN]
    assert bundle.release.certificate.holds_at("gaussian")
    with counted() as names, patch("distpriv.workflow.release_policy.attack"):
        audit_policy(policy)  # the question is answered now, and its noise fixed
    assert names == [CHOSEN]


def test_a_plan_from_a_kept_one_has_a_fresh_certificate_and_says_what_was_passed_over(folder: Path) -> None:
    with only(*TRIED):
        first = plan_policy(str(folder / "policy.toml")).plan
        again = plan_policy(str(folder / "policy.toml")).plan
    assert again.chosen is not None
    assert first.chosen is not None
    assert again.mechanism.certificate == first.mechanism.certificate
    assert again.mechanism.certificate is not first.mechanism.certificate
    assert {each.name for each in again.skipped} == set(TRIED) - {CHOSEN}
    assert all("by the plan that is kept beside the policy" in each.reason for each in again.skipped)


@pytest.mark.parametrize("change", ["reference", "policy", "version"])
def test_a_plan_is_made_anew_when_anything_that_it_depends_on_has_changed(
    folder: Path, adult: pa.Table, change: str
) -> None:
    everything = ran(folder)
    assert ran(folder) == [CHOSEN]
    if change == "reference":
        pq.write_table(adult.slice(0, 2499), folder / "adult.parquet")
    if change == "policy":
        write_policy(folder, ("epsilon = 1.0\ndelta = 0.01", "epsilon = 1.0\ndelta = 0.011"))
    version = "0.0.0" if change == "version" else __version__
    with patch("distpriv.workflow.kept_plans.__version__", version):
        assert len(ran(folder)) == len(everything)


def test_a_comment_or_another_place_of_the_private_table_changes_nothing(folder: Path) -> None:
    ran(folder)
    write_policy(folder, ("# in ward 7", "# in ward 8"), ('"private.parquet"', '"elsewhere.parquet"'))
    assert ran(folder) == [CHOSEN]


def test_a_release_of_the_dataset_makes_plans_of_other_questions_anew(folder: Path) -> None:
    never = ("never_married = \"count(marital_status = 'Never-married')\"\n", "")
    assumed = ("delta = 0.02\n", 'delta = 0.02\nadaptive = "assumed"\n')
    write_policy(folder, never, assumed)
    everything = ran(folder)
    assert ran(folder) == [CHOSEN]
    write_policy(folder, ('age = "mean(age, resolution = 1)"\n', ""), assumed, name="other.toml")
    with only(CHOSEN):
        release_policy(str(folder / "other.toml"), folder / "out")
    assert set(ran(folder)) == set(everything)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "no json",
        "[]",
        "{}",
        '{"format": "distpriv plan 1"}',
        '{"format": "distpriv plan 1", "chosen": "os.system", "cost": 1, "others": {}}',
        '{"format": "distpriv plan 1", "chosen": ["no_noise"], "cost": 1, "others": {}}',
        '{"format": "distpriv plan 1", "chosen": "no_noise", "cost": -1, "others": {}}',
        '{"format": "distpriv plan 1", "chosen": "no_noise", "cost": NaN, "others": {}}',
        '{"format": "distpriv plan 1", "chosen": "no_noise", "cost": true, "others": {}}',
        '{"format": "distpriv plan 1", "chosen": "no_noise", "cost": 1, "others": {"bounded": 0.5}}',
        '{"format": "distpriv plan 1", "chosen": "no_noise", "cost": 1, "others": {"nothing": 2}}',
        " " * 200_000,
    ],
)
def test_what_is_not_as_it_was_written_is_nothing(text: str) -> None:
    assert KeptPlan.read(text.encode()) is None


def test_what_was_written_is_read_again() -> None:
    kept = KeptPlan(chosen="no_noise", cost=0.0, others={"bounded": 0.0, "exact_law": 2.5, "wasserstein": None})
    assert KeptPlan.read(kept.to_json().encode()) == kept


@pytest.mark.parametrize("text", ["no json", " " * 200_000])
def test_a_file_that_cannot_be_used_is_as_good_as_none(folder: Path, text: str) -> None:
    everything = ran(folder)
    kept_file(folder).write_text(text, encoding="utf-8")
    assert len(ran(folder)) == len(everything)
    assert KeptPlan.read(kept_file(folder).read_bytes()) is not None  # and it is kept again


@pytest.mark.parametrize("forged", [{"chosen": "no_noise", "cost": 0.0}, {"chosen": "no_noise"}])
def test_a_file_that_names_a_mechanism_which_does_not_hold_releases_nothing_uncertified(
    folder: Path, forged: dict[str, Any]
) -> None:
    ran(folder)
    forge(folder, others={}, **forged)
    with counted() as names:
        bundle = release_policy(str(folder / "policy.toml"), folder / "out")
    assert names[0] == "no_noise"
    assert len(names) > 1
    assert bundle.release.mechanism.name == CHOSEN
    assert bundle.release.certificate.holds_at("gaussian")


def test_the_worst_a_forger_can_do_is_to_have_wider_noise_that_is_certified(folder: Path) -> None:
    with only(*TRIED):
        wide = next(
            option
            for option in plan_policy(str(folder / "policy.toml"), every=True).plan.options
            if option.name == "group_privacy_gaussian"
        )
    forge(folder, chosen=wide.name, cost=wide.cost / 2, others={})
    assert len(ran(folder)) > 1  # the error is not the one that was kept
    forge(folder, chosen=wide.name, cost=wide.cost, others={})
    with only(*TRIED):
        bundle = release_policy(str(folder / "policy.toml"), folder / "out")
    assert bundle.release.mechanism.name == wide.name
    assert bundle.release.certificate.holds_at("gaussian")


def test_a_link_in_place_of_a_kept_plan_is_not_followed(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    everything = ran(folder)
    other = tmp_path_factory.mktemp("other") / "kept.json"
    file = kept_file(folder)
    file.rename(other)
    file.symlink_to(other)
    assert len(ran(folder)) == len(everything)


def test_plans_are_made_anew_on_demand_and_where_none_can_be_kept(folder: Path) -> None:
    everything = ran(folder)
    assert len(ran(folder, fresh=True)) == len(everything)
    assert len(ran(folder, every=True)) == len(TRIED)
    for file in (folder / FOLDER).iterdir():
        file.unlink()
    (folder / FOLDER).rmdir()
    (folder / FOLDER).write_text("in the way", encoding="utf-8")
    assert len(ran(folder)) == len(everything)
    assert len(ran(folder)) == len(everything)


def test_nothing_private_is_kept_and_the_oldest_make_room(folder: Path) -> None:
    ran(folder)
    text = kept_file(folder).read_text(encoding="utf-8")
    assert "private" not in text
    assert set(json.loads(text)) == {"format", "chosen", "cost", "others"}
    for number in range(60):
        (folder / FOLDER / f"{number:064d}.json").write_text("{}", encoding="utf-8")
    ran(folder, fresh=True)
    assert len(list((folder / FOLDER).iterdir())) == 50


def test_a_policy_names_the_mechanisms_to_choose_from(folder: Path) -> None:
    write_policy(folder, ("delta = 0.01\n", 'delta = 0.01\nmechanisms = ["group_privacy_gaussian"]\n'))
    with only(*TRIED):
        bundle = release_policy(str(folder / "policy.toml"), folder / "out")
    assert bundle.release.mechanism.name == "group_privacy_gaussian"
    assert bundle.document["policy"]["privacy"]["mechanisms"] == ["group_privacy_gaussian"]
    assert ran(folder) == ["group_privacy_gaussian"]


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
        plan_policy(str(folder / "policy.toml"))
    assert said in str(refused.value)


def test_every_line_of_a_plan_is_told_as_soon_as_it_is_known_what_costs_nothing_first(folder: Path) -> None:
    seen: list[Option | Refusal | Skipped] = []
    with only(*TRIED):
        plan_policy(str(folder / "policy.toml"), watch=seen.append)
    assert {each.name for each in seen} == set(TRIED)
    options = [each.name for each in seen if isinstance(each, Option)]
    assert options[0].startswith("group_privacy")
    assert options[-1] == CHOSEN


@pytest.mark.slow
def test_nothing_is_kept_or_deleted_where_a_link_leads(folder: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (folder / ".distpriv").mkdir(exist_ok=True)
    (folder / ".distpriv" / "plans").symlink_to(elsewhere)
    plan_policy(str(write_policy(folder)))
    assert list(elsewhere.iterdir()) == []
