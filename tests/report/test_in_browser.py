"""The page as a reader sees it, on a phone, at a desk, in the dark and on paper."""

from pathlib import Path
from typing import TYPE_CHECKING, Literal

import pytest
from tests.browser import look
from tests.report.everything import NASTY, drawn, page_saying

from distpriv.report.page import render

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("name", NASTY)
@pytest.mark.parametrize(
    ("width", "media", "scheme"),
    [(360, "screen", "light"), (768, "screen", "dark"), (1280, "screen", "light"), (680, "print", "light")],
)
def test_nothing_is_wrong_with_a_page_of_everything_and_every_name_is_read_as_text(
    browser: "Browser",
    tmp_path: Path,
    name: str,
    width: int,
    media: Literal["screen", "print"],
    scheme: Literal["light", "dark"],
) -> None:
    path = tmp_path / "page.html"
    path.write_text(render(page_saying(name, *drawn(name))), encoding="utf-8")
    seen = look(browser, path, width, media=media, scheme=scheme)
    assert seen.faults == {}
    assert seen.pictures == 2
    assert seen.texts.count(name) >= 10
    assert seen.screenshot.stat().st_size > 10_000


@pytest.mark.parametrize("width", [360, 1280])
def test_a_look_finds_what_is_wrong(browser: "Browser", tmp_path: Path, width: int) -> None:
    """Each fault is planted once, so that a look that sees nothing cannot pass."""
    bad = tmp_path / "bad.html"
    bad.write_text(
        """<!DOCTYPE html><html><body><div id="a" style="width: 3000px">wide</div><p id="a">one</p>
        <svg width="300" height="100"><text x="20" y="50">under</text><text x="30" y="52">over</text>
        <text x="290" y="90">reaches over the edge</text></svg>
        <img src="missing.png"><script>console.log("hello")</script></body></html>""",
        encoding="utf-8",
    )
    faults = look(browser, bad, width).faults
    assert faults["duplicate_ids"] == ("a",)
    assert faults["overflow"] > 1000
    assert faults["scripts"] == 1
    assert ("under", "over") in faults["overlapping"]
    assert "reaches over the edge" in faults["cut"]
    assert len(faults["unlabelled"]) == 2
    assert any("missing.png" in address for address in faults["requests"])
    assert any("hello" in line for line in faults["console"])


def test_a_script_in_a_page_would_not_run(browser: "Browser", tmp_path: Path) -> None:
    """The page's own policy stops even a script that someone pastes into the file later."""
    path = tmp_path / "pasted.html"
    html = render(page_saying("text"))
    path.write_text(html.replace("</main>", "<script>document.title = 'ran'</script></main>"), encoding="utf-8")
    seen = look(browser, path, 360)
    assert seen.scripts == 1
    assert any("Content Security Policy" in line for line in seen.console)
