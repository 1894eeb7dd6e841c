"""Attackers who must tell which of two scenarios a release comes from.

An attack is fitted on shadow datasets, which the attacker draws himself from rows of his own, and then scores releases
it has not seen. Those that know the noise are fitted on shadow releases; the paper's does not, and is
fitted on clean statistics, which makes a defence look better than it is.
"""

from typing import Any, Protocol

import numpy as np
from attrs import evolve, field, frozen

from distpriv.auditing.densities import log_density
from distpriv.auditing.releases import Releases
from distpriv.errors import InvalidInput
from distpriv.extras import extra_needed
from distpriv.framework.arrays import Floats
from distpriv.framework.scenarios import Pair
from distpriv.modelling.model import QueryModel
from distpriv.noise.laws import NoiseLaw, NoNoise

__all__ = [
    "Attack",
    "AttackerView",
    "BayesAttack",
    "ClassifierAttack",
    "FittedAttack",
    "QuadraticAttack",
    "adaptive_attack",
    "boosting_attack",
    "naive_attack",
]


@frozen(kw_only=True, eq=False)
class AttackerView:
    """What an attacker learns from: the model, the noise, and shadow datasets of both scenarios."""

    model: QueryModel
    pair: Pair
    noise: NoiseLaw
    shadows: Releases
    epsilon: float = 0.0
    """What is claimed: an attack may look for what exceeds it, and by itself looks for what tells most."""

    @property
    def undefended(self) -> "AttackerView":
        """What the same attacker learns about statistics released as they are."""
        none = NoNoise(dimension=self.model.dimension)
        return evolve(self, noise=none, shadows=self.shadows.undefended, epsilon=0.0)


class FittedAttack(Protocol):
    """An attack that has learnt all it will."""

    def score(self, released: Floats) -> Floats:
        """Return how much each release speaks for the pair's first scenario; above 0 it is decided for."""


class Attack(Protocol):
    """A way to learn from shadows."""

    @property
    def name(self) -> str:
        """What a report calls it."""

    @property
    def knows_noise(self) -> bool:
        """Whether what it learns depends on the noise."""

    def fit(self, view: AttackerView) -> FittedAttack:
        """Learn from shadows of both scenarios."""


@frozen(kw_only=True)
class ClassifierAttack:
    """A scikit-learn classifier trained on the shadows: on their releases if it knows the noise, else clean.

    It sees whitened statistics, or standardised ones: noise along few directions hides nothing across them, which
    a classifier that treats all statistics alike would miss.
    """

    name: str
    classifier: Any = field(eq=False)
    knows_noise: bool = True
    whiten: bool = True

    def __attrs_post_init__(self) -> None:
        scores = any(hasattr(self.classifier, method) for method in ("decision_function", "predict_proba"))
        if isinstance(self.classifier, type) or not hasattr(self.classifier, "fit") or not scores:
            raise InvalidInput(
                f"an attack needs a scikit-learn classifier with decision_function or predict_proba, got "
                f"{self.classifier!r}: give LogisticRegression(), say."
            )

    def fit(self, view: AttackerView) -> FittedAttack:
        """Train a copy of the classifier."""
        from sklearn import config_context
        from sklearn.base import clone

        first, second = view.shadows.released if self.knows_noise else view.shadows.clean
        refuse_one_class(first, second)
        shadows = np.concatenate([first, second])
        centre, to_units = shadows.mean(axis=0), _to_units(shadows, self.whiten)
        labels = np.repeat([1, 0], [len(first), len(second)])
        with config_context(assume_finite=True, skip_parameter_validation=True):  # half of the time of a small fit
            fitted = clone(self.classifier).fit((shadows - centre) @ to_units, labels)
        return _FittedClassifier(classifier=fitted, centre=centre, to_units=to_units)


def _to_units(shadows: Floats, whiten: bool) -> Floats:
    """Return a matrix that brings statistics to unit variance, and whitened ones to no correlation either."""
    spread = shadows.std(axis=0)
    units = np.where(spread > 0, spread, 1.0)
    if not whiten:
        return np.diag(1 / units)
    values, vectors = np.linalg.eigh(np.atleast_2d(np.cov((shadows / units).T)))
    return np.asarray(vectors / np.sqrt(np.maximum(values, 1e-12)) / units[:, np.newaxis])


@frozen(kw_only=True, eq=False)
class _FittedClassifier:
    classifier: Any
    centre: Floats
    to_units: Floats

    def score(self, released: Floats) -> Floats:
        values = (released - self.centre) @ self.to_units
        if hasattr(self.classifier, "decision_function"):
            return np.asarray(self.classifier.decision_function(values), dtype=np.float64)
        return np.asarray(self.classifier.predict_proba(values)[:, 1] - 0.5, dtype=np.float64)


@frozen(kw_only=True)
class BayesAttack:
    """The likelihood-ratio test of the model: no attacker is right more often if f_θ is as modelled, and Gaussian."""

    name: str = "bayes"
    knows_noise: bool = True

    def fit(self, view: AttackerView) -> FittedAttack:
        """Take both laws from the model; shadows are not needed."""
        laws = [view.model.distributions[scenario] for scenario in view.pair]
        return _LikelihoodRatio(moments=tuple((law.mean, law.covariance) for law in laws), noise=view.noise)


@frozen(kw_only=True)
class QuadraticAttack:
    """Quadratic discriminant: the likelihood-ratio test of two Gaussians fitted to the shadow releases."""

    name: str = "quadratic"
    knows_noise: bool = True

    def fit(self, view: AttackerView) -> FittedAttack:
        """Estimate mean and covariance of either scenario's releases."""
        refuse_one_class(*view.shadows.released)
        moments = tuple((shadows.mean(axis=0), np.atleast_2d(np.cov(shadows.T))) for shadows in view.shadows.released)
        return _LikelihoodRatio(moments=moments, noise=NoNoise(dimension=view.model.dimension))


@frozen(kw_only=True, eq=False)
class _LikelihoodRatio:
    moments: tuple[tuple[Floats, Floats], ...]
    noise: NoiseLaw

    def score(self, released: Floats) -> Floats:
        one, other = (log_density(released, *law, self.noise) for law in self.moments)
        return np.asarray(one - other)


def naive_attack() -> ClassifierAttack:
    """Return the paper's meta-classifier: logistic regression trained on clean statistics."""
    with extra_needed("audit", "an audit"):
        from sklearn.linear_model import LogisticRegression

    quick = LogisticRegression(solver="liblinear")  # with 200 shadows much of a fit is overhead, and this has the least
    return ClassifierAttack(name="naive", classifier=quick, knows_noise=False, whiten=False)


def adaptive_attack() -> ClassifierAttack:
    """Return logistic regression trained on shadow releases."""
    with extra_needed("audit", "an audit"):
        from sklearn.linear_model import LogisticRegression

    return ClassifierAttack(name="adaptive", classifier=LogisticRegression())


def boosting_attack() -> ClassifierAttack:
    """Return gradient boosting trained on shadow releases."""
    with extra_needed("audit", "an audit"):
        from sklearn.ensemble import GradientBoostingClassifier

    return ClassifierAttack(name="boosting", classifier=GradientBoostingClassifier(subsample=0.5, random_state=0))


def refuse_one_class(first: Floats, second: Floats) -> None:
    """Refuse shadows of one scenario only, or too few to learn anything from."""
    if min(len(first), len(second)) < 2:
        raise InvalidInput(
            f"an attack learns from shadows of both scenarios, and there are {len(first)} of one and {len(second)} of "
            "the other: draw at least 2 of each."
        )
