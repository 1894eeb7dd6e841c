"""A private and a public table on Spark Connect: run as a program, as one process has one kind of session.

The server runs on this machine, in a process of its own, and speaks through a port as one from afar would.
"""

import json
import os
import sys
import warnings
from typing import Any

import numpy as np

import distpriv as dp
from distpriv.engines.engine import engine_for
from distpriv.errors import DistprivError

SETTINGS: dict[str, Any] = {"spark.sql.shuffle.partitions": "2", "spark.log.level": "OFF"}
COLUMNS = ["age", "hours_per_week", "income", "sex"]


def apart(one: dp.QueryModel, other: dp.QueryModel) -> float:
    """Return how far moments are from each other at most, in standard deviations."""
    worst = 0.0
    for name, law in one.distributions.items():
        theirs, deviation = other.distributions[name], np.sqrt(np.diag(law.covariance))
        means = np.abs(theirs.mean - law.mean) / deviation
        covariances = np.abs(theirs.covariance - law.covariance) / np.outer(deviation, deviation)
        worst = max(worst, float(means.max()), float(covariances.max()))
    return worst


def sentence(of: Any) -> str:
    """Return what is refused."""
    try:
        of()
    except DistprivError as refusal:
        return str(refusal)
    return ""


def main(folder: str) -> None:
    """Print what was found, as JSON."""
    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    warnings.simplefilter("ignore")
    from pyspark.sql import SparkSession

    session = SparkSession.builder.remote("local[1]").config(map=SETTINGS).getOrCreate()
    rows = dp.datasets.adult().select(COLUMNS)
    reference, private = rows.slice(0, 1500), rows.slice(2000, 40)
    there, hidden = session.createDataFrame(reference), session.createDataFrame(private)
    query = dp.Query(hours=dp.mean("hours_per_week"), women=dp.count("sex = 'Female'"))
    secret = dp.Share("income = '>50K'", values=(0.4, 0.6))
    near, far = (dp.model(table, query, secret, records=40) for table in (reference, there))
    target = dp.PrivacyTarget(epsilon=50, delta=0.05)
    plan = dp.plan(far, target, mechanisms=["group_privacy_laplace"])
    ledger = dp.Ledger.create(f"sqlite:///{folder}/ledger.db")
    first = dp.release(plan, hidden, ledger=ledger, dataset="far")
    again = dp.release(plan, hidden, ledger=ledger, dataset="far")
    there.write.mode("overwrite").parquet(f"{folder}/reference.parquet")
    address = os.environ.get("SPARK_CONNECT_ADDRESS", "sc://localhost")
    found = {
        "kind": type(there).__module__,
        "off": apart(near, far),
        "tasks": engine_for(there).executors is None,
        "values": dict(first.values),
        "repeated": [first.repeated, again.repeated, again.values == first.values],
        "named": engine_for(f"spark:{address}?path={folder}/reference.parquet").schema.names,
        "broken": sentence(lambda: dp.model(there, dp.Query(x=dp.mean("agee")), secret, records=40)),
        "short": sentence(lambda: dp.release(plan, session.createDataFrame(private.slice(0, 39)), ledger=None)),
    }
    sys.stdout.write(json.dumps(found))
    sys.stdout.flush()
    session.stop()


if __name__ == "__main__":
    main(sys.argv[1])
