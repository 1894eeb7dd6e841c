"""The demonstration on the Adult data."""

from rich.console import Console
from rich.table import Table

import distpriv as dp
from distpriv.cli.progress import progress_bars
from distpriv.modelling.diagnostics import Diagnostics, diagnose
from distpriv.modelling.model import QueryModel

__all__ = ["show_demo"]

RECORDS = 100


def paper_query() -> dp.Query:
    """Return the five statistics of the paper, in its order."""
    return dp.Query(
        mean_age=dp.mean("age"),
        mean_education=dp.mean("education_num"),
        never_married=dp.count("marital_status = 'Never-married'"),
        female=dp.count("sex = 'Female'"),
        mean_hours=dp.mean("hours_per_week"),
    )


def show_demo(console: Console) -> None:
    """Print the models of the paper's two secrets, and of a query that has to be sampled."""
    adult = dp.datasets.adult()
    console.print(f"[bold]Adult[/bold]: {adult.num_rows:,} complete records, datasets of {RECORDS} drawn from them\n")
    secrets = {
        "income": dp.Share("income = '>50K'", values=(0.45, 0.55)),
        "work class": dp.Share("workclass = 'Private'", values=(0.48, 0.52)),
    }
    for title, secret in secrets.items():
        model = dp.model(adult, paper_query(), secret, records=RECORDS)
        _show(console, f"{title}: exact moments", model, diagnose(model))
    middles = dp.Query(
        median_age=dp.quantile("age", 0.5),
        median_hours=dp.quantile("hours_per_week", 0.5),
        spread_of_age=dp.variance("age"),
    )
    with progress_bars(console) as progress:
        model = dp.model(adult, middles, secrets["income"], records=RECORDS, draws=20_000, progress=progress)
    _show(console, "income: medians and a variance, from 20,000 sampled datasets", model, diagnose(model))


def _show(console: Console, title: str, model: QueryModel, diagnostics: Diagnostics) -> None:
    table = Table(title=title, title_justify="left", title_style="bold")
    table.add_column("statistic")
    for name in model.distributions:
        table.add_column(name, justify="right")
    table.add_column("shift / sd", justify="right")
    table.add_column("lattice step", justify="right")
    first, second = (model.distributions[name] for name in model.protected_pairs[0])
    spread = ((first.covariance.diagonal() + second.covariance.diagonal()) / 2) ** 0.5
    shift = model.mean_shift(model.protected_pairs[0]) / spread
    for k, statistic in enumerate(model.names):
        laws = [f"{d.mean[k]:.3f} ± {d.covariance[k, k] ** 0.5:.3f}" for d in model.distributions.values()]
        table.add_row(statistic, *laws, f"{shift[k]:+.2f}", f"{model.steps[k]:.3g}")
    console.print(table)
    console.print(f"the two scenarios are {diagnostics.pairs[0].distance:.2f} standard deviations apart;")
    console.print(f"{diagnostics}\n", highlight=False)
