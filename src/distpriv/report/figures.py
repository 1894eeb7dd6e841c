"""From plain data to a figure: one function a kind of picture."""

from collections.abc import Iterable, Mapping
from typing import Any

from distpriv.framework.domains import items
from distpriv.report.curves import Histogram, Lines, Reference, Sample, Series
from distpriv.report.page import Figure
from distpriv.report.pictures import CLAIMS, Axis
from distpriv.report.rows import Bar, Bars, Dots

__all__ = ["Axis", "Bar", "Drawing", "Reference", "Series", "bars", "dots", "histogram", "lines"]

Drawing = Lines | Histogram | Bars | Dots
"""Data that know how to put themselves on paper."""


def lines(
    name: str,
    series: Iterable[Series],
    *,
    x: Axis,
    y: Axis,
    caption: str,
    alt: str,
    references: Iterable[Reference] = (),
    hollow: str = CLAIMS,
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
    drawing = Lines(series=items(series), x=x, y=y, references=items(references), hollow=hollow)
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


def dots(
    name: str, values: Iterable[Bar], *, x: Axis, rows: str, legend: str, caption: str, alt: str, hollow: str = CLAIMS
) -> Figure:
    """Return one dot a row, for numbers of very different size: `x` is logarithmic, and none of them may be 0.

    >>> figure = dots(
    ...     "errors", [Bar("Laplace", 0.3, chosen=True), Bar("Gaussian", 40, holds=False)], legend="error",
    ...     x=Axis("error", unit="years", log=True), rows="noise", caption="Errors.", alt="0.3 and 40 years.",
    ... )
    >>> [key.text for key in figure.drawing.keys]
    ['error', 'the choice', 'hollow: does not hold what it claims']
    """
    drawing = Dots(bars=items(values), x=x, y=Axis(rows, unit=None), legend=legend, hollow=hollow)
    return Figure(name=name, drawing=drawing, caption=caption, alt=alt)
