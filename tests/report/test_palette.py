"""Whether colours can be told apart: by people with each kind of colour vision, on light and on dark paper."""

import re
from importlib.resources import files
from itertools import combinations

import numpy as np
import pytest

from distpriv.framework.arrays import Floats
from distpriv.report import palette
from distpriv.report.palette import MOST, look

# Machado, Oliveira and Fernandes 2009: what a dichromat sees, in linear RGB.
VISION = {
    "full": np.eye(3),
    "without red": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "without green": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
    "without blue": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]],
}


def linear(colour: str) -> Floats:
    values = np.array([int(colour[k : k + 2], 16) for k in (1, 3, 5)]) / 255
    return np.where(values <= 0.04045, values / 12.92, ((values + 0.055) / 1.055) ** 2.4)


def lab(rgb: Floats) -> Floats:
    to_xyz = [[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]
    x, y, z = np.cbrt(np.clip(to_xyz @ rgb, 0, None) / [0.9505, 1.0, 1.089])
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


def contrast(one: str, other: str) -> float:
    light, dark = sorted((float(linear(c) @ [0.2126, 0.7152, 0.0722]) + 0.05 for c in (one, other)), reverse=True)
    return light / dark


@pytest.mark.parametrize("vision", VISION)
def test_colours_of_data_differ_for_every_kind_of_colour_vision(vision: str) -> None:
    colours = sorted({look(k).colour for k in range(MOST)})
    seen = [lab(np.clip(np.array(VISION[vision]) @ linear(colour), 0, 1)) for colour in colours]
    assert min(float(np.linalg.norm(a - b)) for a, b in combinations(seen, 2)) > 12  # 2.3 is just noticeable


def test_no_two_series_look_alike_and_those_of_one_colour_differ_twice() -> None:
    for one, other in combinations([look(k) for k in range(MOST)], 2):
        assert one.colour != other.colour or (one.dash != other.dash and one.marker != other.marker)


def test_text_stands_out_from_its_paper_in_light_and_dark() -> None:
    css = (files("distpriv.report") / "templates" / "page.css").read_text(encoding="utf-8")
    schemes = re.findall(r":root \{(.*?)\}", css, flags=re.DOTALL)
    assert len(schemes) == 2
    for scheme in schemes:
        colours = dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6})", scheme))
        for text, paper in (
            *((text, paper) for text in ("ink", "muted", "accent") for paper in ("paper", "shade", "note-shade")),
            *((text, paper) for text in ("ink", "good") for paper in ("paper", "good-shade")),
            *((text, paper) for text in ("ink", "bad") for paper in ("paper", "bad-shade")),
        ):
            assert contrast(colours[text], colours[paper]) >= 4.5, (text, paper)


def test_the_page_knows_every_colour_that_pictures_take_from_it() -> None:
    css = (files("distpriv.report") / "templates" / "page.css").read_text(encoding="utf-8")
    for colour, variable in palette.VARIABLES.items():
        assert f"--{variable}: {colour};" in css.split("@media")[0]
