import json
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from scripts.noise_numbers import DELTA, SEED, SHARES, measured, measured_column, measured_plan, model_of
from scripts.noise_picture import NUMBERS, PAGE, PANELS, STYLES, curves, draw, draw_worth, filled

import distpriv as dp
from distpriv.planning.candidates import CANDIDATES
from distpriv.planning.merit import Merit
from distpriv.planning.option import Option
from distpriv.planning.running import attempt
from tests.remembered import remembering

RECORDED: dict[str, Any] = json.loads(NUMBERS.read_text(encoding="utf-8"))
RECOMPUTED = ("certified_gaussian", "optimal_gaussian", "expected_value_gaussian", "group_privacy_laplace")


def recorded_plan(secret: str, epsilon: float) -> dict[str, Any]:
    return next(p for p in RECORDED["plans"] if (p["secret"], p["epsilon"]) == (secret, epsilon))


def assert_alike(found: dict[str, Any], recorded: dict[str, Any]) -> None:
    for key, value in recorded.items():
        if isinstance(value, float):
            assert found[key] == pytest.approx(value, rel=0.01, abs=1e-12), key
        else:
            assert found[key] == value, key


def test_the_tables_of_the_page_are_made_from_the_recorded_numbers() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert filled(page, RECORDED) == page
    changed = json.loads(json.dumps(RECORDED))
    changed["columns"][0]["errors"]["`certified_laplace`"] *= 2
    assert filled(page, changed) != page


def test_every_mechanism_that_adds_noise_is_in_the_picture() -> None:
    for plan in RECORDED["plans"]:
        shown = {
            name
            for trust in PANELS
            for name, points in curves(RECORDED, plan["secret"], trust).items()
            if any(point[0] == plan["epsilon"] for point in points)
        }
        assert shown == {option["mechanism"] for option in plan["options"] if option["error"] > 0}
        assert shown <= set(STYLES)


@pytest.mark.slow
def test_a_picture_is_the_same_every_time(tmp_path: Path) -> None:
    pictures = {"noise_income.svg": partial(draw, RECORDED, "income"), "worth.svg": partial(draw_worth, RECORDED)}
    for name, made in pictures.items():
        once, again = (made(tmp_path).read_bytes() for _ in range(2))
        assert once == again
        assert b"<dc:date>" not in once
        assert (NUMBERS.parent / name).exists()


def test_estimates_are_better_than_the_public_mean_and_a_sample_costs_a_little() -> None:
    for plan in RECORDED["plans"]:
        best = min(option["estimate_error"] for option in plan["estimates"] if option["holds"])
        (on_sample,) = plan["on_sample"]
        assert best < plan["public_error"]
        assert best < 1.001 * on_sample["estimate_error"] < 1.001 * plan["public_error_on_sample"]


@pytest.mark.parametrize("name", RECOMPUTED)
def test_a_number_of_the_picture_comes_out_again(name: str) -> None:
    candidate = next(candidate for candidate in CANDIDATES if candidate.name == name)
    model, target = model_of("income", SHARES["income"][0]), dp.PrivacyTarget(epsilon=1, delta=DELTA)
    found = attempt(candidate, model, target, Merit.of(model, objective="noise"), SEED)
    assert isinstance(found, Option)
    recorded = next(o for o in recorded_plan("income", 1.0)["options"] if o["mechanism"] == name)
    assert_alike(measured(found), recorded)


@pytest.mark.slow
def test_a_whole_plan_and_a_whole_column_come_out_again() -> None:
    secret, shares = "work class", SHARES["work class"][0]
    model = model_of(secret, shares)
    with remembering():  # of the plans for noise and for estimates much is the same
        plan = measured_plan(secret, model, model_of(secret, shares, "sample"), 0.2)
    before = recorded_plan(secret, 0.2)
    for part in ("options", "estimates", "on_sample"):
        for found, recorded in zip(plan[part], before[part], strict=True):
            assert_alike(found, recorded)
    column = next(c for c in RECORDED["columns"] if c["shares"] == list(shares) and c["epsilon"] == 0.2)
    assert_alike(measured_column(secret, shares, model, 0.2)["errors"], column["errors"])
