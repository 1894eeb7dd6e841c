"""Weights of rows under which properties have values: they meet them, and no other weights are nearer to even ones."""

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from attrs import evolve
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import distpriv as dp
from distpriv.errors import InvalidExpression, InvalidSecret
from distpriv.framework.arrays import Floats
from distpriv.framework.tilts import Tilt
from distpriv.modelling.tilting import effective_rows, fewest_rows, property_of, row_weights, tilted

QUERY = dp.Query(age=dp.mean("age"), women=dp.count("sex = 'Female'"))
RICH = dp.Share("income = '>50K'", values=(0.3, 0.4))
HOURS = dp.Mean("hours_per_week", values=(39, 42))
PARTS = {
    "mean": Tilt(kind="mean", expressions=("a",), value=0.2),
    "share": Tilt(kind="share", expressions=("b > 0",), value=0.6),
    "quantile": Tilt(kind="quantile", expressions=("c",), level=0.5, value=0.3),
    "correlation": Tilt(kind="correlation", expressions=("b", "c"), value=0.15),
}


def some_points(seed: int, rows: int, columns: int) -> tuple[Floats, Floats]:
    rng = np.random.default_rng(seed)
    weights = rng.random(rows) + 0.01
    return rng.normal(size=(rows, columns)) * 10.0 ** rng.integers(-3, 4, columns), weights / weights.sum()


def relative_entropy(weights: Floats, base: Floats | float) -> float:
    some = weights > 0
    return float(np.sum(weights[some] * np.log((weights / base)[some])))


@given(st.integers(0, 10_000), st.integers(6, 60), st.integers(1, 4))
def test_weighted_means_are_the_wanted_ones_and_no_other_weights_that_give_them_are_nearer(
    seed: int, rows: int, columns: int
) -> None:
    points, base = some_points(seed, rows, columns)
    reached = np.random.default_rng(seed + 1).random(rows) + 0.2
    reached /= reached.sum()
    weights = tilted(points, base, reached @ points)
    assert weights is not None
    assert weights.min() >= 0
    assert weights.sum() == pytest.approx(1)
    assert np.allclose(weights @ points, reached @ points, rtol=0, atol=1e-5 * points.std(axis=0))
    assert relative_entropy(weights, base) <= relative_entropy(reached, base) + 1e-9


@given(st.integers(0, 10_000), st.floats(0.0, 3.0))
def test_means_at_the_edge_of_all_points_or_beyond_are_out_of_reach(seed: int, beyond: float) -> None:
    points, base = some_points(seed, 20, 2)
    edge = np.array([points[:, 0].max() + beyond * np.ptp(points[:, 0]), points[:, 1].mean()])
    assert tilted(points, base, edge) is None


def test_a_statistic_told_twice_is_met_once_and_two_that_contradict_each_other_never() -> None:
    points, base = some_points(3, 30, 1)
    twice = np.concatenate([points, 2 * points], axis=1)
    wanted = float(np.quantile(points, 0.6))
    weights = tilted(twice, base, np.array([wanted, 2 * wanted]))
    assert weights is not None
    assert weights @ points[:, 0] == pytest.approx(wanted, rel=1e-5)
    assert tilted(twice, base, np.array([wanted, 2 * wanted + float(points.std())])) is None


def mean_of(value: float) -> Tilt:
    return Tilt(kind="mean", expressions=("x",), value=value)


def correlation_of(value: float) -> Tilt:
    return Tilt(kind="correlation", expressions=("a", "b"), value=value)


def quantile_of(value: float, level: float) -> Tilt:
    return Tilt(kind="quantile", expressions=("x",), value=value, level=level)


numbers = st.floats(-1e3, 1e3, allow_subnormal=False).map(lambda x: round(x, 3))


@given(st.lists(numbers, min_size=2, max_size=60), st.floats(0.05, 0.95))
def test_the_mean_of_weighted_rows_is_the_value_to_nine_digits(rows: list[float], place: float) -> None:
    values = np.array([rows])
    assume(np.ptp(values) > 0.01)
    wanted = float(values.min() + place * np.ptp(values))
    weights = row_weights(mean_of(wanted), values)
    assert abs(weights @ values[0] - wanted) <= 1e-9 * max(abs(wanted), values.std())
    assert weights.sum() == pytest.approx(1, abs=1e-12)


@given(st.integers(0, 2**32), st.floats(-0.7, 0.7))
@settings(max_examples=40)
def test_the_correlation_is_the_value_and_means_and_variances_stay_as_they_are(seed: int, wanted: float) -> None:
    rng = np.random.default_rng(seed)
    rows = np.stack([rng.gamma(2.0, size=300) * 100 + 1e4, rng.integers(0, 12, 300).astype(float)])
    weights = row_weights(correlation_of(wanted), rows)
    assert property_of(correlation_of(wanted), rows, weights) == pytest.approx(wanted, abs=1e-9)
    means = rows @ weights
    assert means == pytest.approx(rows.mean(axis=1), rel=1e-9)
    assert ((rows - means[:, np.newaxis]) ** 2) @ weights == pytest.approx(rows.var(axis=1), rel=1e-8)


@given(st.lists(st.integers(0, 9), min_size=2, max_size=40), st.integers(0, 9), st.floats(0.05, 0.95))
def test_a_quantile_takes_two_weights_and_meets_its_level(rows: list[int], value: int, level: float) -> None:
    values, tilt = np.array([rows], dtype=float), quantile_of(float(value), level)
    below = float((values <= value).sum())
    above = len(rows) - below
    assume(below > 0 < above and 1 / (level**2 / below + (1 - level) ** 2 / above) >= fewest_rows(len(rows)))
    weights = row_weights(tilt, values)
    assert property_of(tilt, values, weights) == pytest.approx(level, abs=1e-9)
    assert len(np.unique(weights)) <= 2


@given(st.lists(st.sampled_from(list(PARTS)), min_size=1, max_size=4, unique=True), st.integers(0, 1000))
@settings(max_examples=30, deadline=None)
def test_all_properties_have_their_values_and_no_weights_are_nearer(parts: list[str], seed: int) -> None:
    """Relative entropy to even weights is no larger than that of other weights under which all of them hold."""
    rng = np.random.default_rng(seed)
    a, b, c = rng.normal(size=(3, 400))
    columns = {"mean": [a], "share": [(b > 0).astype(float)], "quantile": [c], "correlation": [b, c]}
    joint = Tilt.joint(PARTS[part] for part in parts)
    weights = row_weights(joint, np.array([column for part in parts for column in columns[part]]))
    fixed = [np.ones(400)]
    for name, part in zip(parts, joint.parts, strict=True):
        own = np.array(columns[name])
        assert property_of(part, own, weights) == pytest.approx(part.level or part.value, abs=1e-9)
        fixed += [own[0] <= part.value] if name == "quantile" else [*own, *(own**2), own[0] * own[-1]]
    constraints = np.array(fixed, dtype=float)
    away = np.linalg.svd(constraints)[2][np.linalg.matrix_rank(constraints) :]
    for _ in range(20):
        moved = away.T @ rng.normal(size=len(away))
        other = weights + 0.3 * moved * np.min(weights / np.maximum(np.abs(moved), 1e-300))
        assert relative_entropy(other, 1 / 400) >= relative_entropy(weights, 1 / 400) - 1e-9


@pytest.mark.parametrize(
    ("tilt", "rows", "message"),
    [
        (mean_of(3.0), [[1.0, 2.0]], "mean.x. cannot be 3: the rows have values from 1 to 2: give a mean"),
        (mean_of(2.0), [[1.0, 2.0]], "above the least of them and below the greatest"),
        (mean_of(2.0), [[1.0, np.inf]], "'x' has values that are infinite"),
        (correlation_of(0.5), [[1.0, 1.0, 1.0], [1.0, 2.0, 3.0]], "'a' is the same in every row"),
        (correlation_of(0.99), [[0.0, 0.0, 1.0, 1.0, 2.0], [0.0, 3.0, 1.0, 0.0, 1.0]], "no weights of the rows"),
        (quantile_of(0.0, 0.5), [[1.0, 2.0]], "no row is at most that: give a value that is at least 1 and below 2"),
        (quantile_of(2.0, 0.5), [[1.0, 2.0]], "all rows are at most that"),
    ],
)
def test_a_value_out_of_reach_is_refused(tilt: Tilt, rows: list[list[float]], message: str) -> None:
    with pytest.raises(InvalidSecret, match=message) as refusal:
        row_weights(tilt, np.array(rows))
    assert refusal.value.about == ("property", tilt.what)


def test_few_rows_that_carry_nearly_all_weight_are_refused_with_their_number() -> None:
    rows = np.append(np.zeros(10_000), np.full(20, 1000.0))[np.newaxis]
    with pytest.raises(InvalidSecret, match=r"of 10,020 rows an effective number of 24.7 would carry it, and at least"):
        row_weights(mean_of(900.0), rows)
    assert effective_rows(np.full(8, 1 / 8)) == pytest.approx(8)


def made(adult: pa.Table, secret: Any, **options: Any) -> dp.QueryModel:
    return dp.model(adult.slice(0, 4000), QUERY, secret, records=100, **{"reference": "population", **options})


def test_two_shares_at_once_are_four_cells_fitted_to_their_margins(adult: pa.Table) -> None:
    """The weights of two shares are those that fitting the margins in turn comes to."""
    some = adult.slice(0, 4000)
    model = made(adult, dp.Combinations(RICH, dp.Share("sex = 'Female'", values=(0.3, 0.5))))
    rich, women = some["income"].to_numpy() == ">50K", some["sex"].to_numpy() == "Female"
    weights = np.full(4000, 1 / 4000)
    for _ in range(200):
        for which, share in ((rich, 0.4), (women, 0.5)):
            weights = np.where(which, weights * share / weights[which].sum(), weights)
            weights = np.where(which, weights, weights * (1 - share) / weights[~which].sum())
    age = some["age"].to_numpy()
    law = model.distributions["share(income = '>50K') @ 0.4 and share(sex = 'Female') @ 0.5"]
    np.testing.assert_allclose(law.mean, [weights @ age, 50.0], rtol=1e-9)
    assert law.covariance[0, 0] == pytest.approx(weights @ (age - weights @ age) ** 2 / 100, rel=1e-9)


@pytest.mark.parametrize("reference", ["population", "sample"])
def test_noise_for_combinations_hides_which_of_any_two_it_is(adult: pa.Table, reference: str) -> None:
    target = dp.PrivacyTarget(epsilon=1, delta=0.01)
    model = made(adult, dp.Combinations(RICH, HOURS), reference=reference)
    noise = dp.mechanisms.certified_gaussian(model, target)
    assert noise.certificate.holds
    for pair in model.protected_pairs:
        alone = evolve(model, protected_pairs=(pair, pair[::-1]))
        assert dp.exact_delta(alone, noise, epsilon=1) <= target.delta


def test_combinations_go_across_references_and_beside_other_secrets(adult: pa.Table) -> None:
    model = made(adult, dp.Combinations(RICH, HOURS), robust=[adult.slice(4000, 4000)])
    assert (len(model.scenarios), len(model.protected_pairs)) == (8, 12 * 4)
    beside = made(adult, [dp.Combinations(RICH, HOURS), dp.Share("sex = 'Female'", values=(0.3, 0.4))])
    assert len(beside.scenarios) == 6


@pytest.mark.parametrize(
    ("secrets", "error", "message"),
    [
        (
            (dp.Mean("age", values=(38, 40)), dp.Mean("age + 1", values=(38, 40))),
            InvalidSecret,
            r"it cannot be that mean\(age\) is 38 and mean\(age \+ 1\) is 38",
        ),
        (
            (dp.Share("income = '>50K'", values=(0, 0.4)), HOURS),
            InvalidSecret,
            r"share\(income = '>50K'\) cannot be 0: .* give a share",
        ),
        ((dp.Share("age", values=(0.3, 0.4)), HOURS), InvalidExpression, "not true or false"),
        (
            (dp.Share("income = '>50K' AND hours_per_week < 20", values=(0.6, 0.8)), HOURS),
            InvalidSecret,
            "effective number",
        ),
    ],
)
def test_values_that_rows_cannot_have_at_once_are_refused(
    adult: pa.Table, secrets: tuple[Any, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        made(adult, dp.Combinations(*secrets))
