"""What a mechanism knows of the data: the law of the released statistics in every scenario, and nothing else."""

import zlib
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

import numpy as np
from attrs import field, frozen

from distpriv.errors import InvalidModel
from distpriv.framework.arrays import Floats, array_field, correlations
from distpriv.framework.domains import did_you_mean, items, one_of
from distpriv.framework.html import details, html_table, paragraph, shown
from distpriv.modelling.drawing import Drawing, Missing, Reference, checked_draws, checked_seed

if TYPE_CHECKING:
    from distpriv.framework.queries import Query
    from distpriv.framework.scenarios import Pair, Scenario
    from distpriv.modelling.coupling import Pairing
    from distpriv.modelling.simulator import RowSimulator

__all__ = [
    "FEWEST_ROWS",
    "NORMAL",
    "OF_SAMPLED_LAWS",
    "Provenance",
    "QueryDistribution",
    "QueryModel",
    "SampledStratum",
    "error_of_means",
    "require_model",
    "root_of",
]


OF_SAMPLED_LAWS = 9.0
"""The kurtosis that is taken for rows whose statistics are no sums over rows: that of an exponential law."""

NORMAL = 3.0
"""The kurtosis of a normal law: what rows are too few to tell, and the least that is taken."""

FEWEST_ROWS = 2
"""Of a stratum: a single row tells nothing of how much others differ from it."""


@frozen(kw_only=True)
class QueryDistribution:
    """f_θ, the law of F(Data) in one scenario: its mean and covariance, and its points where it is known by them.

    >>> import distpriv as dp
    >>> model = dp.empirical_model(samples={"a": [1, 2, 3], "b": [2, 3, 4]}, pairs=[("a", "b")])
    >>> law = model.distributions["b"]
    >>> import numpy as np
    >>> law.mean, law.covariance.round(4), law.points.ravel(), law.draw(np.random.default_rng(0), draws=5).shape
    (array([3.]), array([[0.6667]]), array([2., 3., 4.]), (5, 1))
    """

    mean: Floats = array_field()
    """μ_θ."""
    covariance: Floats = array_field()
    """Σ_θ."""
    points: Floats | None = array_field(optional=True)
    """The values that the statistics can have, or sampled ones, one a row."""
    weights: Floats | None = array_field(optional=True)
    """The probability of each point; all the same when there are points and no weights."""
    lattice: Floats | None = array_field(optional=True)
    """A basis, as columns, of the lattice the statistics live on together; that of the model's steps if not known."""

    def draw(self, rng: np.random.Generator, draws: int) -> Floats:
        """Draw from the points, or from the Gaussian with these moments when there are none."""
        if self.points is not None:
            chance = None if self.weights is None else self.weights / self.weights.sum()
            return np.asarray(self.points[rng.choice(len(self.points), size=draws, p=chance)])
        values, vectors = np.linalg.eigh(self.covariance)
        normal = rng.normal(size=(draws, len(self.mean))) * np.sqrt(np.maximum(values, 0.0))
        return np.asarray(self.mean + normal @ vectors.T)


def root_of(covariance: Floats) -> Floats:
    """Return R with RRᵀ the covariance, whatever its units."""
    units, correlation = correlations(covariance)
    values, vectors = np.linalg.eigh(correlation)
    return np.asarray(units[:, np.newaxis] * ((vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T))


@frozen(kw_only=True)
class SampledStratum:
    """Rows of the reference that datasets are drawn from, seen as a sample of more such rows.

    >>> stratum = SampledStratum(kind="rows", rows=400, covariance=[[4.0]], kurtoses=[3.0], drawn={"a": 40, "b": 60})
    >>> stratum.error
    array([[0.01]])
    """

    kind: str
    """What rows they are, in words."""
    rows: int
    """How many the reference has: N."""
    covariance: Floats = array_field()
    """V, the covariance of what one row adds to the statistics."""
    kurtoses: Floats = array_field()
    """Of what a row adds to each statistic, at least 3: the relative variance of its variance is κ − 1 over N."""
    drawn: Mapping[str, int]
    """How many such rows the datasets of each scenario have."""
    family: str | None = None
    """Of rows with weights: which property gives them these, or which rows they are where a column does.

    The errors of one family go together.
    """
    loads: Floats | None = array_field(optional=True)
    """Of rows with weights: L, where the error of the mean is Lz with independent normal z, the same for a family."""

    @property
    def error(self) -> Floats:
        """The covariance of the error of the mean of what one row adds: V/N, or that of weighted rows."""
        return np.asarray(self.covariance / self.rows if self.loads is None else self.loads @ self.loads.T)


def error_of_means(strata: Iterable[SampledStratum], scenario: str, dimension: int) -> Floats:
    r"""Return the covariance of the error of μ_θ: :math:`\sum_s k_s^2 V_s / N_s`, and nothing of a population."""
    nothing = np.zeros((dimension, dimension))
    return np.asarray(sum((s.drawn.get(scenario, 0) ** 2 * s.error for s in strata), nothing))


@frozen(kw_only=True)
class Provenance:
    """How a model was made.

    >>> import distpriv as dp
    >>> model = dp.gaussian_model(means={"a": [0], "b": [1]}, covariances=[[1]], pairs=[("a", "b")])
    >>> model.provenance.method, model.provenance.records, model.provenance.draws, model.provenance.seed
    ('given moments', None, None, None)
    >>> model.provenance.replacement, model.provenance.missing, model.provenance.reference
    (False, 'refuse', 'population')
    """

    method: str
    """``"exact moments"``, ``"sampling"``, ``"given moments"`` or ``"given points"``."""
    records: int | None = None
    """How many records the private dataset has."""
    drawing: Drawing = field(factory=Drawing)
    """How datasets are drawn, whether or not they were for this model."""
    draws: int | None = None
    """How many datasets were sampled; none for exact moments."""
    sources: tuple[str, ...] = ()
    """The tables that records are drawn from, in words."""

    @property
    def replacement(self) -> bool:
        """Whether the same reference row may be in a dataset twice."""
        return self.drawing.replacement

    @property
    def missing(self) -> Missing:
        """What was done about nulls and NaN."""
        return self.drawing.missing

    @property
    def reference(self) -> Reference:
        """Whether the reference rows are a sample of the population, or all of it; laws that are given are exact."""
        return self.drawing.reference

    @property
    def seed(self) -> int | None:
        """Of the sampled datasets; none for exact moments."""
        return None if self.draws is None else self.drawing.seed


@frozen(kw_only=True, repr=False)
class QueryModel:
    """The released statistics' law in every scenario, the protected pairs, and the statistics' lattice.

    Made by `distpriv.model`, `distpriv.gaussian_model` or `distpriv.empirical_model`.

    >>> import distpriv as dp
    >>> query = dp.Query(age=dp.mean("age"), women=dp.count("sex = 'Female'"))
    >>> secret = dp.Share("income = '>50K'", values=(0.4, 0.5))
    >>> model = dp.model(dp.datasets.adult(), query, secret, records=50)
    >>> model.names, model.dimension, model.steps, model.provenance.method
    (('age', 'women'), 2, array([0.02, 1.  ]), 'exact moments')
    >>> model.protected_pairs[0]
    ("income = '>50K' @ 0.4", "income = '>50K' @ 0.5")
    >>> model.distributions["income = '>50K' @ 0.4"].mean.round(2)
    array([39.65, 14.47])
    >>> model.record_sensitivities
    array([1.46, 1.  ])
    >>> model.mean_shift(model.protected_pairs[0]).round(2), model.floor.round(2)
    (array([-0.73,  1.17]), array([0.18, 1.  ]))
    >>> model.samples("income = '>50K' @ 0.4", draws=1000).shape, model.rows().is_sampled
    ((1000, 2), False)
    """

    names: tuple[str, ...]
    """The names of the released numbers, in order."""
    distributions: Mapping[str, QueryDistribution]
    """f_θ of every scenario, by its name."""
    protected_pairs: "tuple[Pair, ...]"
    """The ordered pairs of scenarios that must look alike, both orders of each."""
    steps: Floats = array_field()
    """The spacing of each statistic's values; 0 for one that is continuous."""
    provenance: Provenance
    """How the model was made."""
    record_sensitivities: Floats = array_field()
    """How much one record can move each statistic at most; infinite where nothing bounds it."""
    query: "Query | None" = None
    """The statistics, where the model was made from rows."""
    scenarios: "Mapping[str, Scenario]" = field(factory=dict)
    """What each scenario is, where the model was made from rows."""
    strata: tuple[SampledStratum, ...] = ()
    """What the reference is a sample of; empty where it is the population, and for laws that are given."""
    simulator: "RowSimulator | None" = field(default=None, eq=False)
    """What draws datasets, where the model was made from rows."""

    @property
    def dimension(self) -> int:
        """How many numbers are released: m."""
        return len(self.names)

    @property
    def floor(self) -> Floats:
        """The least standard deviation h of noise along each statistic against which its lattice is fine.

        A statistic that is finer than a hundredth of its own deviation counts as continuous. Where the rows are known
        noise is a tenth of it at least: what they show below that, no search for resonances could find in time.
        """
        share = 0.1 if self.provenance.method == "exact moments" else 0.01
        variances = np.max([np.diag(law.covariance) for law in self.distributions.values()], axis=0)
        return np.asarray(np.maximum(self.steps, share * np.sqrt(np.maximum(variances, 0.0))))

    def mean_shift(self, pair: "Pair") -> Floats:
        """Return d_ij = μ_i − μ_j, of any two scenarios."""
        one, other = self._pair(pair)
        return np.asarray(self.distributions[one].mean - self.distributions[other].mean)

    def samples(self, scenario: str, draws: int, seed: int = 0) -> Floats:
        """Draw released statistics before noise: from reference rows if the model has them, else from f_θ itself.

        Args:
            scenario: the name of a scenario.
            draws: how many datasets to draw.
            seed: the same seed gives the same numbers.

        Returns:
            An array of shape (draws, m).
        """
        distribution = self._distribution(scenario)
        draws, seed = checked_draws(draws, at_least=1), checked_seed(seed)
        if self.simulator is not None:
            return self.simulator.samples(scenario, draws, seed)
        sequence = np.random.SeedSequence(seed, spawn_key=(zlib.crc32(scenario.encode()),))
        return distribution.draw(np.random.Generator(np.random.PCG64(sequence)), draws)

    def coupled_samples(
        self, pair: "Pair", draws: int, seed: int = 0, *, pairing: "Pairing" = "independent"
    ) -> tuple[Floats, Floats]:
        """Draw both scenarios' statistics from datasets that share all rows but those that must differ.

        Args:
            pair: the names of two scenarios of one Share, or of one property.
            draws: how many pairs of datasets to draw.
            seed: the same seed gives the same numbers.
            pairing: whether swapped rows are drawn independently or paired by optimal transport.

        Returns:
            Two arrays of shape (draws, m); row k of one belongs to row k of the other.

        Forty of fifty rows are the same, so the counts differ by the other ten at most:

        >>> import distpriv as dp
        >>> query, secret = dp.Query(women=dp.count("sex = 'Female'")), dp.Share("income = '>50K'", values=(0.4, 0.6))
        >>> model = dp.model(dp.datasets.adult(), query, secret, records=50)
        >>> one, other = model.coupled_samples(model.protected_pairs[0], draws=1000)
        >>> one.shape, bool(0 < abs(one - other).max() <= 10), bool(one.std() > 2)
        ((1000, 1), True, True)
        """
        pair, draws, seed = self._pair(pair), checked_draws(draws, at_least=1), checked_seed(seed)
        one_of("pairing", pairing, ("independent", "transport"), InvalidModel)
        return self.rows().coupled_samples(pair, draws, seed, pairing)

    def rows(self) -> "RowSimulator":
        """Return the closure over the reference rows, or say that there are none."""
        if self.simulator is None:
            raise InvalidModel("coupled samples need rows, and this model has none: make it with distpriv.model(…).")
        return self.simulator

    def _pair(self, pair: "Pair") -> "Pair":
        names = items(pair)
        if len(names) != 2:
            raise InvalidModel(f"a pair is two names of scenarios, got {pair!r}: write ('boom', 'bust').")
        for name in names:
            self._distribution(name)
        return names[0], names[1]

    def _distribution(self, scenario: str) -> QueryDistribution:
        if not isinstance(scenario, str) or scenario not in self.distributions:
            raise InvalidModel(f"there is no scenario {scenario!r}: {did_you_mean(str(scenario), self.distributions)}")
        return self.distributions[scenario]

    def _repr_html_(self) -> str:
        means = np.array([law.mean for law in self.distributions.values()])
        deviations = np.sqrt([np.diag(law.covariance) for law in self.distributions.values()])
        rows = [
            [name, f"{step:.4g}", *(f"{of.min():.5g} to {of.max():.5g}" for of in (mean, deviation))]
            for name, step, mean, deviation in zip(self.names, self.steps, means.T, deviations.T, strict=True)
        ]
        pairs = [" against ".join(pair) for pair in self.protected_pairs[::2][:30]]
        caption = f"{self.dimension} statistics in {len(means)} scenarios, by {self.provenance.method}"
        return shown(
            html_table(caption, ["statistic", "step", "mean", "standard deviation"], rows[:30]),
            paragraph(f"and {len(rows) - 30:,} more statistics") if len(rows) > 30 else "",
            details(f"{len(self.protected_pairs)} protected pairs, both orders of each", pairs),
        )

    def __repr__(self) -> str:
        return (
            f"<QueryModel of {self.dimension} statistics in {len(self.distributions)} scenarios with "
            f"{len(self.protected_pairs)} protected pairs, by {self.provenance.method}>"
        )


def as_they_are(differences: Floats) -> Floats:
    """Keep all of the differences."""
    return differences


def require_model(model: object) -> None:
    """Refuse what is no model."""
    if not isinstance(model, QueryModel):
        raise InvalidModel(f"a model is needed, got {model!r}: make one with distpriv.model(…).")
