"""Promises about files, folders and names that were false once, each with what broke it."""

import os
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.workflow.shared import policy_from
from tests.workflow.small import POLICY

from distpriv.errors import InvalidPolicy
from distpriv.workflow.policy import read_policy
from distpriv.workflow.sources import same_source


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a private table under several names, and one that is public."""
    monkeypatch.chdir(tmp_path)
    for name in ("private.parquet", "public.parquet", ".hidden.parquet"):
        pq.write_table(pa.table({"age": [len(name)]}), tmp_path / name)
    (tmp_path / "deep").mkdir()
    pq.write_table(pa.table({"age": [1]}), tmp_path / "deep" / "part-0.parquet")
    (tmp_path / "linked").symlink_to(tmp_path / "deep")
    (tmp_path / "soft.parquet").symlink_to("private.parquet")
    (tmp_path / "softer.parquet").symlink_to("soft.parquet")
    os.link(tmp_path / "private.parquet", tmp_path / "hard.parquet")
    for name in ("rows.db", "other.db"):
        with duckdb.connect(str(tmp_path / name)) as database:
            database.execute("CREATE TABLE t AS SELECT 1 AS age; CREATE VIEW v AS SELECT * FROM t")
    os.link(tmp_path / "rows.db", tmp_path / "again.db")
    return tmp_path


SAME = [
    ("private.parquet", "private.parquet"),
    ("private.parquet", "soft.parquet"),
    ("private.parquet", "softer.parquet"),
    ("private.parquet", "hard.parquet"),  # was missed: a hard link has a name of its own
    ("soft.parquet", "hard.parquet"),
    ("private.parquet", "deep/../private.parquet"),
    ("private.parquet", "./private.parquet"),
    ("private.parquet", "/proc/self/cwd/private.parquet"),
    ("private.parquet", "/proc/self/cwd/deep/../private.parquet"),
    ("private.parquet", "*.parquet"),
    ("private.parquet", "p*e.parquet"),
    ("private.parquet", "**/*.parquet"),
    ("private.parquet", "har[d].parquet"),  # was missed: a pattern that matches a hard link
    (".hidden.parquet", "*.parquet"),  # was missed: to DuckDB a star stands for a dot too
    ("deep/part-0.parquet", "linked/*.parquet"),
    ("deep/part-0.parquet", "d*/part-?.parquet"),
    ("duckdb:rows.db?table=t", "duckdb:rows.db?table=t"),
    ("duckdb:rows.db?table=t", "duckdb:rows.db?table=v"),
    ("duckdb:rows.db?table=t", "duckdb:again.db?table=v"),  # was missed
    ("duckdb:rows.db?table=t", "duckdb:/proc/self/cwd/rows.db?table=main.T"),
    ("private.parquet", "spark:local[2]?path=private.parquet"),
    ("private.parquet", "spark:?path=hard.parquet"),  # was missed
    ("deep/part-0.parquet", "spark:?path=deep"),  # was missed: to Spark a folder is a table
    ("private.parquet", "spark:?path={public,private}.parquet"),  # was missed: and braces are a pattern
    ("spark:local[2]?table=t", "spark:?table=t"),
]


@pytest.mark.parametrize(("private", "public"), SAME)
def test_one_table_under_two_names_is_not_both_private_and_public(folder: Path, private: str, public: str) -> None:
    for one, other in ((private, public), (public, private)):
        text = POLICY.replace('"private.parquet"', f'"{one}"').replace('"adult.parquet"', f'"{other}"')
        with pytest.raises(InvalidPolicy, match="the private source is also a public one"):
            policy_from(text, folder)


@pytest.mark.parametrize("scheme", ["file:", "file://", "file://localhost"])
def test_a_file_by_its_url_is_that_file(folder: Path, scheme: str) -> None:
    assert same_source(f"spark:?path={scheme}{folder}/private.parquet", f"{folder}/private.parquet")
    assert not same_source(f"spark:?path={scheme}{folder}/private.parquet", f"{folder}/public.parquet")


def test_scenarios_are_public_tables_too(folder: Path) -> None:
    text = POLICY.replace('reference = "adult.parquet"\n', "").replace(
        "share = \"income = '>50K'\"\nvalues = [0.45, 0.55]",
        'scenarios = {boom = "public.parquet", bust = "hard.parquet"}',
    )
    with pytest.raises(InvalidPolicy, match="the private source is also a public one"):
        policy_from(text, folder)


@pytest.mark.parametrize(
    ("private", "public"),
    [
        ("private.parquet", "public.parquet"),
        ("private.parquet", "pub*.parquet"),
        ("private.parquet", "deep/*.parquet"),
        ("duckdb:rows.db?table=t", "duckdb:other.db?table=t"),
        ("private.parquet", "spark:?path=deep"),
        ("absent.parquet", "absent too.parquet"),
    ],
)
def test_different_tables_are_different(folder: Path, private: str, public: str) -> None:
    text = POLICY.replace('"private.parquet"', f'"{private}"').replace('"adult.parquet"', f'"{public}"')
    policy_from(text, folder)
    assert not same_source(*(f"{folder}/{name}" if ":" not in name else name for name in (private, public)))


def test_a_view_of_a_reference_that_reads_the_private_table_is_refused_by_its_line(folder: Path) -> None:
    with duckdb.connect(str(folder / "other.db")) as public:
        public.execute(f"CREATE VIEW sly AS SELECT * FROM '{folder}/private.parquet'")
    text = POLICY.replace('"adult.parquet"', '"duckdb:other.db?table=sly"')
    (folder / "policy.toml").write_text(text, encoding="utf-8")
    with pytest.raises(InvalidPolicy, match=r"line 2, data\.reference: .*reads something outside of its database"):
        read_policy(folder / "policy.toml").model()
