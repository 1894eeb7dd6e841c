from functools import cache
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.guarantees.random_models import projected_deltas, random_covariance

import distpriv as dp
from distpriv.distances.gaussian import gaussian_hockey_stick
from distpriv.framework.arrays import Floats
from distpriv.framework.secrets import Secret, protect
from distpriv.guarantees import exact_delta as checked
from distpriv.guarantees.exact_delta import pair_deltas, worst_gaussian_pair
from distpriv.guarantees.farthest_pairs import farthest, largest_of_rows, lines_of, rows_of_pairs
from distpriv.guarantees.projections import projected_laws, worst_projected_pair
from distpriv.modelling.model import QueryModel
from distpriv.noise.laws import GaussianNoise

seeds = st.integers(0, 10_000)


def table(seed: int, rows: int = 400) -> pa.Table:
    """Two strata whose means, deviations and correlations differ."""
    rng = np.random.default_rng(seed)
    yes = np.arange(rows) % 2 == 0
    first = rng.normal(size=rows) * np.where(yes, rng.uniform(0.2, 3), 1.0) + np.where(yes, rng.normal(), 0.0)
    second = rng.exponential(size=rows) + np.where(yes, rng.normal() * first, 0.0)
    return pa.table({"yes": yes, "a": first, "b": second})


def range_of_shares(seed: int, *, records: int = 24, replacement: bool = False, within: float = 0.3) -> QueryModel:
    query = dp.Query(a=dp.mean("a"), b=dp.mean("b"))
    secret = dp.Share("yes", between=(0.2, 0.8), within=within)
    options = {"records": records, "replacement": replacement, "reference": "population"}
    return dp.model(table(seed), query, secret, **options)  # type: ignore[arg-type]


@cache
def adult(records: int) -> QueryModel:
    query = dp.Query(age=dp.mean("age"), hours=dp.mean("hours_per_week"))
    secret = dp.Share("income = '>50K'", between=(0.3, 0.7), within=0.1)
    return dp.model(dp.datasets.adult(), query, secret, records=records)


def some_noise(seed: int, model: QueryModel) -> GaussianNoise:
    rng = np.random.default_rng(seed)
    spread = np.mean([np.trace(law.covariance) for law in model.distributions.values()])
    return GaussianNoise.of(random_covariance(rng, model.dimension) * float(spread))


@given(seeds, st.integers(1, 4), st.floats(0, 3), st.floats(0.01, 0.99))
@settings(max_examples=60)
def test_along_a_straight_line_of_gaussians_the_farther_one_is_told_apart_better(
    seed: int, size: int, epsilon: float, nearer: float
) -> None:
    rng = np.random.default_rng(seed)
    first, last = (random_covariance(rng, size) for _ in range(2))
    shift = rng.normal(size=size) * rng.choice([0.0, 0.3, 3.0])
    between = (1 - nearer) * first + nearer * last
    far = gaussian_hockey_stick(epsilon, -shift, first, last)
    near = gaussian_hockey_stick(epsilon, -nearer * shift, first, between)
    assert near.value - near.error <= far.upper_bound
    far, near = (
        gaussian_hockey_stick(epsilon, -shift, last, first),
        gaussian_hockey_stick(epsilon, -nearer * shift, between, first),
    )
    assert near.value - near.error <= far.upper_bound


@given(seeds, st.booleans(), st.sampled_from([0.0, 0.2, 1.0, 3.0]))
@settings(max_examples=25)
def test_the_worst_of_the_farthest_pairs_is_the_worst_of_all(seed: int, replacement: bool, epsilon: float) -> None:
    model = range_of_shares(seed, replacement=replacement)
    noise = some_noise(seed, model)
    every = pair_deltas(model, model.protected_pairs, noise, epsilon)
    pair, delta = worst_gaussian_pair(model, noise, epsilon)
    assert delta == pytest.approx(every.max(), rel=1e-9, abs=1e-15)
    assert every[model.protected_pairs.index(pair)] == delta


@given(seeds, st.floats(0.2, 1.5))
@settings(max_examples=15)
def test_it_is_with_an_epsilon_and_a_factor_for_each_pair(seed: int, epsilon: float) -> None:
    model = range_of_shares(seed)
    rng, noise = np.random.default_rng(seed), some_noise(seed, model)
    pairs = model.protected_pairs
    epsilons, factors = epsilon - rng.uniform(0, 0.3, len(pairs)), 1 + rng.uniform(0, 0.01, len(pairs))
    lower = pair_deltas(model, pairs, noise, np.maximum(0.0, epsilons)) - np.expm1(np.minimum(0.0, epsilons))
    assert worst_gaussian_pair(model, noise, epsilons, factors)[1] == np.minimum(1.0, factors * lower).max()


def test_of_a_range_two_pairs_a_scenario_and_side_are_computed(monkeypatch: pytest.MonkeyPatch) -> None:
    counted: list[int] = []

    def counting(model: QueryModel, pairs: list[tuple[str, str]], noise: GaussianNoise, epsilon: Floats) -> Floats:
        counted.append(len(pairs))
        return pair_deltas(model, pairs, noise, epsilon)

    monkeypatch.setattr(checked, "pair_deltas", counting)
    model = adult(200)
    assert len(model.protected_pairs) == 2820
    worst_gaussian_pair(model, GaussianNoise.isotropic(2, 0.5), 1.0)
    assert sum(counted) <= 4 * len(model.distributions)


@given(seeds, st.sampled_from([0.0, 0.5, 2.0]))
@settings(max_examples=8)
def test_the_worst_combination_of_the_farthest_pairs_is_the_worst_of_all(seed: int, epsilon: float) -> None:
    model = range_of_shares(seed, records=16)
    rows, noise = model.rows().row_laws(), some_noise(seed, model)
    direction = np.random.default_rng(seed).normal(size=2)
    laws = projected_laws(model, rows, noise, direction)
    for level in (epsilon, 0.0):
        every = projected_deltas(model, rows, noise, level, direction)
        assert worst_projected_pair(model, laws, level)[1] == pytest.approx(every.max(), abs=1e-12)


def test_a_lattice_that_the_noise_leaves_standing_is_looked_at_pair_by_pair() -> None:
    """Values 0 and 10 in one stratum and 3 in the other: densities rise and fall with every share."""
    yes = np.arange(400) % 2 == 0
    rows = pa.table({"yes": yes, "a": np.where(yes, 3.0, np.where(np.arange(400) % 4 == 1, 0.0, 10.0))})
    secret = dp.Share("yes", between=(0.3, 0.7), within=0.3)
    model = dp.model(rows, dp.Query(a=dp.total("a")), secret, records=20, reference="population")
    noise = GaussianNoise.isotropic(1, 0.8)
    every = projected_deltas(model, model.rows().row_laws(), noise, 1.0, np.ones(1))
    gaps = [abs(model.scenarios[a].positives - model.scenarios[b].positives) for a, b in model.protected_pairs]
    assert gaps[int(every.argmax())] < max(gaps)
    laws = projected_laws(model, model.rows().row_laws(), noise, np.ones(1))
    assert worst_projected_pair(model, laws, 1.0)[1] == every.max()


def test_pairs_of_several_secrets_are_in_rows_of_their_own() -> None:
    secrets: list[Secret] = [
        dp.Share("x > 0", between=(0.2, 0.6), within=0.2),
        dp.Share("y > 0", values=(0.2, 0.4, 0.5)),
        dp.Scenarios({"boom": "a.parquet", "bust": "b.parquet"}),
    ]
    protected = protect(secrets, records=10)
    rows = rows_of_pairs(protected.pairs, protected.scenarios)
    assert sorted(place for row in rows for place in row) == list(range(len(protected.pairs)))
    first = {protected.pairs[place] for place in farthest(protected.pairs, protected.scenarios)}
    assert {("x > 0 @ 0.2", "x > 0 @ 0.4"), ("y > 0 @ 0.2", "y > 0 @ 0.5"), ("boom", "bust")} <= first
    assert ("y > 0 @ 0.2", "y > 0 @ 0.4") not in first
    assert [len(line) for line in lines_of(protected.pairs, protected.scenarios)] == [5, 3]


@given(st.lists(st.lists(st.floats(0, 1), min_size=1, max_size=9), min_size=1, max_size=6), seeds)
def test_whatever_the_bounds_are_the_largest_number_is_found(numbers: list[list[float]], seed: int) -> None:
    rng = np.random.default_rng(seed)
    flat = np.concatenate(numbers)
    ends = np.cumsum([0, *map(len, numbers)])
    rows = [np.arange(low, high) for low, high in pairwise(ends)]
    behind = np.concatenate([[max(row[k:]) for k in range(len(row))] for row in numbers])
    loose = behind + rng.choice([0.0, 0.1, np.inf], len(flat))
    place, largest = largest_of_rows(rows, lambda places: flat[places], lambda places: loose[places])
    assert largest == flat.max() == flat[place]
