import pytest
from hypothesis import given
from hypothesis import strategies as st

import distpriv as dp
from distpriv.errors import InvalidQuery
from distpriv.framework.notation import parse_statistic
from distpriv.framework.queries import Quantile, RowMean, Statistic, Variance

words = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
quoted = words.map(lambda word: "'" + word.replace("'", "''") + "'")
names = st.one_of(st.sampled_from(["age", "größe", "sex"]), words.map(lambda w: '"' + w.replace('"', '""') + '"'))
atoms = st.one_of(names, quoted, st.integers(0, 99).map(str))
blanks = st.sampled_from(["", " ", "\n", "\t "])
expressions = st.recursive(
    atoms,
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from([" = ", " AND ", " + ", " <= "]), inner).map("".join),
        st.lists(inner, min_size=1, max_size=3).map(lambda parts: f"coalesce({', '.join(parts)})"),
        st.lists(inner, min_size=1, max_size=3).map(lambda parts: f"x IN ({', '.join(parts)})"),
    ),
    max_leaves=6,
)
numbers = st.one_of(st.integers(-(10**6), 10**6).map(float), st.floats(-1e20, 1e20))
positive = st.none() | st.floats(1e-9, 1e9)
bounds = st.none() | st.tuples(numbers, numbers).map(lambda ends: (min(ends), max(ends)))
statistics: st.SearchStrategy[Statistic] = st.one_of(
    st.builds(RowMean, expression=expressions, summed=st.booleans(), resolution=positive, bounds=bounds),
    st.builds(Variance, expression=expressions, resolution=positive),
    st.builds(Quantile, expression=expressions, level=st.floats(0, 1), resolution=positive),
    expressions.map(dp.count),
    expressions.map(dp.proportion),
)


@given(statistics)
def test_a_statistic_is_read_as_it_was_written(statistic: Statistic) -> None:
    assert parse_statistic(statistic.text) == statistic


@given(expressions, blanks, st.sampled_from(["(1, 2.5)", "[1,2.5]", "( 1 ,2.5 )"]))
def test_blanks_and_brackets_make_no_difference(expression: str, blank: str, ends: str) -> None:
    text = f"{blank}mean{blank}({blank}{expression}{blank},{blank}bounds{blank}={blank}{ends}{blank}){blank}"
    assert parse_statistic(text) == dp.mean(expression, bounds=(1, 2.5))


@given(expressions)
def test_the_text_of_a_statistic_does_not_change_when_it_is_read_again(expression: str) -> None:
    text = dp.quantile(expression, 0.5, resolution=1).text
    assert parse_statistic(text).text == text


@given(st.text(st.sampled_from("mean(age,'\")=[]1.-/*$ \n"), max_size=25))
def test_any_text_is_a_statistic_or_refused(text: str) -> None:
    for name in ("", "mean(", "quantile(", "count("):
        try:
            statistic = parse_statistic(name + text)
        except InvalidQuery:
            continue
        assert parse_statistic(statistic.text) == statistic


@pytest.mark.parametrize(
    ("text", "statistic"),
    [
        ("mean(age)", dp.mean("age")),
        ("mean(age, resolution = 1)", dp.mean("age", resolution=1)),
        ("mean(age, bounds = (17, 90))", dp.mean("age", bounds=(17, 90))),
        ("total(hours, resolution=.5, bounds=(-1e2, +3.))", dp.total("hours", resolution=0.5, bounds=(-100, 3))),
        ("count(marital_status = 'Never-married')", dp.count("marital_status = 'Never-married'")),
        ("count(job = 'a, (b' AND name = 'it''s)')", dp.count("job = 'a, (b' AND name = 'it''s)'")),
        ('proportion("a,b)" > 3)', dp.proportion('"a,b)" > 3')),
        ("proportion(sex IN ('Female', 'Male'))", dp.proportion("sex IN ('Female', 'Male')")),
        ("variance(greatest(a, b))", dp.variance("greatest(a, b)")),
        ("quantile(hours_per_week, 0.5)", dp.quantile("hours_per_week", 0.5)),
        ("quantile(hours, level = 0.25, resolution = 1)", dp.quantile("hours", 0.25, resolution=1)),
        ("quantile(hours, resolution = 1, level = 0.25)", dp.quantile("hours", 0.25, resolution=1)),
        ("count(level = 1)", dp.count("level = 1")),
    ],
)
def test_a_text_is_the_statistic_it_says(text: str, statistic: Statistic) -> None:
    assert parse_statistic(text) == statistic


def test_a_python_function_has_no_text() -> None:
    with pytest.raises(InvalidQuery, match="has no text"):
        _ = dp.function(len, columns=["age"]).text
