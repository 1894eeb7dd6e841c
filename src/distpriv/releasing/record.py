"""What is known of a release, as it is written down: release.json, and what is in it of models and certificates."""

import re
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, Final, Literal, Self

import numpy as np
from attrs import Attribute, evolve, field, frozen

from distpriv.errors import InvalidInput, InvalidModel
from distpriv.framework.arrays import Floats, array_field
from distpriv.framework.queries import Query
from distpriv.framework.records import Format
from distpriv.framework.scenarios import ProtectedScenarios
from distpriv.guarantees.certificate import Certificate
from distpriv.guarantees.drawn import Witness
from distpriv.modelling.drawing import Drawing
from distpriv.modelling.given import gaussian_model
from distpriv.modelling.model import Provenance, QueryModel, SampledStratum
from distpriv.noise.laws import NoiseLaw
from distpriv.releasing.joint import Questions

__all__ = [
    "CERTIFICATE",
    "FORMAT",
    "LIBRARIES",
    "NOISE",
    "RECORD",
    "WITNESS",
    "Attacker",
    "DrawnRecord",
    "EvidenceRecord",
    "FitRecord",
    "JointRecord",
    "LedgerPlace",
    "ModelRecord",
    "Moments",
    "ReadingRecord",
    "ReleaseRecord",
]

FORMAT: Final = "distpriv release 4"
"""What release.json begins with."""

LIBRARIES: Final = ("duckdb", "numpy", "opendp", "scipy", "sqlalchemy")
"""Whose versions a release tells, besides Python's."""

NOISE: Format[NoiseLaw] = Format(NoiseLaw)  # type: ignore[arg-type] # a union of classes
CERTIFICATE = Format(Certificate)
WITNESS: Format[Witness] = Format(Witness)  # type: ignore[arg-type]

Ends = tuple[float, float]

AGAIN = "give the file as it was written."


@frozen(kw_only=True)
class Moments:
    """What is known of the statistics in one scenario."""

    mean: Floats = array_field()
    covariance: Floats = array_field()
    lattice: Floats | None = array_field(optional=True)
    """A basis, one row for each statistic; null where moments were sampled."""


@frozen(kw_only=True)
class ModelRecord:
    """What a certificate rests on that does not follow from the policy: moments, steps and how the reference varies.

    >>> model = gaussian_model(means={"a": [0], "b": [1]}, covariances=[[2]], pairs=[("a", "b")], steps=[0.1])
    >>> ModelRecord.of(model).steps.tolist(), ModelRecord.of(model).scenarios["b"].mean.tolist()
    ([0.1], [1.0])
    """

    method: str
    """How the moments were found."""
    draws: int | None
    """How many datasets were sampled; null for exact moments."""
    statistics: tuple[str, ...]
    """Names, in the order of the moments and of the noise."""
    steps: Floats = array_field()
    """The spacing of the values of each; 0 for one that is continuous."""
    record_sensitivities: tuple[float | None, ...]
    """By how much one record can move each; null where nothing bounds it."""
    scenarios: Mapping[str, Moments]
    strata: tuple[SampledStratum, ...]
    """Of a reference that is a sample: how many rows each stratum has, and how they vary."""

    @classmethod
    def of(cls, model: QueryModel) -> Self:
        """Return what is written down of a model; neither rows nor points."""
        return cls(
            method=model.provenance.method,
            draws=model.provenance.draws,
            statistics=model.names,
            steps=model.steps,
            record_sensitivities=tuple(None if np.isinf(s) else s for s in model.record_sensitivities.tolist()),
            scenarios={
                name: Moments(mean=law.mean, covariance=law.covariance, lattice=law.lattice)
                for name, law in model.distributions.items()
            },
            strata=model.strata,
        )

    def model(self, query: Query | None, protected: ProtectedScenarios, drawing: Drawing) -> QueryModel:
        """Return the model of statistics that are drawn so, without its rows.

        Raises:
            InvalidModel: the moments are of other scenarios or statistics, or are no moments.
        """
        size, names = len(self.statistics), [*self.scenarios]
        if names != [*protected.scenarios] or (query is not None and query.names != self.statistics):
            raise InvalidModel(f"the moments are of other scenarios or statistics than the policy's: {AGAIN}")
        model = gaussian_model(
            means={name: moments.mean.tolist() for name, moments in self.scenarios.items()},
            covariances={name: moments.covariance.tolist() for name, moments in self.scenarios.items()},
            pairs=list(protected.pairs),
            steps=self.steps.tolist(),
            names=self.statistics,
        )
        arrays = [array for s in self.strata for array in (s.covariance, s.covariance.T, s.kurtoses, s.loads)]
        arrays += [moments.lattice for moments in self.scenarios.values()]
        sizes = {len(self.record_sensitivities), *(len(array) for array in arrays if array is not None)}
        if sizes != {size}:
            raise InvalidModel(f"this model is not described for {size} statistics: {AGAIN}")
        return evolve(
            model,
            protected_pairs=protected.pairs,
            distributions={
                name: evolve(law, lattice=_columns(self.scenarios[name].lattice, size))
                for name, law in model.distributions.items()
            },
            record_sensitivities=np.array([np.inf if s is None else s for s in self.record_sensitivities]),
            scenarios=protected.scenarios,
            strata=self.strata,
            query=query,
            provenance=Provenance(method=self.method, records=protected.records, drawing=drawing, draws=self.draws),
        )


def _columns(lattice: Floats | None, size: int) -> Floats | None:
    """Return a basis as columns, also where it has none."""
    return None if lattice is None else lattice.reshape(size, -1)


@frozen(kw_only=True)
class JointRecord:
    """All questions that a release was certified with, each in its place."""

    model: ModelRecord
    """Of all their statistics."""
    noises: tuple[NoiseLaw, ...]
    values: tuple[tuple[float, ...] | None, ...]
    """What every question was answered; null where it was not asked yet."""
    asked: tuple[Mapping[str, str] | None, ...]
    """What every question asks; null where that has no text."""
    releases: tuple[int | None, ...]
    """The position of every question's release; null for one that was declared and not asked yet."""

    def __attrs_post_init__(self) -> None:
        sizes = {len(each) for each in (self.noises, self.values, self.asked, self.releases)}
        answered = [number is not None for number in self.releases]
        if len(sizes) != 1 or len(self.noises) < 2 or answered != [answer is not None for answer in self.values]:
            raise InvalidInput(f"it is not said of every question what it asks, and its noise and answer: {AGAIN}")


@frozen(kw_only=True)
class DrawnRecord:
    """Histograms of coupled draws, or the exact law of the statistics; null for a certificate that rests on moments."""

    release: Witness | None
    joint: Witness | None


@frozen(kw_only=True)
class ReadingRecord:
    """How a row of the private table is read: clipped to these ends, and what is missing is `otherwise`."""

    statistic: str
    low: float | None
    high: float | None
    otherwise: float | None


@frozen(kw_only=True)
class EvidenceRecord:
    """What verify needs."""

    model: ModelRecord
    joint: JointRecord | None
    """All questions of the dataset; null for a first one that none were declared with."""
    drawn: DrawnRecord
    reading: tuple[ReadingRecord, ...]
    reference: Mapping[str, str]
    """A digest of the content of every scenario's table."""


@frozen(kw_only=True)
class FitRecord:
    """How plausible all answers are if the private data are like the reference."""

    p_value: float
    """How often answers would be as far from the public mean, or farther."""
    distance: float | None
    """From the public mean; null where it is infinite."""
    dimension: int
    releases: int
    """How many answers estimates are made with."""
    fits: bool
    """Whether the p-value is at least 0.001."""
    sentence: str


@frozen(kw_only=True)
class LedgerPlace:
    """Which ledger has a release, under which number, and the digest of its chain there."""

    id: str
    number: int
    head: str


@frozen(kw_only=True)
class Attacker:
    """How often the best attacker is right."""

    undefended: float
    """Without noise."""
    at_most: float
    """About this release."""
    together: float
    """About all releases so far together."""


def _time(_: Any, __: "Attribute[str]", value: str) -> None:
    try:
        time = datetime.fromisoformat(value)
    except ValueError:
        raise InvalidInput(f"{value!r:.60} is no time: {AGAIN}") from None
    if time.utcoffset() != timedelta(0) or time.isoformat(timespec="seconds") != value:
        raise InvalidInput(f"{value!r:.60} is no time in UTC: {AGAIN}")


_VERSION = re.compile(r"[0-9]+([.][0-9]+)*((a|b|rc|[.]post|[.]dev)[0-9]+)*([+][a-z0-9.]+)?")


def _version(_: Any, __: "Attribute[Any]", value: str | Mapping[str, str]) -> None:
    texts = [value] if isinstance(value, str) else [*value.values()]
    if not all(map(_VERSION.fullmatch, texts)):
        raise InvalidInput(f"a version is not written as versions are: {AGAIN}")


def _of_everything(_: Any, __: "Attribute[Any]", value: Mapping[str, str]) -> None:
    if tuple(value) != ("python", *LIBRARIES):
        raise InvalidInput(f"the versions are not of python, {', '.join(LIBRARIES)}: {AGAIN}")


def _digests(_: Any, __: "Attribute[Any]", value: Mapping[str, str]) -> None:
    if [*value] != sorted(value) or not all(re.fullmatch("[0-9a-f]{64}", digest) for digest in value.values()):
        raise InvalidInput(f"the manifest does not hold SHA-256 digests by the names of files: {AGAIN}")


@frozen(kw_only=True)
class ReleaseRecord:
    """A release with everything that it rests on: what release.json holds."""

    format: Literal["distpriv release 4"] = FORMAT
    distpriv: str = field(validator=_version)
    """The version that released."""
    dataset: str
    position: int
    """The number of this release among all of the dataset."""
    time: str = field(validator=_time)
    """When it was written down, in UTC."""
    values: Mapping[str, float]
    """The released numbers, as they were drawn."""
    intervals: Mapping[str, Ends]
    """For each number, where the true one is with a probability of 95 %."""
    estimates: Mapping[str, float]
    """The best guess at each number, from all answers and what is public."""
    estimate_intervals: Mapping[str, Ends]
    """For each number, where it is with a probability of 95 %, on average over the scenarios."""
    fit: FitRecord
    public_means: Mapping[str, float]
    """What is known of each number without any release."""
    public_errors: Mapping[str, float]
    """The root mean square error of each public mean."""
    mechanism: str
    noise: NoiseLaw
    """Its law; axes are rows."""
    certificate: Certificate
    """What is promised about this release."""
    joint_certificate: Certificate
    """What is promised about all releases so far."""
    questions: Questions
    """How the joint certificate is safe against questions that depend on answers."""
    ledger: LedgerPlace
    question: str | None
    """Which of the policy's releases it is; null where the policy has one."""
    display: Mapping[str, int | float]
    """The same numbers for people."""
    statistics: tuple[str, ...]
    """Names, in the order of the noise."""
    attacker: Attacker
    policy: Mapping[str, Any]
    """With every default filled in and nothing of where private things are."""
    versions: Mapping[str, str] = field(validator=[_version, _of_everything])
    """Of Python and the libraries."""
    manifest: Mapping[str, str] = field(validator=_digests)
    """The SHA-256 of every other file of the bundle."""
    tables: Mapping[str, tuple[Mapping[str, Any], ...]]
    """The cells of every table: estimates that could be true, with their intervals; none where a mean is not told."""
    evidence: EvidenceRecord


RECORD = Format(ReleaseRecord)
