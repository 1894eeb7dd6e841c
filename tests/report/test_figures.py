import math
import re
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.report.pages import checked_svg, figures_saying

from distpriv.errors import InvalidInput
from distpriv.report import Figure
from distpriv.report.canvas import laid_out
from distpriv.report.figures import Axis, Bar, Series, bars, histogram, lines
from distpriv.report.palette import PAPER, look
from distpriv.report.pictures import NARROW, WIDE, Paper
from distpriv.report.svg import standalone_svg

X, Y = Axis("x", unit="m"), Axis("y", unit=None)
WORDS: dict[str, Any] = {"caption": "c", "alt": "a"}


def drawn(figure: Figure, paper: Paper = WIDE) -> str:
    return standalone_svg(laid_out(figure.drawing, paper), alt=figure.alt)


@pytest.mark.parametrize("figure", figures_saying("words"), ids=lambda figure: figure.name)
@pytest.mark.parametrize("paper", [WIDE, NARROW])
def test_every_picture_has_axis_labels_with_units_and_a_legend(figure: Figure, paper: Paper) -> None:
    root = checked_svg(drawn(figure, paper))
    classes = [element.get("class") for element in root.iter()]
    assert {"x-label", "y-label", "legend"} <= set(classes)
    labels = [" ".join("".join(e.itertext()).split()) for e in root.iter() if e.get("class") == "x-label"]
    assert labels == [figure.drawing.x.text]
    assert "(" in labels[0]
    assert "width" in root.attrib
    assert root.get("viewBox", "").split()[2] == f"{paper.width:g}"


@given(st.lists(st.booleans(), min_size=1, max_size=6))
@settings(max_examples=10)
def test_exactly_the_points_that_do_not_hold_are_hollow(holds: list[bool]) -> None:
    numbers = list(range(1, len(holds) + 1))
    picture = drawn(lines("n", [Series("s", numbers, numbers, holds=holds)], x=X, y=Y, **WORDS))
    hollow = re.findall(rf"<path [^>]*fill: {PAPER}[^>]*class=\"point\"", picture)
    entry = 0 if all(holds) else 1
    assert len(hollow) == holds.count(False) + entry
    assert ("does not hold" in picture) == bool(entry)


numbers = st.floats(-1e12, 1e12, allow_subnormal=False)


@given(st.lists(st.tuples(numbers, numbers), min_size=1, max_size=4), st.sampled_from([WIDE, NARROW]))
@settings(max_examples=15)
def test_any_finite_points_can_be_drawn(points: list[tuple[float, float]], paper: Paper) -> None:
    x, y = zip(*points, strict=True)
    checked_svg(drawn(lines("n", [Series("s", x, y)], x=X, y=Y, **WORDS), paper))


@given(st.lists(st.floats(1e-30, 1e30), min_size=1, max_size=4))
@settings(max_examples=10)
def test_any_positive_points_can_be_drawn_on_logarithmic_axes(values: list[float]) -> None:
    axis = Axis("x", unit="m", log=True)
    checked_svg(drawn(lines("n", [Series("s", values, values)], x=axis, y=axis, **WORDS)))


def test_curves_of_a_histogram_have_the_colour_of_their_sample() -> None:
    curves = [Series(name, [0, 1], [1, 1]) for name in ("a", "b", "c", "d")]
    figure = histogram("n", {"one": [0, 1], "two": [0, 2]}, curves=curves, x=X, y=Y, **WORDS)
    colours = [key.look.colour for key in figure.drawing.keys]
    assert colours == [look(0).colour, look(1).colour] * 3
    assert len({(key.look, key.parts) for key in figure.drawing.keys}) == 6


def test_a_sample_of_one_value_can_be_drawn() -> None:
    checked_svg(drawn(histogram("n", {"one": [3.0, 3.0]}, x=X, y=Y, **WORDS)))


STRANGERS: Any = [(1, 2)]
YES: Any = 1
POINTS = [Series("s", [1, 2], [1, 2])]
REFUSED: list[tuple[Callable[[], Any], str]] = [
    (lambda: Axis("", unit="m"), "the label of an axis must say something, got ''"),
    (lambda: Axis("x", unit=" "), "the unit of an axis must say something, got ' '"),
    (lambda: Axis("x", unit="m", log=YES), "log must be True or False, got 1"),
    (lambda: Axis("x", unit="m", limits=(2, 1)), "limits must be two numbers, the smaller one first"),
    (lambda: Axis("x", unit="m", limits=(0, 1), log=True), "limits of a logarithmic axis must be above 0"),
    (lambda: Series("s", [1, 2], [1]), "has 2 x, 1 y and 2 marks of what holds"),
    (lambda: Series("s", [1, 2], [1, 2], holds=[True]), "has 2 x, 2 y and 1 marks of what holds"),
    (lambda: Series("s", [1, math.nan], [1, 2]), "x of the series 's' must be a list of finite numbers"),
    (lambda: Series("s", [1], [math.inf]), "y of the series 's' must be a list of finite numbers"),
    (lambda: Series("s", [], []), "must be a list of finite numbers"),
    (lambda: Series("s", ["one"], [1]), "must be a list of finite numbers, got \\['one'\\]"),
    (lambda: Series("", [1], [1]), "the name of a series must say something"),
    (lambda: lines("n", [], x=X, y=Y, **WORDS), "series must be a list with something in it"),
    (lambda: lines("n", STRANGERS, x=X, y=Y, **WORDS), "series may hold Series, got \\(1, 2\\)"),
    (lambda: lines("n", POINTS * 15, x=X, y=Y, **WORDS), "a figure can tell 14 series apart"),
    (lambda: lines("n", POINTS, x=X, y=Y, caption="c", alt=""), "the alt text of a figure must say something"),
    (lambda: lines("n", POINTS, x=X, y=Y, caption="", alt="a"), "the caption of a figure must say something"),
    (
        lambda: lines("n", [Series("s", [0, 1], [1, 1])], x=Axis("x", unit="m", log=True), y=Y, **WORDS),
        "x of 's' has 0.0 on the logarithmic axis 'x \\(m\\)': leave out what is not above 0",
    ),
    (lambda: histogram("n", {}, x=X, y=Y, **WORDS), "samples must be a list with something in it"),
    (lambda: histogram("n", {"a": [1]}, x=X, y=Axis("y", unit="m", log=True), **WORDS), "a histogram has linear axes"),
    (lambda: histogram("n", {"a": [1]}, x=X, y=Y, bins=0, **WORDS), "bins must be a whole number, at least 1, got 0"),
    (lambda: bars("n", [], x=X, rows="r", legend="l", **WORDS), "bars must be a list with something in it"),
    (lambda: bars("n", [Bar("b", 1)], x=X, rows="r", legend="", **WORDS), "the legend must say something"),
    (lambda: bars("n", [Bar("b", 1)], x=X, rows="", legend="l", **WORDS), "the label of an axis must say something"),
    (lambda: bars("n", [Bar("b", 1)], x=Axis("x", unit="m", log=True), rows="r", legend="l", **WORDS), "start at zero"),
    (lambda: Bar("b", math.inf), "a bar must be a finite number, got inf"),
]


@pytest.mark.parametrize(("make", "message"), REFUSED, ids=[message for _, message in REFUSED])
def test_what_cannot_be_drawn_or_read_is_refused(make: Callable[[], Any], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        make()
