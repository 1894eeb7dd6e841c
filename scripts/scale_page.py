"""Draw docs/images/scale.svg and fill in the tables of docs/scale.md, from docs/images/scale.json.

Usage: python -m scripts.scale_page     (benchmarks/scale.py measures the numbers)
"""

import json
import math
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
from benchmarks.scale_growth import TINY, Cluster, Point, at_scale, growth, points_of
from matplotlib.axes import Axes

DOCS = Path(__file__).parents[1] / "docs"
NUMBERS, PAGE = DOCS / "images" / "scale.json", DOCS / "scale.md"
NAMES = {
    "duckdb": "DuckDB",
    "spark": "Spark",
    "pandas": "pandas, all rows in memory",
    "sampling": "plain sampling of 2 × 1000 datasets",
}
STYLES = {
    ("duckdb", 5): ("#0072b2", "o", "-"),
    ("duckdb", 20): ("#0072b2", "s", "--"),
    ("spark", 5): ("#d55e00", "^", "-"),
    ("spark", 20): ("#d55e00", "D", "--"),
}  # told apart by colour-blind readers, and by their marks and lines
COMPARED, COMPARED_SQL = 10**7, 10**6
MANY_ROWS = 10**10
LIMIT = 2 * 10**9
"""Bytes that the exact model of 10⁸ rows × 5 columns may take."""
Numbers = dict[str, Any]


def table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """Return a Markdown table, its first column to the left."""
    head = list(head)
    lines = [head, ["---", *["---:"] * (len(head) - 1)], *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def engine_points(points: Iterable[Point], way: str, width: int) -> list[Point]:
    """Return the points of an engine that are more than start-up, fewest rows first."""
    return sorted((p for p in points if (p.way, p.width) == (way, width) and p.rows > TINY), key=lambda p: p.rows)


def draw(numbers: Numbers, folder: Path) -> Path:
    """Draw time and peak memory against rows, side by side."""
    plt.switch_backend("svg")
    plt.rcParams["svg.hashsalt"] = "distpriv"
    points = points_of(numbers)
    figure, (time, memory) = plt.subplots(1, 2, figsize=(9.6, 4.2), layout="constrained")
    for (way, width), (colour, mark, line) in STYLES.items():
        own = engine_points(points, way, width)
        rows, label = [p.rows for p in own], f"{NAMES[way]}, {width} columns"
        drawn: Numbers = {"color": colour, "marker": mark, "linestyle": line, "linewidth": 1, "markersize": 5}
        time.plot(rows, [p.least("cpu") for p in own], label=label, **drawn)
        memory.plot(rows, [max(p.peak) / 1e9 for p in own], **drawn)
    time.set_yscale("log")
    time.set_ylabel("CPU time of all cores, start-up included (s)")
    _guide(time, points)
    memory.axhline(LIMIT / 1e9, color="#555555", linewidth=1, linestyle=":")
    memory.annotate("2 GB", (1e5, LIMIT / 1e9), xytext=(0, 3), textcoords="offset points", fontsize=9, color="#555555")
    memory.set_ylim(0, 1.1 * max(LIMIT, *(max(p.peak) for p in points if (p.way, p.width) in STYLES)) / 1e9)
    memory.set_ylabel("peak memory of all processes (GB)")
    for axes in (time, memory):
        axes.set_xscale("log")
        axes.set_xlabel("rows of the reference table")
        axes.grid(color="#dddddd", linewidth=0.5)
        axes.set_axisbelow(True)
        axes.spines[["top", "right"]].set_visible(False)
    time.legend(frameon=False, fontsize=9, loc="upper left")
    target = folder / "scale.svg"
    figure.savefig(target, metadata={"Date": None})
    return target


def _guide(axes: Axes, points: Iterable[Point]) -> None:
    """Show what linear growth looks like, below all lines."""
    last = engine_points(points, "duckdb", 5)[-1]
    ends = [last.rows / 20, last.rows]
    heights = [0.4 * last.least("cpu") * end / last.rows for end in ends]
    axes.plot(ends, heights, color="#999999", linewidth=1)
    axes.annotate(
        "linear", (ends[0], heights[0]), xytext=(8, -2), textcoords="offset points", fontsize=9, color="#777777"
    )


def answer(numbers: Numbers) -> str:
    """Return the largest population that DuckDB was given, in a sentence for each width."""
    points = points_of(numbers)
    largest = [engine_points(points, "duckdb", width)[-1] for width in (5, 20)]
    return "\n".join(
        f"- **{p.rows:,} rows × {p.width} columns** on DuckDB: {_seconds(p.least('wall'))} on the clock, "
        f"{_seconds(p.least('cpu'))} of CPU, **{_bytes(max(p.peak))}** of memory at most."
        for p in largest
    )


def machine_line(numbers: Numbers) -> str:
    """Return what the numbers were measured on."""
    machine = numbers["machine"]
    versions = ", ".join(f"{name} {number}" for name, number in machine["versions"].items())
    return f"{machine['cores']} cores, {machine['memory'] / 2**30:.0f} GiB of memory, {machine['system']}; {versions}."


def load_line(numbers: Numbers) -> str:
    """Return how busy the machine was with other work."""
    loads = sorted(load for point in points_of(numbers) for load in point.load)
    median = loads[len(loads) // 2]
    return (
        f"Just before the measurements the load was {loads[0]:g} to {loads[-1]:g} processes, {median:g} in the middle, "
        f"on {numbers['machine']['cores']} cores."
    )


def points_table(numbers: Numbers, way: str) -> str:
    """Return time and memory of one engine at every size."""
    points = [p for p in points_of(numbers) if p.way == way]
    widths = sorted({p.width for p in points})
    found = {(p.rows, p.width): p for p in points}
    head = ["rows"]
    for width in widths:
        head += [f"{width} columns: clock", "CPU", "peak memory"]

    def cells(rows: int) -> list[str]:
        listed = [found.get((rows, width)) for width in widths]
        return [f"{rows:,}", *(cell for point in listed for cell in (_cells(point) if point else ["–"] * 3))]

    return table(head, (cells(rows) for rows in sorted({p.rows for p in points})))


def _cells(point: Point) -> list[str]:
    return [_seconds(point.least("wall")), _seconds(point.least("cpu")), _bytes(max(point.peak))]


def growth_table(numbers: Numbers) -> str:
    """Return exponents of time and growth of memory, for both engines."""
    points = points_of(numbers)
    head = ["", "start-up", "exponent, clock", "exponent, CPU", "core-seconds for 10⁶ rows", "peak memory grows by"]

    def cells(way: str, width: int) -> list[str]:
        found = growth(points, way, width)
        cost = 1e6 * found.core_seconds_a_row("cpu", numbers["machine"]["cores"])
        exponents = [_exponent(found.wall_exponent), _exponent(found.cpu_exponent)]
        ratio = f"× {found.memory_ratio:.2f}"
        return [f"{NAMES[way]}, {width} columns", _seconds(found.start_up), *exponents, f"{cost:.2f} s", ratio]

    return table(head, (cells(way, width) for way, width in STYLES))


def compared_table(numbers: Numbers) -> str:
    """Return what every way takes for as many rows as pandas can hold."""
    found = {(p.way, p.width): p for p in points_of(numbers) if p.rows == COMPARED}
    head = [f"{COMPARED:,} rows", "columns", "clock", "CPU", "peak memory", "CPU, times DuckDB", "memory, times DuckDB"]

    def cells(way: str, width: int) -> list[str]:
        point, ours = found[way, width], found["duckdb", width]
        times = [point.least("cpu") / ours.least("cpu"), max(point.peak) / max(ours.peak)]
        return [NAMES[way], str(width), *_cells(point), *(f"{ratio:.3g}" for ratio in times)]

    return table(head, (cells(way, width) for width in (5, 20) for way in NAMES))


def covar_samp_table(numbers: Numbers) -> str:
    """Return what covariances by SQL take on Spark, against a whole model of ours."""
    found = {(p.way, p.width, p.rows): p for p in points_of(numbers)}

    def cells(width: int) -> list[str]:
        ours, theirs = (found[way, width, COMPARED_SQL] for way in ("spark", "covar_samp"))
        seconds = [_seconds(point.least("cpu")) for point in (ours, theirs)]
        return [str(width), str(width * (width + 1) // 2), *seconds]

    head = ["statistics", "covariances", "model, matrix products: CPU", "SELECT of `COVAR_SAMP`: CPU"]
    return table(head, (cells(width) for width in (5, 20)))


def scale_table(numbers: Numbers) -> str:
    """Return the extrapolation to a cluster, row by row of its arithmetic."""
    points, cores, cluster = points_of(numbers), numbers["machine"]["cores"], Cluster()
    grown = [growth(points, "spark", width) for width in (5, 20)]
    by_cpu, by_clock = (
        [at_scale(found, MANY_ROWS, cluster, clock=clock, cores=cores) for found in grown] for clock in ("cpu", "wall")
    )
    rates = [1 / found.core_seconds_a_row("cpu", cores) for found in grown]
    slower = [1 / found.core_seconds_a_row("wall", cores) for found in grown]
    lines = {
        "rows a core-second, by CPU time": [f"{rate:,.0f}" for rate in rates],
        "rows a core-second, by the clock": [f"{rate:,.0f}" for rate in slower],
        "file": [f"{a.file_bytes / 1e9:.0f} GB" for a in by_cpu],
        f"tasks of {cluster.task_bytes // 2**20} MiB": [f"{a.tasks:,}" for a in by_cpu],
        f"turns of {cluster.executors * cluster.cores} cores": [str(a.waves) for a in by_cpu],
        "scan": [_range(a.scan_seconds, b.scan_seconds) for a, b in zip(by_cpu, by_clock, strict=True)],
        "parts collected": [f"{_bytes(a.collected_bytes)}, {a.collect_seconds:.2f} s" for a in by_cpu],
        "start-up, as here": [_seconds(a.start_up) for a in by_cpu],
        "**together**": [f"**{_range(a.seconds, b.seconds)}**" for a, b in zip(by_cpu, by_clock, strict=True)],
        "read by each executor": [f"{a.read_rate / 1e6:.0f} MB/s" for a in by_cpu],
    }
    return table(["", "5 columns", "20 columns"], ([name, *cells] for name, cells in lines.items()))


def tables(numbers: Numbers) -> dict[str, str]:
    """Return all that is filled in, by the names that the page calls it."""
    return {
        "answer": answer(numbers),
        "machine": machine_line(numbers),
        "load": load_line(numbers),
        "growth": growth_table(numbers),
        "points, duckdb": points_table(numbers, "duckdb"),
        "points, spark": points_table(numbers, "spark"),
        "compared": compared_table(numbers),
        "covar_samp": covar_samp_table(numbers),
        "scale": scale_table(numbers),
    }


def filled(page: str, numbers: Numbers) -> str:
    """Return the page with its tables made anew, between the comments that name them."""
    for name, text in tables(numbers).items():
        begin, end = f"<!-- table: {name} -->\n", "<!-- end -->"
        before, found, after = page.partition(begin)
        if not found:
            raise ValueError(f"the page has no place for the table {name!r}: write {begin.strip()} and {end} there.")
        page = before + begin + text + "\n" + end + after.partition(end)[2]
    return page


def _seconds(seconds: float) -> str:
    return f"{seconds:,.2f} s" if seconds < 10 else f"{seconds:,.0f} s"


def _exponent(exponent: float) -> str:
    return "start-up took longer" if math.isnan(exponent) else f"{exponent:.2f}"


def _range(one: float, other: float) -> str:
    low, high = sorted((one, other))
    return f"{low:,.0f} to {high:,.0f} s"


def _bytes(count: float) -> str:
    size, unit = next((size, unit) for size, unit in ((1e9, "GB"), (1e6, "MB"), (1e3, "kB")) if count >= size)
    return f"{count / size:.2f} {unit}" if unit == "GB" else f"{count / size:,.0f} {unit}"


if __name__ == "__main__":
    measured = json.loads(NUMBERS.read_text(encoding="utf-8"))
    picture = draw(measured, NUMBERS.parent)
    print(f"{picture.name}: {picture.stat().st_size:,} bytes")
    PAGE.write_text(filled(PAGE.read_text(encoding="utf-8"), measured), encoding="utf-8")
