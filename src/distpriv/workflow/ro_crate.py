"""A bundle for archives: ro-crate-metadata.json, which says what the release and each of its files are.

It is an [RO-Crate](https://www.researchobject.org/ro-crate/) of version 1.1, made of what is in release.json and of
the files themselves, so it holds nothing that they do not. The digest of release.json is not in it, as release.json
holds the digests of all other files, its own among them.
"""

import json
import re
from collections.abc import Mapping
from typing import Any

from distpriv.framework.folders import File
from distpriv.workflow.bundle import RELEASE_FILE, digest

__all__ = ["CRATE_FILE", "crate_json", "crate_text", "same_crate"]

CRATE_FILE = "ro-crate-metadata.json"

VERSION = "https://w3id.org/ro/crate/1.1"
CONTEXT = [f"{VERSION}/context", {"sha256": "http://schema.org/sha256"}]
"""What the words mean: those of RO-Crate, and one of schema.org that it lacks."""

FORMATS = {
    ".csv": "text/csv",
    ".html": "text/html",
    ".json": "application/json",
    ".toml": "application/toml",
    ".xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
}

DESCRIPTIONS = {
    RELEASE_FILE: "What was released, what is promised about it, the evidence for it, and the SHA-256 of every other "
    "file; distpriv verify computes it all again.",
    "release.csv": "The released numbers: estimates with their intervals, and noisy values with their noise.",
    "release.xlsx": "The released numbers and the certificates as a workbook.",
    "report.html": "The release explained on one page for those who decide.",
    "policy.toml": "What was asked for, without anything private.",
    "audit.json": "What simulated attacks on the release have shown.",
    "results.json": "The same outputs as ACRO describes them, for the viewer of output checkers.",
}

Entity = dict[str, Any]


def crate_text(document: Mapping[str, Any], files: Mapping[str, File]) -> str:
    """Return ro-crate-metadata.json as text, in plain ASCII, the same for the same bundle."""
    return f"{json.dumps(crate_json(document, files), indent=2)}\n"


def crate_json(document: Mapping[str, Any], files: Mapping[str, File]) -> dict[str, Any]:
    """Return the metadata of a bundle.

    Args:
        document: what release.json holds.
        files: the content of every other file.
    """
    named = sorted(name for name in files if name not in (RELEASE_FILE, CRATE_FILE))
    parts = [_file(RELEASE_FILE, None), *(_file(name, files[name]) for name in named)]
    promised = _promised(document["certificate"])
    license_ = _license(asked_table(document).get("license"))
    graph = [
        {
            "@id": CRATE_FILE,
            "@type": "CreativeWork",
            "about": {"@id": "./"},
            "conformsTo": {"@id": VERSION},
            "description": "What this folder holds.",
        },
        _root(document, [*parts, _checksums()], promised, license_),
        *parts,
        _checksums(),
        *promised,
        *_software(document, parts),
        license_,
    ]
    return {"@context": CONTEXT, "@graph": graph}


def same_crate(written: Any, expected: Mapping[str, Any]) -> bool:
    """Tell whether metadata say the same of a bundle, whatever the words of their descriptions are.

    >>> same_crate({"@context": [], "@graph": [{"@id": "./", "description": "a"}]}, {"@context": [], "@graph": []})
    False
    """
    if not isinstance(written, Mapping) or set(written) != set(expected) or written["@context"] != expected["@context"]:
        return False
    return _facts(written["@graph"]) == _facts(expected["@graph"])


def asked_table(document: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the [release] of the policy that a release.json is about."""
    asked = document["policy"]["release"]
    if isinstance(asked, Mapping):
        return asked
    found: Mapping[str, Any] = next(each for each in asked if each.get("name") == document["question"])
    return found


def _facts(graph: Any) -> list[Any] | None:
    if not isinstance(graph, list) or not all(isinstance(entity, Mapping) for entity in graph):
        return None
    return [{key: value for key, value in entity.items() if key != "description"} for entity in graph]


def _root(document: Mapping[str, Any], parts: list[Entity], promised: list[Entity], license_: Entity) -> Entity:
    asked = asked_table(document)
    certificate = document["certificate"]
    return {
        "@id": "./",
        "@type": "Dataset",
        "name": asked.get("title") or f"Release {document['position']} of {document['dataset']}",
        "description": f"Statistics of a private dataset of {asked['records']} records, published with noise so that a "
        f"property of the dataset as a whole stays hidden: ({certificate['epsilon']:.6g}, {certificate['delta']:.6g})-"
        "distribution privacy.",
        "identifier": f"{document['ledger']['id']}/{document['ledger']['number']}",
        "datePublished": document["time"],
        "license": _reference(license_),
        "hasPart": [_reference(part) for part in parts],
        "variableMeasured": [_reference(each) for each in promised],
        "mentions": {"@id": "#release"},
    }


def _file(name: str, content: File | None) -> Entity:
    entity: Entity = {
        "@id": name,
        "@type": "File",
        "name": name,
        "description": DESCRIPTIONS.get(name, "A released table: a row for every cell, or as it is printed."),
        "encodingFormat": FORMATS[name[name.rindex(".") :]],
    }
    if content is None:
        return entity
    size = len(content.encode() if isinstance(content, str) else content)
    return {**entity, "contentSize": str(size), "sha256": digest(content)}


def _checksums() -> Entity:
    return {
        "@id": "checksums/",
        "@type": "Dataset",
        "name": "checksums",
        "description": "The SHA-256 of every file, each in a file of its own, as the viewer of output checkers asks.",
    }


def _promised(certificate: Mapping[str, Any]) -> list[Entity]:
    """Return what is promised about the release, as properties with values."""
    return [
        {
            "@id": f"#{name}",
            "@type": "PropertyValue",
            "name": name,
            "value": certificate[name],
            "description": "Of the certificate of this release alone.",
        }
        for name in ("epsilon", "delta", "holds", "trust")
    ]


def _software(document: Mapping[str, Any], parts: list[Entity]) -> list[Entity]:
    libraries = [f"{name} {version}" for name, version in document["versions"].items()]
    return [
        {
            "@id": "#release",
            "@type": "CreateAction",
            "name": "distpriv release",
            "description": "Noise was drawn once, and the answer written to the ledger before it was shown.",
            "endTime": document["time"],
            "instrument": {"@id": "#distpriv"},
            "result": [_reference(part) for part in parts],
        },
        {
            "@id": "#distpriv",
            "@type": "SoftwareApplication",
            "name": "distpriv",
            "version": document["distpriv"],
            "softwareRequirements": libraries,
            "description": "Publishes statistics of a dataset without giving away a global property of it.",
        },
    ]


def _license(named: str | None) -> Entity:
    if named is None:
        return {
            "@id": "#license",
            "@type": "CreativeWork",
            "name": "No licence is named",
            "description": "The policy names none: ask those who published this what may be done with it.",
        }
    where = "#license"
    if re.match(r"https?://\S+$", named):
        where = named
    elif re.fullmatch(r"[A-Za-z0-9.+-]+", named):
        where = f"https://spdx.org/licenses/{named}"
    return {"@id": where, "@type": "CreativeWork", "name": named, "description": "As the policy names it."}


def _reference(entity: Entity) -> Entity:
    return {"@id": entity["@id"]}
