"""How the tests read a page: its tags, its attributes and its text."""

from typing import Any, get_args
from xml.etree import ElementTree

from distpriv.report import Bullets, Cell, Code, Fact, Figure, KeyFacts, Notice, Page, Prose, Section, Table
from distpriv.report.figures import Axis, Bar, Reference, Series, bars, histogram, lines
from distpriv.report.heat_map import Heat, HeatMap, HeatRow
from distpriv.report.page import Block, Verdict

SVG_TAGS = {"svg", "g", "path", "defs", "text", "clipPath", "rect"}
SVG_ATTRIBUTES = {"aria-label", "class", "clip-path", "d", "height", "id", "role", "style", "transform"}
SVG_ATTRIBUTES |= {"viewBox", "width", "x", "xmlns", "y"}


def page_saying(text: str) -> Page:
    """Return a page without pictures that says `text` wherever something can be said."""
    blocks: list[Block] = [
        Prose(text, text),
        Bullets(text),
        Code(text),
        KeyFacts(Fact(text, text, text)),
        *(Notice(verdict, text, text) for verdict in get_args(Verdict)),
        Table(header=[text, text], rows=[[text, Cell(text, "fails")], [Cell(text, "good"), text]], caption=text),
        HeatMap(header=[text, text], rows=[HeatRow([text], [Heat(share=0.5, title=text)])], caption=text),
    ]
    return Page(title=text, subtitle=text, blocks=[*blocks, Section(text, Section(text, *blocks))], footer=text)


def figures_saying(text: str) -> list[Figure]:
    """Return a picture of each kind that says `text` wherever something can be said."""
    axis = Axis(text, unit=text)
    words: dict[str, Any] = {"caption": text, "alt": text}
    series = [Series(text, [1, 2], [3, 4], holds=[True, False])]
    return [
        lines("lines", series, x=axis, y=axis, hollow=text, **words),
        lines("trade-off", [Series(text, [0, 1], [1, 0])], x=axis, y=axis, references=[Reference(text)], **words),
        histogram("histogram", {text: [1, 2, 3]}, curves=series, x=axis, y=axis, **words),
        bars("bars", [Bar(text, 1, text, holds=False)], x=axis, rows=text, legend=text, hollow=text, **words),
    ]


def checked_svg(source: str) -> ElementTree.Element:
    """Return an SVG as a tree that holds nothing but what draws."""
    root = ElementTree.fromstring(source)
    for element in root.iter():
        assert element.tag.removeprefix("{http://www.w3.org/2000/svg}") in SVG_TAGS
        assert set(element.attrib) <= SVG_ATTRIBUTES
        assert element.get("href", "#").startswith("#")
        assert "url(" not in element.get("style", "").replace("url(#", "")
    return root
