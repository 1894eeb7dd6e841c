r"""Weights of the reference rows under which a property has a value: the law of rows closest to the reference.

Among all weights with which the property holds, those of least relative entropy to even ones are exponentially tilted,
:math:`w_i ∝ e^{λ^\top g(x_i)}`, with g what the property fixes the means of (`docs/proofs/tilted_secrets.md`):

- a mean: g = x;
- a quantile: g = [x ≤ v], so that there are two weights;
- a mixture of two tables: g = [row of the second], so that there are two weights again;
- a share: g = [the predicate is true], so that there are two weights once more;
- several properties at once: all their g together, so that all of them hold;
- a correlation: g = (a, b, a², b², ab), standardised by the reference, of which all but the last keep their means. The
  correlation is not linear in the law of the rows, but with means and variances fixed it is a mean.
"""

from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

from distpriv.errors import InvalidModel, InvalidSecret
from distpriv.framework.arrays import Floats, Rows
from distpriv.framework.tilts import Tilt, TiltKind

__all__ = [
    "checked_weights",
    "constraint_errors",
    "effective_rows",
    "fewest_rows",
    "property_of",
    "row_weights",
    "tilted",
]

STEPS = 100
"""More steps than Newton's method takes where there is something to find."""

NEAR = 1e-8
"""How near to the wanted means the weighted ones come, in standard deviations."""

HALVINGS = 40

LONGEST = 5.0
"""By how much a step may change the logarithm of a weight: farther out nothing is left of the curvature."""

FLAT = 1e-13
"""By which share of itself the dual may rise by rounding."""

ALONE = 1e-20
"""A variance so small is that of weights which stay with one point, and never come nearer to the wanted means."""


def tilted(points: Floats, weights: Floats, means: Floats, near: float = NEAR) -> Floats | None:
    r"""Return the weights nearest to given ones with which points have given means; none where no weights do.

    Nearest is by relative entropy, so :math:`p_i ∝ b_i e^{λ^\top g_i}`, where λ minimises the convex
    :math:`\log Σ_i b_i e^{λ^\top (g_i - t)}`: Newton's method, with steps that are not too long,
    and halved until they descend. Means at the edge of what points reach would take all weight from the others, and
    count as out of reach.

    Args:
        points: g, one a row.
        weights: b, not negative, with a sum of 1.
        means: t.
        near: how near to these the weighted means come, in standard deviations; where rounding stops them before that,
            a hundred times as far is near enough.

    >>> points, even = np.array([[0.0], [1.0], [2.0]]), np.full(3, 1 / 3)
    >>> tilted(points, even, np.array([1.5])).round(4)
    array([0.1162, 0.2676, 0.6162])
    >>> tilted(points, even, np.array([2.5])) is None
    True
    """
    centre = weights @ points
    spread = np.sqrt(weights @ (points - centre) ** 2)
    unit = np.where(spread > 0, spread, np.maximum(np.abs(centre), 1.0))
    away = (points - means) / unit
    slope = np.zeros(points.shape[1])
    value, found, gradient = _dual(away, weights, slope)
    for _ in range(STEPS):
        off = float(np.abs(gradient).max(initial=0.0))
        if off <= near:
            return found
        curvature = (away - gradient).T @ ((away - gradient) * found[:, np.newaxis])
        if np.trace(curvature) < ALONE:
            return None
        step = -np.linalg.pinv(curvature, rcond=1e-12, hermitian=True) @ gradient
        step *= min(1.0, LONGEST / max(float(np.abs(away @ step).max()), 1e-300))
        for halving in range(HALVINGS):
            tried = _dual(away, weights, slope + step / 2**halving)
            # Next to the least the dual is flat but for rounding, and a full step still halves the gradient.
            flat = not halving and tried[0] - value <= FLAT * (1 + abs(value))
            if tried[0] < value or (flat and np.abs(tried[2]).max() < off / 2):
                slope = slope + step / 2**halving
                value, found, gradient = tried
                break
        else:
            return found if off <= 100 * near else None
    return None


def _dual(away: Floats, weights: Floats, slope: Floats) -> tuple[float, Floats, Floats]:
    """Return the dual, the weights that belong to it, and its gradient: how far their means are from the wanted."""
    with np.errstate(divide="ignore"):
        exponents = away @ slope + np.log(weights)
    highest = float(exponents.max())
    grown = np.exp(exponents - highest)
    total = float(grown.sum())
    found = grown / total
    return highest + float(np.log(total)), found, np.asarray(found @ away)


FEWEST, FEWEST_SHARE = 100, 0.1
"""Fewer effective rows carry a law by themselves: so many, or such a share of a smaller table."""


def effective_rows(weights: Floats) -> float:
    """Return how many rows of one weight are as many as these, which have a sum of 1: 1/Σw².

    >>> effective_rows(np.array([0.25, 0.25, 0.5]))
    2.6666666666666665
    """
    return float(1 / (weights @ weights))


def fewest_rows(rows: int) -> float:
    """Return how many effective rows are the fewest of so many.

    >>> fewest_rows(200), fewest_rows(5000)
    (20.0, 100)
    """
    return min(FEWEST, FEWEST_SHARE * rows)


def checked_weights(text: str, given: Floats, strata: Mapping[str, Rows]) -> Floats:
    """Return what every row counts, with a sum of 1, or say why it cannot be.

    A row that counts 0 is never drawn.

    Args:
        text: the column, or the SQL text, that weights come from.
        given: the weight of every row.
        strata: which rows there are to draw from, by what they are called.

    Raises:
        InvalidModel: a weight is infinite or below 0, or some rows have none, or few of them carry nearly all of it.

    >>> checked_weights("people", np.array([1.0, 1.0, 2.0]), {"rows": np.arange(3)})
    array([0.25, 0.25, 0.5 ])
    """
    if not np.isfinite(given).all():
        raise _refusal(text, "has values that are infinite", "mend those rows, or change the expression")
    if (given < 0).any():
        raise _refusal(
            text, f"is {float(given.min()):.6g} in a row", "give how many people a row stands for, 0 or more"
        )
    counts = given / max(float(given.max(initial=0.0)), 5e-324)
    for kind, rows in strata.items():
        some = counts[rows][counts[rows] > 0]
        if not len(some):
            raise _refusal(text, f"is 0 in all {kind}", "give rows that stand for somebody")
        effective, fewest = effective_rows(some / some.sum()), fewest_rows(len(some))
        if effective < fewest:
            raise _refusal(
                text,
                f"is so uneven that of {len(some):,} {kind} an effective number of {effective:.3g} would carry all, "
                f"and at least {fewest:.3g} are needed",
                "cap the largest weights, or give a reference with more rows",
            )
    return np.asarray(counts / counts.sum())


def _refusal(text: str, why: str, cure: str) -> InvalidModel:
    return InvalidModel(f"the weight {text!r} {why}: {cure}.", about=("option", "weight"))


CLOSE = 1e-13
"""How near to the wanted means the weighted ones come, in standard deviations."""

MET = 1e-9
"""By how much the property may miss its value, as a share of the value or of the deviation of its rows."""


def row_weights(tilt: Tilt, numbers: Floats, counts: Floats | None = None) -> Floats:
    """Return the weight of every row, with a sum of 1, or say why the property cannot have the value.

    Args:
        tilt: the property and its value.
        numbers: what its expressions are of every row, one expression a row.
        counts: how many people each row stands for, which the weights are nearest to; the same of all without.

    Raises:
        InvalidSecret: the value is out of reach, or few rows would carry nearly all of the weight.

    >>> hours = Tilt(kind="mean", expressions=("hours",), value=1.5)
    >>> row_weights(hours, np.array([[0.0, 1.0, 2.0]])).round(4)
    array([0.1162, 0.2676, 0.6162])
    """
    for text, values in zip(tilt.numbers, numbers, strict=True):
        if not np.isfinite(values).all():
            raise _refusal(tilt, f"{text!r} has values that are infinite: mend those rows, or change the expression")
    if counts is None:
        return _row_weights(tilt, numbers, np.ones(numbers.shape[1]))
    some, weights = counts > 0, np.zeros(len(counts))
    weights[some] = _row_weights(tilt, numbers[:, some], counts[some] / counts.max())
    return weights


def _row_weights(tilt: Tilt, numbers: Floats, counts: Floats) -> Floats:
    """Return the weights of rows all of which count for something."""
    weights = _FOUND[tilt.kind](tilt, numbers, counts)
    for part, own in _parts(tilt, numbers):
        found = property_of(part, own, weights)
        unit = max(abs(part.value), float(own[0].std())) if part.kind == "mean" else 1.0
        wanted = part.value if part.level is None else part.level
        if not abs(found - wanted) <= MET * unit:
            which = "it" if part is tilt else part.what
            raise _refusal(
                tilt,
                f"no weights of the rows bring {which} nearer than {found:.12g}: give a value nearer to that of all "
                "rows",
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
    if tilt.kind in ("mean", "share", "mixture"):
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


def _for_mean(tilt: Tilt, numbers: Floats, counts: Floats) -> Floats:
    return _tilted(tilt, *_fixed_mean(tilt, numbers, counts), counts)


def _fixed_mean(tilt: Tilt, numbers: Floats, _: Floats) -> tuple[Floats, Floats]:
    low, high = float(numbers.min()), float(numbers.max())
    if not low < tilt.value < high:
        what = "share" if tilt.kind == "share" else "mean"
        raise _refusal(
            tilt,
            f"the rows have values from {low:.6g} to {high:.6g}: give a {what} that is above the least of them and "
            "below the greatest",
        )
    return numbers.T, np.array([tilt.value])


def _for_joint(tilt: Tilt, numbers: Floats, counts: Floats) -> Floats:
    fixed = [_FIXED[part.kind](part, own, counts) for part, own in _parts(tilt, numbers)]
    points, means = zip(*fixed, strict=True)
    return _tilted(tilt, np.column_stack(points), np.concatenate(means), counts)


def _fixed_share_below(tilt: Tilt, numbers: Floats, _: Floats) -> tuple[Floats, Floats]:
    assert tilt.level is not None
    return _below(tilt, numbers).astype(np.float64)[:, np.newaxis], np.array([tilt.level])


def _below(tilt: Tilt, numbers: Floats) -> NDArray[np.bool_]:
    """Return which rows are at most a quantile's value, if some are and some are not."""
    below = numbers[0] <= tilt.value
    if below.all() or not below.any():
        raise _refusal(
            tilt,
            f"{'no row is' if not below.any() else 'all rows are'} at most that: give a value that is at least "
            f"{float(numbers.min()):.6g} and below {float(numbers.max()):.6g}",
        )
    return np.asarray(below)


def _for_quantile(tilt: Tilt, numbers: Floats, counts: Floats) -> Floats:
    assert tilt.level is not None
    below = _below(tilt, numbers)
    shares = np.where(below, tilt.level / counts[below].sum(), (1 - tilt.level) / counts[~below].sum())
    return np.asarray(shares * counts)


def constraint_errors(tilt: Tilt, numbers: Floats, counts: Floats | None = None) -> tuple[Floats, Floats]:
    r"""Return g(x_i) − t of every row, and how t itself changes where a row has more weight in the reference.

    A correlation keeps means and variances of the reference, so that its t depends on all rows: with standardised a and
    b it changes by :math:`(a, b, a^2 - 1, b^2 - 1, ρ (a^2 + b^2 - 2)/2)`. Other properties fix t.
    """
    if tilt.kind == "joint":
        each = [constraint_errors(part, own, counts) for part, own in _parts(tilt, numbers)]
        return np.column_stack([away for away, _ in each]), np.column_stack([changes for _, changes in each])
    if tilt.kind in ("mean", "share", "mixture"):
        return (numbers - tilt.value).T, np.zeros((numbers.shape[1], 1))
    if tilt.kind == "quantile":
        assert tilt.level is not None
        return np.asarray((numbers <= tilt.value).T - tilt.level, dtype=np.float64), np.zeros((numbers.shape[1], 1))
    points, means = _moments_of_two(tilt, numbers, np.ones(numbers.shape[1]) if counts is None else counts)
    changes = (points - np.array([0.0, 0.0, 1.0, 1.0, 0.0])).copy()
    changes[:, 4] = tilt.value * (changes[:, 2] + changes[:, 3]) / 2
    return points - means, changes


def _for_correlation(tilt: Tilt, numbers: Floats, counts: Floats) -> Floats:
    return _tilted(tilt, *_moments_of_two(tilt, numbers, counts), counts)


def _for_mixture(tilt: Tilt, numbers: Floats, counts: Floats) -> Floats:
    second = numbers[0] > 0.5
    for name, chosen, share in zip(tilt.expressions, (~second, second), (1 - tilt.value, tilt.value), strict=True):
        if share > 0 and not chosen.any():
            raise _refusal(tilt, f"{name} has no rows: give a table that has some")
        if chosen.any() and effective_rows(counts[chosen] / counts[chosen].sum()) < fewest_rows(int(chosen.sum())):
            raise _refusal(tilt, f"few rows of {name} carry nearly all of its weight: cap the largest weights")
    weights = np.zeros(len(counts))
    for chosen, share in ((~second, 1 - tilt.value), (second, tilt.value)):
        weights[chosen] = share * counts[chosen] / counts[chosen].sum()
    return weights


_FOUND: Mapping[TiltKind, Callable[[Tilt, Floats, Floats], Floats]] = {
    "mean": _for_mean,
    "share": _for_mean,
    "quantile": _for_quantile,
    "correlation": _for_correlation,
    "mixture": _for_mixture,
    "joint": _for_joint,
}


def _moments_of_two(tilt: Tilt, numbers: Floats, counts: Floats) -> tuple[Floats, Floats]:
    """Return first and second moments of two standardised numbers for every row, and what they are to be on average."""
    centred = numbers - np.average(numbers, axis=1, weights=counts)[:, np.newaxis]
    deviations = np.sqrt(np.average(centred**2, axis=1, weights=counts))
    for text, values, deviation in zip(tilt.expressions, numbers, deviations, strict=True):
        if not deviation > 1e-12 * float(np.abs(values).max()):
            raise _refusal(tilt, f"{text!r} is the same in every row: name numbers that vary")
    first, second = centred / deviations[:, np.newaxis]
    points = np.column_stack([first, second, first**2, second**2, first * second])
    return points, np.array([0.0, 0.0, 1.0, 1.0, tilt.value])


_FIXED: Mapping[TiltKind, Callable[[Tilt, Floats, Floats], tuple[Floats, Floats]]] = {
    "mean": _fixed_mean,
    "share": _fixed_mean,
    "quantile": _fixed_share_below,
    "correlation": _moments_of_two,
}
"""What a property that holds with others fixes: numbers of every row, and what they are on average."""


def _tilted(tilt: Tilt, points: Floats, means: Floats, counts: Floats) -> Floats:
    """Return the weights nearest to what rows count with which points have given means."""
    different, which = np.unique(points, axis=0, return_inverse=True)
    together = np.bincount(which.ravel(), weights=counts)
    weights = tilted(different, together / together.sum(), means, near=CLOSE)
    if weights is None:
        raise _refusal(tilt, "no weights of the rows give that: give values nearer to those of all rows")
    return np.asarray((weights / together)[which.ravel()] * counts)


def _refusal(tilt: Tilt, why: str) -> InvalidSecret:
    if tilt.kind == "joint":
        return InvalidSecret(f"it cannot be that {tilt.in_words}: {why}.", about=("property", tilt.what))
    return InvalidSecret(f"{tilt.what} cannot be {tilt.value:.15g}: {why}.", about=("property", tilt.what))
