from pathlib import Path

import pyarrow.parquet as pq
import pytest

from distpriv.errors import InvalidInput
from distpriv.policy import read_policy
from distpriv.workflow.example import POLICY, PRIVATE, REFERENCE, write_example


def test_the_example_is_a_policy_whose_tables_have_no_row_in_common(tmp_path: Path) -> None:
    assert list(write_example("adult", tmp_path)) == [REFERENCE, PRIVATE, POLICY]
    policy = read_policy(tmp_path / POLICY)
    public, private = (pq.read_table(tmp_path / name).num_rows for name in (REFERENCE, PRIVATE))
    assert (public, private) == (45_122, policy.records)
    assert policy.model().names == ("age", "hours", "never_married")


@pytest.mark.parametrize("name", [REFERENCE, PRIVATE, POLICY])
def test_nothing_is_overwritten_and_then_nothing_is_written(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("mine")
    with pytest.raises(InvalidInput, match=rf"there is {name} here already, and it is left alone: go to an empty"):
        write_example("adult", tmp_path)
    assert [(file.name, file.read_text()) for file in tmp_path.iterdir()] == [(name, "mine")]


def test_what_fails_half_way_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(pq, "write_table", full)
    with pytest.raises(InvalidInput, match=r"cannot be written here \(No space left on device\)"):
        write_example("adult", tmp_path)
    assert not list(tmp_path.iterdir())


def test_an_example_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"there is no example 'adlut': .*adult"):
        write_example("adlut", tmp_path)
