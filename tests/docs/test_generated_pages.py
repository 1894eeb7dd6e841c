"""Parts of pages that programs write are as these would write them now."""

import pytest
from scripts import cli_page, schema_page
from scripts.generated import replaced
from scripts.json_schemas import SCHEMAS, schema_text


def test_the_options_on_the_page_are_those_of_the_commands() -> None:
    page = cli_page.PAGE.read_text(encoding="utf-8")
    assert page == cli_page.page_text(page), "run python -m scripts.cli_page"
    assert "`--releases RELEASES` | `100000` | How many simulated releases to attack." in page


def test_the_schemas_are_written_down_as_they_are() -> None:
    page = schema_page.PAGE.read_text(encoding="utf-8")
    assert page == schema_page.page_text(page), "run python -m scripts.schema_page"
    written = {file.stem: file.read_text(encoding="utf-8") for file in schema_page.FOLDER.glob("*.json")}
    assert written == {name: schema_text(name) for name in SCHEMAS}, "run python -m scripts.schema_page"


def test_a_page_without_marks_is_refused() -> None:
    with pytest.raises(ValueError, match="begin x"):
        replaced("nothing", "x", "new")
