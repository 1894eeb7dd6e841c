"""No certificate is below the exact δ: of random realistic tables, and of every table that broke something once."""

import pytest
from attrs import evolve
from tests.guarantees.corpus import CASES
from tests.guarantees.soundness import MECHANISMS, judged, random_case

MOMENTS = [0, 1, 2, 3, 8, 11, 12]
"""Seeds of tables that take a moment each."""

SLOW = range(100, 160)

QUICK = tuple(
    name
    for name in CASES
    if name.startswith(("near a lattice,", "near multiples", "round prices", "parity of cents", "rare rows"))
)
"""Of the corpus, what takes less than a second."""


@pytest.mark.parametrize("seed", [*MOMENTS, *(pytest.param(seed, marks=pytest.mark.slow) for seed in SLOW)])
def test_no_certificate_of_a_realistic_table_is_below_the_exact_delta(seed: int) -> None:
    verdict = judged(random_case(seed))
    assert verdict.is_sound, verdict


@pytest.mark.parametrize("name", [pytest.param(n, marks=[] if n in QUICK else [pytest.mark.slow]) for n in CASES])
def test_what_broke_something_once_is_right_or_refused(name: str) -> None:
    verdict = judged(CASES[name]())
    assert verdict.is_sound, verdict


@pytest.mark.parametrize("name", ["near a lattice, certified_laplace", "near multiples, offset 12, certified_gaussian"])
def test_noise_a_tenth_narrower_than_its_certificate_says_is_found_out(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    case = CASES[name]()
    made = MECHANISMS[case.mechanism]

    def narrower(*given: object) -> object:
        whole = made(*given)  # type: ignore[arg-type]
        return evolve(whole, noise=whole.noise.widened(0.9))

    monkeypatch.setitem(MECHANISMS, case.mechanism, narrower)
    verdict = judged(case)
    assert verdict.outcome == "certified"
    assert not verdict.is_sound
