import re
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.workflow.shared import policy_from

import distpriv as dp
from distpriv.errors import InvalidPolicy, InvalidSource
from distpriv.workflow.policy.initial import MOST_STATISTICS, initial_policy

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
    assert policy.target == dp.PrivacyTarget(epsilon=1, delta=1e-3)


def test_a_draft_has_the_columns_of_its_table_and_guesses_at_the_secret(adult_file: Path, adult: pa.Table) -> None:
    text = initial_policy(adult_file, reference="adult.parquet")
    assert model_of(text, adult).names[:2] == ("age", "fnlwgt")
    assert "share = \"income = '>50K'\"  # only a guess: it is 25% of the reference" in text
    assert "# sex_female = \"count(sex = 'Female')\"" in text
    assert re.search(r'age = "mean\(age, resolution = 1\)" +# from 17 to 90', text)


def test_every_statistic_of_a_draft_can_be_taken_up(adult_file: Path, adult: pa.Table) -> None:
    taken, number = OFFERED.subn("", initial_policy(adult_file))
    assert number > 20
    assert set(re.findall(r"(?:mean|count)\((\w+)", taken)) == set(adult.column_names)
    assert model_of(taken, adult.slice(0, 2000)).dimension == number + MOST_STATISTICS


def test_both_ways_to_write_a_share_are_explained_in_the_example() -> None:
    text = (
        initial_policy().replace("# between", "between").replace("# within", "within").replace("values =", "# values =")
    )
    secret = policy_from(text).secrets()[0]
    assert secret == dp.Share("income = '>50K'", between=(0.3, 0.7), within=0.1)


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
    assert model_of(OFFERED.sub("", text), table).dimension == 6


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
            "kind": ["x", "y"] * 20,
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


def test_a_table_of_texts_alone_has_one_count_released() -> None:
    table = pa.table({"kind": ["x", "y", "y"] * 20})
    assert model_of(initial_policy(table), table).names == ("kind_y",)


@pytest.mark.parametrize("table", [pa.table({"age": list(range(30))}), pa.table({"age": pa.array([], pa.int64())})])
def test_where_nothing_offers_itself_the_person_must_decide(table: pa.Table) -> None:
    text = initial_policy(table)
    assert "no column offers itself" in text
    with pytest.raises(InvalidPolicy, match=r"this has neither a share nor scenarios|there is nothing to release"):
        model_of(text, table)


def test_a_source_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidSource, match="there is no file"):
        initial_policy(tmp_path / "absent.csv")
