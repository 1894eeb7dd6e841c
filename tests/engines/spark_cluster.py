"""Models made on a cluster of two executors, one of which is killed on the way: run as a script, prints JSON.

python -m tests.engines.spark_cluster MANY.parquet FEW.parquet
"""

import json
import os
import signal
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from threading import Event, Thread
from typing import TYPE_CHECKING, Any

import numpy as np
import psutil

import distpriv as dp
from distpriv.engines.spark import SparkEngine
from distpriv.engines.spark_source import quiet
from distpriv.modelling import sampling

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MASTER = "local-cluster[2,1,1024]"
SHARE = dp.Share("income = '>50K'", values=(0.45, 0.55))
SETTINGS: dict[str, bool | float | int | str | None] = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "OFF",
    "spark.sql.shuffle.partitions": "4",
}


def executors() -> list[psutil.Process]:
    """Return the Java processes that run this cluster's tasks."""
    found = []
    for process in psutil.Process().children(recursive=True):
        try:
            if any("CoarseGrainedExecutorBackend" in word for word in process.cmdline()):
                found.append(process)
        except psutil.NoSuchProcess:
            continue
    return found


def both_executors() -> None:
    """Wait until there are two."""
    deadline = time.monotonic() + 120
    while len(executors()) < 2 and time.monotonic() < deadline:
        time.sleep(0.5)


def with_one_killed(session: "SparkSession", step: str, work: Callable[[], Any]) -> tuple[Any, dict[str, Any]]:
    """Do some work, kill an executor as tasks of a step of the engine run, and return the result and what was seen."""
    both_executors()
    seen: dict[str, Any] = {"killed": None, "running": 0}
    before = {process.pid for process in executors()}
    begun, done = Event(), Event()
    original = getattr(SparkEngine, step)

    def watched(*arguments: Any) -> Any:
        begun.set()
        return original(*arguments)

    def kill() -> None:
        tracker = session.sparkContext.statusTracker()
        begun.wait()
        while not done.is_set():
            stages = [tracker.getStageInfo(stage) for stage in tracker.getActiveStageIds()]
            running = sum(stage.numActiveTasks for stage in stages if stage is not None)
            if running >= 2 and len(before) == 2:
                victim = min(before)
                os.kill(victim, signal.SIGKILL)
                seen.update(killed=victim, running=running)
                return
            time.sleep(0.05)

    killer = Thread(target=kill)
    killer.start()
    setattr(SparkEngine, step, watched)
    try:
        result = work()
    finally:
        setattr(SparkEngine, step, original)
        begun.set()
        done.set()
        killer.join()
    seen["before"], seen["after"] = sorted(before), sorted(process.pid for process in executors())
    return result, seen


def laws(model: dp.QueryModel) -> dict[str, Any]:
    return {name: [law.mean.tolist(), law.covariance.tolist()] for name, law in model.distributions.items()}


def slow_median(rows: Mapping[str, Any]) -> float:
    time.sleep(0.02)
    return float(np.median(rows["age"]))


def main(many: Path, few: Path) -> None:
    """Print the laws of moments and of replicates, made while an executor dies, and how it died."""
    with quiet():
        from pyspark.sql import SparkSession

        session = SparkSession.builder.master(MASTER).config(map=SETTINGS).getOrCreate()
        frame = session.read.parquet(str(many))
    query = dp.Query(age=dp.mean("age"), hours=dp.mean("hours_per_week"), women=dp.count("sex = 'Female'"))
    calm = dp.model(frame, query, SHARE, records=100)

    def lingering(batches: Any) -> Any:
        for batch in batches:
            time.sleep(2)
            yield batch

    slow = frame.repartition(8).mapInArrow(lingering, frame.schema)
    moments, first = with_one_killed(session, "moments", lambda: dp.model(slow, query, SHARE, records=100))
    sampling.SAMPLING = sampling.SamplingSettings(worth_starting=0.0)
    median = dp.Query(middle=dp.function(slow_median, columns=["age"]))
    table = session.read.parquet(str(few))
    replicates, second = with_one_killed(
        session, "run_tasks", lambda: dp.model(table, median, SHARE, records=20, draws=640, seed=4)
    )
    points = {name: np.asarray(law.points).ravel().tolist() for name, law in replicates.distributions.items()}
    print(json.dumps({"calm": laws(calm), "moments": [laws(moments), first], "replicates": [points, second]}))  # noqa: T201
    with quiet():
        session.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
