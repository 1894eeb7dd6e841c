"""A certificate: what is promised, whether the target is met, and what that rests on."""

from collections.abc import Mapping
from typing import Any, Literal, Self

from attrs import asdict, field, frozen

from distpriv.framework.html import html_list, paragraph, shown
from distpriv.framework.target import PrivacyTarget
from distpriv.guarantees.drawn import Evidence
from distpriv.guarantees.row_delta import RowDelta

__all__ = ["ASSURANCE", "Assumption", "Assurance", "Certificate", "Status"]

Assurance = Literal["proved", "checked", "assumed"]
"""How much must be believed.

`proved`: only how the data were drawn. `checked`: also that f_θ is Gaussian with the modelled moments, on its
lattice. `assumed`: also what the theorem assumes beyond that, which the data may contradict.
"""

ASSURANCE: dict[Assurance, int] = {"assumed": 0, "checked": 1, "proved": 2}
"""How little must be believed: a certificate is good for its own level and for those below."""

Status = Literal["proved", "checked", "assumed"]
"""Whether an assumption follows, was found to hold on the model, or has to be believed."""


@frozen(kw_only=True)
class Assumption:
    """One thing a guarantee rests on, and the numbers that speak for or against it.

    >>> from distpriv.guarantees.certificate import Assumption
    >>> rests_on = Assumption(statement="the shifts are parallel", status="checked", evidence="0.1° off at most")
    >>> print(rests_on)
    checked: the shifts are parallel (0.1° off at most)
    >>> rests_on.statement, rests_on.status, rests_on.evidence
    ('the shifts are parallel', 'checked', '0.1° off at most')
    """

    statement: str
    """What must be so."""
    status: Status
    """Whether that is proved, checked on the model, or assumed."""
    evidence: str = ""
    """The numbers."""

    def __str__(self) -> str:
        return f"{self.status}: {self.statement}" + (f" ({self.evidence})" if self.evidence else "")


@frozen(kw_only=True)
class Certificate:
    """The (ε, δ) that a mechanism has at a level of assurance, held against the target.

    >>> import distpriv as dp
    >>> model = dp.gaussian_model(means={"a": [0], "b": [1]}, covariances=[[1]], pairs=[("a", "b")])
    >>> target = dp.PrivacyTarget(epsilon=1, delta=0.001)
    >>> promise = dp.mechanisms.expected_value_gaussian(model, target).certificate
    >>> promise.epsilon, round(promise.delta, 6), promise.target.delta, promise.holds
    (1.0, 0.000509, 0.001, True)
    >>> promise.assurance, promise.theorem, promise.contradicted
    ('checked', 'Theorem 4.2', False)
    >>> promise.assumptions[0].statement
    'the statistics are Gaussian with the modelled means and covariances, on their lattice'
    >>> [assumption.status for assumption in promise.assumptions]
    ['assumed', 'checked', 'checked']
    >>> {assurance: promise.holds_at(assurance) for assurance in ("proved", "checked", "assumed")}
    {'proved': False, 'checked': True, 'assumed': True}
    >>> promise.to_dict()["holds"], type(promise).from_dict(promise.to_dict()) == promise
    (True, True)
    >>> dp.mechanisms.no_noise(model, target).certificate.holds
    False
    """

    target: PrivacyTarget
    """The (ε, δ) that was asked for."""
    epsilon: float
    """ε, for which δ was computed."""
    delta: float
    """δ at this ε, the worst protected pair, with the error of its own computation added."""
    assurance: Assurance
    """What has to be believed."""
    theorem: str
    """What it follows from."""
    assumptions: tuple[Assumption, ...]
    """Everything it rests on."""
    contradicted: bool = False
    """Whether the model rules the guarantee out, whatever δ says, or was not looked at once δ was too large."""
    law: RowDelta | None = None
    """δ as computed from the reference rows; none where there are none, or δ was too large by moments already."""
    drawn: Evidence | None = field(default=None, repr=False, eq=False)
    """Draws or exact laws that showed δ, where it rests on them; too long for `to_dict`, and written down beside it."""

    @property
    def holds(self) -> bool:
        """Whether the target is met at this level of assurance."""
        return not self.contradicted and self.epsilon <= self.target.epsilon and self.delta <= self.target.delta

    def holds_at(self, assurance: Assurance) -> bool:
        """Tell whether the target is met and no more must be believed than at this level.

        Args:
            assurance: ``"proved"``, ``"checked"`` or ``"assumed"``, the most demanding first.
        """
        return self.holds and ASSURANCE[self.assurance] >= ASSURANCE[assurance]

    def to_dict(self) -> dict[str, Any]:
        """Return everything as numbers, lists and text."""
        return {
            "target": asdict(self.target),
            "epsilon": self.epsilon,
            "delta": self.delta,
            "holds": self.holds,
            "assurance": self.assurance,
            "theorem": self.theorem,
            "assumptions": [asdict(assumption) for assumption in self.assumptions],
            "contradicted": self.contradicted,
            "law": None if self.law is None else self.law.to_dict(),
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """Return the certificate that `to_dict` wrote down."""
        as_written = {name: values[name] for name in ("epsilon", "delta", "assurance", "theorem", "contradicted")}
        law = values.get("law")
        return cls(
            target=PrivacyTarget(**values["target"]),
            assumptions=tuple(Assumption(**assumption) for assumption in values["assumptions"]),
            law=None if law is None else RowDelta.from_dict(law),
            **as_written,
        )

    def _repr_html_(self) -> str:
        head, *rest = str(self).splitlines()
        return shown(paragraph(head, strong=True), html_list(line.strip() for line in rest))

    def __str__(self) -> str:
        verdict = "holds" if self.holds else "DOES NOT HOLD"
        promise = (
            f"({self.epsilon:g}, {self.delta:.3g})-distribution privacy at assurance {self.assurance!r}, by "
            f"{self.theorem}: the target ({self.target.epsilon:g}, {self.target.delta:g}) {verdict}"
        )
        return "\n".join([promise, *(f"  {assumption}" for assumption in self.assumptions)])
