"""Results as one Markdown page with pictures."""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
import numpy as np
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from matplotlib.figure import Figure

from paper.result import Attacked, Errors, Result
from paper.setting import DP, MECHANISMS, UNDEFENDED, Setting

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def write_report(results: Sequence[Result], setting: Setting, folder: Path) -> Path:
    """Write report.md and its pictures into a folder, and return the page."""
    folder.mkdir(parents=True, exist_ok=True)
    drawn = figures(results)
    for name, figure in drawn.items():
        with mpl.rc_context({"svg.hashsalt": name, "svg.fonttype": "none"}):  # the same picture, the same bytes
            figure.savefig(folder / f"{name}.svg", metadata={"Date": None})
    page = folder / "report.md"
    page.write_text(markdown(results, setting, drawn), encoding="utf-8")
    return page


def markdown(results: Sequence[Result], setting: Setting, pictures: Mapping[str, Any]) -> str:
    """Return the page."""
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"number": number, "small": small, "signed": _signed}
    template = environment.get_template("report.md.jinja")
    listed = {name: one for name, one in MECHANISMS.items() if name not in (DP, UNDEFENDED)}
    return template.render(results=results, setting=setting, pictures=pictures, mechanisms=listed)


def number(value: float, digits: int = 4) -> str:
    """Return so many digits of a number, without an exponent.

    >>> number(1506.63), number(0.94554), number(339.6, 2)
    ('1,507', '0.9455', '340')
    """
    return f"{float(f'{value:.{digits}g}'):,.15g}"


def small(value: float) -> str:
    """Return two digits of a δ.

    >>> small(0.00239), small(4.1e-5), small(1e-80)
    ('0.0024', '4.1·10⁻⁵', '< 10⁻¹²')
    """
    if 0 < value < 1e-12:
        return "< 10⁻¹²"
    if value == 0 or value >= 1e-4:
        return f"{value:.2g}"
    digits, exponent = f"{value:.1e}".split("e")
    return f"{digits}·10{str(int(exponent)).translate(_RAISED)}"


def _signed(z: float) -> str:
    return f"{round(z, 1) + 0.0:+.1f}".replace("-", "−")


def figures(results: Sequence[Result]) -> dict[str, Figure]:
    """Return the picture of every figure."""
    drawn = {}
    for result in results:
        if result.name == "figure_2":
            drawn[result.name] = _error_figure(result.errors, "epsilon", "ε")
        elif result.name == "figure_3":
            drawn[result.name] = _error_figure(result.errors, "gap", "Δp")
        elif result.name == "figure_4":
            drawn[result.name] = _attack_figure(result.attacks)
        elif result.name == "figure_5":
            drawn[result.name] = _sample_figure(result)
    return drawn


def _error_figure(errors: Sequence[Errors], along: str, label: str) -> Figure:
    """Draw one panel a secret, one line a mechanism; markers are hollow where the claimed δ does not hold."""
    figure = Figure(figsize=(10, 4.5), layout="constrained")
    secrets = list(dict.fromkeys(one.secret for one in errors))
    for axes, secret in zip(np.atleast_1d(figure.subplots(1, len(secrets), sharey=True)), secrets, strict=True):
        for name in dict.fromkeys(one.mechanism for one in errors):
            line = [one for one in errors if (one.secret, one.mechanism) == (secret, name) and one.error > 0]
            holds = [one.holds or name == DP for one in line]
            _draw(axes, name, [getattr(one, along) for one in line], [one.error for one in line], holds)
        axes.set(xlabel=label, title=secret, yscale="log", xscale="log" if along == "epsilon" else "linear")
    figure.axes[0].set_ylabel("L2 error")
    figure.axes[-1].legend(fontsize="small")
    return figure


def _attack_figure(attacks: Sequence[Attacked]) -> Figure:
    figure = Figure(figsize=(6, 4.5), layout="constrained")
    axes = figure.subplots()
    for name in dict.fromkeys(one.mechanism for one in attacks):
        line = [one for one in attacks if one.mechanism == name]
        if name == UNDEFENDED:
            axes.axhline(line[0].accuracy, color="gray", linestyle="--", label=name)
        else:
            x, y = [one.epsilon for one in line], [one.accuracy for one in line]
            _draw(axes, name, x, y, [one.holds for one in line])
    axes.axhline(0.5, color="gray", linestyle=":", label="blind guess")
    axes.set(xlabel="ε", ylabel="attack accuracy", xscale="log")
    axes.legend(fontsize="small")
    return figure


def _draw(axes: "Axes", name: str, x: list[float], y: list[float], holds: list[bool]) -> None:
    colour = f"C{list(MECHANISMS).index(name)}"
    axes.plot(x, y, color=colour, linewidth=1, label=name)
    axes.scatter(x, y, s=16, edgecolors=colour, facecolors=[colour if one else "white" for one in holds], zorder=3)


def _sample_figure(result: Result) -> Figure:
    figure = Figure(figsize=(10, 4), layout="constrained")
    statistics = list(dict.fromkeys(one.statistic for one in result.samples))
    for axes, statistic in zip(np.atleast_1d(figure.subplots(1, len(statistics))), statistics, strict=True):
        shown = [one for one in result.samples if one.statistic == statistic]
        bins = np.linspace(14.5, 40.5, 27) if statistic == "female" else np.linspace(36, 45, 37)
        for k, one in enumerate(shown):
            axes.hist(
                one.values, bins=bins, density=True, color=f"C{k}", alpha=0.35, label=f"sampled, p = {one.share:g}"
            )
            x = np.linspace(min(one.values), max(one.values), 200)
            for style, (mean, variance) in (("-", one.exact), (":", one.fitted)):
                density = np.exp(-((x - mean) ** 2) / (2 * variance)) / math.sqrt(2 * math.pi * variance)
                axes.plot(x, density, color=f"C{k}", linestyle=style)
        axes.set(xlabel=statistic.replace("_", " "), ylabel="density")
    figure.axes[0].legend(fontsize="small")
    return figure
