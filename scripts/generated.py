"""Parts of pages that are written by a program."""

import re

__all__ = ["replaced"]


def replaced(page: str, part: str, text: str) -> str:
    r"""Return a page with a part between its marks replaced.

    >>> replaced("a\n<!-- begin x -->\nold\n<!-- end x -->\nb", "x", "new")
    'a\n<!-- begin x -->\n\nnew\n\n<!-- end x -->\nb'
    """
    begin, end = f"<!-- begin {part} -->", f"<!-- end {part} -->"
    if page.count(begin) != 1 or page.count(end) != 1:
        raise ValueError(f"the page must have one {begin} and one {end}")
    pattern = re.compile(rf"{re.escape(begin)}.*{re.escape(end)}", re.DOTALL)
    return pattern.sub(lambda _: f"{begin}\n\n{text}\n\n{end}", page)
