from hypothesis import given
from hypothesis import strategies as st

from distpriv.framework.scenarios import Scenario


def test_scenarios_are_coupled_only_by_one_predicate_of_one_table() -> None:
    few, many = (Scenario.of_share("x > 0", positives, records=10) for positives in (2, 7))
    elsewhere = Scenario(name="x > 0 @ 0.2", table="other.csv", predicate="x > 0", sizes=(2, 8))
    boom, bust = (Scenario(name=name, table="one.csv", sizes=(10,)) for name in ("boom", "bust"))
    assert few.couples_with(many)
    assert few.swapped(many) == many.swapped(few) == 5
    for one, other in ((few, elsewhere), (few, boom), (boom, few), (boom, bust)):
        assert not one.couples_with(other)
        assert one.swapped(other) == 10


@given(st.integers(0, 20), st.integers(1, 20))
def test_a_scenario_is_read_as_it_was_written(positives: int, others: int) -> None:
    share = Scenario.of_share("x > 0", positives, records=positives + others)
    assert Scenario.from_dict(share.name, share.to_dict(), share.records) == share
    table = Scenario(name="boom", table="a.csv", sizes=(positives + others,))
    read = Scenario.from_dict("boom", table.to_dict(), table.records)
    assert read.draws_as(table)
    assert read.table is not None
    assert not read.draws_as(share)
