"""The page for a board as its readers see it, names from hell included."""

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.browser import look
from tests.workflow.small import only, write_policy, write_tables

from distpriv.workflow.release_policy import release_policy

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = pytest.mark.slow

NAMES = (
    "<script>alert(1)</script>",
    "say \"<b>&amp;</b>\" & 'run'",
    "$x_1^2$ and \\alpha",
    "高所得者の割合",
    "доля замужних",
    "نسبة الدخل",
)
COLUMN = "<img src=x onerror=alert(2)> 収入"


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory, adult: pa.Table) -> Path:
    folder = tmp_path_factory.mktemp("report")
    write_tables(folder, adult)
    for name in ("adult", "private"):
        table = pq.read_table(folder / f"{name}.parquet")
        pq.write_table(table.append_column(COLUMN, table["age"]), folder / f"{name}.parquet")
    lines = [f'{json.dumps(name, ensure_ascii=False)} = "count(age > {30 + k})"' for k, name in enumerate(NAMES[1:])]
    first = f"{json.dumps(NAMES[0])} = '''mean(\"{COLUMN}\", resolution = 1)'''"
    policy = write_policy(folder, ('age = "mean(age, resolution = 1)"', "\n".join([first, *lines])))
    with only("certified_gaussian", "expected_value_gaussian", "directional_uncertainty", page=True):
        return release_policy(str(policy), folder / "out", audit=True, releases=2000).folder / "report.html"


@pytest.mark.parametrize("width", [360, 1280])
def test_nothing_is_wrong_with_the_page_and_every_name_is_read_as_text(
    browser: "Browser", report: Path, tmp_path: Path, width: int
) -> None:
    seen = look(browser, report, width, screenshots=tmp_path)
    assert seen.faults == {}
    assert seen.pictures == 2
    text = "\n".join(seen.texts)
    for name in (*NAMES, COLUMN):
        assert name in text, name
    for said in ("Certified: ", "Audit passed", "95 % interval"):
        assert said in text, said
