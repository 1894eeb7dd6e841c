"""Noise on the statistics' own lattice: what it promises, and where its conditions hold.

Statistics that live on the same lattice in all scenarios tell nothing by where on it they are not: counts are whole
whatever the secret is. So they need no noise that covers a step, if their own randomness hides the scenarios and their
law is smooth at every frequency that whole numbers have (`docs/proofs/own_lattice.md`).
"""

import math
from collections.abc import Sequence

import numpy as np

from distpriv.framework.arrays import Floats
from distpriv.framework.target import PrivacyTarget
from distpriv.guarantees.certificate import Assumption, Certificate
from distpriv.guarantees.certify import NEAR, gaussian_certificate
from distpriv.guarantees.checked_law import CheckedLaw
from distpriv.guarantees.lattice_laws import rows_are_whole
from distpriv.guarantees.law_check import has_rows
from distpriv.guarantees.law_in_words import gaussian_assumption
from distpriv.guarantees.reference_sample import allowed_delta, reference_assumptions
from distpriv.guarantees.unseen_rows import unseen_rows_assumptions
from distpriv.guarantees.whole_law import checked_whole_law
from distpriv.guarantees.whole_steps import LEAST_DEVIATION, Whole, in_whole_steps, worst_in_whole_steps
from distpriv.modelling.model import QueryModel
from distpriv.modelling.row_grid import SMALLEST_STEP
from distpriv.modelling.row_laws import RowLaws
from distpriv.noise.laws import RoundedNoise

__all__ = ["NARROW", "own_lattice_certificate", "why_not_whole"]

NARROW = 0.2
"""The least deviation of noise on a statistic in whole steps, before it is rounded: one answer in eighty is off by one.

Nothing rests on it. It keeps any one number from being certain, which trust in a reference to its last digit is not.
"""

LARGEST_CELL = 0.02
"""A cell that is worth more is not fine against the law."""

MOST_RECORDS = 2_000
"""Of more records a ripple is so narrow that climbers may stop short of it."""

LARGEST_EPSILON = 20.0
"""At a larger ε what a transform rounds would hide what is rare in one scenario, and not there in another."""

MOST_ROW = 1.0
"""The largest deviation of a row, in steps, of a statistic in whole steps: others have too many frequencies."""


def why_not_whole(model: QueryModel, epsilon: float = 0.0) -> list[str | None]:
    """Return for every statistic why it cannot be released in whole steps at ε; None where it can be.

    >>> import distpriv as dp
    >>> query = dp.Query(women=dp.count("sex = 'Female'"), age=dp.mean("age"))
    >>> model = dp.model(dp.datasets.adult(), query, dp.Share("income = '>50K'", values=(0.4, 0.5)), records=50)
    >>> why_not_whole(model)
    [None, "rows of 'age' differ by 14 of its steps, which leaves too many frequencies to look at"]
    """
    if not has_rows(model):
        return ["there are no rows that their law could be computed from"] * model.dimension
    rows = model.rows().row_laws()
    if rows.populations and any(rows.rows_of(k) > len(each) for k, each in enumerate(rows.strata)):
        return ["the reference has more rows than were looked at"] * model.dimension
    if any(known := _why_not_by_moments(model, epsilon)):
        return known
    whole, moves = rows_are_whole(rows, model.steps), _largest_moves(model, rows)
    return [_why_not(model, position, whole[position], moves[position]) for position in range(model.dimension)]


def _why_not(model: QueryModel, position: int, whole: bool, moves: float) -> str | None:
    name = repr(model.names[position])
    if model.steps[position] == 0:
        return f"{name} is not on a lattice"
    if not whole:
        return f"some rows of {name} are no whole multiples of its step, {model.steps[position]:g}"
    if moves > MOST_ROW:
        return f"rows of {name} differ by {moves:.2g} of its steps, which leaves too many frequencies to look at"
    least = min(_deviation_left(law.covariance, position) for law in model.distributions.values())
    if least < LEAST_DEVIATION * model.steps[position]:
        return f"{name} varies by {least / model.steps[position]:.2g} of its steps only, once the others are known"
    return None


def _why_not_by_moments(model: QueryModel, epsilon: float) -> list[str | None]:
    """Return the same as far as it is known without rows."""
    records = model.provenance.records or 0
    if records > MOST_RECORDS:
        return [f"ripples of {records:,} records may be missed, and of {MOST_RECORDS:,} are found"] * model.dimension
    if epsilon > LARGEST_EPSILON:
        return [f"above ε = {LARGEST_EPSILON:g} exact laws are not known well enough"] * model.dimension
    if ((model.steps > 0) & ~((model.steps > SMALLEST_STEP) & (model.steps < 1 / SMALLEST_STEP))).any():
        return ["the units of the columns are out of proportion"] * model.dimension
    if tied := _why_tied(model):
        return [tied] * model.dimension
    return [None] * model.dimension


def _moves_too_far(model: QueryModel) -> list[str | None]:
    """Return of which statistics rows differ by too many steps, as far as their variances show it."""
    units = np.where(model.steps > 0, model.steps, 1.0)
    rows = np.max([np.diag(law.covariance) for law in model.distributions.values()], axis=0) / units**2
    limit = MOST_ROW**2 * (model.provenance.records or 0) * (1 + NEAR)
    return [
        f"rows of {name!r} differ by more than {MOST_ROW:g} of its steps" if far > limit else None
        for name, far in zip(model.names, rows.tolist(), strict=True)
    ]


def _why_tied(model: QueryModel) -> str | None:
    """Say that a lattice is not that of statistics which vary independently of each other, if it is not."""
    for law in model.distributions.values():
        several = np.zeros((1, 1)) if law.lattice is None else law.lattice
        if any(np.count_nonzero(several, axis=axis).max(initial=0) > 1 for axis in (0, 1)):
            return "the statistics are tied together, as counts are that add up to all records"
    return None


def _largest_moves(model: QueryModel, rows: RowLaws) -> Floats:
    """Return the deviation of one row in steps, in the stratum where it is largest."""
    units = np.where(model.steps > 0, model.steps, 1.0)
    return np.asarray(np.max([np.sqrt(each.variances) for each in rows.strata if len(each)], axis=0) / units)


def _deviation_left(covariance: Floats, position: int) -> float:
    """Return the deviation of a statistic once all others are known."""
    others = [k for k in range(len(covariance)) if k != position]
    inside = np.linalg.pinv(covariance[np.ix_(others, others)], rcond=1e-12, hermitian=True)
    across = covariance[others, position]
    return math.sqrt(max(float(covariance[position, position] - across @ inside @ across), 0.0))


def own_lattice_certificate(
    model: QueryModel,
    target: PrivacyTarget,
    noise: RoundedNoise,
    theorem: str,
    assumptions: Sequence[Assumption] = (),
    law: CheckedLaw | None = None,
) -> Certificate:
    """Return what noise in whole steps is worth.

    Rounding is computed from F + W, and narrow noise is added to whole numbers, so that both take nothing away. Counted
    on is the Gaussian noise of statistics with more than a step of it, and the randomness of all.
    """
    if not noise.narrow.any():
        return gaussian_certificate(model, target, noise.unrounded, theorem, assumptions, law)
    whole = in_whole_steps(model, noise, target.delta)
    lattice = _lattice_assumption(model, target, noise, whole, known=law is not None)
    if lattice.status != "checked":
        return Certificate(
            target=target,
            epsilon=target.epsilon,
            delta=1.0,
            trust="assumed",
            theorem=theorem,
            assumptions=(*assumptions, lattice),
        )
    pair, delta = worst_in_whole_steps(model, noise, target.epsilon, whole)
    unseen = law is None and delta > target.delta * (1 + NEAR)
    if law is None and not unseen:
        law = checked_whole_law(model, noise, target, pair, whole)
    if law is not None and law.is_smooth:
        whole = Whole(smoothed=dict(law.rippled(whole.smoothed)), outside=whole.outside)
        pair, delta = worst_in_whole_steps(model, noise, target.epsilon, whole)

    def delta_of(of: QueryModel) -> float:
        return worst_in_whole_steps(of, noise, target.epsilon, whole)[1]

    allowed = delta if unseen else allowed_delta(model, noise.credited, target.epsilon, delta_of)
    more = 0.0 if law is None else max(0.0, law.delta - delta) * allowed / delta
    return Certificate(
        target=target,
        epsilon=target.epsilon,
        delta=min(1.0, allowed + more),
        trust="gaussian" if law is not None and law.is_bell else "assumed",
        theorem=theorem,
        assumptions=(
            *assumptions,
            gaussian_assumption(model, law),
            Assumption(
                statement="δ is exact for the covariances as they are",
                status="checked",
                evidence=f"δ = {delta:.3g} at ε = {target.epsilon:g}, worst for {pair[0]} against {pair[1]}",
            ),
            lattice,
            *reference_assumptions(model, noise.credited, allowed),
            *(unseen_rows_assumptions(model) if law is not None else ()),
        ),
        contradicted=unseen,
        law=law,
    )


def _lattice_assumption(
    model: QueryModel, target: PrivacyTarget, noise: RoundedNoise, whole: Whole, *, known: bool
) -> Assumption:
    """Return whether statistics may be released in whole steps; where rows are gone, what they showed is believed."""
    named = ", ".join(name for name, narrow in zip(model.names, noise.narrow, strict=True) if narrow)
    statement = f"{named} are whole multiples of their steps in all scenarios, and hidden by their own randomness"
    gone = known and not has_rows(model)
    reasons = _without_rows(model, target.epsilon) if gone else why_not_whole(model, target.epsilon)
    against = [reason for reason, narrow in zip(reasons, noise.narrow, strict=True) if narrow and reason is not None]
    narrow = np.diag(noise.unrounded.covariance)[noise.narrow]
    if (narrow < (NARROW * noise.steps[noise.narrow]) ** 2 * (1 - NEAR)).any():
        against.append("noise is narrower than the least there is")
    if not np.array_equal(noise.steps, model.steps):
        against.append("the noise is in other steps than the statistics")
    others = whole.error if math.isfinite(whole.error) else math.inf
    if others > LARGEST_CELL:
        against.append(f"their cells are not fine against the law (error {others:.2g})")
    if against:
        return Assumption(statement=statement, status="assumed", evidence=against[0])
    return Assumption(
        statement=statement,
        status="checked",
        evidence=f"steps of {', '.join(f'{step:g}' for step in noise.steps[noise.narrow])}; whole steps in place of a "
        f"bell curve cost a factor of {whole.error:.1e}, which is in δ; noise narrower than a step is not counted on",
    )


def _without_rows(model: QueryModel, epsilon: float) -> list[str | None]:
    """Return why statistics cannot be whole, as far as moments tell."""
    known = _why_not_by_moments(model, epsilon)
    return known if any(known) else _moves_too_far(model)
