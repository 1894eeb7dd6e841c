"""Results → tables, plots, one self-contained HTML page. A report only reads results and never recomputes."""

from distpriv.report.page import (
    Beside,
    Bullets,
    Cell,
    Code,
    Fact,
    Figure,
    KeyFacts,
    Notice,
    Page,
    Prose,
    Section,
    Table,
)
from distpriv.report.rendering import render, save

__all__ = [
    "Beside",
    "Bullets",
    "Cell",
    "Code",
    "Fact",
    "Figure",
    "KeyFacts",
    "Notice",
    "Page",
    "Prose",
    "Section",
    "Table",
    "render",
    "save",
]
