"""What happens when releases are killed, crowd each other or find no room."""

import json
import pickle
import subprocess
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
import sqlalchemy as sql
from attrs import evolve
from tests.crowds import crowd_of
from tests.releasing.shared import SECRET, plan_with
from tests.workflow.small import only, write_policy, write_tables

import distpriv as dp
from distpriv.errors import LedgerUnavailable
from distpriv.guarantees.certify import gaussian_certificate
from distpriv.ledger import Ledger
from distpriv.releasing.fixed import earlier_of
from distpriv.releasing.joint import THEOREM
from distpriv.releasing.record import NOISE
from distpriv.releasing.stack import stacked
from distpriv.workflow.plan_policy import plan_policy

ROOT = Path(__file__).parents[2]
TOTAL = dp.PrivacyTarget(epsilon=20, delta=0.05)
PROCESSES, RELEASES, DATASETS = 8, 5, 5
CROWD = 500


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(sys, "platform") or sys.platform == "win32", reason="processes are forked and killed")
def test_a_release_that_is_killed_at_any_moment_shows_nothing_that_the_ledger_does_not_hold(
    tmp_path: Path, adult: pa.Table
) -> None:
    write_tables(tmp_path, adult)
    with only("group_privacy_laplace"):
        plan = plan_policy(str(write_policy(tmp_path))).plan
    (tmp_path / "plan.pickle").write_bytes(pickle.dumps(evolve(plan, model=evolve(plan.model, simulator=None))))
    command = [sys.executable, "-m", "tests.workflow.kill_releases", str(tmp_path), "200"]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    came = json.loads(ended.stdout)
    assert sum(came.values()) == 200
    assert came["nothing"] > 0  # killed before it was written down,
    assert came["in the ledger"] > 0  # and after that, before it was shown


def crowd() -> pa.Table:
    """Many columns that have little to do with each other, and a little with being rich."""
    rng = np.random.default_rng(0)
    rich = np.arange(2 * CROWD) % 2 == 0
    columns = PROCESSES * RELEASES // DATASETS
    return pa.table({"rich": rich, **{f"x{k}": rng.normal(0, 10, len(rich)) + rich for k in range(columns)}})


def asked(table: pa.Table, expression: str) -> dp.Plan:
    """A plan for one mean of a dataset of so many that even twenty means together are as good as Gaussian."""
    model = dp.model(table, dp.Query(mean=dp.mean(expression)), SECRET, records=CROWD, reference="population")
    return plan_with(model, "certified_gaussian")


def _release_all(url: str, process: int) -> list[tuple[str, float]]:
    table, shown = crowd(), []
    for number in range(process, PROCESSES * RELEASES, PROCESSES):
        column, dataset = divmod(number, DATASETS)
        plan = asked(table, f"x{column}")
        found = dp.release(
            plan,
            table.slice(0, CROWD),
            ledger=url,
            dataset=f"d{dataset}",
            total=TOTAL,
            adaptive="assumed",
            continues=False,
        )
        assert not found.repeated
        shown.append((f"d{dataset} x{column}", found.values["mean"]))
    return shown


def assert_a_crowd_loses_nothing(url: str) -> None:
    """Release from several processes at once, and hold what they were shown against the ledger and the total."""
    with crowd_of(PROCESSES) as pool:
        shown = dict(pair for part in pool.starmap(_release_all, [(url, k) for k in range(PROCESSES)]) for pair in part)
    ledger = Ledger.open(url)
    histories = [ledger.history(dataset) for dataset in ledger.datasets()]
    held = {
        f"{entry.dataset} {entry.content['query'][0]['expression']}": entry.content["values"]["mean"]
        for history in histories
        for entry in history.entries
    }
    assert held == shown
    assert len(held) == PROCESSES * RELEASES
    for history in histories:
        assert [entry.position for entry in history.entries] == list(range(1, len(history.entries) + 1))
        last = history.entries[-1]
        model = asked(crowd(), last.content["query"][0]["expression"]).model
        stack = earlier_of(evolve(history, entries=history.entries[:-1]), model, TOTAL, adaptive="assumed").stack(model)
        noise = stacked([NOISE.of(entry.content["noise"]) for entry in history.entries])
        assert gaussian_certificate(stack, TOTAL, noise, THEOREM).holds_at("checked")
    assert Counter(len(history.entries) for history in histories) == {PROCESSES * RELEASES // DATASETS: DATASETS}


@pytest.mark.slow
def test_processes_that_release_at_once_lose_nothing_and_spend_no_more_than_the_total(tmp_path: Path) -> None:
    assert_a_crowd_loses_nothing(Ledger.create(f"sqlite:///{tmp_path / 'ledger.db'}").url)


def test_a_ledger_that_may_only_be_read_or_has_no_room_releases_nothing(tmp_path: Path) -> None:
    table = crowd()
    first, second = (asked(table, column) for column in ("x0", "x1"))
    private = table.slice(0, CROWD)
    writing = Ledger.create(f"sqlite:///{tmp_path / 'ledger.db'}")
    dp.release(first, private, ledger=writing, dataset="d", total=TOTAL)
    reading = Ledger.open(writing.url)

    def read_only(connection: sql.Connection) -> None:
        connection.exec_driver_sql("PRAGMA query_only = ON")

    sql.event.listen(reading._store.engine, "begin", read_only)
    with pytest.raises(LedgerUnavailable, match="nothing was released"):
        dp.release(second, private, ledger=reading, dataset="d", total=TOTAL, adaptive="assumed")
    assert dp.release(first, private, ledger=reading, dataset="d", total=TOTAL).repeated

    def fill(connection: sql.Connection) -> None:
        connection.exec_driver_sql("PRAGMA max_page_count = 1")

    sql.event.listen(writing._store.engine, "begin", fill)
    with pytest.raises(LedgerUnavailable, match=r"full.*nothing was released"):
        dp.release(second, private, ledger=writing, dataset="d", total=TOTAL, adaptive="assumed")
    assert len(Ledger.open(writing.url).history("d").entries) == 1
