"""Models of several secrets at once: weights under which all of them have their values, and what follows from them."""

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from attrs import evolve
from hypothesis import given, settings
from hypothesis import strategies as st

import distpriv as dp
from distpriv.errors import InvalidExpression, InvalidSecret
from distpriv.framework.tilts import Tilt
from distpriv.modelling.tilting import property_of, row_weights

QUERY = dp.Query(age=dp.mean("age"), women=dp.count("sex = 'Female'"))
RICH = dp.Share("income = '>50K'", values=(0.3, 0.4))
HOURS = dp.Mean("hours_per_week", values=(39, 42))
PARTS = {
    "mean": Tilt(kind="mean", expressions=("a",), value=0.2),
    "share": Tilt(kind="share", expressions=("b > 0",), value=0.6),
    "quantile": Tilt(kind="quantile", expressions=("c",), level=0.5, value=0.3),
    "correlation": Tilt(kind="correlation", expressions=("b", "c"), value=0.15),
}


def made(adult: pa.Table, secret: Any, **options: Any) -> dp.QueryModel:
    return dp.model(adult.slice(0, 4000), QUERY, secret, records=100, **{"reference": "population", **options})


def numbers_of(parts: list[str], seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    a, b, c = rng.normal(size=(3, 400))
    columns = {"mean": [a], "share": [(b > 0).astype(float)], "quantile": [c], "correlation": [b, c]}
    return np.array([column for part in parts for column in columns[part]])


@given(st.lists(st.sampled_from(list(PARTS)), min_size=2, max_size=4, unique=True), st.integers(0, 1000))
@settings(max_examples=25, deadline=None)
def test_all_properties_have_their_values_and_no_weights_are_nearer(parts: list[str], seed: int) -> None:
    """Relative entropy to even weights is no larger than that of other weights under which all of them hold."""
    numbers, joint = numbers_of(parts, seed), Tilt.joint(PARTS[part] for part in parts)
    weights = row_weights(joint, numbers)
    start = 0
    fixed = [np.ones(400)]
    for part in joint.parts:
        own = numbers[start : start + len(part.numbers)]
        start += len(part.numbers)
        wanted = part.value if part.level is None else part.level
        assert property_of(part, own, weights) == pytest.approx(wanted, abs=1e-9)
        fixed += [own[0] <= part.value] if part.kind == "quantile" else [*own, *(own**2), own[0] * own[-1]]
    entropy = float(weights @ np.log(weights * 400))
    away = np.linalg.svd(np.array(fixed, dtype=float))[2][np.linalg.matrix_rank(np.array(fixed, dtype=float)) :]
    rng = np.random.default_rng(seed)
    for _ in range(20):
        moved = away.T @ rng.normal(size=len(away))
        other = weights + 0.3 * moved * np.min(weights / np.maximum(np.abs(moved), 1e-300))
        assert float(other @ np.log(other * 400)) >= entropy - 1e-9


def test_two_shares_at_once_are_four_cells_fitted_to_their_margins(adult: pa.Table) -> None:
    """The weights of two shares are those that fitting the margins in turn comes to."""
    some = adult.slice(0, 4000)
    model = made(adult, dp.Combinations(RICH, dp.Share("sex = 'Female'", values=(0.3, 0.5))))
    rich = np.array([each == ">50K" for each in some["income"].to_pylist()])
    women = np.array([each == "Female" for each in some["sex"].to_pylist()])
    weights = np.full(4000, 1 / 4000)
    for _ in range(200):
        for which, share in ((rich, 0.4), (women, 0.5)):
            weights = np.where(which, weights * share / weights[which].sum(), weights)
            weights = np.where(which, weights, weights * (1 - share) / weights[~which].sum())
    age = some["age"].to_numpy()
    law = model.distributions["share(income = '>50K') @ 0.4 and share(sex = 'Female') @ 0.5"]
    mean = weights @ age
    np.testing.assert_allclose(law.mean, [mean, 50.0], rtol=1e-9)
    assert law.covariance[0, 0] == pytest.approx(weights @ (age - mean) ** 2 / 100, rel=1e-9)


@pytest.mark.parametrize("reference", ["population", "sample"])
def test_noise_for_combinations_hides_which_of_any_two_it_is(adult: pa.Table, reference: str) -> None:
    target = dp.PrivacyTarget(epsilon=1, delta=0.01)
    model = made(adult, dp.Combinations(RICH, HOURS), reference=reference)
    noise = dp.mechanisms.certified_gaussian(model, target)
    assert noise.certificate.holds
    for pair in model.protected_pairs:
        alone = evolve(model, protected_pairs=(pair, pair[::-1]))
        assert dp.exact_delta(alone, noise, epsilon=1) <= target.delta


def test_combinations_across_references_and_beside_other_secrets(adult: pa.Table) -> None:
    model = made(adult, dp.Combinations(RICH, HOURS), robust=[adult.slice(4000, 4000)])
    assert len(model.scenarios) == 8
    assert len(model.protected_pairs) == 12 * 4
    beside = made(adult, [dp.Combinations(RICH, HOURS), dp.Share("sex = 'Female'", values=(0.3, 0.4))])
    assert len(beside.scenarios) == 6


def test_values_that_rows_cannot_have_at_once_are_refused(adult: pa.Table) -> None:
    twice = dp.Combinations(dp.Mean("age", values=(38, 40)), dp.Mean("age + 1", values=(38, 40)))
    with pytest.raises(InvalidSecret, match=r"it cannot be that mean\(age\) is 38 and mean\(age \+ 1\) is 38"):
        made(adult, twice)
    with pytest.raises(InvalidSecret, match=r"share\(income = '>50K'\) cannot be 0: .* give a share"):
        made(adult, dp.Combinations(dp.Share("income = '>50K'", values=(0, 0.4)), HOURS))
    with pytest.raises(InvalidExpression, match="not true or false"):
        made(adult, dp.Combinations(dp.Share("age", values=(0.3, 0.4)), HOURS))
    far = dp.Share("income = '>50K' AND hours_per_week < 20", values=(0.6, 0.8))
    with pytest.raises(InvalidSecret, match="effective number"):
        made(adult, dp.Combinations(far, HOURS))
