import json
from typing import Any

import pytest

from distpriv.errors import InvalidInput
from distpriv.workflow.release_schema import (
    AT_LEAST_0,
    COUNT,
    DIGEST,
    RELEASE,
    SHARED,
    TEXT,
    ends,
    maybe,
    shared,
    some,
    table,
)
from distpriv.workflow.strict_json import conforming, strict_json


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (b'{"a": 1, "b": {"c": 1, "c": 1}}', "key 'c' twice"),
        (b'{"a": NaN}', "not finite"),
        (b'{"a": -Infinity}', "not finite"),
        (b'{"a": 1e999}', "not finite"),
        (b'{"a": 9223372036854775808}', "too large"),
        (b'{"a": ' + b"9" * 10_000 + b"}", "too large"),
        (b'{"a": "\\ud800"}', "character that is none"),
        (b'{"a": "\\u0000"}', "character that is none"),
        (b'{"a": "\\u001b[2J"}', "character that is none"),
        (b'{"\\u0007": 1}', "character that is none"),
        (b"[" * 40 + b"]" * 40, "levels deep"),
        (b"[" * 100_000, "no JSON"),
        (b'{"a": 1,}', "no JSON"),
        (b"{'a': 1}", "no JSON"),
        (b'{"a": "\xff"}', "no JSON"),
        (b'\xef\xbb\xbf{"a": 1}', "no JSON"),
        (b'{"a": 1} {}', "no JSON"),
        (b"", "no JSON"),
    ],
)
def test_a_text_that_may_mean_several_things_is_refused(text: bytes, said: str) -> None:
    with pytest.raises(InvalidInput, match=said) as refused:
        strict_json(text, "some.json")
    assert "\n" not in str(refused.value)


def test_what_is_ordinary_is_read_as_it_is() -> None:
    ordinary = {"a": [1, -2.5, 1e-300, True, None], "ünïcode": "δ ≤ 1\n\tnext"}
    assert strict_json(json.dumps(ordinary).encode(), "some.json") == ordinary


@pytest.mark.parametrize(
    ("value", "schema", "said"),
    [
        ({"a": 1.0}, table(a=COUNT), "a must be a whole number, got 1.0"),
        ({"a": -1}, table(a=COUNT), "a must be from 0 to inf, got -1"),
        ({"a": True}, table(a=AT_LEAST_0), "a must be a number, got True"),
        ({"a": "1"}, table(a=AT_LEAST_0), "a must be a number, got '1'"),
        ({}, table(a=TEXT), "a is missing"),
        ({"a": [1]}, table(a=ends(COUNT)), "a must have 2 elements, got 1"),
        ({"a": [1, "x"]}, table(a=some(COUNT)), "a.1 must be a whole number, got 'x'"),
        ({"a": "x"}, table(a=maybe(COUNT)), "a must be a whole number, got 'x'"),
        ({"a": "A" * 64}, table(a=DIGEST), f"a is not written as such a text is, got '{'A' * 59}"),
        ({"a": "a" * 64 + "\n"}, table(a=DIGEST), f"a is not written as such a text is, got '{'a' * 59}"),
        ({"law": "none", "dimension": 1, "b": 2}, shared("noise"), "there is no key 'b' in it"),
        ({"law": "cauchy"}, shared("noise"), "law must be 'gaussian', got 'cauchy'"),
    ],
)
def test_what_differs_from_its_schema_is_said_by_its_place(value: Any, schema: dict[str, Any], said: str) -> None:
    assert conforming(value, schema, SHARED) == said


def test_what_is_no_release_at_all_differs_from_one() -> None:
    others: list[Any] = [None, [], "text", 1, {}]
    for value in others:
        assert conforming(value, RELEASE, SHARED) is not None
