"""Fields of the values in a report: converted once, refused with a sentence."""

from collections.abc import Callable
from typing import Any

from attrs import NOTHING, field

from distpriv.errors import InvalidInput
from distpriv.framework.domains import items, real
from distpriv.report.text import shown, shown_or_empty

__all__ = ["number_field", "of_type", "optional_text_field", "several_field", "text_field"]


def text_field(name: str, *, default: Any = NOTHING) -> Any:
    """Return a field that holds text with something to see."""
    return field(default=default, converter=lambda text: shown(name, text))


def optional_text_field(name: str) -> Any:
    """Return a field that holds text or nothing."""
    return field(default="", converter=lambda text: shown_or_empty(name, text))


def number_field(name: str) -> Any:
    """Return a field that holds a finite number."""
    cure = "leave out what cannot be drawn"
    return field(converter=lambda value: real(name, value, InvalidInput, cure=cure))


def several_field(name: str, each: Callable[[Any], Any], *, default: Any = NOTHING) -> Any:
    """Return a field that holds a list, converted one by one; without a default it is never empty."""

    def converted(values: object) -> tuple[Any, ...]:
        found = items(values)
        if not found and (default is NOTHING or values != default):
            raise InvalidInput(f"{name} must be a list with something in it, got {values!r}.")
        return tuple(each(value) for value in found)

    return field(default=default, converter=converted)


def of_type(name: str, *types: type) -> Callable[[Any], Any]:
    """Return a function that lets values of some types through and refuses all others."""

    def checked(value: object) -> object:
        if not isinstance(value, types):
            known = ", ".join(sorted(kind.__name__ for kind in types))
            raise InvalidInput(f"{name} may hold {known}, got {value!r}.")
        return value

    return checked
