import codecs
from pathlib import Path

import pytest
from tests.workflow.shared import is_one_sentence, policy_from
from tests.workflow.wrong_policies import RIGHT

from distpriv.errors import InvalidPolicy
from distpriv.workflow.policy import read_policy


@pytest.mark.parametrize(
    "encoded",
    [
        RIGHT.encode(),
        codecs.BOM_UTF8 + RIGHT.encode(),
        RIGHT.replace("\n", "\r\n").encode(),
        codecs.BOM_UTF8 + RIGHT.replace("\n", "\r\n").encode(),
        RIGHT.replace(" = ", "\t=\t", 3).replace("\n", "\t\n").encode(),
        RIGHT.rstrip("\n").encode(),
    ],
    ids=["plain", "mark", "CRLF", "mark and CRLF", "tabs", "no end of line"],
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
    with pytest.raises(InvalidPolicy, match=r"line \d, ?.*save the file as UTF-8|line \d: this is not UTF-8 text"):
        read_policy(tmp_path / "policy.toml")


@pytest.mark.parametrize(
    ("name", "message"),
    [("absent.toml", "distpriv init"), (".", "cannot be read .*: give the path of a file"), ("\0", "read")],
)
def test_a_file_that_cannot_be_read_is_refused(tmp_path: Path, name: str, message: str) -> None:
    with pytest.raises(InvalidPolicy, match=message) as refused:
        read_policy(f"{tmp_path}/{name}")
    assert is_one_sentence(str(refused.value))
