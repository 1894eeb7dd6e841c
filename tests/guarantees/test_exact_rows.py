import itertools
import math
from collections import defaultdict
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm
from tests.guarantees.exact_laws import Stratum, SumLaw, exact_deltas

import distpriv as dp
from distpriv.errors import InvalidInput, InvalidModel
from distpriv.framework.arrays import Floats
from distpriv.framework.records import Format, plain
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
    laws = {
        name: SumLaw(
            strata=[
                Stratum.of(first, RECORDS - positives, replacement=replacement),
                Stratum.of(second, positives, replacement=replacement),
            ]
        )
        for name, positives in zip(model.distributions, (1, 3), strict=True)
    }
    exact = exact_deltas(laws, noise, 0.7, model.protected_pairs).delta
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
    noises: list[NoiseLaw] = [steps, normal]
    both = exact_rows_delta(row_grid(model), noises, target, model.protected_pairs)
    models = [modelled(first[:, [which]], second[:, [which]], replacement=True) for which in (0, 1)]
    alone = [
        exact_rows_delta(row_grid(one), [noise], target, one.protected_pairs)
        for one, noise in zip(models, noises, strict=True)
    ]
    assert both > max(alone)
    assert both == pytest.approx(_mixed(first, second, 2, 2.0, 0.5), rel=0.02)


def _mixed(zeros: Floats, ones: Floats, width: int, deviation: float, epsilon: float) -> float:
    """δ of even noise on the first total and Gaussian noise on the second, by all datasets."""
    places = np.arange(-30.0, 60.0, 0.05)
    laws = []
    for positives in (1, 3):
        law: dict[float, Floats] = defaultdict(lambda: np.zeros(len(places)))
        datasets = list(itertools.product(*[zeros] * (RECORDS - positives), *[ones] * positives))
        for x, y in np.sum(datasets, axis=1).tolist():
            density = norm.pdf(places, y, deviation) * 0.05
            for k in range(-width, width + 1):
                law[x + k] = law[x + k] + density / (len(datasets) * (2 * width + 1))
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
    written = plain(rows)
    written["strata"][0]["counts"][0] = 0
    with pytest.raises(InvalidInput, match="these are no cells of rows"):
        Format(RowGrid).of(written)


AGE, MARRIED = dp.mean("age"), dp.count("marital_status = 'Never-married'")
INCOME = dp.Share("income = '>50K'", values=(0.45, 0.55))


@pytest.mark.parametrize(
    ("epsilon", "least", "more"),
    [
        pytest.param(0.2, 25.5, {}, marks=pytest.mark.slow),
        pytest.param(1, 5.5, {}, marks=pytest.mark.slow),
        (5, 1.05, {}),
        pytest.param(1, 5.6, {"hours": dp.mean("hours_per_week")}, marks=pytest.mark.slow),
    ],
)
def test_two_and_three_statistics_need_as_little_as_is_known(
    adult: pa.Table, epsilon: float, least: float, more: dict[str, Any]
) -> None:
    query = dp.Query({"married": MARRIED, "age": AGE, **more})
    model = dp.model(adult, query, INCOME, records=100, reference="population")
    mechanism = M.exact_law(model, dp.PrivacyTarget(epsilon=epsilon, delta=1e-3))
    assert mechanism.certificate.holds_at("proved")
    assert mechanism.noise.expected_rms <= least


def test_two_statistics_of_a_sample_take_more_noise_than_those_of_a_population(adult: pa.Table) -> None:
    query, secret, target = dp.Query(married=MARRIED, age=AGE), INCOME, dp.PrivacyTarget(epsilon=1, delta=1e-2)
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
    query, secret, target = dp.Query(married=MARRIED, age=AGE), INCOME, dp.PrivacyTarget(epsilon=1, delta=1e-3)
    truth = row_grid(dp.model(adult, query, secret, records=100, reference="population", replacement=True))
    rng, missed = np.random.default_rng(5), 0
    for _ in range(15):
        model = dp.model(adult.take(rng.integers(adult.num_rows, size=500)), query, secret, records=100)
        noise = M.exact_law(model, target).noise
        missed += exact_rows_delta(truth, [noise], target, model.protected_pairs) > target.delta
    assert missed <= 1
