from doctest import DocTestParser

import pytest
from scripts.error_catalogue import PAGE, catalogue_entry, page, run

from distpriv import errors


@pytest.mark.slow
def test_the_page_is_what_the_code_says() -> None:
    """Run scripts/error_catalogue.py to write it anew; no class can be without an example there that raises it."""
    made = page()
    assert PAGE.read_text(encoding="utf-8") == made
    rows = {row.split("`")[1]: row for row in made.splitlines() if row.startswith("| DP")}
    assert sorted(rows) == sorted(errors.__all__)
    assert all(row.count(" | ") == 4 and not row.endswith("|  |") for row in rows.values())


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


def test_an_example_ends_where_it_raises() -> None:
    parsed = DocTestParser().get_examples
    assert run(parsed(">>> for k in range(2):\n...     print(k)\n>>> int('x')\n")) is ValueError
    with pytest.raises(ValueError, match="goes on after it has raised ValueError"):
        run(parsed(">>> int('x')\n>>> 1 + 1\n"))
