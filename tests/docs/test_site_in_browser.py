"""The site as its readers see it: in a real browser, from a disk and from a server, without a network."""

import re
from collections.abc import Callable, Iterator
from functools import partial
from http import HTTPStatus
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING

import pytest
from attrs import Factory, frozen

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page, Request, Response

pytestmark = pytest.mark.slow

PHONE, DESK = {"width": 390, "height": 844}, {"width": 1280, "height": 900}

TOO_WIDE = """() => {
  const width = document.documentElement.clientWidth;
  if (document.scrollingElement.scrollWidth <= width) return [];
  const scrolls = (element) =>
    element && (getComputedStyle(element).overflowX !== "visible" || scrolls(element.parentElement));
  return [...document.querySelectorAll("article *")]
    .filter((element) => element.getBoundingClientRect().right > width + 1 && !scrolls(element.parentElement))
    .map((element) => element.outerHTML.slice(0, 120)).concat("the page is wider than the window");
}"""
UNSEEN_FORMULAS = """() => [...document.querySelectorAll("article math")]
  .filter((formula) => !formula.closest("details:not([open])"))
  .filter((formula) => { const box = formula.getBoundingClientRect(); return box.width < 2 || box.height < 4; })
  .map((formula) => formula.outerHTML)"""


@frozen(kw_only=True)
class Tab:
    """A tab of the browser, and everything that went wrong in it."""

    page: "Page"
    wrong: list[str] = Factory(list)


def failed(request: "Request") -> list[str]:
    """Return an address that could not be had; what leaving a page breaks off has not failed."""
    return [] if request.failure == "net::ERR_ABORTED" else [f"{request.failure}: {request.url}"]


def refused(answer: "Response") -> list[str]:
    """Return an address that the server did not give; what the browser has already (304) it need not give again."""
    return [] if answer.ok or answer.status == HTTPStatus.NOT_MODIFIED else [f"{answer.status}: {answer.url}"]


@pytest.fixture
def opened(browser: "Browser") -> Iterator[Callable[[str, dict[str, int]], Tab]]:
    """Return what opens an address in a window of some size; only what is at the same place may be asked for."""
    contexts = []

    def opens(address: str, size: dict[str, int]) -> Tab:
        context = browser.new_context(viewport={"width": size["width"], "height": size["height"]})
        contexts.append(context)
        tab = Tab(page=context.new_page())
        home = address.rpartition("/")[0]
        tab.page.on("console", lambda message: tab.wrong.append(f"console: {message.text}"))
        tab.page.on("pageerror", lambda error: tab.wrong.append(f"error: {error}"))
        tab.page.on("requestfailed", lambda request: tab.wrong.extend(failed(request)))
        tab.page.on("response", lambda answer: tab.wrong.extend(refused(answer)))
        tab.page.on(
            "request",
            lambda request: (
                None if request.url.startswith((home, "data:", "blob:")) else tab.wrong.append(f"asked: {request.url}")
            ),
        )
        tab.page.goto(address, wait_until="load")
        return tab

    yield opens
    for context in contexts:
        context.close()


class Quiet(SimpleHTTPRequestHandler):
    """A server that prints nothing."""

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name is the library's
        """Say nothing."""


@pytest.fixture
def served(site: Path) -> Iterator[str]:
    """Yield where a server on this machine has the home page."""
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(site))) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}/index.html"
        server.shutdown()
        thread.join()


Opens = Callable[[str, dict[str, int]], Tab]


def test_every_page_fits_a_phone_shows_its_formulas_and_asks_for_nothing(site: Path, opened: Opens) -> None:
    tab = opened((site / "index.html").as_uri(), PHONE)
    formulas, faults = 0, {}
    for page in sorted(set(site.rglob("*.html")) - {site / "404.html"}):  # which only a server shows
        tab.page.goto(page.as_uri(), wait_until="load")
        if found := [*tab.page.evaluate(TOO_WIDE), *tab.page.evaluate(UNSEEN_FORMULAS), *tab.wrong]:
            faults[page.relative_to(site).as_posix()] = found
        tab.wrong.clear()
        formulas += tab.page.locator("article math").count()
    assert faults == {}
    assert formulas > 1000


def test_a_reader_gets_to_a_proof_by_clicking(site: Path, opened: Opens) -> None:
    tab = opened((site / "index.html").as_uri(), DESK)
    tabs = tab.page.locator(".md-tabs")
    for name in ("Concepts", "How-to", "Examples", "Reproduction", "Reference", "Comparison", "Theory"):
        tabs.get_by_role("link", name=name, exact=True).click()
        tab.page.wait_for_load_state()
        assert tab.page.locator("article h1").is_visible(), name
    aside = tab.page.locator(".md-sidebar--primary")
    aside.locator("label.md-nav__link").filter(has_text="Mechanisms beyond it").click()
    aside.get_by_role("link", name="certified_gaussian").click()
    tab.page.wait_for_url("**/proofs/certified_gaussian.html")
    assert tab.page.locator("article h1").inner_text().startswith("certified_gaussian")
    box = tab.page.locator(".formula math").first.bounding_box()
    assert box is not None
    assert box["width"] > 100
    assert box["height"] > 15
    assert tab.wrong == []


def test_so_does_one_with_a_phone(site: Path, opened: Opens) -> None:
    tab = opened((site / "index.html").as_uri(), PHONE)
    tab.page.locator("header label[for=__drawer]").click()
    drawer = tab.page.locator(".md-sidebar--primary")
    drawer.get_by_text("Reproduction", exact=True).last.click()
    tab.page.wait_for_url("**/reproduction.html")
    assert tab.page.locator("article h1").is_visible()
    assert tab.wrong == []


def finds_the_lattice(tab: Tab) -> None:
    """Search for a word, and open what is found first."""
    tab.page.wait_for_load_state("networkidle")
    tab.page.keyboard.press("Control+k")
    search = tab.page.get_by_role("dialog", name="Search")
    search.get_by_role("combobox").fill("lattice")
    hit = search.get_by_role("option").filter(has_text="The lattice trap").first
    hit.wait_for()
    assert search.get_by_role("combobox").input_value() == "lattice"
    hit.click()
    tab.page.wait_for_url(re.compile(r"lattice_trap\.html"))
    assert "lattice" in tab.page.locator("article h1").inner_text().lower()
    assert tab.wrong == []


def test_search_finds_a_word_and_opens_the_hit_from_a_disk(site: Path, opened: Opens) -> None:
    finds_the_lattice(opened((site / "index.html").as_uri(), DESK))


def test_and_from_a_server(served: str, opened: Opens) -> None:
    finds_the_lattice(opened(served, DESK))
