"""Five releases with their pages: Laplace noise, coupled draws, a median, a table, and a second one of a dataset."""

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
from attrs import frozen
from tests.report.reader import Reader
from tests.workflow.small import only, write_policy, write_tables

from distpriv.workflow.release_policy import release_policy

__all__ = ["KINDS", "ReadPage", "released_page"]

KINDS = ("laplace", "coupled", "median", "table", "second")

AGE = 'age = "mean(age, resolution = 1)"\n'
NEVER = "never_married = \"count(marital_status = 'Never-married')\"\n"
PROVED = ("delta = 0.01\n", 'delta = 0.01\nassurance = "proved"\n')
SIXTY = ("[privacy]\nepsilon = 1.0\ndelta = 0.01\n", "[privacy]\nmax_attack_accuracy = 0.6\n")
TOTAL = ("epsilon = 2.0\ndelta = 0.02\n", 'max_attack_accuracy = 0.7\nadaptive = "assumed"\n')
MEDIAN = ('age = "mean(age, resolution = 1)"', 'hours = "quantile(hours_per_week, 0.5, resolution = 1)"')
TABLE = (
    f"[release.statistics]\n{AGE}{NEVER}",
    '[release]\nrecords = 100\ntitle = "Women and men of ward 7"\n\n'
    '[release.tables.people]\ncount = true\nby = ["sex"]\nlevels = {sex = ["Female", "Male"]}\n',
)
PLAIN = ("certified_laplace", "certified_gaussian", "expected_value_gaussian", "directional_gaussian")
TRIED = {
    "laplace": ("certified_laplace", "directional_uncertainty"),
    "coupled": ("coupled_laplace", "group_privacy_laplace"),
    "median": ("coupled_laplace", "group_privacy_laplace"),
    "table": PLAIN,
    "second": PLAIN,
}


@frozen(kw_only=True)
class ReadPage:
    """A page as it is read, and the release.json beside it."""

    kind: str
    file: Path
    document: dict[str, Any]
    words: tuple[str, ...]
    """Every text of the page, in order."""

    @property
    def text(self) -> str:
        """All of it."""
        return "\n".join(self.words)


def released_page(kind: str, folder: Path, adult: pa.Table, *, audited: bool = True) -> ReadPage:
    """Release, and read the page."""
    write_tables(folder, adult)
    edits = {
        "laplace": [(NEVER, "")],
        "coupled": [PROVED],
        "median": [(NEVER, ""), MEDIAN, PROVED],
        "table": [("[release]\nrecords = 100\n\n", ""), TABLE, SIXTY, TOTAL],
        "second": [SIXTY, TOTAL, (NEVER, "")],
    }[kind]
    with only(*TRIED[kind], page=True):
        if kind == "second":
            release_policy(str(write_policy(folder, SIXTY, TOTAL, (AGE, ""))), folder / "first")
        policy = write_policy(folder, *edits)
        bundle = release_policy(str(policy), folder / "out", audit=audited, releases=1000).folder
    document = json.loads((bundle / "release.json").read_text(encoding="utf-8"))
    page = bundle / "report.html"
    return ReadPage(kind=kind, file=page, document=document, words=_words(page.read_text(encoding="utf-8")))


def _words(html: str) -> tuple[str, ...]:
    return tuple(filter(None, (text.strip() for text in Reader(html).texts)))
