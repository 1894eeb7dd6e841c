import inspect
from typing import Any

import pytest
from attrs import asdict, fields

import distpriv as dp
from distpriv.errors import InvalidInput
from distpriv.modelling.drawing import LAW, Drawing
from distpriv.policy.schema import Model


def test_a_policy_has_a_key_for_every_option_with_the_same_default() -> None:
    assert dict(Model()) == {**asdict(Drawing()), "replacement": None}  # as the rows need it


def test_a_model_takes_every_option_with_the_same_default() -> None:
    arguments = inspect.signature(dp.model).parameters
    defaults = {name: arguments[name].default for name in asdict(Drawing())}
    assert defaults == {**asdict(Drawing()), "replacement": None}


def test_the_law_depends_on_options_that_there_are() -> None:
    assert set(LAW) < {option.name for option in fields(Drawing)}


@pytest.mark.parametrize(
    ("option", "wrong", "message"),
    [
        ("method", "guess", "method must be 'auto' or 'exact' or 'sampling', got 'guess'"),
        ("replacement", "no", "replacement must be True or False, got 'no'"),
        ("missing", "ignore", "missing must be 'refuse' or 'drop', got 'ignore'"),
        ("reference", "all", "reference must be 'sample' or 'population', got 'all'"),
        ("draws", 1, "draws must be a whole number, at least 2, got 1"),
        ("seed", -1, "seed must be a whole number, at least 0, got -1"),
    ],
)
def test_an_option_that_makes_no_sense_is_refused(option: str, wrong: Any, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        Drawing(**{option: wrong})
