import math
from itertools import pairwise

from hypothesis import assume, given
from hypothesis import strategies as st

from distpriv.report.text import ems, shown_or_empty, tick_labels, wrapped
from distpriv.report.ticks import linear_ticks, log_ticks


@given(st.text(), st.floats(2, 40))
def test_wrapped_lines_hold_all_letters_and_none_is_too_long(text: str, width: float) -> None:
    lines = wrapped(text, width)
    assert "".join("".join(lines).split()) == "".join(text.split())
    assert all(ems(line) <= width for line in lines)


def test_no_line_is_wider_in_a_wide_font_than_estimated() -> None:
    """DejaVu Sans is wider than what phones and desks draw in; Arabic is taken as a whole alphabet."""
    from matplotlib import font_manager
    from matplotlib.ft2font import FT2Font, LoadFlags

    font = FT2Font(font_manager.findfont("DejaVu Sans"))

    def width(text: str) -> float:
        font.set_size(100, 72)
        return (
            sum(font.load_char(ord(letter), flags=LoadFlags.NO_HINTING).linearHoriAdvance for letter in text) / 6.5536e6
        )

    for letter in map(chr, [*range(0x20, 0x7F), *range(0xC0, 0x17F)]):
        if letter not in "ÆæŒœŊŉŦŧĦħ":
            assert width(letter) <= ems(letter), letter
    for first, last in ((0x391, 0x3CE), (0x410, 0x44F), (0x621, 0x64A), (0x2070, 0x2079)):
        alphabet = "".join(c for c in map(chr, range(first, last + 1)) if font.get_char_index(ord(c)))
        assert width(alphabet) <= ems(alphabet), alphabet


@given(st.text(st.characters(exclude_categories=("Cc", "Cs", "Cf", "Cn", "Zl", "Zp", "Co"))))
def test_ordinary_text_is_shown_as_it_is(text: str) -> None:
    assert shown_or_empty("text", text) == text


@given(st.text())
def test_shown_text_stays_the_same_when_shown_again_and_can_be_written(text: str) -> None:
    once = shown_or_empty("text", text)
    assert shown_or_empty("text", once) == once
    assert once.encode("utf-8").decode("utf-8") == once
    assert not set(once) & set("\x00\x1b\r\u202e\u2066\ufffe")


@given(st.floats(-1e9, 1e9), st.floats(1e-6, 1e9), st.integers(2, 9))
def test_linear_ticks_are_even_few_and_inside(low: float, width: float, most: int) -> None:
    high = low + width
    assume(width > 1e-6 * abs(low))
    ticks = linear_ticks(low, high, most)
    assert len(ticks) <= most
    assert all(low - 1e-6 * width <= tick <= high + 1e-6 * width for tick in ticks)
    gaps = [after - before for before, after in pairwise(ticks)]
    assert all(math.isclose(gap, gaps[0], rel_tol=1e-3) for gap in gaps)


@given(st.floats(-30, 30), st.floats(0.01, 30), st.integers(2, 9))
def test_log_ticks_are_few_and_inside(exponent: float, decades: float, most: int) -> None:
    low, high = 10**exponent, 10 ** (exponent + decades)
    ticks = log_ticks(low, high, most)
    assert len(ticks) <= most
    assert ticks == sorted(set(ticks))
    assert all(low * (1 - 1e-6) <= tick <= high * (1 + 1e-6) for tick in ticks)


@given(st.floats(-1e6, 1e6), st.floats(1e-3, 1e9))
def test_the_labels_of_ticks_differ(low: float, width: float) -> None:
    ticks = linear_ticks(low, low + width, 8)
    assume(width > 1e-3 * abs(low))
    assert len(set(tick_labels(ticks))) == len(ticks)


@given(st.floats(-30, 30), st.floats(0.1, 30))
def test_the_labels_of_logarithmic_ticks_differ(exponent: float, decades: float) -> None:
    ticks = log_ticks(10**exponent, 10 ** (exponent + decades), 8)
    assert len(set(tick_labels(ticks, log=True))) == len(ticks)
