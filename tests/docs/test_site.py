"""The site is built with every warning an error, and what is in it is what it should be."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from scripts.build_site import navigation_faults
from tests.docs.pages import DOCS, PAGES, ROOT
from tests.docs.test_reference import DOCUMENTED


def test_every_page_is_in_the_navigation_once() -> None:
    assert navigation_faults(ROOT) == []


@pytest.mark.slow
def test_the_site_has_every_page_and_every_documented_name(site: Path) -> None:
    for page in PAGES:
        place = page.relative_to(DOCS)
        name = "index.html" if place.name == "README.md" else f"{place.stem}.html"
        assert (site / place.parent / name).is_file(), place
    reference = "".join(page.read_text(encoding="utf-8") for page in (site / "reference").rglob("*.html"))
    assert [name for name in DOCUMENTED if f'id="{name}"' not in reference] == []


@pytest.mark.slow
def test_formulas_are_in_the_pages_and_not_left_to_a_script(site: Path) -> None:
    proof = (site / "proofs" / "certified_gaussian.html").read_text(encoding="utf-8")
    assert proof.count("<math") > 50
    assert "$" not in proof.split("<article")[1].split("</article")[0]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("A [link](nothing.md).", "page does not exist"),
        ("A [link](#nothing).", "anchor does not exist"),
        (r"A formula $\nosuchcommand$.", "nosuchcommand"),
        ("::: distpriv.nothing", "distpriv.nothing"),
        ("A ![picture](images/nothing.svg).", "index.html asks for images/nothing.svg"),
        ("A [name][distpriv.nothing].", "unresolved link reference"),
    ],
)
def test_what_is_wrong_ends_the_build(tmp_path: Path, text: str, reason: str) -> None:
    (tmp_path / "docs" / "assets").mkdir(parents=True)
    (tmp_path / "docs" / "index.md").write_text(f"# Home\n\n{text}\n", encoding="utf-8")
    (tmp_path / "docs" / "lost.md").write_text("# Lost\n", encoding="utf-8")
    for name in ("src", "scripts"):
        (tmp_path / name).symlink_to(ROOT / name)
    for asset in (DOCS / "assets").iterdir():
        shutil.copy(asset, tmp_path / "docs" / "assets")
    before, _, after = (ROOT / "zensical.toml").read_text(encoding="utf-8").partition("\nnav = [\n")
    rest = after.partition("\n]\n")[2]
    navigation = 'nav = [{ "Home" = "index.md" }, { "Gone" = "gone.md" }]'
    (tmp_path / "zensical.toml").write_text("\n".join([before, navigation, rest]), encoding="utf-8")
    ended = subprocess.run(
        [sys.executable, "-m", "scripts.build_site"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert ended.returncode == 1
    assert reason in ended.stdout + ended.stderr
    assert "gone.md is in the navigation" in ended.stderr
    assert "docs/lost.md is not in the navigation" in ended.stderr
