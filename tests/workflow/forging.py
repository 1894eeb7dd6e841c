"""Real bundles to forge, and ways to do it: a forger can edit every file, and the digests in release.json too."""

import copy
import hashlib
import json
import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
from tests.workflow.small import SAMPLE, only, write_policy, write_tables

from distpriv.bundle import verify_bundle
from distpriv.errors import DistprivError
from distpriv.workflow.release_policy import release_policy

Document = dict[str, Any]
Change = Callable[[Document], None]

AGE = 'age = "mean(age, resolution = 1)"\n'
NEVER = "never_married = \"count(marital_status = 'Never-married')\"\n"
PROVED = ("delta = 0.01\n", 'delta = 0.01\nassurance = "proved"\n')


KINDS = ("alone", "joint", "coupled", "table", "audited")


def make_bundles(folder: Path, adult: pa.Table, kinds: Sequence[str] = KINDS) -> dict[str, Path]:
    """Release alone, after another release, by coupled draws, and under attack."""
    made = {}
    for kind in kinds:
        place = folder / kind
        place.mkdir()
        write_tables(place, adult)
        made[kind] = _release(kind, place)
    return made


def _release(kind: str, place: Path) -> Path:
    with only("coupled_gaussian" if kind == "coupled" else "certified_gaussian"):
        if kind == "joint":
            total = ("epsilon = 2.0\ndelta = 0.02\n", 'adaptive = "assumed"\n')
            release_policy(str(write_policy(place, total, SAMPLE, (AGE, ""))), place / "first")
            return release_policy(str(write_policy(place, total, SAMPLE, (NEVER, ""))), place / "out").folder
        edits = {"coupled": (PROVED,), "alone": (SAMPLE,), "audited": ()}[kind]
        audited = kind == "audited"
        return release_policy(str(write_policy(place, *edits)), place / "out", audit=audited, releases=1000).folder


def read(bundle: Path) -> Document:
    """Return what its release.json holds."""
    found: Document = json.loads((bundle / "release.json").read_text(encoding="utf-8"))
    return found


def forged(bundle: Path, to: Path, change: Change | None = None, files: Mapping[str, str | None] | None = None) -> Path:
    """Copy a bundle with its release.json changed, files put in or taken away, and all digests made to fit."""
    shutil.rmtree(to, ignore_errors=True)
    document = read(shutil.copytree(bundle, to))
    for name, text in (files or {}).items():
        if text is None:
            (to / name).unlink()
            document["manifest"].pop(name, None)
        else:
            (to / name).write_text(text, encoding="utf-8")
            document["manifest"][name] = hashlib.sha256(text.encode()).hexdigest()
    if change is not None:
        document = copy.deepcopy(document)
        change(document)
    (to / "release.json").write_text(json.dumps(document), encoding="utf-8")
    return to


def accepted(bundle: Path) -> bool:
    """Tell whether `verify` says that a bundle holds; what it cannot read it does not accept."""
    try:
        return verify_bundle(bundle).holds
    except DistprivError:
        return False
