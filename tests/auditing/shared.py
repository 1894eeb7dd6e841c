"""What the tests of several attacks share."""

import numpy as np
import pyarrow as pa
from attrs import evolve

import distpriv as dp
from distpriv.auditing.attacks import AttackerView, FittedAttack
from distpriv.auditing.releases import Releases, simulate_releases
from distpriv.guarantees.mechanism import AdditiveMechanism
from distpriv.noise.laws import GaussianNoise, NoiseLaw

TARGET = dp.PrivacyTarget(epsilon=1, delta=1e-3)

A, B = "income = '>50K' @ 0.45", "income = '>50K' @ 0.55"

TOY = dp.gaussian_model(
    means={"a": [0.0, 0.0], "b": [1.0, 0.5]},
    covariances={"a": [[1.0, 0.2], [0.2, 1.0]], "b": [[1.2, 0.1], [0.1, 0.9]]},
    pairs=[("a", "b")],
)


def view(model: dp.QueryModel, noise: NoiseLaw, shadows: int = 2000, seed: int = 0) -> AttackerView:
    pair = model.protected_pairs[0]
    drawn = simulate_releases(model, pair, noise, shadows, seed=seed)
    return AttackerView(model=model, pair=pair, noise=noise, shadows=drawn)


def fresh(model: dp.QueryModel, noise: NoiseLaw, count: int = 40_000, seed: int = 99) -> Releases:
    return simulate_releases(model, model.protected_pairs[0], noise, count, seed=seed)


def accuracy(fitted: FittedAttack, releases: Releases) -> float:
    first, second = (fitted.score(part) for part in releases.released)
    return float(np.concatenate([first > 0, second <= 0]).mean())


PERIOD = 50.0


def planted(seed: int, dimension: int, records: int = 20) -> dp.QueryModel:
    """Totals of which one combination lies near multiples of 50, shifted by the group, although no mean tells it.

    Where a row lies between multiples says which group it is of, and how many of them lie higher makes up for it in the
    mean; jitter hides that from any test for a common divisor.
    """
    rng = np.random.default_rng(seed)
    group = rng.permutation(np.arange(3000) % 2)
    weights = rng.uniform(0.3, 1.0, dimension - 1) * rng.choice([-1, 1], dimension - 1)
    others = rng.normal(0, 15, (3000, dimension - 1))
    offset = rng.uniform(16.5, 21) if seed % 2 else rng.uniform(4, 8.5)  # four rows of it are about half a period
    higher = rng.random(3000) < 0.5 + (0.5 - group) * offset / PERIOD
    residue = PERIOD * higher + offset * group + rng.normal(0, rng.uniform(0.1, 1.5), 3000)
    columns = dict(zip("wyz", others.T, strict=False)) | {"x": residue - others @ weights}
    query = dp.Query({name: dp.total(name) for name in columns})
    secret = dp.Share("g = 1", values=(0.4, 0.6))
    return dp.model(pa.table({"g": group} | columns), query, secret, records=records, reference="population")


def thin(model: dp.QueryModel, share: float = 0.03, target: dp.PrivacyTarget = TARGET) -> AdditiveMechanism:
    """Return what moments alone would certify, with noise of a share of each statistic's own deviation."""
    deviations = np.sqrt(np.mean([np.diag(law.covariance) for law in model.distributions.values()], axis=0))
    noise = GaussianNoise.along(np.eye(model.dimension), (share * deviations) ** 2)
    certified = dp.mechanisms.certified_gaussian(evolve(model, simulator=None), target)
    return evolve(certified, noise=noise)
