"""Pictures with numbers on both axes: lines through points, and histograms under curves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Literal

import numpy as np
from attrs import field, frozen
from numpy.typing import ArrayLike

from distpriv.errors import InvalidInput
from distpriv.framework.arrays import Floats, array_field
from distpriv.framework.domains import items, whole
from distpriv.report.fields import of_type, several_field, text_field
from distpriv.report.palette import MUTED, PAPER, Look, look
from distpriv.report.pictures import CLAIMS, SHADE, Axis, Key, Paper, numbers
from distpriv.report.shapes import Area, Curve, Dots, Shape

__all__ = ["Histogram", "Lines", "Reference", "Sample", "Series"]


def _flags(values: object) -> tuple[bool, ...] | None:
    return None if values is None else tuple(bool(value) for value in items(values))


def _bins(value: int) -> int:
    return whole("bins", value, InvalidInput, at_least=1, cure="40 suit a few thousand numbers")


@frozen(init=False)
class Series:
    """Points with a name; `holds` says of each whether its guarantee does, and those that do not are hollow.

    >>> Series("DauM", [0.2, 1], [3, 2], holds=[False, True]).holds
    (False, True)
    """

    name: str = text_field("the name of a series")
    x: Floats = array_field()
    y: Floats = array_field()
    holds: tuple[bool, ...] | None = field(default=None, converter=_flags)
    markers: bool = True
    """Whether each point is marked; a smooth curve needs none."""

    def __init__(
        self, name: str, x: ArrayLike, y: ArrayLike, *, holds: Sequence[bool] | None = None, markers: bool = True
    ) -> None:
        place = f"the series {name!r}"
        self.__attrs_init__(name, numbers(f"x of {place}", x), numbers(f"y of {place}", y), holds, markers)

    def __attrs_post_init__(self) -> None:
        marks = len(self.x) if self.holds is None else len(self.holds)
        if not len(self.x) == len(self.y) == marks:
            raise InvalidInput(
                f"the series {self.name!r} has {len(self.x)} x, {len(self.y)} y and {marks} marks of what holds: "
                "give one of each a point."
            )

    @property
    def fails(self) -> bool:
        """Whether some point does not hold."""
        return self.holds is not None and not all(self.holds)


@frozen
class Reference:
    """A thin straight line between two points, such as what a blind guess gives."""

    name: str = text_field("the name of a reference")
    start: tuple[float, float] = (0.0, 0.0)
    end: tuple[float, float] = (1.0, 1.0)


REFERENCE = Look(MUTED, (3.0, 3.0), "")


@frozen(kw_only=True)
class Lines:
    """Lines through points."""

    series: tuple[Series, ...] = several_field("series", of_type("series", Series))
    x: Axis
    y: Axis
    references: tuple[Reference, ...] = several_field("references", of_type("references", Reference), default=())
    hollow: str = text_field("hollow", default=CLAIMS)
    in_rows: ClassVar = False
    stands_on: ClassVar[Literal["", "x", "y"]] = ""

    def __attrs_post_init__(self) -> None:
        look(len(self.series) - 1)
        for series in self.series:
            self.x.check(f"x of {series.name!r}", series.x)
            self.y.check(f"y of {series.name!r}", series.y)

    @property
    def keys(self) -> Sequence[Key]:
        """One entry a series, one a reference, and one for hollow points if there are any."""
        found = [
            Key(s.name, look(k), ("line", "marker") if s.markers else ("line",)) for k, s in enumerate(self.series)
        ]
        found += [Key(reference.name, REFERENCE, ("line",)) for reference in self.references]
        if any(series.fails for series in self.series):
            found.append(Key(self.hollow, Look(MUTED, (), "o"), ("hollow",)))
        return found

    def height(self, paper: Paper) -> float:
        """Return half the width of a wide paper, and nearly all that of a narrow one."""
        return max(0.5 * paper.width, 250.0)

    def shapes(self, paper: Paper) -> list[Shape]:  # noqa: ARG002 (other drawings need it)
        """Return the lines and over them the points."""
        thin = [_straight(reference) for reference in self.references]
        looks = [look(position) for position in range(len(self.series))]
        curves = [Curve(series.x, series.y, style) for series, style in zip(self.series, looks, strict=True)]
        dots = [each for series, style in zip(self.series, looks, strict=True) for each in _dots(series, style)]
        return [*thin, *curves, *dots]


def _straight(reference: Reference) -> Curve:
    x, y = np.array([reference.start, reference.end]).T
    return Curve(x, y, REFERENCE, width=1.0)


def _dots(series: Series, style: Look) -> list[Dots]:
    if not series.markers:
        return []
    holds = np.array(series.holds if series.holds is not None else [True] * len(series.x))
    faces = ((holds, style.colour), (~holds, PAPER))
    return [Dots(series.x[chosen], series.y[chosen], style, face) for chosen, face in faces if chosen.any()]


@frozen(init=False)
class Sample:
    """Numbers to be counted in bins."""

    name: str = text_field("the name of a sample")
    values: Floats = array_field()

    def __init__(self, name: str, values: ArrayLike) -> None:
        self.__attrs_init__(name, numbers(f"the sample {name!r}", values))


@frozen(kw_only=True)
class Histogram:
    """Samples as shares of a density, with curves to compare them to."""

    samples: tuple[Sample, ...] = several_field("samples", of_type("samples", Sample))
    x: Axis
    y: Axis
    curves: tuple[Series, ...] = several_field("curves", of_type("curves", Series), default=())
    bins: int = field(default=40, converter=_bins)
    in_rows: ClassVar = False
    stands_on: ClassVar[Literal["", "x", "y"]] = "y"

    def __attrs_post_init__(self) -> None:
        look(len(self.samples) + len(self.curves) - 1)
        if self.x.log or self.y.log:
            raise InvalidInput("a histogram has linear axes: bins of one width would mislead on a logarithmic one.")

    @property
    def keys(self) -> Sequence[Key]:
        """The samples, then the curves."""
        bars = [Key(sample.name, look(k), ("shade",)) for k, sample in enumerate(self.samples)]
        return bars + [Key(curve.name, self._curve_look(k), ("line",)) for k, curve in enumerate(self.curves)]

    def _curve_look(self, position: int) -> Look:
        """Return the colour of the sample that a curve belongs to, by turns, with a dash of its own."""
        colour = look(position % len(self.samples)).colour
        return Look(colour, look(position // len(self.samples)).dash, "")

    def height(self, paper: Paper) -> float:
        """Return the height of a picture of lines."""
        return max(0.5 * paper.width, 250.0)

    def shapes(self, paper: Paper) -> list[Shape]:  # noqa: ARG002 (other drawings need it)
        """Return the bins, the same for all samples, and the curves over them."""
        every = np.concatenate([sample.values for sample in self.samples])
        low, high = (every.min(), every.max()) if np.ptp(every) > 0 else (every[0] - 0.5, every[0] + 0.5)
        edges = np.linspace(low, high, self.bins + 1)
        bars = [_steps(sample.values, edges, look(k).colour) for k, sample in enumerate(self.samples)]
        return [*bars, *(Curve(curve.x, curve.y, self._curve_look(k)) for k, curve in enumerate(self.curves))]


def _steps(values: Floats, edges: Floats, colour: str) -> Area:
    """Return a density in bins as one outline, from the first edge up and down to the last."""
    heights = np.histogram(values, edges, density=True)[0]
    return Area(np.repeat(edges, 2), np.concatenate([[0.0], np.repeat(heights, 2), [0.0]]), colour, SHADE)
