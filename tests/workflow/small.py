"""A small policy on the Adult data, and plans that are quick to make."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from unittest.mock import patch

import pyarrow as pa
import pyarrow.parquet as pq
from tests.remembered import remembering

from distpriv.planning.candidates import CANDIDATES
from distpriv.workflow.release_policy import _page as DRAWN  # noqa: N812

POLICY = """\
[data]
reference = "adult.parquet"
private = "private.parquet"  # in ward 7
id = "ward"

[release]
records = 100

[release.statistics]
age = "mean(age, resolution = 1)"
never_married = "count(marital_status = 'Never-married')"

[[protect]]
share = "income = '>50K'"
values = [0.45, 0.55]

[privacy]
epsilon = 1.0
delta = 0.01

[model]
reference = "population"

[ledger]
url = "sqlite:///ledger.db"
epsilon = 2.0
delta = 0.02
create = true
"""

SAMPLE = ('[model]\nreference = "population"\n\n', "")
"""The edit that makes the reference a sample, as it is unless a policy says otherwise; plans take longer then."""


def write_tables(folder: Path, adult: pa.Table) -> None:
    """Write a reference of some of the records, and a private table of a hundred of them."""
    pq.write_table(adult.slice(0, 2500), folder / "adult.parquet")
    pq.write_table(adult.slice(1000, 100), folder / "private.parquet")


def write_policy(folder: Path, *edits: tuple[str, str], name: str = "policy.toml") -> Path:
    """Write the policy with some of its text replaced."""
    text = POLICY
    for old, new in edits:
        assert old in text, old
        text = text.replace(old, new)
    (folder / name).write_text(text, encoding="utf-8")
    return folder / name


@contextmanager
def only(*names: str, page: bool = False, remember: bool = True) -> Iterator[None]:
    """Plan with these mechanisms alone, in this process, and draw the report's page only if asked to.

    Where a test changes what certifies, mechanisms are not to be remembered for others.
    """
    kept = tuple(candidate for candidate in CANDIDATES if candidate.name in names)
    assert len(kept) == len(names)
    with ExitStack() as patches:
        if remember:
            patches.enter_context(remembering())
        patches.enter_context(patch("distpriv.planning.plan.CANDIDATES", kept))
        patches.enter_context(patch("distpriv.planning.running._workers", lambda _: 0))
        patches.enter_context(patch("distpriv.workflow.release_policy._page", DRAWN if page else lambda *_: "a page"))
        yield
