"""Certificates against exact laws: what a table is, how it is judged, and random realistic tables.

Only the public functions of distpriv are used, so that the harness outlives every way to compute δ. To judge 400 tables
and print what was found: ``python -m tests.guarantees.soundness --tables 400``.
"""

import argparse
import math
import sys
import time
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any, Literal

import numpy as np
import pandas as pd
import pyarrow as pa
from attrs import evolve, field, frozen
from scipy.optimize import brentq
from scipy.special import ndtr
from scipy.stats import gamma, norm
from tests.guarantees.exact_laws import ExactDelta, Stratum, SumLaw, exact_deltas

import distpriv as dp
from distpriv.errors import DistprivError
from distpriv.framework.arrays import Floats

__all__ = ["MECHANISMS", "Case", "Table", "Verdict", "judged", "random_case"]

Kind = Literal["mean", "count", "total"]
Outcome = Literal["certified", "refused", "crashed"]
Made = Any
"""What a mechanism returns: noise and a certificate."""

ALLOWED = 1.02
"""By this factor the exact δ may be above the certified one, as Monte Carlo errors are part of some certificates."""

NOTHING = 1e-12
"""A δ below this is not judged."""


@frozen(kw_only=True, eq=False)
class Table:
    """Public rows, statistics and secret, together with the numbers that an oracle needs of every row."""

    source: pa.Table
    statistics: Mapping[str, tuple[Kind, str]]
    """What each statistic is of which expression."""
    numbers: Mapping[str, Floats]
    """The value of every expression on every row; of a predicate, 0 or 1."""
    secret: Any
    properties: Mapping[str, Floats]
    """What scenarios are about, as they are named: a predicate, 0 or 1 on every row, or mean(x), with x."""
    records: int
    replacement: bool = True
    weight: str | None = None
    views: tuple[Floats, ...] = ()
    """Combinations of the statistics that are judged, where there are more than three."""

    @classmethod
    def of(
        cls, columns: Mapping[str, Floats], statistics: Mapping[str, tuple[Kind, str]], secret: Any, **rest: Any
    ) -> "Table":
        """Return a table of numbers; predicates are written ``column = 1``, with numbers that are 0 or 1."""
        numbers = {**columns, **{f"{name} = 1": values for name, values in columns.items()}}
        means = {f"mean({name})": values for name, values in columns.items()}
        given = {"properties": {**numbers, **means}, "numbers": numbers, **rest}
        return cls(source=pa.table(dict(columns)), statistics=statistics, secret=secret, **given)

    @cached_property
    def model(self) -> dp.QueryModel:
        """The model, of a population that is known."""
        return dp.model(
            self.source,
            dp.Query({name: getattr(dp, kind)(text) for name, (kind, text) in self.statistics.items()}),
            self.secret,
            records=self.records,
            replacement=self.replacement,
            reference="population",
            weight=self.weight,
        )

    @cached_property
    def values(self) -> Floats:
        """What every row adds to the statistics."""
        columns = [
            np.asarray(self.numbers[text], dtype=np.float64) / (self.records if kind == "mean" else 1)
            for kind, text in self.statistics.values()
        ]
        return np.column_stack(columns)

    @cached_property
    def weights(self) -> Floats:
        """How much every row counts."""
        if self.weight is None:
            return np.ones(self.source.num_rows)
        return np.asarray(self.source[self.weight].to_numpy(), dtype=np.float64)

    def law(self, scenario: str) -> SumLaw:
        """Return the distribution of the statistics in a scenario, by its name alone."""
        what, value = scenario.rsplit(" @ ", 1)
        about = np.asarray(self.properties[what], dtype=np.float64)
        if what.startswith("mean("):
            tilted = self.weights * _tilt(about, self.weights, float(value))
            return SumLaw(strata=[self._stratum(np.ones(len(about), dtype=bool), self.records, tilted)])
        positives = round(float(value) * self.records)
        drawn = {True: positives, False: self.records - positives}
        return SumLaw(strata=[self._stratum((about == 1) == side, n, self.weights) for side, n in drawn.items() if n])

    def _stratum(self, rows: Any, drawn: int, weights: Floats) -> Stratum:
        return Stratum.of(self.values[rows], drawn, replacement=self.replacement, weights=weights[rows])


def _tilt(about: Floats, weights: Floats, value: float) -> Floats:
    """Return the exponential tilt under which a weighted mean has a value: of all, the nearest in relative entropy."""
    scaled = (about - value) / about.std()

    def tilted(rate: float) -> Floats:
        exponents = rate * scaled
        return np.asarray(np.exp(exponents - exponents.max()))

    reach = 1.0
    while weights @ (scaled * tilted(reach)) < 0 or weights @ (scaled * tilted(-reach)) > 0:
        reach *= 2
    return tilted(float(brentq(lambda rate: weights @ (scaled * tilted(rate)), -reach, reach, xtol=1e-13)))


def _named(name: str, **options: Any) -> Callable[[dp.QueryModel, dp.PrivacyTarget], Made]:
    return lambda model, target: getattr(dp.mechanisms, name)(model, target, **options)


MECHANISMS: dict[str, Callable[[dp.QueryModel, dp.PrivacyTarget], Made]] = {
    "certified_gaussian": _named("certified_gaussian"),
    "certified_gaussian, estimates": _named("certified_gaussian", objective="estimate"),
    "certified_laplace": _named("certified_laplace"),
    "exact_law": _named("exact_law"),
    "coupled_gaussian": _named("coupled_gaussian", draws=20_000, seed=1),
    "coupled_laplace": _named("coupled_laplace", draws=20_000, seed=1),
    "plan": lambda model, target: dp.plan(model, target, assurance="checked", processes=1).mechanism,
}


@frozen(kw_only=True, eq=False)
class Case:
    """A table, and what is asked of which mechanism."""

    name: str
    table: Table
    mechanism: str
    epsilon: float
    delta: float
    in_words: str = ""


@frozen(kw_only=True)
class Verdict:
    """What became of a case."""

    name: str
    in_words: str
    mechanism: str
    outcome: Outcome = "refused"
    seconds: float = 0.0
    """Of CPU, for the noise and its certificate."""
    claimed: float = 0.0
    exact: tuple[ExactDelta, ...] = field(default=(), repr=False)
    why: str = ""

    @property
    def least(self) -> float:
        """What δ is at least, by the oracle."""
        return max((each.least for each in self.exact), default=0.0)

    @property
    def ratio(self) -> float:
        """The exact δ over the certified one."""
        return self.least / max(self.claimed, NOTHING)

    @property
    def is_sound(self) -> bool:
        """Whether it is right, or refused."""
        return self.outcome != "crashed" and self.ratio <= ALLOWED

    def __str__(self) -> str:
        smoothing = max((each.smoothing for each in self.exact), default=0.0)
        figures = f"claimed {self.claimed:.3g}, exact {self.least:.3g} ({self.ratio:.2f}×), smoothing {smoothing:.2g}"
        said = figures if self.outcome == "certified" else f"{self.outcome}: {self.why}"
        return f"{self.name} [{self.mechanism}; {self.in_words}] {said}"


def judged(case: Case) -> Verdict:
    """Make the noise of a case, and hold what is certified against the exact law."""
    about = Verdict(name=case.name, in_words=case.in_words, mechanism=case.mechanism)
    started = time.process_time()
    try:
        model = case.table.model
        made = MECHANISMS[case.mechanism](model, dp.PrivacyTarget(epsilon=case.epsilon, delta=case.delta))
    except Exception as failure:
        outcome: Outcome = "refused" if isinstance(failure, DistprivError) else "crashed"  # a traceback is no answer
        why = f"{type(failure).__name__}: {failure}"
        return evolve(about, outcome=outcome, why=why, seconds=time.process_time() - started)
    about = evolve(about, seconds=time.process_time() - started)
    certificate = made.certificate
    if not certificate.holds_at("checked"):
        return evolve(about, why=f"delta {certificate.delta:.3g}, {certificate.assurance}")
    laws = laws_of(case.table)
    exact = [
        exact_deltas(laws, made.noise, certificate.epsilon, model.protected_pairs, view=view)
        for view in case.table.views or (None,)
    ]
    chosen = f"{case.mechanism} → {made.name}" if case.mechanism == "plan" else case.mechanism
    return evolve(about, mechanism=chosen, outcome="certified", claimed=certificate.delta, exact=tuple(exact))


def laws_of(table: Table) -> dict[str, SumLaw]:
    """Return the distribution of every scenario, which must have the moments that the model says."""
    laws = {name: table.law(name) for name in table.model.distributions}
    for name, law in laws.items():
        said = table.model.distributions[name]
        scale = np.sqrt(np.diag(said.covariance)) + 1e-9 * np.abs(said.mean) + 1e-12
        np.testing.assert_allclose(law.mean / scale, said.mean / scale, rtol=1e-7, atol=1e-4)
        np.testing.assert_allclose(
            law.covariance / np.outer(scale, scale), said.covariance / np.outer(scale, scale), atol=1e-4
        )
    return laws


# Random realistic tables.

OFTEN = ("normal", "lognormal", "gamma", "zeros", "heaped", "near lattice", "rare", "rare", "clustered", "level")
NUMBERS_OF_RECORDS = (10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000)


def _zeros(latent: Floats, rng: np.random.Generator) -> Floats:
    none = rng.uniform(0.5, 0.97)
    above = norm.ppf(np.clip((ndtr(latent) - none) / (1 - none), 1e-6, 1 - 1e-6))
    return np.where(ndtr(latent) < none, 0.0, np.round(50 * np.exp(rng.uniform(0.2, 1.0) * above)))


def _heaped(latent: Floats, rng: np.random.Generator) -> Floats:
    exact, unit = np.round(40 + 12 * latent), rng.choice([5, 10])
    return np.where(rng.random(len(latent)) < 0.7, unit * np.round(exact / unit), exact)


def _near_lattice(latent: Floats, rng: np.random.Generator) -> Floats:
    whole = 10 * np.round(rng.uniform(0.5, 2) * latent)
    return np.asarray(np.round(whole + rng.normal(0, rng.uniform(0.1, 1), len(latent)), 1))


def _clustered(latent: Floats, rng: np.random.Generator) -> Floats:
    centres = np.sort(rng.choice(np.arange(0, 200, 10), size=rng.integers(2, 5), replace=False))
    which = np.minimum((ndtr(latent) * len(centres)).astype(int), len(centres) - 1)
    return np.asarray(np.round(centres[which] + rng.normal(0, 2, len(latent))))


def _rare(latent: Floats, rng: np.random.Generator) -> Floats:
    return np.asarray(ndtr(latent) > 1 - 10 ** rng.uniform(math.log10(1 / 2000), math.log10(1 / 20)), dtype=float)


SHAPES: dict[str, Callable[[Floats, np.random.Generator], Floats]] = {
    "normal": lambda latent, _: np.round(50 + 10 * latent, 1),
    "lognormal": lambda latent, rng: np.round(20 * np.exp(rng.uniform(0.4, 1.4) * latent), 0),
    "gamma": lambda latent, rng: np.round(gamma(rng.uniform(0.3, 3)).ppf(ndtr(latent)) * 10, 1),
    "zeros": _zeros,
    "heaped": _heaped,
    "near lattice": _near_lattice,
    "rare": _rare,
    "clustered": _clustered,
    "level": lambda latent, rng: (ndtr(latent) > 1 - rng.uniform(0.1, 0.6)).astype(float),
}
"""Numbers of many shapes, which rise with a standard normal number."""


def random_table(rng: np.random.Generator) -> tuple[Table, str]:
    """Return a table and what it is, in words."""
    size = int(rng.choice([1, 2, 3], p=[0.3, 0.5, 0.2]))
    replacement = bool(rng.random() < 0.75)
    records = int(rng.choice(NUMBERS_OF_RECORDS if replacement else NUMBERS_OF_RECORDS[:5]))
    rows = int(10 ** rng.uniform(2.5, 3.3)) if replacement else int(rng.integers(6000, 12_000))
    hidden = rng.normal(size=rows)
    columns = {"g": (hidden > rng.uniform(-0.8, 0.8)).astype(float)}
    shapes: list[str] = []
    statistics: dict[str, tuple[Kind, str]] = {}
    for k in range(size):
        shape, slope = str(rng.choice(OFTEN)), rng.choice([0.1, 0.3, 0.6, 0.85])
        while True:
            latent = rng.choice([-1, 1]) * slope * hidden + math.sqrt(1 - slope**2) * rng.normal(size=rows)
            values = SHAPES[shape](latent, rng)
            if values.std() > 0:
                break
        columns[f"x{k}"] = values
        shapes.append(f"{shape} {slope:g}")
        kind: Kind = "mean" if rng.random() < 0.8 else "total"
        statistics[f"s{k}"] = ("count", f"x{k} = 1") if shape in ("rare", "level") else (kind, f"x{k}")
    secret, said = _random_secret(rng, columns, records, allow_mean=replacement)
    table = Table.of(columns, statistics, secret, records=records, replacement=replacement)
    drawn = "with" if replacement else "without"
    return table, f"{', '.join(shapes)}; {said}; {records} of {rows} rows {drawn} replacement"


def _random_secret(
    rng: np.random.Generator, columns: Mapping[str, Floats], records: int, *, allow_mean: bool
) -> tuple[Any, str]:
    chance = rng.random()
    if allow_mean and chance < 0.2:
        numbers = next((name for name, values in columns.items() if len(np.unique(values)) > 5), None)
        if numbers is not None:
            mean, spread = columns[numbers].mean(), columns[numbers].std() * rng.uniform(0.05, 0.5)
            values = (float(f"{mean - spread / 2:.4g}"), float(f"{mean + spread / 2:.4g}"))
            return dp.Mean(numbers, values=values), f"mean({numbers}) {values[0]:g}/{values[1]:g}"
    low = int(rng.integers(1, 7))
    if records <= 50 and chance > 0.75:
        secret = dp.Share("g = 1", between=(low / 10, (low + 2) / 10), within=0.1)
        return secret, f"share {low / 10:g} to {(low + 2) / 10:g} within 0.1"
    high = int(rng.integers(low + 1, 10))
    return dp.Share("g = 1", values=(low / 10, high / 10)), f"share {low / 10:g}/{high / 10:g}"


def random_case(seed: int) -> Case:
    """Return a realistic table, a mechanism, and a target."""
    rng = np.random.default_rng(seed)
    table, words = random_table(rng)
    names = list(MECHANISMS)
    mechanism = str(rng.choice(names, p=[0.17, 0.17, 0.3, 0.1, 0.06, 0.06, 0.14]))
    epsilon, delta = round(10 ** rng.uniform(-1, math.log10(5)), 2), float(f"{10 ** rng.uniform(-6, -2):.1e}")
    if mechanism == "exact_law" and len(table.statistics) > (2 if table.replacement else 1):  # takes a minute
        mechanism = "certified_laplace"
    if mechanism.startswith("coupled"):  # its few draws show no smaller one
        delta = max(delta, 2e-3)
    words = f"{words}; ε {epsilon:g}, δ {delta:g}"
    return Case(name=f"seed {seed}", table=table, mechanism=mechanism, epsilon=epsilon, delta=delta, in_words=words)


def main() -> None:
    """Judge random tables; print what became of those of each mechanism, and the worst cases."""
    parser = argparse.ArgumentParser(description="Judge certificates of random realistic tables by exact laws.")
    parser.add_argument("--tables", type=int, default=400)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--mechanism", choices=list(MECHANISMS), help="for every table, instead of a random one")
    asked = parser.parse_args()
    verdicts = []
    for seed in range(asked.first, asked.first + asked.tables):
        case = random_case(seed)
        verdicts.append(judged(evolve(case, mechanism=asked.mechanism or case.mechanism)))
    frame = pd.DataFrame(
        {
            "mechanism": [verdict.mechanism.split(" →")[0] for verdict in verdicts],
            "outcome": [verdict.outcome if verdict.is_sound else "false" for verdict in verdicts],
            "ratio": [verdict.ratio for verdict in verdicts],
            "seconds": [verdict.seconds for verdict in verdicts],
        }
    )
    worst = sorted(verdicts, key=lambda verdict: (verdict.is_sound, -verdict.ratio))[:20]
    groups = frame.groupby("mechanism").agg({"ratio": "max", "seconds": ["median", "max"]})
    counts = pd.crosstab(frame["mechanism"], frame["outcome"], margins=True)
    sys.stdout.write("\n\n".join([str(counts), str(groups), *map(str, worst), ""]))


if __name__ == "__main__":
    main()
