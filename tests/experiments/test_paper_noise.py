from typing import Any

import numpy as np
import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st

import distpriv as dp
from distpriv.experiments.paper_noise import BASELINE, GROUP, VARIANTS, exact_model, paper_noise
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
        ours = paper_noise(shorthand, [exact_model(secret, secret.gap)], epsilon=epsilon, delta=1e-3).laws[0]
        theirs = mechanism(shorthand, secret, epsilon).noise
        np.testing.assert_allclose(ours.covariance, theirs.covariance, rtol=1e-6, atol=1e-9)
        assert ours.expected_l2 == pytest.approx(theirs.expected_l2)


def test_models_at_shares_of_whole_records_are_those_of_the_library() -> None:
    model = property_model(INCOME, 0.1)
    found = exact_model(INCOME, 0.1)
    shifts = [each.mean_shift(each.protected_pairs[0]) for each in (found, model)]
    np.testing.assert_allclose(shifts[0], shifts[1], rtol=1e-12)


def some_models(seed: int) -> list[dp.QueryModel]:
    rng = np.random.default_rng(seed)
    made = []
    for factor, shift in zip(rng.normal(size=(4, 5, 5)), rng.normal(size=(4, 5)), strict=True):
        covariance = factor @ factor.T + 0.1 * np.eye(5)
        model = dp.gaussian_model(means={"a": shift, "b": np.zeros(5)}, covariances=covariance, pairs=[("a", "b")])
        made.append(evolve(model, record_sensitivities=np.ones(5)))
    return made


@given(seed=st.integers(0, 2**32 - 1), shorthand=st.sampled_from([*VARIANTS, GROUP]), epsilon=st.floats(0.05, 10))
def test_axes_and_widths_are_those_of_the_laws(seed: int, shorthand: str, epsilon: float) -> None:
    noise = paper_noise(shorthand, some_models(seed), epsilon=epsilon, delta=1e-3)
    for law, axes, widths in zip(noise.laws, noise.axes, noise.widths, strict=True):
        covariance = (axes * widths**2 * (2 if noise.laplace else 1)) @ axes.T
        np.testing.assert_allclose(covariance, law.covariance, rtol=1e-9, atol=1e-9)


@given(seed=st.integers(0, 2**32 - 1), shorthand=st.sampled_from(VARIANTS))
def test_drawn_noise_has_the_covariance_of_its_law(seed: int, shorthand: str) -> None:
    noise = paper_noise(shorthand, some_models(seed), epsilon=1.0, delta=1e-3)
    drawn = noise.draw(np.random.default_rng(seed), 4000)
    for law, sample in zip(noise.laws, drawn, strict=True):
        spread = np.sqrt(np.trace(law.covariance))
        np.testing.assert_allclose(np.cov(sample.T), law.covariance, atol=0.4 * spread**2 + 1e-12)
    lengths = noise.lengths(np.random.default_rng(seed))
    assert lengths.shape == (4,)
    assert (lengths >= 0).all()
