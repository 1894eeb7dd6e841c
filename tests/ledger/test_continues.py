"""One table, one budget: an id that continues another one, and a table that comes back under a new id."""

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest
from tests.releasing.shared import plan_with

import distpriv as dp
from distpriv.errors import BudgetSpent, DistprivError, InvalidInput, LedgerChanged, PrivateTableRefused
from distpriv.ledger import Ledger

TOTAL = dp.PrivacyTarget(epsilon=2, delta=0.002)


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    ledger = Ledger.create(f"sqlite:///{tmp_path / 'ledger.db'}")
    ledger.append(ledger.history("old"), TOTAL, "one", {})
    return ledger


def test_ids_that_continue_each_other_share_one_budget(ledger: Ledger) -> None:
    before = ledger.history("old")
    assert ledger.append(ledger.history("new", "Old"), TOTAL, "two", {}).position == 2
    assert ledger.append(ledger.history("newer", "new"), TOTAL, "three", {}).position == 3
    for name in ("old", "new", "newer"):
        assert [entry.query_key for entry in ledger.history(name).entries] == ["one", "two", "three"]
    with pytest.raises(LedgerChanged):
        ledger.append(before, TOTAL, "four", {})
    with pytest.raises(LedgerChanged):
        ledger.append(ledger.history("newer"), TOTAL, "two", {})
    assert Ledger.open(ledger.url).history("new") == ledger.history("new")


def test_an_id_that_continues_another_one_is_held_to_its_total(ledger: Ledger) -> None:
    with pytest.raises(BudgetSpent):
        ledger.look(ledger.history("new", "old"), dp.PrivacyTarget(epsilon=9, delta=0.002), "two")
    ledger.look(ledger.history("new", False), dp.PrivacyTarget(epsilon=9, delta=0.002), "two")
    assert ledger.history("new").continues is False


def test_an_access_under_a_new_id_does_not_keep_it_from_continuing_the_old_one(ledger: Ledger) -> None:
    ledger.look(ledger.history("new"), dp.PrivacyTarget(epsilon=9, delta=0.002), "two")
    assert ledger.append(ledger.history("new", "old"), TOTAL, "two", {}).position == 2
    history = Ledger.open(ledger.url).history("old")
    assert (len(history.entries), history.looks, history.total) == (2, 1, TOTAL)


def test_what_was_promised_of_a_budget_stays_with_it(ledger: Ledger) -> None:
    ledger.append(ledger.history("other"), TOTAL, "one", {})
    ledger.declare(ledger.history("declared"), TOTAL, {})
    ledger.look(ledger.history("continued", "other"), TOTAL, "two")
    uses: list[Callable[[], object]] = [
        lambda: ledger.history("other", "old"),
        lambda: ledger.history("declared", "old"),
        lambda: ledger.history("continued", "old"),
        lambda: ledger.history("continued", False),
        lambda: ledger.history("new", "nobody"),
        lambda: ledger.history("new", "no id"),
    ]
    for use in uses:
        with pytest.raises(InvalidInput):
            use()


def test_the_same_table_under_another_id_is_refused_with_the_cure(tmp_path: Path, adult: pa.Table) -> None:
    ledger = Ledger.create(f"sqlite:///{tmp_path / 'ledger.db'}")
    secret = dp.Share("income = '>50K'", values=(0.45, 0.55))
    plans = [
        plan_with(
            dp.model(adult.slice(0, 2500), dp.Query(x=dp.mean(column)), secret, records=100, reference="population"),
            "expected_value_gaussian",
        )
        for column in ("age", "hours_per_week")
    ]
    private = adult.slice(3000, 100)
    total = dp.PrivacyTarget(epsilon=4, delta=0.1)
    first = dp.release(plans[0], private, ledger=ledger, dataset="ward", total=total)
    shuffled = private.take(pa.array(range(99, -1, -1))).append_column("note", pa.array(["x"] * 100))
    recoded = shuffled.drop_columns(["income"]).append_column("income", pa.array(["y"] * 100))

    def again(table: pa.Table, name: str, **how: object) -> dp.Release:
        return dp.release(plans[0], table, ledger=ledger, dataset=name, total=total, **how)  # type: ignore[arg-type]

    for number, table in enumerate((private, shuffled)):
        with pytest.raises(PrivateTableRefused, match='continues = "ward"'):
            again(table, f"ward-{number}")
    with pytest.raises(DistprivError):  # recoded: noticed all the same, or refused for its column
        again(recoded, "ward-2")
    assert again(private, "ward-0", continues="ward").values == first.values
    assert again(private, "ward-1", continues=False).position == 1
    assert again(adult.slice(4000, 100), "another").position == 1
    second = dp.release(
        plans[1], private, ledger=ledger, dataset="ward-0", total=total, continues="ward", adaptive="assumed"
    )
    assert (second.position, ledger.history("ward").entries[-1].dataset) == (2, "ward-0")
