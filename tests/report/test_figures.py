"""Figures by Matplotlib: the same bytes each time, every text in them as it is, and nothing said on the way."""

import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest
from tests.report.everything import NASTY, drawn

from distpriv.report.figures import error_curve
from distpriv.report.text import printable

ROOT = Path(__file__).parents[2]
CODE = "from tests.report.everything import *; import sys; sys.stdout.writelines(each.svg for each in drawn('x'))"


def test_the_same_data_give_the_same_bytes_in_another_process_with_other_settings(tmp_path: Path) -> None:
    settings_of_a_reader = tmp_path / "matplotlibrc"
    settings_of_a_reader.write_text("font.size: 30\naxes.facecolor: red\nsvg.fonttype: path\n", encoding="utf-8")
    seen = {
        _run({"PYTHONHASHSEED": seed, "MATPLOTLIBRC": where}).stdout
        for seed, where in (("1", str(settings_of_a_reader)), ("2", ""))
    }
    assert seen == {"".join(each.svg for each in drawn("x"))}


def test_nothing_is_said_where_no_folder_can_be_written_for_fonts() -> None:
    done = _run({"HOME": "/dev/null/nowhere"})
    assert done.stderr == ""
    assert done.stdout.count("</svg>") == 2


def _run(environment: dict[str, str]) -> "subprocess.CompletedProcess[str]":
    path = ":".join(["src", ".", *sys.path])
    command = [sys.executable, "-c", CODE]
    return subprocess.run(
        command, capture_output=True, text=True, check=True, env={"PYTHONPATH": path, **environment}, cwd=ROOT
    )


@pytest.mark.parametrize("text", [*NASTY, "\x00\ud800\ufffe\u202e"])
def test_a_text_in_a_figure_is_text_alone(text: str) -> None:
    before, *_ = drawn(text)
    tree = ElementTree.fromstring(before.svg)
    written = "".join("".join(each.itertext()) for each in tree.iter() if each.tag.endswith("}text"))
    assert "".join(printable(text).split()) in "".join(written.split())
    assert {each.tag.partition("}")[2] for each in tree.iter()} <= {
        *("svg", "g", "defs", "style", "path", "text", "use", "clipPath", "rect"),
    }
    inline = ElementTree.fromstring(before.inline.replace("xlink:href", "href"))
    assert inline.get("aria-label", "").startswith(printable(text))


def test_the_curve_of_errors_marks_the_choice_and_leaves_out_what_cannot_be_had() -> None:
    for log in (True, False):
        svg = error_curve({0.05: None, 1.0: 2.0, 8.0: 1.0}, 3.0, (1.0, 2.0), log=log)
        for said in ("public mean, no release", "the choice", "error"):
            assert svg.count(f">{said}<") == 1
    assert "the choice" not in error_curve({0.05: None, 1.0: 2.0}, 3.0, (0.05, None), log=True)


def test_axes_are_marked_with_round_numbers() -> None:
    curve = error_curve({0.05: 3.0, 1.0: 2.0, 8.0: 1.0}, 3.0, (1.0, 2.0), log=True)
    assert {">0.1<", ">1<"} <= set(re.findall(r">[\d.]+<", curve))
