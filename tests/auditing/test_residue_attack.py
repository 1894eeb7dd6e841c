"""Residues that are planted in releases are read off, and nothing else is."""

from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pytest
from attrs import evolve
from tests.auditing.shared import PERIOD, TARGET, TOY, accuracy, fresh, planted, thin, view

import distpriv as dp
from distpriv.auditing.arsenal import ARSENAL
from distpriv.auditing.attacks import BayesAttack
from distpriv.auditing.residue_attack import ResidueAttack, residue_accuracy, telling_frequencies
from distpriv.framework.arrays import Floats
from distpriv.noise.laws import GaussianNoise

BEFORE = [name for name in ARSENAL if name not in ("residue", "projection")]
"""Attacks that take statistics for Gaussian, or learn from shadows alone."""


@pytest.mark.parametrize("dimension", [1, 3])
def test_a_planted_residue_is_read_off(dimension: int) -> None:
    model = planted(dimension, dimension)
    noise = thin(model).noise
    seen = view(model, noise)
    found = telling_frequencies(seen, *seen.shadows.released)
    assert abs(found[0, -1]) * PERIOD / (2 * np.pi) == pytest.approx(1, abs=0.1)
    assert accuracy(ResidueAttack().fit(seen), fresh(model, noise, 4000)) > 0.8
    assert accuracy(BayesAttack().fit(seen), fresh(model, noise, 4000)) < 0.56


def test_a_residue_is_found_without_rows_to_look_at() -> None:
    model = planted(1, 1)
    noise = thin(model).noise
    seen = view(model, noise)
    blind = evolve(seen, model=evolve(model, simulator=None))
    assert accuracy(ResidueAttack().fit(blind), fresh(model, noise, 4000)) > 0.8


def test_noise_that_is_wide_against_the_period_leaves_nothing_to_read() -> None:
    model = planted(2, 2)
    noise = GaussianNoise.isotropic(2, 2 * PERIOD)
    seen = view(model, noise)
    assert telling_frequencies(seen, *seen.shadows.released).shape == (0, 2)
    tests = fresh(model, noise, 400).released[0]
    assert np.array_equal(ResidueAttack().fit(seen).score(tests), BayesAttack().fit(seen).score(tests))


def test_where_nothing_repeats_the_attack_is_bayes() -> None:
    seen = view(TOY, GaussianNoise.isotropic(2, 1.0))
    tests = fresh(TOY, seen.noise, 400).released[0]
    assert np.array_equal(ResidueAttack().fit(seen).score(tests), BayesAttack().fit(seen).score(tests))
    assert residue_accuracy(TOY, seen.noise) == {}


def test_units_do_not_matter() -> None:
    model = planted(3, 2)
    noise = thin(model).noise
    one = view(model, noise)
    units = np.array([1e-4, 1e5])
    scaled = evolve(
        one,
        model=evolve(
            model,
            simulator=None,
            distributions={
                name: evolve(law, mean=law.mean * units, covariance=law.covariance * np.outer(units, units))
                for name, law in model.distributions.items()
            },
        ),
        noise=GaussianNoise.of(noise.covariance * np.outer(units, units)),
    )
    plain = evolve(one, model=evolve(model, simulator=None))
    found = telling_frequencies(plain, *one.shadows.released)
    other = telling_frequencies(scaled, *(part * units for part in one.shadows.released))
    assert len(found) == len(other)


def test_what_residues_are_said_to_tell_at_least_is_what_an_attack_reaches() -> None:
    model = planted(3, 2)
    noise = thin(model).noise
    least = residue_accuracy(model, noise)[model.protected_pairs[0]]
    reached = accuracy(ResidueAttack().fit(view(model, noise)), fresh(model, noise, 20_000))
    assert 0.7 < least <= reached + 0.02


def test_the_audit_fails_where_a_residue_is_left_and_passed_before() -> None:
    model = planted(3, 2)
    leaking = thin(model)
    assert leaking.certificate.holds
    assert not dp.audit(leaking, model=model, releases=4000, shadows=2000, attacks=["bayes", "adaptive"]).failed
    report = dp.audit(leaking, model=model, releases=4000, shadows=2000, attacks=["bayes", "residue", "projection"])
    assert report.failed
    assert {attack.name for attack in report.attacks if attack.epsilon_lower_bound > 2} == {"residue", "projection"}


def test_the_pair_whose_residue_tells_is_attacked_where_moments_point_to_another() -> None:
    table = planted(3, 1).rows()
    rows = table.row_laws()
    columns = {
        "g": np.repeat([1, 0], [len(part) for part in rows.strata]),
        "x": 20 * np.concatenate([part.values[:, 0] for part in rows.strata]),
    }
    several = dp.Share("g = 1", values=(0.2, 0.4, 0.6, 0.8))
    model = dp.model(pa.table(columns), dp.Query(x=dp.total("x")), several, records=20)
    noise = thin(model, 0.02).noise
    told = residue_accuracy(model, noise)
    report = dp.audit(thin(model, 0.02), model=model, releases=1000, shadows=400, attacks=["residue"])
    assert told[report.pair] == max(told.values()) > 0.8


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(20))
def test_twenty_planted_residues_are_found(seed: int) -> None:
    model = planted(seed, 1 + seed % 4)
    leaking = thin(model)
    assert leaking.certificate.holds
    for attack in ("residue", "projection"):
        assert dp.audit(leaking, model=model, releases=20_000, attacks=[attack]).failed
    if model.dimension > 2:  # a tree finds a single statistic's residue by itself
        assert not dp.audit(leaking, model=model, releases=20_000, attacks=BEFORE).failed


SMOOTH: list[Callable[[np.random.Generator, int], Floats]] = [
    lambda rng, m: rng.normal(size=(1500, m)),
    lambda rng, m: rng.exponential(size=(1500, m)),
    lambda rng, m: np.exp(rng.normal(size=(1500, m)) / 2),
    lambda rng, m: rng.uniform(size=(1500, m)) @ rng.normal(size=(m, m)),
    lambda rng, m: rng.normal(size=(1500, m)) + 4 * (rng.random((1500, m)) < 0.3),
    lambda rng, m: rng.integers(0, 6, (1500, m)).astype(np.float64),
]


def sound_model(seed: int) -> dp.QueryModel:
    """Return statistics of one to three columns that no lattice is near, that one is near, or with a residue."""
    rng = np.random.default_rng(seed)
    if seed % 5 == 4:
        return planted(seed, 1 + seed % 3)
    group = rng.integers(0, 2, 1500)
    values = SMOOTH[seed % 6](rng, 1 + seed % 3) + 0.3 * group[:, np.newaxis] * rng.normal(size=1 + seed % 3)
    columns = dict(zip("xyz", values.T, strict=False))
    query = dp.Query({name: dp.mean(name) for name in columns})
    return dp.model(pa.table({"g": group} | columns), query, dp.Share("g = 1", values=(0.45, 0.55)), records=40)


@pytest.mark.slow
def test_of_fifty_sound_mechanisms_one_at_most_is_flagged() -> None:
    flagged = 0
    targets = [(1, 1e-3), (0.2, 1e-3), (0, 0.1), (3, 1e-2), (0.5, 0.05)]
    for seed in range(50):
        epsilon, delta = targets[seed % 5]
        make = dp.mechanisms.certified_laplace if seed % 4 == 3 and epsilon else dp.mechanisms.certified_gaussian
        model = sound_model(seed)
        mechanism = make(
            model, dp.PrivacyTarget(epsilon=epsilon, delta=delta)
        )  # if it does not hold, its target is attacked
        attacks = ["bayes", "residue", "projection"]
        flagged += dp.audit(mechanism, model=model, releases=20_000, attacks=attacks, seed=seed).failed
    assert flagged <= 1


def test_with_noise_that_the_rows_certify_a_planted_residue_passes() -> None:
    model = planted(1, 1)
    mechanism = dp.mechanisms.certified_gaussian(model, TARGET)
    assert mechanism.certificate.holds_at("checked")
    assert not dp.audit(mechanism, model=model, releases=20_000, attacks=["residue", "projection"]).failed
