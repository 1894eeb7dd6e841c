"""A release in a notebook: as a small page, and as a picture."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from distpriv.framework.html import details, html_table, paragraph, shown
from distpriv.guarantees.certificate import Certificate

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from distpriv.releasing.released import Release

__all__ = ["release_axes", "release_html"]

ESTIMATE, NOISY, PUBLIC = "#009e73", "#0072b2", "#888888"


def release_html(release: Release) -> str:
    """Return the released numbers with their intervals beside the public means, and what is promised of them."""
    header = ["statistic", "estimate", "95 % interval", "noisy value", "95 % interval", "public mean"]
    rows = [
        [name, f"{release.estimates[name]:.5g}", _ends(release.estimate_intervals, name),
         f"{value:.5g}", _ends(release.intervals, name), f"{release.public_means[name]:.5g}"]
        for name, value in release.values.items()
    ]  # fmt: skip
    caption = "not in a ledger" if release.dataset is None else f"release {release.position} of {release.dataset}"
    return shown(
        html_table(caption, header, rows),
        paragraph(release.fit.sentence),
        *(_promise(part) for part in (release.joint, release.certificate) if part is not None),
    )


def _promise(certificate: Certificate) -> str:
    """Return what is promised, with what it rests on folded below."""
    head, *rest = str(certificate).splitlines()
    return paragraph(head, strong=True) + details("what this rests on", [line.strip() for line in rest])


def _ends(intervals: Mapping[str, tuple[float, float]], name: str) -> str:
    low, high = intervals[name]
    return f"{low:.5g} to {high:.5g}"


def release_axes(release: Release, axes: Axes | None) -> Axes:
    """Draw estimates and noisy values with their intervals, each number in standard errors of its public mean."""
    if axes is None:
        from matplotlib import pyplot as plt

        _, axes = plt.subplots(figsize=(7.0, 1.3 + 0.42 * len(release.values)), layout="constrained")
    for shift, label, colour, values, intervals in (
        (-0.12, "estimate", ESTIMATE, release.estimates, release.estimate_intervals),
        (0.12, "noisy value", NOISY, release.values, release.intervals),
    ):
        for place, name in enumerate(release.values):
            public, unit = release.public_means[name], release.public_errors[name] or 1.0
            low, high = ((end - public) / unit for end in intervals[name])
            axes.plot([low, high], [place + shift] * 2, color=colour, linewidth=1.6)
            middle = (values[name] - public) / unit
            axes.plot(middle, place + shift, "o", color=colour, label=label if place == 0 else None)
    axes.axvline(0.0, color=PUBLIC, linestyle="--", linewidth=1.2, label="public mean")
    axes.margins(y=0.15)
    axes.set_yticks(range(len(release.values)), list(release.values))
    axes.set_xlabel("away from the public mean, in its standard errors (lines: 95 % intervals)")
    axes.invert_yaxis()
    axes.legend(frameon=False, fontsize="small")
    return axes
