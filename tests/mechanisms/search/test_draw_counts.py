"""How much evidence coupled draws have to give, and of which rows they give it."""

import numpy as np
import polars as pl
import pytest

import distpriv as dp
from distpriv.errors import InvalidModel
from distpriv.mechanisms.search.coupled_draws import calibration
from distpriv.modelling import reference
from distpriv.modelling.drawing import Reference

TABLE = pl.DataFrame({"x": np.arange(40_000) % 977, "s": np.arange(40_000) % 2 == 0})
TARGET = dp.PrivacyTarget(epsilon=1.0, delta=0.05)
MEAN, MEDIAN = dp.Query(x=dp.mean("x")), dp.Query(x=dp.quantile("x", 0.5))


def test_evidence_is_asked_for_that_lets_one_of_two_noises_be_chosen() -> None:
    model = dp.model(TABLE, MEDIAN, dp.Share("s", values=(0.4, 0.5, 0.6)), records=20, draws=20)
    plan = calibration(model, TARGET, name="…", seed=1)
    assert plan.laws == 3
    assert plan.failure_of_one_law == pytest.approx(0.01 * TARGET.delta / (2 * 3))


@pytest.mark.parametrize(("query", "rows"), [(MEAN, "sample"), (MEAN, "population"), (MEDIAN, "population")])
def test_draws_of_some_rows_prove_nothing_of_all_of_them(
    query: dp.Query, rows: Reference, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reference, "MOST_ROWS", 30_000)
    model = dp.model(TABLE, query, dp.Share("s", values=(0.4, 0.6)), records=20, draws=20, reference=rows)
    with pytest.raises(InvalidModel, match="give a random sample of its rows as the reference"):
        calibration(model, TARGET, name="…", seed=1)


def test_of_a_large_sample_a_smaller_one_is_the_reference(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reference, "MOST_ROWS", 30_000)
    monkeypatch.setattr(reference, "STRATUM_ROWS", 9_000)
    model = dp.model(TABLE, MEDIAN, dp.Share("s", values=(0.4, 0.6)), records=20, draws=20)
    assert [stratum.rows for stratum in model.strata] == [9_000, 9_000]
    _, unseen, *_ = calibration(model, TARGET, name="…", seed=1).evidence()
    assert unseen.facts["rows"]["rows where s is satisfied"] == 9000
    exact = dp.model(TABLE, MEAN, dp.Share("s", values=(0.4, 0.6)), records=20)
    assert [stratum.rows for stratum in exact.strata] == [20_000, 20_000]
    laws = exact.rows().row_laws()
    assert [len(stratum) for stratum in laws.strata] == [9_000, 9_000]
    assert [laws.rows_of(place) for place in range(2)] == [20_000, 20_000]
