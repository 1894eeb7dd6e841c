"""A company publishes how its customers are doing, and hides who they are.

A report for investors gives the mean spending, the mean length of a contract, the mean number of support calls and how
many customers recommend the company. A competitor would like to read off it how many of the customers are businesses,
how many came through the reseller and how many are abroad: three secrets, one release. The data are generated.

Usage: python examples/company.py
"""

import numpy as np
import pyarrow as pa
from attrs import frozen

import distpriv as dp
from distpriv.auditing.report import AuditReport

RECORDS = 400
TARGET = dp.PrivacyTarget(epsilon=0.5, delta=0.01)
QUERY = dp.Query(
    mean_spend=dp.mean("spend"),
    mean_months=dp.mean("months"),
    mean_calls=dp.mean("calls"),
    recommending=dp.count("score >= 9"),
)
SECRETS = {
    "businesses": dp.Share("business", values=(0.30, 0.35)),
    "reseller": dp.Share("reseller", values=(0.40, 0.45)),
    "abroad": dp.Share("abroad", values=(0.10, 0.15)),
}
WEIGHTS = [1, 1, 400, 1]
"""A call more or less matters as much as 20 recommending customers: errors count by the root of their weight."""


def customers(rows: int, seed: int) -> pa.Table:
    """Return generated customers: businesses spend more, the reseller's call more, those abroad leave sooner."""
    rng = np.random.default_rng(seed)
    business, reseller, abroad = (rng.random(rows) < share for share in (0.33, 0.42, 0.13))
    spend = rng.gamma(4.0, 8.0 + 9.0 * business - 2.0 * abroad).round()
    months = np.ceil(rng.exponential(20.0 + 12.0 * business - 8.0 * abroad))
    calls = rng.poisson(1.0 + 1.2 * reseller)
    score = np.clip(rng.normal(7.6 - 0.7 * reseller + 0.4 * business, 1.6), 0, 10).round()
    secret = {"business": business, "reseller": reseller, "abroad": abroad}
    return pa.table({**secret, "spend": spend, "months": months, "calls": calls, "score": score})


@frozen(kw_only=True)
class Costs:
    """What it takes to hide something: the standard deviation of the noise in every statistic."""

    undefended_accuracy: float
    accuracy: float
    """How often the best attacker is right at most, with the noise."""
    errors: dict[str, float]


@frozen(kw_only=True)
class Company:
    """What the example found."""

    means: dict[str, float]
    """What the statistics are about, to hold the noise against."""
    alone: dict[str, Costs]
    """Each secret by itself."""
    together: Costs
    weighted: Costs
    """All secrets, where support calls matter more."""
    chosen: str
    certificate_holds: bool
    audits: dict[str, AuditReport]
    """Attacks on the weighted release, by the secret they are after."""
    released: dict[str, float]
    """Drawn anew on every run."""


def costs(plan: dp.Plan) -> Costs:
    """Return what the mechanism of a plan costs."""
    assert plan.chosen is not None
    return Costs(
        undefended_accuracy=plan.undefended_attack_accuracy,
        accuracy=plan.chosen.attack_accuracy,
        errors=plan.chosen.errors,
    )


def show(what: str, found: Costs) -> None:
    """Print one line of the table."""
    noise = "  ".join(f"{error:12.2f}" for error in found.errors.values())
    print(f"  {what:22} {noise}   {found.undefended_accuracy:.1%} → at most {found.accuracy:.1%}")


def main() -> Company:
    """Tell the story, and return its numbers."""
    market, private = customers(4000, seed=1), customers(RECORDS, seed=2)
    mechanisms = ["certified_gaussian"]
    print(f"Noise (standard deviation) for {RECORDS} customers at ε = 0.5, δ = 0.01, and the attacker's success:")
    print(f"  {'to hide':22} {'  '.join(f'{name:>12}' for name in QUERY.names)}")
    alone = {}
    for name, secret in SECRETS.items():
        model = dp.model(market, QUERY, secret, records=RECORDS, reference="population")
        alone[name] = costs(dp.plan(model, TARGET, weights="units", objective="noise", mechanisms=mechanisms))
        show(name, alone[name])
    model = dp.model(market, QUERY, list(SECRETS.values()), records=RECORDS, reference="population")
    together = costs(dp.plan(model, TARGET, weights="units", objective="noise", mechanisms=mechanisms))
    show("all three", together)
    plan = dp.plan(model, TARGET, objective="noise", mechanisms=mechanisms, weights=WEIGHTS)
    weighted = costs(plan)
    show("all three, weighted", weighted)
    means = dict(zip(QUERY.names, np.mean([law.mean for law in model.distributions.values()], axis=0), strict=True))
    print(f"  {'(the statistics)':22} {'  '.join(f'{mean:12.2f}' for mean in means.values())}\n")

    audits = {}
    for name, secret in SECRETS.items():
        pair = secret.protected(RECORDS).pairs[0]
        audits[name] = dp.audit(plan, pair=pair, releases=20_000, seed=1)
        best = audits[name].attacks[0]
        print(f"Attack on {name}: right {best.undefended.accuracy:.1%} of the time before, {best.accuracy:.1%} after.")

    release = dp.release(plan, private, ledger=None)
    print("\nThe report for investors (the noise is new on every run):")
    for name, value in release.values.items():
        low, high = release.intervals[name]
        print(f"  {name:14} {value:8.2f}   {low:.2f} to {high:.2f} (95 %)")
    return Company(
        means={name: float(mean) for name, mean in means.items()},
        alone=alone,
        together=together,
        weighted=weighted,
        chosen=plan.mechanism.name,
        certificate_holds=release.certificate.holds,
        audits=audits,
        released=dict(release.values),
    )


if __name__ == "__main__":
    main()
