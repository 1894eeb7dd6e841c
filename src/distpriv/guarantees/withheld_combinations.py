r"""Which combinations of the statistics, called directions, a release masks.

Let C be the covariance of what is publicly unknown of F and N that of the noise. There are m combinations w with
:math:`C w = k (C + N) w`, uncorrelated in F and in the noise: what is seen of one says nothing of the others, and the
release tells the share k of the variance of :math:`wᵀF`. Where k is small the combination is withheld, and everything
that is uncorrelated with it is told as well as its own k says. Noise that is wider by a factor has the same w.
"""

from collections.abc import Mapping

import numpy as np
from attrs import frozen

from distpriv.framework.arrays import Floats
from distpriv.guarantees.evidence import Evidence
from distpriv.guarantees.evidence_text import combination
from distpriv.modelling.model import QueryModel
from distpriv.modelling.public_knowledge import PublicKnowledge

__all__ = ["Withheld", "leading_terms", "masked_statistics", "withheld", "withheld_evidence"]

HARDLY = 0.5
"""The share of the variance below which a direction, or a statistic, is masked."""


@frozen(kw_only=True)
class Withheld:
    """A combination of the statistics of which a release tells little.

    >>> found = Withheld(combination={"never_married": 0.8, "female": -0.6, "age": 0.01}, told=0.02)
    >>> print(found)
    never_married − 0.75·female + 0.0125·age
    """

    combination: Mapping[str, float]
    """The coefficient of each statistic, in units of its standard deviation; their squares sum to 1."""
    told: float
    """The share of its variance that the release tells."""

    def __str__(self) -> str:
        leading, others = leading_terms(self.combination)
        return combination(leading) + (f" and {others} others" if others else "")


def withheld(model: QueryModel, covariance: Floats) -> tuple[Withheld, ...]:
    """Return the combinations that noise of a covariance withholds, those it tells least of first.

    >>> from distpriv.modelling.given import gaussian_model
    >>> model = gaussian_model(means={"a": [0, 0], "b": [1, 0]}, covariances=[[1, 0], [0, 1]], pairs=[("a", "b")])
    >>> [(str(found), round(found.told, 3)) for found in withheld(model, np.diag([50.0, 0.1]))]
    [('statistic_1', 0.024)]
    """
    return _directions(model, covariance)[1]


def _directions(model: QueryModel, covariance: Floats) -> tuple[int, tuple[Withheld, ...]]:
    """Return along how many directions the statistics vary, and those that noise of a covariance withholds."""
    public = PublicKnowledge.of(model).covariance
    units = np.sqrt(np.diag(public))
    varies = units > 0
    scale = np.outer(units[varies], units[varies])
    unknown, noise = public[np.ix_(varies, varies)] / scale, covariance[np.ix_(varies, varies)] / scale
    # Cw = k(C + N)w, in axes in which C + N is the identity.
    variances, axes = np.linalg.eigh(unknown + noise)
    regular = variances > 1e-9 * variances.max(initial=0.0)
    whitening = axes[:, regular] / np.sqrt(variances[regular])
    shares, turned = np.linalg.eigh(whitening.T @ unknown @ whitening)
    combinations = whitening @ turned
    names = [name for name, known in zip(model.names, varies, strict=True) if known]
    # What does not vary is known already: k = 0 there is no withholding.
    moving = np.einsum("ik,ij,jk->k", combinations, unknown, combinations) > 1e-9 * (combinations**2).sum(axis=0)
    return int(moving.sum()), tuple(
        Withheld(combination=dict(zip(names, _unit(combinations[:, k]), strict=True)), told=float(shares[k]))
        for k in np.flatnonzero((shares < HARDLY) & moving)
    )


def _unit(combination: Floats) -> list[float]:
    """Return the combination with squares that sum to 1 and the largest coefficient positive."""
    largest = combination[int(np.abs(combination).round(9).argmax())]
    length = float(np.linalg.norm(combination))
    found: list[float] = (combination * (np.sign(largest) / length if length > 0 else 0.0)).tolist()
    return found


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
    told = np.einsum("ij,ji->i", public, np.linalg.lstsq(public + covariance, public)[0]) / np.where(
        before > 0, before, 1
    )
    few = np.flatnonzero((told < HARDLY) & (before > 0))
    return tuple(model.names[place] for place in few[np.argsort(told[few].round(9), kind="stable")])


def withheld_evidence(model: QueryModel, covariance: Floats, *, most: int = 4) -> Evidence:
    """Return which directions are released and which are masked, with every statistic that is masked.

    Of more than so many masked directions the two of which least is released are written out.

    >>> from distpriv.guarantees.evidence_text import sentence
    >>> from distpriv.modelling.given import gaussian_model
    >>> model = gaussian_model(means={"a": [0, 0], "b": [1, 0]}, covariances=[[1, 0], [0, 1]], pairs=[("a", "b")])
    >>> sentence(withheld_evidence(model, np.diag([50.0, 0.1])))
    'released directions: 1 of 2 (masked, as they reveal the secret: statistic_1 (0.0244 of the variance released); less
    than half of the variance is released of statistic_1)'
    """
    directions, masked = _directions(model, covariance)
    named = masked if len(masked) <= most else masked[:2]
    more = len(masked) - len(named)
    return Evidence.of(
        "DP103",
        directions=directions,
        released=directions - len(masked),
        masked=[
            {"terms": terms, "others": others or None, "released": each.told}
            for each in named
            for terms, others in [leading_terms(each.combination)]
        ],
        more=more or None,
        most=masked[-1].told if more else None,
        statistics=masked_statistics(model, covariance),
    )


def leading_terms(coefficients: Mapping[str, float], *, most: int = 4) -> tuple[dict[str, float], int]:
    """Return the leading coefficients, as shares of the largest, and how many others there are.

    >>> leading_terms({"age": 0.25, "women": 0.5, "hours": 1e-9})
    ({'women': 1.0, 'age': 0.5}, 0)
    >>> leading_terms(dict(zip("abcdefgh", [8.0, 7.0, 6.0, 5.0, 4.0, 3.0, 2.0, 1.0], strict=True)))
    ({'a': 1.0, 'b': 0.875, 'c': 0.75, 'd': 0.625}, 4)
    """
    order = sorted(coefficients, key=lambda name: -abs(coefficients[name]))
    largest = coefficients[order[0]]
    order = [name for name in order if abs(coefficients[name]) > 0.01 * abs(largest)]
    leading = order if len(order) <= most + 1 else order[:most]
    return {name: coefficients[name] / largest for name in leading}, len(order) - len(leading)
