"""Random stacks of releases, simulated: none says more than its certificate allows."""

import math
from collections.abc import Sequence

import numpy as np
import pytest
from tests.guarantees.normal_laplace import log_released
from tests.guarantees.random_models import random_model

import distpriv as dp
from distpriv.auditing.densities import log_density
from distpriv.framework.arrays import Floats
from distpriv.guarantees.certify import gaussian_certificate
from distpriv.modelling.model import QueryDistribution
from distpriv.noise.laws import GaussianNoise, LaplaceNoise, NoiseLaw, SumNoise
from distpriv.releasing.joint import THEOREM
from distpriv.releasing.stack import stacked

STACKS, GROUPS, DRAWS = 84, 12, 40_000
ERRORS = 5
"""A simulation is off by more than so many standard errors less than once in a million times."""


def random_noise(rng: np.random.Generator, size: int, kind: str) -> NoiseLaw:
    """Noise of one release: along axes of its own, and as large as the statistics' own deviations or so."""
    axes = np.linalg.qr(rng.normal(size=(size, size)))[0]
    sizes = 10.0 ** rng.uniform(-0.7, 0.7, size)
    if kind == "gaussian":
        return GaussianNoise(axes=axes, variances=sizes**2)
    laplace = LaplaceNoise(axes=axes[:, :1], scales=sizes[:1])
    return laplace if kind == "laplace" else SumNoise(parts=(GaussianNoise(axes=axes, variances=sizes**2 / 2), laplace))


def random_stack(seed: int) -> tuple[dp.QueryModel, GaussianNoise | SumNoise, float]:
    """Two or three releases of one or two statistics each, with noise of any kind, and an ε."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 3, size=rng.integers(2, 4))
    kinds = rng.choice(["gaussian", "laplace", "sum"], size=len(sizes), p=[0.6, 0.2, 0.2])
    model = random_model(
        seed, int(sizes.sum()), unequal=float(rng.choice([0.0, 0.1, 0.4])), distance=float(rng.uniform(0.5, 4))
    )
    noise = stacked([random_noise(rng, int(size), str(kind)) for size, kind in zip(sizes, kinds, strict=True)])
    return model, noise, float(rng.choice([0.0, 0.3, 1.0, 2.0]))


def log_ratio(y: Floats, laws: Sequence[QueryDistribution], noise: GaussianNoise | SumNoise) -> Floats:
    """How much likelier the first law makes a release; with Laplace noise along several axes, about how much."""
    logs = []
    for law in laws:
        if isinstance(noise, SumNoise) and len(noise.laplace_scales) == 1:
            widened = law.covariance + noise.gaussian.covariance
            axis, scale = noise.laplace_axes[:, 0], float(noise.laplace_scales[0])
            logs.append(log_released(y - law.mean, widened, axis, scale))
        else:
            logs.append(log_density(y, law.mean, law.covariance, noise))
    return np.asarray(logs[0] - logs[1])


def simulated_delta(
    model: dp.QueryModel, pair: tuple[str, str], noise: GaussianNoise | SumNoise, epsilon: float, seed: int
) -> tuple[float, float]:
    """What simulated releases tell of δ, and the standard error; never more than δ, but for that error.

    By exact densities δ is the mean of a function. Along several axes of Laplace noise they are only near: then an
    event A is chosen by them, and whatever it is δ ≥ P(A) - exp(ε) Q(A).
    """
    laws = [model.distributions[name] for name in pair]
    ratios = []
    for number, law in enumerate(laws):
        rng = np.random.default_rng([seed, number])
        y = rng.multivariate_normal(law.mean, law.covariance, size=DRAWS, method="cholesky")
        ratios.append(log_ratio(y + noise.simulate(DRAWS, 2 * seed + number), laws, noise))
    if not isinstance(noise, SumNoise) or len(noise.laplace_scales) == 1:
        values = np.maximum(0.0, -np.expm1(np.minimum(epsilon - ratios[0], 0.0)))
        return float(values.mean()), float(values.std()) / math.sqrt(DRAWS) + ERRORS / DRAWS
    counts = [int((ratio > epsilon).sum()) for ratio in ratios]
    # Of few that were counted more is unknown than their root says.
    errors = [math.sqrt(count + ERRORS**2) for count in counts]
    factor = math.exp(epsilon)
    return (counts[0] - factor * counts[1]) / DRAWS, math.hypot(errors[0], factor * errors[1]) / DRAWS


@pytest.mark.slow
@pytest.mark.parametrize("group", range(GROUPS))
def test_no_stack_of_releases_says_more_than_its_certificate_allows(group: int) -> None:
    told = 0
    for seed in range(group, STACKS, GROUPS):
        model, noise, epsilon = random_stack(seed)
        target = dp.PrivacyTarget(epsilon=epsilon, delta=0.01)
        certificate = gaussian_certificate(model, target, noise, THEOREM)
        simulated = [simulated_delta(model, pair, noise, epsilon, seed) for pair in model.protected_pairs]
        for found, error in simulated:
            assert found - ERRORS * error <= certificate.delta, seed
        if isinstance(noise, GaussianNoise):  # what is exact is met, so a simulation can tell
            assert max(found + ERRORS * error for found, error in simulated) >= certificate.delta, seed
        told += max(found - ERRORS * error for found, error in simulated) > certificate.delta / 3
    assert told > 0  # a certificate that is far too large could not be caught
