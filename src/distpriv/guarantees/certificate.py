"""A certificate: what is promised, whether the target is met, and what that rests on."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, ClassVar, Literal

from attrs import field, frozen
from attrs.converters import optional

from distpriv.framework.records import UNWRITTEN
from distpriv.framework.target import PrivacyTarget
from distpriv.guarantees.evidence import Evidence

if TYPE_CHECKING:
    from distpriv.guarantees.drawn import Witness

__all__ = ["ASSURANCE", "LARGEST_CHANCE", "Assurance", "Certificate", "RowDelta"]

Assurance = Literal["proved", "checked", "assumed"]
"""How much must be believed.

`proved`: only how the data were drawn. `checked`: also that f_θ is Gaussian with the modelled moments, on its
lattice. `assumed`: also what the theorem assumes beyond that, which the data may contradict.
"""

ASSURANCE: dict[Assurance, int] = {"assumed": 0, "checked": 1, "proved": 2}
"""How little must be believed: a certificate is good for its own level and for those below."""


LARGEST_CHANCE = 0.01
"""A chance to have missed a peak above which nothing is certified."""


def _pair(names: Iterable[str]) -> tuple[str, str]:
    one, other = names
    return one, other


@frozen(kw_only=True)
class RowDelta:
    """δ computed from the rows, and what is known of its error."""

    delta: float
    """An upper confidence bound, or for one statistic the exact δ; the worst pair's."""
    pair: tuple[str, str] = field(converter=_pair)
    """The worst ordered pair."""
    total_variation: float
    """An upper confidence bound on H_0, the worst pair's."""
    epsilon: float
    """The ε at which δ was computed: less than the target's by what ripples and lattices cost, or far below anyway."""
    estimate: float
    """δ without margins."""
    pairs: int
    """How many ordered pairs were computed."""
    exact: bool = True
    """Whether the distribution is known exactly, which needs none of the following."""
    standard_error: float = 0.0
    """Of the estimate."""
    normalisation: float = 0.0
    """log E_j[e^L 1_A] − log P_i(A), A the event that decides δ: by how much the log-ratio errs on average."""
    normalisation_error: float = 0.0
    """One standard error of that."""
    draws: int = 0
    """How many were made of the worst pair; 0 for an exact distribution."""
    ripple: float = 0.0
    """The relative amplitude of the density's ripples, at the peaks that were found."""
    peak: tuple[float, ...] | None = field(default=None, converter=optional(tuple))
    """The frequency of the highest ripple, one number a statistic; none where there is no peak."""
    missed: float = 0.0
    """The chance that the search passed by a peak."""

    @property
    def holds(self) -> bool:
        """Whether the rows have no periodic structure that the computation cannot see: at most 0.1 % of the density."""
        return self.exact or (self.ripple <= 1e-3 and self.missed <= LARGEST_CHANCE)


@frozen(kw_only=True)
class Certificate:
    """The (ε, δ) of a mechanism at a level of assurance, and whether it meets the target.

    >>> import distpriv as dp
    >>> model = dp.gaussian_model(means={"a": [0], "b": [1]}, covariances=[[1]], pairs=[("a", "b")])
    >>> target = dp.PrivacyTarget(epsilon=1, delta=0.001)
    >>> promise = dp.mechanisms.expected_value_gaussian(model, target).certificate
    >>> promise.epsilon, round(promise.delta, 6), promise.target.delta, promise.holds
    (1.0, 0.000509, 0.001, True)
    >>> promise.assurance, promise.theorem, promise.contradicted
    ('checked', 'Theorem 4.2', False)
    >>> [(evidence.code, evidence.status) for evidence in promise.evidence]
    [('DP301', 'assumed'), ('DP203', 'checked'), ('DP205', 'checked')]
    >>> {assurance: promise.holds_at(assurance) for assurance in ("proved", "checked", "assumed")}
    {'proved': False, 'checked': True, 'assumed': True}
    >>> dp.mechanisms.no_noise(model, target).certificate.holds
    False
    """

    DERIVED: ClassVar = ("holds",)

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
    evidence: tuple[Evidence, ...]
    """Everything it rests on."""
    contradicted: bool = False
    """Whether the model rules the guarantee out, or δ by moments alone is so large that the rows were not used."""
    law: RowDelta | None = None
    """δ as computed from the reference rows; none where there are none, or δ was too large by moments already."""
    drawn: "Witness | None" = field(default=None, repr=False, eq=False, metadata=UNWRITTEN)
    """Draws or exact laws that showed δ, where it rests on them; written down beside it, as it is long."""

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

    def _repr_html_(self) -> str:
        from distpriv.framework.html import html_list, paragraph, shown

        head, *rest = str(self).splitlines()
        return shown(paragraph(head, strong=True), html_list(line.strip() for line in rest))

    def __str__(self) -> str:
        verdict = "holds" if self.holds else "DOES NOT HOLD"
        promise = (
            f"({self.epsilon:g}, {self.delta:.3g})-distribution privacy at assurance {self.assurance!r}, by "
            f"{self.theorem}: the target ({self.target.epsilon:g}, {self.target.delta:g}) {verdict}"
        )
        return "\n".join([promise, *(f"  {evidence}" for evidence in self.evidence)])
