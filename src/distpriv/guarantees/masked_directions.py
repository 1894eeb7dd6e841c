r"""Which combinations of the statistics, called directions, a release masks.

Let C be the covariance of what is publicly unknown of F and N that of the noise. There are m combinations w with
:math:`C w = k (C + N) w`, uncorrelated in F and in the noise: what is seen of one says nothing of the others, and the
release tells the share k of the variance of :math:`wᵀF`. Where k is small the combination is masked, and everything
that is uncorrelated with it is told as well as its own k says. Noise that is wider by a factor has the same w.
"""

from collections.abc import Mapping

import numpy as np
from attrs import frozen

from distpriv.framework.arrays import Floats
from distpriv.guarantees.evidence import Evidence
from distpriv.modelling.model import QueryModel
from distpriv.modelling.public_knowledge import PublicKnowledge

__all__ = ["MASKED", "Direction", "directions", "masked_evidence", "masked_statistics"]

MASKED = 0.5
"""The share of the variance below which a direction, or a statistic, is masked."""


@frozen(kw_only=True)
class Direction:
    """A combination of the statistics, and how much of it a release tells."""

    combination: Mapping[str, float]
    """The coefficient of each statistic, in units of its standard deviation; their squares sum to 1."""
    released: float
    """The share of its variance that the release tells."""

    @property
    def terms(self) -> tuple[dict[str, float], int]:
        """The leading coefficients, as shares of the largest, and how many others there are."""
        order = sorted(self.combination, key=lambda name: -abs(self.combination[name]))
        largest, most = self.combination[order[0]], 4
        order = [name for name in order if abs(self.combination[name]) > 0.01 * abs(largest)]
        leading = order if len(order) <= most + 1 else order[:most]
        return {name: self.combination[name] / largest for name in leading}, len(order) - len(leading)


def directions(model: QueryModel, covariance: Floats) -> tuple[Direction, ...]:
    """Return the combinations along which the statistics vary, those that noise of a covariance masks most first.

    >>> from distpriv.modelling.given import gaussian_model
    >>> model = gaussian_model(means={"a": [0, 0], "b": [1, 0]}, covariances=[[1, 0], [0, 1]], pairs=[("a", "b")])
    >>> [(along.terms[0], round(along.released, 3)) for along in directions(model, np.diag([50.0, 0.1]))]
    [({'statistic_1': 1.0}, 0.024), ({'statistic_2': 1.0}, 0.909)]
    """
    public = PublicKnowledge.of(model).covariance
    units = np.sqrt(np.diag(public))
    varies = units > 0
    scale = np.outer(units[varies], units[varies])
    unknown, noise = public[np.ix_(varies, varies)] / scale, covariance[np.ix_(varies, varies)] / scale
    # Cw = k(C + N)w, in axes in which C + N is the identity.
    variances, axes = np.linalg.eigh(unknown + noise)
    regular = variances > 1e-9 * variances.max(initial=0.0)
    whitened = axes[:, regular] / np.sqrt(variances[regular])
    shares, turned = np.linalg.eigh(whitened.T @ unknown @ whitened)
    combinations = whitened @ turned
    names = [name for name, known in zip(model.names, varies, strict=True) if known]
    # What does not vary is known already: k = 0 there masks nothing.
    moving = np.einsum("ik,ij,jk->k", combinations, unknown, combinations) > 1e-9 * (combinations**2).sum(axis=0)
    combinations /= np.linalg.norm(combinations, axis=0)
    return tuple(
        Direction(combination=dict(zip(names, combinations[:, k].tolist(), strict=True)), released=float(shares[k]))
        for k in np.flatnonzero(moving)
    )


def masked_statistics(model: QueryModel, covariance: Floats) -> tuple[str, ...]:
    r"""Return the statistics of which a release tells little, those it tells least of first.

    By themselves, with all released numbers put to use, it tells :math:`[C (C + N)^{-1} C]_{jj} / C_{jj}` of the
    variance of statistic j. A table whose cells add up may mask one direction and thereby many cells.

    >>> from distpriv.modelling.given import gaussian_model
    >>> model = gaussian_model(means={"a": [0, 0], "b": [1, 0]}, covariances=[[1, 0], [0, 1]], pairs=[("a", "b")])
    >>> masked_statistics(model, np.diag([50.0, 0.1]))
    ('statistic_1',)
    """
    public = PublicKnowledge.of(model).covariance
    before = np.diag(public)
    released = np.einsum("ij,ji->i", public, np.linalg.lstsq(public + covariance, public)[0]) / np.where(
        before > 0, before, 1
    )
    few = np.flatnonzero((released < MASKED) & (before > 0))
    return tuple(model.names[place] for place in few[np.argsort(released[few].round(9), kind="stable")])


def masked_evidence(model: QueryModel, covariance: Floats, *, most: int = 4) -> Evidence:
    """Return which directions are released and which are masked, with every statistic that is masked.

    Of more than `most` masked directions the two of which least is released are written out.

    >>> from distpriv.guarantees.evidence_text import sentence
    >>> from distpriv.modelling.given import gaussian_model
    >>> model = gaussian_model(means={"a": [0, 0], "b": [1, 0]}, covariances=[[1, 0], [0, 1]], pairs=[("a", "b")])
    >>> sentence(masked_evidence(model, np.diag([50.0, 0.1])))
    'released directions: 1 of 2 (masked, as they reveal the secret: statistic_1 (0.0244 of the variance released); less
    than half of the variance is released of statistic_1)'
    """
    every = directions(model, covariance)
    masked = [along for along in every if along.released < MASKED]
    named = masked if len(masked) <= most else masked[:2]
    more = len(masked) - len(named)
    return Evidence.of(
        "DP103",
        directions=len(every),
        released=len(every) - len(masked),
        masked=[
            {"terms": along.terms[0], "others": along.terms[1] or None, "released": along.released} for along in named
        ],
        more=more or None,
        most=masked[-1].released if more else None,
        statistics=masked_statistics(model, covariance),
    )
