import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import distpriv as dp
from distpriv.errors import InvalidInput, InvalidQuery
from distpriv.framework.notation import parse_statistic
from distpriv.framework.queries import Statistic
from distpriv.releasing.written_queries import definitions, query_from_dict, query_key, query_to_dict, require_distinct

columns = st.sampled_from(["age", "hours", '"weekly wage"'])
statistics = st.one_of(
    st.builds(dp.mean, columns, resolution=st.none() | st.floats(0.01, 10), bounds=st.none() | st.just((0.0, 9.5))),
    st.builds(dp.total, columns),
    st.builds(dp.variance, columns),
    st.builds(dp.quantile, columns, st.floats(0, 1)),
    st.builds(lambda c: dp.count(f"{c} > 3"), columns),
    st.builds(lambda c: dp.proportion(f"{c} <= 3"), columns),
)


@given(st.lists(statistics, min_size=1, max_size=4))
def test_a_query_comes_back_from_json(chosen: list[Statistic]) -> None:
    query = dp.Query([(f"s{k}", statistic) for k, statistic in enumerate(chosen)])
    assert query_from_dict(json.loads(json.dumps(query_to_dict(query)))) == query


@given(st.lists(statistics, min_size=1, max_size=4, unique_by=repr), st.randoms())
def test_names_and_order_do_not_make_another_query(chosen: list[Statistic], random: object) -> None:
    shuffled = chosen.copy()
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    one = dp.Query([(f"s{k}", statistic) for k, statistic in enumerate(chosen)])
    other = dp.Query([(f"t{k}", statistic) for k, statistic in enumerate(shuffled)])
    assert query_key(one, 100) == query_key(other, 100)
    assert query_key(one, 100) != query_key(one, 101)


def test_spelling_of_sql_and_what_is_declared_do_not_count() -> None:
    plain = definitions(dp.Query(a=dp.mean("AGE + 1")))
    assert plain == definitions(dp.Query(b=dp.mean('"age"+1', resolution=2, bounds=(0, 99))))
    assert plain != definitions(dp.Query(a=dp.total("age + 1")))
    assert definitions(dp.Query(a=dp.count("sex = 'f'"))) != definitions(dp.Query(a=dp.count("sex = 'F'")))
    assert definitions(dp.Query(a=dp.quantile("age", 0.5))) != definitions(dp.Query(a=dp.quantile("age", 0.25)))


def test_functions_are_known_by_name_version_columns_and_size_and_cannot_be_read_back() -> None:
    def key(name: str = "a", function: Any = max, version: str = "1", columns: Any = ("age",), size: Any = None) -> str:
        return query_key(dp.Query({name: dp.function(function, columns, size=size, version=version)}), 10)

    low, high = (lambda rows: rows["age"].min()), (lambda rows: rows["age"].max())
    assert key(function=low) == key(function=high)  # the curator says that they are the same
    different = [key(), key("b"), key(function=min), key(version="2"), key(columns=["sex"]), key(size=2)]
    assert len(set(different)) == len(different)
    require_distinct(dp.Query(low=dp.function(low, ["age"]), high=dp.function(high, ["age"])))
    one = dp.Query(a=dp.function(low, columns=["age"]))
    with pytest.raises(InvalidQuery, match="'a' is a function without a version"):
        query_key(one, 10)
    for wrong in ("", " ", 3):
        with pytest.raises(InvalidQuery, match="the version of a function is text"):
            dp.function(max, columns=["age"], version=wrong)  # type: ignore[arg-type]
    with pytest.raises(InvalidQuery, match="all statistics of a dataset at once"):
        query_from_dict(query_to_dict(one))


def test_what_is_no_statistic_is_refused() -> None:
    with pytest.raises(InvalidInput, match="called 'mode': it is mean, total, count, proportion, variance, quantile"):
        query_from_dict([{"name": "a", "kind": "mode", "expression": "age"}])
    with pytest.raises(InvalidQuery):
        definitions(dp.Query(a=dp.mean("age +")))


def test_the_form_of_a_written_query_and_its_key() -> None:
    query = dp.Query(
        a=dp.mean("age", resolution=2, bounds=(0, 99)),
        b=dp.total("hours + 1"),
        c=dp.count("sex='F'"),
        d=dp.proportion("Sex = 'F'"),
        e=dp.variance("age"),
        f=dp.quantile("age", 0.25, resolution=1),
        g=dp.function(max, columns=["age"], version="1", size=2),
    )
    assert query_to_dict(query) == [
        {"name": "a", "kind": "mean", "expression": "age", "resolution": 2.0, "bounds": [0.0, 99.0]},
        {"name": "b", "kind": "total", "expression": "hours + 1", "resolution": None, "bounds": None},
        {"name": "c", "kind": "count", "expression": "sex='F'", "resolution": 1.0, "bounds": [0.0, 1.0]},
        {"name": "d", "kind": "proportion", "expression": "Sex = 'F'", "resolution": 1.0, "bounds": [0.0, 1.0]},
        {"name": "e", "kind": "variance", "expression": "age", "resolution": None},
        {"name": "f", "kind": "quantile", "expression": "age", "level": 0.25, "resolution": 1.0},
        {"name": "g", "kind": "function", "function": "max", "version": "1", "columns": ["age"], "size": 2},
    ]
    assert query_key(query, 100) == "78c05fec716fd7f8e1f0cd57a64be67fe0e57781aea96716d84a871eb02eca6c"


@given(statistics)
def test_a_ledger_and_a_policy_write_the_same_word_and_read_the_same_statistic(statistic: Statistic) -> None:
    written = query_to_dict(dp.Query(a=statistic))
    assert statistic.text.startswith(f"{written[0]['kind']}(")
    assert parse_statistic(statistic.text) == query_from_dict(written).statistics[0][1] == statistic
