import numpy as np
import pyarrow as pa
import pytest
from tests.auditing.shared import TOY, accuracy, fresh, view

import distpriv as dp
from distpriv.auditing.attacks import BayesAttack, adaptive_attack
from distpriv.auditing.experiment import AttackAccuracies, attack_accuracies
from distpriv.errors import InvalidInput
from distpriv.guarantees.mechanism import AdditiveMechanism
from distpriv.noise.laws import GaussianNoise, NoiseLaw, NoNoise

TABLE_3 = {
    "expected_value_gaussian": [(0.492, 0.500, 0.502), (0.506, 0.511, 0.520), (0.530, 0.539, 0.549)],
    "eigenvector_gaussian": [(0.507, 0.501, 0.512), (0.510, 0.512, 0.503), (0.537, 0.550, 0.545)],
    "directional_uncertainty": [(0.517, 0.508, 0.511), (0.548, 0.545, 0.562), (0.714, 0.739, 0.744)],
}
"""The paper's Table 3: rows ε = 0.2, 1, 5, columns δ = 0.0001, 0.001, 0.01."""
SHARES = (10_000 / 45_222, 10_000 / 45_222)


@pytest.fixture(scope="module")
def income(adult: pa.Table, paper_query: dp.Query) -> dp.QueryModel:
    return dp.model(adult, paper_query, dp.Share("income = '>50K'", values=(0.45, 0.55)), records=100)


def table_3(model: dp.QueryModel) -> dict[str, tuple[float, AdditiveMechanism]]:
    """Return the 27 cells by name: the paper's accuracy and the mechanism."""
    return {
        f"{name}, ε = {epsilon}, δ = {delta}": (
            accuracy,
            getattr(dp.mechanisms, name)(
                model,
                dp.PrivacyTarget(epsilon=epsilon, delta=delta),
                radius="classic",
                **({} if name == "expected_value_gaussian" else {"covariance": "pooled"}),
            ),
        )
        for name, rows in TABLE_3.items()
        for epsilon, row in zip((0.2, 1, 5), rows, strict=True)
        for delta, accuracy in zip((1e-4, 1e-3, 1e-2), row, strict=True)
    }


@pytest.mark.slow
def test_the_naive_attacker_reproduces_table_3_and_bayes_is_stronger(income: dp.QueryModel) -> None:
    cells = table_3(income)
    found = attack_accuracies(income, {name: mechanism for name, (_, mechanism) in cells.items()}, shares=SHARES)
    off = [
        abs(found.mean(name, "naive") - published) / found.standard_error(name, "naive")
        for name, (published, _) in cells.items()
    ]
    assert sum(errors <= 3 for errors in off) >= 25
    assert sum(errors <= 3 * 2**0.5 for errors in off) >= 26  # the published means have standard errors of their own
    for name in cells:
        strongest = max(found.mean(name, "adaptive"), found.mean(name, "bayes"))
        assert strongest > found.mean(name, "naive") - 2 * found.standard_error(name, "naive"), name
    assert found.mean("expected_value_gaussian, ε = 5, δ = 0.001", "adaptive") >= 0.63
    assert found.mean("expected_value_gaussian, ε = 5, δ = 0.001", "bayes") >= 0.64


def test_undefended_the_paper_s_attack_is_right_three_times_in_four(income: dp.QueryModel) -> None:
    found = attack_accuracies(income, {"undefended": NoNoise(dimension=5)}, attacks=["naive"], shares=SHARES)
    assert 0.74 <= found.mean("undefended", "naive") <= 0.76
    assert found.standard_error("undefended", "naive") < 0.006


def test_the_paper_s_attacker_overstates_the_protection(income: dp.QueryModel) -> None:
    target = dp.PrivacyTarget(epsilon=5, delta=1e-3)
    mechanism = dp.mechanisms.expected_value_gaussian(income, target, radius="classic")
    found = attack_accuracies(income, {"ExpM": mechanism}, shares=SHARES)
    assert found.mean("ExpM", "naive") == pytest.approx(0.54, abs=0.02)
    assert found.mean("ExpM", "adaptive") >= 0.63
    assert found.mean("ExpM", "bayes") == pytest.approx(0.658, abs=0.015)


def test_with_forty_thousand_shadows_the_adaptive_attack_is_as_good_as_bayes_on_adult_too(
    income: dp.QueryModel,
) -> None:
    noise = dp.mechanisms.expected_value_gaussian(income, dp.PrivacyTarget(epsilon=5, delta=1e-3)).noise
    seen, tests = view(income, noise, 40_000), fresh(income, noise, 100_000)
    bayes = accuracy(BayesAttack().fit(seen), tests)
    assert accuracy(adaptive_attack().fit(seen), tests) > bayes - 0.01


def small(laws: dict[str, NoiseLaw], seed: int = 0) -> AttackAccuracies:
    return attack_accuracies(TOY, laws, repetitions=4, attacks=["naive", "quadratic"], seed=seed)


def test_the_same_seed_gives_the_same_numbers_and_mechanisms_do_not_disturb_each_other() -> None:
    loud, soft = GaussianNoise.isotropic(2, 5.0), GaussianNoise.isotropic(2, 0.1)
    both = small({"loud": loud, "soft": soft})
    assert both == small({"loud": loud, "soft": soft})
    assert both != small({"loud": loud, "soft": soft}, seed=1)
    assert both.accuracies.shape == (2, 2, 4)
    assert np.array_equal(both.accuracies[0], small({"loud": loud}).accuracies[0])
    assert both.mean("soft", "naive") > both.mean("loud", "naive") + 0.05


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"mechanisms": {}}, "mechanisms must be at least one, .*: give them by name"),
        ({"mechanisms": {"odd": NoNoise(dimension=3)}}, "each for the model's 2 statistics"),
        ({"shadows": 2}, "shadows must be a whole number, at least 4"),
        ({"repetitions": 1}, "repetitions must be a whole number, at least 2"),
    ],
)
def test_what_makes_no_experiment_is_refused(options: dict[str, object], message: str) -> None:
    given = {"mechanisms": {"none": NoNoise(dimension=2)}} | options
    with pytest.raises(InvalidInput, match=message):
        attack_accuracies(TOY, **given)  # type: ignore[arg-type]
