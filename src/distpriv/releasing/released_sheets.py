"""A release as the sheets of a workbook: its numbers, its tables, and what is promised about them."""

import math
from collections.abc import Iterable, Mapping
from typing import Any

from distpriv.framework.workbooks import Cell, Sheet
from distpriv.noise.laws import noise_from_dict
from distpriv.releasing.released_tables import ReleasedTable

__all__ = ["release_sheets"]

NUMBERS = (
    "statistic",
    "estimate",
    "low",
    "high",
    "noisy_value",
    "noisy_low",
    "noisy_high",
    "noise",
    "public_mean",
    "public_error",
)
"""The columns of numbers: estimates and noisy values, each with the ends of its 95 % interval."""

PROMISED = ("epsilon", "delta", "holds", "trust", "theorem")
ABOUT = ("dataset", "position", "time", "mechanism", "questions", "distpriv")


def release_sheets(document: Mapping[str, Any], tables: Iterable[ReleasedTable]) -> dict[str, Sheet]:
    """Return the sheets of a release, by their names.

    Args:
        document: what release.json holds, or what a release says of itself with its statistics in order.
        tables: its tables.
    """
    found: dict[str, Sheet] = {"numbers": _numbers(document)}
    for each in tables:
        names, rows = each.long()
        found[f"table {each.name}"] = [names, *rows]
    return {**found, "certificate": _certificate(document), "assumptions": _assumptions(document)}


def _numbers(document: Mapping[str, Any]) -> Sheet:
    noise = noise_from_dict(document["noise"]).covariance.diagonal().tolist()
    deviations = dict(zip(document["statistics"], map(math.sqrt, noise), strict=True))
    return [NUMBERS, *(_line(document, name, deviations[name]) for name in document["values"])]


def _line(document: Mapping[str, Any], name: str, deviation: float) -> list[Cell]:
    known = document["estimates"] is not None
    ends: list[float | None] = [*document["estimate_intervals"][name]] if known else [None, None]
    return [
        name,
        document["estimates"][name] if known else None,
        *ends,
        document["values"][name],
        *document["intervals"][name],
        deviation,
        *(document[key][name] if known else None for key in ("public_means", "public_errors")),
    ]


def _certificate(document: Mapping[str, Any]) -> Sheet:
    own, joint = document["certificate"], document["joint_certificate"]
    lines: list[list[Cell]] = [["what", "this release", "all releases together"]]
    lines += [[key, own[key], None if joint is None else joint[key]] for key in PROMISED]
    lines += [
        [f"target {key}", own["target"][key], None if joint is None else joint["target"][key]]
        for key in ("epsilon", "delta")
    ]
    return [*lines, *([key, document[key]] for key in ABOUT)]


def _assumptions(document: Mapping[str, Any]) -> Sheet:
    lines: list[list[Cell]] = [["of", "assumption", "status", "evidence"]]
    for title, key in (("this release", "certificate"), ("all releases together", "joint_certificate")):
        made = (document[key] or {"assumptions": ()})["assumptions"]
        lines += [[title, each["statement"], each["status"], each["evidence"]] for each in made]
    return lines
