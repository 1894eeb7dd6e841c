import re
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.report.demo_page import NASTY, demo_page, error_figure, trade_off_figure
from tests.report.pages import checked_svg, figures_saying, page_saying
from tests.report.reader import Reader

from distpriv.report import Figure, Page, Prose, Section, render, save
from distpriv.report.text import shown

texts = st.text(min_size=1).filter(lambda text: bool(text.strip()) and not re.fullmatch(r"[\s\x85]*", text))
markup = st.lists(
    st.sampled_from(["<", ">", '"', "'", "&", "</style>", "<!--", "]]>", "{{", "%}", "$", "_", "x"]), min_size=1
)


@given(st.one_of(texts, markup.map("".join)))
@example("<script>alert(1)</script>")
@example("</title></style><img src=x onerror=alert(1)>")
@example("{{ page.title }}{% raw %}")
def test_no_text_anywhere_makes_a_tag_or_an_attribute(text: str) -> None:
    plain, said = Reader(render(page_saying("Qqq"))), Reader(render(page_saying(text)))
    assert said.tags == plain.tags
    assert "".join(said.texts) == "".join(plain.texts).replace("Qqq", shown("text", text))
    assert said.values.count(shown("text", text)) >= plain.values.count("Qqq") > 0


@pytest.mark.slow
@given(st.one_of(texts, markup.map("".join), st.sampled_from(NASTY)))
@settings(max_examples=5)
@example("\x00\ud800\ufffe\u202e")
@example("]]><!-- $\\frac{a}{b}$ _x ^y & \\$")
def test_no_text_in_a_picture_is_more_than_text(text: str) -> None:
    html = render(Page(title="t", blocks=figures_saying(text)))
    pictures = re.findall(r"<svg .*?</svg>", html, flags=re.DOTALL)
    assert len(pictures) == 8
    for picture in pictures:
        root = checked_svg(picture)
        assert root.get("aria-label") == shown("alt", text)
        written = "".join("".join(element.itertext()) for element in root.iter() if element.tag.endswith("text"))
        assert "".join(shown("text", text).split()) in "".join(written.split())


def test_the_text_of_a_page_is_all_there_and_in_order() -> None:
    page = Page(title="T", subtitle="S", blocks=[Section("A", Prose("one", "two")), Prose("three")], footer="F")
    body = Reader(render(page)).texts
    assert [text.strip() for text in body if text.strip()][-7:] == ["T", "S", "A", "one", "two", "three", "F"]


def test_many_sections_have_a_list_of_contents_with_working_links() -> None:
    html = render(Page(title="t", blocks=[Section(f"part {k}", Prose("x")) for k in range(4)]))
    targets = re.findall(r'href="#(s\d+)"', html)
    assert len(targets) == 4
    assert all(f'<section id="{target}">' in html for target in targets)


def test_a_page_asks_for_nothing_from_elsewhere() -> None:
    reader = Reader(render(demo_page()))
    addresses = [value for value in reader.values if re.search(r"//|^data:|^https?:", value)]
    assert set(addresses) <= {"http://www.w3.org/2000/svg"}
    assert not {tag for tag, _ in reader.tags} & {"script", "link", "img", "iframe", "object", "base"}


def test_ids_are_unique_even_where_a_figure_is_shown_twice() -> None:
    figure, other = error_figure(), trade_off_figure()
    html = render(Page(title="t", blocks=[figure, Section("s", figure, other)]))
    ids = re.findall(r'(?<=\s)id="([^"]*)"', html)
    assert len(ids) == len(set(ids))
    assert set(re.findall(r'(?:url\(#|href="#)([^")]+)', html)) <= set(ids)


def test_the_same_page_gives_the_same_bytes_in_another_process(tmp_path: Path) -> None:
    settings_of_a_reader = tmp_path / "matplotlibrc"
    settings_of_a_reader.write_text("font.size: 30\naxes.facecolor: red\nsvg.fonttype: path\n", encoding="utf-8")
    code = "from tests.report.demo_page import *; from distpriv.report import render\n"
    code += "print(render(Page(title='t', blocks=[error_figure(), histogram_figure()])))"
    seen = {
        subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            text=True,
            check=True,
            env={"PYTHONPATH": ":".join(["src", ".", *sys.path]), "PYTHONHASHSEED": seed, "MATPLOTLIBRC": where},
            cwd=Path(__file__).parents[2],
        ).stdout
        for seed, where in (("1", str(settings_of_a_reader)), ("2", ""))
    }
    assert len(seen) == 1


def test_importing_the_commands_and_the_report_loads_nothing_that_few_of_them_need() -> None:
    code = "import distpriv.cli.commands, distpriv.report.figures, distpriv.workflow.release_policy, sys\n"
    code += "print({'matplotlib', 'jinja2', 'sklearn', 'scipy.stats'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


@pytest.mark.parametrize("figure", figures_saying("x < y"), ids=lambda figure: figure.name)
def test_a_figure_is_saved_as_the_same_svg_and_png_each_time(figure: Figure, tmp_path: Path) -> None:
    first = [path.read_bytes() for path in save(figure, tmp_path / "new" / "folder")]
    second = [path.read_bytes() for path in save(figure, tmp_path)]
    assert first == second
    root = checked_svg(first[0].decode())
    assert root.get("viewBox", "").startswith("0 0 720 ")
    assert first[1].startswith(b"\x89PNG")
    assert sorted(path.name for path in tmp_path.iterdir() if path.is_file()) == [
        f"{figure.name}.png",
        f"{figure.name}.svg",
    ]
