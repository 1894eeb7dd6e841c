"""What the page shows: at once, close to what is certified; and what it may release."""

import hashlib
import json
import re
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path

import pyarrow as pa
import pytest
from tests.studio.drafts import draft
from tests.workflow.small import only, write_policy, write_tables

import distpriv as dp
from distpriv.errors import InvalidInput
from distpriv.ledger import Ledger
from distpriv.policy import Policy
from distpriv.progress import silent
from distpriv.studio import answering
from distpriv.studio.answering import Studio
from distpriv.studio.certifying import certified_numbers
from distpriv.studio.draft import Draft
from distpriv.studio.folder import Folder
from distpriv.studio.outlook import Outlook
from distpriv.workflow.plan_policy import planned


@pytest.fixture(scope="module")
def studio(tmp_path_factory: pytest.TempPathFactory) -> Studio:
    return Studio(Folder.started(tmp_path_factory.mktemp("studio"), None))


def of(**changes: object) -> Draft:
    return Draft.from_json(draft(**changes))


def test_a_table_offers_means_counts_tables_and_shares(studio: Studio) -> None:
    offer = studio.offer("embedded:adult")
    assert offer["rows"] == 45_222
    age = {"name": "age", "text": "mean(age, resolution = 1)", "label": "age", "column": "age", "note": "17 to 90"}
    assert age in offer["means"]
    sexes = next(group for group in offer["counts"] if group["column"] == "sex")
    assert [value["text"] for value in sexes["values"]] == ["count(sex = 'Male')", "count(sex = 'Female')"]
    assert {"name": "sex", "kinds": 2} in offer["by"]
    secret = {"share": "income = '>50K'", "rows": 11_208, "values": [0.2, 0.3], "telling": ["income"]}
    assert offer["secrets"][0] == secret
    every = [each["name"] for each in offer["means"]] + [v["name"] for g in offer["counts"] for v in g["values"]]
    assert len(set(every)) == len(every)
    json.dumps(offer, allow_nan=False)


def test_a_model_is_made_once_for_all_places_of_the_privacy_sliders(
    studio: Studio, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[Policy] = []

    def counted(policy: Policy) -> Outlook:
        made.append(policy)
        return Outlook.of(policy)

    class Counting:
        of = staticmethod(counted)

    monkeypatch.setattr(answering, "Outlook", Counting)
    fresh = Studio(studio.folder)
    for accuracy in (0.55, 0.6, 0.7):
        fresh.answer(of(privacy={"max_attack_accuracy": accuracy}))
    fresh.answer(of(privacy={"epsilon": 1.0, "delta": 1e-3}))
    fresh.curve(of())
    assert len(made) == 1
    fresh.answer(of(secret={"share": "income = '>50K'", "values": [0.2, 0.31]}))
    assert len(made) == 2


def test_more_privacy_is_never_shown_with_less_error_nor_an_attacker_above_what_is_allowed(studio: Studio) -> None:
    answers = [studio.answer(of(privacy={"max_attack_accuracy": a})) for a in (0.52, 0.55, 0.6)]
    errors = [answer["error"] for answer in answers]
    assert errors == sorted(errors, reverse=True)
    for accuracy, answer in zip((0.52, 0.55, 0.6), answers, strict=True):
        assert 0.5 <= answer["attacker"] <= min(accuracy, answer["undefended"])
        assert answer["provisional"]
        assert 0 <= answer["information"] <= 1
        for name, error in answer["errors"].items():
            assert 0 < error <= answer["public_errors"][name] * (1 + 1e-9)
        json.dumps(answer, allow_nan=False)


def test_what_an_attacker_sees_is_drawn_before_and_after_noise(studio: Studio) -> None:
    before, after = studio.answer(of())["curves"]
    for curve in (before, after):
        assert "income = '&gt;50K' @ 0.2" in curve["svg"].replace("&apos;", "'").replace("&#39;", "'")
        assert curve["caption"] in curve["alt"]
    covered = [int(re.findall(r"(\d+)%", curve["alt"])[-1]) for curve in (before, after)]
    assert covered[0] < covered[1] <= 100


def test_the_curve_of_errors_goes_down_to_the_right_and_below_the_public_mean(studio: Studio) -> None:
    for privacy in ({"max_attack_accuracy": 0.55}, {"epsilon": 1.0, "delta": 1e-3}):
        curve = studio.curve(of(privacy=privacy))
        errors = curve["errors"]
        assert curve["svg"].count("the choice") == 1
        assert all(later <= earlier * 1.001 for earlier, later in pairwise(errors))
        assert errors[-1] < errors[0] <= curve["public_error"] * (1 + 1e-9)


def test_what_is_shown_at_once_is_near_what_is_certified_of_gaussian_noise(studio: Studio) -> None:
    policy = studio.folder.policy(of())
    quick = Outlook.of(policy).numbers(policy.target)
    plan = dp.plan(policy.model(), policy.target, mechanisms=["certified_gaussian"])
    found = plan.chosen
    assert found is not None
    assert quick["error"] == pytest.approx(found.estimate_error, rel=0.15)
    assert quick["attacker"] == pytest.approx(found.attack_accuracy, abs=0.01)
    assert quick["public_error"] == pytest.approx(plan.public_error)


def test_delta_0_is_refused_with_the_cure(studio: Studio) -> None:
    with pytest.raises(dp.errors.NotCertified, match="needs a delta above 0: give one"):
        studio.answer(of(privacy={"epsilon": 1.0, "delta": 0.0}))


def test_tables_of_counts_are_answered_cell_by_cell(studio: Studio) -> None:
    answer = studio.answer(of(tables={"people": {"count": True, "by": ["sex", "race"]}}, statistics={}))
    assert len(answer["errors"]) == 10
    assert "[release.tables.people]" in answer["policy"]


def test_the_policy_and_the_commands_are_shown(studio: Studio) -> None:
    answer = studio.answer(of())
    assert "max_attack_accuracy = 0.55" in answer["policy"]
    assert answer["commands"][2] == "distpriv release policy.toml --out release-1"


def test_a_draft_is_certified_as_it_is_shown(studio: Studio) -> None:
    text, name = studio.to_certify(of())
    assert name == "the policy"
    assert "max_attack_accuracy = 0.55" in text


def test_a_certified_number_says_its_assurance_and_is_not_provisional(studio: Studio) -> None:
    policy = studio.folder.policy(of(statistics={"age": "mean(age, resolution = 1)"}))
    numbers = certified_numbers(planned(policy))
    assert not numbers["provisional"]
    assert numbers["assurance"] in ("checked", "proved")
    assert numbers["attacker"] <= 0.55
    json.dumps(numbers, allow_nan=False)


def test_only_what_was_confirmed_is_released(tmp_path: Path) -> None:
    fresh = Studio(Folder.started(tmp_path, None))
    with pytest.raises(InvalidInput, match="is not the policy that was confirmed"):
        fresh.release("policy.toml", "0" * 64, silent)
    assert fresh.report("release-1") is None
    assert list(tmp_path.iterdir()) == []


def test_a_confirmation_names_what_is_spent_and_that_a_ledger_is_made(tmp_path: Path) -> None:
    fresh = Studio(Folder.started(tmp_path, None))
    spends = fresh.save(of())["spends"]
    assert spends[0] == "2 numbers are released of the dataset 'ward-7', once and for good. This is its first release."
    assert spends[1] == "Spent by it: ε = 0 and δ = 0.1, by which nobody is right more than 55 % of the time."
    assert spends[3].endswith("There is no ledger yet: ledger.db is made first.")
    assert not (tmp_path / "ledger.db").exists()
    fresh.folder.close()


def test_what_was_confirmed_is_released_whatever_is_written_meanwhile(
    tmp_path: Path, adult: pa.Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another page saves, and another program writes, while the ledger is made: neither changes the release."""
    write_tables(tmp_path, adult)
    path = write_policy(tmp_path, ("create = true\n", ""))
    fresh = Studio(Folder.started(tmp_path, str(path)))
    form = fresh.folder.form()
    saved = fresh.save(Draft.from_json(form))
    weaker = Draft.from_json({**form, "privacy": {"epsilon": 1.9, "delta": 0.01}})
    monkeypatch.setattr(answering, "PATIENCE", 0.0)
    own = Ledger.create

    def meanwhile(url: str) -> Ledger:
        with pytest.raises(InvalidInput, match="a release is under way: wait until it is done"):
            fresh.save(weaker)
        with pytest.raises(InvalidInput, match="a release is under way: wait until it is done"):
            fresh.release(saved["file"], saved["digest"], silent)
        path.write_text(fresh.folder.text(weaker))
        return own(url)

    monkeypatch.setattr(Ledger, "create", meanwhile)
    with only("certified_gaussian", page=False):
        made = fresh.release(saved["file"], saved["digest"], silent)
    document = json.loads((tmp_path / made["bundle"] / "release.json").read_text())
    assert document["certificate"]["epsilon"] == 1.0
    assert "epsilon = 1.9" in path.read_text()
    with pytest.raises(InvalidInput, match="was changed since it was confirmed"):
        fresh.release(saved["file"], saved["digest"], silent)


def test_of_pages_that_write_one_policy_each_is_told_the_digest_of_its_own(tmp_path: Path) -> None:
    fresh = Studio(Folder.started(tmp_path, None))
    drafts = [of(privacy={"epsilon": each, "delta": 0.01}) for each in (0.5, 1.0, 1.5, 2.0)]
    with ThreadPoolExecutor(4) as pool:
        saved = list(pool.map(fresh.save, drafts))
    for each, found in zip(drafts, saved, strict=True):
        assert found["digest"] == hashlib.sha256(fresh.folder.text(each).encode()).hexdigest()
        assert f"ε = {each.privacy.epsilon:g} " in found["spends"][1]
    fresh.folder.close()


def test_a_release_without_its_private_table_is_one_sentence_and_shows_nothing(tmp_path: Path) -> None:
    fresh = Studio(Folder.started(tmp_path, None))
    saved = fresh.save(of(statistics={"age": "mean(age, resolution = 1)"}))
    with pytest.raises(dp.errors.DistprivError) as refused:
        fresh.release(saved["file"], saved["digest"], silent)
    assert "\n" not in str(refused.value)
    assert not (tmp_path / "release-1").exists()
    assert fresh.report("release-1") is None
    fresh.folder.close()
