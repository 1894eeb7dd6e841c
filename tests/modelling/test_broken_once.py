"""Claims about models that were false once, each with what broke it."""

from typing import cast

import polars as pl
import pytest
from tests.spark import Place

import distpriv as dp
from distpriv.errors import InvalidSource, MissingValues
from distpriv.modelling.drawing import Method

TABLE = pl.DataFrame({"x": [None, *range(1, 40)], "s": [k % 2 == 0 for k in range(40)]})
SHARE = dp.Share("s", values=(0.4, 0.6))


@pytest.mark.parametrize("method", ["exact", "sampling"])
@pytest.mark.parametrize(
    "expression",
    ["case when s then null else coalesce(x, 0) end", "nullif(x, 7)", "ln(coalesce(x, 3) - 3)", "sqrt(x - 3)"],
)
def test_no_row_is_dropped_for_what_an_expression_makes_of_it(place: Place, method: str, expression: str) -> None:
    """`missing='drop'` let a CASE choose the rows of the model, by the secret too, and counted them in private."""
    with pytest.raises(InvalidSource, match=r"COALESCE or ELSE|divides by nothing that is 0"):
        dp.model(
            place(TABLE),
            dp.Query(a=dp.mean(expression)),
            SHARE,
            records=10,
            missing="drop",
            method=cast(Method, method),
            draws=10,
        )


def test_rows_are_dropped_for_their_columns_and_that_is_said_to_concern_the_reference_alone(place: Place) -> None:
    model = dp.model(place(TABLE), dp.Query(a=dp.mean("x")), SHARE, records=10, missing="drop")
    assert model.distributions["s @ 0.4"].mean[0] == pytest.approx(0.4 * 20 + 0.6 * 20)
    with pytest.raises(MissingValues, match=r"column 'x' \(1 of 40 rows\).*missing='drop', which leaves out none"):
        dp.model(place(TABLE), dp.Query(a=dp.mean("x")), SHARE, records=10)
    with pytest.raises(MissingValues, match=r"the value of 'nullif\(x, 7\)' \(1 of 39 rows\): no row is left out"):
        dp.model(place(TABLE), dp.Query(a=dp.mean("nullif(x, 7)")), SHARE, records=10, missing="drop")
