r"""Read what is left of a combination of the released numbers when it is divided by some number.

Statistics that cluster, because rows lie near a lattice or because somebody composed them so, tell by where in its
period a release lies what their mean does not. Turned into a phase :math:`e^{i t^\top y}`, releases of two scenarios
then have different means: :math:`\varphi_1(t) - \varphi_2(t)` is large at some t that belongs to no bell curve. The
attack looks for such t, and learns from the phases at the best of them beside the likelihood ratio of the model.
"""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from attrs import field, frozen
from numpy.typing import NDArray

from distpriv.auditing.attacks import AttackerView, BayesAttack, FittedAttack, refuse_one_class
from distpriv.distances.gaussian import whitening
from distpriv.extras import extra_needed
from distpriv.framework.arrays import Floats
from distpriv.framework.scenarios import Pair
from distpriv.guarantees.delta_from_rows import rows_behind, standing_peaks
from distpriv.modelling.model import QueryModel
from distpriv.noise.laws import NoiseLaw

__all__ = ["ResidueAttack", "residue_accuracy", "telling_frequencies"]

KEPT = 4
"""How many frequencies releases are turned by."""

HARMONICS = 2
"""So many multiples of each."""

RANDOM, ALONG = 600, 120
"""How many frequencies are drawn at random, and how many lie along each statistic."""

CLIMBERS, STEPS = 16, 8
"""How many of them climb to the top of their lobe, and how far."""

MAIN_LOBE = 9.0
"""tᵀAt, A the covariance of releases, up to which a difference of phases is one of means."""

FARTHEST = 60.0
"""Periods down to a tenth of a release's deviation are looked at: |t| in units of it."""

LEFT = 0.02
"""What noise must leave of a phase for it to be looked at."""

LOUDEST = 30.0
"""Bayes' score, a logarithm of a ratio, is cut off here."""

CHANCE = 0.01
"""How often one of the frequencies passes where phases do not differ at all, about."""

SEED = 17


@frozen(kw_only=True)
class ResidueAttack:
    """Logistic regression on phases of releases where their means differ, and on Bayes' score; else that alone."""

    name: str = "residue"
    knows_noise: bool = True

    def fit(self, view: AttackerView) -> FittedAttack:
        """Find frequencies on one half of the shadows, and learn on the other."""
        with extra_needed("audit", "an audit"):
            from sklearn import config_context
            from sklearn.linear_model import LogisticRegression

        first, second = view.shadows.released
        refuse_one_class(first, second)
        bayes = BayesAttack().fit(view)
        frequencies = telling_frequencies(view, first[::2], second[::2])
        if not len(frequencies):
            return bayes
        phases = _Phases(frequencies=frequencies, bayes=bayes)
        learnt = np.concatenate([first[1::2], second[1::2]])
        labels = np.repeat([1, 0], [len(first[1::2]), len(second[1::2])])
        with config_context(assume_finite=True, skip_parameter_validation=True):
            fitted = LogisticRegression(max_iter=1000).fit(phases.of(learnt), labels)
        return _FittedResidue(phases=phases, classifier=fitted)


def telling_frequencies(view: AttackerView, first: Floats, second: Floats) -> Floats:
    """Return the frequencies at which the phases of two sets of releases differ most, one row each, if any do."""
    search = _Search.of(view, first, second)
    found = np.concatenate([search.telling(search.peaks(view)), search.telling(search.blind())])
    kept: list[Floats] = []
    for t in found[np.argsort(-search.heights(found), kind="stable")]:
        if len(kept) < KEPT and all(min(np.linalg.norm(t - s), np.linalg.norm(t + s)) > 1 for s in kept):
            kept.append(t)
    return np.asarray(np.reshape(kept, (len(kept), search.axes.shape[1])) @ search.axes.T)


def residue_accuracy(model: QueryModel, noise: NoiseLaw) -> Mapping[Pair, float]:
    r"""Return how often residues alone tell each protected pair apart at least, where rows repeat and noise leaves it.

    Phases have absolute value 1, so that means which differ by :math:`|\varphi_1(t) - \varphi_2(t)|` are of laws at a
    distance of half of that in total variation, at least.
    """
    rows = rows_behind(model)
    if rows is None:
        return {}
    found = dict.fromkeys(model.protected_pairs, 0.5)
    for t in standing_peaks(model, rows, noise):
        hidden = math.exp(-float(t @ noise.covariance @ t) / 2)
        means = {name: hidden * mean for name, mean in rows.phases(t).items()}
        for one, other in found:
            found[one, other] = max(found[one, other], 0.5 + abs(means[one] - means[other]) / 4)
    return found


@frozen(kw_only=True, eq=False)
class _Search:
    """The search in coordinates in which the covariance of releases is the identity."""

    axes: Floats
    """From these coordinates to frequencies: t = axes · u."""
    noise: Floats
    """The covariance of Gaussian noise."""
    sides: tuple[Floats, Floats]
    """Releases of both scenarios."""

    @classmethod
    def of(cls, view: AttackerView, first: Floats, second: Floats) -> "_Search":
        laws = [view.model.distributions[name].covariance for name in view.pair]
        axes = whitening(np.mean(laws, axis=0) + view.noise.covariance).T
        centre = np.concatenate([first, second]).mean(axis=0)
        noise = axes.T @ view.noise.gaussian.covariance @ axes
        return cls(axes=axes, noise=noise, sides=((first - centre) @ axes, (second - centre) @ axes))

    def peaks(self, view: AttackerView) -> Floats:
        """Return the frequencies at which the rows repeat, where it is known what rows add to the statistics."""
        rows = rows_behind(view.model)
        found = [] if rows is None else standing_peaks(view.model, rows, view.noise)
        return np.asarray(np.reshape(found, (len(found), len(self.axes))) @ np.linalg.pinv(self.axes).T)

    def blind(self) -> Floats:
        """Return frequencies along each statistic, and others at random, of which noise leaves something."""
        rng = np.random.default_rng(SEED)
        nearest = math.sqrt(MAIN_LOBE)
        steps = np.linspace(nearest, FARTHEST, ALONG)[:, np.newaxis]
        along = [steps * direction for direction in _of_length_1(np.asarray(np.linalg.pinv(self.axes).T))]
        directions = _of_length_1(rng.normal(size=(RANDOM, len(self.noise))))
        found = np.concatenate([*along, directions * rng.uniform(nearest, FARTHEST, (RANDOM, 1))])
        return np.asarray(found[((found @ self.noise) * found).sum(axis=1) < -2 * math.log(LEFT)])

    def telling(self, starts: Floats) -> Floats:
        """Return the tops of lobes near some frequencies, those that are higher than chance makes any."""
        if not len(starts):
            return starts
        tops = self.climbed(starts[np.argsort(-self.heights(starts), kind="stable")[:CLIMBERS]])
        spread = sum(1 / len(side) for side in self.sides)
        return np.asarray(tops[self.heights(tops) ** 2 > spread * math.log(len(starts) / CHANCE)])

    def heights(self, places: Floats) -> Floats:
        """Return |φ₁(t) − φ₂(t)| at places; nothing where the difference is one of means."""
        first, second = (_turned(places, side).mean(axis=1) for side in self.sides)
        return np.where((places**2).sum(axis=1) >= MAIN_LOBE, np.abs(first - second), 0.0)

    def climbed(self, places: Floats) -> Floats:
        """Return where an ascent ends: by Newton's step for the lobe of a bell curve, halved where it overshoots."""
        heights, scale = self.heights(places), np.ones(len(places))
        for _ in range(STEPS):
            tried = places + self._moves(places) * scale[:, np.newaxis]
            reached = self.heights(tried)
            better = reached > heights
            places = np.where(better[:, np.newaxis], tried, places)
            heights, scale = np.where(better, reached, heights), np.where(better, scale, scale / 2)
        return places

    def _moves(self, places: Floats) -> Floats:
        """Return the gradient of log |φ₁(t) − φ₂(t)| at places, no longer than a lobe."""
        turned = [_turned(places, side) for side in self.sides]
        difference = turned[0].mean(axis=1) - turned[1].mean(axis=1)
        slopes = [1j * (turn @ side) / len(side) for turn, side in zip(turned, self.sides, strict=True)]
        moves = np.real((slopes[0] - slopes[1]) / np.where(np.abs(difference) > 1e-12, difference, 1)[:, np.newaxis])
        return np.asarray(moves / np.maximum(1.0, np.linalg.norm(moves, axis=1, keepdims=True)))


def _of_length_1(directions: Floats) -> Floats:
    return np.asarray(directions / np.maximum(np.linalg.norm(directions, axis=1, keepdims=True), 1e-300))


def _turned(places: Floats, releases: Floats) -> NDArray[np.complex128]:
    """Return e^{itᵀy} for all places t and releases y."""
    angles = places @ releases.T
    found = np.empty(angles.shape, dtype=np.complex128)
    np.cos(angles, out=found.real)
    np.sin(angles, out=found.imag)
    return found


@frozen(kw_only=True, eq=False)
class _Phases:
    """What is learnt from: Bayes' score, and where in each period a release lies."""

    frequencies: Floats
    bayes: FittedAttack

    def of(self, released: Floats) -> Floats:
        angles = released @ self.frequencies.T
        turns = [k * angles for k in range(1, HARMONICS + 1)]
        score = np.clip(np.nan_to_num(self.bayes.score(released)), -LOUDEST, LOUDEST)
        return np.column_stack([score, *(np.cos(turn) for turn in turns), *(np.sin(turn) for turn in turns)])


@frozen(kw_only=True, eq=False)
class _FittedResidue:
    phases: _Phases
    classifier: Any = field(repr=False)

    def score(self, released: Floats) -> Floats:
        return np.asarray(self.classifier.decision_function(self.phases.of(released)), dtype=np.float64)
