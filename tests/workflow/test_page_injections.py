"""Names and texts of a policy that try to become part of the report's page."""

import json
import re
from collections.abc import Sequence
from html.parser import HTMLParser
from pathlib import Path

import pyarrow as pa
import pytest
from tests.workflow.new_ledger import new_ledger
from tests.workflow.small import only, write_policy, write_tables

from distpriv.errors import InvalidPolicy
from distpriv.workflow.release_policy import release_policy

INJECTIONS = {
    "a script": "<script>alert(1)</script>",
    "a script after all that was open": "</td></tr></table></pre></code></title></style><script>alert(1)</script>",
    "a script in capitals": "<ScRiPt/x>alert(1)</sCrIpT>",
    "a picture that fails": "<img src=x onerror=alert(1)>",
    "a drawing": "<svg onload=alert(1)><script>alert(1)</script></svg>",
    "a drawing's link": "<svg><a xlink:href='javascript:alert(1)'><text>x</text></a></svg>",
    "a foreign object": "<svg><foreignObject><iframe src=javascript:alert(1)></iframe></foreignObject></svg>",
    "a frame": '<iframe srcdoc="&lt;script&gt;alert(1)&lt;/script&gt;"></iframe>',
    "a link": "<a href='javascript:alert(1)'>here</a>",
    "an attribute in double quotes": '" onmouseover="alert(1)" x="',
    "an attribute in single quotes": "' onmouseover='alert(1)' x='",
    "an attribute in back ticks": "` onmouseover=`alert(1)`",
    "a style": "<style>body{display:none}</style>",
    "an import of a style": "</style><style>@import 'http://a.example/x.css';</style>",
    "a base": "<base href='http://a.example/'>",
    "a refresh": '<meta http-equiv="refresh" content="0;url=http://a.example/">',
    "a form": "<form action=http://a.example/><input name=a autofocus onfocus=alert(1)></form>",
    "an object": "<object data='data:text/html,<script>alert(1)</script>'></object>",
    "a template of one kind": "{{7*7}}{% import os %}{# x #}",
    "a template of another kind": "${7*7} #{7*7} <%= 7*7 %> {{constructor.constructor('alert(1)')()}}",
    "a format": "{title} {0.__class__} %(title)s %s",
    "entities": "&lt;script&gt;alert(1)&lt;/script&gt; &#60;b&#62; &amp;lt;i&amp;gt;",
    "a comment": "--><script>alert(1)</script><!--",
    "half a comment": "<!--",
    "a section of data": "]]><script>alert(1)</script><![CDATA[",
    "an instruction": "<?xml-stylesheet href='javascript:alert(1)'?>",
    "half a tag": "<script",
    "full-width brackets": "＜script＞alert(1)＜/script＞",
    "the other direction": "\u05d0<b>\u05d1</b>",
    "Markdown": "[here](javascript:alert(1)) ![x](http://a.example/x.png) **b**",
    "a script's source": "<script src=//a.example/x.js></script>",
    "mathematics": "<math><mi xlink:href='javascript:alert(1)'>x</mi></math>",
}

AT_ONCE = 8
"""So many are tried in one policy."""


MEASURES = re.compile(r"-?[0-9][-0-9.]*")
"""Where a drawing has something, and how large it is: that follows the lengths of the texts in it."""


DIGEST = re.compile(r"\b[mp][0-9a-f]{10}\b")
"""What a drawing calls its parts: a digest of them."""


class Structure(HTMLParser):
    """Collects what a browser would act on: tags, attributes with their values, comments, and what scripts say.

    Drawings make room for their texts, and so lines of them are longer or more: of what is inside of one, each kind of
    tag is collected once, with its attributes and all of their values but for measures.
    """

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, tuple[tuple[str, str], ...]]] = []
        self.drawn: set[tuple[str, tuple[tuple[str, str], ...]]] = set()
        self.others: list[str] = []
        self.texts: list[str] = []
        self._open = ""
        self._in_drawings = 0
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._open = tag
        self._in_drawings += tag == "svg"
        if self._in_drawings:
            self.drawn.add((tag, tuple((name, _unmeasured(name, value or "")) for name, value in attrs)))
        else:
            # A cell is told to stay on one line where its text is short: that is all that depends on a text.
            self.tags.append((tag, tuple((name, (value or "").removesuffix(" short")) for name, value in attrs)))

    def handle_endtag(self, tag: str) -> None:
        self._open = ""
        if not self._in_drawings:
            self.tags.append((f"/{tag}", ()))
        self._in_drawings -= tag == "svg"

    def handle_data(self, data: str) -> None:
        (self.others if self._open in ("script", "style") else self.texts).append(data)

    def handle_comment(self, data: str) -> None:
        self.others.append(f"comment {data}")

    def handle_decl(self, decl: str) -> None:
        self.others.append(f"declaration {decl}")

    def handle_pi(self, data: str) -> None:
        self.others.append(f"instruction {data}")

    def unknown_decl(self, data: str) -> None:
        self.others.append(f"unknown {data}")


def _unmeasured(name: str, value: str) -> str:
    if name == "d":  # a path: of how many points is a measure too
        return "".join(sorted({letter for letter in value if letter.isalpha()}))
    return MEASURES.sub("0", DIGEST.sub("0", value))


def released_page(folder: Path, adult: pa.Table, texts: Sequence[str]) -> str:
    """Return the page of a release that has texts wherever a policy takes one: names, conditions, comments."""
    folder.mkdir()
    write_tables(folder, adult)
    others = ["<> '" + text.replace("'", "''") + "'" for text in texts]
    asked = [
        f"{_quoted(text)} = {_quoted(f'count(marital_status {other})')}  # {text}"
        for text, other in zip(texts, others, strict=True)
    ]
    hidden = _quoted(" AND ".join(["income = '>50K'", *(f"sex {other}" for other in others)]))
    policy = write_policy(
        folder,
        ("never_married = \"count(marital_status = 'Never-married')\"", "\n".join(asked)),
        ("share = \"income = '>50K'\"", f"share = {hidden}"),
    )
    new_ledger(folder)
    with only("expected_value_gaussian", page=True):
        bundle = release_policy(str(policy), folder / "out")
    return (bundle.folder / "report.html").read_text(encoding="utf-8")


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


@pytest.fixture(scope="module")
def clean(tmp_path_factory: pytest.TempPathFactory, adult: pa.Table) -> Structure:
    harmless = [f"harmless {number}" for number in range(AT_ONCE)]
    return Structure(released_page(tmp_path_factory.mktemp("clean") / "bundle", adult, harmless))


@pytest.mark.slow
@pytest.mark.parametrize("start", range(0, len(INJECTIONS), AT_ONCE))
def test_no_text_becomes_a_part_of_the_page(tmp_path: Path, adult: pa.Table, clean: Structure, start: int) -> None:
    texts = [*INJECTIONS.values()][start : start + AT_ONCE]
    page = Structure(released_page(tmp_path / "bundle", adult, texts))
    assert page.tags == clean.tags
    assert page.drawn == clean.drawn
    assert page.others == clean.others
    for text in texts:
        assert text in "".join(page.texts)  # it is there to be read, as it was written


def page_about(folder: Path, adult: pa.Table, dataset: str) -> str:
    """Return the page of a release of a dataset with this id."""
    folder.mkdir()
    write_tables(folder, adult)
    policy = write_policy(folder, ('id = "ward"', f"id = {_quoted(dataset)}"))
    new_ledger(folder)
    with only("expected_value_gaussian", page=True):
        return (release_policy(str(policy), folder / "out").folder / "report.html").read_text(encoding="utf-8")


@pytest.mark.slow
def test_an_id_is_shown_as_it_is_or_refused(tmp_path: Path, adult: pa.Table) -> None:
    clean = Structure(page_about(tmp_path / "clean", adult, "ward-7"))
    for number, text in enumerate([*INJECTIONS.values()][1:20:4]):
        try:
            page = Structure(page_about(tmp_path / f"{number}", adult, text))
        except InvalidPolicy:
            continue
        assert page.tags == clean.tags
        assert page.drawn == clean.drawn
        assert page.others == clean.others
        assert text in "".join(page.texts)
