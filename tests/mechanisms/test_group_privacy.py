import numpy as np
import polars as pl
import pytest

import distpriv as dp
from distpriv.noise.laws import LaplaceNoise

M = dp.mechanisms
TARGET = dp.PrivacyTarget(epsilon=0.5, delta=1e-3)
RNG = np.random.default_rng(0)
TABLE = pl.DataFrame({"x": RNG.integers(10, 31, 500), "s": RNG.random(500) < 0.4})
SHARE = dp.Share("s", values=(0.3, 0.5, 0.6))
QUERY = dp.Query(x=dp.mean("x"), total=dp.total("x", bounds=(0, 100)), big=dp.count("x > 20"))


def model(query: dp.Query = QUERY) -> dp.QueryModel:
    return dp.model(TABLE, query, SHARE, records=20, draws=50)


def test_records_move_statistics_by_their_range_declared_or_found() -> None:
    assert model().record_sensitivities.tolist() == [1.0, 100.0, 1.0]
    other = model(dp.Query(m=dp.quantile("x", 0.5), v=dp.variance("x"), f=dp.function(lambda r: r["x"][0], ["x"])))
    assert other.record_sensitivities.tolist() == [10.0, 20.0, np.inf]


def test_no_record_moves_a_statistic_by_more() -> None:
    rng = np.random.default_rng(1)
    for statistic in (dp.mean("x"), dp.total("x"), dp.variance("x"), dp.quantile("x", 0.3)):
        (bound,) = statistic.record_sensitivities(6, [(0.0, 1.0)])
        rows = rng.choice([0.0, 1.0], size=(20_000, 6))
        other = rows.copy()
        other[:, 0] = rng.choice([0.0, 1.0], size=20_000)
        moved = np.abs(statistic.evaluate(rows) - statistic.evaluate(other)).max()
        assert moved <= bound * (1 + 1e-12)
        assert moved >= 0.9 * bound


def test_the_sufficient_group_is_the_largest_difference_of_the_pairs() -> None:
    found = M.group_privacy_laplace(model(), TARGET)
    assert isinstance(found.noise, LaplaceNoise)
    assert found.noise.scales[0] == pytest.approx(6 * 102 / 0.5)
    assert found.certificate.assurance == "proved"
    assert found.certificate.holds
    assert found.certificate.delta == 0
    assert "of 6 records" in found.certificate.theorem


def test_the_papers_group_is_all_records_and_one_record_is_plain_differential_privacy() -> None:
    sufficient, everyone, one = (
        M.group_privacy_gaussian(model(), TARGET, group=group) for group in ("sufficient", "records", 1)
    )
    assert everyone.noise.expected_l2 == pytest.approx(20 / 6 * sufficient.noise.expected_l2)
    assert everyone.certificate.holds
    assert everyone.certificate.assurance == "proved"
    assert one.noise.expected_l2 == pytest.approx(sufficient.noise.expected_l2 / 6)
    assert not one.certificate.holds
    assert one.certificate.contradicted
    assert (one.certificate.evidence[0].code, one.certificate.evidence[0].facts["differ"]) == ("DP318", 6)


def test_with_the_classic_radius_it_holds_only_where_the_exact_curve_says_so() -> None:
    for epsilon, holds in ((1, True), (7, True), (8, False)):
        target = dp.PrivacyTarget(epsilon=epsilon, delta=1e-3)
        assert M.group_privacy_gaussian(model(), target, radius="classic").certificate.holds is holds


def test_tables_of_their_own_differ_in_every_record() -> None:
    scenarios = dp.Scenarios({"a": TABLE.head(100), "b": TABLE.tail(100)})
    made = dp.model(None, dp.Query(x=dp.mean("x", bounds=(0, 100))), scenarios, records=20)
    assert "of 20 records" in M.group_privacy_gaussian(made, TARGET).certificate.theorem
