"""Estimates on datasets of real rows: as good as predicted where the reference fits, found out where it does not."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from attrs import frozen

import distpriv as dp
from distpriv.framework.arrays import Floats
from distpriv.modelling.linear_estimate import HALF_WIDTH, linear_estimator
from distpriv.modelling.public_knowledge import UNLIKELY, PublicKnowledge
from distpriv.noise.laws import NoiseLaw

DATASETS = 20_000
"""Of each of the two scenarios."""

UNLIKE = 4_000


@frozen(kw_only=True)
class Judged:
    """Estimates of many datasets, at once, by the same formulas that a release uses."""

    known: PublicKnowledge
    noise: NoiseLaw
    truth: Floats

    @property
    def answers(self) -> Floats:
        return np.asarray(self.truth + self.noise.simulate(len(self.truth), seed=5))

    @property
    def errors(self) -> Floats:
        gain = linear_estimator(self.known.covariance, self.noise.covariance).gain
        return np.asarray(self.known.mean + (self.answers - self.known.mean) @ gain.T - self.truth)

    @property
    def flagged(self) -> float:
        """How often the reference is said not to fit."""
        spread = np.linalg.inv(self.known.covariance + self.noise.covariance)
        apart = self.answers - self.known.mean
        distances = np.einsum("ij,jk,ik->i", apart, spread, apart)
        return float((distances > self._farthest()).mean())

    def _farthest(self) -> float:
        """Return the distance from the public mean beyond which `fit` says so."""
        along = np.sqrt(np.diag(self.known.covariance + self.noise.covariance))
        low, high = 0.0, 100.0
        while high - low > 1e-3:
            middle = (low + high) / 2
            fits = self.known.fit(self.known.mean + middle * along, [self.noise]).p_value >= UNLIKELY
            low, high = (middle, high) if fits else (low, middle)
        return self.known.fit(self.known.mean + low * along, [self.noise]).distance


def rms(errors: Floats) -> float:
    return float(np.sqrt((errors**2).sum(axis=1).mean()))


@pytest.fixture(scope="module")
def model(adult: pa.Table, paper_query: dp.Query) -> dp.QueryModel:
    return dp.model(adult, paper_query, dp.Share("income = '>50K'", values=(0.45, 0.55)), records=100)


@pytest.fixture(scope="module")
def datasets(model: dp.QueryModel) -> Floats:
    return np.concatenate([model.samples(name, DATASETS, seed=3) for name in model.distributions])


def noise_of(model: dp.QueryModel, mechanism: str, epsilon: float) -> NoiseLaw:
    make = getattr(dp.mechanisms, mechanism)
    noise: NoiseLaw = make(model, dp.PrivacyTarget(epsilon=epsilon, delta=1e-3)).noise
    return noise


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [1.0, 5.0])
@pytest.mark.parametrize("mechanism", ["certified_gaussian", "certified_laplace", "coupled_gaussian"])
def test_estimates_miss_the_truth_by_as_much_as_predicted_and_intervals_hold_it_as_often(
    model: dp.QueryModel, datasets: Floats, mechanism: str, epsilon: float
) -> None:
    noise = noise_of(model, mechanism, epsilon)
    found = Judged(known=PublicKnowledge.of(model), noise=noise, truth=datasets)
    predicted = found.known.error_covariance(noise.covariance)
    assert rms(found.errors) == pytest.approx(np.sqrt(np.trace(predicted)), rel=0.05)
    covered = (np.abs(found.errors) <= HALF_WIDTH * np.sqrt(np.diag(predicted))).mean(axis=0)
    assert (covered >= 0.93).all()
    assert (covered <= 0.97).all()
    assert found.flagged <= 0.003


def unlike(adult: pa.Table) -> dict[str, pa.ChunkedArray]:
    """Return which rows private datasets may be drawn from although the reference is all rows."""
    government = pa.array(["Federal-gov", "Local-gov", "State-gov"])
    return {
        "sales staff": pc.equal(adult["occupation"], "Sales"),
        "born outside the US": pc.not_equal(adult["native_country"], "United-States"),
        "government": pc.is_in(adult["workclass"], value_set=government),
        "over forty": pc.greater(adult["age"], 40),
        "women only": pc.equal(adult["sex"], "Female"),
    }


@pytest.mark.slow
@pytest.mark.parametrize("mechanism", ["certified_gaussian", "certified_laplace"])
def test_on_rows_unlike_the_reference_estimates_are_never_worse_than_the_public_mean_and_a_gross_misfit_is_told(
    model: dp.QueryModel, adult: pa.Table, mechanism: str
) -> None:
    known, noise = PublicKnowledge.of(model), noise_of(model, mechanism, 1.0)
    for name, rows in unlike(adult).items():
        simulator = model.rows().over(adult.filter(rows))
        truth = np.concatenate([simulator.samples(scenario, UNLIKE, seed=7) for scenario in model.distributions])
        found = Judged(known=known, noise=noise, truth=truth)
        assert rms(found.errors) <= rms(truth - known.mean), name
        if name in ("over forty", "women only"):
            assert found.flagged >= 0.99, name
