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
import os
import platform
import re
import reprlib
import shutil
from collections.abc import Collection, Mapping
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path
from typing import Any, Self

from attrs import evolve, field, frozen

from distpriv._version import __version__
from distpriv.errors import BundleNotWritten, InvalidInput
from distpriv.framework.display import display_values
from distpriv.framework.folders import File, partial_folder, write_file, write_whole
from distpriv.framework.queries import Query
from distpriv.framework.records import LONGEST, json_text, plain
from distpriv.framework.spreadsheets import table_text
from distpriv.modelling.model import QueryModel
from distpriv.policy import Policy
from distpriv.releasing.attackers import attacker_figures
from distpriv.releasing.private import readings
from distpriv.releasing.record import (
    FORMAT,
    LIBRARIES,
    RECORD,
    Attacker,
    EvidenceRecord,
    JointRecord,
    LedgerPlace,
    ModelRecord,
    ReadingRecord,
    ReleaseRecord,
)
from distpriv.releasing.release import Release
from distpriv.releasing.released import TABLE, csv_rows, noise_deviations
from distpriv.releasing.released_tables import ReleasedTable
from distpriv.report.summary import Summary

__all__ = [
    "RELEASE_FILE",
    "Bundle",
    "BundleFolder",
    "bundled_files",
    "bundled_tables",
    "csv_text",
    "digest",
    "evidence_record",
    "read_record",
    "record_in",
    "release_content",
    "release_record",
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
    record: ReleaseRecord = field(repr=False)
    """What is in release.json."""
    summary: Summary = field(repr=False)
    """What people are told of it."""

    @property
    def document(self) -> dict[str, Any]:
        """The same as numbers, lists, objects and text."""
        found: dict[str, Any] = plain(self.record)
        return found


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


def release_record(policy: Policy, release: Release, model: QueryModel, evidence: EvidenceRecord) -> ReleaseRecord:
    """Return everything that release.json holds but the digests of the files beside it, which `with_manifest` adds.

    Args:
        policy: what was asked for.
        release: what was released.
        model: the model of its statistics.
        evidence: what verify needs.
    """
    assert release.joint is not None
    assert release.ledger is not None
    record = ReleaseRecord(
        distpriv=__version__,
        dataset=str(release.dataset),
        position=release.position or 1,
        time=str(release.time),
        values=release.values,
        intervals=release.intervals,
        mechanism=release.mechanism.name,
        noise=release.mechanism.noise,
        certificate=release.certificate,
        joint_certificate=release.joint,
        questions=release.questions,
        ledger=LedgerPlace(**release.ledger),
        question=policy.question.name,
        display=display_values(release.values, policy.query(), policy.records),
        statistics=release.mechanism.statistics,
        attacker=Attacker(**attacker_figures(model, release)),
        policy=policy.to_dict(),
        versions={"python": platform.python_version(), **{name: version(name) for name in LIBRARIES}},
        manifest={},
        tables={name: tuple(each.to_dict()) for name, each in release.tables.items()},
        evidence=evidence,
        **release.estimated.shown(),
    )
    return RECORD.of(plain(record))  # as it will be read: a δ of 0 is 0.0


def evidence_record(release: Release, model: QueryModel, reference: Mapping[str, str]) -> EvidenceRecord:
    """Return what verify needs, from the rows of a model and the digests of its tables."""
    return EvidenceRecord(
        model=ModelRecord.of(model),
        joint=_joint(release, model),
        drawn=release.drawn,
        reading=tuple(ReadingRecord(**row) for row in readings(model)),
        reference=reference,
    )


def _joint(release: Release, model: QueryModel) -> JointRecord | None:
    """Return all questions that a release was certified with, where there are others."""
    earlier = release.earlier
    if earlier is None or not earlier.releases or model.query is None:
        return None
    others, own = earlier.releases, (model.query, release.mechanism.noise, release.answer, release.position)
    every = earlier.in_place([(past.query, past.noise, past.values, past.position) for past in others], own)
    queries, noises, values, positions = zip(*every, strict=True)
    return JointRecord(
        model=ModelRecord.of(earlier.stack(model)),
        noises=noises,
        values=values,
        asked=tuple(map(_asked, queries)),
        releases=positions,
    )


def _asked(query: Query) -> dict[str, str] | None:
    """Return what a release asked, or nothing where it is Python code."""
    return None if query.has_functions else {name: statistic.text for name, statistic in query.statistics}


def bundled_tables(tables: Mapping[str, Any], query: Query) -> list[ReleasedTable]:
    """Return the tables that a release.json holds, of the query that it answers."""
    return [ReleasedTable.from_dict(name, each, tables[name]) for name, each in query.tables if name in tables]


def with_manifest(record: ReleaseRecord, files: Mapping[str, File]) -> ReleaseRecord:
    """Return a record with the digests of all other files of its bundle."""
    return evolve(record, manifest={name: digest(content) for name, content in sorted(files.items())})


def digest(content: File) -> str:
    """Return the SHA-256 of a file's content."""
    return hashlib.sha256(content.encode() if isinstance(content, str) else content).hexdigest()


def release_content(path: str | os.PathLike[str]) -> bytes:
    """Return the bytes of a file that says to be a release.json, given by its own name or by that of its folder.

    Raises:
        InvalidInput: it cannot be read, or is of another format.
    """
    file = Path(path)
    found = file / RELEASE_FILE if file.is_dir() else file
    try:
        if found.exists() and not (found.is_file() and found.stat().st_size <= LONGEST):
            raise InvalidInput(f"{str(path)!r} is no plain file of at most {LONGEST:,} bytes: give a release.json.")
        content = found.read_bytes()
    except (OSError, ValueError) as failure:
        reason = failure.strerror if isinstance(failure, OSError) else str(failure)
        raise InvalidInput(f"{str(found)!r} cannot be read ({reason}): give the folder of a bundle.") from failure
    if not re.match(rf'\s*{{\s*"format"\s*:\s*"{FORMAT}"\s*,'.encode(), content):
        raise InvalidInput(
            f"{str(path)!r} is no release.json of format {FORMAT!r}, as `distpriv release POLICY` writes them into a "
            "bundle: give that."
        )
    return content


def read_record(path: str | os.PathLike[str]) -> ReleaseRecord:
    """Return what a release.json holds, given by its own name or by that of its folder.

    Raises:
        InvalidInput: it cannot be read, or is not as a release.json of this version is written.
    """
    return record_in(release_content(path), f"the release.json {str(path)!r}")


def record_in(content: bytes, name: str) -> ReleaseRecord:
    """Return what the bytes of a release.json say; what is not written as it would be is refused, whatever it means.

    Raises:
        InvalidInput: they are not as a release is written.
    """
    record = RECORD.read(content, name)
    try:
        same = json_text(record).encode() == content
    except ValueError:  # a number among the facts of evidence is not finite
        same = False
    if not same:
        raise InvalidInput(f"{name} is not written as a release is: give the file as it was written.")
    return record


def bundled_files(folder: str | os.PathLike[str], record: ReleaseRecord, but: Collection[str] = ()) -> dict[str, bytes]:
    """Return the files that the manifest of a bundle names.

    Args:
        folder: where they are.
        record: what its release.json holds.
        but: which of them are left out.

    Raises:
        InvalidInput: one is not as it was written.
    """
    found = {}
    for name in sorted({*record.manifest} - {*but}):
        file = Path(folder) / name
        with suppress(OSError, ValueError):
            if Path(name).name == name and file.is_file() and not file.is_symlink():
                found[name] = file.read_bytes()
        if name not in found or digest(found[name]) != record.manifest[name]:
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


def csv_text(record: ReleaseRecord) -> str:
    """Return the released numbers as a table; text that a spreadsheet would take for a formula is marked as text.

    `low` and `high` are the ends of the estimate's interval, and `noise` is the standard deviation of the noise.
    """
    noise = noise_deviations(record.noise, record.statistics)
    shown = ("values", "intervals", "estimates", "estimate_intervals", "display")
    return table_text(TABLE, csv_rows({name: getattr(record, name) for name in shown}, noise))
