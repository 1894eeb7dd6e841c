from doctest import DocTestParser

import pytest
from scripts.error_catalogue import PAGE, catalogue_entry, page, run

from distpriv import errors


@pytest.mark.slow
def test_the_page_is_what_the_code_says() -> None:
    """Run scripts/error_catalogue.py to write it anew; no class can be without an example there that raises it."""
    made = page()
    assert PAGE.read_text(encoding="utf-8") == made
    for name in errors.__all__:
        _, _, section = made.partition(f"\n## {name}\n")
        example, _, cure = section.partition("\n## ")[0].partition("**Cure:** ")
        assert cure, name
        assert name == "DistprivError" or f"\ndistpriv.errors.{name}: " in example, name


class Undocumented(errors.InvalidInput):
    pass


class WithoutCure(errors.InvalidInput):
    """Something.

    >>> raise ValueError("no")
    Traceback (most recent call last):
    ValueError: no
    """


class WithoutExample(errors.InvalidInput):
    """Something.

    Cure: something else.
    """


@pytest.mark.parametrize("error", [Undocumented, WithoutCure, WithoutExample])
def test_a_class_that_does_not_say_everything_is_refused(error: type[errors.DistprivError]) -> None:
    with pytest.raises(ValueError, match=rf"{error.__name__} must say when it is raised, its cure"):
        catalogue_entry(error)


class ShownByItsBase(errors.InvalidTarget):
    """An ε.

    Cure: another one.

    >>> import distpriv as dp
    >>> dp.PrivacyTarget(epsilon=-1)
    Traceback (most recent call last):
    distpriv.errors.InvalidTarget: epsilon must be at least 0, got -1: ...
    """


class ShownByNothing(errors.InvalidTarget):
    """An ε.

    Cure: another one.

    >>> 1 + 1
    2
    """


@pytest.mark.parametrize("error", [ShownByItsBase, ShownByNothing])
def test_an_example_that_raises_another_class_is_refused(error: type[errors.DistprivError]) -> None:
    with pytest.raises(ValueError, match=rf"the example of {error.__name__} raises"):
        catalogue_entry(error)


def test_an_example_is_shown_with_what_came_of_it_and_not_with_what_was_written() -> None:
    text = (
        ">>> for k in range(2):\n...     print(k)\n3\n>>> int('x')\nTraceback (most recent call last):\nKeyError: 'y'\n"
    )
    shown, raised = run(DocTestParser().get_examples(text))
    assert raised is ValueError
    assert shown.splitlines() == [
        ">>> for k in range(2):",
        "...     print(k)",
        "0",
        "1",
        ">>> int('x')",
        "Traceback (most recent call last):",
        "ValueError: invalid literal for int() with base 10: 'x'",
    ]


def test_an_example_ends_where_it_raises() -> None:
    with pytest.raises(ValueError, match="goes on after it has raised KeyError"):
        run(DocTestParser().get_examples(">>> {}[1]\n>>> 2\n"))
