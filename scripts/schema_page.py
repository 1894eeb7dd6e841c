"""Write docs/reference/schemas/*.json, and the list of them to docs/reference/schemas.md.

Usage: python -m scripts.schema_page
"""

from pathlib import Path

from scripts.generated import replaced
from scripts.json_schemas import SCHEMAS, schema_text

__all__ = ["FOLDER", "PAGE", "page_text"]

FOLDER = Path(__file__).parents[1] / "docs" / "reference" / "schemas"
PAGE = FOLDER.parent / "schemas.md"


def page_text(page: str) -> str:
    """Return the page with a line for every schema."""
    rows = [f"| [{name}.json](schemas/{name}.json) | {schema['title']} |" for name, schema in SCHEMAS.items()]
    return replaced(page, "schemas", "\n".join(["| schema | of |", "|---|---|", *rows]))


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for name in SCHEMAS:
        (FOLDER / f"{name}.json").write_text(schema_text(name), encoding="utf-8")
    PAGE.write_text(page_text(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
