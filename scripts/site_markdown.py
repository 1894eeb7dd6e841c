r"""A Markdown extension for the site: formulas, and what docstrings write that is no Markdown.

Formulas become MathML when the site is built, so that pages need no script and no network. Pages write ``$…$``, and
``$$`` around a formula that stands alone; docstrings write ``:math:`` and ``.. math::``. A formula that cannot be
converted ends the build. Other roles of docstrings, as ``:func:``, become code, and so do doctests.
"""

import re
import xml.etree.ElementTree as ET

from markdown import Markdown
from markdown.extensions import Extension
from markdown.inlinepatterns import InlineProcessor
from markdown.preprocessors import Preprocessor
from math_core import LatexError, LatexToMathML

__all__ = ["SiteMarkdown", "formula", "makeExtension"]

STANDING_ALONE = re.compile(r"^(?P<indent> *)\$\$(?P<tex>.+?)\$\$ *$", re.DOTALL | re.MULTILINE)
DIRECTIVE = re.compile(r"^(?P<indent> *)\.\. math::(?P<tex>.*(?:\n(?P=indent) +\S.*)*)$", re.MULTILINE)
IN_A_LINE = r"(?<![\\$])\$(?![\s$])((?:\\.|[^\\$])+?)(?<!\s)\$(?!\d)"
ROLE = r":(math|[a-z]+):`([^`]+)`"
LITERAL = re.compile(r"^ *::$", re.MULTILINE)
FENCE = re.compile(r" *(```|~~~)")
LONG = 22
"""Signs in a formula that a phone certainly has room for."""

# Patterns of higher priority go first: a role before the backticks in it (190), a dollar after code and before escapes
# (180); doctests are fenced before fenced code is put aside (25), and formulas found after that, before HTML is (20).
PRIORITY_OF_ROLES, PRIORITY_OF_DOLLARS = 195, 185
PRIORITY_OF_DOCTESTS, PRIORITY_OF_BLOCKS = 28, 22

_CONVERTER = LatexToMathML(fancy_error=False)
_SPELLED_OUT = str.maketrans({"⊤": r"\top "})


def formula(tex: str, *, alone: bool) -> str:
    r"""Return a formula as MathML.

    >>> formula(r"\mathbb E", alone=False)
    '<math><mi>𝔼</mi></math>'
    """
    if re.search(r"(?<!\\)%", tex):
        raise ValueError(f"the formula {tex!r} holds a % that TeX takes for a comment; write \\% instead")
    try:
        return _CONVERTER.convert_with_local_state(tex.strip().translate(_SPELLED_OUT), displaystyle=alone)
    except LatexError as wrong:
        raise ValueError(f"the formula {tex!r} cannot be shown: {wrong}") from None


def in_a_line(tex: str) -> str:
    """Return a formula in a line; one that may be wider than a phone is marked, as browsers do not break it."""
    shown = formula(tex, alone=False)
    long = len(re.sub(r"<[^>]*>|&[A-Za-z]+;", "", shown)) > LONG
    return f'<span class="long-formula">{shown}</span>' if long else shown


class Doctests(Preprocessor):
    """Doctests that stand in text, fenced."""

    def run(self, lines: list[str]) -> list[str]:
        """Put a fence around every run of lines from a prompt to the next empty line."""
        fenced: list[str] = []
        fence = indent = None
        for line in lines:
            mark = FENCE.match(line)
            if mark is not None and indent is None:
                fence = None if fence == mark[1] else fence or mark[1]
            elif fence is None and indent is None and line.lstrip().startswith(">>> "):
                indent = line[: len(line) - len(line.lstrip())]
                fenced.append(f"{indent}```pycon")
            elif indent is not None and not line.strip():
                fenced.append(f"{indent}```")
                indent = None
            fenced.append(line)
        return fenced if indent is None else [*fenced, f"{indent}```"]


class Blocks(Preprocessor):
    """Formulas that stand alone, each in a box that scrolls where the window is narrower."""

    def run(self, lines: list[str]) -> list[str]:
        """Replace them by what Markdown puts aside, and take away the mark that announces indented text."""
        text = "\n".join(lines)
        text = LITERAL.sub("", text)
        for pattern in (DIRECTIVE, STANDING_ALONE):
            text = pattern.sub(self._stored, text)
        return text.split("\n")

    def _stored(self, found: re.Match[str]) -> str:
        # A box that scrolls must be reachable from the keyboard.
        html = f'<div class="formula" tabindex="0">{formula(found["tex"], alone=True)}</div>'
        return f"\n{found['indent']}{self.md.htmlStash.store(html)}\n"


class Dollars(InlineProcessor):
    """A formula in a line of text."""

    def handleMatch(  # type: ignore[override]  # noqa: N802 - the name is Markdown's
        self, m: re.Match[str], data: str
    ) -> tuple[str, int, int]:
        """Replace it by what Markdown puts aside."""
        del data
        return self.md.htmlStash.store(in_a_line(m[1])), m.start(0), m.end(0)


class Roles(InlineProcessor):
    """The roles of docstrings."""

    def handleMatch(  # type: ignore[override]  # noqa: N802 - the name is Markdown's
        self, m: re.Match[str], data: str
    ) -> tuple[ET.Element | str, int, int]:
        """Replace a formula by what Markdown puts aside, and everything else by code."""
        del data
        if m[1] == "math":
            return self.md.htmlStash.store(in_a_line(m[2])), m.start(0), m.end(0)
        code = ET.Element("code")
        code.text = self.md.htmlStash.store(m[2].lstrip("~"))
        return code, m.start(0), m.end(0)


class SiteMarkdown(Extension):
    """All of the above."""

    def extendMarkdown(self, md: Markdown) -> None:  # noqa: N802 - the name is Markdown's
        """Register the patterns."""
        md.preprocessors.register(Doctests(md), "site_doctests", PRIORITY_OF_DOCTESTS)
        md.preprocessors.register(Blocks(md), "site_blocks", PRIORITY_OF_BLOCKS)
        md.inlinePatterns.register(Roles(ROLE, md), "site_roles", PRIORITY_OF_ROLES)
        md.inlinePatterns.register(Dollars(IN_A_LINE, md), "site_dollars", PRIORITY_OF_DOLLARS)


def makeExtension(**options: object) -> SiteMarkdown:  # noqa: N802 - the name is Markdown's
    """Return the extension; Markdown looks for this name."""
    return SiteMarkdown(**options)
