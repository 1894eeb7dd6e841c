import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.guarantees.random_models import random_covariance
from tests.mechanisms.shared import worst_delta
from tests.mechanisms.test_wasserstein import FIGURE_1

import distpriv as dp
from distpriv.mechanisms.bounded import gaussian_l1_quantile_upper_bound

M = dp.mechanisms


@settings(max_examples=20)
@given(st.integers(1, 6), st.integers(0, 10**6), st.sampled_from([0.3, 0.05, 0.002]))
def test_the_bound_on_the_length_of_a_gaussian_is_seldom_exceeded(size: int, seed: int, chance: float) -> None:
    rng = np.random.default_rng(seed)
    covariance = random_covariance(rng, size)
    bound = gaussian_l1_quantile_upper_bound(covariance, chance)
    drawn = rng.multivariate_normal(np.zeros(size), covariance, size=50_000, method="cholesky")
    lengths = np.abs(drawn).sum(axis=1)
    beyond = (lengths > bound).mean()
    assert beyond <= chance + 4.5 * (chance / 50_000) ** 0.5
    assert bound <= 2.5 * np.quantile(lengths, 1 - chance)


def test_on_the_line_the_bound_is_the_quantile() -> None:
    assert gaussian_l1_quantile_upper_bound(np.array([[4.0]]), 0.05) == pytest.approx(2 * 1.959964, rel=1e-6)


def test_more_statistics_than_signs_can_be_tried_for_still_have_a_bound() -> None:
    assert np.isfinite(gaussian_l1_quantile_upper_bound(np.eye(30), 0.01))


def test_laws_given_by_points_have_the_exact_quantile_and_keep_their_delta() -> None:
    target = dp.PrivacyTarget(epsilon=1, delta=0.5)
    mechanism = M.bounded(FIGURE_1, target)
    assert mechanism.certificate.assurance == "proved"
    assert worst_delta(FIGURE_1, mechanism, 1.0) <= 0.5
    law = FIGURE_1.distributions["a"]
    assert law.points is not None
    lengths = np.sort(np.abs(law.points[:, 0] - law.mean[0]))
    reach = (mechanism.noise.scales[0] - abs(FIGURE_1.mean_shift(("a", "b"))[0])) / 2  # type: ignore[union-attr]
    assert any(reach == pytest.approx(length) for length in lengths) or reach > lengths.max()


@pytest.mark.parametrize(
    ("points", "weights", "delta", "reach"),
    [
        ([list(range(10))] * 2, [[0.1] * 10] * 2, 1e-16, 4.5),
        ([[0, 1], [0, 5]], [[0.9, 0.0999999995]] * 2, 1e-10, 4.5),
        ([[0, 10], [1, 11]], [[0.95, 0.05]] * 2, 0.2, 0.5),
    ],
)
def test_the_quantile_is_never_below_what_the_points_need(
    points: list[list[float]], weights: list[list[float]], delta: float, reach: float
) -> None:
    model = dp.empirical_model(
        samples=dict(zip("ab", points, strict=True)), weights=dict(zip("ab", weights, strict=True)), pairs=[("a", "b")]
    )
    scale = M.bounded(model, dp.PrivacyTarget(epsilon=1, delta=delta)).noise.scales[0]  # type: ignore[union-attr]
    shift = abs(model.mean_shift(("a", "b"))[0])
    assert (scale - shift) / 2 == pytest.approx(reach, rel=1e-6)


def sampled(rows: int, draws: int) -> dp.QueryModel:
    rng = np.random.default_rng(0)
    table = pl.DataFrame({"x": rng.normal(size=rows), "s": rng.random(rows) < 0.4})
    share = dp.Share("s", values=(0.3, 0.5))
    return dp.model(table, dp.Query(m=dp.mean("x")), share, records=20, method="sampling", draws=draws)


def test_sampled_laws_have_an_order_statistic_above_the_quantile() -> None:
    model = sampled(4000, 2000)
    mechanism = M.bounded(model, dp.PrivacyTarget(epsilon=1, delta=0.1))
    assert mechanism.certificate.assurance == "assumed"
    reach = (mechanism.noise.scales[0] - abs(model.mean_shift(model.protected_pairs[0])[0])) / 2  # type: ignore[union-attr]
    deviation = max(law.covariance[0, 0] ** 0.5 for law in model.distributions.values())
    assert 1.9 * deviation < reach < 3 * deviation
