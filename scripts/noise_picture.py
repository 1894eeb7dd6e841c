"""Draw docs/images/noise_*.svg and fill in the tables of docs/how_much_noise.md, from docs/images/noise.json.

Usage: python scripts/noise_picture.py     (scripts/noise_numbers.py measures the numbers)
"""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.ticker import LogFormatterSciNotation, NullFormatter

DOCS = Path(__file__).parents[1] / "docs"
NUMBERS, PAGE = DOCS / "images" / "noise.json", DOCS / "how_much_noise.md"
PANELS = {
    "sampling": "trust sampling: how rows are drawn",
    "gaussian": "trust gaussian: and Gaussian statistics",
    "assumed": "trust assumed: and all that the paper assumes",
}
STYLES = {
    "coupled_gaussian": ("#0072b2", "o", "-"),
    "coupled_laplace": ("#56b4e9", "s", "--"),
    "group_privacy_gaussian": ("#d55e00", "^", "-."),
    "group_privacy_laplace": ("#000000", "D", ":"),
    "wasserstein": ("#cc79a7", "x", "--"),
    "certified_gaussian": ("#0072b2", "o", "-"),
    "certified_laplace": ("#56b4e9", "s", "--"),
    "certified_unimodal": ("#e69f00", "P", "-."),
    "informative_gaussian": ("#009e73", "v", "-"),
    "expected_value_gaussian": ("#d55e00", "^", "-."),
    "eigenvector_gaussian": ("#000000", "D", ":"),
    "optimal_gaussian": ("#0072b2", "o", "-"),
    "directional_uncertainty": ("#009e73", "v", "-"),
    "directional_gaussian": ("#e69f00", "P", "-."),
    "directional_laplace": ("#cc79a7", "X", "--"),
    "expected_value_laplace": ("#999999", "*", "-"),
    "bounded": ("#555555", "h", ":"),
    "no_noise": ("#999999", "+", ":"),
}  # told apart by colour-blind readers inside each panel, and by their marks and lines
WORTH = (("#d55e00", "^", "-."), ("#0072b2", "o", "--"), ("#009e73", "v", "-"))
Numbers = dict[str, Any]


def curves(numbers: Numbers, secret: str, trust: str) -> dict[str, list[tuple[float, float, bool]]]:
    """Return ε, error and whether the certificate holds, for every mechanism that adds noise at this trust."""
    found: dict[str, list[tuple[float, float, bool]]] = {}
    for plan in (plan for plan in numbers["plans"] if plan["secret"] == secret):
        for option in plan["options"]:
            if option["trust"] == trust and option["error"] > 0:
                point = (plan["epsilon"], option["error"], option["holds"])
                found.setdefault(option["mechanism"], []).append(point)
    return {name: found[name] for name in STYLES if name in found}


def panel(axes: Axes, lines: dict[str, list[tuple[float, float, bool]]], title: str, ticks: list[float]) -> None:
    """Show error against ε, hollow where the certificate does not hold, and the names below."""
    for name, points in lines.items():
        colour, mark, line = STYLES[name]
        axes.plot([p[0] for p in points], [p[1] for p in points], color=colour, linestyle=line, linewidth=1)
        for holds in (True, False):
            some = [p for p in points if p[2] == holds]
            face = colour if holds else "white"
            axes.plot([p[0] for p in some], [p[1] for p in some], mark, color=colour, markerfacecolor=face)
        held = any(p[2] for p in points)
        axes.plot([], [], mark, color=colour, linestyle=line, markerfacecolor=colour if held else "white", label=name)
    against_epsilon(axes, title, ticks)
    axes.yaxis.set_major_formatter(LogFormatterSciNotation())
    axes.legend(frameon=False, fontsize=8, ncols=2, loc="upper center", bbox_to_anchor=(0.5, -0.2), columnspacing=1)


def against_epsilon(axes: Axes, title: str, ticks: list[float]) -> None:
    """Make both scales logarithmic, with every ε that was measured on the lower one."""
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.grid(color="#dddddd", linewidth=0.5)
    axes.set_axisbelow(True)
    axes.set_xlabel("ε asked for, at δ = 0.001 (no unit)")
    axes.set_title(title, loc="left", fontsize=10)
    axes.spines[["top", "right"]].set_visible(False)


def draw(numbers: Numbers, secret: str, folder: Path) -> Path:
    """Draw one secret, a panel for each level of trust."""
    plt.switch_backend("svg")
    plt.rcParams["svg.hashsalt"] = "distpriv"
    ticks = sorted({plan["epsilon"] for plan in numbers["plans"]})
    figure, row = plt.subplots(1, 3, figsize=(12, 5), sharey=True, layout="constrained")
    for axes, (trust, title) in zip(row, PANELS.items(), strict=True):
        panel(axes, curves(numbers, secret, trust), title, ticks)
    row[0].set_ylabel("error of all statistics together, rms\n(years, persons, hours)")
    target = folder / f"noise_{secret.replace(' ', '_')}.svg"
    figure.savefig(target, metadata={"Date": None})
    return target


def draw_worth(numbers: Numbers, folder: Path) -> Path:
    """Draw what is left after estimates against ε, with the public mean and the least noise, a panel a secret."""
    plt.switch_backend("svg")
    plt.rcParams["svg.hashsalt"] = "distpriv"
    secrets = list(dict.fromkeys(plan["secret"] for plan in numbers["plans"]))
    figure, row = plt.subplots(1, len(secrets), figsize=(10, 4.2), sharey=True, layout="constrained")
    for axes, secret in zip(row, secrets, strict=True):
        plans = [plan for plan in numbers["plans"] if plan["secret"] == secret]
        epsilons = [plan["epsilon"] for plan in plans]
        either = ("sampling", "gaussian")
        lines = {
            "least noise, trust gaussian": [_least(_held(plan, either))["error"] for plan in plans],
            "estimates, trust sampling": [_most_telling(plan, ("sampling",))["estimate_error"] for plan in plans],
            "estimates, trust gaussian": [_most_telling(plan, either)["estimate_error"] for plan in plans],
        }
        axes.axhline(plans[0]["public_error"], color="#555555", linestyle=":", label="public mean: no release at all")
        for (name, errors), (colour, mark, line) in zip(lines.items(), WORTH, strict=True):
            axes.plot(epsilons, errors, mark, color=colour, linestyle=line, linewidth=1.5, label=name)
        against_epsilon(axes, secret, epsilons)
        axes.set_yticks([1, 2, 5, 10, 20, 50], ["1", "2", "5", "10", "20", "50"])
        axes.yaxis.set_minor_formatter(NullFormatter())
    row[0].set_ylabel("error of all statistics together, rms\n(years, persons, hours)")
    figure.legend(*row[0].get_legend_handles_labels(), frameon=False, ncols=2, loc="outside lower center", fontsize=9)
    target = folder / "worth.svg"
    figure.savefig(target, metadata={"Date": None})
    return target


def table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """Return a Markdown table, its first column to the left."""
    head = list(head)
    lines = [head, ["---", *["---:"] * (len(head) - 1)], *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def worth_table(numbers: Numbers, secret: str) -> str:
    """Return the error of the best estimates at each level of trust, beside that of the public mean."""

    def cells(plan: Numbers) -> list[str]:
        best, sampling = _most_telling(plan, ("sampling", "gaussian")), _most_telling(plan, ("sampling",))
        (on_sample,) = plan["on_sample"]
        return [
            f"{plan['epsilon']:g}",
            _digits(plan["public_error"]),
            f"{_digits(best['estimate_error'])} `{best['mechanism']}`",
            f"{best['information']:.0%}",
            _attacker(plan["undefended_attack_accuracy"], best["attack_accuracy"]),
            _digits(on_sample["estimate_error"]) if on_sample["holds"] else "–",
            f"{_digits(sampling['estimate_error'])} `{sampling['mechanism']}`",
            _digits(_least(_held(plan, ("sampling", "gaussian")))["error"]),
        ]

    head = ["ε", "public mean", "estimates, `gaussian`", "information", "attacker", "as a sample", "`sampling`"]
    head.append("least noise")
    return table(head, (cells(plan) for plan in numbers["plans"] if plan["secret"] == secret))


def _attacker(before: float, after: float) -> str:
    """Return how often an attacker is right, and at most is afterwards; nothing where the ceiling says no more."""
    return f"{before:.1%} → ≤ {after:.1%}" if after <= before + 5e-4 else f"{before:.1%} → –"


def _most_telling(plan: Numbers, trust: tuple[str, ...]) -> Numbers:
    """Return what leaves the best estimates at a level of trust."""
    held = [option for option in plan["estimates"] if option["holds"] and option["trust"] in trust]
    return min(held, key=lambda option: float(option["estimate_error"]))


def _held(plan: Numbers, trust: tuple[str, ...]) -> list[Numbers]:
    """Return what a plan may choose from at a level of trust."""
    return [option for option in plan["options"] if option["holds"] and option["trust"] in trust]


def trust_table(numbers: Numbers, secret: str) -> str:
    """Return the least error at each level of trust for every ε, and how often an attacker is right at most."""

    def cells(plan: Numbers) -> list[str]:
        levels = (("sampling",), ("sampling", "gaussian"))
        proved = [_least(_held(plan, trust)) for trust in levels]
        claimed = _least(o for o in plan["options"] if o["trust"] == "assumed" and o["mechanism"] != "no_noise")
        errors = [f"{_digits(o['error'])} `{o['mechanism']}`" for o in (*proved, claimed)]
        before, after = plan["undefended_attack_accuracy"], proved[1]["attack_accuracy"]
        price = f"× {proved[0]['error'] / proved[1]['error']:.1f}"
        accuracy = _attacker(before, after)
        return [f"{plan['epsilon']:g}", errors[1], accuracy, errors[0], price, errors[2], f"{claimed['delta']:.2g}"]

    head = ("ε", "`gaussian`", "attacker", "`sampling`", "price", "`assumed`, as claimed", "its δ at most")
    return table(head, (cells(plan) for plan in numbers["plans"] if plan["secret"] == secret))


def plan_table(numbers: Numbers, epsilon: float) -> str:
    """Return noise, error of the estimates and attacker of all that is made for little noise, both secrets at one ε."""
    plans = [plan for plan in numbers["plans"] if plan["epsilon"] == epsilon]
    found = [{option["mechanism"]: option for option in plan["options"]} for plan in plans]

    def cells(name: str) -> list[str]:
        both = [options[name] for options in found]
        numbered = [
            (
                _digits(o["error"]) + ("" if o["holds"] else " ✗"),
                _digits(o["estimate_error"]),
                f"≤ {o['attack_accuracy']:.1%}",
            )
            for o in both
        ]
        return [f"`{name}`", both[0]["trust"], *(cell for pair in numbered for cell in pair)]

    head = ["mechanism", "trust"]
    for plan in plans:
        head += [
            f"{plan['secret']}: noise",
            f"estimate, from {_digits(plan['public_error'])}",
            f"attacker, from {plan['undefended_attack_accuracy']:.1%}",
        ]
    return table(head, (cells(name) for name in found[0]))


def column_table(numbers: Numbers, secret: str) -> str:
    """Return the table of new mechanisms, a column for every difference of shares and every ε."""
    columns = [column for column in numbers["columns"] if column["secret"] == secret]
    head = ["", *(f"Δp {c['shares'][1] - c['shares'][0]:.2g}, ε = {c['epsilon']:g}" for c in columns)]
    return table(head, ([name, *(_digits(c["errors"][name]) for c in columns)] for name in columns[0]["errors"]))


def tables(numbers: Numbers) -> dict[str, str]:
    """Return all tables of the page by the names that the page calls them."""
    made = {"plan": plan_table(numbers, 1.0)}
    for secret in dict.fromkeys(plan["secret"] for plan in numbers["plans"]):
        made |= {
            f"worth, {secret}": worth_table(numbers, secret),
            f"trust, {secret}": trust_table(numbers, secret),
            f"new, {secret}": column_table(numbers, secret),
        }
    return made


def filled(page: str, numbers: Numbers) -> str:
    """Return the page with its tables made anew, between the comments that name them."""
    for name, text in tables(numbers).items():
        begin, end = f"<!-- table: {name} -->\n", "<!-- end -->"
        before, found, after = page.partition(begin)
        if not found:
            raise ValueError(f"the page has no place for the table {name!r}: write {begin.strip()} and {end} there.")
        page = before + begin + text + "\n" + end + after.partition(end)[2]
    return page


def _least(options: Iterable[Numbers]) -> Numbers:
    return min(options, key=lambda option: float(option["error"]))


def _digits(number: float) -> str:
    return f"{number:.4g}" if number < 1000 else f"{number:.0f}"


if __name__ == "__main__":
    measured = json.loads(NUMBERS.read_text(encoding="utf-8"))
    for secret in dict.fromkeys(plan["secret"] for plan in measured["plans"]):
        picture = draw(measured, secret, NUMBERS.parent)
        print(f"{picture.name}: {picture.stat().st_size:,} bytes")
    picture = draw_worth(measured, NUMBERS.parent)
    print(f"{picture.name}: {picture.stat().st_size:,} bytes")
    PAGE.write_text(filled(PAGE.read_text(encoding="utf-8"), measured), encoding="utf-8")
