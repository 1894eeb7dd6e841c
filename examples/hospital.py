"""A hospital publishes medians, and hides how many of its patients came as emergencies.

Lengths of stay and costs are skewed, so the hospital publishes medians. Medians of whole days are far from Gaussian:
with a thousand patients the median stay is 6 or 7 days and hardly anything else. So nothing is assumed about the
distribution of the statistics: the noise is calibrated on coupled draws, at assurance "proved". The data are generated.

Usage: python examples/hospital.py
"""

from textwrap import fill

import numpy as np
import pyarrow as pa
from attrs import frozen

import distpriv as dp
from distpriv.auditing.report import AuditReport

RECORDS = 1000
SECRET = dp.Share("emergency", values=(0.25, 0.30))
QUERY = dp.Query(median_stay=dp.quantile("stay", 0.5), median_cost=dp.quantile("cost", 0.5))
TARGET = dp.PrivacyTarget(epsilon=1.0, delta=0.01)
DRAWS = 5000
"""Coupled draws of each kind; more would need a little less noise."""
MECHANISMS = {
    "coupled_gaussian": {"draws": DRAWS},
    "coupled_laplace": {"draws": DRAWS},
    "certified_gaussian": {},
    "directional_uncertainty": {},
}


def admissions(patients: int, emergencies: int, seed: int) -> pa.Table:
    """Return generated admissions: stays in whole days and costs in tens of euros, both longer on the right."""
    rng = np.random.default_rng(seed)
    emergency = np.arange(patients) < emergencies
    stay = np.ceil(rng.lognormal(np.where(emergency, 2.4, 1.6), 0.7))
    cost = 900 + stay * rng.lognormal(6.3, 0.35, patients) + emergency * rng.lognormal(6.0, 1.2, patients)
    return pa.table({"emergency": emergency, "stay": stay, "cost": cost.round(-1)})


@frozen(kw_only=True)
class Option:
    """What came of one mechanism."""

    mechanism: str
    stay_error: float
    cost_error: float
    delta: float
    holds: bool
    assurance: str


@frozen(kw_only=True)
class Hospital:
    """What the example found."""

    distance_from_normal: float
    """By how much the distribution function of the median stay differs from a normal one at most."""
    medians: dict[str, float]
    """What the statistics are about, to hold the noise against."""
    options: tuple[Option, ...]
    chosen: str
    chosen_at_checked: str
    certificate_holds: bool
    assurance: str
    gaussian_audit: AuditReport
    """Attacks on noise that would do if the medians were Gaussian with one covariance."""
    audit: AuditReport
    """Attacks on the mechanism that was chosen."""
    released: dict[str, float]
    """Drawn anew on every run."""


def main() -> Hospital:
    """Tell the story, and return its numbers."""
    reference, private = admissions(6000, 1800, seed=1), admissions(RECORDS, 300, seed=2)
    model = dp.model(reference, QUERY, SECRET, records=RECORDS, draws=2000)
    stay = next(found for found in dp.diagnose(model).statistics if found.name == "median_stay")
    medians = dict(zip(model.names, next(iter(model.distributions.values())).mean.tolist(), strict=True))
    print(f"The median stay of {RECORDS} patients is about {medians['median_stay']:.1f} days, the median cost about")
    print(f"{medians['median_cost']:.0f} euros. The distribution function of the former is up to {stay.distance:.2f}")
    print(f"away from a normal one; {stay.noise:.2f} would be chance.\n")

    # A seed makes the example repeatable. Leave it out for data that matter: then nobody can have chosen it.
    plan = dp.plan(model, TARGET, assurance="proved", objective="noise", mechanisms=MECHANISMS, seed=7)
    assert plan.chosen is not None
    at_checked = next(o.name for o in plan.options if o.mechanism.certificate.holds_at("checked"))
    options = tuple(
        Option(
            mechanism=option.name,
            stay_error=option.errors["median_stay"],
            cost_error=option.errors["median_cost"],
            delta=option.mechanism.certificate.delta,
            holds=option.mechanism.certificate.holds,
            assurance=option.mechanism.certificate.assurance,
        )
        for option in plan.options
    )
    print("For ε = 1, δ = 0.01:        noise: days    euros   δ found   holds   assurance")
    for option in options:
        noise = f"{option.stay_error:8.2f} {option.cost_error:8.0f}"
        told = f"{option.delta:9.3f}   {'yes' if option.holds else 'NO ':5}   {option.assurance}"
        print(f"  {option.mechanism:24}    {noise} {told}")
    print(f"The plan takes {plan.chosen.name}, and so it would at assurance 'checked': {at_checked}.\n")

    gaussian = next(option.mechanism for option in plan.options if option.name == "directional_uncertainty")
    gaussian_audit = dp.audit(gaussian, model=model, releases=10_000, seed=1)
    print("Noise for Gaussian medians, attacked:")
    print(fill(gaussian_audit.verdict, 100, initial_indent="  ", subsequent_indent="  "))
    audit = dp.audit(plan, releases=10_000, seed=1)
    print(f"{plan.chosen.name}, attacked:")
    print(fill(audit.verdict, 100, initial_indent="  ", subsequent_indent="  "))
    before = max(attack.undefended.accuracy for attack in audit.attacks)
    print(f"Without noise the best attack is right {before:.1%} of the time.")

    release = dp.release(plan, private, ledger=None)
    print("\nThe hospital's release (the noise is new on every run):")
    for name, value in release.values.items():
        low, high = release.intervals[name]
        print(f"  {name:12} {value:8.1f}   {low:.1f} to {high:.1f} (95 %)")
    return Hospital(
        distance_from_normal=stay.distance,
        medians=medians,
        options=options,
        chosen=plan.chosen.name,
        chosen_at_checked=at_checked,
        certificate_holds=release.certificate.holds,
        assurance=release.certificate.assurance,
        gaussian_audit=gaussian_audit,
        audit=audit,
        released=dict(release.values),
    )


if __name__ == "__main__":
    main()
