"""One page as one file: no network, no scripts, everything in it escaped."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from distpriv.report.canvas import laid_out
from distpriv.report.page import Block, Figure, Page, Section
from distpriv.report.pictures import NARROW, WIDE
from distpriv.report.png import png_bytes
from distpriv.report.svg import inline_svg, standalone_svg

if TYPE_CHECKING:
    from jinja2 import Template
    from markupsafe import Markup

__all__ = ["render", "save"]


def render(page: Page) -> str:
    """Return a page as one self-contained HTML document; the same page gives the same text.

    >>> from distpriv.report.page import Prose
    >>> html = render(Page(title="<b>", blocks=[Prose("1 < 2")]))
    >>> "<b>" in html, "<p>1 &lt; 2</p>" in html
    (False, True)
    """
    sections = [block for block in page.blocks if isinstance(block, Section)]
    return _template().render(page=page, sections=sections)


def save(figure: Figure, folder: str | Path) -> tuple[Path, ...]:
    """Write a figure to `folder` as name.svg, and as name.png; return where they are."""
    place = Path(folder)
    place.mkdir(parents=True, exist_ok=True)
    sheet = laid_out(figure.drawing, WIDE)
    vector, raster = place / f"{figure.name}.svg", place / f"{figure.name}.png"
    vector.write_text(standalone_svg(sheet, alt=figure.alt) + "\n", encoding="utf-8", newline="\n")
    raster.write_bytes(png_bytes(sheet))
    return vector, raster


@cache
def _template() -> Template:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("distpriv.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters["kind"] = _kind
    environment.filters["pictures"] = _pictures
    environment.filters["unbroken"] = _unbroken
    return environment.get_template("page.html")


def _kind(block: Block) -> str:
    return type(block).__name__


def _unbroken(text: str) -> str:
    """Return text in which no line ends between a number and its percent sign."""
    return re.sub(r"(?<=\d) (?=%)", "\N{NO-BREAK SPACE}", text)


def _pictures(figure: Figure, prefix: str) -> Markup:
    """Return the figure for a wide and for a narrow screen, of which a page shows one."""
    from markupsafe import Markup

    papers = {"wide": WIDE, "narrow": NARROW}
    # The only markup that is not the template's: serialised from a tree, whose text is escaped there.
    return Markup("").join(
        Markup(inline_svg(laid_out(figure.drawing, paper), prefix=f"{prefix}-{css}", alt=figure.alt, css=css))
        for css, paper in papers.items()
    )
