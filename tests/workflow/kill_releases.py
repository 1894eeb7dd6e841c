"""Start releases and kill them at random moments; what is left behind is looked at after each.

Run as a program: everything is imported once, and every release is a fork of this process, which has no thread. The
plan is made by another process, as planning uses threads.
"""

import json
import os
import pickle
import random
import signal
import sqlite3
import statistics
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from unittest.mock import patch

import duckdb  # noqa: F401 - imported once for all releases
import opendp.measurements  # noqa: F401
import pydantic  # noqa: F401
from attrs import evolve
from tests.workflow.small import POLICY

from distpriv.ledger import Ledger
from distpriv.planning.plan import Plan
from distpriv.policy import Policy, read_policy
from distpriv.releasing.release import Release
from distpriv.releasing.session import Session
from distpriv.workflow.ledgers import history_in
from distpriv.workflow.plan_policy import PlannedPolicy
from distpriv.workflow.release_policy import release_policy

LEDGER = os.environ.get("DISTPRIV_TEST_LEDGER")
"""The ledger, where it is on a server."""

FILES = {"policy.toml", "release.csv", "release.json", "report.html"}


def start(folder: Path, plan: Plan, number: int, out: str) -> int:
    """Release in a process of its own; it prints what it shows into a file."""
    child = os.fork()
    if child:
        return child
    code = 1
    try:
        policy = folder / f"{number}.toml"
        text = POLICY.replace('id = "ward"', f'id = "ward-{number}"\ncontinues = false')
        policy.write_text(text.replace("sqlite:///ledger.db", LEDGER or "sqlite:///ledger.db"), encoding="utf-8")

        def planned(ledger: Ledger | None, policy: Policy, *_: object, **__: object) -> PlannedPolicy:
            with_rows = evolve(plan, model=policy.model())
            history, total = history_in(ledger, policy), policy.ledger.total
            session = Session.of(with_rows.model, ledger=ledger, history=history, total=total)
            return PlannedPolicy(policy=policy, plan=with_rows, session=session)

        with (
            patch("distpriv.workflow.release_policy.planned_in", planned),
            patch("distpriv.workflow.release_policy._page", lambda *_: "a page"),
        ):
            bundle = release_policy(str(policy), folder / out)
        with open(folder / f"{out}.shown", "w", encoding="utf-8") as shown:
            json.dump(dict(bundle.release.values), shown)
        code = 0
    finally:
        os._exit(code)


def left_behind(folder: Path, number: int, out: str) -> str:
    """Return how far a release came, having seen that nothing is half there."""
    ledger = folder / "ledger.db"
    if ledger.exists():
        with sqlite3.connect(ledger) as connection:
            assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    entries = Ledger.open(LEDGER or f"sqlite:///{ledger}").history(f"ward-{number}").entries
    assert len(entries) <= 1
    shown, bundle = folder / f"{out}.shown", folder / out
    if not entries:
        assert not shown.exists()
        assert not bundle.exists()
        return "nothing"
    released = Release.of(entries[0], read_policy(folder / f"{number}.toml").query(), repeated=True)
    assert released.certificate.holds
    if not bundle.exists():
        assert not shown.exists()
        return "in the ledger"
    assert {path.name for path in bundle.iterdir()} == FILES
    assert json.loads((bundle / "release.json").read_text(encoding="utf-8"))["values"] == released.values
    if shown.exists() and (text := shown.read_text(encoding="utf-8")).endswith("}"):
        assert json.loads(text) == released.values
    return "all"


def seconds(folder: Path, work: Callable[[int], int]) -> float:
    """Return how long a release takes that is left alone."""
    taken = []
    for number in range(-5, 0):
        begun = time.perf_counter()
        assert os.waitstatus_to_exitcode(os.waitpid(work(number), 0)[1]) == 0
        taken.append(time.perf_counter() - begun)
        assert left_behind(folder, number, f"out {number}") == "all"
    return statistics.median(taken)


def main(folder: Path, count: int) -> dict[str, int]:
    """Kill so many releases, then ask again for those that were not finished."""
    plan = pickle.loads((folder / "plan.pickle").read_bytes())
    longest = 1.1 * seconds(folder, lambda number: start(folder, plan, number, f"out {number}"))
    found = []
    for number in range(count):
        child = start(folder, plan, number, f"out {number}")
        time.sleep(random.uniform(0, longest))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        found.append(left_behind(folder, number, f"out {number}"))
    url = LEDGER or f"sqlite:///{folder / 'ledger.db'}"
    for number in [k for k, came in enumerate(found) if came == "in the ledger"][:10]:
        before = Ledger.open(url).history(f"ward-{number}").entries
        child = start(folder, plan, number, f"again {number}")
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert left_behind(folder, number, f"again {number}") == "all"
        assert Ledger.open(url).history(f"ward-{number}").entries == before
    return dict(Counter(found))


if __name__ == "__main__":
    sys.stdout.write(json.dumps(main(Path(sys.argv[1]), int(sys.argv[2]))))
