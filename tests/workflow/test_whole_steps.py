import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from tests.workflow.forging import forged
from tests.workflow.shared import is_one_sentence
from tests.workflow.small import only, write_policy, write_tables

from distpriv.errors import BudgetSpent, InvalidPolicy, NotCertified
from distpriv.workflow.policy import read_policy
from distpriv.workflow.release_policy import release_policy
from distpriv.workflow.verifying import verify_bundle

COUNTS = (
    ('age = "mean(age, resolution = 1)"', "women = \"count(sex = 'Female')\""),
    ("income = '>50K'", "workclass = 'Private'"),
    ("[0.45, 0.55]", "[0.48, 0.52]"),
)
LATTICE = ("delta = 0.01\n", "delta = 0.01\nlattice = true\n")
OPEN = ("create = true", 'create = true\nadaptive = "assumed"')


def test_a_policy_can_ask_for_whole_numbers_and_nothing_can_be_released_after_that(
    tmp_path: Path, adult: pa.Table
) -> None:
    write_tables(tmp_path, adult)
    policy = write_policy(tmp_path, *COUNTS, LATTICE, OPEN)
    with only("certified_gaussian"):
        release_policy(str(policy), tmp_path / "out")
    written = json.loads((tmp_path / "out" / "release.json").read_text(encoding="utf-8"))
    assert written["noise"]["law"] == "rounded"
    assert all(value == round(value) for value in written["values"].values())
    assert written["policy"]["privacy"]["lattice"] is True
    assert verify_bundle(tmp_path / "out" / "release.json").holds
    other = write_policy(tmp_path, *COUNTS, OPEN, ("count(sex = 'Female')", "count(age > 40)"), name="other.toml")
    with only("certified_gaussian"), pytest.raises(BudgetSpent, match="release nothing more of this") as refused:
        release_policy(str(other), tmp_path / "again")
    assert is_one_sentence(str(refused.value))


def test_a_bundle_with_less_noise_than_was_certified_is_found_out(tmp_path: Path, adult: pa.Table) -> None:
    write_tables(tmp_path, adult)
    policy = write_policy(tmp_path, *COUNTS, LATTICE)
    with only("certified_gaussian"):
        release_policy(str(policy), tmp_path / "out")
    path = tmp_path / "out" / "release.json"
    written = json.loads(path.read_text(encoding="utf-8"))
    written["certificate"]["delta"] /= 2
    path.write_text(json.dumps(written), encoding="utf-8")
    assert not verify_bundle(path).holds


def test_a_law_of_another_number_of_statistics_is_found_out(tmp_path: Path, adult: pa.Table) -> None:
    write_tables(tmp_path, adult)
    with only("certified_gaussian"):
        made = release_policy(str(write_policy(tmp_path, *COUNTS, LATTICE)), tmp_path / "out").folder

    def single(document: dict[str, Any]) -> None:
        document["certificate"]["law"] |= {"combination": [1.0], "second_order": None, "gate": None}

    verdict = verify_bundle(forged(made, tmp_path / "forged", single))
    assert not verdict.holds
    assert "of another number of statistics" in str(verdict)


def test_where_nothing_can_be_whole_the_refusal_says_why(tmp_path: Path, adult: pa.Table) -> None:
    write_tables(tmp_path, adult)
    policy = write_policy(tmp_path, ("never_married = \"count(marital_status = 'Never-married')\"\n", ""), LATTICE)
    with only("certified_gaussian"), pytest.raises(NotCertified, match="leave out lattice=True") as refused:
        release_policy(str(policy), tmp_path / "out")
    assert is_one_sentence(str(refused.value))


def test_several_releases_cannot_be_in_whole_steps(tmp_path: Path, adult: pa.Table) -> None:
    write_tables(tmp_path, adult)
    policy = write_policy(tmp_path, LATTICE, ("create = true", 'create = true\nadaptive = "immune"'))
    with pytest.raises(InvalidPolicy, match=r"lattice.*ask for everything in one release"):
        read_policy(str(policy))


def test_a_bundle_says_whether_its_policy_asks_for_whole_numbers(tmp_path: Path, adult: pa.Table) -> None:
    write_tables(tmp_path, adult)
    with only("certified_gaussian"):
        whole = release_policy(str(write_policy(tmp_path, *COUNTS, LATTICE)), tmp_path / "whole").folder

    def unasked(document: dict[str, Any]) -> None:
        del document["policy"]["privacy"]["lattice"]

    verdict = verify_bundle(forged(whole, tmp_path / "forged", unasked))
    assert not verdict.holds
    assert "the policy does not ask for it" in str(verdict)


def test_a_policy_that_asks_for_whole_numbers_is_not_met_by_other_noise(tmp_path: Path, adult: pa.Table) -> None:
    write_tables(tmp_path, adult)
    with only("certified_gaussian"):
        plain = release_policy(str(write_policy(tmp_path, *COUNTS)), tmp_path / "plain").folder

    def asked(document: dict[str, Any]) -> None:
        document["policy"]["privacy"]["lattice"] = True

    verdict = verify_bundle(forged(plain, tmp_path / "forged", asked))
    assert not verdict.holds
    assert "the release has other noise" in str(verdict)


@pytest.mark.parametrize(
    ("first", "then", "cure"), [((), (LATTICE,), "leave lattice out"), ((LATTICE,), (), "write lattice = true")]
)
def test_a_question_that_was_answered_is_not_asked_again_for_another_kind_of_noise(
    tmp_path: Path,
    adult: pa.Table,
    first: tuple[tuple[str, str], ...],
    then: tuple[tuple[str, str], ...],
    cure: str,
) -> None:
    write_tables(tmp_path, adult)
    with only("certified_gaussian"):
        release_policy(str(write_policy(tmp_path, *COUNTS, *first)), tmp_path / "first")
        with pytest.raises(InvalidPolicy, match=cure) as refused:
            release_policy(str(write_policy(tmp_path, *COUNTS, *then)), tmp_path / "again")
    assert is_one_sentence(str(refused.value))
    assert not (tmp_path / "again").exists()
