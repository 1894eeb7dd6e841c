"""The pages of the worked examples quote what the examples found."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from scripts.example_numbers import EXAMPLES, PAGES, with_output
from scripts.example_numbers import TARGET as NUMBERS

from distpriv.guarantees.mean_bound import least_draws
from distpriv.mechanisms.search.coupled_draws import SETTINGS
from examples import company, hospital, regression, salaries

RECORDED: dict[str, Any] = json.loads(NUMBERS.read_text(encoding="utf-8"))

QUOTED = {
    "census": [
        "Without noise the best attacker is right {undefended_accuracy:.1%} of the time; the target allows "
        "{audit[ceiling]:.1%}",
        "the bound on the δ of `expected_value_laplace` is {claims[expected_value_laplace][delta]:.2g}",
        "On the model its δ is {claims[directional_uncertainty][delta]:.2g}",
        "is right {paper_audit[attacks][lattice][1]:.1%} of the time",
        "hold with errors of {claims[expected_value_gaussian][error]:.1f} and "
        "{claims[eigenvector_gaussian][error]:.1f}",
        "`certified_laplace` has {claims[certified_laplace][error]:.1f}",
        "would have reported {paper_audit[attacks][naive][1]:.1%}",
        "Within {half_widths[mean_age]:.1f} years and {half_widths[never_married]:.1f} people",
    ],
    "company": [
        "falls from {together[errors][mean_calls]:.2f} to {weighted[errors][mean_calls]:.2f}",
        "rises from {together[errors][recommending]:.1f} to {weighted[errors][recommending]:.1f}, of about "
        "{means[recommending]:.0f}.",
    ],
    "hospital": [
        "is right {gaussian_audit[attacks][lattice][1]:.1%} of the time",
        "the audit proves ε ≥ {gaussian_audit[epsilon_lower_bound]:.2f}",
    ],
    "regression": [
        "reveals the share in {plain[audit][before]:.1%} of cases",
        "the attack down to {plain[audit][after]:.1%}",
        "one release in ten falls below {plain[noisy_accuracy][0]:.1%}",
        "The attack drops to {balanced[audit][before]:.1%}",
        "{balanced[errors][0]:.2f} instead of {plain[errors][0]:.2f}",
        "{balanced[clean_accuracy]:.1%} without noise, {balanced[noisy_accuracy][1]:.1%} with it",
        "With {more_draws[draws]:,} the noise in the intercept is {more_draws[errors][0]:.2f}",
    ],
    "salaries": [
        "a noise of {costs[mean salary][errors][leading]:.1f} on the number who lead",
        "differ in {costs[mean salary][differing]:.1f} of the 300 records on average",
    ],
}
"""What pages say, with the places where numbers stand."""


def page_of(name: str) -> str:
    return (PAGES / f"{name}.md").read_text(encoding="utf-8")


def prose(text: str) -> str:
    return re.sub(r"\s+", " ", text)


def quotable(value: Any) -> Any:
    """Return recorded numbers so that a sentence can name them: lists of mechanisms by name, the best attack."""
    if isinstance(value, list) and value and isinstance(value[0], dict):
        return {each["mechanism"]: quotable(each) for each in value}
    if not isinstance(value, dict):
        return value
    found = {key: quotable(each) for key, each in value.items()}
    if "attacks" in value:
        found["before"], found["after"] = (max(pair[k] for pair in value["attacks"].values()) for k in (0, 1))
    return found


@pytest.mark.parametrize("name", EXAMPLES)
def test_a_page_shows_what_its_example_prints(name: str) -> None:
    page = page_of(name)
    assert with_output(page, RECORDED[name]["printed"]) == page
    assert f"python examples/{name}.py" in page
    assert f"../images/examples/{name}.svg" in page
    assert (NUMBERS.parent / f"{name}.svg").exists()


@pytest.mark.parametrize(("name", "sentence"), [(name, each) for name, several in QUOTED.items() for each in several])
def test_a_sentence_has_the_numbers_that_were_found(name: str, sentence: str) -> None:
    told = re.sub(r"(?<=\d)%", " %", sentence.format(**quotable(RECORDED[name])))
    assert told in prose(page_of(name))


def test_noise_as_a_share_of_its_statistic_is_what_was_found() -> None:
    recorded = quotable(RECORDED["hospital"])
    noise, medians = recorded["options"]["coupled_gaussian"], recorded["medians"]
    stay, cost = noise["stay_error"] / medians["median_stay"], noise["cost_error"] / medians["median_cost"]
    assert f"{100 * cost:.0f} % of the cost and {100 * stay:.0f} % of the stay" in prose(page_of("hospital"))


def test_the_picture_of_the_company_is_described_as_it_is() -> None:
    recorded = RECORDED["company"]

    def share(costs: str, statistic: str) -> str:
        return f"{100 * recorded[costs]['errors'][statistic] / recorded['means'][statistic]:.0f} %"

    page = prose(page_of("company"))
    calls, recommending = "mean_calls", "recommending"
    assert f"Spending needs {share('together', 'mean_spend')} because of the businesses" in page
    assert f"calls need {share('together', calls)} because of the reseller, and {share('weighted', calls)} with" in page
    assert f"go from {share('together', recommending)} to {share('weighted', recommending)}" in page


@pytest.mark.parametrize(
    ("name", "source"),
    [
        ("company", Path(company.__file__)),
        ("hospital", Path(hospital.__file__)),
        ("salaries", Path(salaries.__file__)),
    ],
)
def test_the_data_of_a_page_are_those_of_its_example(name: str, source: Path) -> None:
    function = re.search(r"^def \w+\(.*?(?=^\S)", source.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    assert function is not None
    assert function.group().strip() in page_of(name)


def test_the_page_of_the_regression_knows_how_many_draws_are_needed() -> None:
    delta = regression.TARGET.delta
    least = least_draws(delta * (1 - SETTINGS.failure) * (1 - SETTINGS.rounding), delta * SETTINGS.failure)
    assert f"at least {least} draws are needed" in prose(page_of("regression"))
