"""A firm publishes who works for it, and hides what it pays.

A report gives the mean age, the mean years of service, how many lead a team and how many were trained last year. A
competitor would like to read off it whether the mean salary is 50,000 or 54,000, and whether the firm pays for age:
neither is a share of the records. The data are generated.

Usage: python examples/salaries.py
"""

import numpy as np
import pyarrow as pa
from attrs import frozen

import distpriv as dp
from distpriv.auditing.report import AuditReport
from distpriv.modelling.coupling import MaximalCoupling

RECORDS = 300
TARGET = dp.PrivacyTarget(epsilon=0.5, delta=0.01)
QUERY = dp.Query(
    mean_age=dp.mean("age"),
    mean_service=dp.mean("service"),
    leading=dp.count("leads"),
    trained=dp.count("trained"),
)
SECRETS: dict[str, dp.Mean | dp.Quantile | dp.Correlation] = {
    "mean salary": dp.Mean("salary", values=(50_000, 54_000)),
    "median salary": dp.Quantile("salary", 0.5, values=(46_000, 50_000)),
    "pay for age": dp.Correlation("salary", "age", values=(0.3, 0.5)),
}


def employees(rows: int, seed: int) -> pa.Table:
    """Return generated employees: those who lead, and those who stayed, earn more."""
    rng = np.random.default_rng(seed)
    age = np.clip(rng.normal(42, 11, rows), 18, 67).round()
    service = np.minimum(rng.exponential(8, rows), age - 17).round()
    leads = rng.random(rows) < 0.05 + 0.006 * service
    trained = rng.random(rows) < 0.5 - 0.005 * (age - 40)
    salary = (rng.lognormal(10.5, 0.3, rows) + 300 * (age - 18) + 500 * service + 9000 * leads).round(-2)
    return pa.table({"age": age, "service": service, "leads": leads, "trained": trained, "salary": salary})


@frozen(kw_only=True)
class Cost:
    """What it takes to hide a secret."""

    undefended_accuracy: float
    accuracy: float
    """How often the best attacker is right at most, with the noise."""
    errors: dict[str, float]
    differing: float
    """In how many records coupled datasets differ, on average."""


@frozen(kw_only=True)
class Salaries:
    """What the example found."""

    reference: dict[str, float]
    """The secret properties in the reference."""
    costs: dict[str, Cost]
    grid: Cost
    """Any two mean salaries of a grid that are at most 4,000 apart."""
    chosen: str
    certificate_holds: bool
    audit: AuditReport
    released: dict[str, float]
    """Drawn anew on every run."""


def cost(model: dp.QueryModel, plan: dp.Plan) -> Cost:
    """Return what the mechanism of a plan costs."""
    assert plan.chosen is not None
    couplings = [model.rows().coupling(pair, "independent") for pair in model.protected_pairs]
    return Cost(
        undefended_accuracy=plan.undefended_attack_accuracy,
        accuracy=plan.chosen.attack_accuracy,
        errors=plan.chosen.errors,
        differing=max(RECORDS * each.total_variation for each in couplings if isinstance(each, MaximalCoupling)),
    )


def show(what: str, found: Cost) -> None:
    """Print one line of the table."""
    noise = "  ".join(f"{error:12.2f}" for error in found.errors.values())
    print(f"  {what:14} {noise}   {found.undefended_accuracy:.1%} → at most {found.accuracy:.1%}")


def main() -> Salaries:
    """Tell the story, and return its numbers."""
    industry, private = employees(5000, seed=1), employees(RECORDS, seed=2)
    salary, age = (industry[name].to_numpy() for name in ("salary", "age"))
    reference = {
        "mean salary": float(salary.mean()),
        "median salary": float(np.median(salary)),
        "pay for age": float(np.corrcoef(salary, age)[0, 1]),
    }
    print(f"Noise (standard deviation) for {RECORDS} employees at ε = 0.5, δ = 0.01, and the attacker's success:")
    print(f"  {'to hide':14} {'  '.join(f'{name:>12}' for name in QUERY.names)}")
    costs = {}
    for name, secret in SECRETS.items():
        model = dp.model(industry, QUERY, secret, records=RECORDS, reference="population")
        plan = dp.plan(model, TARGET, objective="noise", mechanisms=["certified_gaussian"])
        costs[name] = cost(model, plan)
        show(name, costs[name])

    grid = dp.Mean("salary", between=(48_000, 56_000), within=4_000, step=2_000)
    model = dp.model(industry, QUERY, grid, records=RECORDS, reference="population")
    plan = dp.plan(model, TARGET, objective="noise", mechanisms=["certified_gaussian"])
    wide = cost(model, plan)
    show("a range", wide)
    audit = dp.audit(plan, releases=20_000, seed=1)
    best = audit.attacks[0]
    print(f"\nAttack on the range: right {best.undefended.accuracy:.1%} of the time before, {best.accuracy:.1%} after.")

    release = dp.release(plan, private, ledger=None)
    print("\nThe report (the noise is new on every run):")
    for name, value in release.values.items():
        low, high = release.intervals[name]
        print(f"  {name:14} {value:8.2f}   {low:.2f} to {high:.2f} (95 %)")
    return Salaries(
        reference=reference,
        costs=costs,
        grid=wide,
        chosen=plan.mechanism.name,
        certificate_holds=release.certificate.holds,
        audit=audit,
        released=dict(release.values),
    )


if __name__ == "__main__":
    main()
