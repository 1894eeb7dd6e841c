"""Plans of policies: which mechanisms they choose from, and that none is made twice for one task."""

import pkgutil
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pyarrow as pa
import pytest
from tests.workflow.small import only, write_policy, write_tables

from distpriv.errors import InvalidPolicy
from distpriv.ledger import Ledger
from distpriv.planning.option import Option, Refusal, Skipped
from distpriv.planning.plan import plan
from distpriv.workflow.plan_policy import plan_policy
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


def test_a_release_of_several_questions_plans_each_of_them_once(folder: Path) -> None:
    block = '[[release]]\nname = "{}"\nrecords = 100\n[release.statistics]\n{} = "{}"\n\n'
    two = block.format("ages", "age", "mean(age)") + block.format("hours", "hours", "mean(hours_per_week)")
    head, _, rest = (folder / "policy.toml").read_text(encoding="utf-8").partition("[release]\n")
    (folder / "policy.toml").write_text(head + two + "[[protect]]" + rest.partition("[[protect]]")[2], encoding="utf-8")
    with only("expected_value_gaussian"), patch("distpriv.workflow.plan_policy.plan", side_effect=plan) as made:
        release_policy("policy.toml", folder / "bundle", only="ages")
    assert made.call_count == 2


@contextmanager
def counted(*names: str) -> Iterator[dict[str, int]]:
    """Count calls of functions, given by module, class and name."""
    calls = dict.fromkeys(names, 0)
    with ExitStack() as patches:
        for name in names:
            module, _, attribute = name.rpartition(".")
            place = pkgutil.resolve_name(module)

            call = getattr(place, attribute)

            def spy(*args: Any, _name: str = name, _call: Any = call, **more: Any) -> Any:
                calls[_name] += 1
                return _call(*args, **more)

            patches.enter_context(patch.object(place, attribute, spy))
        yield calls


def test_a_release_opens_its_ledger_and_hashes_its_reference_once_and_calibrates_in_the_plan(folder: Path) -> None:
    with only("certified_gaussian"):
        release_policy("policy.toml", folder / "first")
    earlier = Ledger.open(f"sqlite:///{folder / 'ledger.db'}").history("ward").entries
    assert len(earlier) == 1
    edits = (("mean(age, resolution = 1)", "mean(hours_per_week)"), ("create = true", 'adaptive = "assumed"'))
    second = write_policy(folder, *edits, name="second.toml")
    opened, validated = "distpriv.ledger.store._engine", "distpriv.ledger.store._entry"
    hashed = "distpriv.releasing.certified_laws.content_digest"
    calibrated = "distpriv.releasing.joint.EarlierReleases._found"
    with only("certified_gaussian"), counted(opened, validated, hashed, calibrated) as calls:
        made = release_policy(str(second), folder / "second")
    assert made.release.position == 2
    ledger = Ledger.open(f"sqlite:///{folder / 'ledger.db'}")
    assert calls == {opened: 1, validated: len(ledger._store.read().entries), hashed: 1, calibrated: 1}
