"""`distpriv init` writes a policy that `distpriv plan` can follow, whatever its source is called and holds."""

import os
import re
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.csv as pc
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.policy.right import policy_from

import distpriv as dp
from distpriv.cli.output import show_written
from distpriv.errors import InvalidInput, InvalidPolicy, InvalidSource
from distpriv.policy import read_policy
from distpriv.policy.draft import MOST_STATISTICS, draft_policy, initial_policy
from distpriv.policy.survey import Survey, survey
from distpriv.workflow.plan_policy import plan_policy

OFFERED = re.compile(r"^# (?=\S+ = \"(?:mean|count|proportion|quantile)\()", re.MULTILINE)


def model_of(text: str, reference: object) -> dp.QueryModel:
    """Model a policy on a table in memory, as if it were the file it names."""
    policy = policy_from(text)
    return dp.model(reference, policy.query(), policy.secrets(), records=policy.records)


@pytest.fixture(scope="module")
def adult_file(tmp_path_factory: pytest.TempPathFactory, adult: pa.Table) -> Path:
    """The Adult data as a Parquet file."""
    path = tmp_path_factory.mktemp("initial") / "adult.parquet"
    pq.write_table(adult, path)
    return path


def test_the_example_is_a_policy_on_adult(adult_file: Path) -> None:
    policy = policy_from(initial_policy(), adult_file.parent)
    assert policy.reference == str(adult_file)
    assert policy.model().names == ("age", "hours", "never_married")
    assert policy.target == dp.PrivacyTarget.from_attack_accuracy(0.6)


def test_a_draft_has_the_columns_of_its_table_and_guesses_at_the_secret(adult_file: Path, adult: pa.Table) -> None:
    text = initial_policy(adult_file, reference="adult.parquet")
    assert model_of(text, adult).names[:2] == ("age", "fnlwgt")
    assert re.search(r"^share = \"income = '>50K'\" +# only a guess: it is 25% of the reference", text, re.MULTILINE)
    assert "# sex_female = \"count(sex = 'Female')\"" in text
    assert re.search(r'age = "mean\(age, resolution = 1\)" +# from 17 to 90', text)


def test_every_statistic_of_a_draft_can_be_taken_up(adult_file: Path, adult: pa.Table) -> None:
    taken, number = OFFERED.subn("", initial_policy(adult_file))
    assert number > 20
    assert set(re.findall(r"(?:mean|count)\((\w+)", taken)) == {*adult.column_names} - {"income"}
    assert model_of(taken, adult.slice(0, 2000)).dimension == number + MOST_STATISTICS


@pytest.mark.parametrize("drafted", [False, True])
def test_a_mean_can_be_hidden_by_taking_up_what_is_offered(adult_file: Path, adult: pa.Table, drafted: bool) -> None:
    text = initial_policy(adult_file) if drafted else initial_policy()
    for line in ("[[protect]]", 'mean = "hours_per_week"', "values = [39" if drafted else "values = [38"):
        assert f"# {line}" in text
        text = text.replace(f"# {line}", line)
    share, mean = policy_from(text).secrets()
    assert isinstance(share, dp.Share)
    assert isinstance(mean, dp.Mean)
    low, high = mean.apart.points
    assert low < np.mean(adult["hours_per_week"].to_numpy()) < high
    assert f"mean(hours_per_week) @ {low:.15g}" in model_of(text, adult).distributions


def test_the_mean_that_is_offered_is_not_that_of_a_yes_and_no() -> None:
    table = pa.table({"pay": [10.0, 20.0, 30.0, 45.0] * 50, "manager": [0, 1, 0, 1] * 50})
    offered = survey(table).suggested_mean
    assert offered is not None
    assert offered[0].name == "pay"
    alone = survey(table.select(["manager"])).suggested_mean
    assert alone is not None
    assert alone[0].name == "manager"


def test_a_table_without_numbers_that_vary_offers_no_mean() -> None:
    table = pa.table({"same": [1.0] * 400, "kind": ["a", "b"] * 200, "rare": [1.0] + [0.0] * 399})
    assert "# mean = " not in initial_policy(table)


names = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=8)
odd = st.sampled_from(
    ["order", "it's", 'a"b', "a\nb", "true", "x y", "a,b)", "--", "现", "#", "current_date", "Null", "1"]
)


@settings(max_examples=15)
@given(
    st.lists(names | odd, min_size=4, max_size=4, unique_by=str.lower),
    st.lists(names | odd, min_size=2, max_size=2, unique=True),
)
def test_a_draft_from_any_table_is_a_policy_on_it(columns: list[str], kinds: list[str]) -> None:
    table = pa.table(
        {
            columns[0]: list(range(60)),
            columns[1]: [kinds[0]] * 25 + [kinds[1]] * 35,
            columns[2]: [0.5, 0.25] * 30,
            columns[3]: [True, False, False] * 20,
        }
    )
    text = initial_policy(table)
    assert "\n\n\n" not in text
    assert model_of(text, table).dimension == 2
    assert model_of(OFFERED.sub("", text), table).dimension == 4


def test_columns_that_cannot_be_released_as_they_are_stay_comments() -> None:
    table = pa.table(
        {
            "gaps": [1.0, None] * 20,
            "nan": [1.0, float("nan")] * 20,
            "same": [3] * 40,
            "huge": [2**60, 0] * 20,
            "name": [f"person {k}" for k in range(40)],
            "half": ["a", None] * 20,
            "age": list(range(40)),
            "kind": ["x", "x", "y", "y"] * 10,
            "when": pa.array(range(40), pa.date32()),
        }
    )
    text = initial_policy(table)
    active = [
        line.split(" =")[0] for line in text.split("[release.statistics]")[1].split("[[")[0].split("\n")[1:] if line
    ]
    assert [key for key in active if not key.startswith("#")] == ["age"]
    assert {"# gaps", "# nan", "# same"} <= set(active)
    assert not {"# huge", "# when"} & set(active)
    assert "from 1 to 1; has nulls" in text
    assert model_of(text, table).names == ("age",)


@pytest.mark.parametrize("table", [pa.table({"age": list(range(30))}), pa.table({"age": pa.array([], pa.int64())})])
def test_where_nothing_offers_itself_the_person_must_decide(table: pa.Table) -> None:
    text = initial_policy(table)
    assert "no column offers itself" in text
    with pytest.raises(InvalidPolicy, match=r"protect|release"):
        model_of(text, table)


def test_a_source_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidSource, match="there is no file"):
        initial_policy(tmp_path / "absent.csv")


def register(rows: int) -> pa.Table:
    """A table as registers have it: keys, flags, dates and names besides what can be asked about."""
    return pa.table(
        {
            "patient_id": [9_000_000 + 17 * k % 1009 for k in range(rows)],
            "running": list(range(rows, 0, -1)),
            "age": [20 + 7 * k % 60 for k in range(rows)],
            "smoker": [int(k % 4 == 0) for k in range(rows)],
            "dose": [2.5 if k % 3 else 5.0 for k in range(rows)],
            "surname": [f"N{k}" for k in range(rows)],
            "admitted": pa.array([18_000 + k % 300 for k in range(rows)], pa.date32()),
            "country": ["DE"] * rows,
        }
    )


def test_keys_and_whatever_else_cannot_be_asked_about_are_left_out_with_the_reason() -> None:
    text = initial_policy(register(400))
    for line in (
        "# patient_id is left out .*# by its name it is a key",
        "# running is left out .*# it tells every row from all others",
        "# surname is left out .*# it has more than 50 different texts",
        "# admitted is left out .*# it is of type date32",
        "# country is left out .*# it is the same in every row",
    ):
        assert re.search(line, text), line
    assert "mean(patient_id" not in text
    assert model_of(text, register(400)).names == ("age", "smoker")


def test_numbers_of_which_few_rows_happen_to_differ_are_no_key() -> None:
    assert model_of(initial_policy(register(400).slice(0, 60)), register(60)).names == (
        "running",
        "age",
        "smoker",
    )


def test_columns_of_two_values_are_offered_as_secrets_and_of_0_and_1_the_yes() -> None:
    text = initial_policy(register(400))
    assert 'share = "dose = 5.0"' in text
    assert re.search(r'# share = "smoker = 1" +# or this: 25% of the reference, and values = \[0.2, 0.3\] fit', text)
    assert "smoker = 0" not in text
    other = text.replace('share = "dose = 5.0"', "").replace('# share = "smoker = 1"', 'share = "smoker = 1"')
    assert [scenario.split(" @")[0] for scenario in model_of(other, register(400)).distributions] == ["smoker = 1"] * 2


def test_what_is_left_out_is_said_where_the_policy_is_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    pq.write_table(register(400), tmp_path / "register.parquet")
    monkeypatch.chdir(tmp_path)
    show_written(draft_policy("policy.toml", "register.parquet"), json=False)
    said = capsys.readouterr().out
    assert said.startswith("WRITTEN  policy.toml")
    assert re.search("patient_id +by its name it is a key, and nobody asks for the mean of one", said)
    assert "distpriv plan policy.toml" in said


ROWS = pa.table({"age": [20 + k % 50 for k in range(400)], "income": ["low", "high", "low"] * 133 + ["low"]})

FILES = {
    "a CSV file": ("census.csv", "census.csv"),
    "a Parquet file": ("census.parquet", "census.parquet"),
    "a compressed CSV file by its full path": ("census.csv.gz", "{here}/census.csv.gz"),
    "a file with a dot in front": ("census.csv", "./census.csv"),
    "a file of the folder above": ("../above.csv", "../above.csv"),
    "a file of the home folder": ("census.csv", "~/census.csv"),
    "a pattern": ("part 1.csv", "part*.csv"),
    "a pattern of all folders": ("years/2026/a.parquet", "years/**/*.parquet"),
    "a pattern of Parquet files by a full path": ("years/a.parquet", "{here}/years/*.parquet"),
    "a name with a space in front": (" census.csv", " census.csv"),
    "a name with quotes": ('it\'s "the" census.csv', 'it\'s "the" census.csv'),
    "a name with brackets": ("census [1].csv", "census [1].csv"),
    "a name in Greek, with a # and a %": ("απογραφή #1 50%.parquet", "απογραφή #1 50%.parquet"),
    "a name with an odd space": ("the\u202fcensus.csv", "the\u202fcensus.csv"),
    "a name with a line end": ("the\ncensus.csv", "the\ncensus.csv"),
    "a name that begins as a database does": ("duckdb:census.csv", "./duckdb:census.csv"),
    "a name that begins as a home folder does": ("~census.csv", "{here}/~census.csv"),
    "a name that is a question": ("what?table=.csv", "what?table=.csv"),
}
SEEN_FROM_EVERY_FOLDER = (
    "a CSV file",
    "a compressed CSV file by its full path",
    "a file of the folder above",
    "a file of the home folder",
    "a pattern of all folders",
    "a name that begins as a database does",
    "a name with quotes",
)
"""One name of each kind that is written in another way into a policy of another folder."""
FOLDERS = {"the same folder": ".", "a folder below": "policies", "another folder": "../other [2]/it's"}


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder that a command is run in, with a name that could be a pattern."""
    folder = tmp_path / "data [1]"
    folder.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.setenv("HOME", str(folder))
    return folder


def write(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".parquet":
        pq.write_table(ROWS, path)
        return
    with pa.output_stream(path, compression="detect") as file:
        pc.write_csv(ROWS, file)


def policy_in(folder: str) -> str:
    Path(folder).mkdir(parents=True, exist_ok=True)
    return os.path.join(folder, "policy.toml")


@pytest.mark.parametrize(
    ("file", "source", "folder"),
    [
        pytest.param(*file, folder, id=f"{name}-{place}")
        for name, file in FILES.items()
        for place, folder in FOLDERS.items()
        if name in SEEN_FROM_EVERY_FOLDER or place == "another folder"
    ],
)
def test_a_policy_from_files_can_be_followed_from_any_folder(file: str, source: str, folder: str, here: Path) -> None:
    write(here / file)
    named = source.format(here=here if "*" not in source else escaped(here))
    policy = read_policy(draft_policy(policy_in(folder), named).path)
    assert policy.model().names == ("age",)


def escaped(path: Path) -> str:
    return str(path).replace("[", "[[]")


@pytest.mark.parametrize("folder", FOLDERS.values(), ids=FOLDERS)
@pytest.mark.parametrize(
    "name", ["census.duckdb", "./census.duckdb", "../above.db", "~/census.db", "{here}/census.db", "it's [1] über.db"]
)
def test_a_policy_from_a_database_can_be_followed_from_any_folder(name: str, folder: str, here: Path) -> None:
    file = name.format(here=here)
    with duckdb.connect(os.path.expanduser(file)) as connection:
        connection.register("rows", ROWS)
        connection.execute("CREATE SCHEMA s; CREATE TABLE s.persons AS SELECT * FROM rows")
    policy = read_policy(draft_policy(policy_in(folder), f"duckdb:{file}?table=s.persons").path)
    assert policy.model().names == ("age",)


@pytest.mark.parametrize(
    ("source", "written"),
    [
        ("spark:local[2]?path=census.parquet", "spark:local[2]?path=../data/census.parquet"),
        ("spark:?path=years/*.parquet", "spark:?path=../data/years/*.parquet"),
        ("spark:local[2]?path=s3://bucket/census.parquet", "spark:local[2]?path=s3://bucket/census.parquet"),
        ("spark:?path=dbfs:/census.parquet", "spark:?path=dbfs:/census.parquet"),
        ("spark:spark://host:7077?table=lake.census", "spark:spark://host:7077?table=lake.census"),
    ],
)
def test_what_spark_reads_is_called_as_it_is_called_from_the_policy(
    source: str, written: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "data").mkdir()
    monkeypatch.chdir(tmp_path / "data")
    monkeypatch.setattr("distpriv.policy.draft.survey", lambda _: Survey(rows=0, columns=()))
    monkeypatch.setattr("distpriv.policy.draft._of_survey", lambda _, reference: reference)
    assert draft_policy(tmp_path / "policy.toml", source).path.read_text(encoding="utf-8") == written.replace("../", "")
    (tmp_path / "other").mkdir()
    assert draft_policy(tmp_path / "other" / "policy.toml", source).path.read_text(encoding="utf-8") == written


def test_a_policy_from_a_table_can_be_planned(here: Path) -> None:
    write(here / "part 1.csv")
    assert plan_policy(str(draft_policy(policy_in("../other"), "part*.csv").path)).plan.chosen is not None


def test_a_name_that_no_text_can_hold_is_refused_and_nothing_is_written(here: Path) -> None:
    source = os.fsdecode(b"caf\xe9.csv")
    (here / source).write_text("age,income\n" + "30,low\n40,high\n" * 100)
    with pytest.raises(InvalidInput, match="is no name in UTF-8: rename it"):
        draft_policy("policy.toml", source)
    assert not os.path.lexists("policy.toml")


@pytest.mark.parametrize(("name", "offered"), [("fnlwgt", True), ("pweight", True), ("wealth", False)])
def test_a_column_that_is_called_like_a_weight_is_offered_as_one(name: str, offered: bool) -> None:
    rows = pa.table({"age": list(range(200)), name: [1.5 + k % 7 for k in range(200)], "sex": ["f", "m"] * 100})
    assert (f'# weight = "{name}"' in initial_policy(rows)) is offered


def test_a_draft_is_not_written_over_a_file_or_where_there_is_no_folder(tmp_path: Path) -> None:
    path = draft_policy(tmp_path / "policy.toml").path
    text = path.read_text(encoding="utf-8")
    for where, why in ((path, "left alone"), (tmp_path / "nowhere" / "policy.toml", "No such file or directory")):
        with pytest.raises(InvalidInput, match=why):
            draft_policy(where)
    assert path.read_text(encoding="utf-8") == text
