"""Promises about files, folders and names that were false once, each with what broke it."""

import csv
import errno
import io
import os
import re
import stat
import subprocess
import sys
import unicodedata
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from unittest.mock import patch

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.policy.right import policy_from
from tests.workflow.new_ledger import new_ledger
from tests.workflow.shared import record_of
from tests.workflow.small import POLICY, only, write_policy, write_tables

from distpriv.bundle.write import BundleFolder, csv_text, replace_files
from distpriv.errors import BundleNotWritten, DistprivError, InvalidInput, InvalidPolicy
from distpriv.ledger import Ledger
from distpriv.policy import read_policy
from distpriv.policy.sources import same_source
from distpriv.workflow.release_policy import release_policy


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


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    """A bundle, and beside it a file that is none of its business."""
    (tmp_path / "bundle").mkdir()
    for name in ("release.json", "report.html"):
        (tmp_path / "bundle" / name).write_text("old", encoding="utf-8")
    (tmp_path / "precious").write_text("precious", encoding="utf-8")
    return tmp_path / "bundle"


@pytest.mark.parametrize("make", ["symlink_to", "hardlink_to"])
@pytest.mark.parametrize("name", ["report.html", "audit.json", ".report.html.partial", ".audit.json.partial"])
def test_a_page_is_never_written_through_a_link(bundle: Path, name: str, make: str) -> None:
    """A link in the bundle's folder, planted where a page was to be written first, had another file overwritten."""
    precious = bundle.parent / "precious"
    (bundle / name).unlink(missing_ok=True)
    getattr(bundle / name, make)(precious)
    replace_files(bundle, {"audit.json": "{}", "report.html": "new"})
    assert precious.read_text(encoding="utf-8") == "precious"
    for file, text in (("audit.json", "{}"), ("report.html", "new")):
        assert not (bundle / file).is_symlink()
        assert (bundle / file).read_text(encoding="utf-8") == text


def test_a_page_that_cannot_be_written_leaves_nothing_behind_and_the_old_one_as_it_was(bundle: Path) -> None:
    full = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    with patch("os.fsync", side_effect=full), pytest.raises(BundleNotWritten, match="No space left"):
        replace_files(bundle, {"report.html": "new"})
    assert sorted(path.name for path in bundle.iterdir()) == ["release.json", "report.html"]
    assert (bundle / "report.html").read_text(encoding="utf-8") == "old"


def modes(folder: Path) -> set[str]:
    return {oct(stat.S_IMODE(path.stat().st_mode)) for path in (folder, *folder.iterdir())}


@pytest.fixture
def masked() -> Iterator[Callable[[int], None]]:
    """Set the process's umask, and have it set back."""
    before = os.umask(0o022)
    yield lambda mask: (os.umask(mask), None)[1]
    os.umask(before)


@pytest.mark.parametrize(("mask", "wanted"), [(0o077, {"0o700", "0o600"}), (0o022, {"0o755", "0o644"})])
def test_who_may_read_a_bundle_is_up_to_the_umask(
    tmp_path: Path, masked: Callable[[int], None], mask: int, wanted: set[str]
) -> None:
    """A bundle's folder was open to all under umask 077, and so were pages written again."""
    masked(mask)
    written = BundleFolder.prepared(tmp_path / "out")
    written.write({"release.json": "{}", "report.html": "page"})
    assert modes(tmp_path / "out") == wanted
    replace_files(tmp_path / "out", {"report.html": "again", "audit.json": "{}"})
    assert modes(tmp_path / "out") == wanted


def test_an_empty_folder_and_a_page_keep_what_their_owner_set(tmp_path: Path, masked: Callable[[int], None]) -> None:
    masked(0o022)
    (tmp_path / "out").mkdir(mode=0o700)
    BundleFolder.prepared(tmp_path / "out").write({"report.html": "page"})
    assert oct(stat.S_IMODE((tmp_path / "out").stat().st_mode)) == "0o700"
    (tmp_path / "out" / "report.html").chmod(0o600)
    replace_files(tmp_path / "out", {"report.html": "again"})
    assert oct(stat.S_IMODE((tmp_path / "out" / "report.html").stat().st_mode)) == "0o600"


def test_nobody_else_reads_a_bundle_while_it_is_written(tmp_path: Path, masked: Callable[[int], None]) -> None:
    masked(0o022)
    folder = BundleFolder.prepared(tmp_path / "out")
    (partial,) = tmp_path.glob(".out.*.partial")
    assert oct(stat.S_IMODE(partial.stat().st_mode)) == "0o700"
    folder.discard()
    assert list(tmp_path.iterdir()) == []


def test_a_link_is_no_folder_for_a_bundle(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "out").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(InvalidInput, match="is a link"):
        BundleFolder.prepared(tmp_path / "out")
    assert list((tmp_path / "elsewhere").iterdir()) == []


DYING = """
import os, sys
from distpriv.bundle.write import BundleFolder
BundleFolder.prepared(sys.argv[1])
os.kill(os.getpid(), 9)
"""


def test_what_killed_commands_left_is_swept_and_nothing_else_is(tmp_path: Path) -> None:
    """Every command that was killed left a folder for good."""
    for _ in range(2):
        assert subprocess.run([sys.executable, "-c", DYING, str(tmp_path / "out")], check=False).returncode == -9
    left = list(tmp_path.glob(".out.*.partial"))
    assert len(left) >= 1
    living = BundleFolder.prepared(tmp_path / "out")
    assert not any(path.exists() for path in left)
    (tmp_path / "kept").mkdir()
    mine = [".out.partial", ".out.abcdefgh.partial", "out.1234-5678.partial", ".notes.1-2.partial"]
    for name in mine:
        (tmp_path / name).mkdir()
    dead = left[-1].name
    (tmp_path / dead).symlink_to(tmp_path / "kept")
    (other := BundleFolder.prepared(tmp_path / "another")).discard()
    assert other != living
    assert len(list(tmp_path.glob(".out.*-*.partial"))) == 2  # that of the living, and the link
    assert (tmp_path / "kept").is_dir()
    assert all((tmp_path / name).is_dir() for name in mine)
    living.write({"release.json": "{}"})
    assert (tmp_path / "out" / "release.json").exists()


def test_what_was_left_of_a_page_is_swept_when_it_is_written_again(bundle: Path) -> None:
    command = "import os, sys; from distpriv.framework import folders; os.fsync = lambda _: os.kill(os.getpid(), 9); "
    command += "folders.write_whole(__import__('pathlib').Path(sys.argv[1]), 'half')"
    ended = subprocess.run([sys.executable, "-c", command, str(bundle / "report.html")], check=False)
    assert ended.returncode == -9
    assert len(list(bundle.iterdir())) == 3
    replace_files(bundle, {"report.html": "new"})
    assert sorted(path.name for path in bundle.iterdir()) == ["release.json", "report.html"]


BLANKS = ["", " ", "  ", "\u00a0", "\u3000", "\u2003", "\ufeff", "\u200b", "\u2060", "\u00ad", "\u3164", "\u2800"]
BLANKS += ["\u180e", "\u202e"]
CONTROLS = ["\t", "\r", "\n", "\r\n", "\x00", "\x0b", "\x0c", "\x1c", "\x7f", "\x85", "\u2028", "\u2029"]
SIGNS = ["=", "+", "-", "@", "＝", "＋", "－", "＠", "﹦", "﹢", "﹣", "﹫", "−", "⁼", "₊"]
NASTY = [
    *(f"{blank}=cmd|' /C calc'!A0" for blank in [*BLANKS, *CONTROLS]),
    *(f"{sign}1+1" for sign in SIGNS),
    *("a;=1+1", "a,=1+1", "a\t=1+1", "a|=1+1", "a\n=1+1", "a; =1+1", "a；＝1+1", "a;\u00a0@SUM(1)"),
    *('"=1+1', '"a";=1+1', '";=1+1', "';=1+1", "a'\n@SUM(A1:A9)", "(=1+1)", '=HYPERLINK("http://a.b","c")', "=1;=2,+3"),
]  # fmt: skip


def is_formula(cell: str) -> bool:
    """Tell whether some spreadsheet would compute a cell: it begins with a sign, after all that is not seen."""
    seen = cell.lstrip('"“” \t\r\n\x0b\x0c').lstrip("".join([*BLANKS, *CONTROLS]) + '"')
    return unicodedata.normalize("NFKC", seen)[:1] in {*"=+-@", "−"}


def cells_of(text: str) -> set[str]:
    """Return the first column's cells as spreadsheets of several countries read them, with quotes heeded or not."""
    (_, row) = text.split("\n", 1)
    found: set[str] = set()
    for separator in ",;\t|":
        for quoting in (csv.QUOTE_MINIMAL, csv.QUOTE_NONE):
            lines = io.StringIO(row, newline="")
            with suppress(csv.Error):
                found |= {cell for line in csv.reader(lines, delimiter=separator, quoting=quoting) for cell in line}
    numbers = re.compile(r"-?[0-9.]+(,-?[0-9.]+)*")
    return {cell for cell in found if not numbers.fullmatch(cell.strip('"'))}


def expect_text(name: str) -> None:
    """See that a name is a text to every spreadsheet, and still the name to a reader."""
    text = csv_text(record_of(name))
    assert not [cell for cell in cells_of(text) if is_formula(cell)], text
    rows = list(csv.reader(io.StringIO(text, newline="")))
    assert rows[1][1:] == ["-2.25", "-3.0", "-1.5", "-2.5", "0.5"]
    assert rows[1][0].replace("'", "") == name.replace("'", "")


@pytest.mark.parametrize("name", NASTY)
def test_no_name_is_a_formula_to_a_spreadsheet(name: str) -> None:
    """Only the very first character was looked at: a blank, a full-width sign or a separator before it was enough."""
    expect_text(name)


@given(
    st.lists(st.sampled_from([*BLANKS, *CONTROLS, *SIGNS, *",;|\"'", "a", "9"]), max_size=8).map("".join)
    | st.text(max_size=20)
)
def test_no_name_at_all_is_a_formula(name: str) -> None:
    expect_text(name)


@given(st.text("abcäßあ0123456789_ ", min_size=1).filter(str.strip))
def test_ordinary_names_are_written_as_they_are(name: str) -> None:
    assert list(csv.reader(io.StringIO(csv_text(record_of(name)), newline="")))[1][0] == name


def _broken(folder: Path, adult: pa.Table) -> dict[str, str]:
    """Private tables that cannot be used, each by the text that names it."""
    secret = adult.slice(0, 100).append_column("hiv_status", pa.array(["positive-4711"] * 100))
    pq.write_table(secret.set_column(0, "age", pa.array(["very-old-4711"] * 100)), folder / "types.parquet")
    (folder / "broken.parquet").write_text("hiv_status positive-4711", encoding="utf-8")
    (folder / "ragged.csv").write_text('age,hiv_status\n1,"positive-4711\n2,3,4,5\n', encoding="utf-8")
    with duckdb.connect(str(folder / "rows.db")) as database:
        database.execute("CREATE TABLE hiv_status AS SELECT 'positive-4711' AS hiv_status")
        database.execute(f"CREATE VIEW hiv_view AS SELECT * FROM '{folder}/types.parquet'")
    return {
        "no Parquet file": "broken.parquet",
        "a CSV file with ragged rows": "ragged.csv",
        "no such table": "duckdb:rows.db?table=persons",
        "a view of another file": "duckdb:rows.db?table=hiv_view",
        "no database": "duckdb:ragged.csv?table=hiv",
    }


def test_what_the_engine_says_of_a_private_table_is_not_passed_on(tmp_path: Path, adult: pa.Table) -> None:
    """DuckDB quotes rows, names tables and columns, and guesses at what was meant."""
    write_tables(tmp_path, adult)
    new_ledger(tmp_path)
    with only("group_privacy_laplace"):
        for number, (kind, source) in enumerate(_broken(tmp_path, adult).items()):
            policy = write_policy(tmp_path, ('private = "private.parquet"', f'private = "{source}"'))
            with pytest.raises(DistprivError) as refusal:
                release_policy(str(policy), tmp_path / f"out {number}", analyst=True)
            for told in ("hiv", "4711", "Persons", "Error", "line"):
                assert told not in str(refusal.value).replace(source, ""), (kind, str(refusal.value))
    assert not Ledger.open(f"sqlite:///{tmp_path / 'ledger.db'}").history("ward").entries
