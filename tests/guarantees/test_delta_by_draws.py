"""δ by draws against exact two-dimensional laws."""

import numpy as np
import pytest
from tests.guarantees.exact_laws import exact_delta

import distpriv as dp
from distpriv.guarantees.delta_by_draws import DrawnDelta, NoisySum, delta_by_draws
from distpriv.law.draws import LaplaceLine
from distpriv.modelling.tilted_law import law_frame, tilted_laws
from distpriv.noise.laws import GaussianNoise, LaplaceNoise, Noise, SumNoise

AGE, MEXICO = dp.mean("age"), dp.count("native_country = 'Mexico'")


def by_draws(model: dp.QueryModel, noise: Noise, epsilon: float) -> DrawnDelta:
    """The largest upper bound of both orders."""
    covariance = noise.gaussian.covariance
    frame, line = law_frame(model, covariance), None
    if noise.laplace_scales.size:
        line = LaplaceLine(axis=noise.laplace_axes[:, 0] @ frame, scale=float(noise.laplace_scales[0]))
    laws = tilted_laws(model, model.rows().row_laws(), covariance)
    scenarios = {name: NoisySum.of(law, line) for name, law in laws.items()}
    found = [delta_by_draws(scenarios[one], scenarios[other], epsilon) for one, other in model.protected_pairs]
    return max(found, key=lambda each: each.upper_bound)


@pytest.mark.parametrize("records", [20, 100, 2000])
@pytest.mark.parametrize(("width", "epsilon"), [(1.0, 0.1), (0.3, 1.0), (1.0, 2.0)])
@pytest.mark.parametrize("line", [0.0, 1.5])
@pytest.mark.slow
def test_the_upper_bound_is_above_the_exact_law_and_not_far(
    records: int, width: float, epsilon: float, line: float
) -> None:
    query, secret = dp.Query(age=AGE, mexico=MEXICO), dp.Share("income = '>50K'", values=(0.4, 0.6))
    model = dp.model(dp.datasets.adult(), query, secret, records=records, replacement=True, reference="population")
    law = model.distributions[model.protected_pairs[0][0]]
    deviations = np.sqrt(np.diag(law.covariance))
    gaussian = GaussianNoise.of(np.diag((width * deviations) ** 2))
    axis = deviations * [0.8, -0.6]
    length = float(np.linalg.norm(axis))
    laplace = LaplaceNoise(axes=(axis / length)[:, np.newaxis], scales=np.array([line * length]))
    noise = SumNoise(parts=(gaussian, laplace)) if line else gaussian
    found, exact = by_draws(model, noise, epsilon), exact_delta(model, noise, epsilon)
    assert found.upper_bound >= 0.98 * exact
    if found.epsilon == epsilon and exact > 1e-10:
        assert abs(found.delta - exact) < 4 * found.standard_error + 0.02 * exact
        assert found.upper_bound < 1.35 * exact
