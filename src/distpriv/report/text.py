"""Text as a reader is to see it: letter by letter what was given."""

import re

__all__ = ["begun", "counted", "printable"]

# Neither HTML nor XML can hold control characters, halves of surrogate pairs and non-characters. Controls of writing
# direction could make a column's name rewrite the numbers beside it.
_UNSHOWABLE = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufdd0-\ufdef]"
)


def printable(text: str) -> str:
    r"""Return text that a page can show: what none can becomes U+FFFD, so that a reader sees that something was there.

    >>> printable("a\x00<b>")
    'a�<b>'
    """
    clean = _UNSHOWABLE.sub("\ufffd", text.replace("\r\n", "\n").replace("\r", "\n"))
    return "".join("\ufffd" if ord(letter) & 0xFFFE == 0xFFFE else letter for letter in clean)


def counted(number: int, one: str) -> str:
    """Return how many there are, in the singular where there is one.

    >>> counted(1, "number"), counted(1200, "record")
    ('1 number', '1,200 records')
    """
    return f"{number:,} {one}{'' if number == 1 else 's'}"


def begun(text: str) -> str:
    """Return text that begins a sentence."""
    return text[:1].upper() + text[1:]
