"""What answers tell together with what is public: estimates, and whether the private data are like the reference.

Everything here is made of answers that were written down and of public numbers, so that it takes nothing from what is
promised about the answers (post-processing). Answers of one dataset tell about each other, so all of them are used.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
from attrs import evolve, frozen

from distpriv.framework.arrays import Floats
from distpriv.guarantees.mechanism import AdditiveMechanism
from distpriv.modelling.model import QueryModel
from distpriv.modelling.public_knowledge import HALF_WIDTH, Estimate, Fit, Prior, PublicKnowledge, noise_side_by_side
from distpriv.noise.laws import NoiseLaw
from distpriv.releasing.joint import EarlierReleases
from distpriv.releasing.record import FitRecord

__all__ = ["SHOWN", "Answers", "Estimates", "estimates_of", "with_covariance"]

SHOWN = ("estimates", "estimate_intervals", "fit", "public_means", "public_errors")
"""What a release.json calls them."""


@frozen(kw_only=True)
class Answers:
    """All questions of a dataset in their order, one of which estimates are made for."""

    model: QueryModel
    """The law of all their statistics, one question after the other."""
    noises: Sequence[NoiseLaw]
    """The noise of each question."""
    values: Sequence[Sequence[float] | None]
    """The answer to each; none where it has not been asked yet."""
    place: int = 0
    """Which of them estimates are made for."""

    @property
    def answered(self) -> list[int]:
        """Which questions have an answer."""
        return [place for place, values in enumerate(self.values) if values is not None]

    def positions(self, questions: Sequence[int]) -> list[int]:
        """Return where the statistics of questions are."""
        ends = np.cumsum([0, *(noise.dimension for noise in self.noises)]).tolist()
        return [position for place in questions for position in range(ends[place], ends[place + 1])]

    @property
    def own(self) -> slice:
        """Where the statistics of the question that estimates are made for are among those that have an answer."""
        before = self.positions([place for place in self.answered if place < self.place])
        return slice(len(before), len(before) + self.noises[self.place].dimension)

    def known(self, prior: Prior) -> PublicKnowledge:
        """Return what is public of the statistics that have an answer."""
        return _part(PublicKnowledge.of(self.model, prior), self.positions(self.answered))

    def with_covariance(self, names: Sequence[str], prior: Prior) -> tuple[PublicKnowledge, Estimate]:
        """Return what is public of the question's own statistics, and their estimates with the covariance of errors."""
        known, own = self.known(prior), self.own
        found = known.estimate(self.numbers(), noise_side_by_side([self.noises[place] for place in self.answered]))
        public = evolve(_part(known, range(own.start, own.stop)), names=tuple(names))
        return public, Estimate(names=public.names, values=found.values[own], covariance=found.covariance[own, own])

    def numbers(self) -> Floats:
        """Return all answers, one after the other."""
        return np.concatenate([np.asarray(self.values[place], dtype=np.float64) for place in self.answered])


@frozen(kw_only=True)
class Estimates:
    """The estimates of a release, and what they are made with.

    >>> import distpriv as dp
    >>> model = dp.gaussian_model(
    ...     means={"few": [40], "many": [42]}, covariances=[[3]], pairs=[("few", "many")], names=["age"]
    ... )
    >>> from distpriv.noise.laws import GaussianNoise
    >>> answers = Answers(model=model, noises=[GaussianNoise.isotropic(1, 2.0)], values=[[46.0]])
    >>> found = Estimates.of(answers, names=["age"])
    >>> found.values, found.public_means, found.public_errors, found.releases
    ({'age': 43.5}, {'age': 41.0}, {'age': 2.0}, 1)
    >>> low, high = found.intervals["age"]
    >>> round(low, 2), round(high, 2), round(found.errors["age"], 3), found.fit.fits
    (40.73, 46.27, 1.414, True)
    >>> found.renamed({"years": "age"}).values
    {'years': 43.5}
    """

    values: Mapping[str, float]
    """The estimate of each statistic."""
    intervals: Mapping[str, tuple[float, float]]
    """Where each statistic is with a probability of 95 %, on average over the scenarios."""
    fit: Fit
    """How plausible all answers are if the private data are like the reference."""
    public_means: Mapping[str, float]
    """What is known of each statistic without any release."""
    public_errors: Mapping[str, float]
    """How far off that is, as a root mean square."""
    prior: Mapping[str, float]
    """The probability of each scenario."""
    releases: int
    """How many answers it is made with."""

    @classmethod
    def of(cls, answers: Answers, names: Sequence[str], prior: Prior = None) -> Self:
        """Return the estimates of one question's statistics, from the answers to all.

        Args:
            answers: the questions of the dataset.
            names: what to call the statistics of the question.
            prior: the probability of each scenario; the same for all when not given.
        """
        known = answers.known(prior)
        noises = [answers.noises[place] for place in answers.answered]
        found, own = known.estimate(answers.numbers(), noise_side_by_side(noises)), answers.own

        def named(numbers: Mapping[str, Any]) -> dict[str, Any]:
            return dict(zip(names, list(numbers.values())[own], strict=True))

        return cls(
            values=named(found.named),
            intervals=named(found.intervals),
            fit=known.fit(answers.numbers(), noises),
            public_means=named(dict(zip(known.names, known.mean.tolist(), strict=True))),
            public_errors=named(known.errors),
            prior=known.prior,
            releases=len(noises),
        )

    @property
    def errors(self) -> dict[str, float]:
        """The root mean square error of each estimate."""
        return {name: (high - low) / 2 / HALF_WIDTH for name, (low, high) in self.intervals.items()}

    def renamed(self, names: Mapping[str, str]) -> Self:
        """Return the same with the statistics, and their order, by other names.

        Args:
            names: for every new name the old one.
        """

        def called(numbers: Mapping[str, Any]) -> dict[str, Any]:
            return {new: numbers[old] for new, old in names.items()}

        return evolve(
            self,
            values=called(self.values),
            intervals=called(self.intervals),
            public_means=called(self.public_means),
            public_errors=called(self.public_errors),
        )

    def shown(self) -> dict[str, Any]:
        """Return what is written down of it."""
        distance = self.fit.distance
        return {
            "estimates": self.values,
            "estimate_intervals": self.intervals,
            "fit": FitRecord(
                p_value=self.fit.p_value,
                distance=distance if math.isfinite(distance) else None,
                dimension=self.fit.dimension,
                releases=self.releases,
                fits=self.fit.fits,
                sentence=self.fit.sentence,
            ),
            "public_means": self.public_means,
            "public_errors": self.public_errors,
        }

    @classmethod
    def read(cls, written: Mapping[str, Any]) -> Self:
        """Return what was written down; without a prior where there is none."""
        fit = written["fit"]
        distance = math.inf if fit["distance"] is None else fit["distance"]
        return cls(
            values=dict(written["estimates"]),
            intervals={name: (low, high) for name, (low, high) in written["estimate_intervals"].items()},
            fit=Fit(distance=distance, dimension=fit["dimension"], p_value=fit["p_value"]),
            public_means=dict(written["public_means"]),
            public_errors=dict(written["public_errors"]),
            prior=dict(written.get("prior", {})),
            releases=fit["releases"],
        )


def estimates_of(
    values: Mapping[str, float],
    mechanism: AdditiveMechanism,
    model: QueryModel,
    earlier: EarlierReleases,
    prior: Prior = None,
) -> Estimates:
    """Return the estimates of a release, from its answer and all others of the dataset.

    Args:
        values: its answer.
        mechanism: its noise.
        model: the model of its statistics, in the mechanism's order.
        earlier: the other questions, and their answers.
        prior: the probability of each scenario.
    """
    found = Estimates.of(_answers(values, mechanism, model, earlier), mechanism.statistics, prior)
    return found.renamed({name: name for name in values})


def with_covariance(
    values: Mapping[str, float],
    mechanism: AdditiveMechanism,
    model: QueryModel,
    earlier: EarlierReleases,
    prior: Prior = None,
) -> tuple[PublicKnowledge, Estimate]:
    """Return what is public of a release's statistics, and its estimates with the covariance of their errors.

    Args:
        values: its answer.
        mechanism: its noise.
        model: the model of its statistics, in the mechanism's order.
        earlier: the other questions, and their answers.
        prior: the probability of each scenario.
    """
    return _answers(values, mechanism, model, earlier).with_covariance(mechanism.statistics, prior)


def _answers(
    values: Mapping[str, float], mechanism: AdditiveMechanism, model: QueryModel, earlier: EarlierReleases
) -> Answers:
    others = earlier.releases
    own: tuple[float, ...] | None = tuple(values[name] for name in mechanism.statistics)
    return Answers(
        model=earlier.stack(model),
        noises=earlier.in_place([past.noise for past in others], mechanism.noise),
        values=earlier.in_place([past.values for past in others], own),
        place=len(others) if earlier.place is None else earlier.place,
    )


def _part(known: PublicKnowledge, positions: Sequence[int]) -> PublicKnowledge:
    """Return what is known of some of the statistics."""
    kept = list(positions)
    return evolve(
        known,
        names=tuple(known.names[position] for position in kept),
        means=known.means[:, kept],
        covariances=known.covariances[:, kept][:, :, kept],
    )
