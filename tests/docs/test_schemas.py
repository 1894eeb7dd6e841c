"""What distpriv reads and writes is as the schemas say, and nothing else is."""

import copy
import json
import tomllib
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from scripts.json_schemas import SCHEMAS
from tests.workflow.small import POLICY, only, write_policy, write_tables
from typer.testing import CliRunner

import distpriv as dp
from distpriv.cli.app import app

Documents = dict[str, list[Any]]


def output(*arguments: str) -> Any:
    """Return what a command prints as JSON."""
    ended = CliRunner().invoke(app, [*arguments, "--json"])
    assert ended.exit_code in {0, 1}, ended.output
    return json.loads(ended.stdout)


@pytest.fixture(scope="module")
def documents(tmp_path_factory: pytest.TempPathFactory) -> Documents:
    """Real documents of every kind: two releases, one by moments and one by draws, and all that is said about them."""
    folder = tmp_path_factory.mktemp("bundles")
    write_tables(folder, dp.datasets.adult())
    first = str(write_policy(folder))
    other = ("mean(age, resolution = 1)", "mean(hours_per_week, resolution = 1)")
    assumed = ("delta = 0.02\n", 'delta = 0.02\nadaptive = "assumed"\n')
    second = str(write_policy(folder, other, assumed, name="second.toml"))
    found: Documents = {name: [] for name in SCHEMAS}
    found["init"].append(output("init", str(folder / "new.toml")))
    with only(
        "expected_value_gaussian", "coupled_gaussian", "no_noise", "directional_laplace", "approximate_wasserstein"
    ):
        found["plan"].append(output("plan", first))
    with only("expected_value_gaussian"):
        found["release_output"].append(
            output("release", first, "--out", str(folder / "first"), "--audit", "--releases", "200")
        )
    with only("coupled_gaussian"):
        found["release_output"].append(output("release", second, "--out", str(folder / "second")))
        found["plan"].append(output("plan", second))
    found["audit"].append(json.loads((folder / "first" / "audit.json").read_text(encoding="utf-8")))
    for name in ("first", "second"):
        found["release"].append(json.loads((folder / name / "release.json").read_text(encoding="utf-8")))
        found["verify"].append(output("verify", str(folder / name)))
        found["policy"].append(tomllib.loads((folder / name / "policy.toml").read_text(encoding="utf-8")))
    found["ledger"].append(output("ledger", first))
    found["policy"].append(tomllib.loads(POLICY))
    found["policy"].append(tomllib.loads((folder / "new.toml").read_text(encoding="utf-8")))
    return found


def validator(name: str) -> Draft202012Validator:
    """Return what checks documents of one kind."""
    return Draft202012Validator(SCHEMAS[name])


@pytest.mark.parametrize("name", SCHEMAS)
def test_a_schema_is_one(name: str) -> None:
    Draft202012Validator.check_schema(SCHEMAS[name])


@pytest.mark.parametrize("name", SCHEMAS)
def test_what_is_written_is_as_its_schema_says(name: str, documents: Documents) -> None:
    assert documents[name]
    for document in documents[name]:
        assert [error.message for error in validator(name).iter_errors(document)] == []


@pytest.mark.parametrize("name", SCHEMAS)
def test_a_key_too_many_is_not(name: str, documents: Documents) -> None:
    for document in documents[name]:
        assert not validator(name).is_valid({**document, "another": 1})


@pytest.mark.parametrize("name", sorted(set(SCHEMAS) - {"policy"}))
def test_nor_is_a_key_too_few_or_of_another_kind(name: str, documents: Documents) -> None:
    for document in documents[name]:
        for key in document:
            assert not validator(name).is_valid({other: document[other] for other in document if other != key})
            assert key == "policy" or not validator(name).is_valid({**document, key: {"nothing": ["of", "this"]}})


def test_changes_deep_inside_are_found(documents: Documents) -> None:
    changed = copy.deepcopy(documents["release"][1])
    changed["evidence"]["drawn"]["release"]["noise"]["law"] = "cauchy"
    assert not validator("release").is_valid(changed)
