"""A policy in a bundle: nothing of where private things are, no comment, and read again as it was meant."""

import tomllib

import pytest
import tomlkit
from hypothesis import given
from hypothesis import strategies as st
from tests.policy.right import RIGHT, changed, policy_from

from distpriv.errors import InvalidPolicy
from distpriv.policy.load import policy_in_release, policy_in_toml
from distpriv.policy.sources import WITHHELD

PRIVATE = "/srv/ward 7/secret.parquet"
OTHER_TABLES = RIGHT[RIGHT.index("[release]") :]

WAYS = {
    "literal string": f"private = '{PRIVATE}'",
    "multi-line string": f'private = """\\\n   {PRIVATE}"""',
    "quoted key": f'"private" = "{PRIVATE}"',
    "comment behind": f'private = "{PRIVATE}" # was {PRIVATE}.old',
    "comment before": f'  # private = "{PRIVATE}.old"\nprivate="{PRIVATE}"',
    "tabs": f'\tprivate\t=\t"{PRIVATE}"\t# {PRIVATE}',
}


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_the_private_source_is_gone_however_it_was_written(way: str) -> None:
    text = changed(('private = "hospital.parquet"', way))
    assert policy_from(text).public_text() == policy_from(RIGHT).public_text()


@pytest.mark.parametrize(
    "data",
    [
        f"data = {{reference = 'adult.parquet', private = '{PRIVATE}', id = 'x'}} # of {PRIVATE}",
        f"data.reference = 'adult.parquet' # {PRIVATE}\ndata.private = '{PRIVATE}'\ndata.id = 'x'",
    ],
)
def test_the_private_source_is_gone_from_inline_tables_and_dotted_keys(data: str) -> None:
    public = policy_from(data + "\n" + OTHER_TABLES).public_text()
    assert "secret" not in public
    assert tomllib.loads(public)["data"] == {"reference": "adult.parquet", "private": WITHHELD, "id": "x"}


@given(st.text(st.characters(exclude_categories=["C"]), min_size=1), st.text(st.characters(exclude_categories=["C"])))
def test_any_private_file_and_any_comment_are_withheld(private: str, comment: str) -> None:
    line = f'"hospital-2026" # {comment}\nprivate = {tomlkit.item("./" + private.replace(":", "")).as_string()}'
    text = changed(('private = "hospital.parquet"\n', ""), ('"hospital-2026"', line))
    assert policy_from(text).public_text() == policy_from(RIGHT).public_text()


def test_everything_else_means_what_it_did_and_nothing_tells_where_private_things_are() -> None:
    policy = policy_from(changed(("sqlite:///ledger.db", "postgresql://anna:geheim@host/db")))
    public = tomllib.loads(policy.public_text())
    expected = tomllib.loads(RIGHT)
    expected["data"]["private"] = expected["ledger"]["url"] = WITHHELD
    assert public == expected
    for said in (policy.public_text(), str(policy.to_dict()), repr(policy)):
        assert not [secret for secret in ("hospital.parquet", "geheim", "postgresql") if secret in said]


@pytest.mark.parametrize(
    "ledger", ["ledger = '{}'", "[[ledger]]\nurl = '{}'", "[ledger]\nurl = ['{}']", "[ledger]\nurl = '{}'"]
)
def test_no_refusal_shows_the_password_of_a_ledger(ledger: str) -> None:
    written, rest = ledger.format("postgresql:/anna:geheim@host/db"), RIGHT.partition("[ledger]")[0]
    text = written + "\n" + rest if written[0] != "[" else rest + written
    with pytest.raises(InvalidPolicy, match="ledger") as refused:
        policy_from(text)
    assert "geheim" not in str(refused.value)


def test_a_policy_of_a_bundle_can_be_planned_again_and_not_released() -> None:
    public = policy_from(policy_from(RIGHT).public_text())
    assert public.to_dict() == policy_from(RIGHT).to_dict()
    for refused in (public.private_source, public.ledger_url):
        with pytest.raises(InvalidPolicy, match=r"withheld"):
            refused()


def test_a_policy_is_read_from_a_release_as_it_was_meant_and_its_tables_are_not_opened() -> None:
    text = changed(("assurance =", 'weights = {age = 2}\nobjective = "noise"\nmax_error.age = 2\nassurance ='))
    policy = policy_from(text)
    again = policy_in_release({"policy": policy.to_dict(), "question": None})
    for part in ("protected", "target", "assurance", "weights", "objective", "max_error", "options", "records"):
        assert getattr(again, part) == getattr(policy, part), part
    assert (again.query(), again.ledger.total) == (policy.query(), policy.ledger.total)
    table = {"people": {"count": True, "by": ["sex"]}}
    written = policy.to_dict()
    with pytest.raises(InvalidPolicy, match="lack levels"):
        policy_in_release({"policy": {**written, "release": {"records": 100, "tables": table}}, "question": None})
    del written["privacy"]["audit"]  # a default that a release writes
    with pytest.raises(InvalidPolicy, match="not as a release writes it"):
        policy_in_release({"policy": written, "question": None})


@pytest.mark.parametrize(
    "edit",
    [
        ("records = 100", "records  =  100"),
        ("records = 100", "records = 100 # of the ward"),
        ("records = 100", "records = 100 #"),
        ("[release]", "#[release]\n[release]"),
        ("income = '#1'", "income = '\\u00231'"),
        ('private = "(withheld)"', 'private = "ward.parquet"'),
        ('url = "(withheld)"', 'url = "sqlite:///ward.db"'),
    ],
)
def test_a_policy_in_a_bundle_is_as_a_release_writes_it(edit: tuple[str, str]) -> None:
    policy = policy_from(changed((">50K", "#1")))
    assert policy_in_toml(policy.public_text()) == policy.to_dict()
    with pytest.raises(InvalidPolicy):
        policy_in_toml(changed(edit, text=policy.public_text()))
