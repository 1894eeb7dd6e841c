import itertools
import math
from collections import Counter, defaultdict
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from attrs import evolve
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize

import distpriv as dp
from distpriv.errors import InvalidModel
from distpriv.guarantees.exact_rows import exact_certificate, exact_rows_delta
from distpriv.law.cells import row_grid
from distpriv.law.plausible_cells import plausible_strata
from distpriv.law.step_laws import step_laws
from distpriv.mechanisms.search import step_program
from distpriv.mechanisms.search.exact_search import SampleSettings, noise_on_steps
from distpriv.noise.laws import UnimodalNoise

M = dp.mechanisms
SECRET = dp.Share("g = 1", values=(0.25, 0.75))
TARGET = dp.PrivacyTarget(epsilon=1, delta=1e-3)


def modelled(zeros: list[int], ones: list[int], *, replacement: bool, records: int = 4) -> dp.QueryModel:
    table = pa.table({"x": [*zeros, *ones], "g": [0] * len(zeros) + [1] * len(ones)})
    options: dict[str, Any] = {"records": records, "replacement": replacement, "reference": "population"}
    return dp.model(table, dp.Query(x=dp.total("x")), SECRET, **options)


def enumerated(strata: tuple[list[int], list[int]], sizes: tuple[int, int], *, replacement: bool) -> dict[int, float]:
    """The law of a sum, by all datasets that there are."""
    found = Counter({0: 1.0})
    for rows, size in zip(strata, sizes, strict=True):
        draws = list(itertools.product(rows, repeat=size) if replacement else itertools.combinations(rows, size))
        sums = Counter(sum(draw) for draw in draws)
        found = Counter(
            {
                total: sum(
                    chance * sums[total - before] / len(draws)
                    for before, chance in found.items()
                    if total - before in sums
                )
                for total in {before + more for before in found for more in sums}
            }
        )
    return dict(found)


ROWS = st.lists(st.integers(-5, 9), min_size=4, max_size=6)


@given(zeros=ROWS, ones=ROWS, replacement=st.booleans())
@settings(max_examples=40)
def test_the_law_is_that_of_all_datasets(zeros: list[int], ones: list[int], replacement: bool) -> None:
    if len({*zeros, *ones}) == 1:
        return
    laws = step_laws(row_grid(modelled(zeros, ones, replacement=replacement)))
    for name, masses in laws.masses.items():
        positives = 1 if name.endswith("0.25") else 3
        for total, chance in enumerated((zeros, ones), (4 - positives, positives), replacement=replacement).items():
            place = (total - laws.origin) / laws.step
            assert place == pytest.approx(round(place), abs=1e-6)
            assert masses[round(place)] == pytest.approx(chance, abs=1e-12)
        assert masses.sum() == pytest.approx(1, abs=1e-12)


@given(
    zeros=ROWS,
    ones=ROWS,
    replacement=st.booleans(),
    epsilon=st.sampled_from([0.3, 1.0, 3.0]),
    delta=st.sampled_from([1e-4, 0.01]),
)
@settings(max_examples=8)
def test_delta_is_that_of_all_datasets_with_all_noise(
    zeros: list[int], ones: list[int], replacement: bool, epsilon: float, delta: float
) -> None:
    if len({*zeros, *ones}) == 1:
        return
    model = modelled(zeros, ones, replacement=replacement)
    mechanism = M.exact_law(model, dp.PrivacyTarget(epsilon=epsilon, delta=delta))
    assert mechanism.certificate.holds_at("proved")
    noise, step = mechanism.noise, step_laws(row_grid(model)).step
    assert isinstance(noise, UnimodalNoise)
    reach = round(noise.edges[-1] / step - 0.5)
    height = {
        k: float(noise.densities[np.searchsorted(noise.edges[1:], abs(k) * step)]) * step
        for k in range(-reach, reach + 1)
    }
    assert sum(height.values()) == pytest.approx(1)
    laws = []
    for positives in (1, 3):
        found: dict[int, float] = defaultdict(float)
        for total, chance in enumerated((zeros, ones), (4 - positives, positives), replacement=replacement).items():
            for k, share in height.items():
                found[round(total / step) + k] += chance * share
        laws.append(found)
    exact = max(
        sum(max(0.0, chance - math.exp(epsilon) * other[total]) for total, chance in one.items())
        for one, other in (laws, laws[::-1])
    )
    assert exact <= mechanism.certificate.delta <= delta
    assert mechanism.certificate.delta == pytest.approx(exact, abs=1e-7)


@pytest.mark.parametrize(
    ("statistic", "epsilon", "least"),
    [
        pytest.param("count", 0.2, 22.8, marks=pytest.mark.slow),
        ("count", 1, 4.19),
        pytest.param("mean", 0.2, 4.74, marks=pytest.mark.slow),
        ("mean", 1, 0.750),
    ],
)
def test_on_adult_it_is_as_small_as_is_known(adult: pa.Table, statistic: str, epsilon: float, least: float) -> None:
    of = dp.count("marital_status = 'Never-married'") if statistic == "count" else dp.mean("age")
    secret = dp.Share("income = '>50K'", values=(0.45, 0.55))
    model = dp.model(adult, dp.Query(x=of), secret, records=100, reference="population")
    mechanism = M.exact_law(model, dp.PrivacyTarget(epsilon=epsilon, delta=1e-3))
    assert mechanism.certificate.holds_at("proved")
    assert mechanism.noise.expected_rms <= 1.02 * least


def test_an_offset_between_strata_is_part_of_the_law() -> None:
    model = modelled([0, 100, 200, 300], [13, 113, 213, 313], replacement=True)
    rows = row_grid(model)
    assert step_laws(rows).step == 1
    wide = UnimodalNoise(axes=np.ones((1, 1)), edges=np.array([0.0, 30.5]), masses=np.ones(1))
    assert exact_rows_delta(rows, [wide], TARGET, model.protected_pairs) > 0.1
    assert M.exact_law(model, TARGET).certificate.holds


def test_what_it_cannot_know_is_refused_in_a_sentence(adult: pa.Table) -> None:
    secret = dp.Share("income = '>50K'", values=(0.45, 0.55))

    def model(query: dp.Query, **options: Any) -> dp.QueryModel:
        given: dict[str, Any] = {"records": 100, "reference": "population"} | options
        return dp.model(adult, query, secret, **given)

    age = dp.Query(age=dp.mean("age"))
    with pytest.raises(InvalidModel, match="this one is a sample: say reference='population'"):
        M.exact_law(model(age, reference="sample", weight="fnlwgt"), TARGET)
    with pytest.raises(InvalidModel, match="are on no steps"):
        M.exact_law(model(dp.Query(age=dp.mean("ln(age)"))), TARGET)
    with pytest.raises(InvalidModel, match="values, and exact distributions here are of up to"):
        M.exact_law(model(dp.Query(gain=dp.mean("capital_gain"))), TARGET)


def test_rows_that_are_off_the_steps_together_are_counted_or_refused() -> None:
    near = [0.0, 100.0, 300.0, 1e5]
    table = pa.table({"x": [*near, *(value + 9e-5 for value in near)], "g": [0] * 4 + [1] * 4})
    model = dp.model(
        table,
        dp.Query(x=dp.total("x")),
        dp.Share("g = 1", values=(0, 1)),
        records=4,
        replacement=True,
        reference="population",
    )
    with pytest.raises(InvalidModel, match="but for some that are off them: round the column"):
        M.exact_law(model, dp.PrivacyTarget(epsilon=0.1, delta=5e-8))
    far = modelled(
        [10**9, 10**9 + 3, 10**9 + 4, 10**9 + 7], [10**9 + 1, 10**9 + 2, 10**9 + 5, 10**9 + 6], replacement=True
    )
    rows = row_grid(far)
    assert step_laws(rows).outside >= rows.off
    assert step_laws(evolve(rows, off=1e-7)).outside - step_laws(rows).outside == pytest.approx(1e-7 - rows.off)


def test_noise_off_the_steps_shows_nothing() -> None:
    rows = row_grid(modelled([0, 1, 2, 3], [1, 2, 3, 4], replacement=True))
    noise = UnimodalNoise(axes=np.ones((1, 1)), edges=np.array([0.0, 3.0]), masses=np.ones(1))
    with pytest.raises(dp.errors.InvalidInput, match="must be in the middle between two steps"):
        exact_rows_delta(rows, [noise], TARGET, [])


@pytest.mark.parametrize("rounds", [0, 2])
def test_noise_keeps_delta_where_the_solver_gives_up(monkeypatch: pytest.MonkeyPatch, rounds: int) -> None:
    """A linear program in which rounding left no solution ended `plan` in a traceback."""
    solved: list[Any]
    solve, solved = optimize.linprog, []

    def gives_up(*args: Any, **options: Any) -> Any:
        solved.append(solve(*args, **options))
        return solved[-1] if len(solved) <= rounds else SimpleNamespace(x=None, success=False)

    monkeypatch.setattr(step_program, "linprog", gives_up)
    mechanism = M.exact_law(modelled([0, 1, 2, 3], [1, 2, 3, 4], replacement=True), TARGET)
    assert len(solved) == rounds + 1
    assert mechanism.certificate.holds_at("proved")


def of_sample(table: pa.Table, **options: Any) -> dp.QueryModel:
    secret = dp.Share("income = '>50K'", values=(0.45, 0.55))
    query = dp.Query(x=dp.count("marital_status = 'Never-married'"))
    return dp.model(table, query, secret, **{"records": 100, **options})


def test_a_sample_takes_more_noise_the_fewer_rows_it_has(adult: pa.Table) -> None:
    widths = []
    for rows in (500, 5000):
        mechanism = M.exact_law(of_sample(adult.slice(0, rows)), TARGET)
        certificate = mechanism.certificate
        assert certificate.holds_at("checked")
        assert not certificate.holds_at("proved")
        widths.append(mechanism.noise.expected_rms)
    whole = M.exact_law(of_sample(adult, reference="population", replacement=True), TARGET).noise.expected_rms
    assert widths[0] > widths[1] > whole > 0.7 * widths[1]


def test_noise_that_a_smaller_delta_hardly_widens_is_widened_itself(adult: pa.Table) -> None:
    model = of_sample(adult.slice(0, 500))
    rows, pairs = row_grid(model), model.protected_pairs
    made, widened = (noise_on_steps(rows, TARGET, pairs, SampleSettings(rounds=rounds)) for rounds in (6, 1))
    assert exact_rows_delta(rows, [widened], TARGET, pairs) <= TARGET.delta
    assert widened.expected_rms < 1.5 * made.expected_rms


def test_plausible_populations_are_off_as_a_mean_of_so_many_rows_is(adult: pa.Table) -> None:
    table = adult.slice(0, 500)
    rows = row_grid(of_sample(table))
    means = np.array([[s.chances @ s.places[:, 0] for s in strata] for strata in plausible_strata(rows, 1000)])
    for stratum, found in zip(rows.strata, means.T, strict=True):
        p = float(stratum.chances @ stratum.places[:, 0])
        error = math.sqrt(p * (1 - p) / (stratum.rows - 1))
        assert found.std() == pytest.approx(error, rel=0.1)
        assert found.mean() == pytest.approx(p, abs=2.5 / stratum.rows)


def test_a_population_may_have_what_a_sample_of_it_lacks() -> None:
    """Of 60 rows without a 1, 99 % of the populations have fewer than 7.4 % of them (Clopper and Pearson 1934)."""
    table = pa.table({"x": [0] * 60 + [0, 1] * 30, "g": [0] * 60 + [1] * 60})
    model = dp.model(table, dp.Query(x=dp.total("x")), SECRET, records=20)
    lacking = next(which for which, cells in enumerate(row_grid(model).strata) if len(cells.places) == 1)
    shares = [
        float(strata[lacking].chances @ strata[lacking].places[:, 0])
        for strata in plausible_strata(row_grid(model), 3000)
    ]
    some = np.sort([share for share in shares if share > 0])
    assert some[int(0.99 * len(some))] == pytest.approx(1 - 0.01 ** (1 / 60), rel=0.2)


@pytest.mark.slow
def test_delta_holds_in_99_of_100_populations(adult: pa.Table) -> None:
    """References are drawn from a population again and again, and noise is judged by its own exact law."""
    rng = np.random.default_rng(11)
    for statistic in (dp.count("marital_status = 'Never-married'"), dp.mean("age")):
        query, secret = dp.Query(x=statistic), dp.Share("income = '>50K'", values=(0.45, 0.55))
        truth = row_grid(dp.model(adult, query, secret, records=100, reference="population", replacement=True))
        missed = 0
        for _ in range(30):
            reference = adult.take(rng.integers(adult.num_rows, size=500))
            model = dp.model(reference, query, secret, records=100)
            noise = M.exact_law(model, TARGET).noise
            assert isinstance(noise, UnimodalNoise)
            missed += exact_rows_delta(truth, [noise], TARGET, model.protected_pairs) > TARGET.delta
        assert missed <= 2


SINGLE = dp.count("marital_status = 'Never-married'")
BOTH = {"single": SINGLE, "women": dp.count("sex = 'Female'")}


@pytest.mark.parametrize(
    ("records", "statistics"), [(1000, {"single": SINGLE}), pytest.param(20, BOTH, marks=pytest.mark.slow)]
)
def test_a_total_variation_does_not_permit_to_disclose_everything_now_and_then(
    adult: pa.Table, records: int, statistics: dict[str, Any]
) -> None:
    secret = dp.Share("income = '>50K'", values=(0.25, 0.75))
    model = dp.model(adult, dp.Query(statistics), secret, records=records, reference="population")
    rows, target = row_grid(model), dp.PrivacyTarget.from_attack_accuracy(0.6)
    made = dp.mechanisms.exact_law(model, target)
    assert target.tail is not None
    assert made.certificate.holds
    assert exact_rows_delta(rows, [made.noise], target.tail, model.protected_pairs) <= target.tail.delta
    if len(statistics) == 1:  # which the least noise of that total variation does once in twelve releases
        laws = step_laws(rows)
        least = step_program.least_on_steps(laws, [target], model.protected_pairs, laws.step)
        assert exact_rows_delta(rows, [least], target.tail, model.protected_pairs) > 0.08
        certificate = exact_certificate(rows, [least], target, model.protected_pairs)
        assert certificate.delta <= target.delta
        assert not certificate.holds


def test_a_sample_of_a_statistic_with_very_many_values_is_refused_at_once() -> None:
    rng = np.random.default_rng(0)
    rows = pa.table({"rich": rng.random(400) < 0.5, "wage": rng.integers(1000, 9000, 400)})
    secret = dp.Share("rich", values=(0.4, 0.6))
    target = dp.PrivacyTarget(epsilon=1, delta=1e-3)
    for fine in ("wage", "round(wage / 100)"):
        with pytest.raises(InvalidModel):
            dp.mechanisms.exact_law(dp.model(rows, dp.Query(wage=dp.mean(fine)), secret, records=300), target)
    coarse = dp.model(rows, dp.Query(wage=dp.mean("round(wage / 400)")), secret, records=300)
    assert dp.mechanisms.exact_law(coarse, target).certificate.holds
