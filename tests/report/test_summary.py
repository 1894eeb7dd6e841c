"""What is told of a release: one figure of an attacker, estimates first, no figure that contradicts another."""

import re
from typing import Any, get_args

import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st
from tests.report.boards import EACH, attacked, board, joint_accuracy, law, released, summary
from tests.report.reader import Reader, table_rows

import distpriv as dp
from distpriv.framework.display import decimals, number_text, percent_at_most, rounded, whole_parts
from distpriv.releasing.joint import Questions
from distpriv.report.page import plan_page, release_page, render
from distpriv.report.summary import QUESTIONS, reading
from distpriv.report.text import release_text


def text(position: int, **known: Any) -> str:
    """Return what a reader of the page sees."""
    return "\n".join(Reader(board(position, **known)).texts)


def figures(position: int, **changes: float) -> dict[str, float]:
    return {"undefended": 0.692, "at_most": joint_accuracy(1), "together": joint_accuracy(position)} | changes


def test_there_is_a_sentence_for_every_way_in_which_questions_are_covered() -> None:
    assert set(QUESTIONS) == set(get_args(Questions))


@pytest.mark.parametrize("position", [1, 2])
def test_the_page_and_the_terminal_say_how_later_questions_are_covered(position: int) -> None:
    own = QUESTIONS["first" if position == 1 else "declared"]
    for shown in (text(position), " ".join(release_text(summary(position), 1).split())):
        assert shown.count(own) == 1
        assert not any(QUESTIONS[other] in shown for other in QUESTIONS if QUESTIONS[other] != own)


def test_what_is_not_held_within_bounds_is_told_so() -> None:
    free = reading({"statistic": "slope", "low": None, "high": None, "otherwise": None})
    half = reading({"statistic": "income", "low": 0, "high": None, "otherwise": "refused"})
    assert (free, half) == (("slope", "any value", "–"), ("income", "0 to any", "refused"))
    assert "17 to 90" in text(1)


def test_the_page_has_the_head_of_the_ledger_so_that_a_roll_back_shows() -> None:
    assert "ab" * 32 in text(2)
    assert "--ledger" in text(2)
    assert "--ledger" not in render(release_page(evolve(summary(2), ledger=None)))


def test_a_bound_that_is_better_for_all_releases_than_for_one_is_good_for_that_one() -> None:
    assert summary(2, figures=figures(2, at_most=0.731, together=0.62)).attacker.alone == 0.62


@pytest.mark.parametrize("position", [1, 2, 3])
def test_the_figure_that_is_quoted_is_that_of_all_releases(position: int) -> None:
    """It said 60.2 % where an attacker who reads all releases is right 64.9 % of the time."""
    joint = percent_at_most(joint_accuracy(position))
    shown = summary(position)
    assert f"≤ {joint}" in release_text(shown).splitlines()[0]
    page = text(position)
    assert page.index(joint) <= page.index(percent_at_most(joint_accuracy(1)))
    assert [*shown.certificates][-1] == "This release alone"
    assert len(shown.certificates) == min(position, 2)


def test_a_first_release_of_several_that_were_declared_has_the_figure_of_all_of_them() -> None:
    release = evolve(released(1), questions="declared")
    shown = summary(1, figures=figures(3), release=release)
    assert shown.attacker.several
    assert "from all declared releases" in shown.attacker.line
    assert percent_at_most(joint_accuracy(3)) in shown.attacker.line


def test_an_old_answer_that_is_shown_again_has_the_figure_of_all_that_came_since() -> None:
    release = evolve(released(1), questions="assumed")
    shown = summary(1, figures=figures(3), release=release, releases=3)
    assert (shown.position, shown.attacker.releases, shown.attacker.several) == (1, 3, True)
    assert "from all 3 releases" in shown.attacker.line


@given(undefended=st.floats(0.5, 1.0), at_most=st.floats(0.5, 1.0))
def test_no_figure_with_noise_is_above_the_one_without(undefended: float, at_most: float) -> None:
    line = evolve(BASE.attacker, undefended=undefended, alone=at_most, together=at_most).line
    shown, chance, bare = (float(found) for found in re.findall(r"([\d.]+) %", line))
    assert shown <= bare
    assert chance == 50
    assert shown >= 100 * at_most - 1e-6


BASE = summary(1)


def test_estimates_come_first_and_noisy_values_are_folded() -> None:
    shown = text(1)
    assert shown.index("37.4 to 40.6") < shown.index("36.6 to 43.4")
    assert "36.6 to 43.4" not in release_text(BASE)
    assert "36.6 to 43.4" in release_text(BASE, 1)
    visible = re.sub(r"<details.*?</details>", "", board(1), flags=re.DOTALL)
    assert "36.6 to 43.4" not in visible
    assert 'class="notice good"' in visible


def test_where_the_reference_does_not_fit_noisy_values_come_first_and_nothing_is_green() -> None:
    shown, odd = board(1, p_value=1e-5), summary(1, p_value=1e-5)
    assert shown.index("36.6 to 43.4") < shown.index("37.4 to 40.6")
    assert 'class="notice doubt"' in shown
    assert "✓" not in shown
    printed = release_text(odd)
    assert printed.index("36.6 to 43.4") < printed.index("37.4 to 40.6")
    assert "INCONSISTENT" in printed
    assert odd.word != BASE.word


def test_a_certificate_that_does_not_hold_is_said_first() -> None:
    release = released(1)
    failed = evolve(release.certificate, delta=0.9)
    shown = summary(1, release=evolve(release, mechanism=evolve(release.mechanism, certificate=failed)))
    assert shown.word == "NOT CERTIFIED"
    assert 'class="notice bad"' in render(release_page(shown))


def test_what_is_published_comes_before_what_an_attacker_sees_and_what_it_rests_on() -> None:
    assert re.findall(r"<h([23])>", board(1)) == ["2", "2", "2", "3", "3", "3", "2"]
    sections = re.findall(r"<h2>(.*?)</h2>", board(1))
    assert [each.split()[1] for each in sections] == ["was", "an", "it", "it"]


def test_evidence_stands_under_what_it_is_with_its_code_and_what_is_assumed_is_declared() -> None:
    page = release_page(summary(2))
    assert all(line.code[2] in "12" for line in page.checked)
    assert all(line.code[2] == "3" for line in page.declared)
    every = {each.code for found in summary(2).certificates.values() for each in found.evidence}
    assert {line.code for line in (*page.checked, *page.declared)} == every


def test_measured_figures_have_their_error() -> None:
    page = release_page(evolve(BASE, audit=attacked(released(1))))
    assert page.attacks is not None
    assert re.fullmatch(r"[\d.]+ % ± [\d.]+", page.attacks.rows[0][1])
    assert re.search(r"[\d.]+ % ± [\d.]+", page.measured[0].title)


def test_a_delta_within_its_limit_is_not_rounded_above_it() -> None:
    release = released(1)
    close = evolve(release.certificate, target=dp.PrivacyTarget(epsilon=1.0, delta=0.03003), delta=0.03003, epsilon=1.0)
    shown = summary(1, release=evolve(release, mechanism=evolve(release.mechanism, certificate=close)))
    assert close.holds
    (found,) = re.findall(r"alone: δ ≤ ([\d.]+)", release_page(shown).theorems[0])
    assert float(found) <= 0.03003


def test_a_title_of_the_policy_stands_above_the_page() -> None:
    page = release_page(evolve(BASE, title="Ages in ward 7"))
    assert page.title == "Ages in ward 7"
    assert page.subtitle.startswith("ward · release 1")


def test_a_plan_marks_what_it_chose_and_certifies_nothing_at_less_assurance() -> None:
    plan = dp.plan(law(1), EACH, mechanisms=["expected_value_laplace", "certified_gaussian"], processes=1)
    loose, strict = (evolve(plan, assurance=assurance) for assurance in ("checked", "proved"))
    assert (loose.chosen is None, strict.chosen is None) == (False, True)
    for made in (loose, strict):
        rows = table_rows(render(plan_page(made)), None)
        kept = {row[0].removesuffix(" (chosen)") for row in rows if len(row) == 5 and row[3].startswith("yes")}
        assert kept == {option.name for option in made.options if option.may_be_used(made.assurance)}
    assert 'class="notice bad"' in render(plan_page(strict))


@pytest.mark.parametrize("position", [1, 2, 3])
def test_no_sentence_promised_less_than_all_releases_allow_unless_it_is_about_this_one_alone(position: int) -> None:
    """The table of mechanisms, the audit and the text below the headline all repeated the figure of one release."""
    page, least = board(position, audited=True), 100 * joint_accuracy(position)
    said = [" ".join(each.split()) for each in Reader(page).texts]
    promises = [each for each in said if re.search(r"at most|more than|promised|allows|≤ [\d.]+ %", each)]
    low = [
        each for each in promises if any(50 < float(found) < least - 0.05 for found in re.findall(r"([\d.]+) %", each))
    ]
    assert len(promises) >= 3
    assert [each for each in low if "alone" not in each] == []
    assert bool(low) == (position > 1)


@given(st.floats(0.5, 1.0))
def test_figures_of_attackers_are_rounded_up(accuracy: float) -> None:
    """64.94 % was shown as 64.9 %, and as 65 % in the headline; 64.4 % as 64 %."""
    shown = float(percent_at_most(accuracy).removesuffix(" %"))
    assert 100 * accuracy - 1e-6 <= shown <= 100 * accuracy + 0.1


@given(st.lists(st.floats(0, 1e6), min_size=1, max_size=30))
def test_whole_parts_add_up_and_are_each_off_by_less_than_one(parts: list[float]) -> None:
    found = whole_parts(parts)
    assert sum(found) == round(sum(parts))
    assert all(abs(whole - part) <= 1 for whole, part in zip(found, parts, strict=True))


@given(st.floats(-1e6, 1e6), st.floats(1e-6, 1e6))
def test_a_spreadsheet_and_the_page_show_the_same_number_and_rounding_loses_little(value: float, half: float) -> None:
    assert float(number_text(value, half).replace(",", "")) == pytest.approx(rounded(value, half), abs=1e-9)
    assert abs(rounded(value, half) - value) <= max(0.06 * half, 0.5 * 10.0 ** -decimals(half)) * (1 + 1e-9)
