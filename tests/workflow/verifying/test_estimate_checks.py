"""Estimates in bundles: recomputed from the bundle alone, and refused where they are not what it gives."""

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest
from tests.workflow.forging import Document, forged, read
from tests.workflow.small import only, write_policy, write_tables
from tests.workflow.test_declared import ONE, TWO

from distpriv.ledger import Ledger
from distpriv.workflow.bundle import csv_text
from distpriv.workflow.release_policy import release_policy
from distpriv.workflow.verifying import verify_bundle

PRIOR = "prior = {\"income = '>50K' @ 0.45\" = 0.9, \"income = '>50K' @ 0.55\" = 0.1}\n"


def _estimate(document: Document) -> None:
    """Move an estimate with its interval."""
    name = document["statistics"][0]
    document["estimates"][name] += 0.01
    document["estimate_intervals"][name] = [end + 0.01 for end in document["estimate_intervals"][name]]


def _narrower(document: Document) -> None:
    for name, (low, high) in document["estimate_intervals"].items():
        middle = (low + high) / 2
        document["estimate_intervals"][name] = [middle + (end - middle) * 0.5 for end in (low, high)]


def _better_fit(document: Document) -> None:
    document["fit"]["p_value"] = min(1.0, 2 * document["fit"]["p_value"])


def _kinder_words(document: Document) -> None:
    document["fit"]["sentence"] = "The reference is excellent."


def _public(document: Document) -> None:
    document["public_means"][document["statistics"][0]] += 1


def _worse_baseline(document: Document) -> None:
    document["public_errors"] = {name: 2 * error for name, error in document["public_errors"].items()}


def _more_answers(document: Document) -> None:
    document["fit"]["releases"] += 1


def _prior(document: Document) -> None:
    document["policy"]["privacy"]["prior"] = {"income = '>50K' @ 0.45": 0.9, "income = '>50K' @ 0.55": 0.1}


def _value_and_interval(document: Document) -> None:
    """Move a noisy value in every place but the estimate."""
    name = document["statistics"][0]
    for key in ("values", "display"):
        document[key][name] += 0.5
    document["intervals"][name] = [end + 0.5 for end in document["intervals"][name]]
    if document["evidence"]["joint"] is not None:
        document["evidence"]["joint"]["values"][-1][0] += 0.5


def _other_answer(document: Document) -> None:
    document["evidence"]["joint"]["values"][0][0] += 0.5


def _no_answer(document: Document) -> None:
    document["evidence"]["joint"]["values"][0] = None


@pytest.mark.parametrize(
    "change",
    [
        _estimate,
        _narrower,
        _better_fit,
        _kinder_words,
        _public,
        _worse_baseline,
        _more_answers,
        _prior,
        _value_and_interval,
        _other_answer,
        _no_answer,
    ],
)
def test_a_forged_estimate_is_refused(
    bundles: dict[str, Path], change: Callable[[Document], None], tmp_path: Path
) -> None:
    of_several = change in (_other_answer, _no_answer)
    for kind in ("joint",) if of_several else ("alone", "joint"):
        document = read(bundles[kind])
        change(document)
        place = forged(bundles[kind], tmp_path / kind, change, {"release.csv": csv_text(document)})
        verdict = verify_bundle(place)
        assert not verdict.holds
        assert "estimates" in {check.name for check in verdict.checks if not check.passed}, str(verdict)


def test_real_ones_hold_and_a_joint_one_is_made_with_all_answers(bundles: dict[str, Path]) -> None:
    for kind, count in (("alone", 1), ("joint", 2), ("coupled", 1)):
        verdict = verify_bundle(bundles[kind])
        assert verdict.holds, str(verdict)
        document = read(bundles[kind])
        assert document["fit"]["releases"] == count
        for name, (low, high) in document["estimate_intervals"].items():
            assert low <= document["estimates"][name] <= high


def test_an_answer_that_another_release_did_not_have_is_found_out_by_the_ledger(
    bundles: dict[str, Path], tmp_path: Path
) -> None:
    place = forged(bundles["joint"], tmp_path / "forged", _other_answer)
    url = f"sqlite:///{bundles['joint'].parent / 'ledger.db'}"
    found = {check.name: check for check in verify_bundle(place, ledger=url).checks}
    assert "other answers" in found["ledger"].found
    assert verify_bundle(bundles["joint"], ledger=url).holds


def test_a_policy_may_say_how_likely_scenarios_are(tmp_path: Path, adult: pa.Table) -> None:
    write_tables(tmp_path, adult)
    with only("expected_value_gaussian"):
        even = release_policy(str(write_policy(tmp_path)), tmp_path / "even")
        uneven = release_policy(
            str(write_policy(tmp_path, ("delta = 0.01\n", f"delta = 0.01\n{PRIOR}"))), tmp_path / "uneven"
        )
    assert uneven.release.values == even.release.values
    assert uneven.document["public_means"] != even.document["public_means"]
    assert uneven.document["policy"]["privacy"]["prior"]["income = '>50K' @ 0.45"] == 0.9
    assert verify_bundle(tmp_path / "uneven").holds
    url = f"sqlite:///{tmp_path / 'ledger.db'}"
    assert verify_bundle(tmp_path / "uneven", ledger=url).holds


def test_declared_questions_count_once_they_are_answered(tmp_path: Path, adult: pa.Table) -> None:
    write_tables(tmp_path, adult)
    policy = str(write_policy(tmp_path, (ONE, TWO)))
    with only("expected_value_gaussian"):
        first = release_policy(policy, tmp_path / "first", only="ages")
        second = release_policy(policy, tmp_path / "second", only="families")
        again = release_policy(policy, tmp_path / "again", only="ages")
    assert [made.document["fit"]["releases"] for made in (first, second, again)] == [1, 2, 2]
    assert first.document["evidence"]["joint"]["values"][1] is None
    assert again.release.values == first.release.values
    url = Ledger.open(f"sqlite:///{tmp_path / 'ledger.db'}").url
    for name in ("first", "second", "again"):
        verdict = verify_bundle(tmp_path / name, ledger=url)
        assert verdict.holds, str(verdict)
