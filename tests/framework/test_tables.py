from typing import Any

import pytest

import distpriv as dp
from distpriv.errors import InvalidQuery
from distpriv.framework.tables import MOST_CELLS, Table

SEXES = {"sex": ["F", "M"]}


def test_a_table_is_its_cells_and_nothing_else_to_a_query() -> None:
    by_hand = dp.Query({"t[F]": dp.count("\"sex\" = 'F'"), "t[M]": dp.count("\"sex\" = 'M'")})
    assert dp.Query(t=dp.table("count", by="sex", levels=SEXES, empty=[])).statistics == by_hand.statistics


def test_statistics_come_before_the_cells_of_tables() -> None:
    query = dp.Query(t=dp.table("count", by="sex", levels=SEXES, empty=[]), age=dp.mean("age"))
    assert query.names == ("age", "t[F]", "t[M]")


def test_a_mean_by_group_is_a_count_and_a_total_for_every_group() -> None:
    query = dp.Query(t=dp.table("mean(age + 1)", by="sex", levels=SEXES, empty=[]))
    assert query.names == ("t[F] count", "t[M] count", "t[F] total", "t[M] total")
    assert query.statistics[2][1].text == "total(CASE WHEN \"sex\" = 'F' THEN age + 1 ELSE 0 END)"
    assert query.has_exact_moments


def test_a_median_by_group_is_one_statistic_for_every_group_with_what_counts_where_it_is_empty() -> None:
    table = dp.table("median(age + 1)", by="sex", levels=SEXES, empty=[], otherwise=[38, 40.5])
    query = dp.Query(t=table)
    assert query.names == ("t[F]", "t[M]")
    assert [statistic.text for _, statistic in query.statistics] == [
        "group_quantile(age + 1, \"sex\" = 'F', 0.5, 38)",
        "group_quantile(age + 1, \"sex\" = 'M', 0.5, 40.5)",
    ]
    assert not query.has_exact_moments
    assert table.text == "quantile(age + 1, 0.5) by sex"
    assert Table.from_dict(table.to_dict()) == table
    assert table.to_dict()["level"] == 0.5


def test_a_variance_by_group_is_not_known_before_the_reference_says_what_counts_where_rows_are_too_few() -> None:
    table = dp.table("variance(age)", by="sex", levels=SEXES, empty=[])
    assert table.has_cells
    assert not table.is_labelled
    assert not dp.Query(t=table).has_exact_moments
    known = table.labelled(table.levels, [], otherwise=[1.0, 2.0])
    assert dp.Query(t=known).statistics[1][1].text == "group_variance(age, \"sex\" = 'M', 2)"
    assert Table.from_dict(known.to_dict()) == known


@pytest.mark.parametrize("written", [{"quantile": "age"}, {"mean": "age", "level": 0.5}, {"count": True, "level": 0.5}])
def test_a_level_belongs_to_a_quantile(written: dict[str, Any]) -> None:
    with pytest.raises(InvalidQuery, match="a level says which quantile the cells are of"):
        Table.from_dict({**written, "by": ["sex"]})


def test_structural_zeros_have_no_number() -> None:
    levels: dict[str, list[str | int | bool]] = {"sex": ["F", "M"], "pregnant": [False, True]}
    query = dp.Query(t=dp.table("count", by=["sex", "pregnant"], levels=levels, empty=[("M", True)]))
    assert query.names == ("t[F, False]", "t[F, True]", "t[M, False]")


def test_quotes_in_names_and_levels_stay_text() -> None:
    query = dp.Query(t=dp.table("count", by='a"b', levels={'a"b': ["it's"]}, empty=[]))
    assert query.statistics[0][1].text == "count(\"a\"\"b\" = 'it''s')"


def test_what_is_not_listed_counts_as_one() -> None:
    table = dp.table("count", by=["sex", "grade"], levels={"sex": ["F"], "grade": [1, 2]}, other=True, empty=[])
    assert table.labels == (("F", "other"), (1, 2, "other"))
    assert table.predicate(("other", 2)) == '"sex" NOT IN (\'F\') AND "grade" = 2'
    assert table.predicate(("F", "other")) == '"sex" = \'F\' AND "grade" NOT IN (1, 2)'


def test_a_query_in_another_order_keeps_its_tables() -> None:
    query = dp.Query(age=dp.mean("age"), t=dp.table("count", by="sex", levels=SEXES, empty=[]))
    turned = query.in_order_of(["t[M]", "age", "t[F]"])
    assert turned.tables == query.tables
    assert turned.names == ("t[M]", "age", "t[F]")


def test_names_are_not_known_before_labels_are() -> None:
    query = dp.Query(t=dp.table("count", by="sex"))
    assert not query.is_labelled
    with pytest.raises(InvalidQuery, match="the labels of table 't' are not known before the reference is read"):
        _ = query.names


@pytest.mark.parametrize(
    ("what", "options", "message"),
    [
        ("proportion(age > 3)", {"by": "sex"}, "cannot be in a table"),
        ("group_variance(age, sex = 'F', 1)", {"by": "sex"}, "cannot be in a table"),
        ("quantile(age)", {"by": "sex"}, "does not say which quantile"),
        ("median(age, resolution = 1)", {"by": "sex"}, "options are given as"),
        ("variance(age, resolution = 1)", {"by": "sex"}, "leave resolution and bounds out"),
        ("mean(age)", {"by": "sex", "otherwise": [1]}, "otherwise is for quantiles and variances"),
        ("median(age)", {"by": "sex", "otherwise": []}, "otherwise lists a number for every cell"),
        ("median(age)", {"by": "sex", "otherwise": ["x"]}, "each number of otherwise must be"),
        ("variance(age)", {"by": "sex", "otherwise": [-1]}, "each number of otherwise must be at least 0"),
        (
            "median(age)",
            {"by": "sex", "levels": SEXES, "empty": [], "otherwise": [1]},
            "has 2 cells, and otherwise has 1",
        ),
        ("count(age > 3)", {"by": "sex"}, "cannot be in a table"),
        ("mean(age, resolution = 1)", {"by": "sex"}, "leave resolution and bounds out"),
        (7, {"by": "sex"}, "a table is of a count, a mean or a total, got 7"),
        ("count", {"by": []}, "a table needs the columns that it is by"),
        ("count", {"by": ["sex", "Sex"]}, "a table is by different columns"),
        ("count", {"by": "sex", "levels": {"sex": []}}, "a list that is not empty"),
        ("count", {"by": "sex", "levels": {"sx": ["F"]}}, "did you mean 'sex'?"),
        ("count", {"by": "sex", "levels": {"sex": ["F", "F"]}}, "name 'F' twice"),
        ("count", {"by": "sex", "levels": {"sex": ["F", 1]}}, "all of one kind"),
        ("count", {"by": "sex", "levels": {"sex": [1.5]}}, "all of one kind"),
        ("count", {"by": "sex", "levels": ["F"]}, "levels are lists by the name of their column"),
        ("count", {"by": "sex", "other": True}, "none are"),
        ("count", {"by": "sex", "other": ["age"]}, "list the levels of that column"),
        ("count", {"by": "sex", "levels": {"sex": ["other"]}, "other": True}, "has a level 'other'"),
        ("count", {"by": "sex", "levels": SEXES, "empty": [["X"]]}, "is no cell of a table"),
        ("count", {"by": "sex", "levels": SEXES, "empty": [["F"], ["M"]]}, "has no cell"),
        ("count", {"by": "n", "levels": {"n": list(range(MOST_CELLS + 1))}, "empty": []}, "1,001 cells"),
    ],
)
def test_wrong_tables_are_refused_in_a_sentence(what: str, options: dict[str, object], message: str) -> None:
    with pytest.raises(InvalidQuery, match=message.replace("?", r"\?")):
        dp.table(what, **options)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "table",
    [
        dp.table("count", by="sex"),
        dp.table("mean(age)", by=["sex", "grade"], levels={"grade": [1, 2]}, other=True),
        dp.table("total(age)", by="sex", levels=SEXES, empty=[["M"]]),
    ],
)
def test_a_table_is_the_same_when_it_is_read_again(table: Table) -> None:
    assert Table.from_dict(table.to_dict()) == table


def test_a_written_table_is_of_one_thing() -> None:
    with pytest.raises(InvalidQuery, match="here of count and mean"):
        Table.from_dict({"count": True, "mean": "age", "by": ["sex"]})
    with pytest.raises(InvalidQuery, match="here of nothing"):
        Table.from_dict({"by": ["sex"]})


@pytest.mark.parametrize(
    "options", [{"other": [["sex"]]}, {"other": {"a": 1}}, {"other": "c"}, {"empty": "a"}, {"empty": 3}]
)
def test_lists_that_are_none_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(InvalidQuery):
        dp.table("count", by="sex", levels={"sex": ["F", "M"]}, **options)


def test_what_is_empty_is_counted_once() -> None:
    assert dp.table("count", by="sex", levels={"sex": ["F", "M"]}, empty=[["F"], ["F"]]).empty == (("F",),)


def test_cells_of_levels_with_commas_have_names_of_their_own() -> None:
    levels = {"a": ["x", "x, y"], "b": ["y, z", "z"]}
    names = dp.Query(t=dp.table("count", by=["a", "b"], levels=levels, empty=[])).names
    assert names[:2] == ("t[x, 'y, z']", "t[x, z]")
    assert len(set(names)) == 4


@pytest.mark.parametrize("level", ["a\nb", "\x07", "\x1b[31m", "\ud800"])
def test_a_level_that_nobody_can_read_is_refused(level: str) -> None:
    with pytest.raises(dp.errors.InvalidQuery, match="a character that nobody can read"):
        dp.table("count", by="a", levels={"a": [level]})


def test_a_column_called_as_the_numbers_of_cells_are_is_refused() -> None:
    with pytest.raises(dp.errors.InvalidQuery, match="cannot be by a column called 'Total'"):
        dp.table("count", by=["sex", "Total"])
