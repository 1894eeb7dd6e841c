"""What sources are called: the one place that reads and writes their names.

| name | source |
|---|---|
| ``census.parquet``, ``census/*.csv`` | files, by a path or a pattern |
| ``duckdb:FILE?table=NAME`` | a table or view of a DuckDB database file |
| ``spark:MASTER?path=PATH``, ``spark:MASTER?table=NAME`` | what Spark reads; an empty MASTER is the session there is |
"""

import os
import re
from collections.abc import Callable
from glob import escape, glob, has_magic
from pathlib import Path
from typing import Literal

from attrs import evolve, frozen

from distpriv.engines.connections import matching_files
from distpriv.errors import InvalidSource

__all__ = ["SourceName", "source_name"]

FORMATS = frozenset(["parquet", "csv", "json", "orc", "text", "avro", "delta", "iceberg", "binaryfile", "jdbc", "xml"])
"""What Spark takes for the format of a file in the place of a database's name."""


@frozen(kw_only=True)
class SourceName:
    """What a text names: files, or a table that one engine alone knows how to reach."""

    engine: Literal["files", "duckdb", "spark"]
    path: str | None = None
    table: str | None = None
    master: str = ""
    """Where Spark runs; empty for the session there is, or else all cores of this machine."""

    @property
    def text(self) -> str:
        """The text that names it."""
        match self.engine:
            case "files":
                return self.path or ""
            case "duckdb":
                return f"duckdb:{self.path}?table={self.table}"
            case "spark":
                return f"spark:{self.master}?{'table' if self.path is None else 'path'}={self.path or self.table}"

    def is_table_of(self, other: "SourceName") -> bool:
        """Tell whether two names may be of one table of Spark's: as far as both say where it is, they say the same.

        >>> names = ("lake.Patients", "spark_catalog.lake.patients", "open.patients")
        >>> lake, same, other = (source_name(f"spark:?table={name}") for name in names)
        >>> lake.is_table_of(same), lake.is_table_of(other)
        (True, False)
        """
        if (self.engine, other.engine) != ("spark", "spark") or self.table is None or other.table is None:
            return False
        one, two = (name.lower().split(".") for name in (self.table, other.table))
        common = min(len(one), len(two))
        return one[-common:] == two[-common:]

    @property
    def files(self) -> list[str]:
        """The files that it reads, or may read: also those of a folder, which Spark takes for a table."""
        if self.path is None:
            return []
        if self.engine == "spark":
            return _files_of_spark(self.path)
        return [os.path.expanduser(self.path)] if self.engine == "duckdb" else [self.path, *matching_files(self.path)]

    def seen_from(self, folder: Path) -> "SourceName":
        """Return the same source with its path seen from a folder.

        >>> source_name("duckdb:census.duckdb?table=persons").seen_from(Path("/policies")).text
        'duckdb:/policies/census.duckdb?table=persons'
        """
        return self._elsewhere(lambda path: _seen_from(folder, path, patterns=self.engine == "files"))

    def told_from(self, folder: Path) -> "SourceName":
        """Return the same source, whose path is seen from here, as it is called in a folder: `seen_from` undone.

        >>> source_name("/data/census.parquet").told_from(Path("/policies")).text
        '../data/census.parquet'
        """
        return self._elsewhere(lambda path: _told_from(folder, path, patterns=self.engine == "files"))

    def _elsewhere(self, moved: Callable[[str], str]) -> "SourceName":
        by_url = self.engine == "spark" and self.path is not None and re.match(r".*://|file:|dbfs:", self.path)
        if self.path is None or by_url:
            return self
        return evolve(self, path=moved(self.path))


def source_name(text: str, *, called: str | None = None) -> SourceName:
    """Return what a text names.

    Args:
        text: a path or a pattern, or the name of a table that begins with the engine's.
        called: what it is called in messages, where they must not show it.

    Raises:
        InvalidSource: it begins as the name of a table and does not go on as one, or is no text in UTF-8.

    >>> source_name("spark:local[2]?path=census.parquet")
    SourceName(engine='spark', path='census.parquet', table=None, master='local[2]')
    """
    if any("\ud800" <= character <= "\udfff" for character in text):
        raise InvalidSource(f"{called or ascii(text)} is no name in UTF-8: rename it.")
    engine, _, rest = text.partition(":")
    if engine == "duckdb":
        file, _, table = rest.rpartition("?table=")
        if not file.strip() or not table.strip():
            raise InvalidSource(
                f"{called or repr(text)} does not name a file and a table: write it as in "
                "'duckdb:census.duckdb?table=persons'."
            )
        return SourceName(engine="duckdb", path=file.strip(), table=table.strip())
    if engine == "spark":
        master, _, named = rest.partition("?")
        _refuse_secrets(master)
        kind, _, name = named.partition("=")
        if kind not in ("path", "table") or not name.strip():
            raise InvalidSource(
                f"{called or repr(text)} does not name a path or a table: write it as in "
                "'spark:local[4]?path=census.parquet' or 'spark:spark://host:7077?table=lake.census'."
            )
        _refuse_ambiguous(kind, name.strip(), called or repr(text))
        return SourceName(engine="spark", master=master.strip(), **{kind: name.strip()})
    return SourceName(engine="files", path=text)


def _refuse_secrets(master: str) -> None:
    """Refuse an address of Spark Connect with a token or a header in it, as a bundle tells how its reference is named.

    >>> _refuse_secrets("sc://lake.example:443/;use_ssl=true")
    """
    if not master.strip().lower().startswith("sc://"):
        return
    options = [option.partition("=")[0].strip().lower() for option in master.split(";")[1:] if option.strip()]
    if "@" in master or set(options) - {"use_ssl", "user_agent"}:
        raise InvalidSource(
            "an address of Spark Connect has a token or a header in it, which a bundle would show to everybody: take "
            "it out, and set SPARK_CONNECT_AUTHENTICATE_TOKEN in the environment."
        )


def _refuse_ambiguous(kind: str, name: str, called: str) -> None:
    """Refuse names that Spark reads otherwise than anybody who compares them with the private table's."""
    if kind == "path" and re.search(r"[\\\[\]^]", name):
        raise InvalidSource(f"{called} has a pattern that only Spark reads: write it with *, ? and {{a,b}} alone.")
    parts = name.lower().split(".")
    if kind == "table" and (parts[0] in FORMATS or not all(re.fullmatch(r"\w+", part) for part in parts)):
        raise InvalidSource(
            f"{called} is no plain name of a table: write letters, digits and underscores, as in lake.census, or name "
            "files by path=."
        )


def _seen_from(folder: Path, path: str, *, patterns: bool) -> str:
    seen = os.path.normpath(folder / os.path.expanduser(path))
    if not patterns or not has_magic(path) or os.path.exists(seen):
        return seen
    # The folder's own brackets are no pattern, even where those of the text are.
    return os.path.normpath(Path(escape(str(folder))) / os.path.expanduser(path))


def _told_from(folder: Path, path: str, *, patterns: bool) -> str:
    here = _seen_from(Path.cwd(), path, patterns=patterns)
    told = Path(os.path.relpath(here, os.path.abspath(folder))).as_posix()
    plain = told == told.strip() and not told.startswith("~") and ":" not in told
    return told if plain else f"./{told}"


def _files_of_spark(path: str) -> list[str]:
    """Return the files of a path as Spark reads it: a URL of a file is a file, and braces list what fits."""
    path = re.sub(r"^file:(//[^/]*(?=/))?", "", path)
    named = [each for spelled in _without_braces(path) for each in (spelled, *glob(spelled, recursive=True))]
    below = [os.path.join(folder, name) for each in named for folder, _, names in os.walk(each) for name in names]
    return [path, *named, *below]


def _without_braces(pattern: str) -> list[str]:
    """Return a pattern for each of the choices between braces.

    >>> _without_braces("{a,b}/{c,d}.csv")
    ['a/c.csv', 'a/d.csv', 'b/c.csv', 'b/d.csv']
    """
    choices = re.search(r"\{([^{}]*)\}", pattern)
    if choices is None:
        return [pattern]
    before, after = pattern[: choices.start()], pattern[choices.end() :]
    return [each for choice in choices[1].split(",") for each in _without_braces(f"{before}{choice}{after}")]
