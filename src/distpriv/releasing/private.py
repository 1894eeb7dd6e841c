"""The access to the private table: the statistics of exactly so many records, and nothing else said about it.

No value in its rows makes the access fail, whatever an expression does with it. A file that cannot be read as a table
does, such as one with a quote that is never closed. That, and what else can be wrong with the table, is refused in one
sentence that names only what the query needs, so that a refusal answers no question about a value. The curator has the
reasons from `distpriv.releasing.check`, before the access.
"""

import os
import secrets
import warnings
from collections.abc import Mapping, Sequence
from contextlib import suppress
from glob import glob as matching_files
from glob import has_magic
from pathlib import Path
from typing import Any, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from attrs import frozen

from distpriv.engines.duckdb import SUFFIXES
from distpriv.engines.engine import SOURCE, Engine, is_table
from distpriv.engines.source_names import source_name
from distpriv.engines.total import fits, lenient_engine, raw_columns
from distpriv.engines.workbook import SUFFIX as EXCEL
from distpriv.errors import InvalidSource, PrivateTableRefused
from distpriv.extras import extra_needed, installed
from distpriv.framework.arrays import Floats, array_field
from distpriv.framework.queries import Statistic
from distpriv.modelling.model import QueryModel
from distpriv.releasing.accepted import NOTHING, Accepted
from distpriv.releasing.fingerprint import agree, fingerprint
from distpriv.releasing.readings import Readings, RowReading, RowsRead, reading_evidence, readings, readings_of

__all__ = [
    "PrivateAnswer",
    "PrivateTable",
    "has_gaps",
    "look_at",
    "reading_evidence",
    "readings",
    "refused",
    "require_source",
]

LARGEST = 2.0**1000
"""What noise can still be added to."""


@frozen(kw_only=True, repr=False)
class PrivateAnswer:
    """What a look at the private table returns; not to be printed."""

    values: Floats = array_field()
    """F(Data), in the query's order."""
    fingerprint: Mapping[str, str] | None
    """What the table is known by, to those who have the key."""


@frozen(kw_only=True, repr=False, eq=False)
class PrivateTable:
    """The private table, opened so that no value in it decides how another is read."""

    engine: Engine
    how: Readings
    spelled: Mapping[str, str]
    """How it spells the columns that the query needs, by their names in the reference."""

    @classmethod
    def open(cls, source: Any, how: Readings) -> Self:
        """Open the table for what the query reads.

        Raises:
            InvalidSource: it cannot be read.
        """
        engine = lenient_engine(source)
        own = {name.lower(): name for name in engine.schema.names}
        return cls(engine=engine, how=how, spelled={n: own[n.lower()] for n in how.types.names if n.lower() in own})

    @property
    def rows(self) -> int:
        """How many rows it has."""
        return int(self.engine.select(f"SELECT COUNT(*) AS n FROM {SOURCE}")["n"][0].as_py())

    @property
    def lacking(self) -> tuple[str, ...]:
        """The columns that the query needs and the table does not have."""
        return tuple(name for name in self.how.types.names if name not in self.spelled)

    @property
    def misfits(self) -> Mapping[str, pa.DataType]:
        """The columns of a type that cannot hold what the reference has, each with its type."""
        types = {name: self.engine.schema.field(column).type for name, column in self.spelled.items()}
        return {name: kind for name, kind in types.items() if not fits(kind, self.how.types.field(name).type)}

    @property
    def secrets(self) -> tuple[str, ...]:
        """The columns of the secrets that it has; who keeps a table need not know the secret."""
        own = {name.lower() for name in self.engine.schema.names}
        return tuple(name for name in self.how.secrets if name.lower() in own)

    def columns(self) -> dict[str, pa.ChunkedArray]:
        """Fetch the columns that the query needs and those of the secrets, by their names in the reference."""
        own = {name.lower(): name for name in self.engine.schema.names}
        wanted = {**self.spelled, **{name: own[name.lower()] for name in self.secrets}}
        found = raw_columns(self.engine, dict.fromkeys(wanted.values()))
        return {name: found[column] for name, column in wanted.items()}


class _NotAsExpectedError(Exception):
    """Something about the private table that must not be told."""


def require_source(source: Any) -> None:
    """Refuse what cannot be a table, without reading any: nothing of the private table is told by it.

    Raises:
        InvalidSource: there is no such file, or the value is no table.

    >>> require_source("nowhere.parquet")
    Traceback (most recent call last):
    distpriv.errors.InvalidSource: there is no file at the path of the private table: check the path.
    """
    named = source_name(source, called="the private table") if isinstance(source, str) else None
    if named is not None and named.engine == "duckdb":
        if not os.path.isfile(os.path.expanduser(named.path or "")):
            raise InvalidSource("there is no database file at the path of the private table: check the path.")
    elif not is_table(source):
        raise InvalidSource(
            f"the private table cannot be a {type(source).__name__}: give a path or glob of CSV or Parquet files, "
            "a DuckDB relation, a Spark DataFrame, or a pandas, polars or pyarrow table."
        )
    elif isinstance(source, os.PathLike) or (named is not None and named.engine == "files"):
        _require_files(os.path.expanduser(str(Path(source))))


def look_at(
    source: Any,
    model: QueryModel,
    *,
    key: bytes | None = None,
    known: Mapping[str, str] | None = None,
    accepted: Accepted = NOTHING,
) -> PrivateAnswer:
    """Return the statistics of the private table, read as the model assumes.

    Args:
        source: the private table, with exactly the records that the model has.
        model: what is asked, made from the reference table.
        key: what the fingerprint of the table is made with; none is made without.
        known: an earlier fingerprint, which this one must agree with.
        accepted: what the curator declares of values that the reference lacks.

    Raises:
        PrivateTableRefused: anything is wrong with the table; it is not said what.

    >>> import distpriv as dp
    >>> rows, secret = dp.datasets.adult(), dp.Share("income = '>50K'", values=(0.4, 0.6))
    >>> model = dp.model(rows.slice(0, 1000), dp.Query(hours=dp.mean("hours_per_week")), secret, records=20)
    >>> look_at(rows.slice(1000, 20), model).values
    array([40.25])
    """
    how = readings_of(model)
    how.require(accepted)
    answer = None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a warning could quote a row
        with suppress(Exception):  # what failed would tell about the rows
            answer = _look(source, how, accepted, key, known)
    if answer is None:
        raise PrivateTableRefused(_refusal(how))
    return answer


def refused(model: QueryModel) -> PrivateTableRefused:
    """Return the one refusal that there is of a table that was looked at."""
    return PrivateTableRefused(_refusal(readings_of(model)))


def _refusal(how: Readings) -> str:
    """Say everything that must be so, and not which of it is not."""
    columns = how.types.names
    names = f"the column{'' if len(columns) == 1 else 's'} {', '.join(columns)}"
    secret = f", a value of {' and of '.join(how.secrets)} in every row if it has that column" if how.secrets else ""
    return (
        "the private table was rejected (reason withheld in analyst mode): it must be readable and have exactly "
        f"{how.records:,} rows and {names} with values of the reference's type{secret}, and the values that earlier "
        "releases of the dataset were made from; run distpriv check."
    )


def _look(
    source: Any, how: Readings, accepted: Accepted, key: bytes | None, known: Mapping[str, str] | None
) -> PrivateAnswer:
    table = PrivateTable.open(source, how)
    if table.rows != how.records or table.lacking or table.misfits:
        raise _NotAsExpectedError
    raw = table.columns()
    if any(len(column) != how.records for column in raw.values()):
        raise _NotAsExpectedError
    if any(has_gaps(raw[name]) for name in table.secrets if name.lower() not in accepted.missing):
        raise _NotAsExpectedError
    made = None if key is None else fingerprint(table.engine, how.records, key)
    if known is not None and (made is None or not agree(made, known)):
        raise _NotAsExpectedError
    read = how.read(raw, accepted, commas=table.engine.commas)
    return PrivateAnswer(values=_statistics(how, read), fingerprint=made)


def has_gaps(column: pa.ChunkedArray) -> bool:
    """Tell whether a value is missing, or not a number."""
    nan = pa.types.is_floating(column.type) and pc.any(pc.is_nan(column)).as_py()
    return bool(column.null_count or nan)


def _statistics(how: Readings, read: RowsRead) -> Floats:
    """Evaluate every statistic on the rows as they are read; functions see them in random order."""
    order = np.argsort(np.frombuffer(secrets.token_bytes(8 * how.records), dtype=np.uint64))
    released: list[Floats] = []
    for (key, statistic, rows), (_, _, values) in zip(
        how.query.by_rows(how.rows), how.query.by_rows([*read.values]), strict=True
    ):
        if statistic.columns:
            columns = [read.columns[name].take(order).to_numpy().copy() for name in statistic.columns]
            each = [how.functions[name] for name in statistic.names(key)]
            released.append(_called(statistic, [*(value[order] for value in values), *columns], each))
            continue
        found = statistic.evaluate(*values)
        usual = statistic.evaluate(*(np.full(how.records, row.otherwise) for _, row in rows))
        released.append((found if _usable(found) else usual).reshape(statistic.size))
    return np.concatenate(released)


def _called(statistic: Statistic, values: Sequence[Any], each: Sequence[RowReading]) -> Floats:
    """Call the user's function; what it returns is held to what it returned in the model."""
    try:
        with np.errstate(all="ignore"):
            found = statistic.evaluate(*values).reshape(statistic.size)
    except (Exception, SystemExit):  # whether a function fails on these rows must not be told
        found = np.full(statistic.size, np.nan)
    return np.concatenate([held.read(found[place : place + 1]) for place, held in enumerate(each)])


def _usable(value: Floats) -> bool:
    return bool(np.isfinite(value).all() and (np.abs(value) < LARGEST).all())


def _require_files(path: str) -> None:
    if os.path.isdir(path):
        raise InvalidSource("the path of the private table is a folder: name the files in it, as in '*.parquet'.")
    if not os.path.exists(path) and not (has_magic(path) and matching_files(path, recursive=True)):
        raise InvalidSource("there is no file at the path of the private table: check the path.")
    if not path.lower().endswith(SUFFIXES):
        raise InvalidSource(
            "the private table is neither CSV nor Parquet nor Excel by its name: let it end in .csv, .parquet or .xlsx."
        )
    if path.lower().endswith(EXCEL) and not installed("excel"):
        with extra_needed("excel", "the workbook of the private table", InvalidSource):
            raise ImportError
