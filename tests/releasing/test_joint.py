import numpy as np
import pyarrow as pa
import pytest
from scipy.stats import multivariate_normal
from tests.releasing.shared import RECORDS, SECRET, TARGET, TOTAL, gaussian

import distpriv as dp
from distpriv.errors import BudgetSpent
from distpriv.guarantees.certify import gaussian_certificate
from distpriv.guarantees.mechanism import AdditiveMechanism
from distpriv.mechanisms.search.coupled_draws import calibration
from distpriv.modelling.from_rows import remodelled
from distpriv.noise.laws import GaussianNoise
from distpriv.progress import silent
from distpriv.releasing.joint import EarlierRelease, EarlierReleases
from distpriv.releasing.joint_draws import JointDraws
from distpriv.releasing.stack import stacked


def earlier(model: dp.QueryModel, mechanism: AdditiveMechanism) -> EarlierRelease:
    assert model.query is not None
    return EarlierRelease(query=model.query, noise=mechanism.noise)


def after(
    model: dp.QueryModel, mechanism: AdditiveMechanism, total: dp.PrivacyTarget, seed: int | None = None
) -> EarlierReleases:
    return EarlierReleases(releases=(earlier(model, mechanism),), total=total, seed=seed)


def test_the_same_statistic_with_other_noise_is_certified_by_its_exact_joint_delta(table: pa.Table) -> None:
    model, mechanism = gaussian(table, {"age": dp.mean("age")})
    made, joint = after(model, mechanism, TOTAL).calibrated(model, mechanism, "checked")
    both = remodelled(model, dp.Query(one=dp.mean("age"), two=dp.mean("age + 0")))
    noise = stacked([mechanism.noise, made.noise])
    assert isinstance(noise, GaussianNoise)
    exact = dp.exact_delta(both, noise, epsilon=TOTAL.epsilon)
    assert joint.law is not None
    assert joint.delta == pytest.approx(max(exact, joint.law.delta), rel=1e-3)
    assert joint.holds
    # Two looks at one number are one look with half the variance.
    half = 1 / sum(1 / law.covariance[0, 0] for law in (mechanism.noise, made.noise))
    assert exact == pytest.approx(dp.exact_delta(model, [[half]], epsilon=TOTAL.epsilon), rel=1e-6)


def test_adding_epsilons_up_is_wrong_where_two_harmless_releases_say_everything_together(table: pa.Table) -> None:
    mixed, first = gaussian(table, {"mixed": dp.mean("mixed")})
    blur, second = gaussian(table, {"blur": dp.mean("blur")})
    for model, mechanism in ((mixed, first), (blur, second)):  # each alone is nearly free
        assert dp.exact_epsilon(model, mechanism, delta=1e-3) < 0.1
        assert mechanism.noise.expected_rms < 0.11 * model.distributions["rich @ 0.4"].covariance[0, 0] ** 0.5
    both = remodelled(mixed, dp.Query(mixed=dp.mean("mixed"), blur=dp.mean("blur")))
    narrow = [GaussianNoise.isotropic(1, 0.1), GaussianNoise.isotropic(1, 0.1)]
    assert dp.exact_epsilon(mixed, narrow[0], delta=1e-3) < 0.1
    assert dp.exact_epsilon(blur, narrow[1], delta=1e-3) < 0.1
    assert dp.exact_epsilon(both, stacked(narrow), delta=1e-3) > 2
    made, joint = after(mixed, first, TOTAL).calibrated(blur, second, "checked")
    assert joint.holds
    assert made.noise.expected_rms >= second.noise.expected_rms
    assert dp.exact_delta(both, stacked([first.noise, made.noise]), epsilon=TOTAL.epsilon) <= TOTAL.delta


def test_noise_is_widened_no_more_than_it_must(table: pa.Table) -> None:
    model, mechanism = gaussian(table, {"age": dp.mean("age"), "mixed": dp.mean("mixed")})
    tight = dp.PrivacyTarget(epsilon=1.2, delta=1.2e-3)
    made, joint = after(model, mechanism, tight).calibrated(model, mechanism, "checked")
    assert joint.holds_at("checked")
    factor = made.noise.expected_rms / mechanism.noise.expected_rms
    assert factor > 1.1
    assert made.certificate.holds
    assert "times as wide" in str(made.certificate)
    both = remodelled(model, dp.Query([(f"{k}{n}", s) for k in "ab" for n, s in model.query.statistics]))  # type: ignore[union-attr]
    assert isinstance(made.noise, GaussianNoise)
    less = GaussianNoise(axes=made.noise.axes, variances=made.noise.variances / 1.02**2)
    known = gaussian_certificate(both, tight, stacked([mechanism.noise, less]), "the exact check")
    assert not known.holds_at("checked")


def test_where_no_noise_helps_it_is_refused(table: pa.Table) -> None:
    model, mechanism = gaussian(table, {"age": dp.mean("age")})
    small = dp.PrivacyTarget(epsilon=0.5, delta=1e-4)
    with pytest.raises(BudgetSpent):
        after(model, mechanism, small).calibrated(model, mechanism, "checked")


def test_a_first_release_may_spend_less_than_the_total_and_is_taken_as_it_is(table: pa.Table) -> None:
    model, mechanism = gaussian(table, {"age": dp.mean("age")})
    made, joint = EarlierReleases(releases=(), total=TOTAL).calibrated(model, mechanism, "checked")
    assert made == mechanism
    assert joint.holds
    assert joint.target == TOTAL


def test_noise_that_was_chosen_with_a_seed_is_tested_on_other_draws_of_the_same_seed() -> None:
    table = pa.table({"x": np.arange(8000) * 7919 % 1009 * (np.arange(8000) % 2 + 1), "s": np.arange(8000) % 2 < 1})
    target = dp.PrivacyTarget(epsilon=1, delta=0.1)
    model = dp.model(table, dp.Query(x=dp.mean("x")), dp.Share("s", values=(0.4, 0.5)), records=20)
    noise = dp.mechanisms.coupled_gaussian(model, target, seed=7, draws=4000).noise

    def drawn(seed: int) -> set[float]:
        draws = JointDraws.of(model, [], noise, target, seed)
        return set(draws.moves[0][:200, 2].tolist())

    chosen = calibration(
        model, target, name="coupled_gaussian", pairing=None, draws=None, seed=7, progress=silent
    ).tests(lambda moved: np.abs(moved[:, 0]) / noise.expected_rms)
    assert drawn(7) == drawn(7)
    assert {round(v, 9) for v in drawn(7)} != {round(v, 9) for v in chosen[0][:200].tolist()}


@pytest.mark.slow
def test_statistics_without_a_gaussian_model_are_certified_together_by_coupled_draws(table: pa.Table) -> None:
    middle = dp.model(table, dp.Query(middle=dp.quantile("age", 0.5)), SECRET, records=RECORDS)
    mean = dp.model(table, dp.Query(age=dp.mean("age")), SECRET, records=RECORDS)
    first = dp.mechanisms.coupled_gaussian(mean, TARGET, seed=1)
    second = dp.mechanisms.coupled_laplace(middle, TARGET, seed=2, draws=40_000)
    total = dp.PrivacyTarget(epsilon=1.5, delta=4e-3)
    made, joint = after(mean, first, total, seed=3).calibrated(middle, second, "proved")
    assert joint.assurance == "proved"
    assert joint.holds
    assert made.noise.expected_rms >= second.noise.expected_rms
    # An estimate of the true joint divergence, by densities of mixtures on fresh draws, stays below.
    both = remodelled(mean, dp.Query(age=dp.mean("age"), middle=dp.quantile("age", 0.5)))
    assert _estimated(both, first.noise, made.noise, total.epsilon) <= total.delta


def _estimated(model: dp.QueryModel, first: object, second: object, epsilon: float) -> float:
    """Estimate H_ε with the second noise taken as Gaussian of the same covariance."""
    noise = stacked([first, second]).covariance  # type: ignore[list-item]
    one, other = (model.samples(name, 1500, seed=9) for name in model.distributions)
    points = one + np.random.default_rng(4).multivariate_normal(np.zeros(2), noise, size=len(one))
    logs = []
    for centres in (one, other):
        densities = [multivariate_normal(np.zeros(2), noise).pdf(points - centre) for centre in centres]
        logs.append(np.log(np.mean(densities, axis=0)))
    return float(np.maximum(0.0, 1 - np.exp(epsilon - (logs[0] - logs[1]))).mean())
