"""What an experiment found, as frozen values that JSON can hold: the same run gives the same bytes."""

import math
import platform
from collections.abc import Iterable, Mapping
from typing import Any, Self

import numpy as np
import scipy
from attrs import asdict, field, frozen

from distpriv._version import __version__
from distpriv.experiments.setting import Setting

__all__ = [
    "AttackPoint",
    "Claim",
    "Comparison",
    "ErrorPoint",
    "Listed",
    "Result",
    "Sampled",
    "compared",
    "result",
    "versions",
]

DIGITS = 9
"""Digits kept: engines may add up rows in any order, and what that changes is far behind these."""
FAR = 3.0
"""Standard errors beyond which two numbers disagree."""


def kept(value: float) -> float:
    """Return a number to so many digits that every run agrees on them.

    >>> kept(1 / 3)
    0.333333333
    """
    return float(f"{float(value):.{DIGITS}g}")


def _kept(value: float | None) -> float | None:
    return None if value is None else kept(value)


@frozen(kw_only=True)
class Comparison:
    """A published number beside ours."""

    label: str
    published: float
    ours: float = field(converter=kept)
    standard_error: float = field(converter=kept)
    """Of the difference, by how repetitions differ."""

    @property
    def z(self) -> float:
        """How many standard errors the published number is above ours."""
        return (self.published - self.ours) / self.standard_error

    @property
    def agrees(self) -> bool:
        """Whether they are within three standard errors."""
        return abs(self.z) <= FAR


def compared(label: str, published: float, ours: float, standard_error: float, setting: Setting) -> Comparison:
    """Compare a published mean of repetitions with ours, given the standard error of one such mean.

    In the exact protocol ours has no error of its own; in the paper's both are means of as many repetitions.
    """
    both = math.sqrt(2) if setting.protocol == "paper" else 1.0
    return Comparison(label=label, published=published, ours=ours, standard_error=both * standard_error)


@frozen(kw_only=True)
class Claim:
    """A sentence of the paper that our numbers bear out or not."""

    text: str
    evidence: str
    holds: bool


@frozen(kw_only=True)
class ErrorPoint:
    """The L2 error of a mechanism at one ε, and the δ that its noise has on the model as it is."""

    secret: str
    gap: float
    mechanism: str
    epsilon: float
    delta: float
    error: float = field(converter=kept)
    standard_error: float = field(converter=kept)
    """Of the mean over the paper's repetitions."""
    actual_delta: float | None = field(default=None, converter=_kept)
    """Covariances as they are: exact for Gaussian noise, an upper bound for Laplace noise."""
    delta_is_exact: bool = True
    holds: bool | None = None
    """Whether the claimed δ holds; nothing where the bounds leave that open."""
    trust: str = ""
    best_attack: float | None = field(default=None, converter=_kept)
    """How often the best attacker is right at most."""


@frozen(kw_only=True)
class AttackPoint:
    """How often attackers are right about a mechanism's releases at one ε and δ."""

    mechanism: str
    epsilon: float
    delta: float
    accuracy: float = field(converter=kept)
    """Of the paper's attacker, trained on statistics without noise."""
    standard_error: float = field(converter=kept)
    best_attack: float | None = field(default=None, converter=_kept)
    """Of the best attacker there is, for Gaussian statistics with a density: (1 + H₀)/2."""
    lattice_attack: float | None = field(default=None, converter=_kept)
    """Of the attacker who reads statistics off their lattice where he can, and is the best one elsewhere."""
    lattice_error: float | None = field(default=None, converter=_kept)
    """The standard error of that."""
    actual_delta: float | None = field(default=None, converter=_kept)
    holds: bool | None = None


def _all_kept(values: Any) -> tuple[float, ...]:
    return tuple(kept(value) for value in values)


@frozen(kw_only=True)
class Sampled:
    """Values of one statistic over sampled datasets, and the normal laws fitted to them and by exact moments."""

    statistic: str
    unit: str
    share: float
    values: tuple[float, ...] = field(converter=_all_kept)
    fitted: tuple[float, ...] = field(converter=_all_kept)
    """Mean and variance of the sample."""
    exact: tuple[float, ...] = field(converter=_all_kept)
    """Mean and variance from exact moments."""


@frozen(kw_only=True)
class Listed:
    """A row of the list of mechanisms."""

    shorthand: str
    function: str
    noise: str
    theorem: str
    needs: str
    in_paper: bool


def versions() -> dict[str, str]:
    """Return what the numbers were computed with."""
    return {
        "distpriv": __version__,
        "numpy": np.__version__,
        "python": platform.python_version(),
        "scipy": scipy.__version__,
    }


_ROWS: Mapping[str, type[Any]] = {
    "comparisons": Comparison,
    "claims": Claim,
    "errors": ErrorPoint,
    "attacks": AttackPoint,
    "samples": Sampled,
    "mechanisms": Listed,
}


@frozen(kw_only=True)
class Result:
    """One table or figure."""

    name: str
    title: str
    setting: Setting
    comparisons: tuple[Comparison, ...] = ()
    claims: tuple[Claim, ...] = ()
    errors: tuple[ErrorPoint, ...] = ()
    attacks: tuple[AttackPoint, ...] = ()
    samples: tuple[Sampled, ...] = ()
    mechanisms: tuple[Listed, ...] = ()
    versions: Mapping[str, str] = field(factory=versions)
    seconds: float | None = field(default=None, eq=False)
    """How long it took."""

    @property
    def agreeing(self) -> int:
        """How many published numbers ours agree with."""
        return sum(comparison.agrees for comparison in self.comparisons)

    def to_dict(self, *, time: bool = True) -> dict[str, Any]:
        """Return everything as JSON can hold it; but for the time it is the same in every run."""
        found = asdict(self, recurse=True)
        for row, comparison in zip(found["comparisons"], self.comparisons, strict=True):
            row |= {"z": kept(comparison.z), "agrees": comparison.agrees}
        del found["setting"]["processes"]  # no number depends on it
        if not time:
            del found["seconds"]
        return found

    @classmethod
    def from_dict(cls, found: Mapping[str, Any]) -> Self:
        """Return the result that was written down."""
        computed = ("z", "agrees")
        rows = {
            name: tuple(kind(**{key: row[key] for key in row if key not in computed}) for row in found[name])
            for name, kind in _ROWS.items()
        }
        return cls(**{**found, **rows, "setting": Setting(**found["setting"])})


def result(name: str, title: str, setting: Setting, **found: Iterable[Any]) -> Result:
    """Return a result of a setting."""
    rows: dict[str, Any] = {key: tuple(several) for key, several in found.items()}
    return Result(name=name, title=title, setting=setting, **rows)
