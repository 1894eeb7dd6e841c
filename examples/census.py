"""A census office publishes five averages of 100 persons, and hides how many of them earn much.

This is the experiment of the paper (Chen & Ohrimenko, AISTATS 2023): the Adult data, five statistics, and the question
whether 45 or 55 of the 100 persons earn over 50K. The paper's mechanisms are tried as the paper has them, and beside
them those that this library certifies.

Usage: python examples/census.py
"""

from textwrap import fill

import numpy as np
import pyarrow as pa
from attrs import frozen

import distpriv as dp
from distpriv.auditing.report import AuditReport

RECORDS, HIGH_EARNERS = 100, 55
QUERY = dp.Query(
    mean_age=dp.mean("age"),
    mean_education=dp.mean("education_num"),
    never_married=dp.count("marital_status = 'Never-married'"),
    female=dp.count("sex = 'Female'"),
    mean_hours=dp.mean("hours_per_week"),
)
SECRET = dp.Share("income = '>50K'", values=(0.45, 0.55))
TARGET = dp.PrivacyTarget(epsilon=1.0, delta=1e-3)
PAPER: dict[str, dict[str, str]] = {
    "expected_value_laplace": {},
    "expected_value_gaussian": {"radius": "classic"},
    "directional_laplace": {"directions": "several"},
    "eigenvector_gaussian": {"radius": "classic"},
    "directional_uncertainty": {"radius": "classic"},
}
"""The mechanisms of the paper, with its radius."""
CERTIFIED: dict[str, dict[str, str]] = {"certified_gaussian": {}, "certified_laplace": {}}


@frozen(kw_only=True)
class Claim:
    """What came of one mechanism."""

    mechanism: str
    error: float
    delta: float
    holds: bool
    """Whether a plan would use it: δ is met, and nothing that was checked speaks against it."""


@frozen(kw_only=True)
class Census:
    """What the example found."""

    undefended_accuracy: float
    claims: tuple[Claim, ...]
    chosen: str
    half_widths: dict[str, float]
    certificate_holds: bool
    paper_audit: AuditReport
    """Attacks on the paper's best mechanism."""
    audit: AuditReport
    """Attacks on the mechanism that was chosen."""
    released: dict[str, float]
    """Drawn anew on every run."""


def split(adult: pa.Table) -> tuple[pa.Table, pa.Table]:
    """Return the public census, and 100 persons of a village that are not in it, 55 of whom earn over 50K."""
    high = np.array([value == ">50K" for value in adult["income"].to_pylist()])
    rng = np.random.default_rng(2023)
    picked = [rng.choice(np.flatnonzero(high), HIGH_EARNERS, replace=False)]
    picked.append(rng.choice(np.flatnonzero(~high), RECORDS - HIGH_EARNERS, replace=False))
    village = np.concatenate(picked)
    return adult.take(np.setdiff1d(np.arange(adult.num_rows), village)), adult.take(np.sort(village))


def main() -> Census:
    """Tell the story, and return its numbers."""
    census, village = split(dp.datasets.adult())
    model = dp.model(census, QUERY, SECRET, records=RECORDS, reference="population")
    plan = dp.plan(
        model, TARGET, weights="units", objective="noise", mechanisms=PAPER | CERTIFIED
    )  # as the paper compares them
    assert plan.chosen is not None
    print(f"Five statistics of {RECORDS} persons, published as they are, tell an attacker in")
    print(f"{plan.undefended_attack_accuracy:.1%} of cases whether 45 or 55 of them earn over 50K.\n")

    print("For ε = 1, δ = 0.001:         error   δ checked   may be used")
    claims = tuple(
        Claim(
            mechanism=option.name,
            error=option.error,
            delta=option.mechanism.certificate.delta,
            holds=option.mechanism.certificate.holds_at(plan.assurance),
        )
        for option in plan.options
    )
    for claim in claims:
        print(f"  {claim.mechanism:24} {claim.error:8.2f}   {claim.delta:9.2g}   {'yes' if claim.holds else 'NO'}")

    paper = next(option.mechanism for option in plan.options if option.name == "directional_uncertainty")
    paper_audit = dp.audit(paper, model=model, releases=20_000, seed=1)
    print("\nThe paper's best mechanism, attacked:")
    print(fill(paper_audit.verdict, 100, initial_indent="  ", subsequent_indent="  "))
    audit = dp.audit(plan, releases=20_000, seed=1)
    print(f"\n{plan.chosen.name}, which the plan chose, attacked:")
    print(fill(audit.verdict, 100, initial_indent="  ", subsequent_indent="  "))

    release = dp.release(plan, village, ledger=None)
    print("\nThe village's release (the noise is new on every run):")
    for name, value in release.values.items():
        low, high = release.intervals[name]
        print(f"  {name:16} {value:8.2f}   {low:.2f} to {high:.2f} (95 %)")
    return Census(
        undefended_accuracy=plan.undefended_attack_accuracy,
        claims=claims,
        chosen=plan.chosen.name,
        half_widths=dict(zip(model.names, plan.mechanism.noise.half_widths.tolist(), strict=True)),
        certificate_holds=release.certificate.holds,
        paper_audit=paper_audit,
        audit=audit,
        released=dict(release.values),
    )


if __name__ == "__main__":
    main()
