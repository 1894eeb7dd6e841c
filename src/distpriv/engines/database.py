"""A table or view of a DuckDB database file, opened to read only."""

import os

import duckdb
from sqlglot import exp

from distpriv.engines.connections import of_database
from distpriv.engines.engine import SOURCE
from distpriv.errors import InvalidSource
from distpriv.framework.domains import did_you_mean

__all__ = ["connected"]


def connected(file: str, table: str, *, description: str) -> duckdb.DuckDBPyConnection:
    """Return a connection that calls one table of a database SOURCE, and reaches nothing outside of the database.

    Raises:
        InvalidSource: there is no such table, or it is a view of something that is not in the database.
    """
    path = os.path.expanduser(file)
    if not os.path.isfile(path):
        raise InvalidSource(f"there is no database file {file!r}: check the path.")
    try:
        connection = of_database(path)
    except duckdb.Error as failure:
        reason = str(failure).strip().partition("\n")[0].partition(". ")[0].rstrip(".!")
        raise InvalidSource(f"{description} cannot be opened as a DuckDB database: {reason}.") from failure
    schema, name = _existing(connection, table, description)
    qualified = exp.table_(name, db=schema, quoted=True).sql(dialect="duckdb")
    try:
        connection.execute(f"CREATE TEMP VIEW {SOURCE} AS SELECT * FROM {qualified}")
    except duckdb.PermissionException as failure:
        raise InvalidSource(
            f"{description} is a view that reads something outside of its database: give a table, or a view of tables "
            "that are in the same file."
        ) from failure
    except duckdb.Error as failure:
        reason = str(failure).strip().partition("\n")[0].rstrip(".!")
        raise InvalidSource(f"{description} cannot be read: {reason}.") from failure
    return connection


def _existing(connection: duckdb.DuckDBPyConnection, table: str, description: str) -> tuple[str, str]:
    """Return the schema and the name of a table as the database spells them; a bare name must be in one schema only."""
    listed = connection.execute(
        "SELECT table_schema, table_name FROM information_schema.tables WHERE table_catalog = current_database()"
    ).fetchall()
    asked = table.lower()
    fitting = [(schema, name) for schema, name in listed if asked in (name.lower(), f"{schema}.{name}".lower())]
    if not fitting:
        names = [name if schema == "main" else f"{schema}.{name}" for schema, name in listed]
        cure = did_you_mean(table, names) if names else "the database has none."
        raise InvalidSource(f"{description} names a table {table!r} that is not there: {cure}")
    if len(fitting) > 1:
        names = [f"{schema}.{name}" for schema, name in fitting]
        raise InvalidSource(f"{description} names one of several tables: write {' or '.join(names)}.")
    return fitting[0]
