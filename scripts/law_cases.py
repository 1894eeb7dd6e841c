"""Hold certificates at trust gaussian against exact laws: random cases of one to three statistics, real and made up.

Usage: python -m scripts.law_cases FIRST LAST FILE     (seeds; one line of JSON a certificate, a minute for ten cases)
       python -m scripts.law_cases page BEFORE AFTER   (docs/images/law_cases.json and the table of the page)

BEFORE is what the same seeds give with a version that does not look at the rows.
"""

import json
import math
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
from attrs import frozen
from numpy.typing import NDArray

import distpriv as dp
from distpriv.framework.arrays import Floats
from distpriv.noise.laws import Noise

DOCS = Path(__file__).parents[1] / "docs"
NUMBERS, PAGE = DOCS / "images" / "law_cases.json", DOCS / "proofs" / "law_check.md"

ROWS = 3000
"""Of each stratum."""

REACH = 8.5
"""Standard deviations to each side, beside outlying rows."""

DECAYED = 7.2
"""Frequencies in units of 1/σ beyond which a Gaussian has no digit left that matters."""

MOST = {1: 10**6, 2: 420, 3: 62}
"""The most frequencies an axis may need, by how many statistics there are; beyond that a case is not judged."""

MECHANISMS = ("certified_gaussian", "certified_laplace", "informative_gaussian")

Made = Callable[[np.random.Generator, Floats], Floats]

MADE_UP: dict[str, Made] = {
    "lognormal": lambda rng, g: np.exp(rng.normal(0, rng.uniform(0.3, 1.5), len(g))) * (1 + rng.uniform(0, 0.5) * g),
    "zero-inflated": lambda rng, g: np.where(
        rng.random(len(g)) < rng.uniform(0.02, 0.3) * (1 + 0.3 * g), rng.exponential(1, len(g)) + rng.uniform(0, 3), 0.0
    ),
    "pareto": lambda rng, g: np.minimum((1 - rng.random(len(g))) ** (-1 / rng.uniform(2, 5)), 50.0) * (1 + 0.2 * g),
    "near a lattice": lambda rng, g: (
        10.0 * rng.integers(0, rng.integers(2, 6), len(g))
        + rng.normal(0, rng.uniform(0.01, 0.6), len(g))
        + rng.uniform(0, 5) * g
    ),
    "prices": lambda rng, g: rng.integers(1, rng.integers(4, 40), len(g)) - 0.01 * g,
    "rare": lambda rng, g: (rng.random(len(g)) < rng.uniform(0.002, 0.05) * (1 + g)).astype(np.float64),
    "two humps": lambda rng, g: (
        rng.normal(0, 1, len(g)) + np.where(rng.random(len(g)) < 0.3 + 0.2 * g, rng.uniform(3, 10), 0.0)
    ),
    "normal": lambda rng, g: rng.normal(0, 1, len(g)) + 0.3 * g,
}
"""Columns of rows of two groups."""

REAL = {
    "age": "age",
    "hours": "hours_per_week",
    "schooling": "education_num",
    "gain": "capital_gain",
    "loss": "capital_loss",
    "never married": "marital_status = 'Never-married'",
    "women": "sex = 'Female'",
    "doctors": "education = 'Doctorate'",
    "farmers": "occupation = 'Farming-fishing'",
}
SECRETS = ("income = '>50K'", "workclass = 'Private'")


@frozen(kw_only=True)
class Case:
    """A model, its target, and the rows behind it, with how many of the first kind both scenarios have."""

    kind: str
    model: dp.QueryModel
    target: dp.PrivacyTarget
    strata: tuple[Floats, Floats]
    positives: tuple[int, int]
    records: int


def case_of(seed: int) -> Case:
    """Return a random case, drawn with replacement so that its law is a power of that of one row."""
    rng = np.random.default_rng(seed)
    size = int(rng.choice([1, 2, 3], p=[0.4, 0.5, 0.1]))
    records = int(rng.choice([10, 20, 40, 100, 300, 1000, 10_000]))
    share, apart = float(rng.choice([0.1, 0.3, 0.5])), float(rng.choice([0.1, 0.2, 0.4]))
    target = dp.PrivacyTarget(epsilon=float(rng.choice([0.2, 1.0, 3.0])), delta=float(rng.choice([1e-2, 1e-3, 1e-5])))
    kind, columns, group = _real(rng, size) if rng.random() < 0.5 else _made_up(rng, size)
    query = dp.Query({name: _statistic(name, values) for name, values in columns.items()})
    secret = dp.Share("g = 1", values=(share, share + apart))
    model = dp.model(
        pa.table({**columns, "g": group}), query, secret, records=records, replacement=True, reference="population"
    )
    factors = query.factors(records) / records
    rows = np.column_stack(list(columns.values())) * factors
    return Case(
        kind=kind,
        model=model,
        target=target,
        strata=(rows[group == 1], rows[group == 0]),
        positives=(round(records * share), round(records * (share + apart))),
        records=records,
    )


def _statistic(name: str, values: Floats) -> Any:
    return dp.count(f"{name} = 1") if set(np.unique(values)) <= {0.0, 1.0} else dp.mean(name)


def _real(rng: np.random.Generator, size: int) -> tuple[str, dict[str, Floats], Floats]:
    names = [str(name) for name in rng.choice(list(REAL), size, replace=False)]
    secret = str(rng.choice(SECRETS))
    asked = ", ".join(f"cast({REAL[name]} as double)" for name in names)
    with duckdb.connect() as database:
        database.register("adult", dp.datasets.adult())
        table = database.sql(f"select {asked}, cast({secret} as int) from adult").to_arrow_table()
    read = [column.to_numpy() for column in table.columns]
    picked = np.concatenate([rng.choice(np.flatnonzero(read[-1] == side), ROWS, replace=False) for side in (0, 1)])
    columns = {f"x{k}": values[picked].astype(np.float64) for k, values in enumerate(read[:-1])}
    return " + ".join(names), columns, read[-1][picked].astype(np.float64)


def _made_up(rng: np.random.Generator, size: int) -> tuple[str, dict[str, Floats], Floats]:
    group = np.repeat([0.0, 1.0], ROWS)
    kinds = [str(kind) for kind in rng.choice(list(MADE_UP), size)]
    columns = {f"x{k}": MADE_UP[kind](rng, group).astype(np.float64) for k, kind in enumerate(kinds)}
    if size > 1 and rng.random() < 0.4:
        columns["x1"] = columns["x1"] + rng.uniform(-1, 1) * columns["x0"]
    return " + ".join(kinds), columns, group


def exact_delta(case: Case, noise: Noise) -> float | None:
    """Return δ by Fourier's series of both laws, where Gaussian noise is independent; None if it is too fine."""
    turn, fine = _coordinates(case, noise)
    rows = [stratum @ turn.T for stratum in case.strata]
    centred = [of - of.mean(axis=0) for of in rows]
    means = [n * rows[0].mean(axis=0) + (case.records - n) * rows[1].mean(axis=0) for n in case.positives]
    outlying = max(float(np.abs(of).max()) for of in centred)
    half = REACH + np.abs(means[0] - means[1]) / 2 + min(3 * outlying, 30.0)
    counts = np.ceil(DECAYED / np.sqrt(fine) * half / np.pi).astype(int)
    if counts.max() > MOST[len(fine)]:
        return None
    axes = [np.arange(-count, count + 1) * np.pi / reach for count, reach in zip(counts, half, strict=True)]
    hidden = _noise_transform(noise, turn, fine, axes)
    one, other = (_transform(of, axes) for of in centred)
    densities = []
    for n, mean in zip(case.positives, means, strict=True):
        phases = [np.exp(1j * axis * place) for axis, place in zip(axes, mean - (means[0] + means[1]) / 2, strict=True)]
        law = one**n * other ** (case.records - n) * hidden * _outer(phases)
        densities.append(_density(law, half))
    odds = math.exp(case.target.epsilon)
    cell = float(np.prod(2 * half)) / densities[0].size
    return max(float(np.maximum(p - odds * q, 0.0).sum()) * cell for p, q in (densities, densities[::-1]))


def _coordinates(case: Case, noise: Noise) -> tuple[Floats, Floats]:
    """Return rows that turn statistics into coordinates of unit variance with independent Gaussian noise, and that."""
    spread = np.mean([law.covariance for law in case.model.distributions.values()], axis=0)
    inverse = np.linalg.inv(np.linalg.cholesky(spread + noise.covariance))
    values, vectors = np.linalg.eigh(inverse @ noise.gaussian.covariance @ inverse.T)
    return np.asarray(vectors.T @ inverse), np.maximum(values, 1e-12)


def _noise_transform(noise: Noise, turn: Floats, fine: Floats, axes: Sequence[Floats]) -> Floats:
    grid = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1)
    laplace = (turn @ noise.laplace_axes) * noise.laplace_scales
    return np.asarray(np.exp(-(grid**2 @ fine) / 2) / np.prod(1 + (grid @ laplace) ** 2, axis=-1))


def _transform(rows: Floats, axes: Sequence[Floats]) -> NDArray[np.complex128]:
    """Return the mean of e^{itᵀx} on the grid of frequencies: a product of matrices, as it factorises for each row."""
    first, *others = (np.exp(1j * np.outer(axis, rows[:, k])) for k, axis in enumerate(axes))
    if not others:
        return np.asarray(first.mean(axis=1))
    if len(others) == 1:
        return np.asarray(first @ others[0].T / len(rows))
    return np.stack([(turned * others[0]) @ others[1].T / len(rows) for turned in first])


def _outer(phases: Sequence[NDArray[np.complex128]]) -> NDArray[np.complex128]:
    found = phases[0]
    for phase in phases[1:]:
        found = found[..., np.newaxis] * phase
    return np.asarray(found)


def _density(law: NDArray[np.complex128], half: Floats) -> Floats:
    sizes = [max({1: 4096, 2: 1024, 3: 160}[law.ndim], 2 * length) for length in law.shape]
    padded = np.zeros(sizes, dtype=np.complex128)
    places = [np.arange(-(length // 2), length // 2 + 1) % size for length, size in zip(law.shape, sizes, strict=True)]
    padded[np.ix_(*places)] = np.conj(law)
    return np.asarray(np.fft.ifftn(padded).real * (padded.size / np.prod(2 * half)))


def judged(seed: int) -> list[dict[str, Any]]:
    """Return what mechanisms claim in a case at trust gaussian, and what is true."""
    case, found = case_of(seed), []
    for name in MECHANISMS:
        made = getattr(dp.mechanisms, name)(case.model, case.target)
        told = made.certificate.holds_at("gaussian")
        found.append(
            {
                "seed": seed,
                "kind": case.kind,
                "statistics": case.model.dimension,
                "records": case.records,
                "mechanism": made.name,
                "target": case.target.delta,
                "holds": told,
                "claimed": made.certificate.delta,
                "exact": exact_delta(case, made.noise) if told else None,
            }
        )
    return found


def recorded(found: Iterable[dict[str, Any]]) -> list[list[Any]]:
    """Return what is kept of certificates that hold at trust gaussian: seed, statistics, records, target, exact δ."""
    return [
        [each["seed"], each["mechanism"], each["statistics"], each["records"], each["target"], _rounded(each["exact"])]
        for each in found
        if each["holds"]
    ]


def _rounded(number: float | None) -> float | None:
    return None if number is None else float(f"{number:.4g}")


def table(numbers: Mapping[str, Sequence[Sequence[Any]]]) -> str:
    """Return how many certificates are false by how much, before and after, by how many statistics there are."""
    lines = [
        "| statistics | rows looked at | certificates | judged | above target by 2 % | by 10 % | by 2x | worst |",
        "|---|---|" + "---:|" * 6,
    ]
    sizes = sorted({each[2] for several in numbers.values() for each in several})
    for size in (*sizes, None):
        for name, several in numbers.items():
            own = [each for each in several if size in (None, each[2])]
            known = [each[5] / each[4] for each in own if each[5] is not None]
            missed = [str(sum(ratio > limit for ratio in known)) for limit in (1.02, 1.1, 2.0)]
            worst = f"{max(known, default=0.0):.3g}"
            cells = [str(size or "all"), name, str(len(own)), str(len(known)), *missed, worst]
            lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def filled(page: str, numbers: Mapping[str, Sequence[Sequence[Any]]]) -> str:
    """Return the page with its table made anew."""
    begin, end = "<!-- table: cases -->\n", "<!-- end -->"
    before, found, after = page.partition(begin)
    if not found:
        raise ValueError(f"the page has no place for the table: write {begin.strip()} and {end} there.")
    return before + begin + table(numbers) + "\n" + end + after.partition(end)[2]


def _lines(file: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in Path(file).read_text(encoding="utf-8").splitlines()]


if __name__ == "__main__":
    if sys.argv[1] == "page":
        made = {"no": recorded(_lines(sys.argv[2])), "yes": recorded(_lines(sys.argv[3]))}
        NUMBERS.write_text(json.dumps(made, separators=(",", ":")).replace("],[", "],\n["), encoding="utf-8")
        PAGE.write_text(filled(PAGE.read_text(encoding="utf-8"), made), encoding="utf-8")
    else:
        first, last, target = int(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3])
        with target.open("a") as file:
            for seed in range(first, last):
                for line in judged(seed):
                    print(json.dumps(line), file=file, flush=True)
