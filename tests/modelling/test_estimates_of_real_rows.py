"""Estimates on datasets of real rows: as good as predicted where the reference fits, and doubted where it does not."""

from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import distpriv as dp
from distpriv.framework.arrays import Floats
from distpriv.guarantees.mechanism import AdditiveMechanism
from distpriv.modelling.public_knowledge import HALF_WIDTH, PublicKnowledge, linear_estimator
from distpriv.noise.laws import NoiseLaw

pytestmark = pytest.mark.slow

INCOME = dp.Share("income = '>50K'", values=(0.45, 0.55))
DRAWS = 20_000
MECHANISMS: dict[str, Callable[[dp.QueryModel, dp.PrivacyTarget], AdditiveMechanism]] = {
    "certified_gaussian": dp.mechanisms.certified_gaussian,
    "certified_laplace": dp.mechanisms.certified_laplace,
    "expected_value_gaussian": dp.mechanisms.expected_value_gaussian,
    "coupled_gaussian": dp.mechanisms.coupled_gaussian,
}


@pytest.fixture(scope="module")
def model(adult: pa.Table, paper_query: dp.Query) -> dp.QueryModel:
    return dp.model(adult, paper_query, INCOME, records=100)


@pytest.fixture(scope="module")
def truths(model: dp.QueryModel) -> Floats:
    return np.vstack([model.samples(name, DRAWS, seed=5) for name in model.distributions])


@pytest.mark.parametrize("epsilon", [0.5, 2.0])
@pytest.mark.parametrize("name", MECHANISMS)
def test_errors_and_intervals_are_as_predicted(model: dp.QueryModel, truths: Floats, name: str, epsilon: float) -> None:
    known = PublicKnowledge.of(model)
    noise = MECHANISMS[name](model, dp.PrivacyTarget(epsilon=epsilon, delta=1e-3)).noise
    answers = truths + noise.simulate(len(truths), seed=6)
    estimator = linear_estimator(known.covariance, noise.covariance)
    missed = known.mean + (answers - known.mean) @ estimator.gain.T - truths
    predicted = np.sqrt(np.diag(estimator.error_covariance))
    np.testing.assert_allclose(np.sqrt((missed**2).mean(axis=0)), predicted, rtol=0.05)
    covered = (np.abs(missed) <= HALF_WIDTH * predicted).mean(axis=0)
    assert ((covered > 0.93) & (covered < 0.97)).all()


def flagged(known: PublicKnowledge, noise: NoiseLaw, answers: Floats) -> float:
    """Return the share of answers that the reference does not fit: those from some distance on."""
    whitening = linear_estimator(known.covariance, noise.covariance).whitening
    ordered = answers[np.argsort((((answers - known.mean) @ whitening) ** 2).sum(axis=1))]
    low, high = 0, len(ordered)
    while low < high:
        middle = (low + high) // 2
        low, high = (middle + 1, high) if known.fit(ordered[middle], [noise]).fits else (low, middle)
    return 1 - low / len(ordered)


GOVERNMENT = pa.array(["Federal-gov", "Local-gov", "State-gov"])
POPULATIONS = {
    # private rows, and the share of answers that is flagged at least and at most
    "all": (None, 0.0, 0.003),
    "sales staff": (pc.field("occupation") == "Sales", 0.0, 0.05),
    "born outside the US": (pc.field("native_country") != "United-States", 0.0, 0.1),
    "government": (pc.is_in(pc.field("workclass"), GOVERNMENT), 0.0, 0.3),
    "over forty": (pc.field("age") > 40, 0.99, 1.0),
    "women only": (pc.field("sex") == "Female", 0.99, 1.0),
}


@pytest.mark.parametrize("mechanism", ["certified_gaussian", "certified_laplace"])
@pytest.mark.parametrize("name", POPULATIONS)
def test_private_rows_unlike_the_reference_are_noticed_and_estimates_are_no_worse_than_the_public_mean(
    adult: pa.Table, paper_query: dp.Query, model: dp.QueryModel, name: str, mechanism: str
) -> None:
    known = PublicKnowledge.of(model)
    chosen, least, most = POPULATIONS[name]
    rows = adult if chosen is None else adult.filter(chosen)
    private = model if chosen is None else dp.model(rows, paper_query, INCOME, records=100)
    truth = np.vstack([private.samples(each, 2000, seed=7) for each in private.distributions])
    noise = MECHANISMS[mechanism](model, dp.PrivacyTarget(epsilon=1.0, delta=1e-3)).noise
    answers = truth + noise.simulate(len(truth), seed=8)
    gain = linear_estimator(known.covariance, noise.covariance).gain
    public = np.sqrt(((known.mean - truth) ** 2).sum(axis=1).mean())
    estimate = np.sqrt(((known.mean + (answers - known.mean) @ gain.T - truth) ** 2).sum(axis=1).mean())
    share = flagged(known, noise, answers)
    assert estimate < public
    assert least <= share <= most
