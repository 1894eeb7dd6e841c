"""What a model refuses is blamed on the line that it is about, whatever else its sentence mentions."""

import re
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.policy.right import policy_from

from distpriv.errors import InvalidPolicy

BEGINNING = """\
[data]
reference = "rows.parquet"
id = "rows"
[release]
records = {records}
[release.statistics]
{statistics}
{protect}
[privacy]
epsilon = 1.0
delta = 1e-3
{more}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a table whose columns are parts of each other's names."""
    numbers = list(range(40))
    table = {"x": numbers, "max": numbers, "gap": [None, *numbers[1:]], "kind": ["a", "b"] * 20}
    pq.write_table(pa.table(table), tmp_path / "rows.parquet")
    pq.write_table(pa.table({**table, "x": [2**60] * 40}), tmp_path / "large.parquet")
    return tmp_path


def share(predicate: str, values: str = "[0.4, 0.6]") -> str:
    return f'[[protect]]\nshare = "{predicate}"\nvalues = {values}'


def refused(
    folder: Path,
    *,
    statistics: str = 'a = "mean(x)"',
    protect: str = share("x > 20"),
    records: int = 10,
    more: str = "",
) -> tuple[str, str]:
    """Return the text of the line that is blamed, and what is said of it."""
    text = BEGINNING.format(statistics=statistics, protect=protect, records=records, more=more)
    with pytest.raises(InvalidPolicy) as refusal:
        policy_from(text, folder).model()
    found = re.match(r"policy\.toml, line (\d+), ", str(refusal.value))
    assert found is not None, str(refusal.value)
    return text.split("\n")[int(found.group(1)) - 1], str(refusal.value)


def two_shares(first: str, second: str) -> str:
    return f"{share(first)}\n{share(second)}"


@pytest.mark.parametrize("order", [1, -1])
@pytest.mark.parametrize(
    ("wrong", "right"),
    [("max > 200", "x > 20"), ("NOT x > 200", "x > 20"), ("x > 200 OR x > 209", "x > 20")],
)
def test_a_share_that_is_true_of_no_row_is_blamed_and_not_one_whose_text_is_part_of_it(
    folder: Path, wrong: str, right: str, order: int
) -> None:
    line, said = refused(folder, protect=two_shares(*(wrong, right)[::order]))
    assert line == f'share = "{wrong}"'
    assert "protect[" in said


def test_max_is_not_mistaken_for_x_where_rows_are_too_few(folder: Path) -> None:
    protect = f"{share('x > 36', '[0.2, 0.4]')}\n{share('max > 36', '[0.8, 1.0]')}"
    more = '[model]\nreference = "population"'
    line, said = refused(folder, protect=protect, records=5, more=more)
    assert "scenario 'max > 36 @ 0.8' needs 4 rows" in said
    assert line == 'share = "max > 36"'


def test_a_share_of_another_type_is_blamed_itself(folder: Path) -> None:
    line, said = refused(folder, protect=two_shares("x > 20", "max"))
    assert line == 'share = "max"'
    assert said.endswith("'max' is of type int64, not true or false: write a comparison, such as \"sex = 'Female'\".")


def test_a_statistic_is_blamed_by_its_name_and_not_by_the_beginning_of_another(folder: Path) -> None:
    line, said = refused(folder, statistics='a = "mean(x)"\n"a\' b" = "mean(y)"')
    assert line == '"a\' b" = "mean(y)"'
    assert "there is no column 'y'" in said
    assert "statistic" not in said.partition(": ")[2]


def test_a_statistic_that_speaks_of_a_share_is_blamed_itself(folder: Path) -> None:
    line, _ = refused(folder, statistics="a = \"count(x > 20 AND kind = 1 + 'x > 20 @ 0.4')\"")
    assert not line.startswith("share")


def test_a_table_of_a_scenario_is_blamed_where_its_values_are_too_large(folder: Path) -> None:
    scenarios = '[[protect]]\nscenarios = {boom = "rows.parquet", bust = "large.parquet"}'
    line, said = refused(folder, protect=scenarios)
    assert line == 'a = "mean(x)"'
    assert "more digits" in said


def test_a_table_with_gaps_is_blamed_and_not_the_share_of_the_same_text(folder: Path) -> None:
    line, said = refused(folder, statistics='a = "mean(gap)"')
    assert line == 'reference = "rows.parquet"'
    assert "has nulls or NaN in column 'gap'" in said
