import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.workflow.shared import policy_from
from tests.workflow.wrong_policies import RIGHT, changed

from distpriv.errors import InvalidPolicy
from distpriv.workflow.toml_writing import toml_string
from distpriv.workflow.withheld import WITHHELD, policy_without_private

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


def shown_and_meant(text: str) -> tuple[str, dict[str, object]]:
    public = policy_without_private(text)
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


def test_everything_else_stays_as_it_was() -> None:
    public, document = shown_and_meant(RIGHT)
    expected = tomllib.loads(RIGHT)
    expected["data"]["private"] = WITHHELD
    expected["ledger"]["url"] = WITHHELD
    assert document == expected
    kept = [line for line in RIGHT.split("\n") if not line.startswith(("private", "url"))]
    assert [line for line in public.split("\n") if not line.startswith(("private", "url"))] == kept
    assert policy_without_private(public) == public


def test_a_hash_inside_text_is_no_comment() -> None:
    text = changed(("income = '>50K'", "income = '#1'"))
    assert "income = '#1'" in policy_without_private(text)


def test_a_policy_of_a_bundle_can_be_planned_again_and_not_released() -> None:
    public = policy_from(policy_without_private(RIGHT))
    original = policy_from(RIGHT)
    assert public.to_dict() == original.to_dict()
    with pytest.raises(InvalidPolicy, match=r"data.private: this is missing or withheld"):
        public.private_source()
    with pytest.raises(InvalidPolicy, match=r"ledger.url: this is withheld"):
        public.ledger_url()


@given(st.text(st.characters(exclude_categories=["Cs"])), st.text(st.characters(exclude_categories=["C"])))
def test_any_private_source_and_any_comment_are_withheld(private: str, comment: str) -> None:
    text = changed(('"hospital.parquet"', f"{toml_string(private)} # {comment}"))
    assert policy_without_private(text) == policy_without_private(RIGHT)


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_line_ends_and_marks_make_no_difference(end: str) -> None:
    assert policy_without_private("\ufeff" + RIGHT.replace("\n", end)) == policy_without_private(RIGHT)


def test_what_is_no_toml_is_refused() -> None:
    with pytest.raises(InvalidPolicy, match="the policy, line 1: this is no TOML"):
        policy_without_private("private")
