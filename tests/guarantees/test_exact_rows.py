import itertools
import math
from collections import defaultdict

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import distpriv as dp
from distpriv.errors import InvalidInput, InvalidModel
from distpriv.framework.arrays import Floats
from distpriv.guarantees.exact_rows import exact_rows_delta, grid_deltas, step_deltas
from distpriv.law.cells import RowGrid, row_grid
from distpriv.law.step_laws import step_laws
from distpriv.noise.laws import GaussianNoise, LaplaceNoise, NoiseLaw, SumNoise, UnimodalNoise

M = dp.mechanisms
RECORDS = 4


def modelled(zeros: Floats, ones: Floats, *, replacement: bool) -> dp.QueryModel:
    both = np.concatenate([zeros, ones])
    names = "xyz"[: both.shape[1]]
    table = pa.table({name: both[:, k] for k, name in enumerate(names)} | {"g": [0] * len(zeros) + [1] * len(ones)})
    query = dp.Query({name: dp.total(name) for name in names})
    secret = dp.Share("g = 1", values=(0.25, 0.75))
    return dp.model(table, query, secret, records=RECORDS, replacement=replacement, reference="population")


def enumerated(zeros: Floats, ones: Floats, positives: int, *, replacement: bool) -> dict[tuple[float, ...], float]:
    """The law of the totals, by all datasets that there are."""

    def sums(rows: Floats, size: int) -> list[Floats]:
        picked = (
            itertools.product(range(len(rows)), repeat=size)
            if replacement
            else itertools.combinations(range(len(rows)), size)
        )
        return [rows[list(which)].sum(axis=0) for which in picked]

    found: dict[tuple[float, ...], float] = defaultdict(float)
    first, second = sums(zeros, RECORDS - positives), sums(ones, positives)
    for one in first:
        for other in second:
            found[tuple((one + other).tolist())] += 1 / (len(first) * len(second))
    return found


def brute_force(laws: list[dict[tuple[float, ...], float]], noise: NoiseLaw, epsilon: float) -> float:
    """δ of two statistics with Gaussian and Laplace noise along one axis, by a fine midpoint rule; totals are whole."""
    cells, low, size = 3, -26, 64
    away = (np.arange(-size * cells, size * cells) + 0.5) / cells
    kernel = _density(noise, np.stack(np.meshgrid(away, away, indexing="ij"), axis=-1))
    densities = []
    for law in laws:
        density = np.zeros((size * cells, size * cells))
        for point, chance in law.items():
            x, y = (slice((size + low - int(k)) * cells, (2 * size + low - int(k)) * cells) for k in point)
            density += chance * kernel[x, y]
        densities.append(density)
    odds = math.exp(epsilon)
    return max(float(np.maximum(one - odds * other, 0).sum() / cells**2) for one, other in (densities, densities[::-1]))


def _density(noise: NoiseLaw, at: Floats) -> Floats:
    """That of Gaussian noise, mixed over the variance that makes Laplace noise of it."""
    covariance = noise.gaussian.covariance
    if not len(noise.laplace_scales):
        return _normal(covariance, at)
    nodes, weights = np.polynomial.laguerre.laggauss(24)
    axis = noise.laplace_axes[:, 0]
    return np.asarray(
        sum(
            weight * _normal(covariance + 2 * noise.laplace_scales[0] ** 2 * node * np.outer(axis, axis), at)
            for node, weight in zip(nodes.tolist(), weights.tolist(), strict=True)
        )
    )


def _normal(covariance: Floats, at: Floats) -> Floats:
    exponent = np.einsum("...i,ij,...j", at, np.linalg.inv(covariance), at)
    return np.asarray(np.exp(-exponent / 2) / (2 * np.pi * math.sqrt(np.linalg.det(covariance))))


ROWS = st.lists(st.tuples(st.integers(0, 4), st.integers(-2, 3)), min_size=4, max_size=5)


@given(
    zeros=ROWS,
    ones=ROWS,
    replacement=st.booleans(),
    angle=st.floats(0, math.pi),
    correlation=st.floats(-0.8, 0.8),
    scale=st.sampled_from([0.0, 1.5]),
)
@settings(max_examples=10)
def test_it_is_above_delta_by_all_datasets_and_close_to_it(
    zeros: list[tuple[int, int]],
    ones: list[tuple[int, int]],
    replacement: bool,
    angle: float,
    correlation: float,
    scale: float,
) -> None:
    first, second = np.array(zeros, dtype=np.float64), np.array(ones, dtype=np.float64)
    if any(len(set(column)) == 1 for column in np.concatenate([first, second]).T.tolist()):
        return
    model = modelled(first, second, replacement=replacement)
    normal = GaussianNoise.of(np.array([[1.2, correlation], [correlation, 0.8]]))
    axis = np.array([[math.cos(angle)], [math.sin(angle)]])
    noise = SumNoise(parts=(normal, LaplaceNoise(axes=axis, scales=np.array([scale])))) if scale else normal
    laws = [enumerated(first, second, positives, replacement=replacement) for positives in (1, 3)]
    exact = brute_force(laws, noise, 0.7)
    target = dp.PrivacyTarget(epsilon=0.7, delta=0.01)
    found = exact_rows_delta(row_grid(model), [noise], target, model.protected_pairs)
    assert exact * (1 - 1e-3) <= found <= 1.05 * exact + 2e-3


@given(zeros=ROWS, ones=ROWS, replacement=st.booleans(), width=st.integers(1, 6))
@settings(max_examples=25)
def test_on_its_own_steps_it_is_the_sum_over_steps(
    zeros: list[tuple[int, int]], ones: list[tuple[int, int]], replacement: bool, width: int
) -> None:
    first, second = (np.array(rows, dtype=np.float64)[:, :1] for rows in (zeros, ones))
    if len({*first.ravel().tolist(), *second.ravel().tolist()}) == 1:
        return
    model = modelled(first, second, replacement=replacement)
    laws = step_laws(row_grid(model))
    step = laws.step
    noise = UnimodalNoise(
        axes=np.ones((1, 1)), edges=np.array([0.0, 0.5, width + 0.5]) * step, masses=np.array([0.5, 0.5])
    )
    target = dp.PrivacyTarget(epsilon=0.5, delta=0.01)
    exact = step_deltas(laws, noise, 0.5, model.protected_pairs)
    assert grid_deltas(row_grid(model), [noise], target, model.protected_pairs) == pytest.approx(exact, abs=1e-5)


def test_noise_on_steps_and_other_noise_are_judged_together() -> None:
    rng = np.random.default_rng(5)
    first, second = rng.integers(0, 5, (5, 2)).astype(float), rng.integers(1, 6, (5, 2)).astype(float)
    model = modelled(first, second, replacement=True)
    steps = UnimodalNoise(axes=np.ones((1, 1)), edges=np.array([0.0, 2.5]), masses=np.ones(1))
    normal = GaussianNoise.isotropic(1, 2.0)
    target = dp.PrivacyTarget(epsilon=0.5, delta=0.01)
    rows = row_grid(model)
    noises: list[NoiseLaw] = [steps, normal]
    both = exact_rows_delta(rows, noises, target, model.protected_pairs)
    alone = [
        exact_rows_delta(_of(rows, which), [noise], target, model.protected_pairs) for which, noise in enumerate(noises)
    ]
    assert both > max(alone)
    assert both == pytest.approx(_mixed(first, second, 2, 2.0, 0.5), rel=0.02)


def _of(rows: RowGrid, which: int) -> RowGrid:
    written = rows.to_dict()
    written["steps"], written["lowest"] = [written["steps"][which]], [written["lowest"][which]]
    for stratum in written["strata"]:
        stratum["places"] = [[place[which]] for place in stratum["places"]]
    for stratum in written["strata"]:
        counts: dict[int, int] = defaultdict(int)
        for (place,), count in zip(stratum["places"], stratum["counts"], strict=True):
            counts[place] += count
        stratum["places"], stratum["counts"] = [[place] for place in counts], list(counts.values())
    return RowGrid.from_dict(written)


def _mixed(zeros: Floats, ones: Floats, width: int, deviation: float, epsilon: float) -> float:
    """δ of even noise on the first total and Gaussian noise on the second, by all datasets."""
    places = np.arange(-30.0, 60.0, 0.05)
    laws = []
    for positives in (1, 3):
        law: dict[float, Floats] = defaultdict(lambda: np.zeros(len(places)))
        for (x, y), chance in enumerated(zeros, ones, positives, replacement=True).items():
            density = np.exp(-(((places - y) / deviation) ** 2) / 2) / (deviation * math.sqrt(2 * np.pi)) * 0.05
            for k in range(-width, width + 1):
                law[x + k] = law[x + k] + chance / (2 * width + 1) * density
        laws.append(law)
    odds = math.exp(epsilon)
    return max(
        sum(float(np.maximum(density - odds * other[x], 0).sum()) for x, density in one.items())
        for one, other in (laws, laws[::-1])
    )


def test_what_it_cannot_know_is_refused_in_a_sentence(adult: pa.Table) -> None:
    query = dp.Query(age=dp.mean("age"), women=dp.count("sex = 'Female'"))
    secret = dp.Share("income = '>50K'", values=(0.45, 0.55))
    model = dp.model(adult, query, secret, records=20, reference="population")
    rows, target = row_grid(model), dp.PrivacyTarget(epsilon=1, delta=1e-3)
    with pytest.raises(InvalidInput, match="need Gaussian noise in every direction"):
        exact_rows_delta(rows, [LaplaceNoise.isotropic(2, 1.0)], target, model.protected_pairs)
    for flat in (GaussianNoise.of(np.ones((2, 2))), GaussianNoise.of(np.array([[1.0, 1.0], [1.0, 1.0 + 1e-13]]))):
        with pytest.raises(InvalidInput, match="need Gaussian noise in every direction"):
            exact_rows_delta(rows, [flat], target, model.protected_pairs)
    with pytest.raises(InvalidModel, match=r"points, and up to .* are looked at: release fewer"):
        exact_rows_delta(rows, [GaussianNoise.isotropic(2, 1e-30)], target, model.protected_pairs)
    with pytest.raises(InvalidModel, match=r"points, and up to .* are looked at: release fewer"):
        exact_rows_delta(rows, [GaussianNoise.isotropic(2, 1e-4)], target, model.protected_pairs)
    four = dp.Query({f"s{k}": dp.count(f"age > {20 + k}") for k in range(4)})
    with pytest.raises(InvalidModel, match="up to 3 statistics, and 4 are released together"):
        M.exact_law(dp.model(adult, four, secret, records=20, reference="population"), target)
    written = rows.to_dict()
    written["strata"][0]["counts"][0] = 0
    with pytest.raises(InvalidInput, match="these are no cells of rows"):
        RowGrid.from_dict(written)


@pytest.mark.parametrize(
    ("epsilon", "least"),
    [pytest.param(0.2, 25.5, marks=pytest.mark.slow), pytest.param(1, 5.5, marks=pytest.mark.slow), (5, 1.05)],
)
def test_age_and_never_married_need_as_little_as_is_known(adult: pa.Table, epsilon: float, least: float) -> None:
    query = dp.Query(married=dp.count("marital_status = 'Never-married'"), age=dp.mean("age"))
    secret = dp.Share("income = '>50K'", values=(0.45, 0.55))
    model = dp.model(adult, query, secret, records=100, reference="population")
    mechanism = M.exact_law(model, dp.PrivacyTarget(epsilon=epsilon, delta=1e-3))
    assert mechanism.certificate.holds_at("proved")
    assert mechanism.noise.expected_rms <= least


@pytest.mark.slow
def test_three_statistics_need_as_little_as_is_known(adult: pa.Table) -> None:
    query = dp.Query(
        married=dp.count("marital_status = 'Never-married'"), age=dp.mean("age"), hours=dp.mean("hours_per_week")
    )
    secret = dp.Share("income = '>50K'", values=(0.45, 0.55))
    model = dp.model(adult, query, secret, records=100, reference="population")
    mechanism = M.exact_law(model, dp.PrivacyTarget(epsilon=1, delta=1e-3))
    assert mechanism.certificate.holds_at("proved")
    assert mechanism.noise.expected_rms <= 5.6


def test_two_statistics_of_a_sample_take_more_noise_than_those_of_a_population(adult: pa.Table) -> None:
    query = dp.Query(married=dp.count("marital_status = 'Never-married'"), age=dp.mean("age"))
    secret, target = dp.Share("income = '>50K'", values=(0.45, 0.55)), dp.PrivacyTarget(epsilon=1, delta=1e-2)
    widths = []
    for reference in ("sample", "population"):
        model = dp.model(adult.slice(0, 2000), query, secret, records=20, reference=reference, replacement=True)
        mechanism = M.exact_law(model, target)
        assert mechanism.certificate.holds
        assert mechanism.certificate.assurance == ("checked" if reference == "sample" else "proved")
        widths.append(mechanism.noise.expected_rms)
    assert widths[1] < widths[0] < 2 * widths[1]


@pytest.mark.slow
def test_delta_of_two_statistics_holds_in_99_of_100_populations(adult: pa.Table) -> None:
    """References are drawn from a population again and again, and noise is judged by its own exact law."""
    query = dp.Query(married=dp.count("marital_status = 'Never-married'"), age=dp.mean("age"))
    secret, target = dp.Share("income = '>50K'", values=(0.45, 0.55)), dp.PrivacyTarget(epsilon=1, delta=1e-3)
    truth = row_grid(dp.model(adult, query, secret, records=100, reference="population", replacement=True))
    rng, missed = np.random.default_rng(5), 0
    for _ in range(15):
        model = dp.model(adult.take(rng.integers(adult.num_rows, size=500)), query, secret, records=100)
        noise = M.exact_law(model, target).noise
        missed += exact_rows_delta(truth, [noise], target, model.protected_pairs) > target.delta
    assert missed <= 1
