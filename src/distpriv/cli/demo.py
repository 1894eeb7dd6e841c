"""The demonstration on the Adult data."""

from rich.console import Console
from rich.table import Table

import distpriv as dp
from distpriv.guarantees.attack_accuracy import attack_accuracy_upper_bound, undefended_attack_accuracy
from distpriv.guarantees.mechanism import AdditiveMechanism
from distpriv.modelling.diagnostics import diagnose
from distpriv.modelling.model import QueryModel
from distpriv.noise.laws import LaplaceNoise, NoNoise, SumNoise, UnimodalNoise

__all__ = ["paper_query", "show_demo"]

RECORDS = 100
TARGET = dp.PrivacyTarget(epsilon=1.0, delta=1e-3)


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
    """Print the models of the paper's two secrets, and all mechanisms side by side."""
    adult = dp.datasets.adult()
    console.print(f"[bold]Adult[/bold]: {adult.num_rows:,} complete records, datasets of {RECORDS} drawn from them\n")
    secrets = {
        "income": dp.Share("income = '>50K'", values=(0.45, 0.55)),
        "work class": dp.Share("workclass = 'Private'", values=(0.48, 0.52)),
    }
    for title, secret in secrets.items():
        model = dp.model(adult, paper_query(), secret, records=RECORDS)
        _show_model(console, title, model)
        _show_mechanisms(console, title, model)
    console.print(
        "[bold]noise[/bold]: Laplace or Gaussian, on how many axes. [bold]error[/bold]: its expected L2 length.\n"
        "[bold]exact[/bold]: with the covariances as they are; a proven upper bound for Laplace noise.\n"
        "[bold]trust[/bold]: sampling rests on how the data were drawn, gaussian on Gaussian statistics as\n"
        "well, assumed on all that the paper assumes; [red]*[/red] what is claimed does not hold on these data.\n"
        "[bold]attacker[/bold]: how often the best is right; [red]*[/red] as often as without noise, once decoded:\n"
        "statistics of whole numbers are on a lattice and can be read off where axes are bare.",
        soft_wrap=True,
    )


def mechanisms(model: QueryModel) -> list[AdditiveMechanism]:
    """Return every mechanism on a model, those that assume equal covariances with pooled ones."""
    m = dp.mechanisms
    return [
        m.no_noise(model, TARGET, covariance="pooled"),
        m.expected_value_laplace(model, TARGET),
        m.expected_value_gaussian(model, TARGET),
        m.directional_laplace(model, TARGET),
        m.directional_gaussian(model, TARGET),
        m.eigenvector_gaussian(model, TARGET, covariance="pooled"),
        m.directional_uncertainty(model, TARGET, covariance="pooled"),
        m.group_privacy_laplace(model, TARGET),
        m.group_privacy_gaussian(model, TARGET),
        m.group_privacy_gaussian(model, TARGET, group="records", radius="classic"),
    ]


def _show_model(console: Console, title: str, model: QueryModel) -> None:
    first, second = model.protected_pairs[0]
    table = Table(title=f"{title}: {first} against {second}", title_justify="left", title_style="bold")
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
    console.print(f"{found}\n", highlight=False)


def _show_mechanisms(console: Console, title: str, model: QueryModel) -> None:
    before = undefended_attack_accuracy(model)
    console.print(
        f"[bold]{title}: every mechanism for ε = {TARGET.epsilon:g}, δ = {TARGET.delta:g}[/bold]; "
        f"without noise the best attacker is right {before:.1%} of the time",
        soft_wrap=True,
    )
    table = Table(box=None, padding=(0, 1, 0, 0), header_style="bold")
    for heading in ("mechanism", "noise", "error", "claimed\nδ", "exact\nδ", "exact\nε", "trust", "attacker"):
        left = heading in ("mechanism", "noise", "trust")
        table.add_column(heading, justify="left" if left else "right", no_wrap=True)
    for mechanism in mechanisms(model):
        table.add_row(*_row(model, mechanism))
    console.print(table)
    console.print()


def _row(model: QueryModel, mechanism: AdditiveMechanism) -> list[str]:
    noise, certificate = mechanism.noise, mechanism.certificate
    laplace, sampling = isinstance(noise, LaplaceNoise), certificate.trust == "sampling"
    bounded = isinstance(noise, LaplaceNoise | UnimodalNoise)
    axes = 0 if isinstance(noise, NoNoise | SumNoise) else noise.axes.shape[1]
    exact, least = f"{certificate.delta:.1e}", f"{certificate.epsilon:.2f}"
    if bounded and not sampling:
        exact, least = f"≤{dp.delta_upper_bound(model, noise, epsilon=TARGET.epsilon):.1e}", ""
    elif not sampling:
        exact = f"{dp.exact_delta(model, noise, epsilon=TARGET.epsilon):.1e}"
        least = f"{dp.exact_epsilon(model, noise, delta=TARGET.delta):.2f}"
    group = f"\n  of {certificate.theorem.split()[-2]} records" if mechanism.name.startswith("group") else ""
    star = "[red]*[/red]"
    return [
        mechanism.name + group,
        "none" if axes == 0 else f"{type(noise).__name__[0]} {axes}/{noise.dimension}",
        f"{noise.expected_l2:.2f}",
        "0" if laplace else f"{TARGET.delta:g}",
        exact.replace("e-0", "e-").replace("0.0e+00", "0"),
        least,
        certificate.trust + ("" if certificate.holds else star),
        f"{'≤' if bounded or sampling else ''}{attack_accuracy_upper_bound(model, mechanism):.1%}"
        + (star if 0 < axes < noise.dimension else ""),
    ]
