"""How many datasets pools have room for, and what is said where that is not enough."""

import re

import numpy as np
import polars as pl
import pytest

import distpriv as dp
from distpriv.errors import InvalidModel
from distpriv.mechanisms.search.calibration import Calibration, calibration
from distpriv.mechanisms.search.draw_counts import MOST_ROUNDS
from distpriv.progress import silent

TABLE = pl.DataFrame({"x": np.arange(40_000) % 977, "s": np.arange(40_000) % 2 == 0})
TARGET = dp.PrivacyTarget(epsilon=1.0, delta=0.05)


def plan_of(query: dp.Query, share: dp.Share, pool: int | None, target: dp.PrivacyTarget = TARGET) -> Calibration:
    model = dp.model(TABLE, query, share, records=20, pool=pool, draws=20)
    return calibration(model, target, name="…", pairing=None, draws=None, seed=1, progress=silent)


MEDIAN, TWO = dp.Query(x=dp.quantile("x", 0.5)), dp.Share("s", values=(0.4, 0.6))


def test_a_pool_that_is_too_small_is_refused_and_what_is_advised_is_enough() -> None:
    with pytest.raises(InvalidModel, match="the pools have rows for 83 independent datasets") as refusal:
        plan_of(MEDIAN, TWO, 1000)
    times = re.search(r"pools (\d+) times as large", str(refusal.value))
    assert times is not None
    assert plan_of(MEDIAN, TWO, 1000 * int(times[1])).pools is not None
    with pytest.raises(InvalidModel):
        plan_of(MEDIAN, TWO, 1000 * (int(times[1]) - 1))


def test_pilot_and_round_fit_into_the_pool_and_rounds_use_it_again() -> None:
    plan = plan_of(MEDIAN, TWO, 12_000)
    assert plan.pools is not None
    assert (plan.pools.pilot + plan.draws) * 12 <= 12_000  # twelve rows of a stratum at most to a dataset
    assert plan.rounds == plan.pools.rounds == MOST_ROUNDS
    assert plan_of(MEDIAN, TWO, None).pools is None
    assert plan_of(MEDIAN, TWO, None).rounds == 1


def test_means_need_no_more_rows_than_the_widest_protected_swap() -> None:
    near = dp.Share("s", between=(0.1, 0.9), within=0.1)
    plan = plan_of(dp.Query(x=dp.mean("x")), near, 8_000)
    assert plan.pools is not None
    room = plan.pools.pilot + plan.draws
    assert room == 8_000 // 2  # two rows of twenty are a tenth


def test_evidence_is_asked_for_that_lets_one_of_two_noises_be_chosen() -> None:
    plan = plan_of(MEDIAN, dp.Share("s", values=(0.4, 0.5, 0.6)), None)
    assert plan.laws == 3
    assert plan.failure_of_one_law == pytest.approx(0.01 * TARGET.delta / (2 * 3))
