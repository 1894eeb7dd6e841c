import math
import pickle
from collections.abc import Callable

import numpy as np
import pytest
from scipy import stats

import distpriv as dp
from distpriv.errors import InvalidInput, InvalidModel

MEANS = {"a": [100, 101], "b": [99, 102]}
COVARIANCE = [[22, -6], [-6, 13]]


def test_a_model_of_given_moments_keeps_them() -> None:
    model = dp.gaussian_model(means=MEANS, covariances=COVARIANCE, pairs=[("a", "b")], steps=[0, 1])
    assert (model.names, model.steps.tolist()) == (("statistic_1", "statistic_2"), [0, 1])
    assert model.protected_pairs == (("a", "b"), ("b", "a"))
    assert repr(model).startswith("<QueryModel of 2 statistics in 2 scenarios with 2 protected pairs")


def test_a_model_of_given_points_has_their_moments_and_draws_them() -> None:
    model = dp.empirical_model(
        samples={"a": [1, 2, 3, 100], "b": [1, 2, 3, 100]},
        weights={"a": [0.6, 0.2, 0.0, 0.2], "b": [0.4, 0.3, 0.2, 0.1]},
        pairs=[("a", "b")],
        names=["income"],
    )
    law = model.distributions["a"]
    assert law.mean.tolist() == pytest.approx([21.0])
    assert law.covariance[0, 0] == pytest.approx(0.6 * 400 + 0.2 * 361 + 0.2 * 79**2)
    drawn = model.samples("a", 30_000, seed=1)[:, 0]
    counts = [int((drawn == value).sum()) for value in (1, 2, 100)]
    assert sum(counts) == 30_000
    assert stats.chisquare(counts, [18_000, 6_000, 6_000]).pvalue > 1e-4


def test_samples_of_a_gaussian_model_have_its_law() -> None:
    model = dp.gaussian_model(means=MEANS, covariances=COVARIANCE, pairs=[("a", "b")])
    drawn = model.samples("a", 100_000, seed=3)
    assert np.abs(drawn.mean(axis=0) - [100, 101]).max() < 5 * (22 / 100_000) ** 0.5
    np.testing.assert_allclose(np.cov(drawn.T), COVARIANCE, atol=0.6)
    assert np.array_equal(drawn, model.samples("a", 100_000, seed=3))
    assert not np.array_equal(drawn - [100, 101], model.samples("b", 100_000, seed=3) - [99, 102])


def test_models_are_values_that_can_be_compared_and_sent_to_other_processes() -> None:
    one, same = (dp.gaussian_model(means=MEANS, covariances=COVARIANCE, pairs=[("a", "b")]) for _ in range(2))
    assert one == same == pickle.loads(pickle.dumps(one))
    assert one != dp.gaussian_model(means=MEANS, covariances=np.eye(2), pairs=[("a", "b")])


CALM = dp.gaussian_model(means=MEANS, covariances=COVARIANCE, pairs=[("a", "b")])


def gaussian(**changes: object) -> Callable[[], object]:
    given = {"means": MEANS, "covariances": COVARIANCE, "pairs": [("a", "b")]} | changes
    return lambda: dp.gaussian_model(**given)  # type: ignore[arg-type]


def empirical(**changes: object) -> Callable[[], object]:
    given = {"samples": {"a": [1, 2], "b": [3, 4]}, "pairs": [("a", "b")]} | changes
    return lambda: dp.empirical_model(**given)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (gaussian(covariances=[[1, 2], [0, 1]]), "is not symmetric"),
        (gaussian(covariances=[[1, 2], [2, 1]]), "indefinite"),
        (gaussian(covariances=[[-1, 0], [0, 1]]), "indefinite"),
        (gaussian(covariances=[[1e12, 0], [0, -1e-3]]), "indefinite"),
        (gaussian(covariances=np.eye(3)), r"must be 2 × 2, .*, got shape \(3, 3\): give one row and one column"),
        (gaussian(covariances={"a": np.eye(2)}), "scenario 'b' has a mean or a covariance but not both"),
        (gaussian(means={"a": [1, math.nan], "b": [1, 2]}), "the mean of scenario 'a' must be finite numbers"),
        (gaussian(means={"a": [1], "b": [1, 2]}, covariances=[[1]]), "has 2 numbers and another has 1"),
        (gaussian(means={"a": [1, 2]}), "at least two scenarios"),
        (gaussian(means={"a": "x", "b": "y"}), "must be numbers .* give lists of the same length"),
        (gaussian(means={"a": 1, "b": 2}), r"must be a list of numbers, got shape \(\): give one number for each"),
        (gaussian(pairs=[("a", "c")]), "unknown scenario 'c'"),
        (gaussian(steps=[1]), "steps must be 2 numbers"),
        (gaussian(steps=[1, -1]), "none of them negative"),
        (gaussian(names=["x", "x"]), "2 different names, .*: give each statistic its own"),
        (empirical(samples={"a": [], "b": [1]}), "points of scenario 'a' must be rows of numbers, .*: write"),
        (empirical(samples={"a": [[1, 2]], "b": [[1]]}), r"have \[1, 2\] statistics"),
        (empirical(samples={"a": [math.nan], "b": [1]}), "finite numbers"),
        (empirical(weights={"a": [0.5, 0.6]}), r"2 probabilities that sum to 1, got 2 that sum to 1\.1"),
        (empirical(weights={"a": [1.5, -0.5]}), "probabilities"),
        (empirical(weights={"a": [1.0]}), "must be 2 probabilities"),
        (empirical(weights={"c": [1.0]}), "unknown scenario 'c'"),
        (empirical(weights=[1.0]), "weights must be given by scenario"),
        (empirical(pairs=None), "no protected pair"),
        (gaussian(means={"a": [10**400, 1], "b": [1, 2]}), "must be numbers"),
        (gaussian(names=5), "2 different names"),
        (lambda: dp.diagnose("model"), "a model is needed, got 'model'"),  # type: ignore[arg-type]
        (lambda: CALM.samples(["a"], 5), "there is no scenario"),  # type: ignore[arg-type]
        (lambda: CALM.samples("a", 5, seed=-1), "seed must be a whole number"),
        (lambda: CALM.mean_shift(None), "a pair is two names of scenarios"),  # type: ignore[arg-type]
        (lambda: CALM.coupled_samples(("a",), 5), "a pair is two names of scenarios"),  # type: ignore[arg-type]
    ],
)
def test_what_is_no_model_is_refused(make: Callable[[], object], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        make()


def test_a_scenario_that_does_not_exist_is_refused_with_a_suggestion() -> None:
    model = dp.gaussian_model(means={"boom": [1], "bust": [2]}, covariances=[[1]], pairs=[("boom", "bust")])
    with pytest.raises(InvalidModel, match="did you mean 'boom'"):
        model.samples("bom", 10)
    with pytest.raises(InvalidModel, match="this model has none"):
        model.coupled_samples(("boom", "bust"), 10)


def test_a_singular_covariance_is_a_covariance() -> None:
    model = dp.gaussian_model(means=MEANS, covariances=[[1, 1], [1, 1]], pairs=[("a", "b")])
    drawn = model.samples("a", 100) - [100, 101]
    np.testing.assert_allclose(drawn[:, 0], drawn[:, 1], atol=1e-9)
