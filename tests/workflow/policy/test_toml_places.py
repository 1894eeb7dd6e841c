import tomllib
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.workflow.wrong_policies import RIGHT, WRONG

from distpriv.workflow.policy.toml_places import places, shown
from distpriv.workflow.policy.toml_writing import toml_key, toml_string

CASES = {
    "plain": ("\n\na = 1\n", ("a",), 3),
    "table": ("[a]\nb = 1", ("a", "b"), 2),
    "header": ("x = 1\n[a]\nb = 1", ("a",), 2),
    "dotted header": ("[a.b]\nc = 1", ("a", "b", "c"), 2),
    "header behind its child": ("[a.b]\nc = 1\n\n[a]\nd = 1", ("a",), 4),
    "dotted key": ("[a]\nb . c = 1", ("a", "b", "c"), 2),
    "quoted key": ("[a]\n\"b.c\" = 1\n'd e' = 2", ("a", "d e"), 3),
    "escaped key": ('"\\u00e9\\t" = 1', ("é\t",), 1),
    "second table of an array": ("[[a]]\nb = 1\n[[a]]\nb = 2", ("a", 1, "b"), 4),
    "table in an array": ("[[a]]\n[a.b]\nc = 1\n[[a]]\n[a.b]\nc = 2", ("a", 1, "b", "c"), 6),
    "array in an array": ("[[a]]\n[[a.b]]\n[[a.b]]\nc = 2", ("a", 0, "b", 1, "c"), 4),
    "inline table": ("a = {b = 1, c = {d = 2}}", ("a", "c", "d"), 1),
    "array of inline tables": ("a = [\n  {b = 1},\n  # b = 2\n  {b = 3},\n]", ("a", 1, "b"), 4),
    "element": ("a = [ # one\n 1,\n 2 # two\n , 3 ]", ("a", 2), 4),
    "behind a multi-line string": ('a = """\nb = 1\n"""\nb = 2', ("b",), 4),
    "behind quotes at the end of a string": ('a = """x"""""\nb = 2', ("b",), 2),
    "behind an escaped quote": ('a = "\\"\\\\"\nb = 2', ("b",), 2),
    "behind a literal string": ("a = 'c:\\'\nb = '''\n#'''\nc = 2", ("c",), 4),
    "behind a date": ("a = 1979-05-27 07:32:00 # [b]\nb = [[], {}]", ("b", 1), 2),
    "tabs": ("\t[a]\t# x\n\tb\t=\t1", ("a", "b"), 2),
}


@pytest.mark.parametrize("name", CASES)
def test_the_line_of_a_key_is_found(name: str) -> None:
    text, path, line = CASES[name]
    assert places(text, tomllib.loads(text)).of[path] == line


keys = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=5)
scalars = st.one_of(st.integers(-9, 9), st.booleans(), keys)
documents = st.dictionaries(
    keys, st.recursive(scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=3))
)


def inline(value: Any, space: str) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{toml_key(k)}{space}={space}{inline(v, space)}" for k, v in value.items()) + "}"
    if isinstance(value, list):
        return f"[ # [x]\n{space}" + f"{space},\n".join(inline(v, space) for v in value) + "]"
    return toml_string(value) if isinstance(value, str) else str(value).lower()


@settings(max_examples=50)
@given(documents, st.sampled_from(["", " ", "\t"]))
def test_every_value_of_any_document_has_its_place(document: dict[str, Any], space: str) -> None:
    text = "".join(f"# {toml_key(k)} = 1\n{toml_key(k)}={inline(v, space)}\n" for k, v in document.items())
    assert tomllib.loads(text) == document
    found = places(text, document)
    assert set(document) == {path[0] for path in found.of}
    for path, line in found.of.items():
        if len(path) == 1:
            assert text.split("\n")[line - 1].startswith(toml_key(str(path[0])) + "=")


def is_toml(text: str) -> bool:
    try:
        return bool(tomllib.loads(text))
    except (tomllib.TOMLDecodeError, RecursionError):
        return False


@pytest.mark.parametrize("text", [text for text in (RIGHT, *WRONG.values()) if is_toml(text)])
def test_every_policy_that_is_toml_has_its_places(text: str) -> None:
    assert places(text, tomllib.loads(text)).of


def test_where_text_and_document_differ_there_are_no_places() -> None:
    assert not places("a = 1\nb = 2", {"a": 1}).of
    assert not places("a = 1", {"a": 1, "b": 2}).of
    assert not places("a = ", {"a": 1}).of
    assert not places("a = [1 2]", {"a": [1, 2]}).of


def test_a_missing_key_is_looked_for_in_its_table() -> None:
    text = "x = 1\n[a]\nb = 1"
    found = places(text, tomllib.loads(text))
    assert found.line(("a", "c", 0)) == 2
    assert found.line(("d", "e")) is None


def test_a_path_is_shown_as_it_is_written() -> None:
    assert shown(("a", 0, "b c", "d")) == 'a[1]."b c".d'
