r"""The likelihood-ratio test of the one combination of the released numbers that tells most, by its exact law.

Where the statistics are sums over rows, the law of :math:`w^\top (F + Z)` is known exactly for every w
(`guarantees.projections`), so whoever looks at that combination alone decides by the ratio of two known densities, and
nobody decides better. A bell curve is not assumed: few rows that decide, or values that repeat, show as they are.
"""

from attrs import evolve, frozen

from distpriv.auditing.attacks import AttackerView, BayesAttack, FittedAttack
from distpriv.framework.arrays import Floats
from distpriv.framework.scenarios import Pair
from distpriv.guarantees.delta_from_rows import rows_behind, standing_peaks
from distpriv.guarantees.directions import telling_directions
from distpriv.guarantees.projections import ProjectedLaws, projected_laws
from distpriv.modelling.model import QueryModel
from distpriv.noise.laws import NoiseLaw

__all__ = ["ProjectionAttack", "most_telling"]

NOTHING = 1e-9
"""An H_ε below this is rounding."""

COARSE = 0.02
"""The share of a combination's own deviation that an attack does not look below."""


@frozen(kw_only=True)
class ProjectionAttack:
    """The exact likelihood ratio of the most telling combination; like Bayes where no law is known by rows."""

    name: str = "projection"
    knows_noise: bool = True

    def fit(self, view: AttackerView) -> FittedAttack:
        """Find the combination; shadows are not needed."""
        found = most_telling(view.model, view.noise, view.pair, view.epsilon)
        return BayesAttack().fit(view) if found is None else _ExactRatio(laws=found, pair=view.pair)


def most_telling(model: QueryModel, noise: NoiseLaw, pair: Pair, epsilon: float) -> ProjectedLaws | None:
    """Return the combination whose exact H_ε of a pair is the largest, in either order; none where no law is known.

    Where H_ε is next to nothing along all of them, as with Laplace noise, the total variation decides.
    """
    rows = rows_behind(model)
    if rows is None:
        return None
    directions = telling_directions(model, rows, noise.covariance, pair, standing_peaks(model, rows, noise))
    both = evolve(rows, drawn={name: rows.drawn[name] for name in pair})
    laws = [projected_laws(model, both, noise, direction, coarse=COARSE) for direction in directions]
    known = [law for law in laws if law is not None]
    level = epsilon if any(_told(law, pair, epsilon) > NOTHING for law in known) else 0.0
    return max(known, key=lambda law: _told(law, pair, level), default=None)


def _told(law: ProjectedLaws, pair: Pair, epsilon: float) -> float:
    return max(law.delta(pair, epsilon), law.delta(pair[::-1], epsilon))


@frozen(kw_only=True, eq=False)
class _ExactRatio:
    laws: ProjectedLaws
    pair: Pair

    def score(self, released: Floats) -> Floats:
        return self.laws.log_ratio(self.pair, released)
