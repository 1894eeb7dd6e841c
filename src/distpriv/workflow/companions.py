"""The files of a bundle that other programs read, made of all others: for archives and for output checkers."""

from collections.abc import Mapping
from typing import Any

from distpriv.framework.folders import File
from distpriv.workflow.bundle import RELEASE_FILE, json_text, with_manifest
from distpriv.workflow.output_checking import CHECKSUMS, RESULTS_FILE, checksum_files, results_text
from distpriv.workflow.ro_crate import CRATE_FILE, crate_text

__all__ = ["MADE_ANEW", "completed"]

MADE_ANEW = (RELEASE_FILE, RESULTS_FILE, CRATE_FILE)
"""Files that depend on all others."""


def completed(document: Mapping[str, Any], files: Mapping[str, File]) -> tuple[dict[str, Any], dict[str, File]]:
    """Return what release.json holds, with its manifest, and every file of the bundle.

    Args:
        document: what release.json holds, whatever its manifest is.
        files: the other files; those that are made here are made anew.
    """
    every = {name: each for name, each in files.items() if name not in MADE_ANEW and not name.startswith(CHECKSUMS)}
    every[RESULTS_FILE] = results_text(document, every)
    every[CRATE_FILE] = crate_text(document, every)
    whole = with_manifest(document, every)
    every[RELEASE_FILE] = json_text(whole)
    return whole, {**every, **checksum_files(every)}
