"""No certificate is below the exact δ: of random realistic tables."""

import pytest
from tests.guarantees.soundness import judged, random_case

MOMENTS = [0, 1, 2, 3, 8, 11, 12]
"""Seeds of tables that take a moment each."""

SLOW = range(100, 160)


@pytest.mark.parametrize("seed", [*MOMENTS, *(pytest.param(seed, marks=pytest.mark.slow) for seed in SLOW)])
def test_no_certificate_of_a_realistic_table_is_below_the_exact_delta(seed: int) -> None:
    verdict = judged(random_case(seed))
    assert verdict.is_sound, verdict
