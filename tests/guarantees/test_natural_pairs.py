"""A mean beside the count of a rare predicate, with noise along a line: certificates against exact laws."""

import pytest
from tests.guarantees.exact_laws import exact_delta

import distpriv as dp

MEXICO, PRIVATE = "native_country = 'Mexico'", "workclass = 'Private'"
RICH = "income = '>50K'"
CASES = {
    "Mexicans by sector": ("education_num", MEXICO, PRIVATE, (0.1, 0.5), 200, 1.0, 1e-5),
    "older Mexicans by sector": ("age", MEXICO, PRIVATE, (0.1, 0.7), 500, 2.0, 2.5e-5),
    "doctors by income": ("age", "education = 'Doctorate'", RICH, (0.3, 0.7), 200, 1.0, 1e-5),
    "the widowed by income": ("education_num", "marital_status = 'Widowed'", RICH, (0.1, 0.5), 500, 2.0, 1e-5),
}


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_a_rare_count_beside_a_mean_is_certified_for_what_it_is(case: str) -> None:
    """Its lower tail ends so abruptly that saddlepoints below a density of e^-100 were given up, and the polynomials
    through the others saw nothing of the tail: δ was up to seven times the certified one."""
    column, rare, secret, values, records, epsilon, delta = CASES[case]
    model = dp.model(
        dp.datasets.adult(),
        dp.Query(mean=dp.mean(column), rare=dp.count(rare)),
        dp.Share(secret, values=values),
        records=records,
        replacement=True,
        reference="population",
    )
    made = dp.mechanisms.certified_laplace(model, dp.PrivacyTarget(epsilon=epsilon, delta=delta))
    assert exact_delta(model, made.noise, epsilon) <= made.certificate.delta
