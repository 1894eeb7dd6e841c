"""Policies as text: encodings, and the lines that messages name."""

import codecs
import tomllib
from pathlib import Path

import pytest
from tests.policy.right import RIGHT, policy_from
from tests.workflow.shared import is_one_sentence

from distpriv.errors import InvalidPolicy
from distpriv.policy import read_policy
from distpriv.policy.toml_text import KeyPath, TomlText

LINES: dict[str, tuple[str, KeyPath, int]] = {
    "plain": ("\n\na = 1\n", ("a",), 3),
    "table": ("[a]\nb = 1", ("a", "b"), 2),
    "header": ("x = 1\n[a]\nb = 1", ("a",), 2),
    "dotted header": ("[a.b]\nc = 1", ("a", "b", "c"), 2),
    "dotted key": ("[a]\nb . c = 1", ("a", "b", "c"), 2),
    "quoted key": ("[a]\n\"b.c\" = 1\n'd e' = 2", ("a", "d e"), 3),
    "escaped key": ('"\\u00e9\\t" = 1', ("é\t",), 1),
    "second table of an array": ("[[a]]\nb = 1\n[[a]]\nb = 2", ("a", 1, "b"), 4),
    "table in an array": ("[[a]]\n[a.b]\nc = 1\n[[a]]\n[a.b]\nc = 2", ("a", 1, "b", "c"), 6),
    "array of inline tables": ("a = [\n  {b = 1},\n  # b = 2\n  {b = 3},\n]", ("a", 1, "b"), 4),
    "element": ("a = [ # one\n 1,\n 2 # two\n , 3 ]", ("a", 2), 4),
    "behind a multi-line string": ('a = """\nb = 1\n"""\nb = 2', ("b",), 4),
    "behind an escaped quote": ('a = "\\"\\\\"\nb = 2', ("b",), 2),
    "behind a literal string": ("a = 'c:\\'\nb = '''\n#'''\nc = 2", ("c",), 4),
    "missing in its table": ("x = 1\n[a]\nb = 1", ("a", "c", 0), 2),
    "every key of a policy": (RIGHT, ("ledger", "delta"), 25),
}


@pytest.mark.parametrize(("text", "path", "line"), LINES.values(), ids=LINES)
def test_the_line_of_a_value_is_found(text: str, path: KeyPath, line: int) -> None:
    assert TomlText.parse(text, name="a").line(path) == line


def test_where_a_text_is_missing_or_long_there_is_no_line() -> None:
    assert TomlText(name="policy.json", text="", document=tomllib.loads(RIGHT)).line(("data",)) is None
    assert TomlText.parse(RIGHT + "#" * 2**15, name="a").line(("data",)) is None
    assert TomlText.parse(RIGHT, name="a").line(("nowhere", "at", "all")) is None


@pytest.mark.parametrize(
    "encoded",
    [
        RIGHT.encode(),
        codecs.BOM_UTF8 + RIGHT.replace("\n", "\r\n").encode(),
        RIGHT.replace(" = ", "\t=\t", 3).replace("\n", "\t\n").encode(),
        RIGHT.rstrip("\n").encode(),
    ],
    ids=["plain", "mark and CRLF", "tabs", "no end of line"],
)
def test_how_a_file_is_written_makes_no_difference(tmp_path: Path, encoded: bytes) -> None:
    (tmp_path / "policy.toml").write_bytes(encoded)
    assert read_policy(tmp_path / "policy.toml").to_dict() == policy_from(RIGHT).to_dict()
    (tmp_path / "policy.toml").write_bytes(encoded.replace(b"1e-3", b"2"))
    with pytest.raises(InvalidPolicy, match=r"policy.toml, line 19, privacy.delta: "):
        read_policy(tmp_path / "policy.toml")


@pytest.mark.parametrize("encoding", ["latin-1", "utf-16"])
def test_a_file_that_is_not_utf_8_is_refused_by_line(tmp_path: Path, encoding: str) -> None:
    (tmp_path / "policy.toml").write_bytes(RIGHT.replace("hospital-2026", "Spital Zürich").encode(encoding))
    with pytest.raises(InvalidPolicy, match=r"line \d"):
        read_policy(tmp_path / "policy.toml")


@pytest.mark.parametrize("name", ["absent.toml", ".", "\0"])
def test_a_file_that_cannot_be_read_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(InvalidPolicy) as refused:
        read_policy(f"{tmp_path}/{name}")
    assert is_one_sentence(str(refused.value))
