import tomllib
from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st

from distpriv.workflow.policy.toml_writing import toml_document, toml_key, toml_string

texts = st.text(st.characters(exclude_categories=["Cs"]))


@given(texts, texts)
def test_any_key_and_any_text_are_read_as_they_were_written(key: str, text: str) -> None:
    line = f"{toml_key(key)} = {toml_string(text)}"
    assert "\n" not in line
    assert tomllib.loads(line) == {key: text}


values = st.recursive(
    st.booleans() | st.integers(-(2**53), 2**53) | st.floats(allow_nan=False) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(texts, values, max_size=4))
@example({"a": [{"b": {"c": 1}}, {}]})
def test_any_document_is_read_as_it_was_written(document: dict[str, Any]) -> None:
    assert tomllib.loads(toml_document(document)) == document
