"""Policies that declare all questions of a dataset before the first answer."""

from pathlib import Path

import pyarrow as pa
import pytest
from tests.policy.right import policy_from
from tests.workflow.small import POLICY, only, write_policy, write_tables

from distpriv.bundle import verify_bundle
from distpriv.errors import InvalidPolicy, QuestionNotDeclared
from distpriv.policy import policy_of, read_policy
from distpriv.policy.toml_text import TomlText
from distpriv.workflow.ledgers import history_of
from distpriv.workflow.plan_policy import plan_policy
from distpriv.workflow.release_policy import release_policy

ONE = POLICY[POLICY.index("[release]") : POLICY.index("[[protect]]")]
TWO = """\
[[release]]
name = "ages"
records = 100
[release.statistics]
age = "mean(age, resolution = 1)"

[[release]]
name = "families"
records = 100
[release.statistics]
never_married = "count(marital_status = 'Never-married')"

"""


def test_several_releases_are_read_each_by_its_name() -> None:
    policy = policy_from(POLICY.replace(ONE, TWO))
    assert policy.declares
    assert policy.only("ages").query().names == ("age",)
    assert policy.only("families").query().names == ("never_married",)
    for name in (None, "incomes"):
        with pytest.raises(InvalidPolicy, match="'ages', 'families'"):
            policy.only(name)
    assert not policy_from(POLICY).declares
    with pytest.raises(InvalidPolicy, match="no release named 'ages'"):
        policy_from(POLICY).only("ages")


def test_the_dictionary_of_a_policy_with_several_releases_is_a_policy_again() -> None:
    policy = policy_from(POLICY.replace(ONE, TWO))
    file = TomlText(name="policy.json", text="", document=policy.to_dict())
    again = policy_of(file, Path("/policies"))
    assert [(q.name, q.query) for q in again.questions] == [(q.name, q.query) for q in policy.questions]
    assert again.only("ages").to_dict() == policy.to_dict()


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('name = "ages"\n', "", "needs a name"),
        ('"families"', '"ages"', "two releases are named 'ages'"),
        ('name = "families"\nrecords = 100', 'name = "families"\nrecords = 90', "has 100 records above and 90 here"),
        ("never_married = \"count(marital_status = 'Never-married')\"", 'years = "mean(AGE)"', "same as 'ages'"),
        ("never_married = \"count(marital_status = 'Never-married')\"", "", "nothing to release"),
        ("marital_status = 'N", "marital_status = = 'N", "release.1.statistics.never_married|statistics"),
    ],
)
def test_wrong_releases_are_refused_by_key_and_line(old: str, new: str, said: str) -> None:
    with pytest.raises(InvalidPolicy, match=said) as refused:
        policy_from(POLICY.replace(ONE, TWO.replace(old, new)))
    assert "line" in str(refused.value)


def test_weights_count_where_their_statistics_are() -> None:
    policy = policy_from(POLICY.replace(ONE, TWO).replace("delta = 0.01\n", "delta = 0.01\nweights = {age = 2}\n"))
    assert policy.only("ages").weights == {"age": 2}
    assert policy.only("families").weights == {}


def test_errors_are_limited_where_their_statistics_are() -> None:
    policy = policy_from(POLICY.replace(ONE, TWO).replace("delta = 0.01\n", "delta = 0.01\nmax_error = {age = 2}\n"))
    assert policy.only("ages").max_error == {"age": 2}
    assert policy.only("families").max_error == {}


@pytest.mark.slow
def test_all_questions_are_declared_before_the_first_is_answered_and_none_is_left_to_choose(
    tmp_path: Path, adult: pa.Table
) -> None:
    write_tables(tmp_path, adult)
    path = str(write_policy(tmp_path, (ONE, TWO)))
    with only("expected_value_gaussian"):
        shown = plan_policy(path, only="families")
        assert len(shown.rest.releases) == 1
        second = release_policy(path, tmp_path / "families", only="families")
        first = release_policy(path, tmp_path / "ages", only="ages")
        again = release_policy(path, tmp_path / "again", only="families")
        other = write_policy(tmp_path, ('"mean(age, resolution = 1)"', '"mean(age * 2)"'), name="other.toml")
        with pytest.raises(QuestionNotDeclared, match="this is none of them"):
            release_policy(str(other), tmp_path / "other")
    assert [made.release.questions for made in (second, first, again)] == ["declared"] * 3
    assert [made.release.position for made in (second, first, again)] == [1, 2, 1]
    assert second.release.joint == first.release.joint == again.release.joint
    history = history_of(read_policy(path).only("ages"))
    assert history.declaration is not None
    assert history.declaration.number < history.entries[0].number
    for made in (second, first, again):
        verdict = verify_bundle(made.folder)
        assert verdict.holds, str(verdict)
        assert made.document["questions"] == "declared"
        assert made.document["question"] == made.folder.name.replace("again", "families")


def test_a_later_question_goes_on_only_where_the_policy_says_so(tmp_path: Path, adult: pa.Table) -> None:
    write_tables(tmp_path, adult)
    age = ('age = "mean(age, resolution = 1)"\n', "")
    never = ("never_married = \"count(marital_status = 'Never-married')\"\n", "")
    with only("expected_value_gaussian"):
        release_policy(str(write_policy(tmp_path, never)), tmp_path / "one")
        with pytest.raises(QuestionNotDeclared, match="adaptive"):
            release_policy(str(write_policy(tmp_path, age)), tmp_path / "two")
        assumed = ("delta = 0.02\n", 'delta = 0.02\nadaptive = "assumed"\n')
        made = release_policy(str(write_policy(tmp_path, age, assumed)), tmp_path / "two")
    assert made.document["questions"] == "assumed"
    assert verify_bundle(made.folder).holds


def test_immune_noise_is_planned_where_the_policy_asks_for_it(tmp_path: Path, adult: pa.Table) -> None:
    write_tables(tmp_path, adult)
    immune = ("delta = 0.02\n", 'delta = 0.02\nadaptive = "immune"\n')
    age = ('age = "mean(age, resolution = 1)"\n', "")
    never = ("never_married = \"count(marital_status = 'Never-married')\"\n", "")
    with only("certified_gaussian", "group_privacy_laplace"):
        made = [
            release_policy(str(write_policy(tmp_path, immune, left_out)), tmp_path / str(number))
            for number, left_out in enumerate((age, never))
        ]
    assert [one.document["questions"] for one in made] == ["immune", "immune"]
    assert [one.document["mechanism"] for one in made] == ["group_privacy_laplace"] * 2
    for one in made:
        verdict = verify_bundle(one.folder)
        assert verdict.holds, str(verdict)
