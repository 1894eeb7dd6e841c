"""Small tables and lists for notebooks: no colours of their own, so that they suit light and dark pages alike."""

from collections.abc import Iterable, Sequence
from html import escape

__all__ = ["details", "html_list", "html_table", "paragraph", "shown"]

LINE = "border-bottom:1px solid color-mix(in srgb, currentColor 25%, transparent)"
CELL = "padding:3px 10px;background:transparent;white-space:nowrap"


def paragraph(text: str, *, strong: bool = False) -> str:
    """Return text as a paragraph, in which every sign stands for itself.

    >>> paragraph("1 < 2")
    '<p style="margin:4px 0;max-width:70em">1 &lt; 2</p>'
    """
    inner = f"<strong>{escape(text)}</strong>" if strong else escape(text)
    return f'<p style="margin:4px 0;max-width:70em">{inner}</p>'


def html_table(caption: str, header: Sequence[str], rows: Iterable[Sequence[str]], *, chosen: int | None = None) -> str:
    """Return a table with a caption and header cells that screen readers announce; the first column is on the left.

    Args:
        caption: what the table is.
        header: the titles of the columns.
        rows: the texts of the cells; the first of a row is its name.
        chosen: the row, counted from 0, that stands out.

    >>> found = html_table("Errors", ["noise", "error"], [["<Laplace>", "0.2"]], chosen=0)
    >>> "&lt;Laplace&gt;" in found, found.count("<td"), 'scope="row"' in found
    (True, 1, True)
    """
    head = "".join(_cell("th", text, place, "col") for place, text in enumerate(header))
    body = "".join(_row(cells, chosen=number == chosen) for number, cells in enumerate(rows))
    title = f'<caption style="text-align:left;color:inherit;padding:4px 0">{escape(caption)}</caption>'
    return (
        f'<table style="border-collapse:collapse;font-variant-numeric:tabular-nums">{title}'
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    )


def html_list(points: Iterable[str]) -> str:
    """Return a list; nothing where there are no points."""
    items = "".join(f"<li>{escape(point)}</li>" for point in points)
    return f'<ul style="margin:4px 0;max-width:70em">{items}</ul>' if items else ""


def details(title: str, points: Sequence[str]) -> str:
    """Return a list that is folded until it is asked for; nothing where there are no points."""
    return f"<details><summary>{escape(title)}</summary>{html_list(points)}</details>" if points else ""


def shown(*parts: str) -> str:
    """Return parts as one block."""
    return f"<div>{''.join(parts)}</div>"


def _row(cells: Sequence[str], *, chosen: bool) -> str:
    inner = "".join(_cell("td" if place else "th", text, place, "row") for place, text in enumerate(cells))
    return f'<tr style="font-weight:bold" aria-current="true">{inner}</tr>' if chosen else f"<tr>{inner}</tr>"


def _cell(tag: str, text: str, place: int, scope: str) -> str:
    align = "right" if place else "left"
    weight = "" if scope == "col" or tag == "td" else ";font-weight:inherit"
    about = f' scope="{scope}"' if tag == "th" else ""
    return f'<{tag}{about} style="{CELL};text-align:{align};{LINE}{weight}">{escape(text)}</{tag}>'
