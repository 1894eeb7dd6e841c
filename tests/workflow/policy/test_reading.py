import json
import re
import tomllib
from pathlib import Path
from typing import Any, get_args

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.workflow.shared import policy_from
from tests.workflow.wrong_policies import RIGHT, changed, with_protect

import distpriv as dp
from distpriv.errors import InvalidPolicy
from distpriv.workflow.policy import policy_of, read_policy
from distpriv.workflow.policy.shape import PolicyShape
from distpriv.workflow.policy.toml_places import Places
from distpriv.workflow.policy.toml_text import PolicyText
from distpriv.workflow.policy.toml_writing import toml_string

TABLE = pa.table({"age": [20, 30, 40, 50, 60, 70] * 4, "rich": [True, False] * 12})
SMALL = changed(
    ("adult.parquet", "table.parquet"),
    ("= 100", "= 10"),
    ("never_married = \"count(marital_status = 'Never-married')\"\n", ""),
    ("income = '>50K'", "rich"),
    ("[0.45, 0.55]", "[0.4, 0.6]"),
)


def test_a_policy_is_the_librarys_own_values() -> None:
    policy = policy_from(RIGHT)
    assert policy.query() == dp.Query(age=dp.mean("age"), never_married=dp.count("marital_status = 'Never-married'"))
    assert policy.secrets() == [dp.Share("income = '>50K'", values=(0.45, 0.55))]
    assert policy.target == dp.PrivacyTarget(epsilon=1, delta=1e-3)
    assert policy.ledger.total == dp.PrivacyTarget(epsilon=2, delta=2e-3)
    assert (policy.assurance, policy.weights, policy.records, policy.dataset) == (
        "checked",
        "relative",
        100,
        "hospital-2026",
    )
    assert policy.reference == "/policies/adult.parquet"
    assert policy.private_source() == "/policies/hospital.parquet"
    assert policy.ledger_url() == "sqlite:////policies/ledger.db"


def test_a_model_by_policy_is_the_model_by_hand(adult: pa.Table, tmp_path: Path) -> None:
    pq.write_table(adult, tmp_path / "adult.parquet")
    (tmp_path / "policy.toml").write_text(RIGHT, encoding="utf-8")
    policy = read_policy(tmp_path / "policy.toml")
    by_hand = dp.model(adult, policy.query(), policy.secrets(), records=100)
    by_policy = policy.model()
    assert by_policy.protected_pairs == by_hand.protected_pairs
    for name, law in by_hand.distributions.items():
        assert by_policy.distributions[name].mean == pytest.approx(law.mean)
        assert by_policy.distributions[name].covariance == pytest.approx(law.covariance)


def test_a_model_never_looks_at_the_private_source(tmp_path: Path) -> None:
    pq.write_table(TABLE, tmp_path / "table.parquet")
    (tmp_path / "hospital.parquet").mkdir()  # which nothing could read
    (tmp_path / "policy.toml").write_text(SMALL, encoding="utf-8")
    assert read_policy(tmp_path / "policy.toml").model().names == ("age",)


def test_the_options_of_a_model_and_its_progress_are_passed_on(tmp_path: Path) -> None:
    told: list[tuple[str, int, int]] = []
    pq.write_table(TABLE, tmp_path / "table.parquet")
    text = (
        changed(("mean(age)", "quantile(age, 0.5)"), text=SMALL) + "[model]\ndraws = 60\nseed = 3\nreplacement = true\n"
    )
    provenance = policy_from(text, tmp_path).model(lambda *news: told.append(news)).provenance
    assert (provenance.draws, provenance.seed, provenance.replacement) == (60, 3, True)
    assert told


@pytest.mark.parametrize(
    ("given_", "target"),
    [
        ("epsilon = 1", dp.PrivacyTarget(epsilon=1)),
        ("epsilon = 0\ndelta = 0.1", dp.PrivacyTarget(epsilon=0, delta=0.1)),
        ("max_attack_accuracy = 0.6", dp.PrivacyTarget.from_attack_accuracy(0.6)),
        ("max_attack_accuracy = 0.6\ndelta = 0.001", dp.PrivacyTarget.from_attack_accuracy(0.6, delta=0.001)),
    ],
)
def test_a_target_is_given_by_epsilon_or_by_attack_accuracy(given_: str, target: dp.PrivacyTarget) -> None:
    policy = policy_from(RIGHT.partition("[privacy]")[0] + f"[privacy]\n{given_}\n")
    assert policy.target == target
    assert policy.ledger.total == target  # without a word on the total there is one release
    assert policy.ledger_url() == "sqlite:////policies/ledger.db"


@pytest.mark.parametrize(
    "total", ["epsilon = 1.0\ndelta = 1e-3", "max_attack_accuracy = 0.8", "epsilon = 9\ndelta = 0.1"]
)
def test_a_total_as_large_as_the_release_is_accepted(total: str) -> None:
    assert policy_from(changed(("epsilon = 2.0\ndelta = 2e-3", total))).ledger.total


def test_a_total_by_attack_accuracy_is_held_against_that_of_the_release() -> None:
    text = changed(("epsilon = 1.0\ndelta = 1e-3", "max_attack_accuracy = 0.6"))
    same = changed(("epsilon = 2.0\ndelta = 2e-3", "max_attack_accuracy = 0.6"), text=text)
    assert policy_from(same).ledger.total == policy_from(same).target
    less = changed(("epsilon = 2.0\ndelta = 2e-3", "max_attack_accuracy = 0.55"), text=text)
    with pytest.raises(InvalidPolicy, match=r"max_attack_accuracy = 0\.55, less than this one alone asks for"):
        policy_from(less)


@pytest.mark.parametrize(
    ("given_", "weights"),
    [('"relative"', "relative"), ('"units"', "units"), ("{age = 2}", {"age": 2.0}), ("{}", {})],
)
def test_weights_are_relative_or_by_statistic(given_: str, weights: object) -> None:
    assert policy_from(changed(("assurance =", f"weights = {given_}\nassurance ="))).weights == weights


def test_mechanisms_are_compared_by_their_estimates_unless_a_policy_asks_for_noise() -> None:
    assert policy_from(RIGHT).objective == "estimate"
    policy = policy_from(changed(("assurance =", 'objective = "noise"\nassurance =')))
    assert policy.objective == policy.to_dict()["privacy"]["objective"] == "noise"


def test_the_largest_error_is_given_by_statistic() -> None:
    assert policy_from(RIGHT).max_error == {}
    policy = policy_from(changed(("assurance =", "max_error = {age = 0.5}\nassurance =")))
    assert policy.max_error == policy.to_dict()["privacy"]["max_error"] == {"age": 0.5}


def test_secrets_may_be_several_of_every_kind() -> None:
    text = with_protect(
        "share = 'rich'\nbetween = [0.3, 0.7]\nwithin = 0.1\n[[protect]]\npairs = [['a', 'c']]\n"
        "[protect.scenarios]\na = 'a.csv'\nb = 'b/*.parquet'\nc = 'duckdb:c.db?table=t'\n"
    )
    share, scenarios = policy_from(text).secrets()
    assert share == dp.Share("rich", between=(0.3, 0.7), within=0.1)
    assert isinstance(scenarios, dp.Scenarios)
    expected = {"a": "/policies/a.csv", "b": "/policies/b/*.parquet", "c": "duckdb:/policies/c.db?table=t"}
    assert scenarios.tables == expected
    assert scenarios.pairs == (("a", "c"), ("c", "a"))


def test_scenarios_need_no_reference(tmp_path: Path) -> None:
    pq.write_table(TABLE, tmp_path / "a.parquet")
    pq.write_table(TABLE.slice(3), tmp_path / "b.parquet")
    text = changed(
        ('reference = "table.parquet"\n', ""),
        ('share = "rich"\nvalues = [0.4, 0.6]', "scenarios = {a = 'a.parquet', b = 'b.parquet'}"),
        text=SMALL,
    )
    assert set(policy_from(text, tmp_path).model().distributions) == {"a", "b"}
    absent = changed(("b.parquet", "c.parquet"), text=text)
    with pytest.raises(InvalidPolicy, match=r"line 12, protect.scenarios.b: there is no file"):
        policy_from(absent, tmp_path).model()


@pytest.mark.parametrize(
    "source", ["table.parquet", "part*.parquet", "duckdb:census.db?table=persons", "./a/../table.csv"]
)
def test_the_reference_may_be_a_file_a_glob_or_a_database(tmp_path: Path, source: str) -> None:
    folder = tmp_path / "it's [1] folder"
    folder.mkdir()
    pq.write_table(TABLE, folder / "table.parquet")
    pq.write_table(TABLE.slice(0, 11), folder / "part1.parquet")
    pq.write_table(TABLE.slice(11), folder / "part2.parquet")
    with duckdb.connect(str(folder / "census.db")) as database:
        database.from_arrow(TABLE).create("persons")
        database.execute(f"COPY persons TO '{str(folder / 'table.csv').replace(chr(39), chr(39) * 2)}'")
    (folder / "policy.toml").write_text(changed(("table.parquet", source), text=SMALL), encoding="utf-8")
    model = read_policy(folder / "policy.toml").model()
    expected = dp.model(TABLE, dp.Query(age=dp.mean("age")), dp.Share("rich", values=(0.4, 0.6)), records=10)
    assert model.distributions["rich @ 0.4"].mean == pytest.approx(expected.distributions["rich @ 0.4"].mean)


def test_paths_are_seen_from_the_policy_wherever_it_is_read_from(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "inner").mkdir()
    (tmp_path / "inner" / "policy.toml").write_text(RIGHT, encoding="utf-8")
    seen = []
    for folder, name in ((tmp_path, "inner/policy.toml"), (tmp_path / "inner", "policy.toml")):
        monkeypatch.chdir(folder)
        policy = read_policy(name)
        seen.append((policy.reference, policy.private, policy.ledger.url))
    assert seen[0] == seen[1]
    assert seen[0][0] == str(tmp_path / "inner" / "adult.parquet")


def test_absolute_paths_and_servers_stay_as_they_are() -> None:
    text = changed(("adult.parquet", "/data/adult.parquet"), ("sqlite:///ledger.db", "postgresql://u:p@host/db"))
    assert policy_from(text).reference == "/data/adult.parquet"
    assert policy_from(text).ledger_url() == "postgresql://u:p@host/db"
    absolute = changed(("sqlite:///ledger.db", "sqlite:////var/ledger.db?timeout=5"))
    assert policy_from(absolute).ledger_url() == "sqlite:////var/ledger.db?timeout=5"


def test_a_private_source_that_is_the_reference_by_a_link_is_refused(tmp_path: Path) -> None:
    pq.write_table(TABLE, tmp_path / "table.parquet")
    (tmp_path / "hospital.parquet").symlink_to(tmp_path / "table.parquet")
    with pytest.raises(InvalidPolicy, match="is also a public one here"):
        policy_from(SMALL, tmp_path)


def test_a_policy_without_a_private_source_can_be_planned_and_not_released() -> None:
    policy = policy_from(changed(('private = "hospital.parquet"\n', "")))
    assert policy.private is None
    with pytest.raises(InvalidPolicy, match=r"policy.toml, line 1, data.private: this is missing or withheld"):
        policy.private_source()


def test_letters_of_any_language_are_read(tmp_path: Path) -> None:
    table = pa.table({"größe": [1, 2, 3, 4] * 5, "性別": ["女", "男"] * 10})
    pq.write_table(table, tmp_path / "表.parquet")
    text = changed(
        ("table.parquet", "表.parquet"),
        ('age = "mean(age)"', '"größe 📏" = "mean(größe)"'),
        ("rich", "性別 = '女'"),
        text=SMALL,
    )
    (tmp_path / "policy.toml").write_text(text, encoding="utf-8")
    policy = read_policy(tmp_path / "policy.toml")
    assert policy.model().names == ("größe 📏",)
    assert json.loads(json.dumps(policy.to_dict()))["release"]["statistics"] == {"größe 📏": "mean(größe)"}


def test_the_dictionary_of_a_policy_says_nothing_of_where_private_things_are() -> None:
    text = changed(("sqlite:///ledger.db", "postgresql://anna:geheim@host/db"))
    policy = policy_from(text)
    written = json.dumps(policy.to_dict())
    assert "/policies" not in written
    for secret in ("hospital.parquet", "geheim", "postgresql"):
        assert secret not in written
        assert secret not in repr(policy)
    assert json.loads(written) == policy.to_dict()


def test_the_dictionary_of_a_policy_is_a_policy_again() -> None:
    """Nothing that a release depends on is lost: read back, it asks for and hides the same."""
    more = 'weights = "relative"\nobjective = "noise"\nmax_error = {age = 2}\nassurance ='
    policy = policy_from(changed(("assurance =", more)))
    file = PolicyText(name="policy.json", text="", document=policy.to_dict(), places=Places())
    again = policy_of(file, Path("/policies"))
    own = ("questions", "protected", "target", "assurance", "weights", "objective", "max_error")
    for part in (*own, "options", "records", "dataset", "reference"):
        assert getattr(again, part) == getattr(policy, part), part
    assert again.ledger.total == policy.ledger.total


lines = RIGHT.split("\n")


@given(st.data())
def test_a_policy_with_any_mistake_is_read_or_refused_in_one_sentence(data: st.DataObject) -> None:
    text = RIGHT
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(text) - 1))
        gone = data.draw(st.sampled_from([0, 1, 1, 5, 40]))
        text = text[:at] + data.draw(st.text(st.sampled_from("[]{}=\"'#.,\n a1é-"), max_size=3)) + text[at + gone :]
    try:
        policy_from(text)
    except InvalidPolicy as refused:
        message = str(refused)
        assert "\n" not in message
        assert message.startswith("policy.toml")
        assert message[-1] in ".?"


KEYS = [(number, line.split(" = ")[0]) for number, line in enumerate(lines) if re.match(r"[a-z_]+ = ", line)]
OURS = [(number, key) for number, key in KEYS if key not in ("age", "never_married")]


@pytest.mark.parametrize(("number", "key"), OURS)
def test_any_misspelt_key_is_named_with_its_line(number: int, key: str) -> None:
    for wrong in (key[:-1], key + "s", key.upper() + "X"):
        text = "\n".join([*lines[:number], lines[number].replace(key, wrong, 1), *lines[number + 1 :]])
        with pytest.raises(InvalidPolicy, match=rf"line {number + 1}, [a-z.]+{wrong}: there is no such key"):
            policy_from(text)


@pytest.mark.parametrize(("number", "key"), OURS)
def test_any_value_of_a_wrong_type_is_named_with_its_line(number: int, key: str) -> None:
    for wrong in ("[[]]", "{}", "2026-01-01", "true"):
        text = "\n".join([*lines[:number], f"{key} = {wrong}", *lines[number + 1 :]])
        with pytest.raises(InvalidPolicy, match=rf"line {number + 1}, [a-z.]+{key}[^:]*: this must be "):
            policy_from(text)


words = st.text(st.characters(exclude_categories=["C", "Z"]), min_size=1, max_size=9)


@given(words, words)
def test_names_and_text_of_any_letters_come_through(name: str, value: str) -> None:
    condition = "count(x = '{}')".format(value.replace("'", "''"))
    text = changed(
        ('age = "mean(age)"', f"{toml_string(name)} = {toml_string(condition)}"),
        ("never_married = ", f"{toml_string(name + '!')} = "),
    )
    policy = policy_from(text)
    assert policy.to_dict()["release"]["statistics"][name] == condition


def test_every_key_of_a_policy_has_an_example_that_is_toml() -> None:
    for table in PolicyShape.model_fields.values():
        inner: Any = next(iter(get_args(table.annotation)), table.annotation)
        for name, key in inner.model_fields.items():
            if name not in ("statistics", "tables", "weights"):
                assert key.examples is not None
                assert list(tomllib.loads(key.examples[0])) == [name]
