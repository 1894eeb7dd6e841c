"""Run examples/notebook.ipynb and write docs/examples/notebook.md: its cells with what they show.

Usage: python -m scripts.notebook_page
"""

import base64
import re
import tempfile
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
NOTEBOOK = ROOT / "examples" / "notebook.ipynb"
PAGE = ROOT / "docs" / "examples" / "notebook.md"
IMAGES = ROOT / "docs" / "images" / "examples"
SAID = "_This page shows the last run of `examples/notebook.ipynb`. Noise has no seed, so your numbers will differ._"

SCROLLED = '<div style="overflow-x:auto">{}</div>'
"""A table that is wider than the window has a bar of its own."""


def executed() -> Any:
    """Return the notebook after all of its cells were run, from top to bottom in a folder of its own.

    Raises:
        CellExecutionError: a cell has failed.
    """
    nbformat, nbclient = (import_module(name) for name in ("nbformat", "nbclient"))
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    with tempfile.TemporaryDirectory() as folder:
        client = nbclient.NotebookClient(notebook, timeout=600, resources={"metadata": {"path": folder}})
        client.execute()
    return notebook


def page(notebook: Any, images: Path = IMAGES) -> str:
    """Return the notebook as a page, its pictures written to a folder."""
    parts: list[str] = []
    pictures = 0
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            parts.append(cell.source)
            continue
        parts.append(f"```python\n{cell.source}\n```")
        for kind, content in shown(cell):
            if kind == "image/png":
                pictures += 1
                name = f"notebook_{pictures}.png"
                (images / name).write_bytes(base64.b64decode(content))
                parts.append(f"![What the cell above draws.](../images/examples/{name})")
            else:
                parts.append(SCROLLED.format(content) if kind == "text/html" else f"```text\n{content.rstrip()}\n```")
    title, *rest = parts
    return "\n\n".join([title, SAID, *rest]) + "\n"


def shown(cell: Any) -> Iterator[tuple[str, str]]:
    """Yield what a cell shows, the richest form of each output."""
    for output in cell.outputs:
        if output.output_type == "stream":
            yield "text/plain", output.text
            continue
        kind = next(kind for kind in ("image/png", "text/html", "text/plain") if kind in output.data)
        yield kind, _one_block(output.data[kind]) if kind == "text/html" else output.data[kind]


def _one_block(html: str) -> str:
    """Return the tables and sentences of an output on one line: no folded details, and no style but the site's."""
    plain = re.sub(r"<(style|details|figcaption|caption)\b.*?</\1>", "", html, flags=re.DOTALL)
    bare = re.sub(r"<(\w+)\s[^<>]*>", r"<\1>", plain)
    return re.sub(r"\s*\n\s*", " ", bare)


if __name__ == "__main__":
    PAGE.write_text(page(executed()), encoding="utf-8")
    print(f"{PAGE.relative_to(ROOT)}: {PAGE.stat().st_size:,} bytes")
