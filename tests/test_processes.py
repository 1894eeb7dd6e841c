"""Processes end with the one that started them, however that one ends."""

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from joblib import Parallel, delayed, parallel_config

from distpriv.processes import tied

pytestmark = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="processes are looked up in /proc")

PLANNING = """
import numpy as np, pyarrow as pa
import distpriv as dp

rng = np.random.default_rng(0)
rows = {f"x{k}": rng.normal(0, 1, 4000) for k in range(10)}
table = pa.table({"rich": np.arange(4000) % 2 == 0, **rows})
query = dp.Query(**{name: dp.mean(name) for name in rows})
model = dp.model(table, query, dp.Share("rich", between=(0.3, 0.7), within=0.4), records=60)
dp.plan(model, dp.PrivacyTarget(epsilon=1, delta=0.01), processes=3, all=True)
"""

DRAWING = """
import os, time
from distpriv.modelling import sampling

caller = os.getpid()

def slow(rng, draws):
    time.sleep(0.1 if os.getpid() == caller else 600)

sampling.SAMPLING = sampling.SamplingSettings(worth_starting=0)
sampling.in_blocks(slow, 4, 1, sampling.Stream(seed=0, name="slow", processes=2))
"""

BUSY = """
import os, sys
from distpriv.processes import end_with_caller
from joblib.externals.loky import ProcessPoolExecutor

pool = ProcessPoolExecutor(max_workers=2, initializer=end_with_caller, initargs=(os.getpid(),))
[pool.submit(pow, 7, 10**9) for _ in range(2)]  # holds the interpreter's lock for minutes
[future.result() for future in [pool.submit(abs, 1)]]
"""


def stat_of(process: int) -> list[str]:
    """Return what /proc says of a process after its name; nothing where it is gone or only waits to be buried."""
    try:
        fields = Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    except OSError:
        return []
    return [] if fields[0] in "ZX" else fields


def descendants(process: int) -> set[int]:
    parents = {int(name): stat_of(int(name)) for name in os.listdir("/proc") if name.isdigit()}
    found: set[int] = set()
    while more := {k for k, fields in parents.items() if fields and int(fields[1]) in found | {process}} - found:
        found |= more
    return found


def is_worker(process: int) -> bool:
    try:
        return b"popen_loky_posix" in Path(f"/proc/{process}/cmdline").read_bytes()
    except OSError:
        return False


def waited(condition: Callable[[], bool], seconds: float) -> bool:
    end = time.monotonic() + seconds
    while not condition() and time.monotonic() < end:
        time.sleep(0.05)
    return condition()


def killed_with_workers(program: str, workers: int, work: float) -> None:
    """Run a program until it has so many workers, a little longer, kill it, and see that they all go."""
    command = subprocess.Popen([sys.executable, "-c", program], env={**os.environ, "OPENBLAS_NUM_THREADS": "1"})
    try:
        assert waited(lambda: sum(map(is_worker, descendants(command.pid))) >= workers, 120)
        time.sleep(work)
        started = descendants(command.pid)
        assert command.poll() is None, "it ended before it was killed: there is nothing to see"
    finally:
        command.kill()
        command.wait()
    assert len(started) >= workers
    assert waited(lambda: not any(map(stat_of, started)), 60), f"{[k for k in started if stat_of(k)]} are left"


@pytest.mark.slow
@pytest.mark.parametrize("work", [0.0, 0.3, 4.0])
def test_a_plan_that_is_killed_leaves_no_process(work: float) -> None:
    """Three to six processes were left by every plan that was killed, some at work, some waiting for it."""
    killed_with_workers(PLANNING, 2, work)


@pytest.mark.slow
@pytest.mark.parametrize("work", [0.0, 3.0])
def test_draws_that_are_killed_leave_no_process(work: float) -> None:
    killed_with_workers(DRAWING, 2, work)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="only Linux ends a process that holds the interpreter's lock")
def test_a_process_that_is_deep_in_arithmetic_ends_too() -> None:
    killed_with_workers(BUSY, 2, 3.0)


@pytest.mark.parametrize("backend", ["threading", "multiprocessing", "loky"])
def test_every_backend_of_joblib_takes_what_ties_its_workers(backend: str) -> None:
    with parallel_config(backend=backend):
        assert Parallel(n_jobs=2, **tied())(delayed(divmod)(7, k) for k in (2, 4)) == [(3, 1), (1, 3)]


def test_this_process_stays_when_it_is_told_of_a_parent_that_it_has_not() -> None:
    tied()["initializer"](1)
    assert not [thread for thread in threading.enumerate() if thread.name == "end with parent"]
