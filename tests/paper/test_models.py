import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from paper.errors import laplace_epsilon
from paper.models import FACTORS, delta_of, exact_models, mechanism_of, model_of_rows, moments, noise_of, strata
from paper.repetitions import draw_datasets
from paper.setting import INCOME, MECHANISMS, SECRETS, VARIANTS, WORK_CLASS, Secret

import distpriv as dp


@pytest.mark.parametrize("secret", SECRETS, ids=lambda secret: secret.name)
def test_moments_at_shares_of_whole_records_are_those_of_the_library(secret: Secret) -> None:
    for share, law in zip(secret.shares(), model_of_rows(secret).distributions.values(), strict=True):
        mean, covariance = moments(secret, share)
        np.testing.assert_allclose(mean, law.mean, rtol=1e-9)
        np.testing.assert_allclose(covariance, law.covariance, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", MECHANISMS)
def test_noise_is_the_same_for_the_model_by_moments_and_the_model_of_rows(name: str) -> None:
    for epsilon in (0.2, 5.0):
        ours = noise_of(name, exact_models(INCOME, 0.1)[0], epsilon, 1e-3)
        theirs = mechanism_of(name, model_of_rows(INCOME), epsilon, 1e-3).noise
        np.testing.assert_allclose(ours.covariance, theirs.covariance, rtol=1e-6, atol=1e-9)
        assert ours.expected_l2 == pytest.approx(theirs.expected_l2)


def test_every_listed_mechanism_is_one() -> None:
    assert {one.function for one in MECHANISMS.values()} <= set(dp.mechanisms.__all__)
    assert set(VARIANTS) < set(MECHANISMS)


def test_some_noise_does_not_hold_what_it_claims() -> None:
    assert delta_of(INCOME, 0.1, "DauM (G)", 0.2, 1e-3) == pytest.approx(2.39e-3, rel=5e-3)
    assert delta_of(INCOME, 0.1, "DauM (G)", 1.0, 1e-3) == pytest.approx(4.1e-5, rel=1e-2)
    for secret in SECRETS:
        for name in ("ExpM (L)", "DirM (L)"):
            assert delta_of(secret, secret.gap, name, 1.0, 1e-3) > 0
    assert laplace_epsilon(INCOME) == pytest.approx(1.040, abs=1e-3)
    assert laplace_epsilon(WORK_CLASS) == pytest.approx(1.157, abs=1e-3)


@given(seed=st.integers(0, 2**32 - 1), share=st.sampled_from([0.3, 0.45, 0.5, 0.7]))
def test_datasets_have_the_modelled_moments(seed: int, share: float) -> None:
    values = draw_datasets(np.random.default_rng(seed), strata(INCOME), [share], 2000)[share]
    mean, covariance = moments(INCOME, share)
    spread = np.sqrt(np.diag(covariance))
    assert (np.abs(values.mean(axis=0) - mean) < 6 * spread / np.sqrt(2000)).all()
    assert (np.abs(np.cov(values.T) - covariance) < 6 * np.sqrt(2 / 2000) * np.outer(spread, spread)).all()


def test_a_dataset_has_distinct_rows() -> None:
    rows = np.tile([[1.0], [10.0], [100.0]], (1, 5)), np.zeros((5000, 5))
    drawn = draw_datasets(np.random.default_rng(0), rows, [0.02], 300)[0.02]
    assert set((drawn / FACTORS)[:, 2]) == {11.0, 101.0, 110.0}
