"""What the page of a release says about questions, rows and the ledger."""

import re
from typing import Any, get_args

import pytest
from attrs import evolve
from tests.report.boards import board, document, facts, joint_accuracy, released
from tests.report.reader import Reader

from distpriv.modelling.public_knowledge import ASSUMES
from distpriv.releasing.joint import Questions
from distpriv.report.contents import release_page
from distpriv.report.page import render
from distpriv.report.protection import QUESTIONS, Protection, percent_at_most, reading


def text(position: int, **changes: Any) -> str:
    """Return what a reader of the page sees."""
    return "\n".join(Reader(board(position, **changes)).texts)


def test_there_is_a_sentence_for_every_way_in_which_questions_are_covered() -> None:
    assert set(QUESTIONS) == set(get_args(Questions))


@pytest.mark.parametrize("questions", ["declared", "assumed", "immune"])
def test_the_page_says_how_later_questions_are_covered(questions: Questions) -> None:
    shown = text(2, questions=questions)
    assert shown.count(QUESTIONS[questions]) == 1
    assert not any(QUESTIONS[other] in shown for other in QUESTIONS if other != questions)
    assert ("If no question depended on an earlier answer, then" in shown) == (questions == "assumed")


def test_the_page_says_how_rows_are_read() -> None:
    shown = text(1)
    for said in ("values are held within", "17 to 90", "a missing value counts as", "38"):
        assert said in shown
    assert "values are held within" not in text(1, evidence={"reading": []})


def test_what_is_not_held_within_bounds_is_told_so() -> None:
    free = reading({"statistic": "slope", "low": None, "high": None, "otherwise": None})
    half = reading({"statistic": "income", "low": 0, "high": None, "otherwise": "refused"})
    assert (free, half) == (("slope", "any value", "–"), ("income", "0 to any", "refused"))


def test_the_page_has_the_head_of_the_ledger_so_that_a_roll_back_shows() -> None:
    shown = text(2)
    assert "ab" * 32 in shown
    assert "distpriv verify release.json --ledger URL" in shown
    assert "--ledger" not in render(release_page(evolve(facts(2), release=evolve(released(2), ledger=None))))


def test_what_may_still_be_released_is_told_with_the_first_release() -> None:
    assert "held" not in Protection.of(document(1, joint_certificate=None)).sentences[-1]
    assert "88.7 % at most" in text(1)  # of the total, epsilon = 2 and delta = 0.05


def test_a_bound_that_is_better_for_all_releases_than_for_one_is_good_for_that_one() -> None:
    attacker = {"undefended": 0.7, "at_most": 0.731, "together": 0.62}
    assert Protection.of(document(2, attacker=attacker)).alone == 0.62


def test_the_first_verdict_is_about_all_releases_and_the_second_about_this_one() -> None:
    titles = re.findall(r"<strong>(.*?)</strong>", board(3))
    assert titles[0].startswith("The promise is kept: ε = 2 and δ = 0.05, so that nobody is right more than 88.7 times")
    assert titles[0].endswith("from all declared releases of this dataset together.")
    assert titles[1].startswith("The promise is kept: ε = 1 and δ = 0.05,")
    assert titles[1].endswith("from this release alone.")


def test_a_first_release_of_several_that_were_declared_has_the_figure_of_all_of_them() -> None:
    declared = document(1)["attacker"] | {"together": joint_accuracy(3)}
    found = Protection.of(document(1, attacker=declared, questions="declared"))
    assert found.sentences[0].startswith("From all declared releases of this dataset together nobody who")
    shown = text(1, attacker=declared, questions="declared")
    assert shown.index(percent_at_most(joint_accuracy(3))) < shown.index("from this release alone")


def test_an_old_answer_that_is_shown_again_has_the_figure_of_all_that_came_since() -> None:
    attacker = document(1)["attacker"] | {"together": joint_accuracy(3)}
    evidence = {"reading": [], "joint": {"noises": [{}, {}, {}]}}
    found = Protection.of(document(1, attacker=attacker, evidence=evidence, questions="assumed"))
    assert (found.position, found.releases, found.several) == (1, 3, True)
    assert "from all 3 releases of this dataset together" in found.sentences[0]
    assert "no. 1" in text(1, attacker=attacker, evidence=evidence, questions="assumed")


def test_estimates_stand_beside_noisy_values_and_what_was_public_and_it_is_said_what_they_rest_on() -> None:
    shown = text(1)
    assert shown.index("37.4 to 40.6") < shown.index("36.6 to 43.4") < shown.index("38.5")
    assert shown.index("of the public uncertainty is removed by the estimates\n45%") < shown.index("37.4 to 40.6")
    assert ASSUMES in shown
    assert "no reason to doubt the reference (p = 0.2)" in shown
    assert "does not fit" not in shown


def test_where_the_reference_does_not_fit_the_page_warns_and_shows_the_noisy_values_first() -> None:
    shown = text(1, p_value=1e-5)
    assert shown.index("The estimates lean on a reference that does not fit.") < shown.index("36.6 to 43.4")
    assert shown.index("36.6 to 43.4") < shown.index("37.4 to 40.6")
    assert "(p = 1e-05)" in shown
    assert re.findall(r'class="notice (\w+)"', board(1, p_value=1e-5))[:2] == ["good", "bad"]
