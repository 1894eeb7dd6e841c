r"""Which combinations of the statistics a release hardly tells of, in words.

Let C be the covariance of what is publicly unknown of F and N that of the noise. There are m combinations w with
:math:`C w = k (C + N) w`, uncorrelated in F and in the noise: what is seen of one says nothing of the others, and the
release tells the share k of the variance of :math:`wᵀF`. Where k is small the combination is withheld, and everything
that is uncorrelated with it is told as well as its own k says. Noise that is wider by a factor has the same w.
"""

from collections.abc import Mapping

import numpy as np
from attrs import frozen

from distpriv.framework.arrays import Floats
from distpriv.guarantees.certificate import Assumption
from distpriv.modelling.model import QueryModel
from distpriv.modelling.public_knowledge import PublicKnowledge

__all__ = ["Withheld", "combination_in_words", "published", "withheld", "withheld_assumption"]

HARDLY = 0.5
"""A release that tells less of a combination's variance than this withholds it."""
SAME = 1e-9
MOST_WORDS = 4
"""How many statistics of a combination are named."""
NAMED, OF_MANY = 4, 2
"""How many combinations are all written out, and how many of more, those that a release tells least of."""


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
        return combination_in_words(
            tuple(self.combination), tuple(self.combination.values()), np.ones(len(self.combination))
        )


def withheld(model: QueryModel, covariance: Floats) -> tuple[Withheld, ...]:
    """Return the combinations that noise of a covariance withholds, those it tells least of first.

    >>> from distpriv.modelling.given import gaussian_model
    >>> model = gaussian_model(means={"a": [0, 0], "b": [1, 0]}, covariances=[[1, 0], [0, 1]], pairs=[("a", "b")])
    >>> [(str(found), round(found.told, 3)) for found in withheld(model, np.diag([50.0, 0.1]))]
    [('statistic_1', 0.024)]
    """
    public = PublicKnowledge.of(model).covariance
    units = np.sqrt(np.diag(public))
    varies = units > 0
    scale = np.outer(units[varies], units[varies])
    unknown, noise = public[np.ix_(varies, varies)] / scale, covariance[np.ix_(varies, varies)] / scale
    # Cw = k(C + N)w, in axes in which C + N is the identity.
    variances, axes = np.linalg.eigh(unknown + noise)
    kept = variances > SAME * variances.max(initial=0.0)
    whitening = axes[:, kept] / np.sqrt(variances[kept])
    shares, turned = np.linalg.eigh(whitening.T @ unknown @ whitening)
    combinations = whitening @ turned
    names = [name for name, known in zip(model.names, varies, strict=True) if known]
    # What does not vary is known already: k = 0 there is no withholding.
    moving = np.einsum("ik,ij,jk->k", combinations, unknown, combinations) > SAME * (combinations**2).sum(axis=0)
    return tuple(
        Withheld(combination=dict(zip(names, _unit(combinations[:, k]), strict=True)), told=float(shares[k]))
        for k in np.flatnonzero((shares < HARDLY) & moving)
    )


def _unit(combination: Floats) -> list[float]:
    """Return the combination with squares that sum to 1 and the largest coefficient positive."""
    largest = combination[int(np.abs(combination).round(9).argmax())]
    length = float(np.linalg.norm(combination))
    found: list[float] = (combination * (np.sign(largest) / length if length > 0 else 0.0)).tolist()
    return found


def published(model: QueryModel, covariance: Floats) -> str:
    """Return in words what is published: everything but the combinations that are withheld.

    >>> from distpriv.modelling.given import gaussian_model
    >>> model = gaussian_model(means={"a": [0, 0], "b": [1, 0]}, covariances=[[1, 0], [0, 1]], pairs=[("a", "b")])
    >>> published(model, np.diag([50.0, 0.1]))
    'all but statistic_1'
    >>> published(model, np.diag([50.0, 20.0])), published(model, 0.1 * np.eye(2))
    ('next to nothing', 'every combination of the statistics')
    """
    found = withheld(model, covariance)
    if not found:
        return "every combination of the statistics"
    if len(found) >= len(found[0].combination):
        return "next to nothing"
    if len(found) <= NAMED:
        return f"all but {', and '.join(map(str, found))}"
    every, named = len(found[0].combination), ", and ".join(map(str, found[:OF_MANY]))
    return f"{every - len(found)} of {every} combinations, all but {named}, and {len(found) - OF_MANY} others"


def withheld_assumption(model: QueryModel, covariance: Floats) -> Assumption:
    """Return what is published as a certificate says it."""
    found = withheld(model, covariance)
    told = ", ".join(f"{each.told:.3g}" for each in found[: NAMED if len(found) <= NAMED else OF_MANY])
    told += f" and up to {found[-1].told:.3g}" if len(found) > NAMED else ""
    evidence = (
        f"the release tells {told} of its variance, with each statistic in standard deviations, and what is "
        "uncorrelated with it is told"
        if found
        else f"of each the release tells at least {HARDLY:g} of the variance"
    )
    return Assumption(statement=f"published: {published(model, covariance)}", status="proved", evidence=evidence)


def combination_in_words(names: tuple[str, ...], coefficients: tuple[float, ...], deviations: Floats) -> str:
    """Say which combination of statistics it is, the one first that matters most.

    >>> combination_in_words(("age", "women", "hours"), (0.25, 0.5, 1e-9), np.array([10.0, 5.0, 1.0]))
    'age + 2·women'
    >>> combination_in_words(tuple("abcdefgh"), (1.0,) * 8, np.arange(8.0, 0.0, -1.0))
    'a + b + c + d and 4 others'
    >>> combination_in_words(("men", "women"), (1.0, -0.9999), np.ones(2))
    'men − women'
    """
    effects = np.abs(np.array(coefficients)) * deviations
    order = [int(k) for k in np.argsort(-effects, kind="stable") if effects[k] > 0.01 * effects.max()]
    said = ""
    for k in order if len(order) <= MOST_WORDS + 1 else order[:MOST_WORDS]:
        share = coefficients[k] / coefficients[order[0]]
        written = f"{abs(share):.3g}"
        times = "" if written == "1" else f"{written}·"
        sign = (" + " if share > 0 else " − ") if said else ""
        said += f"{sign}{times}{names[k]}"
    return said if len(order) <= MOST_WORDS + 1 else f"{said} and {len(order) - MOST_WORDS} others"
