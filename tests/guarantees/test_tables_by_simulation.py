"""What certificates of tables say, held against draws from the exact laws, audits, and the exact check alone."""

from functools import cache

import numpy as np
import pyarrow as pa
import pytest
from benchmarks.tables import with_cells

import distpriv as dp
from distpriv.framework.arrays import Floats
from distpriv.noise.laws import NoiseLaw

pytestmark = pytest.mark.slow
SECRET = dp.Share("income = '>50K'", values=(0.2, 0.3))
DRAWS, BLOCK = 400_000, 20_000


@cache
def table_of(cells: int) -> dp.QueryModel:
    """Return the counts of a thousand persons of the Adult data in so many cells."""
    by = ["education", "sex", "marital_status"] if cells == 202 else "cell"
    rows = dp.datasets.adult() if cells == 202 else with_cells(cells)
    query = dp.Query(people=dp.table("count", by=by))
    model = dp.model(rows, query, SECRET, records=1000, reference="population", processes=1)
    assert model.dimension == cells
    return model


def exact_laws(model: dp.QueryModel) -> dp.QueryModel:
    """Return the Gaussian laws of a model, and nothing else of it: neither rows nor steps."""
    laws = model.distributions
    return dp.gaussian_model(
        means={name: law.mean for name, law in laws.items()},
        covariances={name: law.covariance for name, law in laws.items()},
        pairs=model.protected_pairs,
    )


def simulated_delta(model: dp.QueryModel, noise: NoiseLaw, epsilon: float) -> tuple[float, float]:
    """Return the larger mean of (1 − e^{ε − L})₊ over draws of a scenario, L the log-ratio, and its standard error.

    No integral is shared with the certificate: the draws are of all cells, in coordinates in which the first law has
    independent ones of variance 1, and the second independent ones.
    """
    found = []
    for number, pair in enumerate(model.protected_pairs):
        one, other = (model.distributions[name] for name in pair)
        whiten = np.linalg.inv(np.linalg.cholesky(one.covariance + noise.covariance))
        variances, axes = np.linalg.eigh(whiten @ (other.covariance + noise.covariance) @ whiten.T)
        apart = axes.T @ whiten @ (other.mean - one.mean)
        rng = np.random.default_rng(number)
        gains = np.concatenate([_gains(rng, apart, variances, epsilon) for _ in range(0, DRAWS, BLOCK)])
        found.append((float(gains.mean()), float(gains.std() / np.sqrt(len(gains)))))
    return max(found)


def _gains(rng: np.random.Generator, apart: Floats, variances: Floats, epsilon: float) -> Floats:
    drawn = rng.normal(size=(BLOCK, len(apart)))
    ratios = (((drawn - apart) ** 2 / variances + np.log(variances)).sum(axis=1) - (drawn**2).sum(axis=1)) / 2
    return np.asarray(np.maximum(1 - np.exp(np.minimum(epsilon - ratios, 0.0)), 0.0))


@pytest.mark.parametrize(
    ("cells", "mechanism"), [(10, "certified_gaussian"), (48, "certified_gaussian"), (202, "certified_gaussian")]
)
def test_the_certified_delta_is_what_draws_from_the_exact_laws_find(cells: int, mechanism: str) -> None:
    model = exact_laws(table_of(cells))
    found = getattr(dp.mechanisms, mechanism)(model, dp.PrivacyTarget(epsilon=1.0, delta=0.01))
    certificate = found.certificate
    assert certificate.holds
    delta, error = simulated_delta(model, found.noise, certificate.epsilon)
    assert error < 0.02 * delta
    assert abs(delta - certificate.delta) <= 4 * error


def test_no_audit_on_sampled_datasets_of_a_table_finds_more_than_is_certified() -> None:
    model = table_of(10)
    found = dp.mechanisms.certified_gaussian(model, dp.PrivacyTarget(epsilon=1.0, delta=0.01))
    assert found.certificate.holds
    assert found.certificate.assurance == "checked"
    report = dp.audit(found, model=model, shadows=2000, releases=20_000, seed=3)
    assert not report.failed, str(report)
    assert report.attacks[0].undefended.accuracy > report.attack_accuracy_ceiling


def people(shape: tuple[int, int]) -> pa.Table:
    """Return rows of which the first column tells about the property, the second nothing."""
    rng, size = np.random.default_rng(7), 20_000
    rich = rng.random(size) < 0.4
    leaning = np.arange(2.0, shape[0] + 2)
    first = np.where(rich, rng.choice(shape[0], size, p=leaning / leaning.sum()), rng.integers(shape[0], size=size))
    return pa.table({"a": first, "b": rng.integers(shape[1], size=size), "rich": rich})


@pytest.mark.parametrize("shape", [(4, 4), (5, 4), (10, 4)])
def test_cells_that_add_up_cost_hardly_more_noise_than_the_exact_check_alone(shape: tuple[int, int]) -> None:
    query, secret = dp.Query(people=dp.table("count", by=["a", "b"])), dp.Share("rich", values=(0.4, 0.45))
    model = dp.model(people(shape), query, secret, records=2000, reference="population", processes=1)
    target = dp.PrivacyTarget.from_attack_accuracy(0.6)
    found, alone = (dp.mechanisms.certified_gaussian(each, target) for each in (model, exact_laws(model)))
    assert found.certificate.holds
    assert found.certificate.assurance == "checked"
    assert found.noise.expected_rms <= 1.5 * alone.noise.expected_rms
