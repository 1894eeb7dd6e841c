"""Estimates of releases: one answer, several answers, answers to come, and answers from ledgers."""

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st
from tests.releasing.shared import RECORDS, TOTAL, planned, private

import distpriv as dp
from distpriv.errors import InvalidInput
from distpriv.framework.arrays import Floats
from distpriv.framework.records import plain
from distpriv.modelling.public_knowledge import PublicKnowledge, noise_side_by_side
from distpriv.noise.laws import GaussianNoise, LaplaceNoise, NoiseLaw
from distpriv.planning.criterion import Criterion
from distpriv.releasing.estimating import Answers, Estimates


@pytest.fixture
def url(tmp_path: Path) -> str:
    return dp.Ledger.create(f"sqlite:///{tmp_path / 'ledger.db'}").url


def some_model(seed: int, size: int) -> dp.QueryModel:
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(size, size))
    means = {"a": rng.normal(size=size), "b": rng.normal(size=size)}
    return dp.gaussian_model(means=means, covariances=root @ root.T, pairs=[("a", "b")])


def some_noises(seed: int, sizes: list[int]) -> list[NoiseLaw]:
    rng = np.random.default_rng(seed)
    made: list[NoiseLaw] = []
    for size in sizes:
        scale = float(rng.uniform(0.1, 3.0))
        made.append(LaplaceNoise.isotropic(size, scale) if rng.random() < 0.5 else GaussianNoise.isotropic(size, scale))
    return made


def widths(found: Estimates) -> Floats:
    return np.array([high - low for low, high in found.intervals.values()])


@given(st.integers(0, 1000), st.lists(st.integers(1, 3), min_size=1, max_size=3), st.data())
def test_each_question_has_its_part_of_the_estimate_from_all_answers(
    seed: int, sizes: list[int], data: st.DataObject
) -> None:
    place = data.draw(st.integers(0, len(sizes) - 1))
    model, noises = some_model(seed, sum(sizes)), some_noises(seed, sizes)
    numbers = np.random.default_rng(seed).normal(size=sum(sizes))
    parts = np.split(numbers, np.cumsum(sizes)[:-1])
    whole = PublicKnowledge.of(model).estimate(numbers, noise_side_by_side(noises))
    names = [f"s{k}" for k in range(sizes[place])]
    answers = Answers(model=model, noises=noises, values=[part.tolist() for part in parts], place=place)
    found = Estimates.of(answers, names)
    own = slice(sum(sizes[:place]), sum(sizes[: place + 1]))
    assert np.allclose(list(found.values.values()), whole.values[own])
    assert list(found.values) == list(found.intervals) == list(found.public_means) == names
    assert found.releases == len(sizes)


@given(st.integers(0, 1000), st.integers(1, 3), st.integers(1, 3))
def test_another_answer_never_makes_an_interval_wider_and_one_to_come_does_not_count(
    seed: int, one: int, other: int
) -> None:
    model, noises = some_model(seed, one + other), some_noises(seed, [one, other])
    numbers = np.random.default_rng(seed).normal(size=one + other).tolist()
    names = [f"s{k}" for k in range(one)]
    both = Estimates.of(Answers(model=model, noises=noises, values=[numbers[:one], numbers[one:]]), names)
    alone = Estimates.of(Answers(model=model, noises=noises, values=[numbers[:one], None]), names)
    assert (widths(both) <= widths(alone) * (1 + 1e-9)).all()
    assert (widths(alone) / 2 <= 1.96 * np.array(list(alone.public_errors.values())) * (1 + 1e-9)).all()
    known = PublicKnowledge.of(model)
    mean, covariance = known.mean[:one], known.covariance[:one, :one]
    gain = covariance @ np.linalg.inv(covariance + noises[0].covariance)
    assert np.allclose(list(alone.values.values()), mean + gain @ (np.array(numbers[:one]) - mean))
    assert (alone.releases, both.releases) == (1, 2)


@given(st.integers(0, 1000))
def test_what_is_written_down_is_read_again(seed: int) -> None:
    model, noises = some_model(seed, 2), some_noises(seed, [2])
    found = Estimates.of(Answers(model=model, noises=noises, values=[[0.5, 30.0]]), ["x", "y"])
    assert Estimates.read({**json.loads(json.dumps(plain(found.shown()))), "prior": found.prior}) == found
    assert list(found.renamed({"q": "y", "p": "x"}).values) == ["q", "p"]


def test_a_release_has_estimates_between_its_value_and_what_was_public(plan: dp.Plan, table: pa.Table) -> None:
    made = dp.release(plan, private(table), ledger=None)
    known = PublicKnowledge.of(plan.model)
    right = known.estimate(list(made.values.values()), plan.mechanism.noise.covariance)
    assert made.estimates == pytest.approx(right.named)
    assert made.estimate_intervals["age"] == pytest.approx(right.intervals["age"])
    assert made.estimate_errors == pytest.approx(right.errors)
    assert made.public_means == pytest.approx(dict(zip(known.names, known.mean, strict=True)))
    assert made.public_errors == pytest.approx(known.errors)
    assert made.fit.fits


def test_a_prior_moves_estimates_and_neither_values_nor_noise(plan: dp.Plan, table: pa.Table, url: str) -> None:
    first = dp.release(plan, private(table), ledger=url, dataset="d", total=TOTAL)
    one, other = plan.model.distributions
    told = evolve(plan, criterion=Criterion.of(plan.model, prior={one: 1.0, other: 0.0}))
    sure = dp.release(told, private(table), ledger=url, dataset="d", total=TOTAL)
    assert sure.repeated
    assert sure.values == first.values
    assert sure.mechanism.noise == first.mechanism.noise
    assert sure.public_means["age"] == pytest.approx(plan.model.distributions[one].mean[0])
    assert sure.estimates != first.estimates


def test_a_later_answer_sharpens_an_earlier_estimate_when_it_is_shown_again(
    plan: dp.Plan, table: pa.Table, url: str
) -> None:
    first = dp.release(plan, private(table), ledger=url, dataset="d", total=TOTAL)
    again = dp.release(plan, private(table), ledger=url, dataset="d", total=TOTAL)
    assert again.estimated == first.estimated
    other = planned(table, {"older": dp.mean("age + 1")})
    later = dp.release(other, private(table), ledger=url, dataset="d", total=TOTAL, adaptive="assumed")
    assert later.estimated.releases == 2
    shown = dp.release(plan, private(table), ledger=url, dataset="d", total=TOTAL)
    assert shown.values == first.values
    assert shown.estimated.releases == 2
    assert shown.estimate_errors["age"] < first.estimate_errors["age"]
    assert shown.estimates["age"] + 1 == pytest.approx(later.estimates["older"], abs=1e-6)


def test_a_question_that_was_declared_and_not_asked_yet_says_nothing(plan: dp.Plan, table: pa.Table, url: str) -> None:
    plans = {"one": plan, "two": planned(table, {"older": dp.mean("age + 1")})}
    dp.declare(plans, ledger=url, dataset="d", total=TOTAL)
    renamed = planned(table, {"next": dp.mean("age + 1")})
    second = dp.release(renamed, private(table), ledger=url, dataset="d", total=TOTAL)
    assert second.estimated.releases == 1
    first = dp.release(plan, private(table), ledger=url, dataset="d", total=TOTAL)
    assert first.estimated.releases == 2
    assert list(first.estimates) == ["age", "city"]


def test_the_ledger_shows_estimates_again_under_other_names(plan: dp.Plan, table: pa.Table, url: str) -> None:
    made = dp.release(plan, private(table), ledger=url, dataset="d", total=TOTAL)
    (entry,) = dp.Ledger.open(url).history("d").entries
    renamed = dp.Query(citizens=dp.count("city"), years=dp.mean("age"))
    shown = dp.Release.of(entry, renamed, repeated=True)
    assert shown.estimates == {"citizens": made.estimates["city"], "years": made.estimates["age"]}
    assert shown.fit == made.fit
    with pytest.raises(InvalidInput, match="which does not hold the reference"):
        shown.synthetic(10)


def test_sampled_statistics_have_estimates_too(table: pa.Table) -> None:
    median = planned(table, {"median": dp.quantile("age", 0.5)}, "group_privacy_laplace")
    made = dp.release(median, private(table), ledger=None)
    assert made.estimate_errors["median"] <= made.public_errors["median"]
    with pytest.raises(InvalidInput, match="no mean or count"):
        made.synthetic(10)


def test_rows_unlike_the_reference_are_found_out_and_noisy_values_are_then_told_first(
    plan: dp.Plan, table: pa.Table
) -> None:
    old = table.filter(pc.greater(table["age"], 60)).slice(0, RECORDS)
    made = dp.release(plan, old, ledger=None)
    assert made.fit.p_value < 0.001
    text = str(made)
    assert text.index("noisy value") < text.index("estimate")
    assert "INCONSISTENT" in text
    usual = str(dp.release(plan, private(table), ledger=None))
    assert "noisy value" not in usual


def test_a_release_is_a_table_with_a_row_for_each_statistic(plan: dp.Plan, table: pa.Table) -> None:
    made = dp.release(plan, private(table), ledger=None)
    frame = made.to_frame()
    assert list(frame.index) == ["age", "city"]
    assert frame.loc["age", "estimate"] == made.estimates["age"]
    assert frame.loc["city", "noisy_value"] == made.values["city"]
    assert frame.loc["city", "noise"] == pytest.approx(plan.mechanism.noise.covariance[1, 1] ** 0.5)
    assert made.synthetic(seed=1).num_rows == RECORDS
