"""Unimodal noise along a line that a linear program chooses, with its certificate."""

import math

import numpy as np
import pytest
from distpriv.guarantees.bells import Bell
from distpriv.guarantees.line_bells import LineBell
from paper.setting import paper_query

import distpriv as dp
from distpriv.errors import InvalidTarget
from distpriv.guarantees.mechanism import AdditiveMechanism
from distpriv.guarantees.upper_bound import delta_upper_bound
from distpriv.mechanisms.certified_laplace import noise_by_search
from distpriv.noise.laws import GaussianNoise, NoiseLaw, SumNoise

MODEL = dp.gaussian_model(
    means={"a": [0, 0], "b": [3, 1]},
    covariances={"a": [[4, 1], [1, 2]], "b": [[4.4, 1], [1, 1.9]]},
    pairs=[("a", "b")],
)
TARGET = dp.PrivacyTarget(epsilon=1, delta=0.01)

INCOME = dp.Share("income = '>50K'", values=(0.45, 0.55))
WORK = dp.Share("workclass = 'Private'", values=(0.48, 0.52))


def confirmed(model: dp.QueryModel, noise: NoiseLaw, epsilon: float, draws: int) -> float:
    """Return the largest δ of all pairs by sampling with exact densities, plus two standard errors."""
    assert noise.line is not None
    rng, (axis, law), found = np.random.default_rng(0), noise.line, []
    for pair in model.protected_pairs:
        one, other = (
            LineBell(bell=Bell(mean=of.mean, covariance=of.covariance + noise.gaussian.covariance), axis=axis, law=law)
            for of in (model.distributions[name] for name in pair)
        )
        points = one.drawn(rng.normal(size=(draws, model.dimension + 1)))
        lost = -np.expm1(np.minimum(epsilon - one.log_density(points) + other.log_density(points), 0.0))
        found.append(float(lost.mean() + 2 * lost.std() / math.sqrt(draws)))
    return max(found)


@pytest.fixture(scope="module")
def mechanism() -> AdditiveMechanism:
    return dp.mechanisms.certified_unimodal(MODEL, TARGET)


def test_it_holds_with_less_noise_than_laplace_noise(mechanism: AdditiveMechanism) -> None:
    laplace = dp.mechanisms.certified_laplace(MODEL, TARGET)
    assert mechanism.certificate.holds
    assert mechanism.noise.expected_rms < laplace.noise.expected_rms


def test_sampling_confirms_its_delta(mechanism: AdditiveMechanism) -> None:
    delta = confirmed(MODEL, mechanism.noise, TARGET.epsilon, 200_000)
    assert 0.8 * TARGET.delta < delta < 1.1 * TARGET.delta


def test_it_is_written_down_and_read_to_the_last_bit(mechanism: AdditiveMechanism) -> None:
    from distpriv.noise.laws import noise_from_dict

    again = noise_from_dict(mechanism.noise.to_dict())
    assert again.to_dict() == mechanism.noise.to_dict()


def test_it_can_be_drawn_on_a_lattice(mechanism: AdditiveMechanism) -> None:
    from distpriv.noise.lattice import on_lattice

    lattice = on_lattice(mechanism.noise)
    assert np.isfinite(lattice.draw(np.array([10.0, 20.0]))).all()
    assert lattice.cost.divergence < 1e-6


def test_where_the_floor_is_enough_nothing_is_added() -> None:
    close = dp.gaussian_model(means={"a": [0], "b": [0.001]}, covariances=[[4]], pairs=[("a", "b")])
    noise = dp.mechanisms.certified_unimodal(close, TARGET).noise
    assert isinstance(noise, GaussianNoise)


@pytest.mark.parametrize("target", [(0, 0.01), (1, 1e-9), (1, 0)])
def test_targets_out_of_reach_are_refused(target: tuple[float, float]) -> None:
    with pytest.raises(InvalidTarget):
        dp.mechanisms.certified_unimodal(MODEL, dp.PrivacyTarget(epsilon=target[0], delta=target[1]))


def test_more_pairs_than_are_worked_with_are_all_hidden() -> None:
    means = {f"s{k}": [0.4 * k, 0.1 * k] for k in range(6)}
    covariances = {name: [[4 + 0.05 * k, 1], [1, 2]] for k, name in enumerate(means)}
    pairs = [(one, other) for one in means for other in means if one < other]
    many = dp.gaussian_model(means=means, covariances=covariances, pairs=pairs)
    found = dp.mechanisms.certified_unimodal(many, TARGET)
    assert found.certificate.holds
    assert delta_upper_bound(many, found, epsilon=1) <= TARGET.delta


@pytest.mark.slow
@pytest.mark.parametrize(
    ("secret", "epsilon", "most"), [(INCOME, 0.2, 25.4), (INCOME, 1, 4.95), ((INCOME, WORK), 1, 5.0)]
)
def test_adult_is_hidden_with_less_noise_than_laplace_noise_needs(
    secret: dp.Share | tuple[dp.Share, dp.Share], epsilon: float, most: float
) -> None:
    secrets = list(secret) if isinstance(secret, tuple) else secret
    model = dp.model(dp.datasets.adult(), paper_query(), secrets, records=100, reference="population")
    target = dp.PrivacyTarget(epsilon=epsilon, delta=1e-3)
    found = dp.mechanisms.certified_unimodal(model, target)
    assert found.certificate.holds_at("checked")
    assert found.noise.expected_l2 <= most
    assert confirmed(model, found.noise, epsilon, 1_000_000) <= 1.02e-3


def test_the_gaussian_noise_beside_the_line_is_no_less_than_that_beside_laplace_noise() -> None:
    """Plans rule this mechanism out by it."""
    searched = noise_by_search(MODEL, TARGET, np.ones(2))
    assert searched is not None
    beside = searched.parts[-1].covariance
    found = dp.mechanisms.certified_unimodal(MODEL, TARGET).noise
    assert isinstance(found, SumNoise)
    assert np.linalg.eigvalsh(found.gaussian.covariance - beside).min() > -1e-9 * np.trace(beside)
