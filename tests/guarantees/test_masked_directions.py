import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.guarantees.random_models import random_covariance, random_model

import distpriv as dp
from distpriv.guarantees.masked_directions import MASKED, directions, masked_evidence, masked_statistics
from distpriv.modelling.public_knowledge import PublicKnowledge

seeds, sizes = st.integers(0, 10**6), st.integers(1, 5)


@settings(max_examples=40)
@given(seeds, sizes)
def test_of_every_direction_the_release_tells_the_share_that_is_said(seed: int, size: int) -> None:
    model = random_model(seed, size)
    rng = np.random.default_rng(seed)
    noise = 10.0 * random_covariance(rng, size)
    laws = list(model.distributions.values())
    spread = np.atleast_2d(np.cov(np.array([law.mean for law in laws]).T, bias=True))
    public = laws[0].covariance + spread
    missed = public - public @ np.linalg.solve(public + noise, public)
    for along in directions(model, noise):
        w = np.array(list(along.combination.values())) / np.sqrt(np.diag(public))
        assert w @ missed @ w / (w @ public @ w) == pytest.approx(1 - along.released, abs=1e-6)
        assert np.sum(np.square(list(along.combination.values()))) == pytest.approx(1)


def test_what_does_not_vary_is_no_direction() -> None:
    cells = dp.gaussian_model(
        means={"a": [40, 60], "b": [43, 57]}, covariances=[[9, -9], [-9, 9]], pairs=[("a", "b")], names=["women", "men"]
    )
    for noise, released in ((1e4, 0), (0.1, 1)):
        facts = masked_evidence(cells, noise * np.eye(2)).facts
        assert (facts["directions"], facts["released"]) == (1, released)
        assert [sum(one["terms"].values()) for one in facts["masked"]] == [pytest.approx(0.0)] * (1 - released)


def test_a_certificate_names_what_is_masked_and_how_much_of_it_is_released() -> None:
    model = dp.gaussian_model(
        means={"a": [0, 0, 0], "b": [0, 0, 0]}, covariances=np.eye(3), pairs=[("a", "b")], names=["x", "y", "z"]
    )
    noise = np.diag([99.0, 9.0, 0.1])
    said = masked_evidence(model, noise)
    assert masked_statistics(model, noise) == ("x", "y")
    assert said.facts["statistics"] == ["x", "y"]
    assert [one["released"] for one in said.facts["masked"]] == pytest.approx([0.01, 0.1])
    assert [one["terms"] for one in said.facts["masked"]] == [{"x": 1.0}, {"y": 1.0}]


def test_of_a_large_table_all_masked_cells_are_named_and_of_the_directions_a_few() -> None:
    zeros = [0.0] * 9
    model = dp.gaussian_model(
        means={"a": zeros, "b": zeros}, covariances=np.eye(9), pairs=[("a", "b")], names=list("abcdefghi")
    )
    said = masked_evidence(model, np.diag([*range(50, 10, -5), 0.1]))
    assert [one["terms"] for one in said.facts["masked"]] == [{"a": 1.0}, {"b": 1.0}]
    assert (said.facts["more"], said.facts["most"]) == (6, pytest.approx(1 / 16))
    assert said.facts["statistics"] == list("abcdefgh")


@settings(max_examples=20)
@given(seeds, sizes)
def test_of_a_masked_statistic_the_best_linear_estimate_leaves_most_of_the_variance(seed: int, size: int) -> None:
    model = random_model(seed, size)
    noise = 10.0 * random_covariance(np.random.default_rng(seed), size)
    known = PublicKnowledge.of(model).covariance
    left = np.diag(np.linalg.inv(np.linalg.inv(known) + np.linalg.inv(noise)))
    masked = [name for name, share in zip(model.names, left / np.diag(known), strict=True) if share > 1 - MASKED]
    assert set(masked_statistics(model, noise)) == set(masked)
