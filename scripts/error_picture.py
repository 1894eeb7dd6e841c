"""Draw docs/images/error_against_epsilon.svg: the error that a guarantee costs, the paper's and ours by trust.

Usage: python scripts/error_picture.py [FOLDER], the folder that `distpriv reproduce --out FOLDER` writes to.
"""

import sys
from pathlib import Path

from distpriv.experiments.result import ErrorPoint
from distpriv.experiments.setting import Setting
from distpriv.report.canvas import laid_out
from distpriv.report.figures import Axis, Series, lines
from distpriv.report.page import Figure
from distpriv.report.pictures import WIDE
from distpriv.report.svg import standalone_svg
from distpriv.workflow.reproducing import reproduce

TARGET = Path(__file__).parents[1] / "docs" / "images" / "error_against_epsilon.svg"

SHOWN = {
    "GroupDP (G)": "paper: group privacy of all 100 records",
    "ExpM (G)": "paper: ExpM (G)",
    "DauM (G)": "paper: DauM (G)",
    "CoupM (G)": "ours, trust sampling: nothing assumed of the statistics",
    "CertM (G)": "ours, trust gaussian: Gaussian noise",
    "CertM (L)": "ours, trust gaussian: Laplace noise",
}


def picture(points: list[ErrorPoint]) -> Figure:
    """Return the errors for income, Δp = 0.1, one line a mechanism."""
    series = []
    for mechanism, name in SHOWN.items():
        own = sorted((p for p in points if p.mechanism == mechanism), key=lambda p: p.epsilon)
        holds = [bool(p.holds) for p in own]
        series.append(Series(name, [p.epsilon for p in own], [p.error for p in own], holds=holds))
    at_one = {p.mechanism: p.error for p in points if p.epsilon == 1.0}
    return lines(
        "error_against_epsilon",
        series,
        x=Axis("privacy ε, smaller is more private", unit=None, log=True),
        y=Axis("expected L2 error", unit="units of the statistics", log=True),
        caption="Error against ε.",
        alt="Six falling lines, error against ε. Group privacy is highest. At ε = 1 noise that is certified with "
        f"nothing assumed costs {at_one['CoupM (G)']:.1f}, with Gaussian statistics {at_one['CertM (L)']:.1f}; the "
        "first points of DauM (G) are hollow.",
        hollow="hollow: does not hold the δ = 0.001 that it claims",
    )


def main() -> None:
    """Read the results, or compute them, and draw."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path("reproduction")
    results = reproduce(["figure_2", "beyond"], setting=Setting(protocol="exact"), out=folder).results
    points = [*results["figure_2"].errors, *results["beyond"].errors]
    figure = picture([p for p in points if p.secret == "income" and p.gap == 0.1 and p.error > 0])
    TARGET.write_text(standalone_svg(laid_out(figure.drawing, WIDE), alt=figure.alt) + "\n", encoding="utf-8")
    print(TARGET)


if __name__ == "__main__":
    main()
