"""Estimates on datasets of real rows: as good as predicted where the reference fits, and doubted where it does not."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import distpriv as dp
from distpriv.framework.arrays import Floats
from distpriv.modelling.public_knowledge import PublicKnowledge, linear_estimator
from distpriv.noise.laws import NoiseLaw

pytestmark = pytest.mark.slow

INCOME = dp.Share("income = '>50K'", values=(0.45, 0.55))


@pytest.fixture(scope="module")
def model(adult: pa.Table, paper_query: dp.Query) -> dp.QueryModel:
    return dp.model(adult, paper_query, INCOME, records=100)


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


@pytest.mark.parametrize("name", POPULATIONS)
def test_private_rows_unlike_the_reference_are_noticed_and_estimates_are_no_worse_than_the_public_mean(
    adult: pa.Table, paper_query: dp.Query, model: dp.QueryModel, name: str
) -> None:
    known = PublicKnowledge.of(model)
    chosen, least, most = POPULATIONS[name]
    rows = adult if chosen is None else adult.filter(chosen)
    private = model if chosen is None else dp.model(rows, paper_query, INCOME, records=100)
    truth = np.vstack([private.samples(each, 2000, seed=7) for each in private.distributions])
    noise = dp.mechanisms.certified_gaussian(model, dp.PrivacyTarget(epsilon=1.0, delta=1e-3)).noise
    answers = truth + noise.simulate(len(truth), seed=8)
    gain = linear_estimator(known.covariance, noise.covariance).gain
    public = np.sqrt(((known.mean - truth) ** 2).sum(axis=1).mean())
    estimate = np.sqrt(((known.mean + (answers - known.mean) @ gain.T - truth) ** 2).sum(axis=1).mean())
    share = flagged(known, noise, answers)
    assert estimate < public
    assert least <= share <= most
