from pathlib import Path

import duckdb
import pytest

from distpriv.engines.engine import SOURCE, engine_for
from distpriv.errors import InvalidSource


@pytest.fixture
def file(tmp_path: Path) -> str:
    """A database with tables in two schemas and a view."""
    path = str(tmp_path / "it's [1]?.db")
    with duckdb.connect(path) as database:
        database.execute(
            "CREATE TABLE Persons AS SELECT 1 AS age; CREATE SCHEMA old; CREATE TABLE old.t AS SELECT 2 AS age"
        )
        database.execute("CREATE TABLE t AS SELECT 3 AS age; CREATE VIEW seen AS SELECT age + 3 AS age FROM Persons")
        database.execute('CREATE TABLE "a""b c" AS SELECT 5 AS age')
    return path


@pytest.mark.parametrize(
    ("table", "age"), [("persons", 1), ("old.t", 2), ("main.T", 3), ("seen", 4), ('a"b c', 5), (" Persons ", 1)]
)
def test_a_table_of_a_database_is_found_by_its_name(file: str, table: str, age: int) -> None:
    engine = engine_for(f"duckdb:{file}?table={table}")
    assert engine.schema.names == ["age"]
    assert engine.select(f"SELECT age FROM {SOURCE}").to_pylist() == [{"age": age}]


def test_a_database_is_only_read(file: str) -> None:
    before = Path(file).read_bytes()
    engine = engine_for(f"duckdb:{file}?table=persons")
    assert len(engine.sample(f"SELECT * FROM {SOURCE}", 1, 0)) == 1
    with pytest.raises(duckdb.Error):
        engine.run("INSERT INTO Persons VALUES (9)")  # type: ignore[attr-defined]
    assert Path(file).read_bytes() == before


def test_two_tables_of_one_database_do_not_see_each_other(file: str) -> None:
    engines = [engine_for(f"duckdb:{file}?table={table}") for table in ("persons", "main.t")]
    assert [e.select(f"SELECT age FROM {SOURCE}")["age"][0].as_py() for e in engines] == [1, 3]


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ("person", r"names a table 'person' that is not there: did you mean 'Persons'\?"),
        ("zzz", r"there are: .*old\.t"),
        ("t", r"names one of several tables: write main\.t or old\.t"),
    ],
)
def test_a_table_that_is_not_there_or_not_the_only_one_is_refused(file: str, table: str, message: str) -> None:
    with pytest.raises(InvalidSource, match=message):
        engine_for(f"duckdb:{file}?table={table}")


def test_a_database_without_tables_says_so(tmp_path: Path) -> None:
    duckdb.connect(str(tmp_path / "empty.db")).close()
    with pytest.raises(InvalidSource, match="the database has none"):
        engine_for(f"duckdb:{tmp_path / 'empty.db'}?table=t")


def test_what_is_no_database_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("age\n1\n")
    with pytest.raises(InvalidSource, match="cannot be opened as a DuckDB database"):
        engine_for(f"duckdb:{tmp_path / 'a.csv'}?table=t")
    with pytest.raises(InvalidSource, match="there is no database file"):
        engine_for(f"duckdb:{tmp_path / 'b.db'}?table=t")
    with pytest.raises(InvalidSource, match="does not name a file and a table"):
        engine_for("duckdb:b.db")
