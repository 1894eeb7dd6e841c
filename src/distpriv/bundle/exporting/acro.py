"""A bundle for output checkers: results.json and checksums/ as ACRO writes them, which the SACRO Viewer opens.

Every output is up for *review*: what ACRO calls a pass is that its own checks found nothing, and they were not run. The
viewer shows comments as HTML, so nothing that a policy says is among them.
"""

import json
from collections.abc import Mapping
from typing import Any

from distpriv.bundle.write import digest
from distpriv.framework.folders import File

__all__ = ["acro_outputs"]

VERSION = "1.0.2"
"""Of ACRO, which reads the files of no other version; the viewer takes any from 0.4 on."""

NOT_RUN = (
    "The checks of ACRO for single persons (thresholds, dominance, differencing) were not run on these numbers: what "
    "is promised here is about properties of the dataset as a whole."
)


def acro_outputs(document: Mapping[str, Any], files: Mapping[str, File]) -> dict[str, File]:
    """Return the list of outputs of a folder with these files, and the SHA-256 of each file."""
    certificate = document["certificate"]
    numbers, tables = ["release.csv"], [name for name in files if name.startswith("table_")]
    outputs = {"release": ("table", numbers), **({"tables": ("table", tables)} if tables else {})}
    outputs["evidence"] = ("custom", [name for name in files if name not in (*numbers, *tables)])
    shared = {
        "status": "review",
        "properties": {
            "method": "distribution privacy",
            **{key: document[key] for key in ("dataset", "position", "mechanism")},
            **{key: certificate[key] for key in ("epsilon", "delta", "holds", "assurance")},
        },
        "fair": {},
        "outcome": {},
        "command": "distpriv release",
        "summary": "review",
        "timestamp": document["time"],
        "comments": [
            NOT_RUN,
            f"(ε, δ)-distribution privacy, ε = {certificate['epsilon']:.6g} and δ = {certificate['delta']:.6g}; the "
            f"target {'holds' if certificate['holds'] else 'does not hold'}.",
            f"Attack accuracy of all releases together: at most {document['attacker']['together']:.1%}.",
        ],
        "exception": "The numbers carry noise with a certificate, which distpriv verify recomputes from the bundle.",
    }
    results = {
        uid: {"uid": uid, "type": kind, "files": [{"name": name, "sdc": {}} for name in names], **shared}
        for uid, (kind, names) in outputs.items()
    }
    checksums = {f"checksums/{name}.txt": digest(content) for name, content in files.items()}
    return {"results.json": json.dumps({"version": VERSION, "results": results}, indent=4), **checksums}
