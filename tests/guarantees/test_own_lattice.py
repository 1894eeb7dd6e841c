import math

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.stats import norm
from tests.guarantees.whole_laws import (
    certified_in_steps,
    convolved,
    exact_delta_of,
    model_of,
    rounded_masses,
    sums,
    whole_rows,
)

import distpriv as dp
from distpriv.guarantees.certify import gaussian_certificate
from distpriv.guarantees.lattice_laws import exact_lattice_delta, rows_are_whole
from distpriv.guarantees.own_lattice import own_lattice_certificate, why_not_whole
from distpriv.noise.laws import GaussianNoise, RoundedNoise

RECORDS, ROWS, PLACES = 36, 80, 128

seeds, moved = st.integers(0, 10**6), st.integers(1, 3)
targets = st.builds(
    dp.PrivacyTarget, epsilon=st.sampled_from([0.2, 0.5, 1.0, 2.0]), delta=st.sampled_from([1e-2, 1e-3, 1e-5])
)


def never_below_the_truth(seed: int, statistics: int, moved: int, target: dp.PrivacyTarget) -> bool:
    """Hold a certificate, if there is one, against all datasets; tell whether there was one."""
    strata = whole_rows(seed, statistics, ROWS)
    counts = {"few": 17, "many": 17 + moved}
    model = model_of(strata, (17, 17 + moved), RECORDS)
    made = certified_in_steps(model, target)
    if made is None:
        return False
    assert isinstance(made.noise, RoundedNoise)
    noise = rounded_masses(made.noise, PLACES)
    laws = {
        name: convolved(noise, convolved(sums(strata[0], RECORDS - count, PLACES), sums(strata[1], count, PLACES)))
        for name, count in counts.items()
    }
    assert exact_delta_of(laws, [("few", "many"), ("many", "few")], target.epsilon) <= made.certificate.delta
    return True


@pytest.mark.parametrize("epsilon", [20.0, 30.0, 40.0])
def test_rounding_does_not_hide_a_rare_row_at_a_large_epsilon(epsilon: float) -> None:
    """What a transform rounds, times e^ε, was more than what one scenario has and the other lacks."""
    rows, records, drawn, far = 500, 5000, 20, 400
    amounts = np.concatenate([np.arange(rows) % 2, [far], np.arange(1, rows) % 2]).astype(np.float64)
    table = pa.table({"g": np.repeat([0, 1], rows), "x": amounts})
    secret = dp.Share("g = 1", values=(0.0, drawn / records))
    model = dp.model(
        table, dp.Query(x=dp.total("x")), secret, records=records, replacement=True, reference="population"
    )
    noise = GaussianNoise.of(np.array([[9.0]]))
    exact = exact_lattice_delta(model, model.rows().row_laws(), noise, [0], epsilon, 1e-3)
    above, spread = np.arange(200, 400), math.sqrt(records / 4 + 9.0)
    seen = -math.expm1(drawn * math.log1p(-1 / rows)) * norm.sf((above - far) / spread)
    assert exact is not None
    assert (seen - np.exp(epsilon + norm.logsf(above / spread))).max() <= exact.delta


@settings(max_examples=4, deadline=None)
@given(seeds, moved, targets)
def test_a_certificate_of_one_count_is_never_below_the_truth(seed: int, moved: int, target: dp.PrivacyTarget) -> None:
    never_below_the_truth(seed, 1, moved, target)


@settings(max_examples=1, deadline=None)
@given(seeds, moved, targets)
def test_a_certificate_of_two_counts_is_never_below_the_truth(seed: int, moved: int, target: dp.PrivacyTarget) -> None:
    never_below_the_truth(seed, 2, moved, target)


@pytest.mark.slow
def test_nor_are_those_of_many_populations_and_most_can_be_certified() -> None:
    rng = np.random.default_rng(0)
    held = [
        never_below_the_truth(
            int(rng.integers(10**6)),
            1 + number % 2,
            1,
            dp.PrivacyTarget(epsilon=float(rng.choice([0.2, 1.0])), delta=1e-3),
        )
        for number in range(16)
    ]
    assert sum(held) >= 8


@settings(max_examples=6, deadline=None)
@given(seeds, st.integers(1, 2), st.sampled_from([0.0, 0.3, 1.0]))
def test_exact_laws_are_those_of_all_datasets(seed: int, statistics: int, epsilon: float) -> None:
    strata = whole_rows(seed, statistics, 12)
    model = model_of(strata, (3, 5), 10)
    rows = model.rows().row_laws()
    assume(all(rows_are_whole(rows, model.steps)))
    none = GaussianNoise.along(np.eye(statistics), np.zeros(statistics))
    found = exact_lattice_delta(model, rows, none, range(statistics), epsilon, 1e-6)
    laws = {str(count): convolved(sums(strata[0], 10 - count, 32), sums(strata[1], count, 32)) for count in (3, 5)}
    assert found is not None
    assert found.delta == pytest.approx(exact_delta_of(laws, [("3", "5"), ("5", "3")], epsilon), abs=1e-9)


def test_noise_of_more_than_a_step_is_rounded_in_exact_laws_too() -> None:
    strata = whole_rows(1, 1, 40)
    model = model_of(strata, (8, 11), 20)
    noise = RoundedNoise.of(np.diag([2.25]), [0.0], model.steps)
    found = exact_lattice_delta(model, model.rows().row_laws(), noise.credited, [0], 0.3, 1e-6)
    masses = rounded_masses(noise, 256)
    laws = {
        str(count): convolved(masses, convolved(sums(strata[0], 20 - count, 256), sums(strata[1], count, 256)))
        for count in (8, 11)
    }
    assert found is not None
    assert found.delta == pytest.approx(exact_delta_of(laws, [("8", "11"), ("11", "8")], 0.3), abs=1e-9)


def test_a_law_with_too_many_values_is_not_computed() -> None:
    model = model_of(whole_rows(0, 2, 80), (17, 18), 36)
    none = GaussianNoise.along(np.eye(2), np.zeros(2))
    assert exact_lattice_delta(model, model.rows().row_laws(), none, [0, 1], 1.0, 1e-3, places=100) is None


def two_groups(first: list[float], second: list[float]) -> dp.QueryModel:
    import pyarrow as pa

    table = pa.table({"x": [*first, *second] * 40, "stratum": ([0] * len(first) + [1] * len(second)) * 40})
    secret = dp.Share("stratum = 1", values=(0.5, 0.525))
    return dp.model(table, dp.Query(x=dp.total("x")), secret, records=40, reference="population")


@pytest.mark.parametrize(
    ("first", "second", "why"),
    [
        ([0.0, 2.0, 2.0], [1.0, 3.0, 3.0], "no whole multiples of its step, 2"),  # an offset between strata
        ([0.0, 0.5, 7.25], [0.25, 1.5, 5.0], "differ by"),
        ([0.137, 1.911, 2.7123], [0.5391, 1.5, 3.14159], "is not on a lattice"),
        ([0.0] * 9 + [1.0], [0.0] * 9 + [1.0], "varies by"),
    ],
)
def test_what_cannot_be_whole_is_said_in_words(first: list[float], second: list[float], why: str) -> None:
    model = two_groups(first, second)
    (reason,) = why_not_whole(model)
    assert reason is not None
    assert why in reason
    with pytest.raises(dp.errors.AssumptionViolated, match="leave out lattice=True"):
        dp.mechanisms.certified_gaussian(model, dp.PrivacyTarget(epsilon=1, delta=1e-3), lattice=True)


def test_many_records_and_a_large_epsilon_are_refused_in_words(adult: pa.Table) -> None:
    query, secret = dp.Query(women=dp.count("sex = 'Female'")), dp.Share("workclass = 'Private'", values=(0.4, 0.5))
    model, large = (dp.model(adult, query, secret, records=n, reference="population") for n in (100, 2_010))
    assert why_not_whole(model) == [None]
    for of, epsilon, why in ((large, 1.0, "ripples of 2,010 records may be missed"), (model, 21.0, "above ε = 20")):
        with pytest.raises(dp.errors.AssumptionViolated, match=why):
            dp.mechanisms.certified_gaussian(of, dp.PrivacyTarget(epsilon=epsilon, delta=1e-3), lattice=True)


def test_noise_that_claims_more_than_the_rows_bear_out_is_worth_nothing() -> None:
    model = two_groups([0.0, 2.0, 2.0], [1.0, 3.0, 3.0])
    noise = RoundedNoise.of(np.zeros((1, 1)), [0.2], model.steps)
    certificate = own_lattice_certificate(model, dp.PrivacyTarget(epsilon=1, delta=1e-3), noise, "the exact check")
    assert (certificate.delta, certificate.trust, certificate.holds) == (1.0, "assumed", False)


def test_without_rows_nothing_is_whole() -> None:
    model = dp.gaussian_model(means={"a": [10], "b": [11]}, covariances=[[25]], pairs=[("a", "b")], steps=[1])
    with pytest.raises(dp.errors.AssumptionViolated, match="there are no rows"):
        dp.mechanisms.certified_gaussian(model, dp.PrivacyTarget(epsilon=1, delta=1e-3), lattice=True)


def test_what_is_counted_on_everywhere_is_certified_as_any_other_noise() -> None:
    model = model_of(whole_rows(3, 2, 80), (17, 18), 36)
    target = dp.PrivacyTarget(epsilon=0.5, delta=1e-3)
    noise = RoundedNoise.of(np.diag([16.0, 25.0]), np.zeros(2), model.steps)
    plain = gaussian_certificate(model, target, noise.unrounded, "the exact check")
    assert own_lattice_certificate(model, target, noise, "the exact check") == plain


def test_what_the_rows_showed_is_enough_to_compute_a_certificate_again() -> None:
    from attrs import evolve

    model = model_of(whole_rows(3, 2, 80), (17, 18), 36)
    target = dp.PrivacyTarget(epsilon=0.5, delta=1e-3)
    made = certified_in_steps(model, target)
    assert made is not None
    assert isinstance(made.noise, RoundedNoise)
    gone = evolve(model, simulator=None)
    again = own_lattice_certificate(gone, target, made.noise, "the exact check", law=made.certificate.law)
    assert (again.delta, again.trust) == (made.certificate.delta, "gaussian")
    assert own_lattice_certificate(gone, target, made.noise, "the exact check").trust == "assumed"


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_three_counts_that_are_too_many_for_exact_laws_are_held_to_the_truth_by_the_second_order(seed: int) -> None:
    rng = np.random.default_rng(seed)
    chances = rng.dirichlet(np.full(8, 20.0)), rng.dirichlet(np.full(8, 20.0))
    cells = [rng.choice(8, size=300, p=chance) for chance in chances]
    strata = [(cell[:, np.newaxis] >> np.arange(3) & 1).astype(np.int64) for cell in cells]
    target = dp.PrivacyTarget(epsilon=0.2, delta=1e-3)
    made = certified_in_steps(model_of(strata, (60, 62), 120, replacement=True), target)
    assert made is not None
    assert isinstance(made.noise, RoundedNoise)
    assert made.noise.narrow.all()
    assert made.certificate.law is not None
    assert made.certificate.law.gate != 0
    one, other = (np.fft.fftn(np.histogramdd(rows, bins=[np.arange(129)] * 3)[0] / len(rows)) for rows in strata)
    laws = {str(count): np.fft.ifftn(one ** (120 - count) * other**count).real for count in (60, 62)}
    exact = exact_delta_of(laws, [("60", "62"), ("62", "60")], target.epsilon)
    assert exact <= made.certificate.delta


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_counts_beside_a_mean_with_noise_are_held_to_the_truth(seed: int) -> None:
    rng = np.random.default_rng(seed)
    strata = []
    for chances in rng.dirichlet(np.full(4, 30.0), size=2):
        cells = rng.choice(4, size=300, p=chances)
        counts = cells[:, np.newaxis] >> np.arange(2) & 1
        strata.append(np.column_stack([counts, np.clip(np.rint(rng.normal(4.5, 2.0, 300)), 0, 9)]).astype(np.int64))
    target = dp.PrivacyTarget(epsilon=0.1, delta=0.03)
    made = certified_in_steps(model_of(strata, (30, 32), 62, replacement=True), target)
    assert made is not None
    assert isinstance(made.noise, RoundedNoise)
    assert made.noise.narrow[:2].any()
    assert not made.noise.narrow[2]
    assert np.count_nonzero(made.noise.covariance) == 3  # independent, as the oracle has it
    sizes = 64, 64, 1024
    noise = np.fft.fftn(rounded_masses(made.noise, *sizes))
    bins = [np.arange(size + 1) for size in sizes]
    one, other = (np.fft.fftn(np.histogramdd(rows, bins=bins)[0] / len(rows)) for rows in strata)
    laws = {str(count): np.fft.ifftn(noise * one ** (62 - count) * other**count).real for count in (30, 32)}
    assert exact_delta_of(laws, [("30", "32"), ("32", "30")], target.epsilon) <= made.certificate.delta


@pytest.mark.slow
def test_three_counts_whose_sum_is_even_or_odd_by_the_secret_are_not_whole_although_no_two_of_them_show_it() -> None:
    rng = np.random.default_rng(0)
    strata = []
    for secret in (0, 1):
        coins = rng.integers(2, size=(400, 2))
        told = (coins.sum(axis=1) + secret + (rng.random(400) < 0.01)) % 2
        strata.append(np.column_stack([coins, told]).astype(np.int64))
    model = model_of(strata, (60, 61), 120, replacement=True)
    assert why_not_whole(model) == [None] * 3
    noise = RoundedNoise.of(np.zeros((3, 3)), [0.2] * 3, model.steps)
    target = dp.PrivacyTarget(epsilon=0.05, delta=1e-3)
    certificate = own_lattice_certificate(model, target, noise, "the exact check")
    assert certificate.law is not None
    assert certificate.law.second_order is not None
    assert certificate.law.second_order < 1e-3 < certificate.law.projected
    assert certificate.law.ripple > 0.05
    assert certificate.law.peak is not None
    assert np.abs(np.array(certificate.law.peak)) == pytest.approx(np.full(3, np.pi), abs=0.2)
    assert not certificate.holds_at("gaussian")
