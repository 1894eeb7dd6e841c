"""How often noise misses its δ where the reference is a sample, and what allowing for that costs.

References are random rows of the Adult data, and noise is judged on the moments of all of them. Each run is a line of
JSON.

Usage: python -m scripts.reference_sizes 0 100 "the plan's choice" > runs.jsonl     (an hour)
       python -m scripts.reference_sizes page runs.jsonl
"""

import json
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from attrs import evolve

import distpriv as dp
from distpriv.guarantees.mechanism import AdditiveMechanism
from distpriv.guarantees.reference_sample import relative_errors
from distpriv.guarantees.upper_bound import delta_upper_bound

__all__ = ["NUMBERS", "PAGE", "filled", "recorded", "run", "runs"]

DOCS = Path(__file__).parents[1] / "docs"
NUMBERS, PAGE = DOCS / "images" / "reference_sizes.json", DOCS / "concepts" / "trust.md"
HOW, DELTA = ("sample", "population"), 1e-3

CHOICE = "the plan's choice"
SIZES = (500, 2_000, 10_000)
EPSILONS = (0.2, 1.0)
STATISTICS = {
    "age": dp.mean("age"),
    "education": dp.mean("education_num"),
    "hours": dp.mean("hours_per_week"),
    "never_married": dp.count("marital_status = 'Never-married'"),
    "female": dp.count("sex = 'Female'"),
    "gain": dp.mean("capital_gain"),
}
SECRETS = (dp.Share("income = '>50K'", values=(0.45, 0.55)), dp.Share("workclass = 'Private'", values=(0.45, 0.55)))
ALONG_A_LINE = ("certified_laplace", "certified_unimodal")
MECHANISMS = (CHOICE, "certified_gaussian", "certified_laplace")


def runs(first: int, last: int, mechanisms: Sequence[str] = MECHANISMS) -> Iterator[dict[str, Any]]:
    """Yield what every run found: sizes, mechanisms and kinds of questions in turn."""
    for number in range(first, last):
        for rows in SIZES:
            for mechanism in mechanisms:
                yield run(number, rows, mechanism)


def run(number: int, rows: int, mechanism: str) -> dict[str, Any]:
    """Return the noise for a random reference, taken for a sample and for the population, and δ on all of Adult."""
    adult, rng = dp.datasets.adult(), np.random.default_rng((rows, number))
    chosen = sorted(rng.choice(list(STATISTICS), 1 + number % 2, replace=False).tolist())
    query, secret = dp.Query({name: STATISTICS[name] for name in chosen}), SECRETS[number // 2 % 2]
    target = dp.PrivacyTarget(epsilon=EPSILONS[number // 4 % 2], delta=DELTA)
    drawn = adult.take(np.sort(rng.choice(adult.num_rows, rows, replace=False)))
    sample = dp.model(drawn, query, secret, records=100)
    whole = dp.model(adult, query, secret, records=100, reference="population")
    made = {"sample": sample, "population": evolve(sample, strata=()), "all rows": whole}
    first = dp.plan(sample, target, seed=1).mechanism if mechanism == CHOICE else None
    name_of = mechanism if first is None else first.name
    found = {
        name: first if first is not None and model is sample else _mechanism(name_of, model, target)
        for name, model in made.items()
    }
    return {
        "run": number,
        "rows": rows,
        "mechanism": mechanism,
        "statistics": chosen,
        "epsilon": target.epsilon,
        "standard_error": relative_errors(sample)[0].relative,
        "chosen": {name: law.name for name, law in found.items()},
        "noise": {name: law.noise.expected_rms for name, law in found.items()},
        "delta": {name: delta_upper_bound(whole, law, epsilon=target.epsilon) for name, law in found.items()},
    }


def _mechanism(name: str, model: dp.QueryModel, target: dp.PrivacyTarget) -> AdditiveMechanism:
    made: AdditiveMechanism = getattr(dp.mechanisms, name)(model, target)
    return made


def recorded(found: Iterable[Mapping[str, Any]]) -> list[list[Any]]:
    """Return what is kept of runs: rows, number, statistics, choice, noise over that of all rows, δ over its target."""
    return [
        [
            each["rows"],
            each["run"],
            each["statistics"],
            each["chosen"]["sample"],
            *(float(f"{each['noise'][how] / each['noise']['all rows']:.4g}") for how in HOW),
            *(float(f"{each['delta'][how] / DELTA:.4g}") for how in HOW),
        ]
        for each in found
    ]


def table(numbers: Sequence[Sequence[Any]]) -> str:
    """Return how often δ is missed, and the price, by the number of rows."""
    lines = [
        "| reference | runs | taken for the population: δ missed by 10 % | by 2x | worst "
        "| taken for a sample: by 10 % | by 2x | worst | noise along a line, median | 9 of 10 |",
        "|---|" + "---:|" * 9,
    ]
    for rows in SIZES:
        own = [each for each in numbers if each[0] == rows]
        cells = [f"{rows:,} rows", str(len(own))]
        for place in (7, 6):
            ratios = np.array([each[place] for each in own])
            cells += [str(int((ratios > limit).sum())) for limit in (1.1, 2.0)] + [f"{ratios.max():.3g}"]
        price = np.array([each[4] for each in own if each[3] in ALONG_A_LINE])
        cells += [f"× {np.quantile(price, share):.2f}" for share in (0.5, 0.9)]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def filled(page: str, numbers: Sequence[Sequence[Any]]) -> str:
    """Return the page with its table made anew."""
    begin, end = "<!-- table: sizes -->\n", "<!-- end -->"
    before, found, after = page.partition(begin)
    if not found:
        raise ValueError(f"the page has no place for the table: write {begin.strip()} and {end} there.")
    return before + begin + table(numbers) + "\n" + end + after.partition(end)[2]


if __name__ == "__main__":
    if sys.argv[1] == "page":
        lines = Path(sys.argv[2]).read_text(encoding="utf-8").splitlines()
        kept = recorded([each for each in map(json.loads, lines) if each["mechanism"] == CHOICE])
        NUMBERS.write_text(json.dumps(kept, separators=(",", ":")).replace("],[", "],\n["), encoding="utf-8")
        PAGE.write_text(filled(PAGE.read_text(encoding="utf-8"), kept), encoding="utf-8")
    else:
        for result in runs(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:] or MECHANISMS):
            sys.stdout.write(json.dumps(result) + "\n")
            sys.stdout.flush()
