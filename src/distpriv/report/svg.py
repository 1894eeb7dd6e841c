"""A sheet as SVG, fit to stand beside others in one page, or alone in a file."""

from __future__ import annotations

from collections.abc import Iterable
from xml.etree import ElementTree

from distpriv.report.palette import PAPER, VARIABLES
from distpriv.report.shapes import OUTLINE, RADIUS, Ink, Mark, Sheet, Stroke, Words

__all__ = ["inline_svg", "standalone_svg"]

FONTS = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, 'DejaVu Sans', sans-serif"


def standalone_svg(sheet: Sheet, *, alt: str) -> str:
    """Return an SVG for a file of its own."""
    return ElementTree.tostring(_tree(sheet, "part-", alt), encoding="unicode")


def inline_svg(sheet: Sheet, *, prefix: str, alt: str, css: str) -> str:
    """Return an SVG to be put into a page: ids of its own, and ink and paper of the page's colours."""
    root = _tree(sheet, f"{prefix}-", alt)
    root.set("class", css)
    for element in root.iter():
        if "style" in element.attrib:
            element.set("style", _with_variables(element.attrib["style"]))
    return ElementTree.tostring(root, encoding="unicode")


def _with_variables(style: str) -> str:
    for colour, variable in VARIABLES.items():
        style = style.replace(colour, f"var(--{variable}, {colour})")
    return style


def _tree(sheet: Sheet, prefix: str, alt: str) -> ElementTree.Element:
    width, height = _number(sheet.width), _number(sheet.height)
    root = ElementTree.Element("svg", {
        "xmlns": "http://www.w3.org/2000/svg", "width": width, "height": height, "viewBox": f"0 0 {width} {height}",
        "style": f"font-family: {FONTS}; font-size: {_number(sheet.font)}px; stroke-linejoin: round; "
        "stroke-linecap: butt", "role": "img", "aria-label": alt,
    })  # fmt: skip
    _add(root, "path", d=_outline([(0, 0), (sheet.width, 0), (sheet.width, sheet.height), (0, sheet.height)], True),
         style=f"fill: {PAPER}")  # fmt: skip
    clip = f"{prefix}1"
    if any(not isinstance(ink, Words) and ink.clipped for ink in sheet.ink):
        left, top, right, bottom = sheet.box
        window = _add(_add(root, "defs"), "clipPath", id=clip)
        place = {"x": left, "y": top, "width": right - left, "height": bottom - top}
        _add(window, "rect", **{name: _number(value) for name, value in place.items()})
    for ink in sheet.ink:
        _draw(root, ink, clip)
    return root


def _draw(root: ElementTree.Element, ink: Ink, clip: str) -> None:
    match ink:
        case Words():
            _write(root, ink)
        case Stroke():
            drawn = _add(root, "path", d=_outline(ink.places, ink.face is not None), style=_style(ink))
        case Mark():
            drawn = _add(root, "path", d=_marker(ink), style=f"fill: {ink.face}; {_line(ink.look.colour, OUTLINE)}")
            drawn.set("class", "point")
    if not isinstance(ink, Words) and ink.clipped:
        drawn.set("clip-path", f"url(#{clip})")


def _write(root: ElementTree.Element, words: Words) -> None:
    parent = _add(root, "g", **{"class": words.name}) if words.name else root
    x, y = _number(words.x), _number(words.y)
    text = _add(parent, "text", x=x, y=y, style=f"text-anchor: {words.anchor}; fill: {words.colour}")
    if words.turned:
        text.set("transform", f"rotate(-90 {x} {y})")
    text.text = words.text


def _style(stroke: Stroke) -> str:
    parts = [f"fill: {stroke.face or 'none'}"]
    if stroke.opacity != 1.0:
        parts.append(f"opacity: {_number(stroke.opacity)}")
    if stroke.colour is not None:
        parts.append(_line(stroke.colour, stroke.width))
    if stroke.dashes and stroke.colour is not None:
        parts.append(f"stroke-dasharray: {','.join(map(_number, stroke.dashes))}")
    return "; ".join(parts)


def _line(colour: str, width: float) -> str:
    return f"stroke: {colour}; stroke-width: {_number(width)}"


def _outline(places: Iterable[tuple[float, float]], closed: bool) -> str:
    """Return a line through places; one place alone is a line of no length.

    >>> _outline([(0, 0), (1.5, 2)], closed=True)
    'M 0 0 L 1.5 2 z'
    """
    return " L ".join(f"{_number(x)} {_number(y)}" for x, y in places).join(("M ", " z" if closed else ""))


def _marker(mark: Mark) -> str:
    if mark.corners is not None:
        return _outline(mark.corners, closed=True)
    arc, left, right = (f"A {_number(RADIUS)} {_number(RADIUS)} 0 0 1", mark.x - RADIUS, mark.x + RADIUS)
    y = _number(mark.y)
    return f"M {_number(left)} {y} {arc} {_number(right)} {y} {arc} {_number(left)} {y} z"


def _number(value: float) -> str:
    """Return a number of pixels to a thousandth.

    >>> _number(720.0), _number(1 / 3), _number(-0.0001)
    ('720', '0.333', '0')
    """
    short = f"{value:.3f}".rstrip("0").rstrip(".")
    return "0" if short == "-0" else short


def _add(parent: ElementTree.Element, tag: str, **attributes: str) -> ElementTree.Element:
    return ElementTree.SubElement(parent, tag, attributes)
