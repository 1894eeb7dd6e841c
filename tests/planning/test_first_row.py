"""What costs nothing is tried first, so that a plan soon shows something that may be used."""

import pytest
from paper.setting import paper_query

import distpriv as dp
from distpriv.planning.option import Option, Refusal, Skipped


@pytest.mark.slow
def test_the_first_mechanism_that_is_run_may_be_used_and_all_are_shown_once() -> None:
    secret = dp.Share("income = '>50K'", values=(0.45, 0.55))
    model = dp.model(dp.datasets.adult(), paper_query(), secret, records=100)
    shown: list[Option | Refusal | Skipped] = []
    plan = dp.plan(model, dp.PrivacyTarget(1, 1e-3), watch=shown.append)
    first = next(option for option in shown if isinstance(option, Option))
    assert first.may_be_used("checked")
    results: list[Option | Refusal | Skipped] = [*plan.options, *plan.refusals, *plan.skipped]
    assert sorted(result.name for result in shown) == sorted(result.name for result in results)
