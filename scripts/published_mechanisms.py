"""Measure docs/images/published.json, published mechanisms on one dataset, and fill in docs/published_mechanisms.md.

Usage: python -m scripts.published_mechanisms [--fill]     (a minute and a half; with --fill only the page)
"""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from attrs import frozen
from scripts import published_formulas as formulas
from scripts.generated import replaced
from scripts.noise_numbers import DELTA, RECORDS, SEED, SHARES, model_of, rounded
from scripts.noise_picture import table

import distpriv as dp
from distpriv.guarantees.attack_accuracy import undefended_attack_accuracy
from distpriv.guarantees.lattice_floor import covers_floor
from distpriv.guarantees.upper_bound import delta_upper_bound
from distpriv.modelling.utility import OBJECTIVES, Objective
from distpriv.noise.laws import GaussianNoise, LaplaceNoise
from distpriv.planning.merit import Merit

DOCS = Path(__file__).parents[1] / "docs"
NUMBERS, PAGE = DOCS / "images" / "published.json", DOCS / "published_mechanisms.md"
EPSILONS = (0.2, 1.0, 5.0)
Numbers = dict[str, Any]
Found = GaussianNoise | LaplaceNoise | None
Formula = Callable[[dp.QueryModel, float, float, Objective], Found]
Cells = Callable[[Numbers], tuple[str, ...]]


@frozen(kw_only=True)
class Published:
    """A published mechanism, with the noise that its formula asks for."""

    name: str
    shape: str
    noise: Formula
    """Of a model, ε, δ and what to choose its shape for."""
    by_rows: bool = False
    """Whether its proof is about the rows, so that no lattice matters to it."""

    def noises(self, model: dp.QueryModel, epsilon: float) -> dict[Objective, Found]:
        """Return its noise, made for little noise and for good estimates where it can be made for either."""
        return for_objectives(self.shape, lambda objective: self.noise(model, epsilon, DELTA, objective))


def for_objectives(shape: str, noise: Callable[[Objective], Found]) -> dict[Objective, Found]:
    """Return noise for every objective: the same for all unless its shape is open."""
    if shape == BOTH:
        return {objective: noise(objective) for objective in OBJECTIVES}
    return dict.fromkeys(OBJECTIVES, noise("estimate"))


def isotropic(bound: formulas.Bound) -> Formula:
    """Return the least noise that passes a bound and is the same for all statistics."""
    return lambda model, epsilon, delta, _: formulas.least_gaussian(
        formulas.isotropic(model), bound(model, epsilon, delta)
    )


def along(bound: formulas.Bound) -> Formula:
    """Return the least noise along the shift only that passes a bound."""
    return lambda model, epsilon, delta, _: formulas.least_gaussian(
        formulas.along_shift(model), bound(model, epsilon, delta)
    )


def across(bound: formulas.Bound) -> Formula:
    """Return the least noise along the shift and across it that passes a bound."""
    return lambda model, epsilon, delta, objective: formulas.least_across(
        model, bound(model, epsilon, delta), objective
    )


def only(noise: Callable[[dp.QueryModel, float, float], Found]) -> Formula:
    """Return a formula that leaves nothing to choose."""
    return lambda model, epsilon, delta, _: noise(model, epsilon, delta)


RENYI, AVERAGED, MONGE = "Rényi, Gaussian priors", "Rényi, averaged over a coupling", "Kantorovich / Monge, Laplace"
NEAR, ROWS = "W∞ Gaussian, all but some of δ", "W∞ {}, by rows"
EVEN, LINE, BOTH = "isotropic", "along the shift", "along and across"

PUBLISHED = (
    Published(name=RENYI, shape=EVEN, noise=isotropic(formulas.renyi_passes)),
    Published(name=RENYI, shape=LINE, noise=along(formulas.renyi_passes)),
    Published(name=RENYI, shape=BOTH, noise=across(formulas.renyi_passes)),
    Published(name=AVERAGED, shape=EVEN, noise=isotropic(formulas.averaged_renyi_passes)),
    Published(name=AVERAGED, shape=BOTH, noise=across(formulas.averaged_renyi_passes)),
    Published(name=MONGE, shape=EVEN, noise=only(formulas.monge_laplace_isotropic)),
    Published(name=MONGE, shape=BOTH, noise=formulas.monge_laplace_across),
    Published(name=NEAR, shape=EVEN, noise=isotropic(formulas.near_passes)),
    Published(name=NEAR, shape=BOTH, noise=across(formulas.near_passes)),
    Published(name="W∞ Gaussian, for translations", shape=EVEN, noise=only(formulas.translation_gaussian)),
    Published(name=ROWS.format("Gaussian"), shape=EVEN, noise=only(formulas.wasserstein_gaussian), by_rows=True),
    Published(name=ROWS.format("Laplace"), shape=EVEN, noise=only(formulas.wasserstein_laplace), by_rows=True),
    Published(name="Attribute privacy, ε split", shape="each statistic", noise=only(formulas.attribute_privacy)),
)
"""What promises an (ε, δ)."""

Informed = Callable[[dp.QueryModel, float, Objective], GaussianNoise | None]
BY_INFORMATION: dict[tuple[str, str], Informed] = {
    ("PAC privacy", "ellipsoid"): lambda model, information, _: formulas.pac_noise(
        Merit.of(model).public.covariance, information
    ),
    ("Mutual information, variance bound", EVEN): lambda model, information, _: formulas.least_gaussian(
        formulas.isotropic(model), formulas.variance_bound_passes(model, information)
    ),
    ("Mutual information, computed", EVEN): lambda model, information, _: formulas.least_gaussian(
        formulas.isotropic(model), formulas.information_passes(model, information)
    ),
    ("Mutual information, computed", BOTH): formulas.informed_across,
}
"""What promises that a release tells at most so many nats."""


def on_the_floor(model: dp.QueryModel) -> dp.QueryModel:
    """Return the model of the statistics with the least noise that their lattice asks for."""
    laws = model.distributions
    return dp.gaussian_model(
        means={name: law.mean for name, law in laws.items()},
        covariances={name: law.covariance + np.diag(model.floor**2) for name, law in laws.items()},
        pairs=model.protected_pairs,
        names=model.names,
    )


def measured(published: Published, model: dp.QueryModel, epsilon: float) -> Numbers:
    """Return the least noise, the least error of estimates, δ as it is, and the same error with the lattice covered."""
    entry: Numbers = {"mechanism": published.name, "shape": published.shape}
    entry |= numbers_of(model, published.noises(model, epsilon), epsilon)
    if published.by_rows:
        entry["bare"] = []
    if "estimate" not in entry["bare"]:
        return entry | {"floored": entry["estimate"]}
    more = published.noise(on_the_floor(model), epsilon, DELTA, "estimate")
    floored = None if more is None else rounded(Merit.of(model).cost(more.covariance + np.diag(model.floor**2)))
    return entry | {"floored": floored}


def numbers_of(model: dp.QueryModel, found: dict[Objective, Found], epsilon: float) -> Numbers:
    """Return what noise that was chosen for one and the other objective does; nothing where there is none."""
    laws = {objective: law for objective, law in found.items() if law is not None}
    if not laws:
        return {"noise": None, "estimate": None, "delta": None, "exact": True, "bare": []}
    return {
        "noise": rounded(laws["noise"].expected_rms),
        "estimate": rounded(Merit.of(model).cost(laws["estimate"].covariance)),
        "delta": rounded(max(delta_upper_bound(model, law, epsilon=epsilon) for law in laws.values())),
        "exact": all(law.is_gaussian for law in laws.values()),
        "bare": [o for o, law in laws.items() if not covers_floor(model, GaussianNoise.of(law.covariance))],
    }


def informed(key: tuple[str, str], model: dp.QueryModel, accuracy: float, epsilon: float) -> Numbers:
    """Return the same for noise that keeps an attacker to so many right guesses, and how many there are."""
    information = formulas.information_for(accuracy)
    found = for_objectives(key[1], lambda objective: BY_INFORMATION[key](model, information, objective))
    entry = {"mechanism": key[0], "shape": key[1], "information": rounded(information)}
    attack = max((dp.exact_delta(model, law, epsilon=0.0) for law in found.values() if law is not None), default=0.0)
    return entry | numbers_of(model, found, epsilon) | {"attack_accuracy": rounded((1 + attack) / 2)}


def planned(model: dp.QueryModel, epsilon: float, objective: Objective) -> Numbers:
    """Return what a plan chooses."""
    target = dp.PrivacyTarget(epsilon=epsilon, delta=DELTA)
    chosen = dp.plan(model, target, objective=objective, seed=SEED).chosen
    if chosen is None:
        raise AssertionError(f"no mechanism holds at ε = {epsilon:g}: there is nothing to compare with.")
    return {
        "mechanism": f'**distpriv**, `objective="{objective}"`',
        "shape": "by the plan",
        "chosen": chosen.name,
        "noise": rounded(chosen.error),
        "estimate": rounded(chosen.estimate_error),
        "delta": rounded(chosen.mechanism.certificate.delta),
        "exact": chosen.mechanism.noise.is_gaussian,
        "bare": [],
        "floored": rounded(chosen.estimate_error),
        "attack_accuracy": rounded(chosen.attack_accuracy),
    }


def measured_case(secret: str, model: dp.QueryModel, epsilon: float) -> Numbers:
    """Return all numbers of one secret at one ε."""
    plans = [planned(model, epsilon, objective) for objective in OBJECTIVES]
    accuracy = plans[0]["attack_accuracy"]
    merit = Merit.of(model)
    return {
        "secret": secret,
        "epsilon": epsilon,
        "public_error": rounded(merit.public.error(merit.weights)),
        "undefended_attack_accuracy": rounded(undefended_attack_accuracy(model)),
        "plans": plans,
        "published": [measured(published, model, epsilon) for published in PUBLISHED],
        "by_information": [informed(key, model, accuracy, epsilon) for key in BY_INFORMATION],
    }


def measure() -> Numbers:
    """Return all numbers of the page."""
    models = {secret: model_of(secret, several[0]) for secret, several in SHARES.items()}
    cases = [measured_case(secret, model, epsilon) for secret, model in models.items() for epsilon in EPSILONS]
    return {"records": RECORDS, "delta": DELTA, "seed": SEED, "cases": cases}


def error_table(numbers: Numbers, secret: str) -> str:
    """Return noise and error of the estimates of every mechanism, for every ε."""
    cases = cases_of(numbers, secret)
    head = [f"{what}, ε = {case['epsilon']:g}" for case in cases for what in ("noise", "estimate")]
    public = [cell for case in cases for cell in ("", digits(case["public_error"]))]
    return compared(cases, head, ("published", "plans"), error_cells, public)


def compared(
    cases: list[Numbers], head: list[str], kinds: tuple[str, ...], cells: Cells, public: list[str] | None = None
) -> str:
    """Return a table of all mechanisms of some kinds, with cells for each case, below the public mean if given."""
    rows = [["public mean", "none", *public]] if public else []
    for kind in kinds:
        for entries in zip(*(case[kind] for case in cases), strict=True):
            found = (cell for entry in entries for cell in cells(entry))
            rows.append([entries[0]["mechanism"], entries[0]["shape"], *found])
    return table(["mechanism", "its noise", *head], rows)


def error_cells(entry: Numbers) -> tuple[str, str]:
    """Return noise and error of the estimates, with marks where δ is missed and where a lattice shows."""
    if entry["noise"] is None:
        return "–", "–"
    missed = " ✗" if entry["exact"] and entry["delta"] > DELTA else ""
    noise, estimate = (digits(entry[o]) + missed + " †" * (o in entry["bare"]) for o in ("noise", "estimate"))
    return noise, estimate


def floor_table(numbers: Numbers) -> str:
    """Return the error of the estimates where all noise covers the lattice."""
    cases = numbers["cases"]
    public = [digits(case["public_error"]) for case in cases]
    return compared(cases, heads(cases), ("published", "plans"), lambda entry: (digits(entry["floored"]),), public)


def delta_table(numbers: Numbers) -> str:
    """Return δ as it is with the covariances as they are, exact or at most."""
    cases = numbers["cases"]
    return compared(cases, heads(cases), ("published", "plans"), lambda entry: (delta_cell(entry),))


def heads(cases: list[Numbers]) -> list[str]:
    """Return what a column for each case is called."""
    return [f"{case['secret']}, ε = {case['epsilon']:g}" for case in cases]


def delta_cell(entry: Numbers) -> str:
    """Return δ; where it is a bound, the lesser of the library's and the mechanism's own."""
    if entry["delta"] is None:
        return "–"
    if not entry["exact"]:
        return f"≤ {small(min(entry['delta'], DELTA))}"
    return small(entry["delta"]) + (" ✗" if entry["delta"] > DELTA else "")


def accuracy_table(numbers: Numbers, secret: str) -> str:
    """Return what mechanisms that promise little information do when an attacker is held to the plan's accuracy."""
    cases = [case | {"plans": case["plans"][:1]} for case in cases_of(numbers, secret)]
    promised = [f"ε = {case['epsilon']:g}, ≤ {case['plans'][0]['attack_accuracy']:.1%}" for case in cases]
    head = [f"{promise}: {what}" for promise in promised for what in ("noise", "estimate", "attacker")]

    def cells(entry: Numbers) -> tuple[str, ...]:
        return *error_cells(entry), f"{entry['attack_accuracy']:.1%}"

    return compared(cases, head, ("by_information", "plans"), cells)


def cases_of(numbers: Numbers, secret: str) -> list[Numbers]:
    """Return the cases of one secret, one for each ε."""
    return [case for case in numbers["cases"] if case["secret"] == secret]


def digits(number: float | None) -> str:
    """Return three digits, or a dash for what cannot be had."""
    if number is None:
        return "–"
    return f"{number:.0f}" if number >= 100 else f"{number:.3g}"


def small(number: float) -> str:
    """Return three digits of a probability, which counts as 1e-99 if it is below."""
    return f"{max(number, 1e-99):.3g}"


def tables(numbers: Numbers) -> dict[str, str]:
    """Return all tables of the page by the names that the page calls them."""
    made = {"floor": floor_table(numbers), "delta": delta_table(numbers)}
    for secret in dict.fromkeys(case["secret"] for case in numbers["cases"]):
        made |= {f"errors, {secret}": error_table(numbers, secret)}
        made |= {f"accuracy, {secret}": accuracy_table(numbers, secret)}
    return made


def filled(page: str, numbers: Numbers) -> str:
    """Return the page with its tables made anew."""
    for name, text in tables(numbers).items():
        page = replaced(page, name, text)
    return page


if __name__ == "__main__":
    if "--fill" not in sys.argv:
        NUMBERS.write_text(json.dumps(measure(), indent=1) + "\n", encoding="utf-8")
    recorded = json.loads(NUMBERS.read_text(encoding="utf-8"))
    PAGE.write_text(filled(PAGE.read_text(encoding="utf-8"), recorded), encoding="utf-8")
