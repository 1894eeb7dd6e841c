import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import distpriv as dp
from distpriv.errors import InvalidInput
from distpriv.framework.arrays import Floats
from distpriv.guarantees.projections import projected_deltas
from distpriv.guarantees.saddlepoint import saddlepoint_check
from distpriv.modelling.exact_moments import StratumMoments, dataset_moments
from distpriv.modelling.model import QueryModel
from distpriv.modelling.row_laws import RowLaws
from distpriv.noise.laws import GaussianNoise, LaplaceNoise, NoNoise

ROWS = 400


def modelled(strata: tuple[Floats, Floats], records: int, *, replacement: bool = False) -> tuple[QueryModel, RowLaws]:
    """40 % or 60 % of the records are of the first stratum; the statistics are sums."""
    sizes = {"a": (4 * records // 10, 6 * records // 10), "b": (6 * records // 10, 4 * records // 10)}
    width = strata[0].shape[1]
    of = [
        StratumMoments(
            rows=len(rows),
            mean=rows.mean(axis=0),
            covariance=np.cov(rows.T).reshape(width, width),
            low=rows.min(axis=0),
            high=rows.max(axis=0),
        )
        for rows in strata
    ]
    factors = np.full(width, float(records))
    moments = {
        name: dataset_moments(zip(of, each, strict=True), factors, replacement=replacement)
        for name, each in sizes.items()
    }
    model = dp.gaussian_model(
        means={name: mean for name, (mean, _) in moments.items()},
        covariances={name: covariance for name, (_, covariance) in moments.items()},
        pairs=[("a", "b")],
    )
    drawn = {name: dict(enumerate(each)) for name, each in sizes.items()}
    return model, RowLaws(strata=strata, drawn=drawn, replacement=replacement)


def hidden(model: QueryModel, epsilon: float, delta: float) -> GaussianNoise:
    """Noise with which the moments say (ε, δ)."""
    deviations = np.sqrt(np.diag(next(iter(model.distributions.values())).covariance))
    low, high = 0.3, 1e3
    for _ in range(40):
        middle = (low * high) ** 0.5
        noise = GaussianNoise(axes=np.eye(len(deviations)), variances=(middle * deviations) ** 2)
        low, high = (middle, high) if dp.exact_delta(model, noise, epsilon=epsilon) > delta else (low, middle)
    return GaussianNoise(axes=np.eye(len(deviations)), variances=(high * deviations) ** 2)


def skewed(law: str) -> tuple[Floats, Floats]:
    rng = np.random.default_rng(7)
    if law == "lognormal":
        return 1.2 * rng.lognormal(size=(ROWS, 1)), rng.lognormal(size=(ROWS, 1))
    first, second = rng.exponential(size=(ROWS, 1)), rng.exponential(size=(ROWS, 1))
    if law == "exponential":
        return first + 0.3, second
    return first * (rng.random((ROWS, 1)) < 0.2), second * (rng.random((ROWS, 1)) < 0.1)


@pytest.mark.parametrize("law", ["exponential", "lognormal", "mostly zero"])
@pytest.mark.parametrize("replacement", [True, False])
def test_one_statistic_has_the_delta_of_its_exact_law(law: str, replacement: bool) -> None:
    model, rows = modelled(skewed(law), 100, replacement=replacement)
    noise = hidden(model, 1.0, 1e-3)
    exact = projected_deltas(model, rows, noise, 1.0, np.ones(1)).max()
    check = saddlepoint_check(model, rows, noise, 1.0, model.protected_pairs)
    assert check.gate < 0.05
    assert check.delta == pytest.approx(exact, rel=0.015 + 2 * check.standard_error)
    assert abs(check.ratio - 1) > 0.1


@given(seed=st.integers(0, 100), scale=st.floats(0.01, 100))
@settings(max_examples=5, deadline=None)
def test_units_and_directions_of_the_statistics_do_not_matter(seed: int, scale: float) -> None:
    rng = np.random.default_rng(seed)
    strata = rng.exponential(size=(60, 2)) + 0.2, rng.exponential(size=(60, 2))
    turn = np.array([[0.8, 0.6], [-0.6, 0.8]]) * scale
    found = []
    for by in (np.eye(2), turn):
        model, rows = modelled((strata[0] @ by, strata[1] @ by), 20, replacement=True)
        noise = GaussianNoise.isotropic(2, 6.0 * np.sqrt(abs(np.linalg.det(by))))
        found.append(saddlepoint_check(model, rows, noise, 0.3, model.protected_pairs))
    allowed = 1e-3 + 3 * (found[0].standard_error + found[1].standard_error)
    assert found[0].delta == pytest.approx(found[1].delta, rel=allowed)
    for name, term in found[0].second_order.items():
        assert found[1].second_order[name] == pytest.approx(term, abs=1e-9)


def test_normal_rows_are_as_their_moments_say() -> None:
    rng = np.random.default_rng(0)
    model, rows = modelled((rng.normal(size=(ROWS, 3)) + 0.2, rng.normal(size=(ROWS, 3))), 50)
    noise = hidden(model, 1.0, 1e-3)
    check = saddlepoint_check(model, rows, noise, 1.0, model.protected_pairs)
    assert check.ratio == pytest.approx(1.0, abs=0.03)
    assert check.gate < 0.005


def test_a_few_rare_large_rows_close_the_gate() -> None:
    rng = np.random.default_rng(0)
    strata = tuple((rng.random((ROWS, 1)) < share) * 100.0 + rng.random((ROWS, 1)) for share in (0.02, 0.01))
    model, rows = modelled((strata[0], strata[1]), 20)
    noise = GaussianNoise.isotropic(1, 0.2 * float(np.sqrt(model.distributions["a"].covariance[0, 0])))
    assert saddlepoint_check(model, rows, noise, 1.0, model.protected_pairs).gate > 0.05


def test_statistics_that_add_up_tell_what_their_difference_tells() -> None:
    rng = np.random.default_rng(1)
    one, other = rng.exponential(size=(ROWS, 1)) + 0.1, rng.exponential(size=(ROWS, 1))
    model, rows = modelled((np.hstack([one, -one]), np.hstack([other, -other])), 60)
    noise = hidden(model, 0.5, 1e-3)
    exact = projected_deltas(model, rows, noise, 0.5, np.array([1.0, -1.0])).max()
    check = saddlepoint_check(model, rows, noise, 0.5, model.protected_pairs)
    assert check.delta == pytest.approx(exact, rel=0.01 + 2 * check.standard_error)


def test_a_single_record_can_be_checked() -> None:
    rng = np.random.default_rng(1)
    strata = rng.random((50, 1)), rng.random((50, 1)) + 0.1
    rows = RowLaws(strata=strata, drawn={"a": {0: 1}, "b": {1: 1}}, replacement=False)
    model = dp.gaussian_model(
        means={name: values.mean(axis=0) for name, values in zip("ab", strata, strict=True)},
        covariances={name: np.cov(values.T).reshape(1, 1) for name, values in zip("ab", strata, strict=True)},
        pairs=[("a", "b")],
    )
    noise = GaussianNoise.isotropic(1, 0.5)
    exact = projected_deltas(model, rows, noise, 0.2, np.ones(1)).max()
    check = saddlepoint_check(model, rows, noise, 0.2, model.protected_pairs)
    assert check.delta == pytest.approx(exact, rel=0.1)


def test_the_same_rows_give_the_same_check() -> None:
    model, rows = modelled(skewed("lognormal"), 50)
    noise = hidden(model, 1.0, 1e-3)
    one, other = (saddlepoint_check(model, rows, noise, 1.0, model.protected_pairs) for _ in range(2))
    assert one == other


def test_laplace_noise_has_no_saddlepoint() -> None:
    model, rows = modelled(skewed("exponential"), 50)
    noise = LaplaceNoise(axes=np.eye(1), scales=np.ones(1))
    with pytest.raises(InvalidInput, match="for Gaussian noise"):
        saddlepoint_check(model, rows, noise, 1.0, model.protected_pairs)


def test_of_many_pairs_the_worst_by_the_exact_laws_is_found() -> None:
    rng = np.random.default_rng(2)
    strata = rng.exponential(size=(ROWS, 1)) + 0.4, rng.exponential(size=(ROWS, 1))
    drawn = {f"{first}": {0: first, 1: 60 - first} for first in range(20, 41, 4)}
    pairs = [(one, other) for one in drawn for other in drawn if abs(int(one) - int(other)) == 8]
    variance = sum(30 * float(rows.var()) for rows in strata)
    means = {name: sum(size * strata[s].mean(axis=0) for s, size in of.items()) for name, of in drawn.items()}
    model = dp.gaussian_model(means=means, covariances=[[variance]], pairs=pairs)
    rows = RowLaws(strata=strata, drawn=drawn, replacement=True)
    noise = hidden(model, 1.0, 1e-3)
    exact = projected_deltas(model, rows, noise, 1.0, np.ones(1)).max()
    check = saddlepoint_check(model, rows, noise, 1.0, model.protected_pairs)
    assert check.delta == pytest.approx(exact, rel=0.02)
    assert check.delta <= check.delta_with_error <= 1.1 * check.delta


@pytest.mark.parametrize(("first", "delta"), [(0.0, 1.0), (1.0, 0.0)])
def test_statistics_that_never_vary_are_told_apart_with_certainty_or_not_at_all(first: float, delta: float) -> None:
    model, rows = modelled((np.full((5, 1), first), np.ones((5, 1))), 10, replacement=True)
    check = saddlepoint_check(model, rows, NoNoise(dimension=1), 1.0, model.protected_pairs)
    assert check.delta == delta
    assert check.ratio == 1.0


def test_constant_rows_with_noise_are_gaussian() -> None:
    model, rows = modelled((np.zeros((5, 1)), np.ones((5, 1))), 10, replacement=True)
    check = saddlepoint_check(model, rows, GaussianNoise.isotropic(1, 3.0), 1.0, model.protected_pairs)
    assert check.ratio == pytest.approx(1.0, abs=1e-6)
    assert check.gate == pytest.approx(0.0, abs=1e-9)


def test_a_count_without_noise_can_be_looked_at() -> None:
    coins = np.array([[0.0], [1.0]] * 20), np.array([[0.0], [1.0], [1.0]] * 20)
    model, rows = modelled(coins, 10, replacement=True)
    check = saddlepoint_check(model, rows, NoNoise(dimension=1), 1.0, model.protected_pairs)
    assert 0 <= check.delta <= 1


def test_a_pair_that_is_decided_on_both_sides_is_not_taken_for_half_of_it() -> None:
    rng = np.random.default_rng(0)
    wide = np.concatenate([rng.normal(0, 1, size=(ROWS, 1)), rng.exponential(6, size=(ROWS // 8, 1))])
    model, rows = modelled((1.6 * wide - 0.5, wide), 10, replacement=True)
    noise = hidden(model, 0.5, 1e-3)
    exact = projected_deltas(model, rows, noise, 0.5, np.ones(1)).max()
    check = saddlepoint_check(model, rows, noise, 0.5, model.protected_pairs)
    assert check.delta_with_error > 0.98 * exact
