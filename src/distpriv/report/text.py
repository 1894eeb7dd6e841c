"""Text as a reader is to see it: letter by letter what was given, and how much room it takes."""

import re
import unicodedata
from collections.abc import Sequence

from distpriv.errors import InvalidInput

__all__ = ["counted", "ems", "printable", "shown", "shown_or_empty", "tick_labels", "wrapped"]

# Neither HTML nor XML can hold control characters, halves of surrogate pairs and non-characters. Controls of writing
# direction could make a column's name rewrite the numbers beside it.
_UNSHOWABLE = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
)
_SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def shown(name: str, text: object) -> str:
    r"""Return text that a page can show, and refuse text with nothing to see.

    What no page can show becomes U+FFFD, so that a reader sees that something was there.

    >>> shown("caption", "a\x00<b>")
    'a�<b>'
    """
    clean = shown_or_empty(name, text)
    if not clean.strip():
        raise InvalidInput(f"{name} must say something, got {text!r}: a reader cannot guess it.")
    return clean


def shown_or_empty(name: str, text: object) -> str:
    """Return text that a page can show; it may be empty."""
    if not isinstance(text, str):
        raise InvalidInput(f"{name} must be text, got {text!r}: format numbers before you report them.")
    return printable(text)


def printable(text: str) -> str:
    r"""Return text that a page can show: what none can becomes U+FFFD, so that a reader sees that something was there.

    >>> printable("a\x00<b>")
    'a�<b>'
    """
    clean = _UNSHOWABLE.sub("\ufffd", text.replace("\r\n", "\n").replace("\r", "\n"))
    return "".join(
        "\ufffd" if ord(letter) & 0xFFFE == 0xFFFE or 0xFDD0 <= ord(letter) <= 0xFDEF else letter for letter in clean
    )


def counted(number: int, one: str) -> str:
    """Return how many there are, in the singular where there is one.

    >>> counted(1, "number"), counted(1200, "record")
    ('1 number', '1,200 records')
    """
    return f"{number:,} {one}{'' if number == 1 else 's'}"


def ems(text: str) -> float:
    """Return how wide a line is at most in common sans-serif fonts, in heights of the font.

    Rough on purpose: a picture is laid out here and its text is drawn by a browser, in a font known only there.

    >>> ems("漢字") == 2 and ems("il") < ems("mw")
    True
    """
    return sum(map(_em, text))


def _em(letter: str) -> float:
    letter = unicodedata.normalize("NFD", letter)[0]
    if unicodedata.combining(letter):
        return 0.0
    if letter.isascii():
        if letter in " !'(),-./:;I[\\]fijlt|":
            return 0.41
        return 1.0 if letter in "%@MWmw" else 0.85 if letter.isupper() or letter in "#&+<=>^~" else 0.65
    if unicodedata.east_asian_width(letter) in "WF" or not (letter < "\u0900" or "\u2000" <= letter < "\u2c00"):
        return 1.0
    return 0.5 if letter in "⁰¹²³⁴⁵⁶⁷⁸⁹⁻·" else 0.9


def wrapped(text: str, width: float) -> list[str]:
    """Return the lines of a text, each at most `width` ems, broken at spaces where there are any.

    >>> wrapped("share of high earners", 6)
    ['share of', 'high', 'earners']
    """
    lines = [""]
    for word in re.findall(r"\S+", text) or [""]:
        joined = f"{lines[-1]} {word}".lstrip()
        if ems(joined) <= width:
            lines[-1] = joined
            continue
        pieces = _pieces(word, width)
        lines = [*(line for line in lines if line), *pieces]
    return lines


def _pieces(word: str, width: float) -> list[str]:
    pieces = [""]
    for letter in word:
        if pieces[-1] and ems(pieces[-1] + letter) > width:
            pieces.append("")
        pieces[-1] += letter
    return pieces


def tick_labels(ticks: Sequence[float], *, log: bool = False) -> list[str]:
    """Return the numbers along an axis as short as they can be told apart.

    >>> tick_labels([0, 0.5, 1]), tick_labels([-2000, 0]), tick_labels([0.001, 0.1, 10], log=True)
    (['0.0', '0.5', '1.0'], ['−2,000', '0'], ['0.001', '0.1', '10'])
    >>> tick_labels([1e-5, 1e-3], log=True)
    ['10⁻⁵', '10⁻³']
    """
    if log:
        short = all(1e-3 <= tick <= 1e4 for tick in ticks)
        return [f"{tick:g}" if short else _power(tick) for tick in ticks]
    largest = max(map(abs, ticks), default=0.0)
    decimals = next((k for k in range(7) if all(abs(round(t, k) - t) <= 1e-9 * largest for t in ticks)), None)
    if decimals is None or largest >= 1e7:
        return ["0" if tick == 0 else _power(tick) for tick in ticks]
    return [f"{tick:,.{decimals}f}".replace("-", "−") for tick in ticks]


def _power(value: float) -> str:
    digits, exponent = f"{value:.2e}".split("e")
    digits = digits.rstrip("0").rstrip(".").replace("-", "−")
    power = f"10{str(int(exponent)).translate(_SUPERSCRIPTS)}"
    return power if digits == "1" else f"{digits}·{power}"
