r"""Weights of the reference rows under which a property has a value: the distribution of rows closest to the reference.

Among all weights with which the property holds, those of least relative entropy to even ones are exponentially tilted,
:math:`w_i ∝ e^{λ^\top g(x_i)}`, with g what the property fixes the means of (`docs/proofs/tilted_secrets.md`):

- a mean: g = x;
- a quantile, a share or a mixture of two tables: g is 0 or 1, so that there are two weights;
- a correlation: g = (a, b, a², b², ab), standardised by the reference, of which all but the last keep their means;
- several properties at once: all their g together.
"""

from collections.abc import Mapping

import numpy as np
from attrs import frozen

from distpriv.errors import InvalidModel, InvalidSecret
from distpriv.framework.arrays import Floats, Rows
from distpriv.framework.tilts import Tilt

__all__ = [
    "checked_weights",
    "constraint_errors",
    "effective_rows",
    "fewest_rows",
    "property_of",
    "row_weights",
    "tilted",
]


@frozen(kw_only=True)
class NewtonSettings:
    """How the dual of a tilt is minimised."""

    steps: int = 100
    """More steps than it takes where there is a minimum."""
    halvings: int = 40
    longest: float = 5.0
    """By how much a step may change the logarithm of a weight: farther out nothing is left of the curvature."""
    flat: float = 1e-13
    """By which share of itself the dual may rise by rounding."""
    alone: float = 1e-20
    """A variance so small is that of weights which stay with one point, and never come nearer to the wanted means."""


NEWTON = NewtonSettings()


def tilted(points: Floats, weights: Floats, means: Floats, near: float = 1e-8) -> Floats | None:
    r"""Return the weights nearest to given ones with which points have given means; None where no weights do.

    Nearest is by relative entropy, so :math:`p_i ∝ b_i e^{λ^\top g_i}`, where λ minimises the convex
    :math:`\log Σ_i b_i e^{λ^\top (g_i - t)}`: Newton's method, with steps that are not too long, and halved until they
    descend. Means at the edge of what points reach would take all weight from the others, and count as out of reach.

    Args:
        points: g, one a row.
        weights: b, not negative, with a sum of 1.
        means: t.
        near: how near to these the weighted means come, in standard deviations; a hundred times that if rounding stops
            them before.

    >>> points, even = np.array([[0.0], [1.0], [2.0]]), np.full(3, 1 / 3)
    >>> tilted(points, even, np.array([1.5])).round(4)
    array([0.1162, 0.2676, 0.6162])
    >>> tilted(points, even, np.array([2.5])) is None
    True
    """
    centre = weights @ points
    spread = np.sqrt(weights @ (points - centre) ** 2)
    away = (points - means) / np.where(spread > 0, spread, np.maximum(np.abs(centre), 1.0))
    slope = np.zeros(points.shape[1])
    value, tilt, gradient = _dual(away, weights, slope)
    for _ in range(NEWTON.steps):
        off = float(np.abs(gradient).max(initial=0.0))
        if off <= near:
            return tilt
        curvature = (away - gradient).T @ ((away - gradient) * tilt[:, np.newaxis])
        if np.trace(curvature) < NEWTON.alone:
            return None
        step = -np.linalg.pinv(curvature, rcond=1e-12, hermitian=True) @ gradient
        step *= min(1.0, NEWTON.longest / max(float(np.abs(away @ step).max()), 1e-300))
        for halving in range(NEWTON.halvings):
            tried = _dual(away, weights, slope + step / 2**halving)
            # Next to the least the dual is flat but for rounding, and a full step still halves the gradient.
            flat = not halving and tried[0] - value <= NEWTON.flat * (1 + abs(value))
            if tried[0] < value or (flat and np.abs(tried[2]).max() < off / 2):
                slope = slope + step / 2**halving
                value, tilt, gradient = tried
                break
        else:
            return tilt if off <= 100 * near else None
    return None


def _dual(away: Floats, weights: Floats, slope: Floats) -> tuple[float, Floats, Floats]:
    """Return the dual, the weights that belong to it, and its gradient: how far their means are from the wanted."""
    with np.errstate(divide="ignore"):
        exponents = away @ slope + np.log(weights)
    highest = float(exponents.max())
    grown = np.exp(exponents - highest)
    total = float(grown.sum())
    return highest + float(np.log(total)), grown / total, np.asarray(grown @ away / total)


def effective_rows(weights: Floats) -> float:
    """Return how many rows of one weight are as many as these, which have a sum of 1: 1/Σw² (Kish 1965)."""
    return float(1 / (weights @ weights))


def fewest_rows(rows: int) -> float:
    """Return how many effective rows the weights of so many must leave: 100, or a tenth of a smaller table."""
    return min(100, 0.1 * rows)


def checked_weights(text: str, given: Floats, strata: Mapping[str, Rows]) -> Floats:
    """Return how many people each row stands for, with a sum of 1, or say why it cannot be; one of 0 is never drawn.

    >>> checked_weights("people", np.array([1.0, 1.0, 2.0]), {"rows": np.arange(3)})
    array([0.25, 0.25, 0.5 ])
    """

    def refusal(why: str, cure: str) -> InvalidModel:
        return InvalidModel(f"the weight {text!r} {why}: {cure}.", about=("option", "weight"))

    if not np.isfinite(given).all():
        raise refusal("has values that are infinite", "mend those rows, or change the expression")
    if (given < 0).any():
        raise refusal(f"is {given.min():.6g} in a row", "give how many people a row stands for, 0 or more")
    counts = given / max(float(given.max(initial=0.0)), 5e-324)
    for kind, rows in strata.items():
        some = counts[rows][counts[rows] > 0]
        if not len(some):
            raise refusal(f"is 0 in all {kind}", "give rows that stand for somebody")
        effective, fewest = effective_rows(some / some.sum()), fewest_rows(len(some))
        if effective < fewest:
            raise refusal(
                f"is so uneven that of {len(some):,} {kind} an effective number of {effective:.3g} would carry all, "
                f"and at least {fewest:.3g} are needed",
                "cap the largest weights, or give a reference with more rows",
            )
    return np.asarray(counts / counts.sum())


def row_weights(tilt: Tilt, numbers: Floats, counts: Floats | None = None) -> Floats:
    """Return the weight of every row, with a sum of 1, or say why the property cannot have the value.

    Weights are as near as can be to `counts`, how many people each row stands for; the same of all rows without.
    """
    for text, values in zip(tilt.numbers, numbers, strict=True):
        if not np.isfinite(values).all():
            raise _refusal(tilt, f"{text!r} has values that are infinite: mend those rows, or change the expression")
    counts = np.ones(numbers.shape[1]) if counts is None else counts / counts.max()
    some, weights = counts > 0, np.zeros(len(counts))
    weights[some] = _checked(tilt, numbers[:, some], counts[some])
    return weights


def _checked(tilt: Tilt, numbers: Floats, counts: Floats) -> Floats:
    """Return the weights of rows all of which count for something, if all properties have their values with them."""
    weights = _mixed(tilt, numbers, counts) if tilt.kind == "mixture" else _tilted(tilt, numbers, counts)
    for part, own in _parts(tilt, numbers):
        value = property_of(part, own, weights)
        unit = max(abs(part.value), float(own[0].std())) if part.kind == "mean" else 1.0
        if not abs(value - (part.value if part.level is None else part.level)) <= 1e-9 * unit:
            raise _refusal(
                tilt,
                f"no weights of the rows bring {'it' if part is tilt else part.what} nearer than {value:.12g}: give a "
                "value nearer to that of all rows",
            )
    effective, fewest = effective_rows(weights), fewest_rows(len(weights))
    if effective < fewest and tilt.kind != "mixture":  # whose tables are as they are
        raise _refusal(
            tilt,
            f"of {len(weights):,} rows an effective number of {effective:.3g} would carry it, and at least "
            f"{fewest:.3g} are needed: give a value nearer to that of all rows, or a reference with more such rows",
        )
    return weights


def property_of(tilt: Tilt, numbers: Floats, weights: Floats) -> float:
    """Return the mean or the correlation of weighted rows, or which share of them is at most a quantile's value."""
    if tilt.kind == "quantile":
        return float(weights[numbers[0] <= tilt.value].sum())
    means = numbers @ weights
    if tilt.kind != "correlation":
        return float(means[0])
    away = numbers - means[:, np.newaxis]
    squares = (away * weights) @ away.T
    return float(squares[0, 1] / np.sqrt(squares[0, 0] * squares[1, 1]))


def _parts(tilt: Tilt, numbers: Floats) -> list[tuple[Tilt, Floats]]:
    """Return the properties that hold at once, each with its own numbers of the rows."""
    if tilt.kind != "joint":
        return [(tilt, numbers)]
    ends = np.cumsum([len(part.numbers) for part in tilt.parts])
    return list(zip(tilt.parts, np.split(numbers, ends[:-1]), strict=True))


def _tilted(tilt: Tilt, numbers: Floats, counts: Floats) -> Floats:
    """Return the weights nearest to what rows count with which a property has its value."""
    for part, own in _parts(tilt, numbers):
        if part.kind == "quantile":
            below = own[0] <= part.value
            if below.all() or not below.any():
                raise _refusal(
                    part,
                    f"{'all rows are' if below.any() else 'no row is'} at most that: give a value that is at least "
                    f"{own.min():.6g} and below {own.max():.6g}",
                )
        elif part.kind != "correlation" and not own.min() < part.value < own.max():
            raise _refusal(
                part,
                f"the rows have values from {own.min():.6g} to {own.max():.6g}: give a "
                f"{'share' if part.kind == 'share' else 'mean'} that is above the least of them and below the greatest",
            )
    points, means = _fixed(tilt, numbers, counts)
    different, which = np.unique(points, axis=0, return_inverse=True)
    together = np.bincount(which.ravel(), weights=counts)
    weights = tilted(different, together / together.sum(), means, near=1e-13)
    if weights is None:
        raise _refusal(tilt, "no weights of the rows give that: give values nearer to those of all rows")
    return np.asarray((weights / together)[which.ravel()] * counts)


def _mixed(tilt: Tilt, numbers: Floats, counts: Floats) -> Floats:
    """Return the weights of the rows of two tables, each of which has its share."""
    second, weights = numbers[0] > 0.5, np.zeros(len(counts))
    for name, chosen, share in zip(tilt.expressions, (~second, second), (1 - tilt.value, tilt.value), strict=True):
        if share > 0 and not chosen.any():
            raise _refusal(tilt, f"{name} has no rows: give a table that has some")
        own = counts[chosen] / counts[chosen].sum()
        if chosen.any() and effective_rows(own) < fewest_rows(len(own)):
            raise _refusal(tilt, f"few rows of {name} carry nearly all of its weight: cap the largest weights")
        weights[chosen] = share * own
    return weights


def _fixed(tilt: Tilt, numbers: Floats, counts: Floats) -> tuple[Floats, Floats]:
    """Return g, one row for each row of the reference, and t: what g is to be on average."""
    if tilt.kind == "joint":
        points, means = zip(*(_fixed(part, own, counts) for part, own in _parts(tilt, numbers)), strict=True)
        return np.column_stack(points), np.concatenate(means)
    if tilt.kind == "quantile":
        assert tilt.level is not None
        return (numbers <= tilt.value).T.astype(np.float64), np.array([tilt.level])
    if tilt.kind != "correlation":
        return numbers.T, np.array([tilt.value])
    centred = numbers - np.average(numbers, axis=1, weights=counts)[:, np.newaxis]
    deviations = np.sqrt(np.average(centred**2, axis=1, weights=counts))
    for text, values, deviation in zip(tilt.expressions, numbers, deviations, strict=True):
        if not deviation > 1e-12 * float(np.abs(values).max()):
            raise _refusal(tilt, f"{text!r} is the same in every row: name numbers that vary")
    a, b = centred / deviations[:, np.newaxis]
    return np.column_stack([a, b, a**2, b**2, a * b]), np.array([0.0, 0.0, 1.0, 1.0, tilt.value])


def constraint_errors(tilt: Tilt, numbers: Floats, counts: Floats) -> tuple[Floats, Floats]:
    r"""Return g(x_i) − t of every row, and how t itself changes where a row has more weight in the reference.

    A correlation keeps means and variances of the reference, so that its t depends on all rows: with standardised a and
    b it changes by :math:`(a, b, a^2 - 1, b^2 - 1, ρ (a^2 + b^2 - 2)/2)`. Other properties fix t.
    """
    away, changes = [], []
    for part, own in _parts(tilt, numbers):
        points, means = _fixed(part, own, counts)
        away.append(points - means)
        change = np.zeros_like(points)
        if part.kind == "correlation":
            change[:, :4] = away[-1][:, :4]
            change[:, 4] = part.value * (change[:, 2] + change[:, 3]) / 2
        changes.append(change)
    return np.column_stack(away), np.column_stack(changes)


def _refusal(tilt: Tilt, why: str) -> InvalidSecret:
    subject = (
        f"it cannot be that {tilt.in_words}" if tilt.kind == "joint" else f"{tilt.what} cannot be {tilt.value:.15g}"
    )
    return InvalidSecret(f"{subject}: {why}.", about=("property", tilt.what))
