r"""Whether the moments in a bundle can be those of its policy's statistics, and whether they rule a certificate out.

Moments cannot be computed again without the reference. But scenarios, pairs and records follow from the policy, a count
has a step of 1, means of shares lie on a line, one record cannot move less than all moves add up to, and draws are on
average at least as long as the mean shift (Jensen).
"""

import math
from collections.abc import Iterator, Sequence

import numpy as np
from scipy.linalg import block_diag

from distpriv.distances.gaussian import gaussian_delta
from distpriv.framework.arrays import Floats
from distpriv.framework.queries import Number, Query
from distpriv.framework.secrets import Pair, protect
from distpriv.framework.tilts import Tilt
from distpriv.guarantees.certificate import Certificate
from distpriv.guarantees.drawn import Drawn
from distpriv.law.cells import RowGrid
from distpriv.modelling.model import QueryModel
from distpriv.noise.laws import NoiseLaw
from distpriv.policy import Policy
from distpriv.releasing.certified_laws import same_moments
from distpriv.workflow.verifying.problems import first_problem
from distpriv.workflow.verifying.strata_checks import joint_strata_problem, strata_problem

__all__ = ["draws_problem", "joint_problem", "law_problem", "lower_bound_problem", "moments_problem", "policy_problem"]

SAME = 1e-9
"""By which share numbers may differ that are the same but for rounding."""

NEAR = 1e-6
"""By which share of their deviations moments may differ that were computed in two ways."""

UNLIKELY = 6.0
"""How many standard errors a sampled number may be off."""

SKEWED = 0.07
r"""How far the distribution function of a sum is from the normal one, over its skewness: :math:`1/(6\sqrt{2π})`."""


@first_problem
def policy_problem(policy: Policy, model: QueryModel) -> Iterator[str]:
    """Say in what a model differs from the policy it is said to be of."""
    asked, made, options = policy.query(), model.provenance, policy.options
    if set(model.names) != set(asked.names):
        yield "the moments are of other statistics than the policy's"
    derived = protect(policy.secrets(), policy.records)
    if list(model.distributions) != list(derived.scenarios):
        yield "the scenarios of the moments are not those that the policy protects"
    if model.protected_pairs != derived.pairs:
        yield "the protected pairs are not those of the policy"
    for name, scenario in derived.scenarios.items():
        if not scenario.draws_as(model.scenarios.get(name)):
            yield f"scenario {name!r} is another one in the policy"
    if (made.records, made.drawing.law) != (policy.records, options.for_scenarios(derived).law):
        yield (
            "records, replacement, missing values, weight or kind of reference are others in the policy than in the "
            "moments"
        )
    in_order = model.names == asked.names
    exact = asked.has_exact_moments and (options.method != "sampling" or not in_order)
    if made.method != ("exact moments" if exact else "sampling"):
        yield f"the policy does not give moments by {made.method!r}"
    if made.draws != (None if exact else options.draws):
        yield "the moments are of another number of draws than the policy's"


@first_problem
def moments_problem(model: QueryModel, query: Query) -> Iterator[str]:
    """Say why moments cannot be those of a query."""
    records = model.provenance.records or 1
    for place, number in enumerate(query.numbers):
        if not number.statistic.columns:
            yield from _steps(model, place, number, records)
        if number.statistic.is_mean:
            yield from _moves(model, place, number, records)
    exact = model.provenance.method == "exact moments"
    if any((law.lattice is not None) != exact for law in model.distributions.values()):
        yield "a scenario's lattice is missing, or there where moments are sampled"
    if exact:
        yield from _lattices(model)
        yield from _off_line(model)
    if not query.has_functions and not np.isfinite(model.record_sensitivities).all():
        yield "nothing is said of how much one record can move a statistic"
    if problem := strata_problem(model):
        yield problem


def _steps(model: QueryModel, place: int, number: Number, records: int) -> Iterator[str]:
    """Say where a step is smaller than the definition has it, or is not what the lattices are made of."""
    statistic, name = number.statistic, number.name
    counted = statistic.is_mean and statistic.row_of(number.place).predicate
    resolutions = [1.0 if row.predicate else row.resolution or 0.0 for row in statistic.row_values]
    least = statistic.steps(records, resolutions)[number.place]
    step = float(model.steps[place])
    if step < least * (1 - SAME) or (counted and step > least * (1 + SAME)):
        yield f"{name!r} comes in steps of {least:g} by its definition, and {step:g} is written"
        return
    rows = [law.lattice[place] for law in model.distributions.values() if law.lattice is not None]
    fits = [_in_steps(row, step) for row in rows] if step > 0 else []
    # A step that is declared may be coarser than that of the rows, which all scenarios of one predicate share.
    alike = [fit or (not counted and _several(row, rows)) for row, fit in zip(rows, fits, strict=False)]
    if not all(alike) or (fits and step > least * (1 + SAME) and not any(fits)):
        yield f"the lattice of {name!r} is not made of its steps of {step:g}"


def _lattices(model: QueryModel) -> Iterator[str]:
    """Say where a lattice is none, or another than that of other shares of the same rows.

    It has fewer vectors where a scenario takes all the rows of a kind that there are, since these then do not vary.
    """
    known: dict[tuple[str, int, int], Floats] = {}
    for name, law in model.distributions.items():
        if law.lattice is None:
            continue
        units = np.where(model.steps > 0, model.steps, 1.0)[:, np.newaxis]
        size, scenario = law.lattice.shape[1], model.scenarios.get(name)
        if np.linalg.matrix_rank(law.lattice / units) < size:
            yield f"the lattice of scenario {name!r} has vectors that are no basis"
        if scenario is None or scenario.predicate is None or 0 in scenario.sizes:
            continue
        alike = scenario.predicate, scenario.reference, size
        if not np.array_equal(known.setdefault(alike, law.lattice), law.lattice):
            yield f"the lattice of scenario {name!r} is another than that of other shares of the same rows"


def _several(row: Floats, rows: Sequence[Floats]) -> bool:
    return sum(np.array_equal(row, other) for other in rows) > 1


def _in_steps(row: Floats, step: float) -> bool:
    """Tell whether all entries are whole numbers of steps; what is none of them is exactly 0."""
    times = row / step
    whole = np.abs(times - np.round(times)) <= NEAR * np.abs(times)
    return bool((whole & (np.abs(times) < 2.0**53)).all())


def _moves(model: QueryModel, place: int, number: Number, records: int) -> Iterator[str]:
    """Say where a mean moves or varies more than its records can make it."""
    statistic, name, row = number.statistic, number.name, number.statistic.row_of(number.place)
    reach = float(model.record_sensitivities[place])
    bounds = [each.bounds or (0.0, 1.0) for each in statistic.row_values]
    declared = statistic.record_sensitivities(records, bounds)[number.place]
    if row.predicate and reach not in (0.0, declared):
        yield f"one record moves {name!r} by the step of a count, and {reach:g} is written"
    if row.bounds is not None and not math.isclose(reach, declared, rel_tol=SAME):
        yield f"the bounds of {name!r} let one record move it by {declared:g}, and {reach:g} is written"
    means = {scenario: float(law.mean[place]) for scenario, law in model.distributions.items()}
    spread = {scenario: float(law.covariance[place, place]) for scenario, law in model.distributions.items()}
    if any(variance > records * reach**2 / 4 * (1 + 0.1 * _sampled(model) + NEAR) for variance in spread.values()):
        yield f"{name!r} varies more than {records} records that move it by {reach:g} can make it"
    for first, second in model.protected_pairs:
        error = UNLIKELY * math.sqrt((spread[first] + spread[second]) / (model.provenance.draws or math.inf))
        most = _swapped(model, (first, second), records) * reach * (1 + NEAR) + error
        if abs(means[first] - means[second]) > most + SAME * abs(means[first]):
            yield f"the means of {name!r} are farther apart than the records that differ can move it"


def _sampled(model: QueryModel) -> bool:
    return model.provenance.method != "exact moments"


def _swapped(model: QueryModel, pair: Pair, records: int) -> int:
    one, other = (model.scenarios.get(name) for name in pair)
    return records if one is None or other is None else one.swapped(other)


def _off_line(model: QueryModel) -> Iterator[str]:
    """Say where exact means of shares are not on a line: each is so many rows of one kind and the rest of another.

    A mixture of two tables is on average so many rows of one and the rest of the other.
    """
    shares: dict[tuple[str, int], list[tuple[float, Floats]]] = {}
    for name, scenario in model.scenarios.items():
        alike, mean = scenario.reference, model.distributions[name].mean
        if scenario.predicate is not None:
            shares.setdefault((scenario.predicate, alike), []).append((scenario.positives, mean))
        elif scenario.tilt is not None and scenario.tilt.kind == "mixture":
            shares.setdefault((scenario.tilt.what, alike), []).append((scenario.tilt.value, mean))
    for (what, _), found in shares.items():
        (low, start), (high, end) = (edge(found, key=lambda pair: pair[0]) for edge in (min, max))
        for share, mean in found:
            there = start + (end - start) * ((share - low) / ((high - low) or 1))
            if (np.abs(mean - there) > NEAR * (np.abs(start - end) + SAME * np.abs(start)) + SAME * np.abs(mean)).any():
                yield f"the means at shares of {what} are not on a line, as those of drawn rows are"


@first_problem
def joint_problem(model: QueryModel, whole: QueryModel, noises: Sequence[NoiseLaw], place: int) -> Iterator[str]:
    """Say in what the model of all releases differs from this release's own, one of them."""
    sizes = [noise.dimension for noise in noises]
    if sum(sizes) != whole.dimension or sizes[place] != model.dimension:
        yield "the joint moments are of another number of statistics than the releases have"
        return
    numbers = [number for number, size in enumerate(sizes, start=1) for _ in range(size)]
    if any(not name.startswith(f"{number}. ") for number, name in zip(numbers, whole.names, strict=True)):
        yield "the joint moments do not name the statistics of the releases one after the other"
    start = sum(sizes[:place])
    own = slice(start, start + model.dimension)
    if whole.names[own] != tuple(f"{place + 1}. {name}" for name in model.names):
        yield "the statistics of this release are others in the joint moments"
    one, other = model.provenance, whole.provenance
    if (one.records, one.drawing.law) != (other.records, other.drawing.law):
        yield "the joint moments are of other records than this release"
    if (model.protected_pairs, model.scenarios.keys()) != (whole.protected_pairs, whole.scenarios.keys()):
        yield "the joint moments protect other pairs than this release"
        return
    if not all(scenario.draws_as(whole.scenarios[name]) for name, scenario in model.scenarios.items()):
        yield "the joint moments are of other scenarios than this release"
    for ours, theirs in ((model.steps, whole.steps), (model.record_sensitivities, whole.record_sensitivities)):
        if not np.allclose(ours, theirs[own], rtol=SAME, atol=0):
            yield "steps or sensitivities of this release are others among all releases"
    near = NEAR if other.draws is None else 3 * UNLIKELY / math.sqrt(other.draws)
    for name, law in model.distributions.items():
        joint, written = whole.distributions[name], {"mean": law.mean, "covariance": law.covariance}
        if not same_moments(written, joint.mean[own], joint.covariance[own, own], near):
            yield f"the moments of this release are others among all releases, in scenario {name!r}"
    if problem := joint_strata_problem(model, whole, own):
        yield problem


def draws_problem(model: QueryModel, drawn: Drawn) -> str | None:
    """Return that draws are shorter on average than the mean shifts, if they are: no coupling can have that."""
    noise = drawn.noise
    if drawn.measure == "delta" or noise.kind not in ("gaussian", "laplace"):
        return None
    longest = 0.0
    for law in drawn.laws:
        mean = float(law.counts @ law.values / law.counts.sum())
        error = (
            math.sqrt(float(law.counts @ (law.values - mean) ** 2)) / law.counts.sum() if math.isfinite(mean) else 0.0
        )
        longest = max(longest, mean + UNLIKELY * error)
    for pair in model.protected_pairs:
        moved = np.abs(noise.axes.T @ model.mean_shift(pair)) - _sampling_error(model, pair, noise.axes)
        length = float(np.linalg.norm(np.maximum(moved, 0.0) / noise.widths, 2 if noise.is_gaussian else 1))
        if drawn.scale * length > longest * (1 + NEAR):
            return (
                f"the mean shift of {pair[0]} against {pair[1]} is {drawn.scale * length:.4g} units of the draws long, "
                f"and they are {longest:.4g} on average"
            )
    return None


def law_problem(model: QueryModel, rows: RowGrid) -> str | None:
    """Return in what the cells of rows of an exact law cannot be those of the statistics, if in anything."""
    if len(rows.steps) != model.dimension or (rows.steps <= 0).any() or not 0 <= rows.off <= 1:
        return "the cells of rows are not those of the statistics"
    weighted = {which for which, cells in enumerate(rows.strata) if cells.weights is not None}
    same = rows.drawn == _sizes(model) and rows.replacement == model.provenance.replacement
    if not same or not _same_reference(model, rows) or weighted != _weighted(model, rows):
        return "rows are said to be drawn otherwise than in the scenarios"
    if any(which >= len(rows.strata) for sizes in rows.drawn.values() for which in sizes):
        return "rows are said to be drawn from strata that are not there"
    for name, law in model.distributions.items():
        if not rows.replacement and any(size > rows.strata[which].rows for which, size in rows.drawn[name].items()):
            return f"more rows are said to be drawn in scenario {name!r} than there are"
        mean, covariance = rows.moments(name)
        written = {
            "mean": (mean * rows.steps + rows.records * rows.lowest).tolist(),
            "covariance": (covariance * np.outer(rows.steps, rows.steps)).tolist(),
        }
        if not same_moments(written, law.mean, law.covariance, NEAR):
            return f"the cells of rows have other moments in scenario {name!r} than the statistics"
    return None


def _same_reference(model: QueryModel, rows: RowGrid) -> bool:
    """Tell whether rows are a sample where the reference is one, of as many rows."""
    drawn = {
        which for sizes in rows.drawn.values() for which, size in sizes.items() if size and which < len(rows.strata)
    }
    counts = sorted(rows.strata[which].rows for which in drawn)
    return not rows.sample if not model.strata else rows.sample and counts == sorted(s.rows for s in model.strata)


def _weighted(model: QueryModel, rows: RowGrid) -> set[int]:
    """Return the strata whose rows have weights in the scenarios."""
    counted = model.provenance.drawing.weight is not None
    return {
        which
        for name, sizes in rows.drawn.items()
        if counted or model.scenarios[name].tilt is not None
        for which in sizes
    }


def _sizes(model: QueryModel) -> dict[str, dict[int, int]]:
    """Return how many rows of which strata each scenario has, strata by their number as they come first."""
    numbers: dict[tuple[str | int | None, str | None, bool, Tilt | None], int] = {}
    found: dict[str, dict[int, int]] = {}
    for name, scenario in model.scenarios.items():
        found[name] = {}
        for satisfied, size in scenario.strata:
            table = scenario.reference or (None if scenario.table is None else name)
            number = numbers.setdefault((table, scenario.predicate, satisfied, scenario.tilt), len(numbers))
            if size:
                found[name][number] = size
    return found


def _sampling_error(model: QueryModel, pair: Pair, axes: Floats) -> Floats:
    if model.provenance.draws is None:
        return np.zeros(axes.shape[1])
    both = sum(model.distributions[name].covariance for name in pair)
    return np.asarray(UNLIKELY * np.sqrt(np.maximum(np.diag(axes.T @ both @ axes), 0.0) / model.provenance.draws))


def lower_bound_problem(
    model: QueryModel, noises: Sequence[NoiseLaw], written: Certificate, query: Query | None
) -> str | None:
    """Return that moments rule a certificate of one or several releases out, if they do, whatever it rests on.

    An attacker looks at one direction, in which the means are far apart, and at one side of a threshold in it. For sums
    of rows none of which counts for much the answer is nearly normal, off by no more than its skewness allows; for all
    others it is bounded by its variance alone (Cantelli).
    """
    means = query is not None and query.has_exact_moments and np.isfinite(model.record_sensitivities).all()
    added = block_diag(*(noise.covariance for noise in noises))
    normal = bool(means) and all(noise.is_gaussian for noise in noises)
    for pair in model.protected_pairs:
        least = _least_delta(model, pair, added, written.epsilon, normal=normal)
        if least > written.delta * 1.1 + SAME:
            return (
                f"by the moments alone, whoever looks for {pair[0]} against {pair[1]} has δ = {least:.3g} at ε = "
                f"{written.epsilon:g}, and {written.delta:.3g} is written"
            )
    return None


def _least_delta(model: QueryModel, pair: Pair, added: Floats, epsilon: float, *, normal: bool) -> float:
    first, second = (model.distributions[name].covariance for name in pair)
    shift = model.mean_shift(pair)
    units = np.sqrt(np.maximum(np.diag(first + second + added), 0.0))
    units = np.where(units > 0, units, 1.0)
    pooled = ((first + second) / 2 + added) / np.outer(units, units)
    direction = np.linalg.lstsq(pooled, shift / units, rcond=1e-12)[0] / units
    gap = abs(float(direction @ shift))
    spread = [max(0.0, float(direction @ (own + added) @ direction)) for own in (first, second)]
    if _sampled(model) and model.provenance.draws:
        error = UNLIKELY / math.sqrt(model.provenance.draws)
        gap, spread = max(0.0, gap - error * math.sqrt(sum(spread))), [one * (1 + 3 * error) for one in spread]
    widest = max(spread)
    if gap == 0 or widest == 0:
        return 0.0
    found = _cantelli(gap, spread[0], spread[1], epsilon)
    if normal:
        own = max(float(direction @ covariance @ direction) for covariance in (first, second))
        skewness = float(np.abs(direction) @ model.record_sensitivities) * own / min(spread) ** 1.5
        slack = SKEWED * (1 + math.exp(min(epsilon, 700.0))) * skewness
        found = max(found, gaussian_delta(epsilon, gap / math.sqrt(widest)) - slack)
    return found


def _cantelli(gap: float, first: float, second: float, epsilon: float) -> float:
    """Return the δ that two laws with these variances have at least, their means so far apart."""
    below = gap * np.linspace(0.0, 1.0, 101)
    with np.errstate(divide="ignore", invalid="ignore"):
        missed = np.nan_to_num(first / (first + below**2), nan=1.0)
        wrong = np.nan_to_num(second / (second + (gap - below) ** 2), nan=1.0)
    return max(0.0, float((1 - missed - math.exp(min(epsilon, 700.0)) * wrong).max()))
