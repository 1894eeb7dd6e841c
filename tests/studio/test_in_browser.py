"""The studio as people use it: from an empty folder to a verified bundle, by clicking alone."""

import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.error import HTTPError

import pytest
from attrs import define, field
from tests.studio.running import running

from distpriv.bundle import verify_bundle

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.slow

PATIENCE = 240_000.0
"""Milliseconds: the machine may be busy."""


@define
class Watched:
    """A page, and everything on it that should not be."""

    page: "Page"
    origin: str
    console: list[str] = field(factory=list)
    elsewhere: list[str] = field(factory=list)

    @classmethod
    def opened(cls, browser: "Browser", link: str, width: int, scheme: Any = "light") -> "Watched":
        context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
        context.set_default_timeout(PATIENCE)
        found = cls(context.new_page(), link.partition("/open")[0])
        found.page.on("console", lambda message: found.console.append(message.text))
        found.page.on("pageerror", lambda error: found.console.append(str(error)))
        found.page.on("request", lambda request: found._note(request.url))
        found.page.goto(link)
        found.page.locator("#errors tbody tr").first.wait_for()
        return found

    def _note(self, address: str) -> None:
        if not address.startswith((f"{self.origin}/", "data:")):
            self.elsewhere.append(address)

    def certified(self) -> None:
        self.page.get_by_text("Certified", exact=True).wait_for()

    def overflow(self) -> int:
        return int(self.page.evaluate("document.documentElement.scrollWidth - innerWidth"))

    def has_no_fault(self) -> None:
        assert (self.console, self.elsewhere) == ([], [])
        assert self.overflow() == 0
        assert self.page.evaluate(UNNAMED) == []


UNNAMED = """() => [...document.querySelectorAll("input, select, textarea, button, svg[role=img]")]
  .filter((e) => !(e.labels?.length || e.textContent.trim() || e.getAttribute("aria-label")))
  .map((e) => e.id || e.outerHTML.slice(0, 80))"""


@pytest.fixture
def link(tmp_path: Path) -> Iterator[str]:
    with running(tmp_path) as found:
        yield found


def test_from_an_empty_folder_to_a_verified_bundle_on_two_browsers_at_once(
    browser: "Browser", tmp_path: Path, link: str
) -> None:
    """One test, since two browsers share one studio: a desk that releases, and a phone that only looks."""
    desk = Watched.opened(browser, link, 1280)
    _the_door_is_shut(link)
    page = desk.page
    assert page.locator("#standing-title").text_content() in ("Provisional", "Certified")
    page.locator("#another").click()
    page.locator("#link:not(:empty)").wait_for()
    phone = Watched.opened(browser, page.locator("#link").text_content() or "", 390, "dark")
    _leave_one_statistic(desk)
    _leave_one_statistic(phone)
    _slide(phone)
    phone.has_no_fault()
    phone.page.context.close()

    desk.certified()
    assert "≈" not in (page.locator("#bar").text_content() or "")
    assert (page.locator("#mechanism-note").text_content() or "").startswith("certified at assurance ")
    page.get_by_role("button", name="Make an example private table").click()
    page.get_by_text("Wrote private.parquet").wait_for()
    desk.certified()
    page.get_by_role("button", name="Write the policy").click()
    page.get_by_text("Wrote policy.toml").wait_for()
    page.get_by_role("button", name="Release …").click()
    dialog = page.get_by_role("dialog")
    assert "Spent by it: ε = 0 and δ = 0.2" in (dialog.text_content() or "")
    assert {file.name for file in tmp_path.iterdir()} == {"adult.parquet", "private.parquet", "policy.toml"}
    page.get_by_role("button", name="Release once").click()
    page.get_by_text("Release 1, verified: bundle in release-1").wait_for()
    assert verify_bundle(str(tmp_path / "release-1")).holds
    with page.context.expect_page() as opened:
        page.get_by_role("link", name="Open the report").click()
    report = opened.value
    report.get_by_role("heading", name="What was published", exact=True).wait_for()
    assert report.get_by_role("rowheader", name="age").first.is_visible()
    assert report.url.endswith("/bundle/release-1/report.html")
    desk.has_no_fault()
    page.context.close()


def _leave_one_statistic(watched: Watched) -> None:
    """Leave a mean alone, whose plan is quick, by the keyboard."""
    page = watched.page
    page.locator("#means input[data-name=hours_per_week]").press("Space")
    page.locator("#counted summary").press("Enter")
    page.locator("#counts input:checked").first.press("Space")
    page.locator("#errors tbody tr").nth(1).wait_for(state="detached")
    assert page.locator("#errors tbody th").all_text_contents() == ["age"]


def _slide(watched: Watched) -> None:
    """Move every slider by its keys, and see the numbers follow."""
    page = watched.page
    for slider, shown in (("#accuracy", "#accuracy-shown"), ("#low", "#low-shown"), ("#along", "#accuracy-shown")):
        before, caption = page.locator(shown).text_content(), page.locator("#trade-caption").text_content()
        page.locator(slider).press("ArrowRight")
        assert page.locator(shown).text_content() != before
        page.locator("#trade-caption").filter(has_not_text=caption or "").wait_for()
    page.locator("#by-epsilon").press("Space")
    page.locator("#trade-caption").filter(has_text="At ε = ").wait_for()
    page.locator("#own").evaluate("element => { element.closest('details').open = true; }")
    page.locator("#own").fill("wrong = mean(agee)")
    page.locator("#refusal").filter(has_text="release.statistics.wrong").wait_for()
    page.locator("#own").fill("")
    page.locator("#refused").wait_for(state="hidden")


def _the_door_is_shut(link: str) -> None:
    """See that a link that was used, no cookie, a foreign host and a foreign origin are refused."""
    origin = link.partition("/open")[0]
    port = origin.rpartition(":")[2]
    asked = [
        urllib.request.Request(link),
        urllib.request.Request(f"{origin}/"),
        urllib.request.Request(link, headers={"Host": f"evil.example:{port}"}),
        urllib.request.Request(link, headers={"Origin": "https://evil.example"}),
    ]
    for request in asked:
        with pytest.raises(HTTPError) as refused:
            urllib.request.urlopen(request)
        assert refused.value.code == 403
        refused.value.close()
