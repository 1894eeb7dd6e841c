"""Claims that were false once, each with what broke it."""

from collections.abc import Callable
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

import distpriv as dp
from distpriv.engines.duckdb import DuckDBEngine
from distpriv.engines.engine import SOURCE, engine_for
from distpriv.errors import InvalidSource

PRIVATE = pa.table({"age": [23, 42, 4711]})

ELSEWHERE = {
    "a Parquet file": "SELECT * FROM read_parquet('{folder}/private.parquet')",
    "a file by its name alone": "SELECT * FROM '{folder}/private.parquet'",
    "a pattern": "SELECT * FROM '{folder}/priv*.parquet'",
    "a CSV file": "SELECT * FROM read_csv('{folder}/private.csv')",
    "a text": "SELECT length(content) AS age FROM read_text('{folder}/private.csv')",
    "a file's size": "SELECT size AS age FROM read_blob('{folder}/private.parquet')",
    "what files there are": "SELECT length(file) AS age FROM glob('{folder}/*')",
    "a file's statistics": "SELECT stats_max::INT AS age FROM parquet_metadata('{folder}/private.parquet')",
    "a guess of a file's columns": "SELECT length(Columns::VARCHAR) AS age FROM sniff_csv('{folder}/private.csv')",
    "a macro over a file": "SELECT * FROM elsewhere()",
    "a query in a text": "SELECT * FROM query('SELECT * FROM ''{folder}/private.parquet''')",
    "a table by a text": "SELECT * FROM query_table('{folder}/private.parquet')",
    "another database": "SELECT * FROM other.private",
    "another database's file": "SELECT * FROM read_duckdb('{folder}/third.db', table_name := 'private')",
    "what it keeps on disk": "SELECT * FROM '{folder}/census.db.tmp/private.parquet'",
    "a table and a file": "SELECT age FROM persons UNION ALL SELECT age FROM '{folder}/private.parquet'",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with private tables in several forms, and a public database whose views read them."""
    tmp_path = tmp_path_factory.mktemp("tables")
    pq.write_table(PRIVATE, tmp_path / "private.parquet")
    (tmp_path / "census.db.tmp").mkdir()
    pq.write_table(PRIVATE, tmp_path / "census.db.tmp" / "private.parquet")
    pyarrow.csv.write_csv(PRIVATE, tmp_path / "private.csv")
    for name in ("other.db", "third.db"):
        with duckdb.connect(str(tmp_path / name)) as other:
            other.execute("CREATE TABLE private AS SELECT 4711 AS age")
    with duckdb.connect(str(tmp_path / "census.db")) as public:
        public.execute("CREATE TABLE persons AS SELECT 30 AS age UNION ALL SELECT 40")
        public.execute(f"CREATE MACRO elsewhere() AS TABLE SELECT * FROM '{tmp_path}/private.parquet'")
        public.execute(f"ATTACH '{tmp_path}/other.db' AS other")
        for number, text in enumerate(ELSEWHERE.values()):
            public.execute(f"CREATE VIEW view{number} AS {text.format(folder=tmp_path)}")
        public.execute("CREATE VIEW older AS SELECT age + 1 AS age FROM persons")
    return tmp_path


@pytest.mark.parametrize("number", range(len(ELSEWHERE)), ids=list(ELSEWHERE))
def test_a_view_of_a_public_database_reads_nothing_else(folder: Path, number: int) -> None:
    """A reference is public: a view of it that read the private table made the noise depend on private rows."""
    with pytest.raises(InvalidSource) as refusal:
        engine_for(f"duckdb:{folder}/census.db?table=view{number}").select(f"SELECT * FROM {SOURCE}")
    assert "4711" not in str(refusal.value)


def test_nothing_is_fetched_from_the_network(folder: Path) -> None:
    engine = engine_for(f"duckdb:{folder}/census.db?table=persons")
    for text in ("http://127.0.0.1:9/a.csv", "s3://bucket/a.csv", "hf://datasets/a/b.csv"):
        with pytest.raises(duckdb.PermissionException, match="disabled"):
            engine.run(f"SELECT * FROM read_csv('{text}')")  # type: ignore[attr-defined]


def test_what_a_database_holds_is_read_as_before(folder: Path) -> None:
    for table, ages in (("persons", [30, 40]), ("older", [31, 41])):
        engine = engine_for(f"duckdb:{folder}/census.db?table={table}")
        assert sorted(engine.select(f"SELECT age FROM {SOURCE}")["age"].to_pylist()) == ages


def engines(folder: Path) -> dict[str, Callable[[], DuckDBEngine]]:
    """Return every kind of table that this engine opens by itself, one public row set each."""
    public = pa.table({"age": [1]})
    pq.write_table(public, folder / "public.parquet")
    pyarrow.csv.write_csv(public, folder / "public.csv")
    return {
        "database": lambda: DuckDBEngine.open(f"duckdb:{folder}/census.db?table=persons"),
        "parquet": lambda: DuckDBEngine.open(str(folder / "public.parquet")),
        "csv": lambda: DuckDBEngine.open(str(folder / "public.csv")),
        "pattern": lambda: DuckDBEngine.open(str(folder / "publi[c].parquet")),
        "memory": lambda: DuckDBEngine.open(public),
    }


@pytest.mark.parametrize("kind", ["database", "parquet", "csv", "pattern", "memory"])
@pytest.mark.parametrize(
    "statement",
    [
        "SELECT * FROM '{folder}/private.parquet'",
        "SELECT * FROM read_csv('{folder}/private.csv')",
        "SELECT * FROM glob('{folder}/*')",
        "SELECT getenv('HOME')",
        "ATTACH '{folder}/other.db' AS more",
        "COPY (SELECT 1) TO '{folder}/written.csv'",
        "INSTALL httpfs",
        "LOAD httpfs",
        "SET enable_external_access = true",
        "SET allowed_paths = ['{folder}/private.parquet']",
        "RESET lock_configuration",
        "SELECT * FROM PRIVATE_IN_PYTHON",
    ],
)
def test_a_connection_reaches_its_own_table_alone(folder: Path, kind: str, statement: str) -> None:
    """Every connection could read and write any file: one hole in the allow-list would have been enough."""
    PRIVATE_IN_PYTHON = PRIVATE  # noqa: F841, N806 - DuckDB would find it in the caller's frame
    engine = engines(folder)[kind]()
    with pytest.raises(duckdb.Error):
        engine.run(statement.format(folder=folder)).fetchall()
    assert not (folder / "written.csv").exists()
    assert engine.select(f"SELECT count(*) AS n FROM {SOURCE}")["n"][0].as_py() > 0


def test_a_relation_of_the_users_keeps_the_users_settings(folder: Path) -> None:
    with duckdb.connect(":memory:") as mine:
        relation = mine.sql(f"SELECT * FROM '{folder}/private.parquet'")
        assert len(engine_for(relation).select(f"SELECT age FROM {SOURCE}")) == 3
        assert mine.sql(f"SELECT count(*) FROM '{folder}/private.csv'").fetchall() == [(3,)]


def test_files_in_parts_with_odd_names_are_read_as_before(tmp_path: Path) -> None:
    (tmp_path / "years").mkdir()
    for name in ("a.parquet", "it's.parquet", "k[1].parquet", "years/b.parquet", ".hidden.parquet"):
        pq.write_table(pa.table({"age": [1]}), tmp_path / name)
    for pattern, rows in (("*.parquet", 4), ("**/*.parquet", 5), ("k[1].parquet", 1), ("years/../a.parquet", 1)):
        engine = engine_for(str(tmp_path / pattern))
        assert engine.select(f"SELECT count(*) AS n FROM {SOURCE}")["n"][0].as_py() == rows


def test_a_model_of_a_reference_in_a_database_is_that_of_its_rows(tmp_path: Path) -> None:
    table = pa.table({"age": list(range(100)), "rich": [k % 2 == 0 for k in range(100)]})
    with duckdb.connect(str(tmp_path / "census.db")) as public:
        public.register("given", table)
        public.execute("CREATE TABLE persons AS SELECT * FROM given")
    asked, secret = dp.Query(a=dp.mean("age")), dp.Share("rich", values=(0.4, 0.6))
    models = [
        dp.model(source, asked, secret, records=20)
        for source in (table, f"duckdb:{tmp_path / 'census.db'}?table=persons")
    ]
    laws = [list(model.distributions.values()) for model in models]
    for one, other in zip(*laws, strict=True):
        assert one.mean.tolist() == pytest.approx(other.mean.tolist())
        assert one.covariance.tolist() == [pytest.approx(row) for row in other.covariance.tolist()]
