from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import distpriv as dp
from distpriv.experiments.paper_noise import BASELINE, GROUP, VARIANTS, Models, exact_models, paper_noise
from distpriv.experiments.properties import INCOME, PROPERTIES, Property, property_model
from distpriv.guarantees.mechanism import AdditiveMechanism

SETTINGS: dict[str, tuple[str, dict[str, Any]]] = {
    "ExpM (L)": ("expected_value_laplace", {}),
    "DirM (L)": ("directional_laplace", {}),
    "ExpM (G)": ("expected_value_gaussian", {"radius": "classic"}),
    "EigM (G)": ("eigenvector_gaussian", {"radius": "classic", "covariance": "pooled"}),
    "DauM (G)": ("directional_uncertainty", {"radius": "classic", "covariance": "pooled"}),
    GROUP: ("group_privacy_gaussian", {"radius": "classic", "group": "records"}),
    BASELINE: ("group_privacy_gaussian", {"radius": "classic", "group": 1}),
}


def mechanism(shorthand: str, secret: Property, epsilon: float) -> AdditiveMechanism:
    function, options = SETTINGS[shorthand]
    target = dp.PrivacyTarget(epsilon=epsilon, delta=1e-3)
    made: AdditiveMechanism = getattr(dp.mechanisms, function)(property_model(secret, secret.gap), target, **options)
    return made


@pytest.mark.parametrize("secret", PROPERTIES, ids=lambda secret: secret.name)
@pytest.mark.parametrize("shorthand", [*VARIANTS, GROUP, BASELINE])
def test_noise_for_many_models_is_that_of_the_mechanism(shorthand: str, secret: Property) -> None:
    for epsilon in (0.2, 5.0):
        ours = paper_noise(shorthand, exact_models(secret, secret.gap), epsilon=epsilon, delta=1e-3).law()
        theirs = mechanism(shorthand, secret, epsilon).noise
        np.testing.assert_allclose(ours.covariance, theirs.covariance, rtol=1e-6, atol=1e-9)
        assert ours.expected_l2 == pytest.approx(theirs.expected_l2)


def test_models_at_shares_of_whole_records_are_those_of_the_library() -> None:
    model = property_model(INCOME, 0.1)
    found = exact_models(INCOME, 0.1)
    np.testing.assert_allclose(found.shifts[0], model.mean_shift(model.protected_pairs[0]), rtol=1e-12)


def some_models(seed: int) -> Models:
    rng = np.random.default_rng(seed)
    factors = rng.normal(size=(4, 5, 5))
    return Models(
        shifts=rng.normal(size=(4, 5)),
        covariances=factors @ factors.transpose(0, 2, 1) + 0.1 * np.eye(5),
        record_sensitivities=np.ones(5),
    )


@given(seed=st.integers(0, 2**32 - 1), shorthand=st.sampled_from([*VARIANTS, GROUP]), epsilon=st.floats(0.05, 10))
def test_every_model_gets_the_noise_it_would_get_alone(seed: int, shorthand: str, epsilon: float) -> None:
    models = some_models(seed)
    together = paper_noise(shorthand, models, epsilon=epsilon, delta=1e-3)
    for k in range(4):
        alone = Models(
            shifts=models.shifts[[k]],
            covariances=models.covariances[[k]],
            record_sensitivities=models.record_sensitivities,
        )
        expected = paper_noise(shorthand, alone, epsilon=epsilon, delta=1e-3).law().covariance
        np.testing.assert_allclose(together.law(k).covariance, expected, rtol=1e-9, atol=1e-9)


@given(seed=st.integers(0, 2**32 - 1), shorthand=st.sampled_from(VARIANTS))
def test_drawn_noise_has_the_covariance_of_its_law(seed: int, shorthand: str) -> None:
    noise = paper_noise(shorthand, some_models(seed), epsilon=1.0, delta=1e-3)
    drawn = noise.draw(np.random.default_rng(seed), 4000)
    for k in range(4):
        covariance = noise.law(k).covariance
        spread = np.sqrt(np.trace(covariance))
        np.testing.assert_allclose(np.cov(drawn[k].T), covariance, atol=0.4 * spread**2 + 1e-12)
    lengths = noise.lengths(np.random.default_rng(seed))
    assert lengths.shape == (4,)
    assert (lengths >= 0).all()
