"""With one process a plan starts no other, wherever it could."""

from typing import Any
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pytest

import distpriv as dp
from distpriv.modelling.sampling import SamplingSettings

TARGET = dp.PrivacyTarget(2, 0.1)


class StartedError(Exception):
    """A process was started."""


def _started(*_: Any, **__: Any) -> None:
    raise StartedError


@pytest.mark.slow
@pytest.mark.parametrize("processes", [1, 2])
def test_a_plan_with_one_process_draws_and_searches_in_this_one(adult: pa.Table, processes: int) -> None:
    query = dp.Query(spread=dp.function(lambda columns: float(np.ptp(columns["age"])), columns=["age"]))
    secret = dp.Share("income = '>50K'", values=(0.4, 0.6))
    model = dp.model(adult.slice(0, 500), query, secret, records=20, draws=200)
    choice = {"coupled_laplace": {"draws": 1000}, "no_noise": {}, "expected_value_laplace": {}}
    with (
        patch("distpriv.planning.running.ProcessPoolExecutor", _started),
        patch("distpriv.modelling.sampling.Parallel", _started),
        patch("distpriv.modelling.sampling.SAMPLING", SamplingSettings(worth_starting=-1.0)),
    ):
        if processes > 1:
            with pytest.raises(StartedError):
                dp.plan(model, TARGET, mechanisms=choice, processes=processes)
            return
        found = dp.plan(model, TARGET, mechanisms=choice, processes=processes)
    assert {option.name for option in found.options} | {refusal.name for refusal in found.refusals} == set(choice)
    assert found.model == model
