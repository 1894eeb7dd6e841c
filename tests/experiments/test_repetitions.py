import numpy as np

from distpriv.experiments.properties import GAPS, INCOME, WORK_CLASS, moments_at
from distpriv.experiments.repetitions import repeated
from distpriv.experiments.setting import RECORDS, Setting

SETTING = Setting(protocol="paper", repetitions=12, subsets=200, shadows=40, tests=60)


def test_fitted_moments_are_those_of_the_datasets_drawn_from() -> None:
    for secret in (INCOME, WORK_CLASS):
        found = repeated(secret, SETTING)
        for share in (0.3, 0.45, 0.55, 0.7):
            mean, covariance = moments_at(secret, share)
            k = found.shares.index(share)
            spread = np.sqrt(np.diag(covariance))
            # Twelve populations of about 25,000 rows each vary by themselves, so the bound is a wide one.
            assert (np.abs(found.means[:, k].mean(axis=0) - mean) < 0.15 * spread).all()
            fitted = found.covariances[:, k].mean(axis=0)
            assert (np.abs(fitted - covariance) < 0.15 * np.outer(spread, spread)).all()


def test_both_sides_of_a_pair_are_drawn_independently() -> None:
    found = repeated(INCOME, Setting(protocol="paper", repetitions=60, subsets=10, shadows=4, tests=2))
    low, high = (found.shares.index(share) for share in INCOME.shares(0.02))
    lower, upper = found.means[:, low, 2], found.means[:, high, 2]
    assert abs(np.corrcoef(lower, upper)[0, 1]) < 0.5


def test_there_is_a_model_for_every_gap_and_a_dataset_for_every_shadow() -> None:
    found = repeated(INCOME, SETTING)
    assert len(found.shares) == 2 * len(GAPS)
    assert found.shadows.shape == (12, 2, 20, 5)
    assert found.tests.shape == (12, 2, 30, 5)
    assert np.array_equal(found.tests[..., 3], np.round(found.tests[..., 3]))
    assert (found.tests[..., 2:4] <= RECORDS).all()


def test_models_of_a_wider_gap_are_farther_apart() -> None:
    found = repeated(INCOME, SETTING)
    shifts = [[model.mean_shift(("one", "other")) for model in found.models(INCOME, gap)] for gap in (0.1, 0.2, 0.4)]
    lengths = [np.linalg.norm(np.mean(each, axis=0)) for each in shifts]
    np.testing.assert_allclose(np.diff(lengths) > 0, True)
    np.testing.assert_allclose(lengths[2] / lengths[0], 4.0, rtol=0.1)
