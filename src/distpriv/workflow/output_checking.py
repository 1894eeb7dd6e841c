"""A bundle for output checkers: results.json and checksums/, as ACRO writes them and the SACRO Viewer reads them.

The viewer takes the one JSON file of a folder that has a `version` and `results`, each with its `files`, and holds each
file against ``checksums/NAME.txt``. It shows comments as HTML, so nothing that a policy says is among them.

Every output is up for *review*: what ACRO calls a pass is that its own checks found nothing, thresholds and dominance
among them, and no such check was made here.
"""

import json
from collections.abc import Iterable, Mapping
from typing import Any

from distpriv.framework.folders import File
from distpriv.report.protection import Protection
from distpriv.workflow.bundle import digest

__all__ = ["CHECKSUMS", "RESULTS_FILE", "checksum_files", "results_json", "results_text", "same_results"]

RESULTS_FILE = "results.json"
CHECKSUMS = "checksums/"

VERSION = "0.4.0"
"""Of ACRO's format: the oldest with a list of files for each output, which the viewer asks for."""

NOT_RUN = (
    "The checks of ACRO for single persons (thresholds, dominance, differencing) were not run on these numbers: what "
    "is promised here is about properties of the dataset as a whole."
)
"""What a checker has to know first."""

WORDS = ("comments", "exception")
"""What is said in sentences, which a later version may word in another way."""


def results_text(document: Mapping[str, Any], names: Iterable[str]) -> str:
    """Return results.json as text, in plain ASCII, the same for the same bundle."""
    return f"{json.dumps(results_json(document, names), indent=4)}\n"


def results_json(document: Mapping[str, Any], names: Iterable[str]) -> dict[str, Any]:
    """Return the outputs of a bundle: its numbers, each of its tables, and what they rest on.

    Args:
        document: what release.json holds.
        names: the bundle's files.
    """
    there = sorted(names)
    numbers = [name for name in there if name in ("release.csv", "release.xlsx")]
    tables = [name for name in there if name.startswith("table_")]
    rest = [name for name in there if name in ("audit.json", "policy.toml", "report.html")]
    outputs = {"release": ("table", numbers)}
    outputs |= {"tables": ("table", tables)} if tables else {}
    outputs["evidence"] = ("custom", ["release.json", *rest])
    return {"version": VERSION, "results": {uid: _output(document, uid, *each) for uid, each in outputs.items()}}


def checksum_files(files: Mapping[str, File]) -> dict[str, str]:
    """Return the files with the SHA-256 of each file of a bundle.

    >>> {name: text[:8] for name, text in checksum_files({"release.csv": ""}).items()}
    {'checksums/release.csv.txt': 'e3b0c442'}
    """
    return {f"{CHECKSUMS}{name}.txt": digest(content) for name, content in sorted(files.items())}


def same_results(written: Any, expected: Mapping[str, Any]) -> bool:
    """Tell whether results say the same of a bundle, whatever their sentences are.

    >>> same_results({"version": "0.4.0", "results": {}}, {"version": "0.4.0", "results": {"release": {}}})
    False
    """
    if not isinstance(written, Mapping) or set(written) != set(expected) or written["version"] != expected["version"]:
        return False
    return _facts(written["results"]) == _facts(expected["results"])


def _facts(outputs: Any) -> dict[str, Any] | None:
    if not isinstance(outputs, Mapping) or not all(isinstance(each, Mapping) for each in outputs.values()):
        return None
    return {uid: {key: value for key, value in each.items() if key not in WORDS} for uid, each in outputs.items()}


def _output(document: Mapping[str, Any], uid: str, kind: str, names: list[str]) -> dict[str, Any]:
    certificate = document["certificate"]
    return {
        "uid": uid,
        "status": "review",
        "type": kind,
        "properties": {
            "method": "distribution privacy",
            "dataset": document["dataset"],
            "position": document["position"],
            "mechanism": document["mechanism"],
            **{key: certificate[key] for key in ("epsilon", "delta", "holds", "trust")},
        },
        "files": [{"name": name, "sdc": {}} for name in names],
        "outcome": {},
        "command": "distpriv release",
        "summary": "review",
        "timestamp": document["time"],
        "comments": _comments(document),
        "exception": "These numbers carry noise with a certificate, which distpriv verify computes again from this "
        "folder; report.html explains it.",
    }


def _comments(document: Mapping[str, Any]) -> list[str]:
    own = document["certificate"]
    kept = "is kept" if own["holds"] else "is not kept"
    return [
        NOT_RUN,
        f"Distribution privacy with epsilon = {own['epsilon']:.6g} and delta = {own['delta']:.6g}: the target {kept}, "
        f"at the level of trust {own['trust']}.",
        *Protection.of(document).sentences,
    ]
