"""The worked examples, run as they are: each must tell the story that its page tells."""

import io
import json
from contextlib import redirect_stdout
from typing import Any

import pytest
from scripts.example_numbers import EXAMPLES, numbers
from scripts.example_numbers import TARGET as NUMBERS

from distpriv.auditing.report import AuditReport
from examples import census, company, hospital, regression, salaries

RECORDED: dict[str, Any] = json.loads(NUMBERS.read_text(encoding="utf-8"))

pytestmark = pytest.mark.slow


def ran(name: str) -> Any:
    """Run an example, which must print something and find what is recorded for its page."""
    with redirect_stdout(io.StringIO()) as printed:
        result = EXAMPLES[name]()
    assert len(printed.getvalue().splitlines()) > 8
    found = numbers(result)
    assert_alike(found, {key: RECORDED[name][key] for key in found}, name)
    return result


def assert_alike(found: Any, recorded: Any, where: str) -> None:
    if isinstance(recorded, dict):
        assert set(found) == set(recorded), where
        for key, value in recorded.items():
            assert_alike(found[key], value, f"{where}: {key}")
    elif isinstance(recorded, list):
        assert len(found) == len(recorded), where
        for number, value in enumerate(recorded):
            assert_alike(found[number], value, f"{where}: {number}")
    elif isinstance(recorded, float):
        assert found == pytest.approx(recorded, rel=0.03, abs=1e-6), where
    else:
        assert found == recorded, where


def before(audit: AuditReport) -> float:
    return max(attack.undefended.accuracy for attack in audit.attacks)


def assert_within_the_claim(audit: AuditReport) -> None:
    """The bounds hold with confidence; the measured accuracy may exceed the ceiling by its own margin."""
    best = audit.attacks[0]
    assert audit.certificate_holds
    assert not audit.failed
    assert best.defended.interval[0] <= audit.attack_accuracy_ceiling


def test_the_census_is_told_apart_before_and_hidden_after() -> None:
    found: census.Census = ran("census")
    assert found.undefended_accuracy > 0.7
    assert before(found.audit) > 0.7
    assert_within_the_claim(found.audit)
    assert found.certificate_holds
    assert set(found.released) == set(found.half_widths)
    # The paper's best mechanism meets its δ on the model, and is read off all the same.
    claims = {claim.mechanism: claim for claim in found.claims}
    best = claims["directional_uncertainty"]
    assert best.delta < census.TARGET.delta
    assert not best.holds
    assert found.paper_audit.failed
    assert found.paper_audit.attacks[0].name == "lattice"
    assert claims["expected_value_laplace"].delta > census.TARGET.delta
    assert claims[found.chosen].error == min(claim.error for claim in found.claims if claim.holds)
    assert claims[found.chosen].error < claims["expected_value_gaussian"].error / 4


def test_a_company_hides_three_secrets_at_the_price_of_the_dearest_in_each_statistic() -> None:
    found: company.Company = ran("company")
    assert found.certificate_holds
    for name, error in found.together.errors.items():
        dearest = max(costs.errors[name] for costs in found.alone.values())
        total = sum(costs.errors[name] for costs in found.alone.values())
        assert dearest * 0.9 < error < max(1.5 * dearest, total)
    assert found.together.undefended_accuracy == pytest.approx(
        max(costs.undefended_accuracy for costs in found.alone.values())
    )
    # Weights buy precision in one statistic with that of another.
    assert found.weighted.errors["mean_calls"] < 0.5 * found.together.errors["mean_calls"]
    assert found.weighted.errors["recommending"] > found.together.errors["recommending"]
    assert before(found.audits["businesses"]) > 0.7
    for audit in found.audits.values():
        assert_within_the_claim(audit)


def test_a_hospital_needs_no_law_of_its_medians() -> None:
    found: hospital.Hospital = ran("hospital")
    assert found.distance_from_normal > 0.3
    assert found.assurance == "proved"
    assert found.certificate_holds
    assert found.chosen == found.chosen_at_checked == "coupled_gaussian"
    options = {option.mechanism: option for option in found.options}
    assert options["certified_gaussian"].assurance == "assumed"
    assert options["certified_gaussian"].stay_error < options[found.chosen].stay_error
    assert not options["directional_uncertainty"].holds
    assert found.gaussian_audit.failed
    assert before(found.audit) > 0.7
    assert_within_the_claim(found.audit)


def test_a_regression_is_published_without_its_class_balance_and_still_predicts() -> None:
    found: regression.Regression = ran("regression")
    for published in (found.plain, found.balanced):
        assert published.certificate_holds
        assert published.assurance == "proved"
        assert_within_the_claim(published.audit)
    assert before(found.plain.audit) > 0.95
    assert before(found.balanced.audit) < 0.6
    assert found.balanced.errors[0] < 0.4 * found.plain.errors[0]
    low, middle, _ = found.balanced.noisy_accuracy
    assert found.balanced.clean_accuracy - middle < 0.02
    assert low > found.plain.noisy_accuracy[0] + 0.05


def test_a_firm_hides_a_mean_a_median_and_a_correlation() -> None:
    found: salaries.Salaries = ran("salaries")
    assert found.certificate_holds
    assert found.costs["mean salary"].undefended_accuracy > 0.8
    assert found.costs["pay for age"].undefended_accuracy < 0.65
    assert all(cost.accuracy < 0.57 for cost in (*found.costs.values(), found.grid))
    assert 20 < found.costs["mean salary"].differing < 60
    assert before(found.audit) > 0.8
    assert_within_the_claim(found.audit)
