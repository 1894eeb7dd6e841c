import math
from collections.abc import Callable

import numpy as np
import pytest

import distpriv as dp
from distpriv.errors import InvalidQuery


def test_names_are_in_order_and_functions_number_theirs() -> None:
    query = dp.Query(
        a=dp.mean("x"), coefficient=dp.function(len, columns=["x"], size=2), n=dp.function(len, columns=["x"])
    )
    assert query.names == ("a", "coefficient_1", "coefficient_2", "n")
    assert query.dimension == 4
    assert not query.has_exact_moments
    assert dp.Query(a=dp.count("x > 1"), b=dp.proportion("x > 1"), c=dp.total("x")).has_exact_moments


def test_a_query_may_be_given_as_keywords_as_a_mapping_or_as_pairs() -> None:
    age, female = dp.mean("age"), dp.count("sex = 'Female'")
    assert dp.Query(age=age, female=female) == dp.Query({"age": age, "female": female})
    assert dp.Query([("age", age)], female=female) == dp.Query(age=age, female=female)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (dp.Query, "at least one statistic"),
        (lambda: dp.Query([("a", dp.mean("x")), ("a", dp.mean("y"))]), "two statistics are named 'a'"),
        (
            lambda: dp.Query(a_1=dp.mean("x"), a=dp.function(len, columns=["x"], size=2)),
            "two statistics are named 'a_1'",
        ),
        (lambda: dp.Query(a="mean(age)"), r"use mean, count, .* as in a=mean\('age'\)"),  # type: ignore[arg-type]
        (lambda: dp.Query("age"), "a query names its statistics, got 'age'"),  # type: ignore[arg-type]
        (lambda: dp.Query(dp.mean("age")), "a query names its statistics"),  # type: ignore[arg-type]
        (lambda: dp.Query([dp.mean("age")]), "a query names its statistics"),  # type: ignore[list-item]
        (lambda: dp.function(len, columns=None), "needs the names of its columns, got None"),  # type: ignore[arg-type]
        (lambda: dp.mean("age", bounds=np.array(5)), "bounds must be two numbers"),  # type: ignore[arg-type]
        (lambda: dp.mean(""), "needs SQL text"),
        (lambda: dp.mean(3), "needs SQL text"),  # type: ignore[arg-type]
        (lambda: dp.mean("age", resolution=0), "resolution must be above 0, got 0"),
        (lambda: dp.mean("age", bounds=(9, 1)), r"bounds must ascend, got \(9, 1\)"),
        (lambda: dp.mean("age", bounds=(0, math.inf)), "a bound must be a finite number, got inf"),
        (lambda: dp.mean("age", bounds=5), "bounds must be two numbers"),  # type: ignore[arg-type]
        (lambda: dp.quantile("age", 50), "the level of a quantile must be at least 0 and at most 1, got 50"),
        (lambda: dp.function("age", columns=["age"]), "needs something to call"),  # type: ignore[arg-type]
        (lambda: dp.function(len, columns="age"), r"write columns=\['age'\]"),
        (lambda: dp.function(len, columns=["age"], size=0), "size must be a whole number, at least 1, got 0"),
    ],
)
def test_a_senseless_query_is_refused(make: Callable[[], object], message: str) -> None:
    with pytest.raises(InvalidQuery, match=message):
        make()
