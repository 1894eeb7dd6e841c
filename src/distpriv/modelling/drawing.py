"""How datasets are drawn from reference rows: the options of `distpriv.model`, and of ``[model]`` in a policy."""

from typing import TYPE_CHECKING, Any, Literal, Self, get_args

from attrs import asdict, evolve, field, frozen

from distpriv.errors import InvalidInput, InvalidModel, about
from distpriv.framework.domains import one_of, real, whole, yes_or_no

if TYPE_CHECKING:
    from distpriv.framework.scenarios import ProtectedScenarios

__all__ = ["IF_GIVEN", "LAW", "Drawing", "Method", "Missing", "Reference", "checked_draws", "checked_seed"]

Method = Literal["auto", "exact", "sampling"]
"""Exact moments, sampled datasets, or exact moments where every statistic allows it."""

Missing = Literal["refuse", "drop"]
"""What to do about rows of the reference with a null or NaN: refuse those in used columns, or drop those in any column.

Which rows are dropped does not depend on what is asked. The private table keeps all its rows.
"""

Reference = Literal["sample", "population"]
"""What the reference is: a random sample of an endless population that records come from, or all of that population.

Records from the population behind a sample are independent, however few rows the sample has. Its moments are off by
what its number of rows allows for, and noise is made for that; a population is exactly as it is.
"""

LAW = ("replacement", "missing", "reference", "weight", "robust")
"""The options that the law of datasets depends on; the others say how it is found."""

IF_GIVEN = ("weight", "robust")
"""The options that are written down only where there are any."""


def checked_draws(value: object, at_least: int = 2) -> int:
    """Return a number of datasets to draw, or say why it is none."""
    return whole("draws", value, InvalidModel, at_least=at_least, cure="1000 is little and 100000 is much")


def checked_seed(value: object) -> int:
    """Return a seed, or say why it is none."""
    return whole("seed", value, InvalidModel, at_least=0, cure="any whole number will do")


def _weight(value: object) -> str | None:
    if value is not None and (not isinstance(value, str) or not value.strip()):
        raise InvalidModel(
            f"weight must be the name of a column, or a number as SQL text, got {value!r}: write weight='fnlwgt'.",
            about=("option", "weight"),
        )
    return None if value is None else value.strip()


def _robust(value: object) -> float | None:
    cure = "it is the relative entropy of a record to one of the reference, such as 1e-7"
    with about("option", "robust"):
        return None if value is None else real("robust", value, InvalidModel, above=0, cure=cure)


@frozen(kw_only=True)
class Drawing:
    """How datasets are drawn from the reference, and their laws found; each option is described at `distpriv.model`."""

    method: Method = "auto"
    missing: Missing = "refuse"
    reference: Reference = "sample"
    replacement: bool = field()
    """Whether records are independent draws, as those of an endless population are; else all are different rows."""
    draws: int = field(default=5000, converter=checked_draws)
    seed: int = field(default=0, converter=checked_seed)
    weight: str | None = field(default=None, converter=_weight)
    robust: float | None = field(default=None, converter=_robust)
    """How far the law of a record may be from the one modelled, as a relative entropy; None if it is that one."""

    @replacement.default
    def _independent(self) -> bool:
        return self.reference == "sample"

    def __attrs_post_init__(self) -> None:
        one_of("method", self.method, get_args(Method), InvalidModel)
        yes_or_no("replacement", self.replacement, InvalidModel)
        one_of("missing", self.missing, get_args(Missing), InvalidInput)
        one_of("reference", self.reference, get_args(Reference), InvalidModel)
        if self.reference == "sample" and not self.replacement:
            raise InvalidModel(
                "records of the endless population behind a sample are independent of each other, and "
                "replacement=False was asked for: leave it out, or say reference='population'.",
                about=("option", "replacement"),
            )

    @property
    def law(self) -> dict[str, Any]:
        """The options that the law of datasets depends on, by name: what releases of one dataset must agree in."""
        return {name: value for name, value in self.written.items() if name in LAW}

    @property
    def written(self) -> dict[str, Any]:
        """All options by name; a weight and a ball around the reference only where there is one."""
        return {name: value for name, value in asdict(self).items() if name not in IF_GIVEN or value is not None}

    def for_scenarios(self, protected: "ProtectedScenarios", *, asked: bool = False) -> Self:
        """Return how datasets of these scenarios are drawn: weighted rows independently, and then all of them.

        So are those of a ball around a population, as only what is independent is as far off as its parts together.
        `asked` is whether somebody asked for records that are, or are not, independent.
        """
        if not self.weighs(protected) and self.robust is None:
            return self
        if asked and not self.replacement:
            what = "a weight" if self.weight is not None else "a mean, a quantile, a correlation or a shift"
            what = what if self.weighs(protected) else "a ball around the reference (robust)"
            raise InvalidModel(
                f"with {what}, records are drawn independently of each other, so that a row may be drawn twice, and "
                "replacement=False was asked for: leave it out, or say replacement=True.",
                about=("option", "replacement"),
            )
        return evolve(self, replacement=True)

    def weighs(self, protected: "ProtectedScenarios") -> bool:
        """Tell whether rows of these scenarios have weights: a column's, or those that give a property its value."""
        return self.weight is not None or any(s.tilt is not None for s in protected.scenarios.values())
