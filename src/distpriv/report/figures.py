"""From plain data to a figure: one function a kind of picture."""

from collections.abc import Iterable, Mapping
from typing import Any

from distpriv.framework.domains import items
from distpriv.report.curves import Histogram, Lines, Reference, Sample, Series
from distpriv.report.drawing import CLAIMS, Axis
from distpriv.report.page import Figure
from distpriv.report.rows import Bar, Bars, Interval, Intervals

__all__ = ["Axis", "Bar", "Interval", "Series", "bars", "histogram", "intervals", "lines", "trade_off"]


def lines(
    name: str, series: Iterable[Series], *, x: Axis, y: Axis, caption: str, alt: str, hollow: str = CLAIMS
) -> Figure:
    """Return lines through points; points whose guarantee does not hold are hollow, and the legend says so.

    >>> curve = Series("optimal Gaussian", [0.2, 1, 5], [9, 4, 1], holds=[False, True, True])
    >>> figure = lines(
    ...     "error", [curve], x=Axis("ε", unit=None, log=True), y=Axis("error", unit="persons"),
    ...     caption="Error against ε.", alt="The error falls from 9 to 1 persons.",
    ... )
    >>> [key.text for key in figure.drawing.keys]
    ['optimal Gaussian', 'hollow: does not hold what it claims']
    """
    return Figure(name=name, drawing=Lines(series=items(series), x=x, y=y, hollow=hollow), caption=caption, alt=alt)


def trade_off(
    name: str,
    series: Iterable[Series],
    *,
    caption: str,
    alt: str,
    x: str = "false alarms: says the second when it is the first",
    y: str = "misses: says the first when it is the second",
    guess: str = "a blind guess",
) -> Figure:
    """Return the trade-off of an attacker's two errors, both from 0 to 1, beside what a blind guess gives."""
    drawing = Lines(
        series=items(series),
        x=Axis(x, unit="probability", limits=(0, 1)),
        y=Axis(y, unit="probability", limits=(0, 1)),
        references=(Reference(guess, (0.0, 1.0), (1.0, 0.0)),),
    )
    return Figure(name=name, drawing=drawing, caption=caption, alt=alt)


def histogram(
    name: str,
    samples: Mapping[str, Any],
    *,
    x: Axis,
    y: Axis,
    caption: str,
    alt: str,
    curves: Iterable[Series] = (),
    bins: int = 40,
) -> Figure:
    """Return histograms as densities, the bins shared by all samples, with curves over them.

    Curves take the colours of the samples by turns: with two samples the first and third curve belong to the first.
    """
    counted = tuple(Sample(label, values) for label, values in samples.items())
    drawing = Histogram(samples=counted, curves=items(curves), x=x, y=y, bins=bins)
    return Figure(name=name, drawing=drawing, caption=caption, alt=alt)


def bars(
    name: str, values: Iterable[Bar], *, x: Axis, rows: str, legend: str, caption: str, alt: str, hollow: str = CLAIMS
) -> Figure:
    """Return one bar a row; `rows` says what a row is, such as 'mechanism'."""
    drawing = Bars(bars=items(values), x=x, y=Axis(rows, unit=None), legend=legend, hollow=hollow)
    return Figure(name=name, drawing=drawing, caption=caption, alt=alt)


def intervals(
    name: str, values: Iterable[Interval], *, x: Axis, rows: str, legend: str, caption: str, alt: str
) -> Figure:
    """Return a dot with a bar from end to end in each row; `rows` says what a row is, such as 'statistic'."""
    drawing = Intervals(intervals=items(values), x=x, y=Axis(rows, unit=None), legend=legend)
    return Figure(name=name, drawing=drawing, caption=caption, alt=alt)
