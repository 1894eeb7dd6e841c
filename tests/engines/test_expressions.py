import pyarrow as pa
import pytest
from tests.engines.hostile_expressions import ACCEPTED, REFUSED, ROW

from distpriv.engines.engine import SOURCE, engine_for
from distpriv.engines.expressions import parse_expression
from distpriv.errors import InvalidExpression

COLUMNS = ["age", "income", "sex", "hours-per-week", "Zip Code", "born"]


@pytest.mark.parametrize(
    ("text", "sql"),
    [
        ("income = '>50K'", "\"income\" = '>50K'"),
        ("AGE", '"age"'),
        ('"hours-per-week" / 2', '"hours-per-week" / 2'),
        ("age between 18 and 65 and not (sex in ('Male', 'Other'))",
         "\"age\" BETWEEN 18 AND 65 AND NOT (\"sex\" IN ('Male', 'Other'))"),
        ("case when age > 30 then 1 else 0 end", 'CASE WHEN "age" > 30 THEN 1 ELSE 0 END'),
        ("coalesce(age, 0) + abs(-age)", 'COALESCE("age", 0) + ABS(-"age")'),
        ("income like '>%' -- a comment", "\"income\" LIKE '>%'"),
        ("cast(age as double)", 'CAST("age" AS DOUBLE)'),
        ("born >= date '1990-01-01'", "\"born\" >= CAST('1990-01-01' AS DATE)"),
        ("age /* */ -- */ ; drop table t /*", '"age"'),
        ("born > timestamp '1990-01-01 00:00:00'", "\"born\" > CAST('1990-01-01 00:00:00' AS TIMESTAMP)"),
        ("sex = 'O''Hara'", "\"sex\" = 'O''Hara'"),
        ("((age))", '(("age"))'),
    ],
)  # fmt: skip
def test_one_expression_over_known_columns_is_written_out_again(text: str, sql: str) -> None:
    assert parse_expression(text, COLUMNS, where="here").sql("duckdb") == sql


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("getenv('HOME')", "calls getenv: the functions that may be called are abs, "),
        ("random() < 0.5", "calls rand"),
        ("uuid() = sex", "calls uuid"),
        ("now() > born", "calls now"),
        ("current_date > born", "calls current_date"),
        ("read_csv('x.csv')", "calls read_csv"),
        ("hash(age)", "calls hash"),
        ("regexp_matches(sex, 'M')", "calls regexp_like"),
        ("sum(age)", "has the aggregate sum in it: say what is wanted of one row"),
        ("count(*) > 1", "has the aggregate count in it"),
        ("median(age)", "has the aggregate median in it"),
        ("row_number() over ()", "has a window function in it"),
        ("avg(age) over (partition by sex)", "has a window function in it"),
        ("(select 1)", "has a subquery in it"),
        ("age > (select max(age) from t)", "has a subquery in it"),
        ("exists (select 1)", "calls exists|subquery"),
        ("age in (select age from t)", "looks values up elsewhere|subquery"),
        ("age in unnest([1])", "looks values up elsewhere|in it|not one SQL"),
        ("age; drop table t", "is not one SQL expression"),
        ("age) from t where (age", "is more than one SQL expression"),
        ("age), (sex", "is more than one SQL expression"),
        ("age) + (age", "is more than one SQL expression"),
        ("age, sex", "is more than one SQL expression"),
        ("age as x", "in it|not one SQL"),
        ("t.age", "names a table in t.age: write the column's name alone"),
        ("*", "has Star in it"),
        ("columns('a.*')", "calls columns|in it"),
        ("$1", "has .* in it"),
        ("?", "has .* in it"),
        ("age[1]", "has .* in it"),
        ("x -> x + 1", "calls|in it|no column"),
        ("interval 1 day", "has .* in it"),
        ("cast(age as struct(a int))", "casts to"),
        ("age >", "is not one SQL expression"),
        ("", "is not one SQL expression|more than one"),
        ("'unclosed", "is not one SQL expression"),
        ("(" * 5000 + "age" + ")" * 5000, "10,003 characters: write it with at most 10,000"),
        ("(" * 4000 + "age" + ")" * 4000, "has too many parts within parts: write it with at most"),
        ("age" + " + age" * 99, "deep: write it with at most"),
        (f"age in ({', '.join(map(str, range(1000)))})", r"has 1,00\d parts: write it with at most"),
        ("agee > 3", "there is no column 'agee' in 'agee > 3': did you mean 'age'?"),
        ('income = ">50K"', "text goes in single quotes, '>50K'"),
        ("hours-per-week > 3", 'write the column\'s name in double quotes: "hours-per-week"'),
        ("nothing", "there are: age, income, sex"),
    ],
)
def test_everything_else_is_refused_and_says_where(text: str, message: str) -> None:
    with pytest.raises(InvalidExpression, match=message) as refusal:
        parse_expression(text, COLUMNS, where="statistic 'a'")
    assert str(refusal.value).startswith("statistic 'a': ")


def test_columns_read_only_through_coalesce_or_is_null_are_guarded() -> None:
    expression = parse_expression("coalesce(age, 0) > 3 or income is null or sex = 'Male'", COLUMNS, where="here")
    assert expression.columns == {"age", "income", "sex"}
    assert expression.guarded == {"age", "income"}
    assert parse_expression("coalesce(age, 0) > age", COLUMNS, where="here").guarded == set()


@pytest.mark.parametrize("text", ACCEPTED)
def test_what_is_let_through_is_one_value_of_one_row(text: str) -> None:
    engine = engine_for(pa.table({name: [value] for name, value in ROW.items()}))
    written = parse_expression(text, ROW, where="here").sql("duckdb")
    found = engine.select(f"SELECT ({written}) AS value FROM {SOURCE}")["value"].to_pylist()
    assert found == [ACCEPTED[text]]
    assert type(found[0]) is type(ACCEPTED[text])
    assert parse_expression(written, ROW, where="here").sql("duckdb") == written


@pytest.mark.parametrize("text", REFUSED, ids=lambda text: repr(text[:60]))
def test_what_reaches_beyond_a_row_is_refused_in_a_sentence(text: str) -> None:
    with pytest.raises(InvalidExpression, match=REFUSED[text]) as refusal:
        parse_expression(text, ROW, where="statistic 'a'")
    assert str(refusal.value).startswith("statistic 'a': ")
    assert "\n" not in str(refusal.value)
