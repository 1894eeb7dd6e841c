"""A release bundle: what was released, what is promised about it, and all that it takes to check that.

| file | for |
|---|---|
| release.json | programs, and `distpriv verify` |
| release.csv | spreadsheets |
| table_NAME.csv, table_NAME_wide.csv | the same of tables: a row for every cell, and as a table is printed |
| report.html | people who have to decide |
| policy.toml | whoever wants to know what was asked for, without anything private |
| audit.json | what attacks have shown, where it was attacked |
"""

import hashlib
import json
import os
import platform
import reprlib
import shutil
from collections.abc import Collection, Mapping
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path
from typing import Any, Self

from attrs import field, frozen

from distpriv.errors import BundleNotWritten, InvalidInput
from distpriv.framework.display import display_values
from distpriv.framework.folders import File, partial_folder, write_file, write_whole
from distpriv.framework.queries import Query
from distpriv.framework.spreadsheets import table_text
from distpriv.modelling.model import QueryModel
from distpriv.noise.laws import noise_from_dict
from distpriv.policy import Policy
from distpriv.releasing.attackers import attacker_figures
from distpriv.releasing.private import readings
from distpriv.releasing.release import Release
from distpriv.releasing.released import TABLE, csv_rows, noise_deviations
from distpriv.releasing.released_tables import ReleasedTable
from distpriv.report.summary import Summary
from distpriv.workflow.release_schema import FORMAT, LIBRARIES, RELEASE, SHARED
from distpriv.workflow.strict_json import LONGEST, conforming, strict_json
from distpriv.workflow.written_model import model_to_dict

__all__ = [
    "FORMAT",
    "RELEASE_FILE",
    "Bundle",
    "BundleFolder",
    "bundled_files",
    "bundled_tables",
    "csv_text",
    "digest",
    "json_text",
    "read_release",
    "release_document",
    "release_json",
    "replace_files",
    "with_manifest",
]

RELEASE_FILE = "release.json"

LONGEST_NAME = 200
"""Of a bundle's folder, in bytes: what is written beside it has a longer name."""


@frozen(kw_only=True)
class Bundle:
    """A bundle that was written."""

    folder: Path
    release: Release
    document: Mapping[str, Any] = field(repr=False)
    """What is in release.json."""
    summary: Summary = field(repr=False)
    """What people are told of it."""


@frozen(kw_only=True)
class BundleFolder:
    """A folder to be: its files are written beside it, and appear all at once or not at all."""

    target: Path
    _partial: Path
    _mode: int

    @classmethod
    def prepared(cls, out: str | os.PathLike[str]) -> Self:
        """Refuse a folder that holds something, and find out whether it can be written, before anything is released."""
        target = Path(os.path.abspath(os.path.expanduser(out)))
        if "\0" in str(out) or len(target.name.encode()) > LONGEST_NAME:
            raise InvalidInput(
                f"{reprlib.repr(str(out))} is no name for a folder: give a shorter one, of plain letters, as --out."
            )
        if target.is_dir() and any(target.iterdir()):
            raise InvalidInput(
                f"the folder {str(out)!r} is not empty: a bundle needs a new one, so give another --out."
            )
        if target.is_symlink():
            raise InvalidInput(f"{str(out)!r} is a link: a bundle is a folder of its own, so give another --out.")
        if os.path.lexists(target) and not target.is_dir():
            raise InvalidInput(f"{str(out)!r} is a file: a bundle is a folder, so give another --out.")
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            partial, mode = partial_folder(target)
        except OSError as failure:
            raise InvalidInput(
                f"the folder {str(out)!r} cannot be written ({failure.strerror}): give another --out."
            ) from failure
        return cls(target=target, partial=partial, mode=mode)

    def write(self, files: Mapping[str, File]) -> None:
        """Write all files, and only then let them be seen."""
        for folder in {(self._partial / name).parent for name in files} - {self._partial}:
            folder.mkdir()
        for name, content in files.items():
            write_file(self._partial / name, content)
        self._partial.chmod(self._mode)
        if self.target.is_dir():
            self.target.rmdir()
        self._partial.rename(self.target)

    def discard(self) -> None:
        """Take away what was not finished."""
        with suppress(OSError):
            shutil.rmtree(self._partial, ignore_errors=True)


def _evidence(release: Release, model: QueryModel, reference: Mapping[str, str]) -> dict[str, Any]:
    """Return what the certificates rest on: moments of this release and of all together, and what was drawn."""
    joint = None
    earlier = release.earlier
    if earlier is not None and earlier.releases and model.query is not None:
        others = earlier.releases
        laws = earlier.in_place([past.noise for past in others], release.mechanism.noise)
        joint = {
            "model": model_to_dict(earlier.stack(model)),
            "noises": [law.to_dict() for law in laws],
            "values": _answers(release),
            "asked": [_asked(query) for query in earlier.in_place([past.query for past in others], model.query)],
            "releases": earlier.in_place([past.position for past in others], release.position),
        }
    return {
        "model": model_to_dict(model),
        "joint": joint,
        "drawn": release.drawn,
        "reading": [dict(row) for row in readings(model)],
        "reference": dict(reference),
    }


def _answers(release: Release) -> list[list[float] | None]:
    """Return what every question was answered, in the order of the stack."""
    assert release.earlier is not None
    own: tuple[float, ...] | None = release.answer
    answers = release.earlier.in_place([past.values for past in release.earlier.releases], own)
    return [None if answer is None else list(answer) for answer in answers]


def _asked(query: Query) -> dict[str, str] | None:
    """Return what a release asked, or nothing where it is Python code."""
    if query.has_functions:
        return None
    return {name: statistic.text for name, statistic in query.statistics}


def release_json(policy: Policy, release: Release, model: QueryModel, reference: Mapping[str, str]) -> dict[str, Any]:
    """Return everything that release.json holds but the digests of the files beside it, which `with_manifest` adds."""
    return {
        "format": FORMAT,
        **release.to_dict(),
        "question": policy.question.name,
        "display": display_values(release.values, policy.query(), policy.records),
        "statistics": list(release.mechanism.statistics),
        "attacker": attacker_figures(model, release),
        "policy": policy.to_dict(),
        "versions": {"python": platform.python_version(), **{name: version(name) for name in LIBRARIES}},
        "manifest": {},
        **_tables(release),
        "evidence": _evidence(release, model, reference),
    }


def _tables(release: Release) -> dict[str, Any]:
    """Return the tables of a release, where it has any."""
    shown = {name: each.to_dict() for name, each in release.tables.items()}
    return {"tables": shown} if shown else {}


def bundled_tables(document: Mapping[str, Any], query: Query) -> list[ReleasedTable]:
    """Return the tables that a release.json holds, of the query that it answers."""
    written = document.get("tables", {})
    return [ReleasedTable.from_dict(name, each, written[name]) for name, each in query.tables if name in written]


def with_manifest(document: Mapping[str, Any], files: Mapping[str, File]) -> dict[str, Any]:
    """Return what release.json holds, with the digests of all other files of its bundle.

    >>> with_manifest({"format": FORMAT}, {"release.csv": ""})["manifest"]["release.csv"][:8]
    'e3b0c442'
    """
    others = {name: digest(content) for name, content in sorted(files.items()) if name != RELEASE_FILE}
    return {**document, "manifest": others}


def digest(content: File) -> str:
    """Return the SHA-256 of a file's content."""
    return hashlib.sha256(content.encode() if isinstance(content, str) else content).hexdigest()


def read_release(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Return what a release.json holds, given by its own name or by that of its folder.

    Raises:
        InvalidInput: it cannot be read, or is not as a release.json of this version is.
    """
    document = release_document(path)
    if (problem := conforming(document, RELEASE, SHARED)) is not None:
        raise InvalidInput(f"{str(path)!r} is no release.json as it was written: {problem}.")
    return document


def release_document(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Return what a file holds that says to be a release.json, whatever its keys are."""
    file = Path(path)
    found = file / RELEASE_FILE if file.is_dir() else file
    try:
        if found.exists() and not (found.is_file() and found.stat().st_size <= LONGEST):
            raise InvalidInput(f"{str(path)!r} is no plain file of at most {LONGEST:,} bytes: give a release.json.")
        content = found.read_bytes()
    except (OSError, ValueError) as failure:
        reason = failure.strerror if isinstance(failure, OSError) else str(failure)
        raise InvalidInput(f"{str(found)!r} cannot be read ({reason}): give the folder of a bundle.") from failure
    document = strict_json(content, f"the release.json {str(path)!r}")
    if isinstance(document, dict) and "format" not in document and {"distpriv", "values"} <= document.keys():
        raise InvalidInput(
            f"{str(path)!r} was written by release.save, without the policy that is checked against: a bundle that can "
            "be verified is what `distpriv release POLICY` writes."
        )
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise InvalidInput(f"{str(path)!r} is no release.json of format {FORMAT!r}: give that of a bundle.")
    return document


def bundled_files(
    folder: str | os.PathLike[str], document: Mapping[str, Any], but: Collection[str] = ()
) -> dict[str, bytes]:
    """Return the files that the manifest of a bundle names.

    Args:
        folder: where they are.
        document: what its release.json holds.
        but: which of them are left out.

    Raises:
        InvalidInput: one is not as it was written.
    """
    found = {}
    for name in sorted({*document["manifest"]} - {*but}):
        file = Path(folder) / name
        with suppress(OSError, ValueError):
            if Path(name).name == name and file.is_file() and not file.is_symlink():
                found[name] = file.read_bytes()
        if name not in found or digest(found[name]) != document["manifest"][name]:
            raise InvalidInput(
                f"{name!r} in {str(folder)!r} is not the file that was written with this release: release the policy "
                "again, which shows the same answer in a new bundle."
            )
    return found


def replace_files(folder: str | os.PathLike[str], files: Mapping[str, File]) -> None:
    """Put files into a bundle that is there, each of them whole or not at all; no link in it is followed."""
    for name, content in files.items():
        target = Path(folder) / name
        try:
            write_whole(target, content)
        except OSError as failure:
            raise BundleNotWritten(
                f"{str(target)!r} could not be written ({failure.strerror}): see that the bundle is there, may be "
                "written to and has room, and run the same command again."
            ) from failure


def json_text(document: Mapping[str, Any]) -> str:
    """Return JSON with a line for every key, the same for the same document."""
    lines = [f"{_json(key)}: {_json(value)}" for key, value in document.items()]
    return "{\n" + ",\n".join(lines) + "\n}\n"


def csv_text(document: Mapping[str, Any]) -> str:
    """Return the released numbers as a table; text that a spreadsheet would take for a formula is marked as text.

    `low` and `high` are the ends of the estimate's interval, and `noise` is the standard deviation of the noise.
    """
    noise = noise_deviations(noise_from_dict(document["noise"]), document["statistics"])
    return table_text(TABLE, csv_rows(document, noise))


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)
