"""Laws of rows that certificates did not see once, each with what hid it."""

import math

import numpy as np
import pyarrow as pa
import pytest
from scipy.special import ndtr, ndtri
from scipy.stats import gamma, norm, ortho_group

import distpriv as dp
from distpriv.framework.arrays import Floats
from distpriv.guarantees.attack_accuracy import attack_accuracy_upper_bound
from distpriv.guarantees.certify import certified
from distpriv.guarantees.checked_law import LARGEST_CHANCE, LARGEST_GATE, CheckedLaw
from distpriv.guarantees.exact_delta import exact_delta
from distpriv.guarantees.law_check import standing_peaks
from distpriv.guarantees.projections import projected_deltas, projected_laws
from distpriv.guarantees.saddlepoint import saddlepoint_check
from distpriv.modelling.uneven_shapes import kinds_of_pairs, uneven_directions
from distpriv.modelling.utility import OBJECTIVES, Objective
from distpriv.noise.laws import GaussianNoise, Noise

M = dp.mechanisms
TARGET = dp.PrivacyTarget(epsilon=1, delta=1e-3)


def wrapped_delta(strata: list[Floats], sizes: list[list[int]], variance: float, epsilon: float) -> float:
    """H_ε of sums of rows drawn with replacement, with Gaussian noise, both orders; on a circle, which only hides."""
    means = [sum(k * x.mean() for k, x in zip(ks, strata, strict=True)) for ks in sizes]
    spread = max(sum(k * x.var() for k, x in zip(ks, strata, strict=True)) for ks in sizes) + variance
    length = np.ptp(means) + 26 * math.sqrt(spread)
    count = math.ceil(8.5 * length / (2 * np.pi * math.sqrt(variance)))
    t = np.arange(count + 1) * 2 * np.pi / length
    rows = [np.exp(1j * np.outer(t, x - x.mean())).mean(axis=1) for x in strata]
    laws = []
    for ks, mean in zip(sizes, means, strict=True):
        transform = np.exp(-variance * t**2 / 2 + 1j * t * (mean - means[0]))
        for k, of in zip(ks, rows, strict=True):
            transform = transform * of**k
        size = 64 * 2 ** math.ceil(math.log2(count + 1))
        laws.append(np.fft.irfft(np.append(np.conj(transform), np.zeros(size // 2 - count)), n=size) * size / length)
    first, second = (np.maximum(law, 0.0) for law in laws)
    step, ratio = length / len(first), math.exp(epsilon)
    return float(max(np.maximum(p - ratio * q, 0).sum() for p, q in ((first, second), (second, first))) * step)


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_one_huge_row_does_not_blur_the_law_of_all_others(objective: Objective) -> None:
    """The circle that had room for it was divided so coarsely that its own smoothing hid the two values."""
    rows, records, apart = 50_000, 2, 2.4e-4
    rng = np.random.default_rng(1)
    group = np.repeat([0, 1], rows)
    values = rng.normal(0, 1e-6, 2 * rows) + apart * group
    values[[0, rows]] += 1
    model = dp.model(
        pa.table({"y": values, "g": group}),
        dp.Query(y=dp.total("y")),
        dp.Share("g = 1", values=(0.0, 1.0)),
        records=records,
        replacement=True,
        reference="population",
    )
    made = M.certified_gaussian(model, TARGET, objective=objective)
    assert made.certificate.holds_at("checked")
    shift = records * apart / math.sqrt(made.noise.covariance[0, 0] + records * 1e-12)
    without = ndtr(shift / 2 - 1 / shift) - math.e * ndtr(-shift / 2 - 1 / shift)
    assert without - math.e * records / rows <= made.certificate.delta


def uneven(records: int = 20) -> tuple[dp.QueryModel, list[Floats]]:
    """Rows of one group are whole but for a little, those of the other mostly not: only where few are drawn of these
    a ripple stands."""
    rows, rng = 20_000, np.random.default_rng(3)
    steps = rng.choice([-1.0, 0.0, 1.0], (2, rows), p=[0.125, 0.75, 0.125])
    whole = steps + 0.03 * rng.normal(size=(2, rows))
    spread = rng.uniform(-0.5, 0.5, rows) + rng.choice([-1.0, 0.0, 1.0], rows, p=[1 / 12, 5 / 6, 1 / 12])
    strata = [whole[0] - whole[0].mean(), np.where(rng.random(rows) < 0.2, whole[1], spread)]
    strata[1] -= strata[1].mean()
    other, y = 0.3 * rng.normal(size=2 * rows), np.concatenate(strata)
    table = pa.table({"u": other + y, "v": other - 1.3 * y, "g": np.repeat([0, 1], rows)})
    secret = dp.Share("g = 1", values=(1 / records, 18 / records))
    query = dp.Query(u=dp.total("u"), v=dp.total("v"))
    return dp.model(table, query, secret, records=records, replacement=True, reference="population"), strata


def test_a_ripple_that_stands_in_one_scenario_only_is_found() -> None:
    """The search looked at a dataset between the two, in which nothing was left of it."""
    model, strata = uneven()
    made = M.certified_gaussian(model, dp.PrivacyTarget(epsilon=0.05, delta=1e-3))
    assert made.certificate.holds_at("checked")
    assert made.certificate.law is not None
    assert made.certificate.law.peak is not None
    along = np.array([1.0, -1.0]) / 2.3
    variance = float(along @ made.noise.covariance @ along)
    assert wrapped_delta(strata, [[19, 1], [2, 18]], variance, 0.05) <= made.certificate.delta


@pytest.mark.parametrize(("offset", "records", "shares"), [(13.0, 20, (0.4, 0.6)), (12.0, 10, (0.3, 0.7))])
def test_an_attacker_does_no_better_than_is_said_where_the_law_has_gaps(
    offset: float, records: int, shares: tuple[float, float]
) -> None:
    """The certificate was held against the rows, and the figure for attackers was the bell curve's."""
    rng, rows = np.random.default_rng(0), 4000
    group = np.repeat([0, 1], rows)
    x = 100.0 * rng.integers(0, 3, 2 * rows) + offset * group + rng.normal(0, 0.5, 2 * rows)
    model = dp.model(
        pa.table({"x": x, "g": group}),
        dp.Query(x=dp.mean("x")),
        dp.Share("g = 1", values=shares),
        records=records,
        replacement=True,
        reference="population",
    )
    made = M.certified_gaussian(model, TARGET)
    sizes = [[records - round(records * share), round(records * share)] for share in shares]
    strata = [x[group == g] / records for g in (0, 1)]
    exact = wrapped_delta(strata, sizes, float(made.noise.covariance[0, 0]), 0.0)
    assert (1 + exact) / 2 <= attack_accuracy_upper_bound(model, made)


def test_an_attacker_of_a_population_does_no_better_than_a_sample_allows_for() -> None:
    """The figure for attackers was that of the sample itself."""
    adult, secret = dp.datasets.adult(), dp.Share("income = '>50K'", values=(0.4, 0.6))
    query, target = dp.Query(age=dp.mean("age")), dp.PrivacyTarget(epsilon=1, delta=1e-3)
    sample = dp.model(adult.slice(0, 500), query, secret, records=100)
    made = M.certified_gaussian(sample, target)
    own = dp.model(adult.slice(0, 500), query, secret, records=100, reference="population")
    assert attack_accuracy_upper_bound(sample, made) > attack_accuracy_upper_bound(own, made) + 0.001


def test_where_a_ripple_may_have_been_missed_nothing_was_checked() -> None:
    seen = CheckedLaw(
        ripple=0.0,
        peak=None,
        missed=2 * LARGEST_CHANCE,
        projected=1e-4,
        combination=(1.0, 0.0),
        total_variation=0.1,
        combinations=3,
        second_order=1e-4,
        gate=1e-3,
    )
    assert not seen.is_bell


def test_a_sample_says_at_assurance_checked_too_that_rows_it_lacks_are_like_those_it_has() -> None:
    adult, secret = dp.datasets.adult(), dp.Share("income = '>50K'", values=(0.45, 0.55))
    model = dp.model(adult.slice(0, 2000), dp.Query(age=dp.mean("age")), secret, records=100)
    said = [a.statement for a in M.certified_gaussian(model, TARGET).certificate.assumptions]
    assert "rows that the reference lacks move the statistics as those do that it has, and as often" in said


def gauss_hermite(points: int, rows: int) -> Floats:
    """Rows with as many moments of a normal law as so many values can have."""
    values, weights = np.polynomial.hermite_e.hermegauss(points)
    counts = np.round(weights / weights.sum() * rows).astype(int)
    counts[points // 2] += rows - counts.sum()
    return np.repeat(values, counts)


@pytest.mark.slow
def test_noise_is_not_widened_without_end_where_none_can_smooth_a_ripple() -> None:
    """Of one record no more can be unknown than it varies by, and noise went on to ten thousand times that."""
    normal = ndtri((np.arange(24) + 0.5) / 24)
    others = ndtri((np.arange(150) + 0.5) / 150)
    x, y, group = [], [], []
    for side, points in enumerate((3, 4)):
        column = (gauss_hermite(points, 36)[:, np.newaxis] * math.sqrt(0.75) + 0.5 * normal).ravel()
        x.append(np.tile(others, len(column)))
        y.append(np.repeat(column, len(others)))
        group.append(np.full(len(x[-1]), side))
    one, other = np.concatenate(x), np.concatenate(y)
    model = dp.model(
        pa.table({"u": one + other, "v": one - 1.3 * other, "g": np.concatenate(group)}),
        dp.Query(u=dp.total("u"), v=dp.total("v")),
        dp.Share("g = 1", values=(0.0, 1.0)),
        records=1,
        replacement=True,
        reference="population",
    )
    made = M.certified_laplace(model, dp.PrivacyTarget(epsilon=0.1, delta=1e-3))
    spread = max(float(np.trace(law.covariance)) for law in model.distributions.values())
    assert np.trace(made.noise.covariance) < 1e4 * spread


def turned_skewness(size: int, records: int, seed: int) -> tuple[dp.QueryModel, Floats]:
    """Rows of two groups with equal covariances and almost equal means, one combination skewed one way or the other."""
    rng, rows = np.random.default_rng(seed), 5000
    others = rng.normal(size=(rows, size - 1))
    hidden = (rng.random(rows) < 0.1) + 0.1 * rng.normal(size=rows).clip(-2, 2)
    known = np.column_stack([np.ones(rows), others])
    hidden -= known @ np.linalg.lstsq(known, hidden, rcond=None)[0]
    hidden /= hidden.std()
    both = np.concatenate([np.column_stack([hidden, others]), np.column_stack([-hidden, others])])
    both[rows:, 1] += 0.02
    turn = ortho_group.rvs(size, random_state=seed)
    columns = {f"x{k}": (both @ turn.T)[:, k] for k in range(size)}
    query = dp.Query({name: dp.total(name) for name in columns})
    table = pa.table({**columns, "g": np.repeat([0, 1], rows)})
    secret = dp.Share("g = 1", values=(0.0, 1.0))
    return dp.model(table, query, secret, records=records, replacement=True, reference="population"), turn[:, 0]


def test_the_combination_whose_skewness_is_turned_is_looked_at() -> None:
    model, hidden = turned_skewness(5, 100, 4)
    directions = uneven_directions(model, model.rows().row_laws(), np.zeros((5, 5)))
    covariance = next(iter(model.distributions.values())).covariance
    length = math.sqrt(hidden @ covariance @ hidden)
    assert max(abs(found @ covariance @ hidden) / length for found in directions) > 0.99


def test_the_pair_whose_skewness_is_turned_is_looked_at_however_many_others_move_more_rows() -> None:
    rng, rows = np.random.default_rng(1), 1000
    one = np.column_stack([(rng.random(rows) < 0.1) + 0.1 * rng.normal(size=rows), rng.normal(size=(rows, 2))])
    one -= one.mean(axis=0)
    one = one @ np.linalg.inv(np.linalg.cholesky(np.cov(one.T, bias=True))).T
    both = np.concatenate([one, one * [-1, 1, 1]])
    every = np.concatenate([both + np.array([0, 0.01 * (-1) ** k, 0]) for k in range(4)])
    turn = ortho_group.rvs(3, random_state=1)
    columns = {f"x{k}": (every @ turn.T)[:, k] for k in range(3)}
    table = pa.table({**columns, "g": np.repeat(range(4), 2 * rows), "h": np.tile(np.repeat([0, 1], rows), 4)})
    secrets = [*(dp.Share(f"g = {k}", values=(0.0, 1.0)) for k in range(4)), dp.Share("h = 1", values=(0.1, 0.9))]
    query = dp.Query({name: dp.total(name) for name in columns})
    model = dp.model(table, query, secrets, records=100, replacement=True, reference="population")
    directions = uneven_directions(model, model.rows().row_laws(), np.zeros((3, 3)))
    cosines = [abs(found @ turn[:, 0]) / np.linalg.norm(found) for found in directions]
    assert max(cosines) > 0.99


@pytest.mark.slow
@pytest.mark.parametrize("mechanism", ["certified_gaussian", "certified_laplace"])
def test_equal_moments_do_not_hide_a_skewness_that_is_turned(mechanism: str) -> None:
    model, hidden = turned_skewness(5, 100, 4)
    target = dp.PrivacyTarget(epsilon=2, delta=1e-4)
    made = getattr(M, mechanism)(model, target)
    exact = float(projected_deltas(model, model.rows().row_laws(), made.noise, target.epsilon, hidden).max())
    assert not made.certificate.holds_at("checked") or exact <= target.delta


def skewness_turned_along_several(count: int, records: int) -> dp.QueryModel:
    """Rows of two groups with equal covariances, skewed the other way along independent columns."""
    rng, rows = np.random.default_rng(4), 3000
    one = np.column_stack([rng.wald(1.0, 4.5, size=(rows, count)), rng.normal(size=rows)])
    one -= one.mean(axis=0)
    one = one @ np.linalg.inv(np.linalg.cholesky(np.cov(one.T, bias=True))).T
    both = np.concatenate([one, one * np.append(-np.ones(count), 1)])
    both[rows:, count] += 0.012
    columns = {f"x{k}": both[:, k] for k in range(count + 1)}
    query = dp.Query({name: dp.total(name) for name in columns})
    table = pa.table({**columns, "g": np.repeat([0, 1], rows)})
    secret = dp.Share("g = 1", values=(0.0, 1.0))
    return dp.model(table, query, secret, records=records, replacement=True, reference="population")


def delta_of_columns(model: dp.QueryModel, noise: Noise, epsilon: float, draws: int) -> tuple[float, float]:
    """δ of the first pair if the columns were independent, by their exact laws and simulation; its standard error."""
    pair, rng = model.protected_pairs[0], np.random.default_rng(7)
    ratios = np.zeros(draws)
    for column in np.eye(model.dimension):
        law = projected_laws(model, model.rows().row_laws(), noise, column)
        assert law is not None
        first, second = (np.maximum(law.densities[name], 1e-300) for name in pair)
        drawn = np.searchsorted(np.cumsum(first) / first.sum(), rng.random(draws))
        ratios += np.log(first / second)[np.minimum(drawn, len(first) - 1)]
    held = -np.expm1(np.minimum(epsilon - ratios, 0.0))
    return float(held.mean()), float(held.std() / math.sqrt(draws))


@pytest.mark.parametrize("count", [2, 5])
def test_skewness_that_is_turned_along_several_combinations_is_seen_whole(count: int) -> None:
    model = skewness_turned_along_several(count, 200)
    noise, epsilon = GaussianNoise.of(np.diag(model.floor**2)), 0.5
    delta, error = delta_of_columns(model, noise, epsilon, 400_000)
    assert exact_delta(model, noise, epsilon=epsilon) < delta / 2
    check = saddlepoint_check(model, model.rows().row_laws(), noise, epsilon, model.protected_pairs[:1])
    assert check.gate < LARGEST_GATE
    assert check.delta == pytest.approx(delta, rel=0.05 + 3 * check.standard_error + 3 * error / delta)
    assert check.delta_with_error > 0.95 * delta


@pytest.mark.slow
@pytest.mark.parametrize("mechanism", ["certified_gaussian", "certified_laplace"])
@pytest.mark.parametrize("count", [2, 4])
def test_nor_is_it_certified_below_what_it_is(mechanism: str, count: int) -> None:
    model = skewness_turned_along_several(count, 200)
    made = getattr(M, mechanism)(model, dp.PrivacyTarget(epsilon=1, delta=2e-3))
    assert np.abs(made.noise.covariance - np.diag(np.diag(made.noise.covariance))).max() < 1e-6
    delta, error = delta_of_columns(model, made.noise, 1.0, 1_000_000)
    assert delta > 5 * error
    assert made.certificate.holds_at("checked")
    assert made.certificate.delta >= delta - 3 * error


def crossed(*columns: Floats) -> Floats:
    """All combinations of the values of independent columns, each of mean 0 and variance 1."""
    standard = [(column - column.mean()) / column.std() for column in columns]
    return np.column_stack([each.ravel() for each in np.meshgrid(*standard, indexing="ij")])


def crossed_model(one: Floats, other: Floats, shift: float, records: int) -> dp.QueryModel:
    """Two independent columns: the first has another shape in the other group, the second another mean."""
    even = norm.ppf((np.arange(32) + 0.5) / 32)
    both = np.concatenate([crossed(one, even), crossed(other, even) + np.array([0.0, shift / math.sqrt(records)])])
    table = pa.table({"x": both[:, 0], "y": both[:, 1], "g": np.repeat([0, 1], len(both) // 2)})
    query, secret = dp.Query(x=dp.total("x"), y=dp.total("y")), dp.Share("g = 1", values=(0.0, 1.0))
    return dp.model(table, query, secret, records=records, replacement=True, reference="population")


def delta_of_product(model: dp.QueryModel, noise: Noise, epsilon: float) -> float:
    """δ of the first pair for independent columns and noise along them, from the exact laws of both."""
    pair, found = model.protected_pairs[0], []
    for column in np.eye(2):
        law = projected_laws(model, model.rows().row_laws(), noise, column)
        assert law is not None
        first, second = (np.maximum(law.densities[name], 1e-300) for name in pair)
        ratios, masses = np.log(first / second), first / first.sum()
        cells = np.round(ratios.clip(-20, 20) * 500).astype(int)
        found.append(np.bincount(cells - cells.min(), weights=masses))
        found.append(cells.min() / 500)
    grid = found[1] + found[3] + np.add.outer(np.arange(len(found[0])), np.arange(len(found[2]))) / 500
    return float((np.outer(found[0], found[2]) * -np.expm1(np.minimum(epsilon - grid, 0.0))).sum())


@pytest.mark.parametrize("mirrored", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_laplace_noise_that_spends_all_of_epsilon_on_a_shift_leaves_room_for_shapes(mirrored: bool) -> None:
    places = (np.arange(32) + 0.5) / 32
    skewed = gamma(1).ppf(places)
    model = crossed_model(skewed, -skewed if mirrored else norm.ppf(places), 3.0, 500)
    made = M.certified_laplace(model, TARGET)
    assert np.abs(made.noise.covariance[0, 1]) < 1e-9 * made.noise.covariance.max()
    assert made.certificate.holds_at("checked")
    assert delta_of_product(model, made.noise, TARGET.epsilon) <= TARGET.delta
    along = float(made.noise.laplace_scales.max())
    assert abs(model.mean_shift(model.protected_pairs[0])[1]) / along < TARGET.epsilon


def among_others(both: Floats, others: int, shift: float, shares: tuple[float, float]) -> dp.QueryModel:
    """Rows of two groups that one secret is about, and of `others` more groups, each its own secret, moved by turns."""
    rows, size = len(both) // 2, both.shape[1]
    every = np.concatenate([both + shift * (k % 2) * np.eye(size)[-1] for k in range(others)])
    columns = {f"x{k}": every[:, k] for k in range(size)}
    group, turned = np.repeat(range(others), 2 * rows), np.tile(np.repeat([0, 1], rows), others)
    secrets = [*(dp.Share(f"g = {k}", values=(0.0, 1.0)) for k in range(others)), dp.Share("h = 1", values=shares)]
    query = dp.Query({name: dp.total(name) for name in columns})
    table = pa.table({**columns, "g": group, "h": turned})
    return dp.model(table, query, secrets, records=100, replacement=True, reference="population")


def test_the_kind_of_pair_whose_shape_differs_is_among_those_looked_at_however_many_there_are() -> None:
    one = np.random.default_rng(0).exponential(size=(40, 2))
    one -= one.mean(axis=0)
    model = among_others(np.concatenate([one, -one]), 36, 0.0, (0.01, 0.99))
    kinds = kinds_of_pairs(model, model.rows().row_laws(), np.eye(2))
    assert len(kinds) <= 36
    assert any(pair[0].startswith("h = 1") for pair in kinds)


@pytest.mark.slow
def test_a_pair_of_which_nothing_is_known_is_not_left_out() -> None:
    rng, rows = np.random.default_rng(1), 150
    one = np.column_stack([(rng.random((rows, 3)) < 0.15) + 0.1 * rng.normal(size=(rows, 3)), rng.normal(size=rows)])
    one -= one.mean(axis=0)
    one = one @ np.linalg.inv(np.linalg.cholesky(np.cov(one.T, bias=True))).T
    turn = ortho_group.rvs(4, random_state=1)
    model = among_others(np.concatenate([one, one * [-1, -1, -1, 1]]) @ turn.T, 4, 0.1, (0.01, 0.99))
    noise, epsilon = GaussianNoise.of(np.diag(model.floor**2)), 1.0
    check = saddlepoint_check(model, model.rows().row_laws(), noise, epsilon, model.protected_pairs)
    turned = [pair for pair in model.protected_pairs if pair[0].startswith("h")]
    alone = saddlepoint_check(model, model.rows().row_laws(), noise, epsilon, turned)
    assert not check.is_known or check.delta_with_error >= 0.9 * alone.delta


@pytest.mark.slow
def test_an_attacker_sees_a_skewness_that_is_turned() -> None:
    model, hidden = turned_skewness(4, 100, 1)
    made = M.certified_gaussian(model, dp.PrivacyTarget(epsilon=1, delta=0.02))
    seen = float(projected_deltas(model, model.rows().row_laws(), made.noise, 0.0, hidden).max())
    assert attack_accuracy_upper_bound(model, made) >= (1 + seen) / 2 - 1e-3


@pytest.mark.slow
def test_lobes_are_counted_by_the_rows_that_vary() -> None:
    rng, size, step = np.random.default_rng(0), 6, 1.5
    rows = rng.normal(size=(3000, size))
    rows = np.concatenate([rows, -rows])
    rows[:, 0] = step * np.round(rows[:, 0] / step) + rng.normal(0, 0.01 * step, 6000)
    rows -= rows.mean(axis=0)
    rows[:, 0] += step / 2
    turn = ortho_group.rvs(size, random_state=0)
    every = np.concatenate([rng.normal(0, 1e-4, (50, size)), rows]) @ turn.T
    columns = {f"x{k}": every[:, k] for k in range(size)}
    query = dp.Query({name: dp.total(name) for name in columns})
    secret = dp.Share("g = 1", values=(0.0030, 0.0031))
    table = pa.table({**columns, "g": np.repeat([0, 1], [50, 6000])})
    model = dp.model(table, query, secret, records=10_000, replacement=True, reference="population")
    target = dp.PrivacyTarget(epsilon=0.2, delta=1e-2)
    made = M.certified_gaussian(model, target)
    exact = float(projected_deltas(model, model.rows().row_laws(), made.noise, target.epsilon, turn[:, 0]).max())
    assert not made.certificate.holds_at("checked") or exact <= target.delta


@pytest.mark.slow
def test_numbers_of_all_sizes_are_no_reason_to_fail() -> None:
    rng, group = np.random.default_rng(0), np.repeat([0, 1], [1, 300])
    huge = np.where(rng.random(301) < 0.02, 1e9, rng.normal(size=301))
    table = pa.table({"i": group.astype(float), "t": 1e-9 * rng.normal(size=301), "h": huge, "g": group})
    query = dp.Query({name: dp.total(name) for name in "ith"})
    secret = dp.Share("g = 1", values=(0.0, 1.0))
    model = dp.model(table, query, secret, records=1, replacement=True, reference="population")
    made = M.certified_gaussian(model, dp.PrivacyTarget(epsilon=1, delta=0.3))
    assert not made.certificate.holds_at("checked")


def carried_by_few() -> tuple[dp.QueryModel, Floats]:
    """Sixteen of 100,000 records make one combination whole, and those of another group, alike in moments, do not."""
    rng, rows, others, carriers = np.random.default_rng(1), 100_000, 20_000, 16
    whole, rest = np.zeros(rows), 1e-4 * rng.normal(size=rows)
    whole[:carriers] = 1.0
    rest[:carriers] += 0.5 * np.sign(rng.normal(size=carriers))
    rest[carriers : carriers + 100] += math.sqrt(0.5 * carriers / 100) * rng.normal(size=100)
    every = np.column_stack([whole, rest - rest.mean()])
    normal = rng.normal(size=(others, 2))
    normal = (normal - normal.mean(axis=0)) @ np.linalg.inv(np.linalg.cholesky(np.cov(normal.T, bias=True))).T
    alike = normal @ np.linalg.cholesky(np.cov(every.T, bias=True)).T + every.mean(axis=0)
    first, second = every.std(axis=0)
    turn = np.column_stack([1 + rng.uniform(-0.5, 0.5, 2), 0.5 * rng.normal(size=2) * first / second])
    both = np.concatenate([every, alike]) @ turn.T
    table = pa.table({"u": both[:, 0], "v": both[:, 1], "g": np.repeat([0, 1], [rows, others])})
    query, secret = dp.Query(u=dp.total("u"), v=dp.total("v")), dp.Share("g = 1", values=(0.0, 1 / (2 * carriers)))
    model = dp.model(table, query, secret, records=rows, replacement=True, reference="population")
    return model, np.linalg.inv(turn)[0]


def test_what_few_of_many_records_make_whole_is_looked_at() -> None:
    """A thousand rows were searched for ripples, and none of those that varied was among them."""
    model, hidden = carried_by_few()
    rows, noise = model.rows().row_laws(), GaussianNoise.of(np.diag(model.floor**2))
    directions = standing_peaks(model, rows, noise)
    found = [float(projected_deltas(model, rows, noise, 0.05, along).max()) for along in directions]
    exact = float(projected_deltas(model, rows, noise, 0.05, hidden).max())
    assert exact > 5e-3
    assert max(found) > 0.95 * exact


@pytest.mark.slow
def test_nor_is_it_certified_below_what_its_law_is() -> None:
    model, hidden = carried_by_few()
    target = dp.PrivacyTarget(epsilon=0.05, delta=5e-3)
    made = M.certified_gaussian(model, target)
    exact = float(projected_deltas(model, model.rows().row_laws(), made.noise, target.epsilon, hidden).max())
    assert made.certificate.holds_at("checked")
    assert exact <= made.certificate.delta


@pytest.mark.parametrize("epsilon", [pytest.param(25.0, marks=pytest.mark.slow), 34.0])
def test_rounding_does_not_hide_what_one_scenario_has_and_the_other_lacks(epsilon: float) -> None:
    """At a large ε what a transform rounds, times e^ε, was more than all that is rare."""
    rows, records, web = 2000, 20_000, 20
    rng, chance = np.random.default_rng(1), -math.expm1(web * math.log1p(-1 / rows))
    amounts = rng.integers(0, 100, 2 * rows).astype(np.float64)
    amounts[rows] = 1e7
    table = pa.table({"g": np.repeat([0, 1], rows), "x": amounts})
    secret = dp.Share("g = 1", values=(0.0, web / records))
    model = dp.model(table, dp.Query(x=dp.mean("x")), secret, records=records, replacement=True, reference="population")
    target = dp.PrivacyTarget(epsilon=epsilon, delta=0.7 * chance)
    made = M.certified_gaussian(model, target)
    assert made.certificate.holds_at("checked")
    for factor in (0.8, 0.88, 0.95, 1.1):
        law = made.noise.gaussian.widened(factor)
        noise = math.sqrt(law.covariance[0, 0])
        without = math.hypot(noise, amounts[:rows].std() / math.sqrt(records))
        above = np.linspace(0.0, 1.0, 2001) * 1e7 / records
        seen = chance * norm.sf((above - 1e7 / records) / without) - np.exp(epsilon + norm.logsf(above / without))
        claimed = certified(model, target, law, name="wider", theorem="none").certificate.delta
        assert seen.max() <= claimed, f"noise of {noise:.1f}"
