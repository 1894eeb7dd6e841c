"""Looking at a page in a real browser: Debian's chromium, driven by Playwright."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import pytest
from attrs import frozen

if TYPE_CHECKING:
    from playwright.sync_api import Browser

__all__ = ["BrowserLook", "browser", "chromium", "look"]

VARIABLE = "DISTPRIV_CHROMIUM"
NAMES = ("chromium", "chromium-browser", "google-chrome")
MEASURES = (Path(__file__).parent / "browser.js").read_text(encoding="utf-8")


@frozen(kw_only=True)
class BrowserLook:
    """What was seen of a page at one width."""

    console: tuple[str, ...]
    """Everything that was printed to the console, and every error on the page."""
    requests: tuple[str, ...]
    """Every address that was asked for besides the page itself."""
    overlapping: tuple[tuple[str, str], ...]
    """Pairs of texts of which one covers a part of the other."""
    cut: tuple[str, ...]
    """Texts of a picture that reach over its edge."""
    unlabelled: tuple[str, ...]
    """Pictures that lack a text for those who do not see them."""
    duplicate_ids: tuple[str, ...]
    overflow: float
    """How many pixels the page is wider than the window."""
    scripts: int
    """How many elements or attributes could run as a script."""
    pictures: int
    """How many pictures are to be seen."""
    texts: tuple[str, ...]
    """Every text to be seen, in pictures too."""
    screenshot: Path

    @property
    def faults(self) -> dict[str, Any]:
        """Everything that is wrong with the page, by name; empty if nothing is."""
        names = ("console", "requests", "overlapping", "cut", "unlabelled", "duplicate_ids", "overflow", "scripts")
        return {name: getattr(self, name) for name in names if getattr(self, name)}


def chromium() -> str | None:
    """Return where chromium is: what DISTPRIV_CHROMIUM says, or the first that is on the path."""
    return os.environ.get(VARIABLE) or next(filter(None, map(shutil.which, NAMES)), None)


@pytest.fixture(scope="module")
def browser() -> Iterator["Browser"]:
    """A browser for the tests of a file; without one they are skipped, and the reason is printed."""
    place = chromium()
    if place is None:
        pytest.skip(f"no browser: none of {', '.join(NAMES)} is on the path, and {VARIABLE} is not set")
    api = pytest.importorskip("playwright.sync_api", reason="no browser: Playwright is not installed")
    with api.sync_playwright() as playwright:
        started = playwright.chromium.launch(
            executable_path=place, args=["--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu"]
        )
        yield started
        started.close()


def look(
    browser: "Browser",
    page: Path,
    width: int,
    *,
    media: Literal["screen", "print"] = "screen",
    scheme: Literal["light", "dark"] = "light",
    screenshots: Path | None = None,
) -> BrowserLook:
    """Open a page at a width in pixels, and return what was seen; 360 is a phone, 1280 a desk, 680 in print A4."""
    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
    console: list[str] = []
    requests: list[str] = []
    tab = context.new_page()
    tab.on("console", lambda message: console.append(f"{message.type}: {message.text}"))
    tab.on("pageerror", lambda error: console.append(f"error: {error}"))
    tab.on("request", lambda request: requests.append(request.url))
    tab.emulate_media(media=media)
    tab.goto(page.resolve().as_uri(), wait_until="load")
    found = tab.evaluate(MEASURES)
    shot = (screenshots or page.parent) / f"{page.stem}-{width}-{media}-{scheme}.png"
    tab.screenshot(path=shot, full_page=True)
    context.close()
    found["texts"] = [text.replace("\u00a0%", " %") for text in found["texts"]]
    lists: dict[str, Any] = {name: tuple(found[name]) for name in ("cut", "unlabelled", "duplicate_ids", "texts")}
    return BrowserLook(
        console=tuple(console),
        requests=tuple(address for address in requests if address != page.resolve().as_uri()),
        overlapping=tuple((one, other) for one, other in found["overlapping"]),
        overflow=found["overflow"],
        scripts=found["scripts"],
        pictures=found["pictures"],
        screenshot=shot,
        **lists,
    )
