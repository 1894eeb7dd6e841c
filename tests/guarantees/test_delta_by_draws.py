"""δ from rows against exact two-dimensional distributions."""

import numpy as np
import pytest
from tests.guarantees.exact_laws import exact_delta

import distpriv as dp
from distpriv.framework.arrays import Floats
from distpriv.guarantees.delta_by_draws import delta_by_draws
from distpriv.guarantees.delta_from_rows import delta_from_rows
from distpriv.guarantees.lattice_floor import Smoothing
from distpriv.law.saddlepoint import Saddlepoints, TiltedLaw, TiltedStratum
from distpriv.noise.laws import GaussianNoise, LaplaceNoise, SumNoise

AGE, MEXICO = dp.mean("age"), dp.count("native_country = 'Mexico'")


@pytest.mark.parametrize("records", [20, 100, 2000])
@pytest.mark.parametrize(("width", "epsilon"), [(1.0, 0.1), (0.3, 1.0), (1.0, 2.0)])
@pytest.mark.parametrize("line", [0.0, 1.5])
@pytest.mark.slow
def test_the_upper_bound_is_above_the_exact_delta_and_not_far(
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
    continuous = dict.fromkeys(model.distributions, Smoothing(least=1.0, most=1.0))
    found = delta_from_rows(model, noise, epsilon, matters=0.0, smoothed=continuous)
    exact = exact_delta(model, noise, epsilon)
    assert found is not None
    assert found.delta >= 0.98 * exact
    if found.epsilon == epsilon and exact > 1e-10:
        assert abs(found.estimate - exact) < 4 * found.standard_error + 0.02 * exact
        assert found.delta < (1.5 if records > 20 else 2.5) * exact


def test_a_point_without_a_saddlepoint_counts_in_full_and_says_nothing_of_the_ratio(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def coins(drawn: int) -> TiltedLaw:
        stratum = TiltedStratum(values=np.array([[-0.5], [0.5]]), counts=np.ones(2), drawn=drawn, replacement=True)
        return TiltedLaw.of([stratum], np.array([drawn / 2]), np.eye(1) * 4.0)

    whole = delta_by_draws(coins(24), coins(20), 0.0)
    saddlepoints = TiltedLaw.saddlepoints

    def all_but_one(self: TiltedLaw, points: Floats, tilts: Floats) -> Saddlepoints:
        at = saddlepoints(self, points, tilts)
        at.log_densities[0] = -np.inf
        return at

    monkeypatch.setattr(TiltedLaw, "saddlepoints", all_but_one)
    lacking = delta_by_draws(coins(24), coins(20), 0.0)
    assert whole.delta < lacking.delta < whole.delta + 4 / lacking.draws
    assert abs(lacking.normalisation) < 4 * lacking.normalisation_error
    assert whole.upper_bound < lacking.upper_bound < 1.1 * whole.upper_bound
