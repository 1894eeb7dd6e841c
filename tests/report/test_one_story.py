"""The page of a release says one thing: no figure, mark or rounding of it contradicts another."""

import re

import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st
from tests.report.boards import EACH, board, document, facts, law, profile
from tests.report.reader import Reader, table_rows

import distpriv as dp
from distpriv.planning.option import Refusal, Skipped
from distpriv.report.contents import Facts, release_page, whole_parts
from distpriv.report.page import render
from distpriv.report.protection import Asked, Protection


def html(shown: Facts) -> str:
    """Return the page."""
    return render(release_page(shown))


def read(shown: Facts) -> str:
    """Return what a reader of the page sees."""
    return "\n".join(Reader(html(shown)).texts)


def ceiling(position: int = 1) -> Facts:
    """Return a release of which more is promised than the model gives without noise, as of coupled draws."""
    attacker = {"undefended": 0.65, "at_most": 0.74, "together": 0.74}
    shown = facts(position, attacker=attacker)
    return evolve(shown, profile=profile([0.3, 0.2, 0.1], [0.16, 0.05, 0.01]))


def test_the_verdict_comes_first_in_the_words_of_the_policy() -> None:
    shown = evolve(facts(1), asked=Asked(target=dp.PrivacyTarget(epsilon=0.0, delta=0.2), accuracy=0.6))
    words = [text.strip() for text in Reader(html(shown)).texts if text.strip()]
    first = words.index("The promise is kept: nobody is right more than 60 times in 100.")
    assert "Whether there are few or many." in words[first + 1]
    assert first < words.index("What was published")


def test_what_is_published_comes_before_what_an_attacker_sees_and_what_it_rests_on() -> None:
    assert re.findall(r"<h[23]>(.*?)</h[23]>", html(facts(1))) == [
        "What was published",
        "What an attacker sees",
        "What this rests on",
        "Measured: attacks",
        "Proved or checked",
        "Declared: what has to be believed",
        "What it cost, and what else was possible",
        "How private it is at every ε",
        "How to check it, and how to print it",
    ]


def test_what_is_assumed_is_declared_and_nothing_else_is() -> None:
    shown = board(2)
    proved, _, declared = shown[shown.index("Proved or checked") :].partition("<h3>Declared: ")
    assert "assumed: " not in proved
    assert not re.search("<li>(proved|checked): ", declared)
    assert "<li>assumed: " in declared


@pytest.mark.parametrize("position", [1, 2])
def test_no_figure_of_an_attacker_is_above_the_one_without_noise_unless_it_is_called_a_ceiling(position: int) -> None:
    text = read(ceiling(position))
    pairs = re.findall(r"([\d.]+) % → ([\d.]+) %", text)
    assert pairs == [("65", "58")]
    assert "That is a ceiling, which holds whatever law the statistics have" in text
    assert "nobody is right more than 65 % of the time, noise or none." in text


@given(undefended=st.floats(0.5, 1.0), at_most=st.floats(0.5, 1.0), delta=st.floats(0.0, 1.0))
def test_the_modelled_figure_is_never_above_the_undefended_one_or_the_promise(
    undefended: float, at_most: float, delta: float
) -> None:
    attacker = {"undefended": undefended, "at_most": at_most, "together": at_most}
    protection = Protection.of(document(1, attacker=attacker))
    shown = evolve(BASE, protection=protection, profile=profile([1.0], [delta]))
    assert shown.modelled <= min(undefended, at_most)


BASE = facts(1)


def test_a_certificate_that_holds_only_at_less_assurance_does_not_keep_the_target() -> None:
    plan = dp.plan(law(1), EACH, mechanisms=["expected_value_laplace", "certified_gaussian"], processes=1)
    loose, strict = (evolve(plan, assurance=assurance) for assurance in ("checked", "proved"))
    assert loose.chosen is not None
    assert strict.chosen is None
    for made in (loose, strict):
        kept = {row[0]: row[5] for row in option_rows(evolve(BASE, plan=made))[1:]}
        assert {name for name, said in kept.items() if said == "✓ yes"} == {
            option.name for option in made.options if option.may_be_used(made.assurance)
        }
    assert "✗ no, only at assurance checked" in {row[5] for row in option_rows(evolve(BASE, plan=strict))}


def option_rows(shown: Facts) -> list[list[str]]:
    """Return the cells of the table of all ways to add noise."""
    return table_rows(html(shown), "All ways side by side")


def test_what_stands_under_the_least_error_is_taken_has_less_error_only_where_it_may_not_be_used() -> None:
    plan = dp.plan(law(1), EACH, mechanisms=["expected_value_laplace", "certified_gaussian", "no_noise"], processes=1)
    assert plan.chosen is not None
    rows = option_rows(evolve(BASE, plan=plan))[1:]
    least = next(float(row[2]) for row in rows if row[0] == plan.chosen.name)
    assert all(float(row[2]) >= least for row in rows if row[5] == "✓ yes")


def test_noise_that_was_fixed_before_is_not_said_to_be_the_least() -> None:
    assert "is taken" in read(BASE)
    assert "is taken" not in read(evolve(BASE, fixed=True))
    assert "is fixed since the question was declared or answered" in read(evolve(BASE, fixed=True))


def test_mechanisms_with_the_same_reason_are_named_together() -> None:
    refusals = [Refusal(name=name, reason="it needs rows.") for name in ("one", "two", "three")]
    skipped = [Skipped(name="four", reason="others are better.")]
    assert BASE.plan is not None
    text = read(evolve(BASE, plan=evolve(BASE.plan, refusals=tuple(refusals), skipped=tuple(skipped))))
    assert "one, two and three do not apply: it needs rows." in text
    assert "four was not tried: others are better." in text
    assert text.count("it needs rows.") == 1


def test_measured_figures_have_their_error_and_a_measured_one_above_the_promise_is_explained() -> None:
    shown = facts(1, audited=True)
    assert shown.audit is not None
    text = read(shown)
    assert len(re.findall(r"[\d.]+ % ± [\d.]+\n", text)) >= 2
    best = shown.audit.attacks[0]
    tight = evolve(shown.audit, delta=0.0, epsilon=9.0, attack_accuracy_ceiling=best.accuracy - 0.001)
    assert not tight.failed
    assert "by no more than chance explains." in read(evolve(shown, audit=tight))
    assert "by no more than chance explains." not in text


def test_a_delta_within_its_limit_is_not_rounded_above_it() -> None:
    release = BASE.release
    close = evolve(release.certificate, target=dp.PrivacyTarget(epsilon=1.0, delta=0.03003), delta=0.03003, epsilon=1.0)
    shown = evolve(BASE, release=evolve(release, mechanism=evolve(release.mechanism, certificate=close)))
    assert close.holds
    found = re.search(r"Certified is δ ≤ ([\d.]+)", read(shown))
    assert found is not None
    assert float(found[1]) <= 0.03003


def test_the_two_curves_stand_side_by_side_before_and_after() -> None:
    shown = html(evolve(BASE, model=law(1)))
    beside = shown[shown.index('class="beside"') : shown.index("<ul>", shown.index('class="beside"'))]
    captions = re.findall(r"<figcaption>(.*?)</figcaption>", beside)
    assert [caption.partition(",")[0] for caption in captions] == ["Published as they are", "With the noise"]


def test_one_of_something_is_in_the_singular() -> None:
    text = read(evolve(BASE, records=1))
    assert "1 number about 1 record" in text
    assert not re.search(r"\b1 (numbers|records|releases)\b", text)


def test_a_title_of_the_policy_stands_above_the_page() -> None:
    page = release_page(evolve(BASE, title="Ages in ward 7"))
    assert page.title == "Ages in ward 7"
    assert page.subtitle.startswith("ward · release 1")


def test_the_page_says_how_it_becomes_a_pdf_and_its_footer_keeps_to_what_is_above_it() -> None:
    assert "For a PDF, open this page in a browser and print it" in html(BASE)
    assert re.search(r"footer \{ break-before: avoid", html(BASE))


@given(st.lists(st.floats(0, 1e6), min_size=1, max_size=30))
def test_whole_parts_add_up_and_are_each_off_by_less_than_one(parts: list[float]) -> None:
    found = whole_parts(parts)
    assert sum(found) == round(sum(parts))
    assert all(abs(whole - part) <= 1 for whole, part in zip(found, parts, strict=True))
