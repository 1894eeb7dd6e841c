"""The page of published mechanisms says what was measured, and what was measured comes out again."""

import json
from typing import Any

import pytest
from scripts.noise_numbers import DELTA, SHARES, model_of
from scripts.published_mechanisms import (
    BY_INFORMATION,
    EPSILONS,
    NUMBERS,
    PAGE,
    PUBLISHED,
    filled,
    informed,
    measured,
    on_the_floor,
    planned,
)

import distpriv as dp

RECORDED: dict[str, Any] = json.loads(NUMBERS.read_text(encoding="utf-8"))
CASES: list[dict[str, Any]] = RECORDED["cases"]
TRANSLATIONS = "W∞ Gaussian, for translations"
QUICK = [k for k, published in enumerate(PUBLISHED) if published.shape != "along and across"]


def recorded(secret: str, epsilon: float) -> dict[str, Any]:
    return next(case for case in CASES if (case["secret"], case["epsilon"]) == (secret, epsilon))


def secret_model(secret: str) -> dp.QueryModel:
    return model_of(secret, SHARES[secret][0])


def assert_alike(found: dict[str, Any], expected: dict[str, Any]) -> None:
    for key, value in expected.items():
        if isinstance(value, float):
            assert found[key] == pytest.approx(value, rel=0.01, abs=1e-9), key
        else:
            assert found[key] == value, key


def test_the_tables_of_the_page_are_made_from_the_recorded_numbers() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert filled(page, RECORDED) == page, "run python -m scripts.published_mechanisms --fill"
    for kind in ("published", "plans", "by_information"):
        changed = json.loads(json.dumps(RECORDED))
        changed["cases"][0][kind][0]["noise"] *= 2
        assert filled(page, changed) != page


def test_all_mechanisms_are_recorded_for_both_secrets_and_every_epsilon() -> None:
    assert [(case["secret"], case["epsilon"]) for case in CASES] == [(s, e) for s in SHARES for e in EPSILONS]
    for case in CASES:
        assert [(e["mechanism"], e["shape"]) for e in case["published"]] == [(p.name, p.shape) for p in PUBLISHED]
        assert [(e["mechanism"], e["shape"]) for e in case["by_information"]] == list(BY_INFORMATION)


def test_the_exact_check_confirms_all_but_the_noise_for_translations() -> None:
    missed = {
        (entry["mechanism"], case["secret"], case["epsilon"])
        for case in CASES
        for entry in (*case["published"], *case["by_information"], *case["plans"])
        if entry["exact"] and entry["delta"] is not None and entry["delta"] > DELTA
    }
    assert missed == {(TRANSLATIONS, "income", 0.2)}
    bounds = [entry["delta"] for case in CASES for entry in case["published"] if "Monge" in entry["mechanism"]]
    assert (len(bounds), sum(bound > DELTA for bound in bounds)) == (12, 2)


def test_estimates_are_never_worse_than_the_public_mean_or_the_noise() -> None:
    for case in CASES:
        for entry in (*case["published"], *case["by_information"], *case["plans"]):
            if entry["noise"] is not None:
                assert entry["estimate"] <= case["public_error"]
            if entry["noise"] is not None and entry["shape"] != "along and across":
                assert entry["estimate"] <= entry["noise"]


def test_noise_and_error_fall_as_epsilon_grows() -> None:
    for secret in SHARES:
        rising = [recorded(secret, epsilon)["published"] for epsilon in EPSILONS]
        for entries in zip(*rising, strict=True):
            for key in ("noise", "estimate", "floored"):
                known = [entry[key] for entry in entries if entry[key] is not None]
                assert known == sorted(known, reverse=True)


def test_no_published_noise_that_covers_the_lattice_beats_the_plan_s_estimate() -> None:
    for case in CASES:
        least = min(entry["floored"] for entry in case["published"] if entry["floored"] is not None)
        assert case["plans"][0]["estimate"] <= least * 1.001


def test_what_the_page_reads_off_the_tables_is_there() -> None:
    income = recorded("income", 1.0)
    noises = [e["noise"] for epsilon in (0.2, 1.0) for e in recorded("income", epsilon)["published"] if e["noise"]]
    assert round(min(noises), 1) == 11.3
    assert min(noises) > income["public_error"]
    even = [entry["estimate"] for entry in income["published"] if entry["shape"] == "isotropic"]
    assert (round(min(even), 2), round(max(even), 2)) == (5.93, 6.34)
    line = next(entry for entry in income["published"] if entry["shape"] == "along the shift")
    assert (round(line["estimate"], 2), round(line["floored"], 2)) == (3.56, 3.74)
    assert round(income["plans"][0]["estimate"], 2) == 3.09
    strict = recorded("income", 0.2)
    assert round(min(entry["estimate"] for entry in strict["published"] if entry["estimate"]), 2) == 5.51
    assert round(strict["plans"][0]["estimate"], 2) == 4.01


@pytest.mark.parametrize("k", QUICK)
def test_a_number_of_the_page_comes_out_again(k: int) -> None:
    assert_alike(measured(PUBLISHED[k], secret_model("income"), 1.0), recorded("income", 1.0)["published"][k])


@pytest.mark.slow
def test_all_numbers_of_a_case_come_out_again() -> None:
    secret, epsilon = "work class", 0.2
    model, case = secret_model(secret), recorded(secret, epsilon)
    for published, expected in zip(PUBLISHED, case["published"], strict=True):
        assert_alike(measured(published, model, epsilon), expected)
    assert_alike(planned(model, epsilon, "estimate"), case["plans"][0])
    accuracy = case["plans"][0]["attack_accuracy"]
    for key, expected in zip(BY_INFORMATION, case["by_information"], strict=True):
        assert_alike(informed(key, model, accuracy, epsilon), expected)


def test_attackers_keep_to_what_was_promised() -> None:
    for case in CASES:
        promised = case["plans"][0]["attack_accuracy"]
        assert all(entry["attack_accuracy"] <= promised for entry in case["by_information"])
        assert promised <= case["undefended_attack_accuracy"]


def test_the_floor_is_added_to_every_scenario() -> None:
    model = secret_model("income")
    floored = on_the_floor(model)
    for name, law in model.distributions.items():
        added = floored.distributions[name].covariance - law.covariance
        assert added.diagonal() == pytest.approx(model.floor**2)
