"""Means by group, with groups of about five records, held against every dataset that there is."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pytest

import distpriv as dp
from distpriv.framework.arrays import Floats

RNG = np.random.default_rng(11)
SIZE, RECORDS, EPSILON = 40, 10, 1.0
RICH = np.arange(SIZE) < SIZE // 2
GROUP = np.where(RNG.random(SIZE) < np.where(RICH, 0.55, 0.45), "a", "b")
HOURS = RNG.integers(1, 9, SIZE) + RICH
ROWS = pa.table({"group": GROUP, "hours": HOURS, "rich": RICH})
SECRET = dp.Share("rich", values=(0.4, 0.6))


def sums(rows: Sequence[int], drawn: int) -> dict[tuple[int, int, int], float]:
    """Return how many subsets of so many rows have which count in group a, and which totals in both groups."""
    found: list[dict[tuple[int, int, int], float]] = [{(0, 0, 0): 1.0}, *({} for _ in range(drawn))]
    for row in rows:
        inside, hours = GROUP[row] == "a", int(HOURS[row])
        for size in range(drawn, 0, -1):
            for (count, first, second), ways in found[size - 1].items():
                key = (count + inside, first + hours * inside, second + hours * (not inside))
                found[size][key] = found[size].get(key, 0.0) + ways
    return found[drawn]


def law(share: float) -> tuple[Floats, Floats]:
    """Return every value of the table's four numbers, and how probable it is, over all datasets of a scenario."""
    rich = round(share * RECORDS)
    one, other = sums(np.flatnonzero(RICH).tolist(), rich), sums(np.flatnonzero(~RICH).tolist(), RECORDS - rich)
    joint: dict[tuple[int, int, int], float] = {}
    for (count, first, second), ways in one.items():
        for (more, third, fourth), others in other.items():
            key = (count + more, first + third, second + fourth)
            joint[key] = joint.get(key, 0.0) + ways * others
    points = np.array([[count, RECORDS - count, first, second] for count, first, second in joint], dtype=float)
    chances = np.array(list(joint.values()))
    return points, chances / chances.sum()


def log_density(at: Floats, points: Floats, chances: Floats, root: Floats) -> Floats:
    whitened, answers = points @ root, at @ root
    squares = (whitened**2).sum(axis=1)[np.newaxis] - 2 * answers @ whitened.T + (answers**2).sum(axis=1)[:, np.newaxis]
    exponents = np.log(chances) - squares / 2
    most = exponents.max(axis=1)
    return np.asarray(most + np.log(np.exp(exponents - most[:, np.newaxis]).sum(axis=1)))


@pytest.fixture(scope="module")
def model() -> dp.QueryModel:
    query = dp.Query(work=dp.table("mean(hours)", by="group"))
    return dp.model(ROWS, query, SECRET, records=RECORDS, reference="population", processes=1)


def test_moments_are_those_of_all_datasets(model: dp.QueryModel) -> None:
    for share in (0.4, 0.6):
        points, chances = law(share)
        found = model.distributions[f"rich @ {share}"]
        np.testing.assert_allclose(found.mean, chances @ points, atol=1e-9)
        centred = points - chances @ points
        np.testing.assert_allclose(found.covariance, (centred.T * chances) @ centred, atol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["certified_gaussian", "group_privacy_gaussian"])
def test_a_certificate_that_is_given_holds_for_all_datasets(model: dp.QueryModel, name: str) -> None:
    target = dp.PrivacyTarget(epsilon=EPSILON, delta=0.02)
    made = getattr(dp.mechanisms, name)(model, target)
    if not made.certificate.holds_at("checked"):
        assert made.certificate.assurance == "assumed"
        return
    covariance = made.noise.covariance
    root = np.linalg.cholesky(np.linalg.inv(covariance))
    rng = np.random.default_rng(0)
    for first, second in ((0.4, 0.6), (0.6, 0.4)):
        (points, chances), other = law(first), law(second)
        truths = points[rng.choice(len(points), 2000, p=chances)]
        answers = truths + rng.multivariate_normal(np.zeros(4), covariance, 2000)
        ratios = log_density(answers, *other, root) - log_density(answers, points, chances, root)
        missed = np.maximum(0.0, -np.expm1(EPSILON + ratios))
        assert missed.mean() - 4 * missed.std() / np.sqrt(len(missed)) <= made.certificate.delta
