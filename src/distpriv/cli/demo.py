"""The demonstration on the Adult data: a curator's whole way, from a policy to a release and its evidence."""

import shutil
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from rich.console import Console
from rich.table import Table

import distpriv as dp
from distpriv.cli.commands import reported, show_bundle, show_ledger, show_plan, show_verdict
from distpriv.errors import InvalidInput
from distpriv.experiments.properties import paper_query
from distpriv.modelling.diagnostics import diagnose
from distpriv.workflow.ledgers import list_ledger
from distpriv.workflow.plan_policy import each_plan_once, plan_policy
from distpriv.workflow.release_policy import release_policy
from distpriv.workflow.verifying import verify_bundle

__all__ = ["paper_query", "show_demo"]

RECORDS = 100
FOLDER = "distpriv-demo"
MARK = ".made-by-distpriv-demo"

POLICY = """\
[data]
reference = "census.parquet"     # public rows
private = "hospital.parquet"     # looked at once
id = "hospital-2026"

{blocks}
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

BLOCK = """\
[[release]]
name = "{name}"
records = 100

[release.statistics]
{statistics}
"""

PERSONS, WORK = "persons", "work"
STATISTICS = {
    "mean_age": "mean(age)",
    "mean_education": "mean(education_num)",
    "never_married": "count(marital_status = 'Never-married')",
    "female": "count(sex = 'Female')",
    "mean_hours": "mean(hours_per_week)",
}
MORE = {"overtime": "count(hours_per_week > 45)", "graduates": "count(education_num >= 13)"}


def show_demo(console: Console, folder: str = FOLDER) -> None:
    """Model, plan, release, verify and audit the paper's five statistics, ask again, and ask what was declared too."""
    with each_plan_once():  # each of the commands below would make them anew
        _show_commands(console, folder)


INTRODUCTION = """\
A hospital wants to publish five statistics of 100 patients, and nobody shall learn from them whether 45 or 55 of the
100 earn over 50K: differential privacy hides who is in the table, and not that. This goes the whole way on census data:
what the statistics would tell, the noise that hides it, one release, its check by others, and a second question.
Everything is written into {place}; nothing else is touched. It takes a minute or two.
"""

NEXT = """
What to do next: in an empty folder, [bold]distpriv example adult[/bold] writes tables and a policy to change, and
[bold]distpriv init --from FILE[/bold] a policy for a public table of yours; [bold]distpriv docs start[/bold]
explains every step.
What to look at now, the page for a board: {page}"""


def _show_commands(console: Console, folder: str) -> None:
    place = _fresh(Path(folder))
    console.print(INTRODUCTION.format(place=place), highlight=False, soft_wrap=True)
    adult = dp.datasets.adult()
    _write_tables(adult, place)
    _show_model(console, adult)
    policy, bundle = place / "policy.toml", place / "bundle"
    policy.write_text(_policy({PERSONS: STATISTICS, WORK: MORE}), encoding="utf-8")
    _step(console, f"distpriv plan {policy} --only {PERSONS}", "every mechanism, and the least error that holds")
    show_plan(reported(lambda progress: plan_policy(str(policy), progress, only=PERSONS)), json=False)
    _step(console, f"distpriv ledger {policy} --create", "once: it remembers what has been released")
    dp.Ledger.create(f"sqlite:///{(place / 'ledger.db').resolve()}")
    _step(
        console,
        f"distpriv release {policy} --only {PERSONS} --out {bundle} --audit",
        "both questions go to the ledger, then the private table is looked at once",
    )
    show_bundle(
        reported(lambda p: release_policy(str(policy), bundle, only=PERSONS, audit=True, progress=p)), json=False
    )
    _step(console, f"distpriv verify {bundle}", "the certificate, recomputed from the bundle alone")
    show_verdict(verify_bundle(str(bundle)), json=False)
    _step(
        console,
        f"distpriv release {policy} --only {PERSONS} --out {place / 'again'}",
        "the same question gets the same answer",
    )
    again = reported(lambda p: release_policy(str(policy), place / "again", only=PERSONS, progress=p))
    console.print(f"release {again.release.position} of the dataset, shown again: {dict(again.release.values)}")
    _step(
        console,
        f"distpriv release {policy} --only {WORK} --out {place / 'more'}",
        "declared before the first answer, and certified together with it",
    )
    show_bundle(reported(lambda p: release_policy(str(policy), place / "more", only=WORK, progress=p)), json=False)
    _step(console, f"distpriv ledger {policy}", "what has been released, and what it costs together")
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


def _policy(releases: dict[str, dict[str, str]]) -> str:
    return POLICY.format(blocks="\n".join(_block(name, statistics) for name, statistics in releases.items()))


def _block(name: str, statistics: dict[str, str]) -> str:
    return BLOCK.format(name=name, statistics="\n".join(f'{key} = "{text}"' for key, text in statistics.items()))


def _write_tables(adult: pa.Table, place: Path) -> None:
    """Write a census, and a hospital's 100 records, of which 52 have a high income; no row is in both."""
    high = np.array([value == ">50K" for value in adult["income"].to_pylist()])
    private = np.sort(np.concatenate([np.flatnonzero(high)[::200][:52], np.flatnonzero(~high)[::700][:48]]))
    pq.write_table(adult.take(private), place / "hospital.parquet")
    pq.write_table(adult.take(np.setdiff1d(np.arange(adult.num_rows), private)), place / "census.parquet")


def _show_model(console: Console, adult: pa.Table) -> None:
    console.print(f"[bold]Adult[/bold]: {adult.num_rows:,} complete records, datasets of {RECORDS} drawn from them\n")
    model = dp.model(adult, paper_query(), dp.Share("income = '>50K'", values=(0.45, 0.55)), records=RECORDS)
    first, second = model.protected_pairs[0]
    table = Table(title=f"{first} against {second}", title_justify="left", title_style="bold")
    for heading in ("statistic", "mean ± sd", "mean ± sd", "shift / sd", "lattice step"):
        table.add_column(heading, justify="left" if heading == "statistic" else "right")
    laws = [model.distributions[name] for name in (first, second)]
    spread = ((laws[0].covariance.diagonal() + laws[1].covariance.diagonal()) / 2) ** 0.5
    shift = model.mean_shift((first, second)) / spread
    for k, statistic in enumerate(model.names):
        cells = [f"{law.mean[k]:.3f} ± {law.covariance[k, k] ** 0.5:.3f}" for law in laws]
        table.add_row(statistic, *cells, f"{shift[k]:+.2f}", f"{model.steps[k]:.3g}")
    console.print(table)
    found = diagnose(model)
    console.print(f"together they are {found.pairs[0].distance:.2f} standard deviations apart;")
    console.print(f"{found}", highlight=False)
