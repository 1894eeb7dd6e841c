"""How the tests read a page: its tags, its attributes, its text, and what it states."""

import re
from html.parser import HTMLParser

__all__ = ["Reader", "table_rows"]


class Reader(HTMLParser):
    """Collects the tags with the names of their attributes, and the text between them."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, tuple[str, ...]]] = []
        self.values: list[str] = []
        self.texts: list[str] = []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, tuple(name for name, _ in attrs)))
        self.values += [value or "" for _, value in attrs]

    def handle_data(self, data: str) -> None:
        self.texts.append(re.sub(r"(?<=\d)\u00a0(?=%)", " ", data))  # a line does not end before a percent sign


def table_rows(html: str, caption: str | None) -> list[list[str]]:
    """Return the cells of the table whose caption begins so, without its header; of all tables without a caption."""
    if caption is None:
        return [[_text(cell) for cell in row] for row in _cells(html) if row]
    table = html[html.index(f"<figcaption>{caption}") :]
    return [[_text(cell) for cell in row] for row in _cells(table[: table.index("</table>")])][1:]


def _cells(table: str) -> list[list[str]]:
    rows = re.findall(r"<tr.*?</tr>", table, re.DOTALL)
    return [re.findall(r"<t[hd].*?</t[hd]>", row, re.DOTALL) for row in rows]


def _text(html: str) -> str:
    return re.sub(r"\s+", " ", "".join(Reader(html).texts)).strip()
