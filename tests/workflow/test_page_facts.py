"""The page of real releases: what stands above everything else is what all of them together allow."""

import json
import re
from pathlib import Path

import pyarrow as pa
import pytest
from tests.report.reader import Reader
from tests.workflow.small import only, write_policy, write_tables

from distpriv.bundle.verify import Opened
from distpriv.bundle.write import read_record
from distpriv.guarantees.exact_delta import exact_delta
from distpriv.ledger import Ledger
from distpriv.releasing.stack import stacked
from distpriv.report.summary import QUESTIONS as COVERED
from distpriv.workflow.release_policy import release_policy

QUESTIONS = ("mean(age, resolution = 1)", "mean(hours_per_week, resolution = 1)", "mean(education_num, resolution = 1)")


@pytest.fixture(scope="module")
def bundles(tmp_path_factory: pytest.TempPathFactory, adult: pa.Table) -> list[Path]:
    """The bundles of a first, a second and a third release."""
    folder = tmp_path_factory.mktemp("board")
    write_tables(folder, adult)
    Ledger.create(f"sqlite:///{folder / 'ledger.db'}")
    made = []
    for number, question in enumerate(QUESTIONS):
        policy = write_policy(
            folder,
            ('age = "mean(age, resolution = 1)"', f'number_{number} = "{question}"'),
            ("never_married = \"count(marital_status = 'Never-married')\"\n", ""),
            ("delta = 0.02\n", 'delta = 0.02\nadaptive = "assumed"\n'),
        )
        with only("expected_value_gaussian", page=True):
            made.append(release_policy(str(policy), folder / f"out_{number}").folder)
    return made


def joint_accuracy(bundle: Path) -> float:
    """Return how often the best attacker is right who has all releases, from the evidence alone."""
    opened = Opened(record=read_record(bundle), path=bundle, reference=None)
    noise = stacked(opened.together.noises)
    return (1 + exact_delta(opened.whole, noise, epsilon=0.0)) / 2


@pytest.mark.slow
@pytest.mark.parametrize("number", [0, 1, 2])
def test_the_largest_figure_of_the_headline_is_not_below_what_all_releases_allow(
    bundles: list[Path], number: int
) -> None:
    document = json.loads((bundles[number] / "release.json").read_text(encoding="utf-8"))
    text = "\n".join(Reader((bundles[number] / "report.html").read_text(encoding="utf-8")).texts)
    assert document["attacker"]["together"] >= joint_accuracy(bundles[number])
    headline = re.search(r"(?:→|at most) (\d+(?:\.\d+)?) %", text)
    assert headline is not None
    assert float(headline[1]) >= 100 * joint_accuracy(bundles[number])
    assert float(headline[1]) >= 100 * document["attacker"]["together"] - 1e-6


def test_later_pages_say_that_questions_are_assumed_not_to_depend_on_answers(bundles: list[Path]) -> None:
    for number, bundle in enumerate(bundles):
        text = (bundle / "report.html").read_text(encoding="utf-8")
        assert (COVERED["assumed"] in text) == (number > 0)


def test_the_share_that_is_taken_for_another_is_shown_on_the_page_and_written_everywhere(
    tmp_path: Path, adult: pa.Table
) -> None:
    write_tables(tmp_path, adult)
    policy = write_policy(tmp_path, ("values = [0.45, 0.55]", "values = [0.45, 0.5549]\nnearest = true"))
    with only("expected_value_gaussian", page=True):
        folder = release_policy(str(policy), tmp_path / "out").folder
    page = "\n".join(Reader((folder / "report.html").read_text(encoding="utf-8")).texts)
    assert "whether it is 45 % or 55.49 %, or the nearest that there is." in page
    assert "Of 100 records the nearest is taken: 55 (55 %) for 55.49 %." in page
    document = json.loads((folder / "release.json").read_text(encoding="utf-8"))
    assert document["policy"]["protect"][0]["nearest"] is True
    scenarios = document["evidence"]["model"]["scenarios"]
    assert [name.rpartition(" @ ")[2] for name in scenarios] == ["0.45", "0.55"]
    entries = Ledger.open(f"sqlite:///{tmp_path / 'ledger.db'}").history("ward").entries
    assert any("@ 0.55" in json.dumps(entry.content) for entry in entries)
