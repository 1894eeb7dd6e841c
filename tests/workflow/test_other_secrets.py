"""Policies that hide what is no share, or have survey weights: released, written down, and verified."""

import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from attrs import evolve
from distpriv.bundle.model_checks import moments_problem
from tests.workflow.forging import AGE, NEVER, PROVED, accepted, forged, read
from tests.workflow.small import SAMPLE, only, write_policy, write_tables

import distpriv as dp
from distpriv.bundle import verify_bundle
from distpriv.errors import DistprivError, InvalidPolicy
from distpriv.policy import read_policy
from distpriv.releasing.immunity import THEOREM as IMMUNE
from distpriv.workflow.release_policy import release_policy

SHARE = "share = \"income = '>50K'\"\nvalues = [0.45, 0.55]"
MEAN = (SHARE, 'mean = "hours_per_week"\nvalues = [38, 42]')


def released(folder: Path, adult: pa.Table, mechanism: str, *edits: tuple[str, str]) -> Path:
    write_tables(folder, adult)
    with only(mechanism, page=mechanism == "exact_law"):
        return release_policy(str(write_policy(folder, MEAN, *edits)), folder / "out").folder / "release.json"


@pytest.mark.parametrize("mechanism", ["certified_gaussian", "exact_law"])
def test_a_release_that_hides_a_mean_verifies_and_says_what_it_hides(
    tmp_path: Path, adult: pa.Table, mechanism: str
) -> None:
    path = released(tmp_path, adult, mechanism)
    verified = verify_bundle(path)
    assert verified.holds, verified
    if mechanism == "exact_law":
        page = (path.parent / "report.html").read_text(encoding="utf-8")
        assert "What mean(hours_per_week) is among the records: whether it is 38 or 42." in page


def test_scenarios_of_another_value_or_property_are_found_out(tmp_path: Path, adult: pa.Table) -> None:
    path = released(tmp_path, adult, "certified_gaussian")

    def another_value(document: dict[str, Any]) -> None:
        document["evidence"]["model"]["scenarios"]["mean(hours_per_week) @ 38"]["tilt"]["value"] = 41.0

    def another_property(document: dict[str, Any]) -> None:
        document["evidence"]["model"]["scenarios"]["mean(hours_per_week) @ 38"]["tilt"]["expressions"] = ["age"]

    def no_weights(document: dict[str, Any]) -> None:
        del document["evidence"]["model"]["scenarios"]["mean(hours_per_week) @ 38"]["tilt"]

    def without_replacement(document: dict[str, Any]) -> None:
        document["evidence"]["model"]["replacement"] = False

    for change in (another_value, another_property, no_weights, without_replacement):
        assert not accepted(forged(path.parent, tmp_path / "forged", change)), change.__name__


def test_cells_without_their_weights_are_found_out(tmp_path: Path, adult: pa.Table) -> None:
    path = released(tmp_path, adult, "exact_law")

    def forget(document: dict[str, Any]) -> None:
        for stratum in document["evidence"]["drawn"]["release"]["strata"]:
            del stratum["weights"]

    assert not accepted(forged(path.parent, tmp_path / "forged", forget))


@pytest.mark.slow
def test_a_release_of_a_sample_verifies_and_what_it_leaves_open_cannot_be_said_otherwise(
    tmp_path: Path, adult: pa.Table
) -> None:
    path = released(tmp_path, adult, "certified_gaussian", SAMPLE)
    assert accepted(path.parent)

    def strata(document: dict[str, Any]) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = document["evidence"]["model"]["strata"]
        return found

    def without_loads(document: dict[str, Any]) -> None:
        for stratum in strata(document):
            del stratum["loads"], stratum["family"]

    def of_two_families(document: dict[str, Any]) -> None:
        strata(document)[0]["family"] = "mean(age)"

    def of_another_width(document: dict[str, Any]) -> None:
        strata(document)[0]["loads"] = [row[:1] for row in strata(document)[0]["loads"]]

    def of_more_rows(document: dict[str, Any]) -> None:
        strata(document)[0]["rows"] *= 10

    for change in (without_loads, of_two_families, of_another_width, of_more_rows):
        assert not accepted(forged(path.parent, tmp_path / "forged", change)), change.__name__


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
    verified = verify_bundle(path)
    assert verified.holds, verified

    def another_weight(document: dict[str, Any]) -> None:
        document["evidence"]["model"]["weight"] = "age"

    def no_weight(document: dict[str, Any]) -> None:
        del document["evidence"]["model"]["weight"]

    def no_weight_anywhere(document: dict[str, Any]) -> None:
        del document["evidence"]["model"]["weight"], document["policy"]["model"]["weight"]

    def without_replacement(document: dict[str, Any]) -> None:
        document["evidence"]["model"]["replacement"] = False

    for change in (another_weight, no_weight, no_weight_anywhere, without_replacement):
        assert not accepted(forged(path.parent, tmp_path / "forged", change)), change.__name__


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
    verified = verify_bundle(path)
    assert verified.holds, verified
    if not edits:
        page = (path.parent / "report.html").read_text(encoding="utf-8")
        assert "Which share of the records is of men, the rest being of women: between 0.4 and 0.6" in page

    def another_share(document: dict[str, Any]) -> None:
        document["evidence"]["model"]["scenarios"]["mixture(women, men) @ 0.4"]["tilt"]["value"] = 0.45

    def other_tables(document: dict[str, Any]) -> None:
        document["evidence"]["model"]["scenarios"]["mixture(women, men) @ 0.4"]["tilt"]["expressions"] = [
            "men",
            "women",
        ]

    for change in (another_share, other_tables):
        assert not accepted(forged(path.parent, tmp_path / "forged", change)), change.__name__


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
    verified = verify_bundle(path)
    assert verified.holds, verified

    def scenarios(document: dict[str, Any]) -> dict[str, Any]:
        found: dict[str, Any] = document["evidence"]["model"]["scenarios"]
        return found

    def of_the_first(document: dict[str, Any]) -> None:
        for scenario in scenarios(document).values():
            scenario.pop("reference", None)

    def without_the_other(document: dict[str, Any]) -> None:
        model = document["evidence"]["model"]
        model["scenarios"] = {name: each for name, each in scenarios(document).items() if "reference" not in each}
        model["protected_pairs"] = [
            pair for pair in model["protected_pairs"] if not any("reference" in n for n in pair)
        ]

    for change in (of_the_first, without_the_other):
        assert not accepted(forged(path.parent, tmp_path / "forged", change)), change.__name__


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
    verified = verify_bundle(bundle / "release.json")
    assert verified.holds, verified
    document = read(bundle)
    assert document["evidence"]["model"]["robust"] == document["policy"]["model"]["robust"] == 1e-7
    assert [one["facts"]["radius"] for one in document["certificate"]["evidence"] if one["code"] == "DP317"] == [1e-7]

    def a_larger_ball(document: dict[str, Any]) -> None:
        for place in (document["policy"]["model"], document["evidence"]["model"]):
            place["robust"] = 2e-7

    def no_ball_in_the_moments(document: dict[str, Any]) -> None:
        del document["evidence"]["model"]["robust"]

    def no_word_of_it(document: dict[str, Any]) -> None:
        for key in ("certificate", "joint_certificate"):
            document[key]["evidence"] = [one for one in document[key]["evidence"] if one["code"] != "DP317"]

    def less_delta(document: dict[str, Any]) -> None:
        for key in ("certificate", "joint_certificate"):
            document[key]["delta"] *= 0.95

    for change in (a_larger_ball, no_ball_in_the_moments, no_word_of_it, less_delta):
        assert not accepted(forged(bundle, tmp_path / "forged", change)), change.__name__


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
    verified = verify_bundle(bundle / "release.json")
    assert verified.holds, verified
    model = read(bundle)["evidence"]["model"]
    assert len(model["scenarios"]) == 4
    assert len(model["protected_pairs"]) == 12
    if not edits:
        page = (bundle / "report.html").read_text(encoding="utf-8")
        assert "All of these at once." in page

    def another_value(document: dict[str, Any]) -> None:
        first = next(iter(document["evidence"]["model"]["scenarios"].values()))
        first["tilt"]["parts"][1]["value"] = 41.0

    def each_for_itself(document: dict[str, Any]) -> None:
        for table in document["policy"]["protect"]:
            del table["combined"]

    for change in (another_value, each_for_itself):
        assert not accepted(forged(bundle, tmp_path / "forged", change)), change.__name__


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


def test_means_of_mixtures_that_are_not_on_a_line_are_found_out(adult: pa.Table) -> None:
    query, halves = dp.Query(age=dp.mean("age")), (adult.slice(0, 500), adult.slice(500, 500))
    secret = dp.Shift(*halves, values=(0.2, 0.3, 0.6))
    model = dp.model(None, query, secret, records=50, reference="population")
    assert moments_problem(model, query) is None
    name = "mixture(first, second) @ 0.3"
    moved = evolve(model.distributions[name], mean=model.distributions[name].mean + 0.001)
    problem = moments_problem(evolve(model, distributions={**model.distributions, name: moved}), query)
    assert problem is not None
    assert "mixture(first, second) are not on a line" in problem
