import re
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from tests.policy.right import policy_from, with_protect

import distpriv as dp
from distpriv.framework.notation import parse_statistic
from distpriv.policy import read_policy
from distpriv.policy.schema import TABLES

PAGE = (Path(__file__).parents[2] / "docs" / "reference" / "policy.md").read_text(encoding="utf-8")
EXAMPLE, BLOCKS, PROPERTIES, SCENARIOS = re.findall(r"```toml\n(.*?)```", PAGE, flags=re.DOTALL)


def test_the_example_of_the_page_is_read_and_modelled(tmp_path: Path, adult: pa.Table) -> None:
    pq.write_table(adult, tmp_path / "adult.parquet")
    (tmp_path / "policy.toml").write_text(EXAMPLE, encoding="utf-8")
    model = read_policy(tmp_path / "policy.toml").model()
    assert model.names == ("age", "never_married")
    assert len(model.protected_pairs) == 2 + 2 * (20 + 19)  # neighbours one and two records apart, of 21 shares


def test_the_release_blocks_of_the_page_are_read(tmp_path: Path) -> None:
    before, _, after = EXAMPLE.partition("[release]\n")
    text = before + BLOCKS.partition("\n")[2] + "\n[[protect]]" + after.partition("\n[[protect]]")[2]
    (tmp_path / "policy.toml").write_text(text.replace("weights = {age = 4}\n", ""), encoding="utf-8")
    names = {block: read_policy(tmp_path / "policy.toml").only(block).query().names for block in ("persons", "work")}
    assert names == {"persons": ("age",), "work": ("hours",)}


def test_the_scenarios_of_the_page_are_read() -> None:
    text = with_protect(SCENARIOS.partition("[[protect]]\n")[2])
    (secret,) = policy_from(text).secrets()
    assert isinstance(secret, dp.Scenarios)
    assert secret.pairs == (("boom", "bust"), ("bust", "boom"))


def test_the_other_secrets_of_the_page_are_read() -> None:
    text = with_protect(PROPERTIES.partition("[[protect]]\n")[2])
    assert [secret.in_words for secret in policy_from(text).secrets()] == [
        "What mean(hours_per_week) is among the records: whether it is 38 or 42.",
        "What quantile(hours_per_week, 0.5) is among the records: between 38 and 42 in steps of 1, which of two values "
        "that are at most 2 apart.",
        "What correlation(age, education_num) is among the records: whether it is 0 or 0.1.",
    ]


def test_every_key_is_on_the_page_in_its_table() -> None:
    for name, models in TABLES.items():
        heading = f"### `[[{name}]]`" if name == "protect" else f"### `[{name}]`"
        section = PAGE.split(heading)[1].split("\n#")[0]
        listed = [key for row in re.findall(r"^\| (`[^|]*) \|", section, flags=re.MULTILINE) for key in row.split(", ")]
        assert {f"`{key}`" for model in models for key in model.model_fields} <= set(listed), name


def test_every_statistic_of_the_page_is_one() -> None:
    shown = re.findall(r"^\| `((?:mean|total|count|proportion|variance|quantile)\(.*?\))` \|", PAGE, flags=re.MULTILINE)
    assert len(shown) == 6
    assert [parse_statistic(text).text for text in shown] == shown
