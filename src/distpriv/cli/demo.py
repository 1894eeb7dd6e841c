"""The demonstration on the Adult data: from a policy to a release and its evidence."""

import shutil
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from rich.console import Console

import distpriv as dp
from distpriv.bundle import verify_bundle
from distpriv.cli.output import reported, show_bundle, show_plan, show_verdict
from distpriv.errors import InvalidInput
from distpriv.framework.display import percent_at_most
from distpriv.guarantees.attack_accuracy import undefended_attack_accuracy
from distpriv.policy import read_policy
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
A hospital wants to publish five statistics of 100 patients. Nobody should learn from them whether 45 or 55 of the 100
earn over 50K. Differential privacy protects single patients, not this share; distribution privacy does.
Everything is written into {place}."""


def show_demo(console: Console, folder: str = FOLDER) -> None:
    """Plan, release and verify five statistics of 100 records of Adult, a screen for each step."""
    place = _fresh(Path(folder))
    console.print(INTRODUCTION.format(place=place), highlight=False, soft_wrap=True)
    _write_tables(dp.datasets.adult(), place)
    policy, bundle = place / "policy.toml", place / "bundle"
    policy.write_text(POLICY, encoding="utf-8")
    _step(console, "the problem", f"{policy} names the statistics and the secret")
    bare = undefended_attack_accuracy(reported(lambda progress: read_policy(str(policy)).model(progress)))
    console.print(
        f"Published without noise, the five numbers tell 45 from 55 correctly {percent_at_most(bare)} of the time "
        "(chance 50 %).",
        highlight=False,
        soft_wrap=True,
    )
    _step(console, f"distpriv plan {policy}", "choose noise that hides the share; no access to private rows")
    show_plan(reported(lambda progress: plan_policy(str(policy), progress)), str(policy), json=False)
    _step(console, f"distpriv release {policy} --out {bundle}", "ledger first, then one access to private rows")
    show_bundle(reported(lambda progress: release_policy(str(policy), bundle, progress=progress)), json=False)
    _step(console, f"distpriv verify {bundle}", "anybody can recompute the certificate")
    show_verdict(verify_bundle(str(bundle)), json=False)
    console.print(
        f"\nYour turn, in an empty folder: [bold]distpriv example adult[/bold], or with your own public table "
        f"[bold]distpriv init --from FILE[/bold].\nThe report for a board: {bundle / 'report.html'}",
        soft_wrap=True,
        highlight=False,
    )


def _step(console: Console, command: str, why: str) -> None:
    console.print(f"\n[bold]$ {command}[/bold]   [dim]# {why}[/dim]\n", soft_wrap=True, highlight=False)


def _fresh(place: Path) -> Path:
    """Return an empty folder; only what an earlier demonstration left is removed."""
    if place.exists() and not (place / MARK).exists():
        raise InvalidInput(f"{place} exists and was not made by the demonstration: move it, or run elsewhere.")
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
