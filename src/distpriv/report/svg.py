"""An SVG as Matplotlib writes it, made fit to stand beside others in one page, or alone in a file."""

import re
from xml.etree import ElementTree

from distpriv.report.palette import VARIABLES

__all__ = ["inline_svg", "standalone_svg"]

SVG = "{http://www.w3.org/2000/svg}"
LINK = "{http://www.w3.org/1999/xlink}href"
FONTS = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, 'DejaVu Sans', sans-serif"
_REFERENCE = re.compile(r"url\(#([^)]+)\)")
_NAMED = re.compile(r"^(x-label|y-label|legend|row)-")


def standalone_svg(source: bytes, *, alt: str) -> str:
    """Return an SVG for a file of its own."""
    return _serialised(_tidied(source, prefix="part-", alt=alt))


def inline_svg(source: bytes, *, prefix: str, alt: str, css: str) -> str:
    """Return an SVG to be put into a page: ids of its own, and ink and paper of the page's colours."""
    root = _tidied(source, prefix=f"{prefix}-", alt=alt)
    root.set("class", css)
    for element in root.iter():
        for name in ("style", "fill", "stroke"):
            if name in element.attrib:
                element.set(name, _with_variables(element.attrib[name]))
    return _serialised(root)


def _with_variables(style: str) -> str:
    for colour, variable in VARIABLES.items():
        style = style.replace(colour, f"var(--{variable}, {colour})")
    return style


def _tidied(source: bytes, *, prefix: str, alt: str) -> ElementTree.Element:
    root = ElementTree.fromstring(source)
    for parent in list(root.iter()):
        for child in list(parent):
            if child.tag in {f"{SVG}style", f"{SVG}metadata"}:
                parent.remove(child)  # its rule would hold for every element of the page
    _rename(root, prefix)
    for text in root.iter(f"{SVG}text"):
        text.set("style", re.sub(r"font-family:[^;]*;?\s*", "", text.get("style", "")))
        if re.match(r"rotate\(-?0 ", text.get("transform", "")):
            del text.attrib["transform"]
    root.set("style", f"font-family: {FONTS}; stroke-linejoin: round; stroke-linecap: butt")
    root.set("role", "img")
    root.set("aria-label", alt)
    for name in ("width", "height"):
        root.set(name, root.attrib[name].removesuffix("pt"))
    return root


def _rename(root: ElementTree.Element, prefix: str) -> None:
    """Number the ids that something refers to, make classes of those that name a text, and drop the others."""
    links = {element.attrib[LINK][1:] for element in root.iter() if LINK in element.attrib}
    for element in root.iter():
        links.update(name for value in element.attrib.values() for name in _REFERENCE.findall(value))
    numbered: dict[str, str] = {}
    for element in root.iter():
        name = element.attrib.pop("id", "")
        if name in links:
            element.set("id", numbered.setdefault(name, f"{prefix}{len(numbered) + 1}"))
        elif named := _NAMED.match(name):
            element.set("class", named[1])
    for element in root.iter():
        if LINK in element.attrib:
            element.set("href", f"#{numbered[element.attrib.pop(LINK)[1:]]}")
        for key, value in element.attrib.items():
            element.set(key, _REFERENCE.sub(lambda found: f"url(#{numbered[found[1]]})", value))


def _serialised(root: ElementTree.Element) -> str:
    for element in root.iter():
        element.tag = element.tag.removeprefix(SVG)
        if element.tag != "text":
            element.text = None
        element.tail = None
        if "d" in element.attrib:
            element.set("d", " ".join(element.attrib["d"].split()))
    root.set("xmlns", SVG[1:-1])
    return ElementTree.tostring(root, encoding="unicode")
