import math

import numpy as np
import pytest
from attrs import evolve
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.noise.lattice_oracle import cells_on_a_line, hockey_stick, log_masses, window

import distpriv as dp
from distpriv.distances.gaussian import gaussian_delta
from distpriv.guarantees.certificate import Certificate
from distpriv.guarantees.relaxation import calibration_target, discretised, discretised_certificate
from distpriv.noise.dyadic import Dyadic, nearest
from distpriv.noise.integers import Discrepancy
from distpriv.noise.lattice import on_lattice
from distpriv.noise.laws import GaussianNoise, LaplaceNoise, NoiseLaw, SumNoise

points = st.floats(-3, 3)
epsilons = st.floats(0.05, 3)


def certificate_of(epsilon: float, delta: float) -> Certificate:
    """What holds for continuous noise, put in a certificate of that target."""
    target = dp.PrivacyTarget(epsilon=epsilon, delta=delta)
    return Certificate(target=target, epsilon=epsilon, delta=delta, assurance="proved", theorem="a test", evidence=())


def test_a_certificate_is_weakened_as_theorem_4_6_has_it() -> None:
    weaker = discretised_certificate(
        certificate_of(0.5, 1e-3), Discrepancy(divergence=0.1, failure=1e-4), dp.PrivacyTarget(epsilon=0.7, delta=0.5)
    )
    assert weaker.epsilon == 0.7
    assert weaker.delta == pytest.approx((1 + math.exp(0.6)) * 1e-4 + math.exp(0.1) * 1e-3)
    assert (weaker.assurance, weaker.holds) == ("proved", True)
    assert weaker.evidence[-1].status == "proved"


@given(
    epsilon=st.floats(0, 5),
    delta=st.floats(0, 0.5),
    cost=st.builds(Discrepancy, divergence=st.floats(0, 2), failure=st.floats(0, 0.1)),
    room=st.floats(0, 1),
)
def test_more_room_in_epsilon_never_costs_more_delta(
    epsilon: float, delta: float, cost: Discrepancy, room: float
) -> None:
    exact = certificate_of(epsilon + 1e-9, delta)
    tight = discretised_certificate(exact, cost, exact.target)
    wide = discretised_certificate(exact, cost, dp.PrivacyTarget(epsilon=exact.epsilon + room, delta=delta))
    assert delta <= wide.delta <= tight.delta + 1e-12 <= 1 + 1e-12
    free = discretised_certificate(exact, Discrepancy(), exact.target)
    assert free.delta == pytest.approx(delta, rel=1e-11)


@given(x=points, y=points, bits=st.integers(1, 7), epsilon=epsilons, width=st.floats(0.2, 2))
@settings(max_examples=50)
def test_the_divergence_of_two_lattice_releases_is_within_the_certificate(
    x: float, y: float, bits: int, epsilon: float, width: float
) -> None:
    apart, gaussian = abs(x - y), GaussianNoise.isotropic(1, width)
    holds_on_lattice(LaplaceNoise.isotropic(1, 0.8 + width), bits, x, y, apart / (0.8 + width), 0.0)
    holds_on_lattice(gaussian, bits, x, y, epsilon, gaussian_delta(epsilon, apart / width))
    both = SumNoise(parts=(gaussian, LaplaceNoise.isotropic(1, 0.8)))
    holds_on_lattice(both, min(bits, 4), x, y, apart / 0.8, 0.0)


def holds_on_lattice(noise: NoiseLaw, bits: int, x: float, y: float, epsilon: float, delta: float) -> None:
    lattice = on_lattice(noise, bits=bits)
    reach = sum(float(window(part.coordinates[0])[-1] * part.steps[0]) for part in (lattice.base, *lattice.others))
    far = math.ceil((reach + 4) / lattice.steps[0])
    laws = [cells_on_a_line(lattice, value, np.arange(-far, far + 1.0)) for value in (x, y)]
    assert [float(law.sum()) for law in laws] == pytest.approx([1, 1], abs=1e-12)
    exact = evolve(certificate_of(epsilon + 1.0, 0.5), epsilon=epsilon, delta=delta)
    weaker = discretised_certificate(
        exact, lattice.cost, dp.PrivacyTarget(epsilon=epsilon + 2 * lattice.cost.divergence)
    )
    for first, second in (laws, laws[::-1]):
        assert hockey_stick(weaker.epsilon, first, second) <= weaker.delta + 1e-13


def test_without_counting_the_lattice_the_certificate_would_be_wrong() -> None:
    lattice = on_lattice(LaplaceNoise.isotropic(1, 1.0), bits=4)
    step = float(lattice.steps[0])
    x, y = -0.51 * step, 0.51 * step
    cells = np.arange(-2000.0, 2001.0)
    laws = [cells_on_a_line(lattice, value, cells) for value in (x, y)]
    assert hockey_stick(y - x, *laws) > 0.02
    assert hockey_stick(y - x + 2 * lattice.cost.divergence, *laws) < 1e-13


@given(x=st.tuples(points, points), y=st.tuples(points, points), turn=st.floats(0, 3), epsilon=epsilons)
@settings(max_examples=20)
def test_noise_along_turned_axes_is_within_the_certificate(
    x: tuple[float, float], y: tuple[float, float], turn: float, epsilon: float
) -> None:
    axes = np.array([[math.cos(turn), -math.sin(turn)], [math.sin(turn), math.cos(turn)]])
    law = GaussianNoise(axes=axes, variances=np.array([1.0, 0.25]))
    lattice = on_lattice(law, bits=3)
    cells = np.arange(-200.0, 201.0)
    laws = []
    for value in (x, y):
        places = nearest(lattice.frame.inward @ Dyadic.of(value), Dyadic.of(lattice.steps))
        along = [
            np.exp(log_masses(noise, cells - int(place)))
            for noise, place in zip(lattice.base.coordinates, places, strict=True)
        ]
        laws.append(np.outer(*along).ravel())
    distance = float(np.linalg.norm((axes.T @ np.subtract(x, y)) / [1.0, 0.5]))
    exact = evolve(certificate_of(epsilon, 0.5), delta=gaussian_delta(epsilon, distance))
    weaker = discretised_certificate(
        exact, lattice.cost, dp.PrivacyTarget(epsilon=epsilon + 2 * lattice.cost.divergence)
    )
    assert hockey_stick(weaker.epsilon, *laws) <= weaker.delta + 1e-13


MODEL = dp.gaussian_model(
    means={"a": [10.0, 3.0], "b": [12.0, 2.5]},
    covariances=[[2.0, 0.3], [0.3, 0.5]],
    pairs=[("a", "b")],
    steps=[0.01, 0.01],
)


@pytest.mark.parametrize(
    "name",
    [
        "expected_value_gaussian",
        "expected_value_laplace",
        "directional_gaussian",
        "directional_laplace",
        "directional_uncertainty",
        "eigenvector_gaussian",
    ],
)
@pytest.mark.parametrize(
    "target",
    [
        dp.PrivacyTarget(epsilon=1.0, delta=1e-3),
        dp.PrivacyTarget(epsilon=0.01, delta=1e-9),
        dp.PrivacyTarget(epsilon=8.0, delta=1e-12),
        dp.PrivacyTarget.from_attack_accuracy(0.6),
    ],
    ids=str,
)
def test_noise_made_for_the_calibration_target_meets_the_target_on_its_lattice(
    name: str, target: dp.PrivacyTarget
) -> None:
    if "laplace" in name and target.epsilon == 0:
        return
    mechanism = getattr(dp.mechanisms, name)(MODEL, calibration_target(target))
    released = discretised(mechanism, target)
    assert mechanism.certificate.holds
    assert released.certificate.holds
    assert released.certificate.epsilon == target.epsilon
    assert released.certificate.target == target
    assert released.certificate.delta >= mechanism.certificate.delta
    assert released.noise == mechanism.noise
    assert released.noise.expected_rms <= getattr(dp.mechanisms, name)(MODEL, target).noise.expected_rms * (1 + 1e-4)


def test_a_cost_beyond_all_bounds_leaves_no_guarantee() -> None:
    exact = certificate_of(1.0, 1e-3)
    for cost in (Discrepancy(divergence=1e6), Discrepancy(divergence=math.inf), Discrepancy(failure=1.0)):
        assert discretised_certificate(exact, cost, exact.target).delta == 1
    assert discretised_certificate(certificate_of(1e4, 0.0), Discrepancy(failure=1e-30), exact.target).delta == 1
