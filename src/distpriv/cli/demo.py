"""The demonstration on the Adult data: a curator's whole way, from a policy to a release and its evidence."""

import shutil
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from rich.console import Console

import distpriv as dp
from distpriv.bundle import verify_bundle
from distpriv.cli.commands import reported, show_bundle, show_ledger, show_plan, show_verdict
from distpriv.errors import InvalidInput
from distpriv.workflow.ledgers import list_ledger
from distpriv.workflow.plan_policy import plan_policy
from distpriv.workflow.release_policy import release_policy

__all__ = ["show_demo"]

FOLDER = "distpriv-demo"
MARK = ".made-by-distpriv-demo"

POLICY = """\
[data]
reference = "census.parquet"     # public rows
private = "hospital.parquet"     # read once
id = "hospital-2026"

[release]
records = 100

[release.statistics]
mean_age = "mean(age)"
mean_education = "mean(education_num)"
never_married = "count(marital_status = 'Never-married')"
female = "count(sex = 'Female')"
mean_hours = "mean(hours_per_week)"

[[protect]]
share = "income = '>50K'"
values = [0.45, 0.55]

[privacy]
epsilon = 1.0
delta = 1e-3

[ledger]
url = "sqlite:///ledger.db"
epsilon = 1.5
delta = 2e-3
create = true
"""

INTRODUCTION = """\
A hospital wants to publish five statistics of 100 patients. Nobody shall learn from them whether 45 or 55 of the 100
earn over 50K: differential privacy hides who is in the table, and not that. This goes the whole way on census data: the
noise that hides it, one release, attacks on it, and its verification by others.
Everything is written into {place}; nothing else is touched.
"""

NEXT = """
What to do next: in an empty folder, [bold]distpriv example adult[/bold] writes tables and a policy to change, and
[bold]distpriv init --from FILE[/bold] a policy for a public table of yours.
What to look at now, the page for a board: {page}"""


def show_demo(console: Console, folder: str = FOLDER) -> None:
    """Plan, release, audit and verify five statistics of 100 records of Adult."""
    place = _fresh(Path(folder))
    console.print(INTRODUCTION.format(place=place), highlight=False, soft_wrap=True)
    _write_tables(dp.datasets.adult(), place)
    policy, bundle = place / "policy.toml", place / "bundle"
    policy.write_text(POLICY, encoding="utf-8")
    _step(console, f"distpriv plan {policy}", "every mechanism, and the best estimates whose certificate holds")
    show_plan(reported(lambda progress: plan_policy(str(policy), progress)), json=False)
    _step(
        console,
        f"distpriv release {policy} --out {bundle} --audit",
        "written to the ledger, then the private table is read once",
    )
    show_bundle(reported(lambda p: release_policy(str(policy), bundle, audit=True, progress=p)), json=False)
    _step(console, f"distpriv verify {bundle}", "the certificate, recomputed from the bundle alone")
    show_verdict(verify_bundle(str(bundle)), json=False)
    _step(console, f"distpriv ledger {policy}", "what has been released, and what it costs")
    show_ledger(list_ledger(str(policy)), json=False)
    console.print(NEXT.format(page=bundle / "report.html"), soft_wrap=True, highlight=False)


def _step(console: Console, command: str, why: str) -> None:
    console.print(f"\n[bold]$ {command}[/bold]   [dim]# {why}[/dim]\n", soft_wrap=True, highlight=False)


def _fresh(place: Path) -> Path:
    """Return an empty folder; only what an earlier demonstration left is removed."""
    if place.exists() and not (place / MARK).exists():
        raise InvalidInput(f"{place} is there already and not from a demonstration: move it, or run elsewhere.")
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    (place / MARK).touch()
    return place


def _write_tables(adult: pa.Table, place: Path) -> None:
    """Write a census, and a hospital's 100 records, of which 52 have a high income; no row is in both."""
    high = np.array([value == ">50K" for value in adult["income"].to_pylist()])
    private = np.sort(np.concatenate([np.flatnonzero(high)[::200][:52], np.flatnonzero(~high)[::700][:48]]))
    pq.write_table(adult.take(private), place / "hospital.parquet")
    pq.write_table(adult.take(np.setdiff1d(np.arange(adult.num_rows), private)), place / "census.parquet")
