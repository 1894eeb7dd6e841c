import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.workflow.shared import policy_from
from tests.workflow.wrong_policies import RIGHT, changed

from distpriv.errors import InvalidPolicy
from distpriv.workflow.policy.bundled import policy_in_toml
from distpriv.workflow.policy.toml_text import PolicyText
from distpriv.workflow.policy.toml_writing import toml_string
from distpriv.workflow.policy.withheld import WITHHELD, policy_without_private

PRIVATE = "/srv/ward 7/secret.parquet"

WAYS = {
    "basic string": f'private = "{PRIVATE}"',
    "literal string": f"private = '{PRIVATE}'",
    "multi-line string": f'private = """\\\n   {PRIVATE}"""',
    "multi-line literal": f"private = '''\n{PRIVATE}'''",
    "quoted key": f'"private" = "{PRIVATE}"',
    "comment behind": f'private = "{PRIVATE}" # was {PRIVATE}.old',
    "comment before": f'  # private = "{PRIVATE}.old"\nprivate="{PRIVATE}"',
    "tabs": f'\tprivate\t=\t"{PRIVATE}"\t# {PRIVATE}',
}


def public_text(text: str) -> str:
    return policy_without_private(PolicyText.parse(text, name="the policy").document)


def shown_and_meant(text: str) -> tuple[str, dict[str, object]]:
    public = public_text(text)
    return public, tomllib.loads(public)


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_the_private_source_is_gone_however_it_was_written(way: str) -> None:
    public, document = shown_and_meant(changed(('private = "hospital.parquet"', way)))
    assert "secret" not in public
    assert "ward" not in public
    assert document == shown_and_meant(RIGHT)[1]


@pytest.mark.parametrize(
    "data",
    [
        f"data = {{reference = 'adult.parquet', private = '{PRIVATE}', id = 'x'}}",
        f"data.reference = 'adult.parquet' # {PRIVATE}\ndata.private = '{PRIVATE}'\ndata.id = 'x'",
        f"data = {{private = '{PRIVATE}', id = 'x', reference = 'adult.parquet'}} # of {PRIVATE}",
    ],
)
def test_the_private_source_is_gone_from_inline_tables_and_dotted_keys(data: str) -> None:
    public, document = shown_and_meant(data + "\n" + RIGHT[RIGHT.index("[release]") :])
    assert "secret" not in public
    assert document["data"] == {"reference": "adult.parquet", "private": WITHHELD, "id": "x"}


def test_the_address_of_the_ledger_is_gone_with_its_password() -> None:
    public, _ = shown_and_meant(changed(("sqlite:///ledger.db", "postgresql://anna:geheim@host/db")))
    assert "geheim" not in public


def test_everything_else_means_what_it_did() -> None:
    public, document = shown_and_meant(RIGHT)
    expected = tomllib.loads(RIGHT)
    expected["data"]["private"] = WITHHELD
    expected["ledger"]["url"] = WITHHELD
    assert document == expected
    assert public_text(public) == public


def test_a_hash_inside_text_is_no_comment() -> None:
    text = changed(("income = '>50K'", "income = '#1'"))
    assert "income = '#1'" in public_text(text)


def test_a_policy_of_a_bundle_can_be_planned_again_and_not_released() -> None:
    public = policy_from(public_text(RIGHT))
    original = policy_from(RIGHT)
    assert public.to_dict() == original.to_dict()
    with pytest.raises(InvalidPolicy, match=r"data.private: this is missing or withheld"):
        public.private_source()
    with pytest.raises(InvalidPolicy, match=r"ledger.url: this is withheld"):
        public.ledger_url()


@given(st.text(st.characters(exclude_categories=["Cs"])), st.text(st.characters(exclude_categories=["C"])))
def test_any_private_source_and_any_comment_are_withheld(private: str, comment: str) -> None:
    text = changed(('"hospital.parquet"', f"{toml_string(private)} # {comment}"))
    assert public_text(text) == public_text(RIGHT)


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_line_ends_and_marks_make_no_difference(end: str) -> None:
    assert public_text("\ufeff" + RIGHT.replace("\n", end)) == public_text(RIGHT)


def test_what_is_no_toml_is_refused() -> None:
    with pytest.raises(InvalidPolicy, match="the policy, line 1: this is no TOML"):
        public_text("private")


@pytest.mark.parametrize(
    "edit",
    [
        ("records = 100", "records  =  100"),
        ("records = 100", "records = 100 # of the ward"),
        ("records = 100", "records = 100 #"),
        ("[release]", "#[release]\n[release]"),
        ("income = '>50K'", "income = '\\u0023'\" #\""),
        ('private = "(withheld)"', 'private = "ward.parquet"'),
        ('url = "(withheld)"', 'url = "sqlite:///ward.db"'),
    ],
)
def test_a_policy_in_a_bundle_is_as_a_release_writes_it(edit: tuple[str, str]) -> None:
    public = public_text(RIGHT)
    assert policy_in_toml(public) == policy_from(RIGHT).to_dict()
    with pytest.raises(InvalidPolicy):
        policy_in_toml(changed(edit, text=public))


@given(st.text(st.characters(exclude_categories=["C"])))
def test_no_comment_in_a_bundle_goes_unnoticed(comment: str) -> None:
    public = public_text(changed(("income = '>50K'", "income = '#1'")))
    assert policy_in_toml(public)
    with pytest.raises(InvalidPolicy):
        policy_in_toml(changed(("records = 100", f"records = 100 #{comment}"), text=public))
