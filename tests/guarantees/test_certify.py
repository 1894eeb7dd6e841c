import numpy as np
import polars as pl
import pytest

import distpriv as dp
from distpriv.guarantees.certify import certified, gaussian_certificate
from distpriv.guarantees.evidence import Evidence
from distpriv.guarantees.exact_delta import exact_delta
from distpriv.noise.laws import GaussianNoise, NoNoise

TARGET = dp.PrivacyTarget(epsilon=1, delta=1e-3)


def model(**changes: object) -> dp.QueryModel:
    given = {
        "means": {"a": [0, 0], "b": [3, 1]},
        "covariances": np.diag([25.0, 16.0]),
        "pairs": [("a", "b")],
        "steps": [1, 1],
    }
    return dp.gaussian_model(**(given | changes))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("noise", "assurance", "code"),
    [
        (GaussianNoise(axes=np.eye(2), variances=np.array([100.0, 0.5])), "assumed", "DP306"),
        (GaussianNoise(axes=np.array([[1.0], [0.0]]), variances=np.array([1e4])), "assumed", "DP305"),
        (GaussianNoise.isotropic(2, 2.0), "checked", "DP205"),
    ],
)
def test_noise_below_the_floor_or_along_one_direction_names_the_lattice_and_narrow_noise_does_not_hold(
    noise: GaussianNoise, assurance: str, code: str
) -> None:
    found = certified(model(), TARGET, noise, name="x", theorem="y").certificate
    assert (found.assurance, found.evidence[-1].code) == (assurance, code)
    assert not found.holds_at("checked")
    if code == "DP305":
        assert found.evidence[-1].facts == {"covered": 1, "dimension": 2}


def test_moments_that_were_estimated_are_not_trusted_as_gaussian() -> None:
    rng = np.random.default_rng(0)
    table = pl.DataFrame({"x": rng.integers(0, 50, 2000), "s": rng.random(2000) < 0.4})
    share = dp.Share("s", values=(0.4, 0.6))
    noise = GaussianNoise.isotropic(1, 100.0)
    for method, assurance in (("exact", "checked"), ("sampling", "assumed")):
        made = dp.model(table, dp.Query(x=dp.mean("x")), share, records=50, method=method, draws=200)  # type: ignore[arg-type]
        assert certified(made, TARGET, noise, name="x", theorem="y").certificate.assurance == assurance


def test_the_lattice_is_counted_in_delta() -> None:
    narrow = model(covariances=np.diag([1.0, 1.0]), means={"a": [0, 0], "b": [0.1, 0]})
    noise = GaussianNoise.isotropic(2, 1.0)
    found = certified(narrow, TARGET, noise, name="x", theorem="y").certificate
    smooth = dp.exact_delta(narrow, np.eye(2), epsilon=1)
    assert found.assurance == "checked"
    assert found.delta > smooth
    assert found.delta == pytest.approx(smooth, rel=1e-2, abs=1e-12)


def test_at_epsilon_zero_the_smoothing_is_added_to_the_total_variation() -> None:
    target = dp.PrivacyTarget(epsilon=0, delta=0.1)
    found = certified(model(), target, GaussianNoise.isotropic(2, 40.0), name="x", theorem="y").certificate
    exact = dp.exact_delta(model(), 1600 * np.eye(2), epsilon=0)
    assert exact <= found.delta <= exact + 1e-6


def test_a_total_variation_is_not_enough_where_odds_change_far_out() -> None:
    model = dp.gaussian_model(means={"a": [0], "b": [0]}, covariances={"a": [[1.0]], "b": [[1.6]]}, pairs=[("a", "b")])
    target = dp.PrivacyTarget.from_attack_accuracy(0.6)
    assert target.tail is not None
    little = gaussian_certificate(model, target, GaussianNoise.of(np.eye(1) * 1e-3), "")
    assert little.delta < target.delta
    assert exact_delta(model, NoNoise(dimension=1), epsilon=2.0) > target.tail.delta
    assert not little.holds
    more = gaussian_certificate(model, target, GaussianNoise.of(np.eye(1)), "")
    assert more.holds
    assert more.evidence[-1] == Evidence.of("DP214", epsilon=2.0, delta=target.tail.delta)
