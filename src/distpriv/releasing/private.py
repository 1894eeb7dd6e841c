"""The one look at the private table: the statistics of exactly so many records, and nothing else said about it.

No value in its rows makes the look fail, whatever an expression does with it. A file that cannot be read as a table
does, such as one with a quote that is never closed. That, and what else can be wrong with the table, is refused in one
sentence that names only what the query needs, so that a refusal answers no question about a value.
"""

import os
import secrets
import warnings
from collections.abc import Mapping, Sequence
from contextlib import suppress
from glob import glob as matching_files
from glob import has_magic
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from attrs import frozen

from distpriv.engines.duckdb import SUFFIXES
from distpriv.engines.engine import SOURCE, Engine, is_table
from distpriv.engines.source_names import source_name
from distpriv.engines.total import TotalTable, fits, lenient_engine, raw_columns
from distpriv.engines.workbook import SUFFIX as EXCEL
from distpriv.errors import InvalidSource, PrivateTableRefused
from distpriv.extras import extra_needed, installed
from distpriv.framework.arrays import Floats, array_field
from distpriv.framework.queries import Statistic
from distpriv.modelling.model import QueryModel
from distpriv.releasing.fingerprint import agree, fingerprint
from distpriv.releasing.readings import Held, Readings, reading_evidence, readings, readings_of

__all__ = ["PrivateAnswer", "look_at", "reading_evidence", "readings", "require_source"]

LARGEST = 2.0**1000
"""What noise can still be added to."""


@frozen(kw_only=True, repr=False)
class PrivateAnswer:
    """What a look at the private table returns; not to be printed."""

    values: Floats = array_field()
    """F(Data), in the query's order."""
    fingerprint: Mapping[str, str] | None
    """What the table is known by, to those who have the key."""


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
    source: Any, model: QueryModel, *, key: bytes | None = None, known: Mapping[str, str] | None = None
) -> PrivateAnswer:
    """Return the statistics of the private table, read as the model assumes.

    Args:
        source: the private table, with exactly the records that the model has.
        model: what is asked, made from the reference table.
        key: what the fingerprint of the table is made with; none is made without.
        known: an earlier fingerprint, which this one must agree with.

    Raises:
        PrivateTableRefused: anything is wrong with the table; it is not said what.

    >>> import distpriv as dp
    >>> rows, secret = dp.datasets.adult(), dp.Share("income = '>50K'", values=(0.4, 0.6))
    >>> model = dp.model(rows.slice(0, 1000), dp.Query(hours=dp.mean("hours_per_week")), secret, records=20)
    >>> look_at(rows.slice(1000, 20), model).values
    array([40.25])
    """
    how = readings_of(model)
    answer = None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a warning could quote a row
        with suppress(Exception):  # what failed would tell about the rows
            answer = _look(source, how, key, known)
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
        "the private table cannot be used, and why would tell about its rows: see that it can be read, has exactly "
        f"{how.records:,} rows and {names} with values of the reference's type{secret}, and the values that earlier "
        "releases of the dataset were made from."
    )


def _look(source: Any, how: Readings, key: bytes | None, known: Mapping[str, str] | None) -> PrivateAnswer:
    engine = lenient_engine(source)
    spelled = {name.lower(): name for name in engine.schema.names}
    expected = {name: spelled[name.lower()] for name in how.types.names}
    for name, column in expected.items():
        if not fits(engine.schema.field(column).type, how.types.field(name).type):
            raise _NotAsExpectedError
    present = [spelled[name.lower()] for name in how.secrets if name.lower() in spelled]
    raw = _columns(engine, [*expected.values(), *present], how.records)
    if any(_has_gaps(raw[column]) for column in present):
        raise _NotAsExpectedError
    made = None if key is None else fingerprint(engine, how.records, key)
    if known is not None and (made is None or not agree(made, known)):
        raise _NotAsExpectedError
    written = {name: how.columns[name].written(raw[column]) for name, column in expected.items()}
    table = TotalTable.of(written, how.types, how.records, how.formats, engine.commas)
    return PrivateAnswer(values=_statistics(how, table), fingerprint=made)


def _columns(engine: Engine, names: list[str], records: int) -> dict[str, pa.ChunkedArray]:
    counted = engine.select(f"SELECT COUNT(*) AS n FROM {SOURCE}")["n"][0].as_py()
    found = raw_columns(engine, dict.fromkeys(names))
    if counted != records or any(len(column) != records for column in found.values()):
        raise _NotAsExpectedError
    return found


def _has_gaps(column: pa.ChunkedArray) -> bool:
    nan = pa.types.is_floating(column.type) and pc.any(pc.is_nan(column)).as_py()
    return bool(column.null_count or nan)


def _statistics(how: Readings, table: TotalTable) -> Floats:
    """Evaluate every statistic on the rows as they are read; functions see them in random order."""
    order = np.argsort(np.frombuffer(secrets.token_bytes(8 * how.records), dtype=np.uint64))
    table = table.holding({name: column.read(table.columns[name]) for name, column in how.columns.items()})
    if how.combined is not None:
        table = table.holding(how.combined.read({name: table.columns[name] for name in how.combined.columns}))
    released: list[Floats] = []
    every = [held.read(table.values(expression)) for expression, held in how.rows]
    every = [*how.ties.read(np.array(every))] if every else []
    for (key, statistic, rows), (_, _, values) in zip(
        how.query.by_rows(how.rows), how.query.by_rows(every), strict=True
    ):
        if statistic.columns:
            columns = [table.columns[name].take(order).to_numpy().copy() for name in statistic.columns]
            each = [how.functions[name] for name in statistic.names(key)]
            released.append(_called(statistic, [*(value[order] for value in values), *columns], each))
            continue
        found = statistic.evaluate(*values)
        usual = statistic.evaluate(*(np.full(how.records, held.otherwise) for _, held in rows))
        released.append((found if _usable(found) else usual).reshape(statistic.size))
    return np.concatenate(released)


def _called(statistic: Statistic, values: Sequence[Any], each: Sequence[Held]) -> Floats:
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
