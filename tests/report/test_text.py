from hypothesis import given
from hypothesis import strategies as st

from distpriv.report.text import printable


@given(st.text(st.characters(exclude_categories=("Cc", "Cs", "Cf", "Cn", "Zl", "Zp", "Co"))))
def test_ordinary_text_is_shown_as_it_is(text: str) -> None:
    assert printable(text) == text


@given(st.text())
def test_shown_text_stays_the_same_when_shown_again_and_can_be_written(text: str) -> None:
    once = printable(text)
    assert printable(once) == once
    assert once.encode("utf-8").decode("utf-8") == once
    assert not set(once) & set("\x00\x1b\r\u202e\u2066\ufffe")
