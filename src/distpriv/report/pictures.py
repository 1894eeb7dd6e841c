"""What a picture has before it is drawn: paper, axes and a legend."""

from __future__ import annotations

from typing import Any, Literal

from attrs import field, frozen

from distpriv.errors import InvalidInput
from distpriv.framework.arrays import Floats, frozen_array
from distpriv.framework.domains import items, real, yes_or_no
from distpriv.report.fields import text_field
from distpriv.report.palette import Look
from distpriv.report.text import shown

__all__ = ["CLAIMS", "NARROW", "SHADE", "WIDE", "Axis", "Key", "Paper", "numbers"]


@frozen
class Paper:
    """The width that a picture is drawn for and the height of its font, in pixels."""

    width: float
    font: float

    @property
    def line(self) -> float:
        """From one line of text to the next."""
        return 1.35 * self.font


WIDE = Paper(720.0, 13.0)
NARROW = Paper(330.0, 12.0)
SHADE = 0.3
CLAIMS = "hollow: does not hold what it claims"


def _unit(unit: str | None) -> str | None:
    return None if unit is None else shown("the unit of an axis", unit)


def _log(value: bool) -> bool:
    return yes_or_no("log", value, InvalidInput)


def _limits(limits: Any) -> tuple[float, float] | None:
    if limits is None:
        return None
    ends = [real("a limit of an axis", end, InvalidInput, cure="give two finite numbers") for end in items(limits)]
    if len(ends) != 2 or ends[0] >= ends[1]:
        raise InvalidInput(f"limits must be two numbers, the smaller one first, got {limits!r}.")
    return ends[0], ends[1]


@frozen
class Axis:
    """What is along an axis; the unit must be said, and is None for a pure number.

    >>> Axis("error", unit="persons").text, Axis("ε", unit=None, log=True).text
    ('error (persons)', 'ε')
    """

    label: str = text_field("the label of an axis")
    unit: str | None = field(kw_only=True, converter=_unit)
    log: bool = field(default=False, kw_only=True, converter=_log)
    limits: tuple[float, float] | None = field(default=None, kw_only=True, converter=_limits)

    def __attrs_post_init__(self) -> None:
        if self.log and self.limits and self.limits[0] <= 0:
            raise InvalidInput(f"limits of a logarithmic axis must be above 0, got {self.limits!r}.")

    @property
    def text(self) -> str:
        """The label with its unit."""
        return self.label if self.unit is None else f"{self.label} ({self.unit})"

    def check(self, name: str, values: Floats) -> None:
        """Refuse numbers that this axis cannot show."""
        if self.log and (values <= 0).any():
            raise InvalidInput(
                f"{name} has {float(values.min())!r} on the logarithmic axis {self.text!r}: "
                "leave out what is not above 0, or use a linear axis."
            )


Part = Literal["line", "marker", "hollow", "fill", "shade", "box"]


@frozen
class Key:
    """One entry of a legend."""

    text: str
    look: Look
    parts: tuple[Part, ...]


def numbers(name: str, values: Any) -> Floats:
    """Return at least one finite number, all in one row.

    >>> numbers("x", [1, float("nan")])
    Traceback (most recent call last):
    distpriv.errors.InvalidInput: x must be a list of finite numbers, got [1, nan]: leave out what cannot be drawn.
    """
    try:
        array = frozen_array(values)
    except (TypeError, ValueError):
        array = frozen_array([float("nan")])
    finite = bool((abs(array) < float("inf")).all())
    if array.ndim != 1 or array.size == 0 or not finite:
        raise InvalidInput(f"{name} must be a list of finite numbers, got {values!r}: leave out what cannot be drawn.")
    return array
