"""The words of every command, in one file: tests/cli/wording.txt. All other tests are about structure.

`python -m tests.cli.test_wording` writes it anew after a change that is wanted.
"""

from pathlib import Path

import pytest
from attrs import evolve
from tests.report.boards import EACH, summary

import distpriv as dp
from distpriv.bundle import Check, Verdict
from distpriv.planning.table import plan_text
from distpriv.report.text import release_text
from distpriv.workflow.ledgers import LedgerListing

FILE = Path(__file__).parent / "wording.txt"
TITLES = (
    "first",
    "third of several",
    "unlike the reference",
    "plan",
    "little",
    "impossible",
    "verified",
    "forged",
    "empty",
)


def wording() -> str:
    """Return what commands print about releases whose laws are known."""
    model = dp.gaussian_model(
        means={"few": [40, 50], "many": [42, 46]},
        covariances=[[2, 0], [0, 25]],
        pairs=[("few", "many")],
        names=["age", "income"],
    )
    good, little = (
        dp.plan(model, dp.PrivacyTarget(epsilon=epsilon, delta=0.001), mechanisms=["expected_value_gaussian"])
        for epsilon in (1.0, 0.05)
    )
    impossible = evolve(good, assurance="proved")
    checks = (
        Check(name="certificate", passed=True, found="δ is 0.001"),
        Check(name="files", passed=True, found="same"),
    )
    verdict = Verdict(path="bundle", checks=checks, reference=True, trusted=("the private table",))
    failed = evolve(
        verdict, checks=(evolve(checks[0], passed=False, found="δ is 0.4, and 0.001 is allowed"), checks[1])
    )
    nothing = LedgerListing(histories=(), ledger="5f1c", head=None)
    texts = [
        release_text(summary(1), 1),
        release_text(summary(3)),
        release_text(summary(1, p_value=1e-5)),
        plan_text(good, 2, dataset="ward"),
        plan_text(little),
        plan_text(impossible),
        verdict.text(1),
        failed.text(),
        nothing.text(),
    ]
    return "\n\n".join(f"--- {title}\n{text}" for title, text in zip(TITLES, texts, strict=True)) + "\n"


def test_the_words_are_those_of_the_snapshot() -> None:
    assert wording() == FILE.read_text(encoding="utf-8")


@pytest.mark.parametrize("position", [1, 2, 3])
def test_a_release_of_six_statistics_is_fifteen_lines_and_120_words(position: int) -> None:
    shown = summary(position)
    (number,) = shown.numbers
    names = ("age", "hours", "never_married", "women", "education", "income")
    six = evolve(shown, numbers=[evolve(number, name=name) for name in names])
    text = release_text(six) + "\n  next: open bundle/report.html · distpriv verify bundle"
    assert len(text.splitlines()) <= 15
    assert len(text.split()) <= 120


def test_a_plan_of_six_statistics_is_fifteen_lines_and_120_words() -> None:
    means = {"few": [0.0] * 6, "many": [1.0, 0.5, 0.2, 0, 0, 0]}
    model = dp.gaussian_model(
        means=means, covariances=[[float(i == j) for j in range(6)] for i in range(6)], pairs=[("few", "many")]
    )
    plan = dp.plan(model, EACH, mechanisms=["expected_value_gaussian"])
    text = plan_text(plan, dataset="ward-7")
    assert len(text.splitlines()) <= 14
    assert len(text.split()) <= 120 - len(["next:", "distpriv", "release", "policy.toml", "--out", "bundle"])


if __name__ == "__main__":
    FILE.write_text(wording(), encoding="utf-8")
