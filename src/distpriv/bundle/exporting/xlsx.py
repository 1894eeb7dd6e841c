"""A release as a workbook; text in a cell stays text, whatever it begins with, and is never a formula."""

import io
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from distpriv.bundle.write import bundled_tables
from distpriv.extras import extra_needed
from distpriv.guarantees.evidence import Evidence
from distpriv.guarantees.evidence_text import sentence
from distpriv.policy.load import policy_in_release
from distpriv.releasing.record import NOISE
from distpriv.releasing.released import noise_deviations

__all__ = ["workbook"]

Rows = Iterable[Sequence[Any]]

LONGEST_TITLE = 28
"""Characters of a sheet's name: a spreadsheet takes 31, and openpyxl numbers names that are alike."""

_NO_TITLE = re.compile(r"[\[\]:*?/\\']")
_NO_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")


def workbook(document: Mapping[str, Any], _name: str) -> bytes:
    """Return the numbers, the tables, the certificates and their evidence, a sheet each."""
    with extra_needed("excel", "a workbook"):
        from openpyxl import Workbook
    book = Workbook()
    book.remove(book.worksheets[0])
    for title, rows in _sheets(document).items():
        sheet = book.create_sheet(_NO_TITLE.sub("_", title)[:LONGEST_TITLE])
        for row, values in enumerate(rows, 1):
            for column, value in enumerate(values, 1):
                if not isinstance(value, str):
                    sheet.cell(row, column, value)
                    continue
                cell = sheet.cell(row, column, _NO_XML.sub("\N{REPLACEMENT CHARACTER}", value))
                cell.data_type, cell.quotePrefix = "s", True
    written = io.BytesIO()
    book.save(written)
    return written.getvalue()


def _sheets(document: Mapping[str, Any]) -> dict[str, Rows]:
    tables = bundled_tables(document["tables"], policy_in_release(document).query())
    own, joint = document["certificate"], document["joint_certificate"]
    return {
        "numbers": _numbers(document),
        **{f"table {each.name}": [each.long()[0], *each.long()[1]] for each in tables},
        "certificate": [
            ("what", "this release", "all releases together"),
            *((key, own[key], joint and joint[key]) for key in ("epsilon", "delta", "holds", "assurance", "theorem")),
            *((f"target {key}", own["target"][key], joint and joint["target"][key]) for key in ("epsilon", "delta")),
            *((key, document[key]) for key in ("dataset", "position", "time", "mechanism", "questions", "distpriv")),
        ],
        "evidence": [
            ("code", "status", "evidence"),
            *((each["code"], each["status"], sentence(Evidence(**each))) for each in own["evidence"]),
        ],
    }


def _numbers(document: Mapping[str, Any]) -> Rows:
    noise = noise_deviations(NOISE.of(document["noise"]), document["statistics"])
    yield (
        *("statistic", "estimate", "low", "high", "noisy_value", "noisy_low", "noisy_high", "noise"),
        *("public_mean", "public_error"),
    )
    for name, value in document["values"].items():
        estimate = (document["estimates"][name], *document["estimate_intervals"][name])
        public = (document["public_means"][name], document["public_errors"][name])
        yield name, *estimate, value, *document["intervals"][name], noise[name], *public
