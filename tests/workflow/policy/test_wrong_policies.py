import re
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.workflow.shared import is_one_sentence
from tests.workflow.wrong_policies import RIGHT, SAID, SAID_OF_ADULT, WRONG, WRONG_FOR_ADULT

from distpriv.errors import InvalidPolicy
from distpriv.workflow.policy import read_policy


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, adult: pa.Table) -> Path:
    """A folder with the Adult data in it."""
    made = tmp_path_factory.mktemp("policies")
    pq.write_table(adult, made / "adult.parquet")
    (made / "nulls.csv").write_text("age,marital_status,income\n30,Divorced,>50K\n,Divorced,<=50K\n", encoding="utf-8")
    return made


def message_of(folder: Path, text: str, *, modelled: bool) -> str:
    (folder / "policy.toml").write_text(text, encoding="utf-8")
    with pytest.raises(InvalidPolicy) as refused:
        read_policy(folder / "policy.toml").model() if modelled else read_policy(folder / "policy.toml")
    return str(refused.value).replace(str(folder / "policy.toml"), "policy.toml")


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_policy_is_refused_in_one_sentence_by_key_and_line(folder: Path, name: str) -> None:
    message = message_of(folder, WRONG[name], modelled=False)
    assert SAID[name] in message
    assert message.startswith("policy.toml")
    assert is_one_sentence(message)


@pytest.mark.parametrize("name", WRONG_FOR_ADULT)
def test_a_policy_that_does_not_fit_its_reference_is_refused_by_key_and_line(folder: Path, name: str) -> None:
    message = message_of(folder, WRONG_FOR_ADULT[name], modelled=True)
    assert SAID_OF_ADULT[name] in message
    assert re.match(r"policy.toml, line \d+, \w", message)
    assert is_one_sentence(message)


def test_there_are_sixty_wrong_policies_with_twenty_five_messages_that_differ_in_more_than_values(folder: Path) -> None:
    said = {message_of(folder, text, modelled=False) for text in WRONG.values()}
    without_values = {re.sub(r"'[^']*'|\"[^\"]*\"|[\d.]+|^[^:]*:", "", message) for message in said}
    assert len(WRONG) >= 60
    assert len(without_values) >= 25


def test_the_right_policy_is_right(folder: Path) -> None:
    (folder / "right.toml").write_text(RIGHT, encoding="utf-8")
    assert read_policy(folder / "right.toml").model().names == ("age", "never_married")
