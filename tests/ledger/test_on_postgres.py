"""The ledger on a real server: who may write, who may read, and what happens when it or a writer is killed."""

import json
import os
import pickle
import random
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pyarrow as pa
import pytest
from attrs import evolve
from tests.postgres import PASSWORDS, Server, postgres
from tests.releasing.shared import plan_with
from tests.workflow.small import only, write_policy, write_tables
from tests.workflow.test_faults import assert_a_crowd_loses_nothing

import distpriv as dp
from distpriv.errors import LedgerChanged, LedgerUnavailable
from distpriv.ledger import Ledger
from distpriv.ledger.beside import KEY_VARIABLE
from distpriv.workflow.plan_policy import plan_policy

__all__ = ["postgres"]

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("postgres")]

ROOT = Path(__file__).parents[2]
TOTAL = dp.PrivacyTarget(epsilon=2, delta=0.002)
ROLES = (ROOT / "docs" / "howto" / "ledger_on_postgres.md").read_text(encoding="utf-8")


@pytest.fixture
def url(postgres: Server, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Where a new database is; key and password are in the environment, as they should be."""
    monkeypatch.setenv(KEY_VARIABLE, "ab" * 32)
    monkeypatch.setenv("PGPASSWORD", PASSWORDS["keeper"])
    postgres.sql("CREATE DATABASE ledger")
    yield postgres.url(database="ledger")
    postgres.sql("DROP DATABASE ledger WITH (FORCE)")


@pytest.fixture
def ledger(url: str) -> Ledger:
    return Ledger.create(url)


def written(ledger: Ledger, dataset: str, key: str, content: dict[str, Any]) -> int:
    """Append whatever others write, and return the position."""
    while True:
        with suppress(LedgerChanged):
            entry = ledger.append(ledger.history(dataset), TOTAL, key, content)
            assert entry.position is not None
            return entry.position


def assert_all_there(ledger: Ledger, expected: dict[str, set[str]]) -> None:
    """Every release is there once, and positions have no gaps; reading checks the chain."""
    for dataset, keys in expected.items():
        entries = ledger.history(dataset).entries
        assert sorted(entry.query_key or "" for entry in entries) == sorted(keys)
        assert [entry.position for entry in entries] == list(range(1, len(entries) + 1))


def test_it_keeps_what_it_is_told(ledger: Ledger, url: str) -> None:
    ledger.look(ledger.history("a"), TOTAL, "key")
    entry = ledger.append(ledger.history("a"), TOTAL, "key", {"values": [1.5], "text": "Übergröße €"})
    assert Ledger.open(url).history("a").entries == (entry,)
    with pytest.raises(LedgerChanged, match="an answer to this query already"):
        ledger.append(ledger.history("a"), TOTAL, "key", {"values": [2.5]})


def test_the_key_of_a_server_is_in_the_environment_and_stays_the_same(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert ledger.key == bytes.fromhex("ab" * 32)
    monkeypatch.setenv(KEY_VARIABLE, "cd" * 32)
    with pytest.raises(LedgerUnavailable, match="not the key"):
        _ = ledger.key
    for wrong in ("", "ab", "zz" * 32):
        monkeypatch.setenv(KEY_VARIABLE, wrong)
        for use in (lambda: ledger.key, lambda: Ledger.create(ledger.url)):
            with pytest.raises(LedgerUnavailable, match="64 hexadecimal digits"):
                use()


@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM entries WHERE number = (SELECT max(number) FROM entries)",
        "UPDATE entries SET position = 2 WHERE kind = 'release'",
        "DELETE FROM entries",
        "UPDATE entries SET content = '{}'",
    ],
)
def test_what_is_removed_or_changed_on_a_server_is_noticed(
    ledger: Ledger, url: str, postgres: Server, statement: str
) -> None:
    ledger.append(ledger.history("a"), TOTAL, "key", {"values": [1.5]})
    postgres.sql(statement, "ledger")
    for use in (lambda: ledger.history("a"), lambda: Ledger.open(url)):
        with pytest.raises(LedgerUnavailable, match="not as it was written"):
            use()


def test_eight_writers_on_connections_of_their_own_lose_nothing_and_write_nothing_twice(ledger: Ledger) -> None:
    def write(name: int) -> None:
        own = Ledger.open(ledger.url)
        for number in range(25):
            written(own, f"d{(name + number) % 5}", f"{name}/{number}", {"values": [name, number]})

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(write, range(8)))
    every = [(name, number) for name in range(8) for number in range(25)]
    assert_all_there(
        ledger, {f"d{k}": {f"{name}/{number}" for name, number in every if (name + number) % 5 == k} for k in range(5)}
    )


def test_processes_that_release_at_once_lose_nothing_and_spend_no_more_than_the_total(ledger: Ledger) -> None:
    assert_a_crowd_loses_nothing(ledger.url)


def test_failures_to_serialise_are_tried_again(ledger: Ledger, postgres: Server) -> None:
    fails = """
    CREATE SEQUENCE tries;
    CREATE FUNCTION busy() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
      IF nextval('tries') <= 3 THEN RAISE EXCEPTION 'could not serialize' USING ERRCODE = '{}'; END IF;
      RETURN NEW; END $$;
    CREATE TRIGGER busy BEFORE INSERT ON entries FOR EACH ROW EXECUTE FUNCTION busy();
    """
    postgres.sql(fails.format("40001"), "ledger")
    assert written(ledger, "a", "first", {}) == 1
    assert int(postgres.sql("SELECT last_value FROM tries", "ledger")) > 3
    postgres.sql("DROP TRIGGER busy ON entries; DROP FUNCTION busy; DROP SEQUENCE tries", "ledger")
    postgres.sql(fails.format("23514"), "ledger")  # which is no passing failure
    with pytest.raises(LedgerUnavailable):
        ledger.append(ledger.history("a"), TOTAL, "second", {})
    assert_all_there(ledger, {"a": {"first"}})


def test_one_role_may_append_and_another_may_read(
    ledger: Ledger, postgres: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    written(ledger, "a", "first", {"values": [1.5]})
    grants = "\n".join(re.findall(r"^GRANT .*;$", ROLES, flags=re.MULTILINE))
    assert grants.count("GRANT") >= 3
    postgres.sql(grants, "ledger")
    monkeypatch.setenv("PGPASSWORD", PASSWORDS["clerk"])
    clerk = Ledger.open(postgres.url("clerk", "ledger"))
    assert written(clerk, "a", "second", {}) == 2
    monkeypatch.setenv("PGPASSWORD", PASSWORDS["auditor"])
    auditor = Ledger.open(postgres.url("auditor", "ledger"))
    assert_all_there(auditor, {"a": {"first", "second"}})
    with pytest.raises(LedgerUnavailable, match=r"permission denied.*nothing was released"):
        auditor.append(auditor.history("a"), TOTAL, "third", {})
    for statement in (
        "DELETE FROM entries",
        "UPDATE entries SET content = '{}'",
        "TRUNCATE entries",
        "DROP TABLE entries",
    ):
        for role in ("clerk", "auditor"):
            refused = postgres.sql(
                f"SET ROLE {role}; DO $$ BEGIN {statement}; RAISE 'allowed'; "
                "EXCEPTION WHEN insufficient_privilege THEN NULL; END $$; SELECT 'refused'",
                "ledger",
            )
            assert refused == "refused"


def test_the_password_is_in_the_environment_and_in_no_message(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    assert PASSWORDS["keeper"] not in ledger.url
    monkeypatch.setenv("PGPASSWORD", "wrong-one")
    with pytest.raises(LedgerUnavailable) as refused:
        Ledger.open(ledger.url)
    assert "nothing was released" in str(refused.value)
    monkeypatch.delenv("PGPASSWORD")
    secret = PASSWORDS["keeper"]
    inside = ledger.url.replace("keeper@", f"keeper:{secret}@")
    assert written(Ledger.open(inside), "a", "first", {}) == 1
    with pytest.raises(LedgerUnavailable) as gone:
        Ledger.open(inside.replace("/ledger", "/nowhere"))
    assert secret not in f"{refused.value} {gone.value} {Ledger.open(inside)!r}"


def test_a_server_that_is_away_is_waited_for_and_one_that_stays_away_is_said_so(
    ledger: Ledger, postgres: Server
) -> None:
    history = ledger.history("a")
    postgres.stop()
    back = threading.Timer(2.0, postgres.start)
    back.start()
    entry = ledger.append(history, TOTAL, "first", {})
    back.join()
    assert ledger.history("a").entries == (entry,)
    postgres.stop()
    try:
        with (
            patch("distpriv.ledger.store.AWAY_SECONDS", 1.0),
            pytest.raises(LedgerUnavailable, match=r"cannot be read .*see that its server runs"),
        ):
            ledger.history("a")
    finally:
        postgres.start()


def test_a_server_that_crashes_again_and_again_loses_nothing_and_nothing_is_spent_twice(
    ledger: Ledger, postgres: Server
) -> None:
    stopped = threading.Event()
    kept: dict[str, set[str]] = {f"d{name}": set() for name in range(4)}

    def write(name: int) -> None:
        own, number = Ledger.open(ledger.url), 0
        while not stopped.is_set():
            with suppress(LedgerUnavailable):  # as a release does that is asked for again
                history = own.history(f"d{name}")
                if history.answer_to(f"{number}") is None:
                    own.look(history, TOTAL, f"{number}")
                    own.append(own.history(f"d{name}"), TOTAL, f"{number}", {"values": [number]})
                kept[f"d{name}"].add(f"{number}")
                number += 1

    with ThreadPoolExecutor(4) as pool:
        writers = [pool.submit(write, name) for name in range(4)]
        for _ in range(10):
            time.sleep(random.uniform(0.1, 0.5))
            postgres.stop("immediate")
            postgres.start()
        time.sleep(0.5)
        stopped.set()
        for writer in writers:
            writer.result(timeout=120)
    assert all(kept.values())
    for dataset, keys in kept.items():
        last = {entry.query_key or "" for entry in ledger.history(dataset).entries} - keys
        assert len(last) <= 1  # committed when the server crashed, and not asked for again when the writer stopped
        assert_all_there(ledger, {dataset: keys | last})


def test_a_release_goes_on_when_the_server_is_started_again_in_the_middle_of_it(
    ledger: Ledger, postgres: Server, adult: pa.Table
) -> None:
    secret = dp.Share("income = '>50K'", values=(0.45, 0.55))
    model = dp.model(adult.slice(0, 2500), dp.Query(age=dp.mean("age")), secret, records=100, reference="population")
    plan = plan_with(model, "expected_value_gaussian")
    private = adult.slice(3000, 100)
    look = Ledger.look

    def crash(*arguments: Any) -> Any:
        found = look(*arguments)
        postgres.stop("immediate")
        postgres.start()
        return found

    with patch.object(Ledger, "look", crash):
        made = dp.release(plan, private, ledger=ledger, dataset="ward", total=TOTAL)
    again = dp.release(plan, private, ledger=Ledger.open(ledger.url), dataset="ward", total=TOTAL)
    assert again.repeated
    assert again.values == made.values
    assert len(ledger.history("ward").entries) == 1


@pytest.mark.skipif(sys.platform == "win32", reason="processes are forked and killed")
def test_a_release_that_is_killed_at_any_moment_shows_nothing_that_the_ledger_does_not_hold(
    url: str, tmp_path: Path, adult: pa.Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_tables(tmp_path, adult)
    with only("group_privacy_laplace"):
        plan = plan_policy(str(write_policy(tmp_path))).plan
    (tmp_path / "plan.pickle").write_bytes(pickle.dumps(evolve(plan, model=evolve(plan.model, simulator=None))))
    monkeypatch.setenv("DISTPRIV_TEST_LEDGER", url)
    Ledger.create(url)
    command = [sys.executable, "-m", "tests.workflow.kill_releases", str(tmp_path), "200"]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    came = json.loads(ended.stdout)
    assert sum(came.values()) == 200
    assert came["nothing"] > 0  # killed before it was written down,
    assert came.keys() & {"in the ledger", "all"}  # and after that


@pytest.mark.skipif(sys.platform == "win32", reason="processes are forked and killed")
def test_writers_that_are_killed_leave_whole_entries_and_no_lock(ledger: Ledger) -> None:
    def start(number: int, count: int) -> int:
        child = os.fork()
        if not child:
            with suppress(BaseException):
                own = Ledger.open(ledger.url)
                for k in range(count):
                    own.append(own.history(f"d{number}"), TOTAL, f"{k}", {"values": [k]})
            os._exit(0)
        return child

    begun = time.perf_counter()
    os.waitpid(start(-1, 3), 0)
    taken = time.perf_counter() - begun
    for number in range(100):
        child = start(number, 50)
        time.sleep(random.uniform(0, taken))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        entries = ledger.history(f"d{number}").entries
        assert [entry.query_key for entry in entries] == [f"{k}" for k in range(len(entries))]
    assert written(ledger, "last", "key", {}) == 1
    assert len(ledger.datasets()) > 10  # some came so far that something was written
