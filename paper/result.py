"""What an experiment finds, as frozen values."""

import math

from attrs import frozen

from paper.setting import Setting

FAR = 3.0
"""Standard errors beyond which a published number and ours disagree."""


@frozen(kw_only=True)
class Comparison:
    """A published number beside ours."""

    label: str
    published: float
    ours: float
    standard_error: float
    """Of the difference."""

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

    In the exact protocol ours has no error; in the paper's both are means of as many repetitions.
    """
    both = math.sqrt(2) if setting.protocol == "paper" else 1.0
    return Comparison(label=label, published=published, ours=ours, standard_error=both * standard_error)


@frozen(kw_only=True)
class Claim:
    """A sentence of the paper, and whether our numbers support it."""

    text: str
    evidence: str
    holds: bool


@frozen(kw_only=True)
class Errors:
    """The L2 error of a mechanism at one ε and Δp, and the δ of its noise."""

    secret: str
    gap: float
    mechanism: str
    epsilon: float
    error: float
    standard_error: float
    """Of the mean over the paper's repetitions."""
    claimed_delta: float
    actual_delta: float
    """With the covariances as they are: exact for Gaussian noise, an upper bound for Laplace noise."""

    @property
    def holds(self) -> bool:
        """Whether the claimed δ is known to hold."""
        return self.actual_delta <= self.claimed_delta


@frozen(kw_only=True)
class Attacked:
    """How often attackers are right about the releases of a mechanism at one ε and δ."""

    mechanism: str
    epsilon: float
    delta: float
    accuracy: float
    """Of the paper's attacker, trained on statistics without noise."""
    standard_error: float
    actual_delta: float
    best_attack: float
    """Of the best attacker of Gaussian statistics with a density: (1 + δ(0))/2."""
    lattice_attack: float | None = None
    """Of the attacker who reads statistics off their lattice where noise leaves directions bare."""

    @property
    def holds(self) -> bool:
        """Whether the claimed δ holds."""
        return self.actual_delta <= self.delta


@frozen(kw_only=True)
class Sampled:
    """Values of one statistic over sampled datasets, with fitted and exact mean and variance."""

    statistic: str
    share: float
    values: tuple[float, ...]
    fitted: tuple[float, float]
    exact: tuple[float, float]


@frozen(kw_only=True)
class Newer:
    """A mechanism beyond the paper."""

    mechanism: str
    epsilon: float
    error: float
    delta: float
    assurance: str


@frozen(kw_only=True)
class Result:
    """One table or figure."""

    name: str
    title: str
    comparisons: tuple[Comparison, ...] = ()
    claims: tuple[Claim, ...] = ()
    errors: tuple[Errors, ...] = ()
    attacks: tuple[Attacked, ...] = ()
    samples: tuple[Sampled, ...] = ()
    newer: tuple[Newer, ...] = ()

    @property
    def agreeing(self) -> int:
        """How many published numbers ours agree with."""
        return sum(comparison.agrees for comparison in self.comparisons)
