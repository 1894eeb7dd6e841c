from pathlib import Path

import pytest
import sqlalchemy as sql

from distpriv.errors import InvalidSource
from distpriv.ledger.address import sqlite_file
from distpriv.policy.sources import ledger_url, same_source, source

HERE = Path("/policies")


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("a.csv", "/policies/a.csv"),
        (" a.csv ", "/policies/a.csv"),
        ("../a.csv", "/a.csv"),
        ("/data/a.csv", "/data/a.csv"),
        ("years/**/*.parquet", "/policies/years/**/*.parquet"),
        ("duckdb:a.db?table=t", "duckdb:/policies/a.db?table=t"),
        ("duckdb:/data/what?.db?table=s.t", "duckdb:/data/what?.db?table=s.t"),
    ],
)
def test_a_source_is_seen_from_the_folder(text: str, seen: str) -> None:
    assert source(text, HERE) == seen
    assert source(seen, Path("/elsewhere")) == seen


def test_the_home_folder_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/anna")
    assert source("~/a.csv", HERE) == "/home/anna/a.csv"


def test_brackets_of_the_folder_are_no_pattern(tmp_path: Path) -> None:
    folder = tmp_path / "k[1]"
    folder.mkdir()
    (folder / "a[2].csv").touch()
    assert source("a[2].csv", folder) == str(folder / "a[2].csv")
    assert source("*.csv", folder) == f"{tmp_path}/k[[]1]/*.csv"


def test_a_pattern_that_a_private_file_matches_is_the_same_source(tmp_path: Path) -> None:
    (tmp_path / "a.csv").touch()
    (tmp_path / "link.csv").symlink_to(tmp_path / "a.csv")
    assert same_source(f"{tmp_path}/*.csv", f"{tmp_path}/a.csv")
    assert same_source(f"{tmp_path}/link.csv", f"{tmp_path}/[a].csv")
    assert not same_source(f"{tmp_path}/*.csv", f"{tmp_path}/b.csv")


def test_two_tables_of_one_database_are_one_source() -> None:
    assert same_source("duckdb:/a.db?table=s", "duckdb:/a.db?table=t")
    assert not same_source("/a.db", "/b.db")


@pytest.mark.parametrize(
    "text", ["", " ", "a\0.csv", "spark:t", "s3://b/a.parquet", "duckdb:a.db", "duckdb:?table=t", "duckdb:a?table="]
)
def test_a_source_that_no_engine_opens_is_refused(text: str) -> None:
    with pytest.raises(InvalidSource):
        source(text, HERE)


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("sqlite:///ledger.db", "sqlite:////policies/ledger.db"),
        ("sqlite:////var/ledger.db", "sqlite:////var/ledger.db"),
        ("sqlite+pysqlite:///ledger.db", "sqlite+pysqlite:////policies/ledger.db"),
        ("postgresql+psycopg://host/db", "postgresql+psycopg://host/db"),
    ],
)
def test_a_ledger_is_seen_from_the_folder(text: str, seen: str) -> None:
    assert ledger_url(text, HERE) == seen


@pytest.mark.parametrize("folder", ["/why?", "/50%25", "/a b#c"])
def test_a_folder_of_any_name_is_found(folder: str) -> None:
    assert sqlite_file(sql.make_url(ledger_url("sqlite:///ledger.db", Path(folder)))) == f"{folder}/ledger.db"


@pytest.mark.parametrize("text", ["ledger.db", "", "sqlite://", "sqlite:///", "sqlite:///:memory:", "://x"])
def test_a_ledger_that_keeps_nothing_is_refused(text: str) -> None:
    with pytest.raises(InvalidSource, match=r"is not the URL of a ledger|does not name a file"):
        ledger_url(text, HERE)


@pytest.mark.parametrize(
    "name",
    [
        "path=privat[^x].parquet",
        "path=privat[!x].parquet",
        r"path=priva\te.parquet",
        "table=parquet.`/data/private.parquet`",
        "table=parquet.private",
        "table=CSV.private",
        "table=lake.`patients`",
        "table=lake..patients",
    ],
)
def test_names_that_only_spark_reads_are_refused(name: str) -> None:
    """Three of them named the private table as the reference, and a plan counted its rows without a look."""
    with pytest.raises(InvalidSource, match=r"only Spark reads|no plain name"):
        source(f"spark:local[1]?{name}", HERE)


@pytest.mark.parametrize("other", ["Lake.Patients", "spark_catalog.lake.patients", "patients", "PATIENTS"])
def test_another_spelling_of_a_table_is_that_table(other: str) -> None:
    assert same_source("spark:?table=lake.patients", f"spark:local[2]?table={other}")
    assert not same_source("spark:?table=lake.patients", "spark:?table=open.patients")
