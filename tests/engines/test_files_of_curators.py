"""Files as spreadsheets and registers write them: semicolons, decimal commas, Latin-1, UTF-16 and workbooks."""

import gzip
import sys
import tempfile
from datetime import date, datetime
from pathlib import Path
from typing import Any

import openpyxl
import pyarrow as pa
import pytest

import distpriv as dp
from distpriv.engines.engine import SOURCE, engine_for
from distpriv.engines.total import lenient_engine
from distpriv.errors import InvalidSource, PrivateTableRefused
from distpriv.releasing.private import look_at, require_source

LINES = ["id;Alter;Stadt;Lohn", *(f"{k};{30 + k % 5},5;{'Köln' if k % 3 else 'München'};{k % 2}" for k in range(40))]
ENCODINGS = {"utf-8": "utf-8", "utf-8 with its mark": "utf-8-sig", "latin-1": "latin-1", "utf-16": "utf-16"}


def rows(source: Any, columns: str = "*") -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = engine_for(source).select(f"SELECT {columns} FROM {SOURCE}").to_pylist()
    return found


def workbook(path: Path, *sheets: Any) -> Path:
    book: Any = openpyxl.Workbook()
    book.remove(book.active)
    for number, lines in enumerate(sheets):
        sheet = book.create_sheet(f"sheet {number}")
        for line in lines:
            sheet.append(line)
    book.save(path)
    return path


@pytest.mark.parametrize("encoding", ENCODINGS.values(), ids=ENCODINGS)
@pytest.mark.parametrize("name", ["a.csv", "a.csv.gz"])
def test_semicolons_decimal_commas_and_any_usual_encoding_are_read(tmp_path: Path, encoding: str, name: str) -> None:
    written = "\n".join(LINES).encode(encoding)
    (tmp_path / name).write_bytes(gzip.compress(written) if name.endswith("gz") else written)
    engine = engine_for(tmp_path / name)
    assert engine.schema.field("Alter").type == pa.float64()
    assert engine.schema.field("Lohn").type == pa.int64()
    found = engine.select(f'SELECT AVG("Alter") AS a, COUNT(*) FILTER (WHERE "Stadt" = \'Köln\') AS n FROM {SOURCE}')
    assert found.to_pylist() == [{"a": 32.5, "n": 26}]


def test_a_comma_that_separates_values_is_no_fraction(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text('age,codes\n39.5,"1,2"\n40.25,"3,4"\n')
    assert rows(tmp_path / "a.csv") == [{"age": 39.5, "codes": "1,2"}, {"age": 40.25, "codes": "3,4"}]


def test_fractions_written_with_points_are_read_as_before(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("age;kind\n39.5;x\n40.25;y\n")
    assert rows(tmp_path / "a.csv") == [{"age": 39.5, "kind": "x"}, {"age": 40.25, "kind": "y"}]


def test_fractions_written_in_two_ways_are_refused_with_the_columns(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("age;pay\n39,5;1.5\n40,25;2.5\n")
    with pytest.raises(InvalidSource, match=r"a comma in age and with a point in pay: write all of them with a point"):
        engine_for(tmp_path / "a.csv")


def test_what_is_neither_utf_8_nor_latin_1_gets_the_cure(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes("age;pay\n39;5 €\n".encode("cp1252"))
    with pytest.raises(InvalidSource, match=r"neither in UTF-8 nor in Latin-1: save it in UTF-8"):
        engine_for(tmp_path / "a.csv")


def test_files_encoded_in_two_ways_are_not_read_together(tmp_path: Path) -> None:
    for name, encoding in (("1.csv", "utf-8"), ("2.csv", "latin-1")):
        (tmp_path / name).write_bytes("\n".join(LINES).encode(encoding))
    with pytest.raises(InvalidSource, match="encoded as latin-1 and as utf-8: save all of them in UTF-8"):
        engine_for(tmp_path / "*.csv")


SHEET: list[Any] = [
    ["age", "pay", "kind", "when", "at", "yes", "mixed", "failed"],
    [30, 1.5, "x", date(2026, 1, 2), datetime(2026, 1, 2, 3, 4), True, 1, "#N/A"],
    [31, 2, "y", date(2026, 1, 3), datetime(2026, 1, 3), False, "b", 3],
    [None] * 8,
]


def test_a_workbook_is_read_with_the_types_of_its_cells(tmp_path: Path) -> None:
    engine = engine_for(workbook(tmp_path / "a.xlsx", SHEET, []))
    kinds = {field.name: field.type for field in engine.schema}
    assert kinds["age"] == kinds["failed"] == pa.int64()
    assert kinds["pay"] == pa.float64()
    assert (kinds["when"], kinds["at"]) == (pa.date32(), pa.timestamp("us"))
    assert kinds["yes"] == pa.bool_()
    assert engine.select(f"SELECT mixed, failed FROM {SOURCE}").to_pylist() == [
        {"mixed": "1", "failed": None},
        {"mixed": "b", "failed": 3},
    ]


def test_as_text_every_cell_is_read_by_itself(tmp_path: Path) -> None:
    engine = lenient_engine(workbook(tmp_path / "a.xlsx", SHEET))
    first = engine.select(f"SELECT * FROM {SOURCE}").to_pylist()[0]
    assert set(map(type, first.values())) <= {str, type(None)}
    assert list(first.values()) == ["30", "1.5", "x", "2026-01-02", "2026-01-02 03:04:00", "true", "1", None]


@pytest.mark.parametrize(
    ("sheets", "message"),
    [
        ([[]], "no sheet has rows: keep the table in one sheet"),
        ([[["a"], [1]], [["b"], [2]]], "the sheets sheet 0, sheet 1 have rows"),
        ([[["a", None], [1, 2]]], "must have a name for each column"),
        ([[["a", "A"], [1, 2]]], "no two alike"),
    ],
)
def test_a_workbook_that_is_no_table_is_refused(tmp_path: Path, sheets: list[Any], message: str) -> None:
    with pytest.raises(InvalidSource, match=message):
        engine_for(workbook(tmp_path / "a.xlsx", *sheets))


def test_what_is_no_workbook_is_refused_with_the_cure(tmp_path: Path) -> None:
    (tmp_path / "a.xlsx").write_bytes(b"x")
    with pytest.raises(InvalidSource, match=r"cannot be read as a workbook .*: save it anew as \.xlsx, or as CSV"):
        engine_for(tmp_path / "a.xlsx")
    (tmp_path / "a.xls").write_bytes(b"x")
    with pytest.raises(InvalidSource, match=r"before 2007: save it as \.xlsx"):
        engine_for(tmp_path / "a.xls")
    workbook(tmp_path / "b.xlsx", SHEET)
    with pytest.raises(InvalidSource, match="names 2 workbooks"):
        engine_for(tmp_path / "*.xlsx")


def test_a_workbook_without_its_extra_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = workbook(tmp_path / "a.xlsx", SHEET)
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    with pytest.raises(InvalidSource, match=r"needs openpyxl, .* pip install 'distpriv\[excel\]'"):
        engine_for(file)
    with pytest.raises(InvalidSource, match=r"^the workbook of the private table needs openpyxl, "):
        require_source(str(file))


@pytest.fixture(scope="module")
def model() -> dp.QueryModel:
    reference = pa.table({"age": [30.5, 31.25, 40.75, 33.5] * 100, "city": ["Köln", "Bonn", "Ulm", "Ulm"] * 100})
    query = dp.Query(age=dp.mean("age"), cologne=dp.count("city = 'Köln'"))
    return dp.model(reference, query, dp.Share("city = 'Ulm'", values=(0.25, 0.75)), records=4)


PRIVATE = [("30.5", "Köln"), ("40.75", "Köln"), ("31.25", "Bonn"), ("30.5", "Ulm")]


@pytest.mark.parametrize("encoding", ["utf-8", "latin-1", "utf-16"])
@pytest.mark.parametrize("separator", [";", "\t", "|"])
@pytest.mark.parametrize("name", ["p.csv", "p.csv.gz"])
def test_the_private_table_may_be_written_so_too(
    tmp_path: Path, model: dp.QueryModel, encoding: str, separator: str, name: str
) -> None:
    lines = [("age", "city"), *((age.replace(".", ","), city) for age, city in PRIVATE)]
    written = "\n".join(map(separator.join, lines)).encode(encoding)
    (tmp_path / name).write_bytes(gzip.compress(written) if name.endswith("gz") else written)
    assert list(look_at(str(tmp_path / name), model).values) == [33.25, 2]


@pytest.mark.parametrize("opened", [engine_for, lenient_engine])
def test_a_packed_file_that_ends_early_or_is_damaged_cannot_be_read(tmp_path: Path, opened: Any) -> None:
    packed = gzip.compress("\n".join(LINES).encode())
    for content in (packed[:-20], packed[:12] + b"\xff" * 20 + packed[32:]):
        (tmp_path / "p.csv.gz").write_bytes(content)
        with pytest.raises(InvalidSource, match=r"p\.csv\.gz' cannot be read: .+\.$"):
            opened(tmp_path / "p.csv.gz")


def test_and_a_workbook(tmp_path: Path, model: dp.QueryModel) -> None:
    file = workbook(tmp_path / "p.xlsx", [["age", "city"], *([float(age), city] for age, city in PRIVATE)])
    require_source(str(file))
    assert list(look_at(str(file), model).values) == [33.25, 2]


def remarked(path: Path, remarks: list[bytes], *, line_end: bytes = b"\n", encoding: str = "utf-8") -> str:
    """Write the private table with a column that nothing asks for, and a name that is no ASCII above it."""
    rows = [f"{age},{city},".encode(encoding) + remark for (age, city), remark in zip(PRIVATE, remarks, strict=True)]
    path.write_bytes(line_end.join(["age,city,größe".encode(encoding), *rows]))
    return str(path)


NO_UTF_8 = {
    "a letter of Latin-1": b"caf\xe9",
    "quotes of Windows": b"\x93quoted\x94",
    "no sign of Windows either": b"\x81\x8d",
    "half a letter": b"caf\xc3",
    "half a letter before a quoted comma": b'"\xe2\x82,x"',
    "a surrogate": b"\xed\xa0\x80",
}


@pytest.mark.parametrize("remark", NO_UTF_8.values(), ids=NO_UTF_8)
@pytest.mark.parametrize("line_end", [b"\n", b"\r\n", b"\r"])
@pytest.mark.parametrize("place", [0, 3])
def test_bytes_in_one_private_row_do_not_decide_how_others_are_read(
    tmp_path: Path, model: dp.QueryModel, remark: bytes, line_end: bytes, place: int
) -> None:
    remarks = [remark if row == place else b"fine" for row in range(len(PRIVATE))]
    file = remarked(tmp_path / "p.csv", remarks, line_end=line_end)
    assert list(look_at(file, model).values) == [33.25, 2]
    engine = lenient_engine(file)
    found = engine.select(f"SELECT * FROM {SOURCE}").to_pylist()
    assert engine.schema.names == ["age", "city", "größe"]
    assert [(row["age"], row["city"]) for row in found] == PRIVATE
    assert [row["größe"] for row in found if row is not found[place]] == ["fine"] * 3


def test_a_private_value_that_is_no_utf_8_is_read_as_windows_writes_it(tmp_path: Path) -> None:
    written = [b"caf\xe9", b"\x93x\x94 5 \x80", b"\x81", "café".encode() + b"\xc3"]
    found = lenient_engine(remarked(tmp_path / "p.csv", written)).select(f'SELECT "größe" FROM {SOURCE}')
    assert found["größe"].to_pylist() == ["café", "“x” 5 €", "\N{REPLACEMENT CHARACTER}", "caféÃ"]


def test_private_files_are_each_read_as_they_are_encoded(tmp_path: Path, model: dp.QueryModel) -> None:
    for encoding, (age, city) in zip(ENCODINGS.values(), PRIVATE, strict=True):
        (tmp_path / f"{encoding}.csv").write_bytes(f"age,city\n{age},{city}\n".encode(encoding))
    assert list(look_at(str(tmp_path / "*.csv"), model).values) == [33.25, 2]


def test_half_a_letter_of_utf_16_is_unknown_by_itself(tmp_path: Path, model: dp.QueryModel) -> None:
    lines = "\n".join(["age,city,remark", *(f"{age},{city},x" for age, city in PRIVATE)])
    written = lines.encode("utf-16").replace("Bonn,x".encode("utf-16-le"), "Bonn,".encode("utf-16-le") + b"\x00\xd8")
    (tmp_path / "p.csv").write_bytes(written)
    assert list(look_at(str(tmp_path / "p.csv"), model).values) == [33.25, 2]


def test_nothing_is_left_of_a_private_file_that_was_read_in_another_encoding(
    tmp_path: Path, model: dp.QueryModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "tmp").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "tmp"))
    look_at(remarked(tmp_path / "p.csv", [b"\xe9"] * 4), model)
    with pytest.raises(PrivateTableRefused):
        look_at(remarked(tmp_path / "p.csv", [b'\xe9"', b'"x', b"", b""]), model)
    assert list((tmp_path / "tmp").iterdir()) == []


def test_what_is_wrong_with_a_private_file_has_the_one_refusal(tmp_path: Path, model: dp.QueryModel) -> None:
    (tmp_path / "p.csv").write_bytes(b'age;city\n30,5;"Bonn\n30,5;Bonn\n30,5;Bonn\n30,5;Bonn\n')
    (tmp_path / "p.xlsx").write_bytes(b"x")
    for name in ("p.csv", "p.xlsx"):
        with pytest.raises(PrivateTableRefused, match="reason withheld in analyst mode"):
            look_at(str(tmp_path / name), model)
