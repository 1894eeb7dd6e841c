"""How soon a plan shows something that may be used."""

from time import perf_counter

import pytest
from paper.setting import paper_query

import distpriv as dp
from distpriv.planning.option import Option, Refusal, Skipped


@pytest.mark.slow
def test_the_first_certified_row_is_there_within_a_tenth_of_the_time_of_the_plan() -> None:
    secret = dp.Share("income = '>50K'", values=(0.45, 0.55))
    model = dp.model(dp.datasets.adult(), paper_query(), secret, records=100)
    seen: list[tuple[float, str, bool]] = []
    started = perf_counter()

    def watch(found: Option | Refusal | Skipped) -> None:
        held = isinstance(found, Option) and found.may_be_used("checked")
        seen.append((perf_counter() - started, found.name, held))

    plan = dp.plan(model, dp.PrivacyTarget(1, 1e-3), watch=watch)
    whole = perf_counter() - started
    assert next(at for at, _, held in seen if held) < whole / 10
    names = {option.name for option in plan.options} | {refusal.name for refusal in plan.refusals}
    assert {name for _, name, _ in seen} == names | {skipped.name for skipped in plan.skipped}
    assert len(seen) == len({name for _, name, _ in seen})
