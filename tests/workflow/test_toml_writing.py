import tomllib

from hypothesis import given
from hypothesis import strategies as st

from distpriv.workflow.toml_writing import toml_key, toml_string

texts = st.text(st.characters(exclude_categories=["Cs"]))


@given(texts, texts)
def test_any_key_and_any_text_are_read_as_they_were_written(key: str, text: str) -> None:
    line = f"{toml_key(key)} = {toml_string(text)}"
    assert "\n" not in line
    assert tomllib.loads(line) == {key: text}
