"""The paper's numbers beside ours, as tables."""

from collections.abc import Iterable, Sequence

from distpriv.experiments.attack_points import UNDEFENDED
from distpriv.experiments.result import AttackPoint, Comparison, ErrorPoint, Result
from distpriv.report.page import Bullets, Cell, Table

__all__ = [
    "attack_table",
    "claims",
    "comparison_table",
    "delta_table",
    "mechanism_table",
    "newer_table",
    "number",
    "small",
    "time_table",
]

Cells = list[Cell | str]
_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def number(value: float) -> str:
    """Return four digits of a number, without an exponent.

    >>> number(1506.63), number(0.9455)
    ('1,507', '0.9455')
    """
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def small(value: float | None) -> str:
    """Return a δ to two digits.

    >>> small(0.00239), small(4.1e-5), small(1e-80), small(None)
    ('0.0024', '4.1·10⁻⁵', '< 10⁻¹²', '')
    """
    if value is None:
        return ""
    if 0 < value < 1e-12:
        return "< 10⁻¹²"
    if value == 0 or value >= 1e-4:
        return f"{value:.2g}"
    digits, exponent = f"{value:.1e}".split("e")
    return f"{digits}·10{str(int(exponent)).translate(_RAISED)}"


def comparison_table(result: Result, caption: str, extra: dict[str, dict[str, Cell | str]] | None = None) -> Table:
    """Return every published number beside ours: difference in standard errors, and whether they agree.

    Further columns are given by heading, and in each by the label of a row.
    """
    columns = extra or {}
    return Table(
        header=["", "paper", "ours", "standard error", "z", "agrees", *columns],
        rows=[
            [*_compared(one), *(column.get(one.label, "") for column in columns.values())] for one in result.comparisons
        ],
        caption=caption,
    )


def _compared(one: Comparison) -> Cells:
    verdict = Cell("yes", "good") if one.agrees else Cell("no", "fails")
    return [
        one.label,
        number(one.published),
        number(one.ours),
        number(float(f"{one.standard_error:.2g}")),
        f"{round(one.z, 1) + 0.0:+.1f}".replace("-", "−"),
        verdict,
    ]


def claims(result: Result) -> Bullets:
    """Return what the paper says and whether our numbers bear it out."""
    return Bullets(
        *(
            f"The paper: {one.text} {'Borne out' if one.holds else 'Not borne out'}: {one.evidence}."
            for one in result.claims
        )
    )


def delta_cell(point: ErrorPoint | AttackPoint) -> Cell:
    """Return the δ that noise really has, marked if it is above what is claimed."""
    exact = not isinstance(point, ErrorPoint) or point.delta_is_exact
    shown = small(point.actual_delta)
    if not exact and point.actual_delta is not None:
        shown = f"≥ {shown}" if point.actual_delta >= 1e-12 else "> 0"
    if point.holds is None or point.holds:
        return Cell(shown)
    return Cell(shown, "fails")


def delta_table(points: Sequence[ErrorPoint], *, along: str, heading: str, caption: str) -> Table:
    """Return the δ of every point, one column a mechanism."""
    names = list(dict.fromkeys(point.mechanism for point in points))
    values = sorted({getattr(point, along) for point in points})
    cells = {(getattr(point, along), point.mechanism): delta_cell(point) for point in points}
    return Table(
        header=[heading, *names],
        rows=[[f"{value:.3g}", *(cells[value, name] for name in names)] for value in values],
        caption=caption,
    )


def attack_table(points: Iterable[AttackPoint], caption: str) -> Table:
    """Return how often the paper's attacker, the best one and the lattice attack are right, and the δ of the noise."""
    shown = [point for point in points if point.mechanism != UNDEFENDED]
    return Table(
        header=["mechanism", "ε", "δ claimed", "paper's attacker", "best attacker", "lattice attack", "exact δ"],
        rows=[
            [
                point.mechanism,
                f"{point.epsilon:g}",
                f"{point.delta:g}",
                _share(point.accuracy),
                _share(point.best_attack),
                _beyond_best(point),
                delta_cell(point),
            ]
            for point in shown
        ],
        caption=caption,
    )


def _share(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}"


def _beyond_best(point: AttackPoint) -> Cell:
    """Return the lattice attack's accuracy, marked where it is far above what a density would allow."""
    if point.lattice_attack is None:
        return Cell("")
    error = point.lattice_error or 0.0
    beats = point.best_attack is not None and point.lattice_attack > point.best_attack + 4 * error
    return Cell(_share(point.lattice_attack), "fails" if beats else "plain")


def newer_table(points: Sequence[ErrorPoint], caption: str) -> Table:
    """Return error, δ, trust and attacker of the newer mechanisms."""
    return Table(
        header=["mechanism", "Δp", "ε", "error", "δ", "holds", "trust", "best attacker"],
        rows=[
            [
                point.mechanism,
                f"{point.gap:g}",
                f"{point.epsilon:g}",
                number(point.error),
                ("" if point.delta_is_exact else "≤ ") + small(point.actual_delta),
                Cell("yes", "good")
                if point.holds
                else Cell("no" if point.delta_is_exact else "not certified", "fails"),
                point.trust,
                "" if point.best_attack is None else f"≤ {point.best_attack:.1%}",
            ]
            for point in points
        ],
        align="lrrrrcll",
        caption=caption,
    )


def mechanism_table(result: Result) -> Table:
    """Return the list of mechanisms."""
    return Table(
        header=["shorthand", "noise", "function", "proved by", "needs"],
        rows=[[one.shorthand, one.noise, one.function, one.theorem, one.needs] for one in result.mechanisms],
        align="lllll",
        caption=f"The mechanisms: the first {sum(one.in_paper for one in result.mechanisms)} are the paper's.",
    )


def time_table(results: Iterable[Result]) -> Table:
    """Return how long everything took."""
    timed = [result for result in results if result.seconds is not None]
    return Table(
        header=["", "seconds"],
        rows=[[result.title, f"{result.seconds:.1f}"] for result in timed],
        caption="Time taken. What several experiments share is counted in the first of them.",
    )
