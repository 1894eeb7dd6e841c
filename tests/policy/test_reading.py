import json
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.policy.right import RIGHT, changed, policy_from, with_protect

import distpriv as dp
from distpriv.errors import InvalidPolicy
from distpriv.policy import read_policy
from distpriv.policy.toml_text import toml_line

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


@pytest.mark.parametrize(
    ("given_", "weights"),
    [('"relative"', "relative"), ('"units"', "units"), ("{age = 2}", {"age": 2.0}), ("{}", {})],
)
def test_weights_are_relative_or_by_statistic(given_: str, weights: object) -> None:
    assert policy_from(changed(("assurance =", f"weights = {given_}\nassurance ="))).weights == weights


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


def test_a_private_source_that_is_the_reference_by_a_link_is_refused(tmp_path: Path) -> None:
    pq.write_table(TABLE, tmp_path / "table.parquet")
    (tmp_path / "hospital.parquet").symlink_to(tmp_path / "table.parquet")
    with pytest.raises(InvalidPolicy, match="is also a public one here"):
        policy_from(SMALL, tmp_path)


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


words = st.text(st.characters(exclude_categories=["C", "Z"]), min_size=1, max_size=9)


@given(words, words)
def test_names_and_text_of_any_letters_come_through(name: str, value: str) -> None:
    condition = "count(x = '{}')".format(value.replace("'", "''"))
    text = changed(
        ('age = "mean(age)"', toml_line(name, condition)),
        ("never_married = ", toml_line(name + "!", 0).removesuffix("0")),
    )
    policy = policy_from(text)
    assert policy.to_dict()["release"]["statistics"][name] == condition
