"""Write docs/images/studio.png and studio_phone.png: the studio on the embedded table, at a desk and on a phone.

Usage: python -m scripts.studio_pictures
"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from playwright.sync_api import Page

IMAGES = Path(__file__).parents[1] / "docs" / "images"
CHOSEN = ("age", "education_num", "hours_per_week")
PATIENCE = 600_000.0
"""Milliseconds until the plan is certified, on a busy machine."""


def main() -> None:
    """Start a studio in an empty folder, choose three means and two counts, and take both pictures."""
    from playwright.sync_api import sync_playwright

    place = os.environ.get("DISTPRIV_CHROMIUM") or shutil.which("chromium")
    with tempfile.TemporaryDirectory() as parent:
        folder = Path(parent) / "ward-7"
        folder.mkdir()
        command = [sys.executable, "-m", "distpriv", "studio", "--no-open"]
        environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
        with subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, text=True, env=environment) as studio:
            assert studio.stdout is not None
            link = studio.stdout.readline().split()[1]
            try:
                with sync_playwright() as playwright:
                    browser = playwright.chromium.launch(executable_path=place, args=["--no-sandbox"])
                    page = browser.new_page(viewport={"width": 1280, "height": 1600})
                    page.set_default_timeout(PATIENCE)
                    page.goto(link)
                    _choose(page)
                    _take(page)
                    browser.close()
            finally:
                studio.terminate()


def _choose(page: "Page") -> None:
    page.locator("#errors tbody tr").first.wait_for()
    for box in page.locator("#means input").all():
        box.set_checked(box.get_attribute("data-name") in CHOSEN)
    page.locator("#counted summary").click()
    page.locator("#counts input:checked").uncheck()
    page.get_by_role("group", name="sex", exact=True).get_by_label("Female").check()
    page.get_by_role("group", name="marital_status").get_by_label("Never-married").check()
    page.locator("#counted summary").click()
    page.locator("#errors tbody tr").nth(4).wait_for()
    page.get_by_text("Certified", exact=True).wait_for()


def _take(page: "Page") -> None:
    page.evaluate("scrollTo(0, 0)")
    page.screenshot(path=IMAGES / "studio.png")
    page.set_viewport_size({"width": 390, "height": 844})
    page.emulate_media(color_scheme="dark")
    page.locator("#low").evaluate("element => element.closest('fieldset').scrollIntoView()")
    page.wait_for_timeout(300)
    page.screenshot(path=IMAGES / "studio_phone.png")


if __name__ == "__main__":
    main()
