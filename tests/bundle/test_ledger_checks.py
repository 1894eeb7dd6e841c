"""A bundle held against the ledger that has it, and against ledgers that were rolled back, edited or exchanged."""

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from attrs import evolve, frozen
from tests.bundle.forging import AGE, NEVER, Bundles, Document, everything, forged
from tests.workflow.small import only, write_policy, write_tables
from tests.workflow.test_declared import ONE, TWO

from distpriv.bundle import verify_bundle
from distpriv.errors import LedgerUnavailable
from distpriv.framework.records import plain
from distpriv.framework.target import PrivacyTarget
from distpriv.ledger import History, Ledger
from distpriv.releasing.joint import about_questions
from distpriv.workflow.release_policy import release_policy


@frozen
class Book:
    """A ledger that answers with one history, or refuses."""

    known: History | LedgerUnavailable

    def history(self, dataset: str) -> History:
        if isinstance(self.known, LedgerUnavailable):
            raise self.known
        assert dataset == self.known.dataset
        return self.known


@pytest.fixture(scope="module")
def released(tmp_path_factory: pytest.TempPathFactory, adult: pa.Table) -> tuple[Path, History]:
    """A second release, and what the ledger has of both."""
    bundle = Bundles(tmp_path_factory.mktemp("bundles"), adult)["joint"]
    return bundle, Ledger.open(f"sqlite:///{bundle.parent / 'ledger.db'}").history("ward")


def test_a_bundle_is_held_against_the_file_of_its_ledger(released: tuple[Path, History]) -> None:
    bundle = released[0]
    verdict = verify_bundle(bundle, ledger=f"sqlite:///{bundle.parent / 'ledger.db'}")
    assert verdict.holds, str(verdict)


def test_a_bundle_is_held_against_its_ledger(released: tuple[Path, History]) -> None:
    bundle, history = released
    verdict = verify_bundle(bundle, ledger=Book(history))
    assert verdict.holds, str(verdict)
    assert (verdict.ledger, verify_bundle(bundle).ledger) == (True, False)
    assert any("give --ledger" in item for item in verify_bundle(bundle).trusted)


def rolled_back(history: History) -> History:
    return evolve(history, entries=history.entries[:1])


def another(history: History) -> History:
    return evolve(history, ledger="another id")


def written_again(history: History) -> History:
    return evolve(history, entries=(history.entries[0], evolve(history.entries[1], digest="0" * 64)))


def at_another_number(history: History) -> History:
    return evolve(history, entries=(history.entries[0], evolve(history.entries[1], number=9)))


def more_to_spend(history: History) -> History:
    return evolve(history, total=PrivacyTarget(epsilon=9, delta=0.5))


def at_another_time(history: History) -> History:
    return evolve(history, entries=(history.entries[0], evolve(history.entries[1], time="2020-01-01T00:00:00+00:00")))


def edited(place: int, change: Callable[[dict[str, Any]], None]) -> Callable[[History], History]:
    def edit(history: History) -> History:
        content = copy.deepcopy(dict(history.entries[place].content))
        change(content)
        entries = list(history.entries)
        entries[place] = evolve(entries[place], content=content)
        return evolve(history, entries=tuple(entries))

    return edit


def _values(content: dict[str, Any]) -> None:
    content["values"] = {name: value + 1 for name, value in content["values"].items()}


def _noise(content: dict[str, Any]) -> None:
    content["noise"]["variances"] = [2 * variance for variance in content["noise"]["variances"]]


def _certificate(content: dict[str, Any]) -> None:
    content["certificate"]["theorem"] = "another"


def _joint(content: dict[str, Any]) -> None:
    content["joint_certificate"]["delta"] *= 0.5


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (rolled_back, "rolled back or is another one"),
        (another, "another ledger"),
        (written_again, "rolled back or is another one"),
        (at_another_number, "rolled back or is another one"),
        (more_to_spend, "another total"),
        (at_another_time, "another time"),
        (edited(1, _values), "another values"),
        (edited(1, _noise), "another noise"),
        (edited(1, _certificate), "another certificate"),
        (edited(1, _joint), "another joint certificate"),
        (edited(0, _noise), "other releases had other noise"),
    ],
)
def test_a_ledger_that_says_something_else_contradicts_the_bundle(
    released: tuple[Path, History], change: Callable[[History], History], said: str
) -> None:
    bundle, history = released
    verdict = verify_bundle(bundle, ledger=Book(change(history)))
    assert [check.name for check in verdict.checks if not check.passed] == ["ledger"]
    assert said in verdict.sentence
    assert "\n" not in verdict.sentence


def test_a_broken_chain_is_told_in_its_own_words(released: tuple[Path, History]) -> None:
    broken = LedgerUnavailable("entry 4 of the ledger is not what its digest says: restore it from a copy.")
    verdict = verify_bundle(released[0], ledger=Book(broken))
    assert not verdict.holds
    assert "entry 4 of the ledger is not what its digest says" in verdict.sentence


def test_a_bundle_that_names_no_ledger_is_none(released: tuple[Path, History], tmp_path: Path) -> None:
    def forget(document: dict[str, Any]) -> None:
        document["ledger"] = None

    verdict = verify_bundle(forged(released[0], tmp_path / "untold", forget), ledger=Book(released[1]))
    assert [check.name for check in verdict.checks if not check.passed] == ["format"]


@pytest.fixture(scope="module")
def declared(tmp_path_factory: pytest.TempPathFactory, adult: pa.Table) -> Path:
    """One of two declared questions that was answered; the other was not."""
    folder = tmp_path_factory.mktemp("declared")
    write_tables(folder, adult)
    with only("expected_value_gaussian"):
        return release_policy(str(write_policy(folder, (ONE, TWO))), folder / "out", only="families").folder


def ledger_of(bundle: Path) -> str:
    return f"sqlite:///{bundle.parent / 'ledger.db'}"


def relabelled(document: dict[str, Any]) -> None:
    """Say that questions were declared which were assumed to be independent."""
    document["questions"] = "declared"
    told = document["joint_certificate"]["evidence"]
    number = len(document["evidence"]["joint"]["noises"])
    (assumed,), (claimed,) = (about_questions(questions, number) for questions in ("assumed", "declared"))
    told[told.index(plain(assumed))] = plain(claimed)


def another_question(document: dict[str, Any]) -> None:
    asked = document["evidence"]["joint"]["asked"][0]
    asked[next(iter(asked))] = "mean(fnlwgt, resolution = 1)"


def milder_moments(document: dict[str, Any]) -> None:
    laws = list(document["evidence"]["joint"]["model"]["scenarios"].values())
    laws[1]["mean"][0] = laws[0]["mean"][0]


def another_reference(document: dict[str, Any]) -> None:
    document["evidence"]["reference"] = dict.fromkeys(document["evidence"]["reference"], "0" * 64)


def all_there_is(document: dict[str, Any]) -> None:
    """Say that a sample is the population, in a certificate that is said to be for another target."""
    document["evidence"]["model"]["strata"], document["policy"]["model"]["reference"] = [], "population"
    document["certificate"]["target"]["epsilon"] *= 1.5


def smoother(document: dict[str, Any]) -> None:
    """Say that the rows of several statistics showed less, in such a certificate."""
    assert document["certificate"]["law"]["missed"] > 0
    document["certificate"]["law"]["missed"] /= 2
    document["certificate"]["target"]["epsilon"] *= 1.5


def test_what_rows_showed_is_held_against_the_ledger_for_other_targets_too(
    tmp_path_factory: pytest.TempPathFactory, adult: pa.Table, tmp_path: Path
) -> None:
    bundle = Bundles(tmp_path_factory.mktemp("bundles"), adult)["alone"]
    verdict = verify_bundle(forged(bundle, tmp_path / "forged", smoother), ledger=ledger_of(bundle))
    assert "ledger" in [check.name for check in verdict.checks if not check.passed], str(verdict)


@pytest.mark.parametrize("change", [relabelled, another_question, milder_moments, another_reference, all_there_is])
def test_what_a_bundle_says_of_other_questions_is_held_against_the_ledger(
    released: tuple[Path, History], tmp_path: Path, change: Callable[[dict[str, Any]], None]
) -> None:
    verdict = verify_bundle(forged(released[0], tmp_path / "forged", change), ledger=ledger_of(released[0]))
    assert "ledger" in [check.name for check in verdict.checks if not check.passed], str(verdict)


def test_a_declared_question_speaks_of_all_that_were_declared(declared: Path, tmp_path: Path) -> None:
    honest = verify_bundle(declared, ledger=ledger_of(declared))
    assert honest.holds, str(honest)

    def forget(document: dict[str, Any]) -> None:
        document["questions"] = "first"
        document["evidence"]["joint"] = None

    verdict = verify_bundle(forged(declared, tmp_path / "first", forget))
    assert "policy" in [check.name for check in verdict.checks if not check.passed]

    def wider(document: dict[str, Any]) -> None:
        noise = document["evidence"]["joint"]["noises"][0]
        noise["variances"] = [100 * variance for variance in noise["variances"]]

    verdict = verify_bundle(forged(declared, tmp_path / "wider", wider), ledger=ledger_of(declared))
    assert "ledger" in [check.name for check in verdict.checks if not check.passed]


@pytest.mark.slow
def test_the_same_question_under_a_weaker_target_is_certified_and_verified_anew(
    tmp_path: Path, adult: pa.Table
) -> None:
    write_tables(tmp_path, adult)
    with only("expected_value_gaussian"):
        release_policy(str(write_policy(tmp_path)), tmp_path / "one")
        weaker = release_policy(str(write_policy(tmp_path, ("epsilon = 1.0", "epsilon = 1.2"))), tmp_path / "two")
    assert weaker.release.repeated
    verdict = verify_bundle(weaker.folder, **everything(weaker.folder))
    assert verdict.holds, str(verdict)
    assert any("made anew" in item for item in verdict.trusted)
    assert not any("made anew" in item for item in verify_bundle(tmp_path / "one", **everything(weaker.folder)).trusted)


@pytest.mark.slow
def test_gaussian_and_laplace_releases_that_draws_certify_together_are_verified(
    tmp_path: Path, adult: pa.Table
) -> None:
    write_tables(tmp_path, adult)
    proved = ("delta = 0.01\n", 'delta = 0.01\nassurance = "proved"\n')
    assumed = ("delta = 0.02\n", 'delta = 0.02\nadaptive = "assumed"\n')
    for mechanism, left_out in (("coupled_gaussian", AGE), ("coupled_laplace", NEVER)):
        with only(mechanism):
            made = release_policy(str(write_policy(tmp_path, proved, assumed, (left_out, ""))), tmp_path / mechanism)
    verdict = verify_bundle(made.folder)
    assert verdict.holds, str(verdict)


def test_the_certificate_of_all_releases_is_the_ledgers_whatever_the_own_target_is(
    released: tuple[Path, History], tmp_path: Path
) -> None:
    """With the own target edited, the certificate of all releases together could be any."""
    bundle, history = released

    def changed(document: Document) -> None:
        document["certificate"]["target"]["epsilon"] = 0.99
        document["certificate"]["holds"] = False
        document["joint_certificate"]["delta"] /= 2

    verdict = verify_bundle(forged(bundle, tmp_path / "forged", changed), ledger=Book(history))
    assert "another joint certificate" in verdict.sentence
