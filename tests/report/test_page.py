from typing import Any

import pytest

from distpriv.errors import InvalidInput
from distpriv.report import Bullets, Cell, Code, Fact, KeyFacts, Notice, Page, Prose, Section, Table
from distpriv.report.figures import Axis, Series, lines

GOOD: dict[str, Any] = {"header": ["a", "b"], "rows": [["1", "2"]], "caption": "c"}


def test_equal_pages_are_equal_and_none_can_be_changed() -> None:
    one, other = (Page(title="t", blocks=[Section("s", Prose("p")), Table(**GOOD)]) for _ in range(2))
    assert one == other
    with pytest.raises(AttributeError):
        one.title = "x"  # type: ignore[misc]


def test_a_table_has_its_first_column_on_the_left_and_numbers_on_the_right() -> None:
    assert Table(**GOOD).align == "lr"
    assert Table(**GOOD, align="cl").align == "cl"
    assert Table(**GOOD).rows == ((Cell("1"), Cell("2")),)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"rows": [["1"]]}, "row 0 of the table 'c' has 1 cells under 2 headers"),
        ({"rows": []}, "the rows of a table must be a list with something in it, got \\[\\]"),
        ({"rows": "12"}, "the rows of a table must be a list"),
        ({"rows": [["1", 2.5]]}, "a cell must be text, got 2.5: format numbers before you report them"),
        ({"header": []}, "the header of a table must be a list"),
        ({"caption": " "}, "the caption of a table must say something, got ' '"),
        ({"align": "lx"}, "align must be 2 letters, each l, r or c, got 'lx'"),
        ({"align": "lrr"}, "align must be 2 letters"),
        ({"chosen": 1}, "chosen must be a row from 0 to 0, got 1"),
    ],
)
def test_a_table_that_does_not_fit_together_is_refused(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        Table(**{**GOOD, **wrong})


def test_words_outside_the_choice_are_refused() -> None:
    with pytest.raises(InvalidInput, match="verdict must be 'good' or 'bad' or 'note', got 'fine'"):
        Notice("fine", "t")  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match=r"emphasis must be 'plain' or .*, got 'red'"):
        Cell("t", "red")  # type: ignore[arg-type]


@pytest.mark.parametrize("make", [Prose, Bullets, Code, lambda text: Fact(text, "l"), lambda text: Fact("v", text)])
def test_nothing_to_say_is_refused(make: Any) -> None:
    for nothing in ("", " \n", None, 7):
        with pytest.raises(InvalidInput, match=r"must say something|must be text"):
            make(nothing)


def test_empty_lists_and_strangers_among_the_blocks_are_refused() -> None:
    for empty in (Prose, KeyFacts, lambda: Section("s"), lambda: Page(title="t", blocks=[])):
        with pytest.raises(InvalidInput, match="must be a list with something in it"):
            empty()
    with pytest.raises(InvalidInput, match=r"a page may hold Beside, Bullets, Code, .*, got '<b>raw</b>'"):
        Page(title="t", blocks=["<b>raw</b>"])  # type: ignore[list-item]


@pytest.mark.parametrize("name", ["", "../up", "A b", "é", 7])
def test_a_figure_whose_name_is_no_file_name_is_refused(name: Any) -> None:
    axis = Axis("a", unit=None)
    with pytest.raises(InvalidInput, match="the name of a figure must be small letters, digits, - and _"):
        lines(name, [Series("s", [1], [1])], x=axis, y=axis, caption="c", alt="a")
