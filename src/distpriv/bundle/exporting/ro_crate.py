"""The metadata of a bundle as an RO-Crate 1.1, which tells an archive what each file is."""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from distpriv.bundle.write import digest
from distpriv.framework.folders import File
from distpriv.policy.load import policy_in_release

__all__ = ["ro_crate"]

METADATA = "ro-crate-metadata.json"
VERSION = "https://w3id.org/ro/crate/1.1"
MEDIA_TYPES = {".csv": "text/csv", ".html": "text/html", ".json": "application/json", ".toml": "application/toml"}
DESCRIPTIONS = {
    "release.json": "The release: values, estimates, certificates, evidence, and the SHA-256 of every other file.",
    "release.csv": "The released numbers: estimates with their intervals, and noisy values with their noise.",
    "report.html": "The release explained on one page for those who decide.",
    "policy.toml": "What was asked for, without anything private.",
    "audit.json": "What simulated attacks on the release have shown.",
}


def ro_crate(document: Mapping[str, Any], files: Mapping[str, File]) -> dict[str, File]:
    """Return the metadata file of a folder with these files."""
    policy, certificate, time = policy_in_release(document), document["certificate"], document["time"]
    license_ = _license(policy.question.license)
    parts = [{"@id": name} for name in files]
    promised = ("epsilon", "delta", "holds", "assurance")
    graph = [
        {"@id": METADATA, "@type": "CreativeWork", "about": {"@id": "./"}, "conformsTo": {"@id": VERSION}},
        {
            "@id": "./",
            "@type": "Dataset",
            "name": policy.question.title or f"Release {document['position']} of {policy.dataset}",
            "description": f"Statistics of a private dataset of {policy.records} records, published with noise so that "
            f"a property of the dataset as a whole stays hidden: ({certificate['epsilon']:.6g}, "
            f"{certificate['delta']:.6g})-distribution privacy.",
            "identifier": f"{document['ledger']['id']}/{document['ledger']['number']}",
            "datePublished": time,
            "license": {"@id": license_["@id"]},
            "hasPart": parts,
            "variableMeasured": [{"@id": f"#{key}"} for key in promised],
            "mentions": {"@id": "#release"},
        },
        *(_file(name, content) for name, content in files.items()),
        *({"@id": f"#{key}", "@type": "PropertyValue", "name": key, "value": certificate[key]} for key in promised),
        {
            "@id": "#release",
            "@type": "CreateAction",
            "name": "distpriv release",
            "endTime": time,
            "instrument": {"@id": "#distpriv"},
            "result": parts,
        },
        {"@id": "#distpriv", "@type": "SoftwareApplication", "name": "distpriv", "version": document["distpriv"]},
        license_,
    ]
    context = [f"{VERSION}/context", {"sha256": "http://schema.org/sha256"}]
    return {METADATA: json.dumps({"@context": context, "@graph": graph}, indent=2)}


def _file(name: str, content: File) -> dict[str, Any]:
    return {
        "@id": name,
        "@type": "File",
        "name": name,
        "description": DESCRIPTIONS.get(name, "A released table."),
        "encodingFormat": MEDIA_TYPES.get(Path(name).suffix, "text/plain"),
        "contentSize": str(len(content)),
        "sha256": digest(content),
    }


def _license(name: str | None) -> dict[str, Any]:
    where = "#license"
    if name is not None and re.fullmatch(r"https?://\S+|[A-Za-z0-9.+-]+", name):
        where = name if "/" in name else f"https://spdx.org/licenses/{name}"
    return {"@id": where, "@type": "CreativeWork", "name": name or "No licence is named"}
