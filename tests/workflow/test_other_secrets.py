"""Policies that hide what is no share, or have survey weights: released, written down, and verified."""

import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from tests.bundle.forging import AGE, NEVER, PROVED, accepted, everything, forged, read
from tests.workflow.small import SAMPLE, only, write_policy, write_tables

from distpriv.bundle import verify_bundle
from distpriv.errors import DistprivError, InvalidPolicy
from distpriv.policy import read_policy
from distpriv.releasing.immunity import THEOREM as IMMUNE
from distpriv.workflow.release_policy import release_policy

SHARE = "share = \"income = '>50K'\"\nvalues = [0.45, 0.55]"
MEAN = (SHARE, 'mean = "hours_per_week"\nvalues = [38, 42]')


def other_moments(document: dict[str, Any]) -> None:
    """Say that the scenarios are less far apart than they are."""
    first, second, *_ = document["evidence"]["model"]["scenarios"].values()
    first["mean"] = [0.9 * one + 0.1 * other for one, other in zip(first["mean"], second["mean"], strict=True)]


def expect_refused(bundle: Path, folder: Path, *changes: Any) -> None:
    """See that a bundle is verified, and forgeries of it are not."""
    for given in ({}, everything(bundle)):
        verified = verify_bundle(bundle, **given)
        assert verified.holds, verified
    for change in (other_moments, *changes):
        assert not accepted(forged(bundle, folder / "forged", change), bundle), change.__name__


def released(folder: Path, adult: pa.Table, mechanism: str, *edits: tuple[str, str]) -> Path:
    write_tables(folder, adult)
    with only(mechanism, page=mechanism == "exact_law"):
        return release_policy(str(write_policy(folder, MEAN, *edits)), folder / "out").folder / "release.json"


@pytest.mark.parametrize("mechanism", ["certified_gaussian", "exact_law"])
def test_a_release_that_hides_a_mean_verifies_and_says_what_it_hides(
    tmp_path: Path, adult: pa.Table, mechanism: str
) -> None:
    path = released(tmp_path, adult, mechanism)
    expect_refused(path.parent, tmp_path, another_value)
    if mechanism == "exact_law":
        page = (path.parent / "report.html").read_text(encoding="utf-8")
        assert "What mean(hours_per_week) is among the records: whether it is 38 or 42." in page


def another_value(document: dict[str, Any]) -> None:
    document["policy"]["protect"][0]["values"] = [39, 42]


def test_cells_without_their_weights_are_found_out(tmp_path: Path, adult: pa.Table) -> None:
    path = released(tmp_path, adult, "exact_law")

    def forget(document: dict[str, Any]) -> None:
        for stratum in document["evidence"]["drawn"]["release"]["strata"]:
            stratum["weights"] = None

    expect_refused(path.parent, tmp_path, forget)


@pytest.mark.slow
def test_a_release_of_a_sample_verifies_and_what_it_leaves_open_cannot_be_said_otherwise(
    tmp_path: Path, adult: pa.Table
) -> None:
    path = released(tmp_path, adult, "certified_gaussian", SAMPLE)

    def strata(document: dict[str, Any]) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = document["evidence"]["model"]["strata"]
        return found

    def without_loads(document: dict[str, Any]) -> None:
        for stratum in strata(document):
            stratum["loads"] = stratum["family"] = None

    def of_two_families(document: dict[str, Any]) -> None:
        strata(document)[0]["family"] = "mean(age)"

    def of_another_width(document: dict[str, Any]) -> None:
        strata(document)[0]["loads"] = [row[:1] for row in strata(document)[0]["loads"]]

    def of_more_rows(document: dict[str, Any]) -> None:
        strata(document)[0]["rows"] *= 10

    expect_refused(path.parent, tmp_path, without_loads, of_two_families, of_another_width, of_more_rows)


@pytest.mark.slow
def test_two_releases_of_one_dataset_that_hide_a_mean_are_certified_as_one(tmp_path: Path, adult: pa.Table) -> None:
    edits = (("create = true", 'create = true\nadaptive = "assumed"'), ("epsilon = 2.0", "epsilon = 3.0"))
    released(tmp_path, adult, "certified_gaussian", *edits)
    other = write_policy(
        tmp_path,
        MEAN,
        *edits,
        ('age = "mean(age, resolution = 1)"', "women = \"count(sex = 'Female')\""),
        name="b.toml",
    )
    with only("certified_gaussian"):
        again = release_policy(str(other), tmp_path / "again").folder / "release.json"
    assert verify_bundle(again).holds


@pytest.mark.parametrize(
    "secret",
    [
        'quantile = "hours_per_week"\nlevel = 0.5\nbetween = [38, 42]\nwithin = 2\nstep = 2',
        'correlation = ["age", "education_num"]\nvalues = [0.0, 0.1]',
    ],
)
def test_other_properties_are_modelled_from_a_policy(tmp_path: Path, adult: pa.Table, secret: str) -> None:
    write_tables(tmp_path, adult)
    model = read_policy(write_policy(tmp_path, (SHARE, secret))).model()
    assert model.provenance.replacement
    assert all(scenario.tilt is not None for scenario in model.scenarios.values())


WEIGHTED = ('reference = "population"\n', 'reference = "population"\nweight = "fnlwgt"\n')
WEIGHTED_SAMPLE = ('[model]\nreference = "population"\n', '[model]\nweight = "fnlwgt"\n')


def weighted_release(folder: Path, adult: pa.Table, mechanism: str, *edits: tuple[str, str]) -> Path:
    write_tables(folder, adult)
    pq.write_table(adult.slice(1000, 100).drop_columns(["fnlwgt"]), folder / "private.parquet")
    with only(mechanism):
        return release_policy(str(write_policy(folder, *edits)), folder / "out").folder / "release.json"


@pytest.mark.parametrize(
    ("mechanism", "edits"),
    [
        ("certified_gaussian", (WEIGHTED,)),
        ("exact_law", (WEIGHTED,)),
        ("certified_gaussian", (WEIGHTED_SAMPLE,)),
        ("certified_gaussian", (MEAN, WEIGHTED_SAMPLE)),
        ("coupled_gaussian", (WEIGHTED,)),
    ],
)
def test_a_release_with_survey_weights_verifies_and_private_rows_need_none(
    tmp_path: Path, adult: pa.Table, mechanism: str, edits: tuple[tuple[str, str], ...]
) -> None:
    path = weighted_release(tmp_path, adult, mechanism, *edits)

    def another_weight(document: dict[str, Any]) -> None:
        document["policy"]["model"]["weight"] = "age"

    def no_weight(document: dict[str, Any]) -> None:
        del document["policy"]["model"]["weight"]

    expect_refused(path.parent, tmp_path, another_weight, no_weight)


@pytest.mark.parametrize(
    ("edit", "sentence"),
    [
        (("[model]", '[model]\nweight = "sex"'), "weight"),
        (("[model]", '[model]\nweight = "fnlwgts"'), "fnlwgt"),
        (("[model]", '[model]\nweight = "fnlwgt - 20000"'), "in a row: give how many people a row stands for"),
        (("[model]", '[model]\nweight = "fnlwgt"\nreplacement = false'), "records are drawn independently"),
    ],
)
def test_weights_of_a_policy_are_refused_by_key_and_line(
    tmp_path: Path, adult: pa.Table, edit: tuple[str, str], sentence: str
) -> None:
    write_tables(tmp_path, adult)
    with pytest.raises(InvalidPolicy, match=sentence) as refused:
        read_policy(write_policy(tmp_path, edit)).model()
    assert re.search(r"line 2[23], model\.(weight|replacement):", str(refused.value))


def test_a_policy_that_asks_for_distinct_rows_beside_a_mean_is_refused(tmp_path: Path, adult: pa.Table) -> None:
    write_tables(tmp_path, adult)
    with pytest.raises(InvalidPolicy, match="records are drawn independently of each other"):
        read_policy(write_policy(tmp_path, MEAN, ("[model]", "[model]\nreplacement = false")))


SHIFT = (
    SHARE,
    'shift = {women = "women.parquet", men = "men.parquet"}\nbetween = [0.4, 0.6]\nwithin = 0.1\nstep = 0.1',
)


def write_halves(folder: Path, adult: pa.Table) -> None:
    write_tables(folder, adult)
    for name, sex in (("women", "Female"), ("men", "Male")):
        pq.write_table(adult.filter(pc.equal(adult["sex"], sex)).slice(0, 900), folder / f"{name}.parquet")


def another_share(document: dict[str, Any]) -> None:
    document["policy"]["protect"][0]["step"] = 0.05


def other_tables(document: dict[str, Any]) -> None:
    hidden = document["policy"]["protect"][0]
    hidden["shift"] = dict(zip(hidden["shift"], reversed(hidden["shift"].values()), strict=True))


@pytest.mark.parametrize(
    "edits", [pytest.param((), id="population"), pytest.param((SAMPLE,), id="sample", marks=pytest.mark.slow)]
)
def test_a_release_that_hides_a_mixture_of_two_tables_verifies(
    tmp_path: Path, adult: pa.Table, edits: tuple[tuple[str, str], ...]
) -> None:
    write_halves(tmp_path, adult)
    policy = write_policy(tmp_path, SHIFT, ('reference = "adult.parquet"\n', ""), *edits)
    with only("certified_gaussian", page=not edits):
        path = release_policy(str(policy), tmp_path / "out").folder / "release.json"
    expect_refused(path.parent, tmp_path, another_share, other_tables)
    if not edits:
        page = (path.parent / "report.html").read_text(encoding="utf-8")
        assert "Which share of the records is of men, the rest being of women: between 0.4 and 0.6" in page


@pytest.mark.parametrize(
    ("secret", "sentence"),
    [
        ('shift = {women = "women.parquet"}\nvalues = [0, 0.5]', r"protect\.shift"),
        ('shift = {women = "women.parquet", men = "private.parquet"}\nvalues = [0, 0.5]', r"data\.private"),
        ('shift = {women = "women.parquet", men = "men.parquet"}\nvalues = [0, 1.5]', "protect.*values"),
        ('shift = {women = "women.parquet", men = "men.parquet"}\nbetween = [0, 0.5]', r"protect\.between"),
        ('shift = {women = "women.parquet", men = "men.parquet"}\nvalues = [0, 0.5]\nlevel = 0.5', r"protect\.level"),
        ('shift = {women = "women.parquet", men = "none.parquet"}\nvalues = [0, 0.5]', "shift.*men.*no file"),
    ],
)
def test_a_shift_that_cannot_be_is_refused_by_key_and_line(
    tmp_path: Path, adult: pa.Table, secret: str, sentence: str
) -> None:
    write_halves(tmp_path, adult)
    with pytest.raises(InvalidPolicy, match=sentence):
        read_policy(write_policy(tmp_path, (SHARE, secret))).model()


ROBUST = ('reference = "adult.parquet"', 'reference = "adult.parquet"\nrobust = ["other.parquet"]')


@pytest.mark.parametrize("edits", [(), pytest.param((MEAN, SAMPLE), marks=pytest.mark.slow)])
def test_a_release_across_references_verifies(
    tmp_path: Path, adult: pa.Table, edits: tuple[tuple[str, str], ...]
) -> None:
    write_tables(tmp_path, adult)
    pq.write_table(adult.slice(5000, 2500), tmp_path / "other.parquet")
    with only("certified_gaussian"):
        policy = write_policy(tmp_path, ROBUST, *edits)
        path = release_policy(str(policy), tmp_path / "out").folder / "release.json"

    def without_the_other(document: dict[str, Any]) -> None:
        del document["policy"]["data"]["robust"]

    expect_refused(path.parent, tmp_path, without_the_other)


def test_other_references_are_refused_by_key_and_line(tmp_path: Path, adult: pa.Table) -> None:
    write_halves(tmp_path, adult)
    for given, sentence in (
        ('["nowhere.parquet"]', r"data\.robust.*no file"),
        ('["private.parquet"]', "also a public one"),
        ("[]", r"data\.robust.*list of other tables"),
        ('"women.parquet"', "must be a list"),
    ):
        edit = ROBUST[0], f"{ROBUST[0]}\nrobust = {given}"
        with pytest.raises(InvalidPolicy, match=sentence):
            read_policy(write_policy(tmp_path, edit)).model()


BALL = ("[model]\n", "[model]\nrobust = 1e-7\n")
TOTAL = ("epsilon = 2.0\ndelta = 0.02\n", 'epsilon = 1.0\ndelta = 0.015\nadaptive = "assumed"\n')


@pytest.mark.parametrize(
    ("mechanism", "edits"),
    [
        ("certified_gaussian", ()),
        ("certified_gaussian", (ROBUST,)),
        ("exact_law", (MEAN,)),
        ("group_privacy_laplace", (PROVED,)),
        ("coupled_gaussian", (PROVED,)),
    ],
)
def test_a_release_with_a_ball_around_its_reference_verifies_and_no_other_ball_does(
    tmp_path: Path, adult: pa.Table, mechanism: str, edits: tuple[tuple[str, str], ...]
) -> None:
    write_tables(tmp_path, adult)
    pq.write_table(adult.slice(5000, 2500), tmp_path / "other.parquet")
    with only(mechanism):
        bundle = release_policy(str(write_policy(tmp_path, BALL, *edits)), tmp_path / "out").folder
    document = read(bundle)
    assert document["policy"]["model"]["robust"] == 1e-7
    assert [one["facts"]["radius"] for one in document["certificate"]["evidence"] if one["code"] == "DP317"] == [1e-7]

    def a_larger_ball(document: dict[str, Any]) -> None:
        document["policy"]["model"]["robust"] = 2e-7

    def no_ball(document: dict[str, Any]) -> None:
        del document["policy"]["model"]["robust"]

    def no_word_of_it(document: dict[str, Any]) -> None:
        for key in ("certificate", "joint_certificate"):
            document[key]["evidence"] = [one for one in document[key]["evidence"] if one["code"] != "DP317"]

    def less_delta(document: dict[str, Any]) -> None:
        for key in ("certificate", "joint_certificate"):
            document[key]["delta"] *= 0.95

    expect_refused(bundle, tmp_path, a_larger_ball, no_ball, no_word_of_it, less_delta)


def test_releases_with_a_ball_hold_together_and_verify(tmp_path: Path, adult: pa.Table) -> None:
    write_tables(tmp_path, adult)
    with only("certified_gaussian"):
        release_policy(str(write_policy(tmp_path, BALL, TOTAL, (AGE, ""))), tmp_path / "first")
        second = release_policy(str(write_policy(tmp_path, BALL, TOTAL, (NEVER, ""))), tmp_path / "out").folder
        for other in ("robust = 2e-7", "replacement = true"):
            policy = write_policy(tmp_path, ("[model]\n", f"[model]\n{other}\n"), TOTAL, (NEVER, ""))
            with pytest.raises(DistprivError, match="with robust = 1e-07, not"):
                release_policy(str(policy), tmp_path / "other")
    verified = verify_bundle(second / "release.json")
    assert verified.holds, verified
    joint = read(second)["joint_certificate"]
    assert joint["delta"] <= joint["target"]["delta"]
    assert [one["facts"]["radius"] for one in joint["evidence"] if one["code"] == "DP317"] == [1e-7]


def test_questions_that_depend_on_answers_hold_in_a_ball_too(tmp_path: Path, adult: pa.Table) -> None:
    """Noise that hides so many records is of scenarios that differ in so many, and a ball is around each of them."""
    write_tables(tmp_path, adult)
    ages = ('"mean(age, resolution = 1)"', '"mean(age, resolution = 1, bounds = (17, 90))"')
    with only("group_privacy_laplace"):
        for number, missing in enumerate((AGE.replace(*ages), NEVER)):
            policy = write_policy(tmp_path, BALL, PROVED, ages, (missing, ""))
            bundle = release_policy(str(policy), tmp_path / f"out{number}").folder
    verified = verify_bundle(bundle / "release.json")
    assert verified.holds, verified
    joint = read(bundle)["joint_certificate"]
    assert joint["theorem"] == IMMUNE
    assert joint["delta"] > 0


@pytest.mark.parametrize(
    ("edit", "sentence"),
    [
        ("robust = 0\n", r"model\.robust.*above 0"),
        ('robust = ["a"]\n', r"model\.robust.*number"),
        ("robust = 1e-7\nreplacement = false\n", r"model\.replacement.*a ball around the reference"),
    ],
)
def test_a_ball_that_cannot_be_is_refused_by_key_and_line(
    tmp_path: Path, adult: pa.Table, edit: str, sentence: str
) -> None:
    write_tables(tmp_path, adult)
    with pytest.raises(InvalidPolicy, match=sentence):
        read_policy(write_policy(tmp_path, ("[model]\n", f"[model]\n{edit}"))).model()


COMBINED = (
    SHARE,
    f'{SHARE}\ncombined = true\n\n[[protect]]\nmean = "hours_per_week"\nvalues = [40, 42]\ncombined = true',
)


@pytest.mark.parametrize("edits", [(), (SAMPLE,)], ids=["population", "sample"])
def test_a_release_that_hides_combinations_verifies(
    tmp_path: Path, adult: pa.Table, edits: tuple[tuple[str, str], ...]
) -> None:
    write_tables(tmp_path, adult)
    with only("certified_gaussian", page=not edits):
        bundle = release_policy(str(write_policy(tmp_path, COMBINED, *edits)), tmp_path / "out").folder
    assert len(read(bundle)["evidence"]["model"]["scenarios"]) == 4
    if not edits:
        page = (bundle / "report.html").read_text(encoding="utf-8")
        assert "All of these at once." in page

    def each_for_itself(document: dict[str, Any]) -> None:
        for table in document["policy"]["protect"]:
            del table["combined"]

    expect_refused(bundle, tmp_path, each_for_itself)


@pytest.mark.parametrize(
    ("secret", "sentence"),
    [
        (f"{SHARE}\ncombined = true", r"protect.*combined.*two secrets at least"),
        (f"{SHARE}\ncombined = 1", r"combined.*true or false"),
        (COMBINED[1].replace("hours_per_week", "nothing"), r"protect\[1\]\.mean|protect.*mean.*nothing"),
        (COMBINED[1].replace("[40, 42]", "[40, 420]"), r"protect.*420"),
    ],
)
def test_combinations_that_cannot_be_are_refused_by_key_and_line(
    tmp_path: Path, adult: pa.Table, secret: str, sentence: str
) -> None:
    write_tables(tmp_path, adult)
    with pytest.raises(InvalidPolicy, match=sentence):
        read_policy(write_policy(tmp_path, (SHARE, secret))).model()
