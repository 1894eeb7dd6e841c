"""What a mechanism does not do, by the class of its refusal."""

from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl
import pytest
from tests.guarantees.random_models import random_model
from tests.mechanisms.shared import TARGET

import distpriv as dp
from distpriv.errors import AssumptionViolated, DistprivError, InvalidInput, InvalidModel, InvalidQuery, InvalidTarget
from distpriv.guarantees.mechanism import AdditiveMechanism

M = dp.mechanisms
Call = Callable[[], object]
PURE, TOTAL_VARIATION = dp.PrivacyTarget(epsilon=1), dp.PrivacyTarget(epsilon=0, delta=0.1)


def moments(covariances: Any, **means: list[float]) -> dp.QueryModel:
    """Pairs are the first scenario with the second, and the first with the third if there is one, or the last two."""
    names = list(means)
    pairs = [(names[0], names[1])] + ([(names[-2], names[-1])] if len(names) == 4 else [("a", "c")] * (len(names) == 3))
    return dp.gaussian_model(means=means, covariances=covariances, pairs=pairs)


ONE = moments(np.eye(2), a=[0, 0], b=[3, 4])
TWO_WAYS = moments(np.eye(2), a=[0, 0], b=[3, 4], c=[1, -1])
UNEQUAL = moments({"a": np.eye(2), "b": 2 * np.eye(2)}, a=[0, 0], b=[3, 4])
UPRIGHT, OBLIQUE = np.diag([1, 2]), np.array([[2, 1], [1, 2]])
TURNED = moments({"a": UPRIGHT, "b": UPRIGHT, "c": OBLIQUE, "d": OBLIQUE}, a=[0, 0], b=[1, 0], c=[5, 5], d=[6, 5])
FLAT = moments(np.diag([1, 0]), a=[0, 0], b=[0, 1])
UNLIKE = moments({"a": [[1]], "b": [[2]]}, a=[0], b=[3])
WIDER = moments({"a": [[1]], "b": [[2]]}, a=[0], b=[0])
SPREAD = random_model(2, 3, distance=3.0, pairs=2, parallel=False)
POINTS = dp.empirical_model(samples={"a": [1, 2, 3], "b": [1, 2, 9]}, pairs=[("a", "b")])

S = np.arange(400) % 5 < 2
ROWS = pl.DataFrame({"x": np.arange(400) % 21 + 10, "y": np.where(S, 1e-170, 0.0), "s": S})


def rows(query: dp.Query, **options: Any) -> dp.QueryModel:
    secret = options.pop("secret", dp.Share("s", values=(0.25, 0.5, 0.75)))
    return dp.model(ROWS, query, secret, records=4, **{"draws": 100, "processes": 1, **options})


MEAN = rows(dp.Query(x=dp.mean("x")))
MEDIAN = rows(dp.Query(x=dp.quantile("x", 0.5)))
EXACT = rows(dp.Query(x=dp.mean("x")), reference="population", replacement=True)
OWN_TABLES = dp.model(
    None, dp.Query(x=dp.mean("x")), dp.Scenarios({"a": ROWS.head(200), "b": ROWS.tail(200)}), records=1
)


def call(name: str, model: Any, target: Any = TARGET, **options: Any) -> Call:
    return lambda: getattr(M, name)(model, target, **options)


ALONG = ("directional_laplace", "directional_gaussian", "directional_uncertainty")
BY_COVARIANCE = ("no_noise", "eigenvector_gaussian", "directional_uncertainty")
BY_RADIUS = (*BY_COVARIANCE, "expected_value_gaussian", "directional_gaussian")
COUPLED = ("coupled_gaussian", "coupled_laplace")
REFUSED: list[tuple[Call, type[DistprivError]]] = [
    *((call(name, TWO_WAYS), AssumptionViolated) for name in ALONG),
    *((call(name, UNEQUAL), AssumptionViolated) for name in BY_COVARIANCE),
    (call("eigenvector_gaussian", TURNED), AssumptionViolated),
    (call("no_noise", FLAT), AssumptionViolated),
    *((call(name, ONE, group=3), InvalidModel) for name in ("group_privacy_laplace", "group_privacy_gaussian")),
    *((call(name, ONE, PURE), InvalidTarget) for name in (*BY_RADIUS, "certified_gaussian")),
    *((call(name, ONE, radius="best"), InvalidInput) for name in BY_RADIUS),
    *((call(name, ONE, TOTAL_VARIATION, radius="classic"), InvalidTarget) for name in BY_RADIUS),
    *((call(name, ONE, TOTAL_VARIATION), InvalidTarget) for name in ("expected_value_laplace", "directional_laplace")),
    (call("directional_gaussian", ONE, directions="two"), InvalidInput),
    (call("no_noise", ONE, covariance="mean"), InvalidInput),
    (call("certified_gaussian", ONE, objective="least"), InvalidInput),
    (call("certified_gaussian", ONE, prior={"a": 1.0}), InvalidInput),
    (call("certified_laplace", UNLIKE, PURE), InvalidTarget),
    (call("certified_laplace", UNLIKE, TOTAL_VARIATION), InvalidTarget),
    (call("certified_laplace", UNLIKE, weights=[1, 2]), InvalidInput),
    (call("certified_laplace", WIDER), InvalidTarget),
    (call("certified_laplace", SPREAD, PURE), InvalidTarget),
    *((call(name, MEAN, PURE), InvalidTarget) for name in COUPLED),
    *((call(name, MEAN, draws=100), InvalidInput) for name in COUPLED),
    *((call(name, MEAN, dp.PrivacyTarget(epsilon=1, delta=1e-7)), InvalidInput) for name in COUPLED),
    *((call(name, MEAN, pairing="best"), InvalidInput) for name in COUPLED),
    *((call(name, MEAN, seed=-1), InvalidInput) for name in COUPLED),
    *((call(name, ONE), InvalidModel) for name in COUPLED),
    *((call(name, OWN_TABLES), InvalidModel) for name in COUPLED),
    (call("coupled_gaussian", MEAN, objective="least"), InvalidInput),
    (call("wasserstein", ONE, PURE, distance="coupling"), InvalidModel),
    (call("wasserstein", ONE, PURE, distance="points"), InvalidModel),
    (call("wasserstein", ONE, PURE, distance="exact"), InvalidInput),
    (call("wasserstein", UNLIKE, PURE), AssumptionViolated),
    (call("approximate_wasserstein", ONE), InvalidModel),
    (call("approximate_wasserstein", POINTS, noise="cauchy"), InvalidInput),
    (call("bounded", MEDIAN), InvalidTarget),
    (call("bounded", POINTS, PURE), InvalidTarget),
    *((call("group_privacy_gaussian", MEAN, group=group), InvalidInput) for group in (0, -1, 2.5, "all")),
    (lambda: M.group_privacy_gaussian(rows(dp.Query(y=dp.total("y"))), TARGET), InvalidModel),
    (lambda: rows(dp.Query(x=dp.mean("x", bounds=(15, 20)))), InvalidQuery),
    (call("exact_law", MEDIAN), InvalidModel),
    (call("exact_law", EXACT, PURE), InvalidTarget),
    (call("exact_law", EXACT, dp.PrivacyTarget(epsilon=1000, delta=1e-3)), InvalidTarget),
]


@pytest.mark.parametrize(("refused", "error"), REFUSED)
def test_what_a_mechanism_does_not_do_is_refused(refused: Call, error: type[DistprivError]) -> None:
    with pytest.raises(error) as refusal:
        refused()
    assert refusal.type is error


@pytest.mark.parametrize("name", BY_COVARIANCE)
def test_covariances_that_differ_may_be_pooled(name: str) -> None:
    assert isinstance(call(name, UNEQUAL, covariance="pooled")(), AdditiveMechanism)


def test_variance_that_is_not_along_the_shift_is_credited_with_nothing() -> None:
    assert M.directional_uncertainty(FLAT, TARGET).noise.expected_rms == pytest.approx(1 / 0.38840125, rel=1e-6)


@pytest.mark.parametrize("name", M.__all__)
def test_what_is_no_model_or_no_target_is_refused(name: str) -> None:
    for model, target in (("adult.csv", TARGET), (ONE, 1)):
        with pytest.raises(InvalidInput):
            call(name, model, target)()
    with pytest.raises(InvalidInput, match="a model is needed"):
        dp.exact_delta(name, np.eye(2), epsilon=1)  # type: ignore[arg-type]
