"""The notebook among the examples: it runs from top to bottom, and its page shows its cells."""

import json
from pathlib import Path

import pytest
from scripts.notebook_page import NOTEBOOK, PAGE, executed, page, shown

CELLS = json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]


def test_the_page_has_every_cell_of_the_notebook_in_order() -> None:
    written = PAGE.read_text(encoding="utf-8")
    places = [written.index("".join(cell["source"])) for cell in CELLS]
    assert places == sorted(places)


def test_the_notebook_is_kept_without_what_it_showed_when_someone_ran_it() -> None:
    assert all(cell["outputs"] == [] and cell["execution_count"] is None for cell in CELLS if "outputs" in cell)


@pytest.mark.slow
def test_the_notebook_runs_from_top_to_bottom_and_shows_tables_and_pictures(tmp_path: Path) -> None:
    pytest.importorskip("nbclient", reason="no notebook: nbclient is not installed")
    pytest.importorskip("ipykernel", reason="no notebook: ipykernel is not installed")
    notebook = executed()
    kinds = [[kind for kind, _ in shown(cell)] for cell in notebook.cells if cell.cell_type == "code"]
    html, png, text = ["text/html"], ["image/png"], ["text/plain"]
    assert kinds == [html, html, png, html, html, png, html, text]
    last = notebook.cells[-1].outputs[0].text
    assert last.startswith("True plan.html ['release.csv', 'release.json', 'report.html']")
    assert "passed: " in page(notebook, tmp_path)
