from pathlib import Path

import pytest

from distpriv.errors import InvalidInput
from distpriv.workflow.policy import read_policy
from distpriv.workflow.policy.initial import draft_policy


def test_a_first_policy_can_be_read_and_is_not_written_over(tmp_path: Path) -> None:
    path = draft_policy(tmp_path / "policy.toml").path
    text = path.read_text(encoding="utf-8")
    assert read_policy(path).records == 100
    with pytest.raises(InvalidInput, match="already, and it is left alone: give another name"):
        draft_policy(path)
    assert path.read_text(encoding="utf-8") == text


def test_a_folder_that_is_not_there_is_refused_with_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"cannot be written \(No such file or directory\): give another path"):
        draft_policy(tmp_path / "nowhere" / "policy.toml")
