"""Wrong policies are refused by class, line and key; what is said of each is in refusals.txt alone."""

import tomllib
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.policy.right import RIGHT, WRONG, policy_from
from tests.workflow.shared import is_one_sentence

from distpriv.errors import InvalidPolicy
from distpriv.policy import policy_of, read_policy
from distpriv.policy.toml_text import LARGEST_FILE, TomlText

HERE = Path(__file__).parent
SAID = dict(line.split(": ", 1) for line in (HERE / "refusals.txt").read_text(encoding="utf-8").splitlines())


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, adult: pa.Table) -> Path:
    """A folder with the Adult data in it."""
    made = tmp_path_factory.mktemp("policies")
    pq.write_table(adult, made / "adult.parquet")
    (made / "nulls.csv").write_text("age,marital_status,income\n30,Divorced,>50K\n,Divorced,<=50K\n", encoding="utf-8")
    return made


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_policy_is_refused_by_line_and_key(folder: Path, name: str) -> None:
    text, place, modelled = WRONG[name]
    (folder / "policy.toml").write_text(text, encoding="utf-8")
    with pytest.raises(InvalidPolicy) as refused:
        read_policy(folder / "policy.toml").model() if modelled else read_policy(folder / "policy.toml")
    message = str(refused.value).removeprefix(str(folder / "policy.toml")).replace(str(folder), "FOLDER")
    assert message.startswith(f", {place}: ")
    assert message.removeprefix(f", {place}: ") == SAID[name]
    assert is_one_sentence(message)


KEYS = [(number, line.split(" = ")[0]) for number, line in enumerate(RIGHT.split("\n"), 1) if " = " in line]
OURS = [(number, key) for number, key in KEYS if key not in ("age", "never_married")]


@pytest.mark.parametrize(("number", "key"), OURS)
def test_any_misspelt_key_and_any_value_of_a_wrong_type_is_named_with_its_line(number: int, key: str) -> None:
    rows = RIGHT.split("\n")
    old = rows[number - 1]
    misspelt = [(wrong, old.replace(key, wrong, 1)) for wrong in (key[:-1], key + "s", key.upper() + "X")]
    for named, line in [*misspelt, *((key, f"{key} = {value}") for value in ("[[]]", "{}", "2026-01-01", "true"))]:
        text = "\n".join([*rows[: number - 1], line, *rows[number:]])
        with pytest.raises(InvalidPolicy, match=rf"^policy.toml, line {number}, [a-z.]+{named}[^:]*: "):
            policy_from(text)


def refusal_of(read: Callable[..., object], *given_: object) -> str | None:
    """Return what is said of a policy that is refused; any other error is one of the library."""
    try:
        read(*given_)
    except InvalidPolicy as refused:
        return str(refused)
    return None


@given(st.data())
def test_a_policy_with_any_mistake_is_read_or_refused_in_one_sentence(data: st.DataObject) -> None:
    text = RIGHT
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(text) - 1))
        gone = data.draw(st.sampled_from([0, 1, 1, 5, 40]))
        text = text[:at] + data.draw(st.text(st.sampled_from("[]{}=\"'#.,\n a1é-"), max_size=3)) + text[at + gone :]
    message = refusal_of(policy_from, text)
    assert message is None or (message.startswith("policy.toml") and "\n" not in message)


odd = st.recursive(
    st.sampled_from([True, -1, 0, 10**400, 1e308, float("nan"), float("inf"), "", "\0", "\ud800", "a", "\n", None]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["a", "share", "by", "<x>"]), inner),
)


@given(st.sampled_from(OURS), odd)
def test_any_value_of_any_key_is_read_or_refused(where: tuple[int, str], value: object) -> None:
    """Policies in bundles are JSON, where values are of more kinds than TOML has."""
    document = tomllib.loads(RIGHT)
    table = next(t for t in ("data", "release", "privacy", "ledger", "protect") if _has(document[t], where[1]))
    inner = document[table][0] if table == "protect" else document[table]
    inner[where[1]] = value
    file = TomlText(name="policy.json", text="", document=document)
    assert (refusal_of(policy_of, file, Path("/policies")) or "policy.json").startswith("policy.json")


def _has(table: object, key: str) -> bool:
    return key in (table[0] if isinstance(table, list) else table)  # type: ignore[operator]


@pytest.mark.parametrize("content", [b"a = " + b"[" * 100_000, b"#" * (LARGEST_FILE + 1), b"a." * 50_000 + b"b = 1"])
def test_what_would_take_a_reader_long_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "policy.toml").write_bytes(content)
    with pytest.raises(InvalidPolicy):
        read_policy(tmp_path / "policy.toml")


def test_a_bundle_is_no_policy_and_says_where_one_is(tmp_path: Path) -> None:
    (tmp_path / "release.json").write_text("{}", encoding="utf-8")
    for path in (tmp_path, tmp_path / "release.json"):
        with pytest.raises(InvalidPolicy, match=r"is a bundle, not a policy: .* policy\.toml"):
            read_policy(path)
