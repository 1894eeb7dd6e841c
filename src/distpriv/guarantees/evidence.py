"""Evidence: one thing that a certificate rests on, as a code with typed facts.

`evidence.toml` is the registry of codes: DP1xx are proved, DP2xx were checked on the model, DP3xx have to be assumed.
`evidence_text` makes sentences of them; nothing compares or reads a sentence.
"""

from collections.abc import Callable, Mapping
from typing import Any, Literal, Self

import numpy as np
from attrs import Attribute, field, frozen

from distpriv.errors import InvalidInput
from distpriv.framework.target import PrivacyTarget

__all__ = ["Evidence", "Status", "tail_evidence"]

Status = Literal["proved", "checked", "assumed"]
"""Whether something follows, was found to hold on the model, or has to be believed."""

_STATUS: dict[str, Status] = {"DP1": "proved", "DP2": "checked", "DP3": "assumed"}
"""What the beginning of a code says."""


def _plain(value: Any) -> Any:
    """Return a fact as JSON has it: lists for arrays and tuples, nothing for numbers that are not finite."""
    if isinstance(value, Mapping):
        return {name: _plain(item) for name, item in sorted((str(key), item) for key, item in value.items())}
    if isinstance(value, (list, tuple, np.ndarray)):
        return [_plain(item) for item in value]
    value = value.item() if isinstance(value, np.generic) else value
    return None if isinstance(value, float) and not np.isfinite(value) else value


@frozen(kw_only=True)
class Evidence:
    """One thing a guarantee rests on, and the numbers that speak for or against it.

    >>> from distpriv.guarantees.evidence import Evidence
    >>> lattice = Evidence.of("DP205", deviations=[1.5, 2.0], error=1e-7)
    >>> lattice.code, lattice.status, lattice.facts["error"]
    ('DP205', 'checked', 1e-07)
    >>> print(lattice)
    checked: the noise smooths the lattice of the statistics (standard deviations of at least 1.5, 2; the smoothing
    error of 1.0e-07 is included in δ) [DP205]
    """

    code: str = field()
    """What it is, by its number in the registry."""
    status: Status
    """Whether that is proved, checked on the model, or assumed."""
    facts: Mapping[str, Any] = field(factory=dict, converter=_plain, hash=False)
    """Its numbers and names, as JSON has them."""

    @code.validator
    def _known(self, _: "Attribute[str]", code: str) -> None:
        if self.status != _STATUS.get(code[:3]):
            raise InvalidInput(f"evidence {code!r} cannot be {self.status!r}: a code has one status.")

    @classmethod
    def of(cls, code: str, **facts: Any) -> Self:
        """Return the evidence of a code, whose first digit is its status, with these facts."""
        return cls(code=code, status=_STATUS[code[:3]], facts=facts)

    def __str__(self) -> str:
        from distpriv.guarantees.evidence_text import sentence  # the registry is read when words are wanted

        return f"{self.status}: {sentence(self)} [{self.code}]"


def tail_evidence(target: PrivacyTarget, holds: Callable[[PrivacyTarget], bool]) -> tuple[tuple[Evidence, ...], bool]:
    """Return what is said of the tail of a target with ε = 0, and whether it is kept, as it is where there is none.

    Args:
        target: the target of a certificate.
        holds: whether the noise meets a target, without its tail.
    """
    tail = target.tail
    if tail is None:
        return (), True
    is_met = holds(tail)
    return ((Evidence.of("DP214", epsilon=tail.epsilon, delta=tail.delta),) if is_met else ()), is_met
