"""The real `distpriv release`: killed at random moments, and five at once on one policy."""

import csv
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.workflow.new_ledger import new_ledger
from tests.workflow.quick_command import Commands, Running

import distpriv as dp
from distpriv.bundle.write import BundleFolder
from distpriv.ledger import Entry, Ledger

pytestmark = [pytest.mark.slow, pytest.mark.skipif(sys.platform == "win32", reason="processes are killed")]

KILLS, ASKERS, KILLS_A_DATASET = 58, 2, 6
PATHS = os.pathsep.join(map(str, (Path(dp.__file__).parents[1], Path(__file__).parents[2])))
FILES = {"policy.toml", "release.csv", "release.json", "report.html"}
POLICY = """\
[data]
reference = "reference.parquet"
private = "private.parquet"
id = "{dataset}"
continues = false

[release]
records = 40

[release.statistics]
age = "mean(age, resolution = 1)"

[[protect]]
share = "rich = 1"
values = [0.45, 0.55]

[privacy]
epsilon = 1.0
delta = 0.01
mechanisms = ["certified_gaussian"]

[ledger]
url = "sqlite:///ledger.db"
epsilon = 2.0
delta = 0.02
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a reference, a private table and a ledger in which nothing is written yet."""
    rng, rich = np.random.default_rng(0), np.arange(400) % 2
    table = pa.table({"rich": rich, "age": np.round(rng.normal(40, 10, 400) + 3 * rich)})
    pq.write_table(table, tmp_path / "reference.parquet")
    pq.write_table(table.slice(100, 40), tmp_path / "private.parquet")
    new_ledger(tmp_path)
    return tmp_path


def asked(folder: Path, dataset: str, out: str) -> list[str]:
    """Write the policy of a dataset, and return the arguments of the command that releases it."""
    (folder / f"{dataset}.toml").write_text(POLICY.format(dataset=dataset), encoding="utf-8")
    return ["release", f"{dataset}.toml", "--out", out, "--json"]


def started(folder: Path, dataset: str, out: str) -> "subprocess.Popen[str]":
    """Start the command for a dataset; what it says goes into files beside its bundle."""
    line = [sys.executable, "-m", "distpriv", *asked(folder, dataset, out)]
    with open(folder / f"{out}.said", "w") as said, open(folder / f"{out}.refused", "w") as refused:
        settings = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "PYTHONPATH": PATHS}
        return subprocess.Popen(line, cwd=folder, stdout=said, stderr=refused, text=True, env=settings)


def entries(folder: Path, dataset: str) -> tuple[Entry, ...]:
    return Ledger.open(f"sqlite:///{folder / 'ledger.db'}").history(dataset).entries


def shown(folder: Path, out: str) -> dict[str, Any] | None:
    """Return the values that a command showed or left in a bundle, having seen that no bundle is half there."""
    found = []
    said = (folder / f"{out}.said").read_text(encoding="utf-8")
    if said.endswith("}\n"):
        found.append(json.loads(said)["values"])
    if (folder / out).exists():
        assert {path.name for path in (folder / out).iterdir()} == FILES
        found.append(json.loads((folder / out / "release.json").read_text(encoding="utf-8"))["values"])
        rows = csv.DictReader((folder / out / "release.csv").read_text(encoding="utf-8").splitlines())
        assert {row["statistic"]: float(row["noisy_value"]) for row in rows} == pytest.approx(found[-1], abs=0.05)
    assert found.count(found[0]) == len(found) if found else True
    return found[0] if found else None


def ledger_changed(folder: Path) -> Callable[[], bool]:
    """Return what tells whether anything was written to the ledger, or is about to be, since this was called."""

    def state() -> list[tuple[str, int, int]]:
        files = [entry for entry in os.scandir(folder) if entry.name.startswith("ledger.db")]
        return sorted((entry.name, entry.stat().st_mtime_ns, entry.stat().st_size) for entry in files)

    before = state()

    def changed() -> bool:
        try:
            return state() != before
        except OSError:  # a file went away between being listed and looked at
            return True

    return changed


def kill_some(folder: Path, commands: Commands, asker: int, longest: float) -> Counter[str]:
    """Kill commands, some at any moment and some about when they write; ask in between until there is an answer."""

    def start(dataset: str, out: str) -> Running:
        return commands.started(folder, out, asked(folder, dataset, out))

    rng, found = random.Random(asker), Counter[str]()
    known: dict[str, Entry] = {}
    for number in range(KILLS // ASKERS):
        dataset, out = f"ward-{asker}-{number // KILLS_A_DATASET}", f"out-{asker}-{number}"
        changed = ledger_changed(folder)
        command = start(dataset, out)
        end = time.monotonic() + rng.uniform(0, longest)
        if number % 2:
            while not changed() and command.poll() is None:
                time.sleep(0.002)
            end = time.monotonic() + rng.uniform(0, 0.05 if number % 4 == 1 else longest / 3)
        while time.monotonic() < end and command.poll() is None:
            time.sleep(0.002)
        command.send_signal(signal.SIGKILL)
        found["killed" if command.wait() == -signal.SIGKILL else "ended"] += 1
        found[look_after(folder, dataset, out, known)] += 1
        if (number + 1) % KILLS_A_DATASET == 0 or number + 1 == KILLS // ASKERS:
            command = start(dataset, final := f"final-{asker}-{number}")
            assert command.wait() == 0, (folder / f"{final}.refused").read_text(encoding="utf-8")
            assert look_after(folder, dataset, final, known) == "answered"
            assert shown(folder, final) == known[dataset].content["values"]
    return found


def look_after(folder: Path, dataset: str, out: str, known: dict[str, Entry]) -> str:
    """Return how far a command came: one answer at most, the same ever after, and none that is not in the ledger."""
    held = entries(folder, dataset)
    assert len(held) <= 1
    assert held or dataset not in known
    answer = shown(folder, out)
    if not held:
        assert answer is None
        return "nothing"
    assert known.setdefault(dataset, held[0]) == held[0]
    assert answer is None or answer == held[0].content["values"]
    return "in the ledger" if answer is None else "answered"


def seconds(folder: Path, commands: Commands, dataset: str) -> float:
    """Return how long a command takes that is left alone."""
    begun = time.monotonic()
    assert commands.started(folder, dataset, asked(folder, dataset, dataset)).wait() == 0
    return time.monotonic() - begun


def test_a_command_that_is_killed_at_any_moment_loses_nothing_and_answers_once(folder: Path) -> None:
    with ThreadPoolExecutor(ASKERS) as askers, ExitStack() as stack:
        programs = [stack.enter_context(Commands(PATHS)) for _ in range(ASKERS)]
        longest = 1.2 * min(seconds(folder, programs[0], f"left-alone-{number}") for number in range(2))
        found = sum(
            askers.map(lambda asker: kill_some(folder, programs[asker], asker, longest), range(ASKERS)), Counter[str]()
        )
    assert found["killed"] + found["ended"] == KILLS
    assert found["killed"] > KILLS // 5  # fewer than half on a machine that was slower while commands were timed
    assert found["nothing"] > 0  # killed before anything was written,
    assert found["in the ledger"] + found["answered"] > 0  # and after that
    BundleFolder.prepared(folder / "last").discard()
    assert not list(folder.glob(".*.partial"))


def test_five_commands_at_once_get_one_answer(folder: Path) -> None:
    commands = [started(folder, "ward", f"out-{number}") for number in range(5)]
    codes = [command.wait() for command in commands]
    (entry,) = entries(folder, "ward")
    assert 0 in codes
    documents = []
    for number, code in enumerate(codes):
        refused = (folder / f"out-{number}.refused").read_text(encoding="utf-8")
        if code == 0:
            assert shown(folder, f"out-{number}") == entry.content["values"]
            documents.append((folder / f"out-{number}" / "release.json").read_bytes())
        else:  # another was faster: that is said in a sentence, and asking again is the cure
            assert code == 1
            assert refused.startswith("distpriv: ")
            assert len(refused.splitlines()) == 1
            assert "Traceback" not in refused
            assert not (folder / f"out-{number}").exists()
            assert started(folder, "ward", f"again-{number}").wait() == 0
            documents.append((folder / f"again-{number}" / "release.json").read_bytes())
    assert len(set(documents)) == 1
    assert entries(folder, "ward") == (entry,)


def test_five_commands_that_want_one_folder_write_one_bundle(folder: Path) -> None:
    commands = [started(folder, "ward", "out") for _ in range(5)]
    codes = [command.wait() for command in commands]
    (entry,) = entries(folder, "ward")
    assert set(codes) <= {0, 1, 2}
    assert codes.count(0) == 1
    assert (
        json.loads((folder / "out" / "release.json").read_text(encoding="utf-8"))["values"] == entry.content["values"]
    )
    assert {path.name for path in (folder / "out").iterdir()} == FILES
    assert not list(folder.glob(".*.partial"))
