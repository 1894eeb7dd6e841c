import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.bundle.forging import everything
from tests.bundle.mutants import text_of
from tests.workflow.small import SAMPLE, only, write_policy, write_tables

import distpriv as dp
from distpriv.bundle import verify_bundle
from distpriv.bundle.recertify import BY_FORMULA, JOINT, THEOREMS
from distpriv.errors import InvalidInput
from distpriv.planning.candidates import CANDIDATES
from distpriv.workflow.release_policy import audit_bundle, release_policy

KINDS = {
    "gaussian": ("certified_gaussian", ()),
    "sum": ("certified_laplace", ()),
    "draws": ("coupled_gaussian", (("delta = 0.01\n", 'delta = 0.01\nassurance = "proved"\n'),)),
    "laplace draws": ("coupled_laplace", (("delta = 0.01\n", 'delta = 0.01\nassurance = "proved"\n'),)),
    "group": ("group_privacy_gaussian", (("delta = 0.01\n", 'delta = 0.01\nassurance = "proved"\n'),)),
    "distance": ("wasserstein", (("delta = 0.01\n", 'delta = 0.01\nassurance = "proved"\n'),)),
    "several laws": (
        "coupled_gaussian",
        (
            ("values = [0.45, 0.55]", "between = [0.4, 0.5]\nwithin = 0.05"),
            ("delta = 0.01\n", 'delta = 0.01\nassurance = "proved"\n'),
        ),
    ),
    "bounded": ("bounded", (("delta = 0.01\n", 'delta = 0.01\nassurance = "assumed"\n'),)),
}


@pytest.fixture(scope="module")
def bundles(tmp_path_factory: pytest.TempPathFactory, adult: pa.Table) -> Callable[[str], Path]:
    """A bundle of each kind of certificate, made when first asked for."""
    made: dict[str, Path] = {}

    def bundle(kind: str) -> Path:
        if kind not in made:
            folder = tmp_path_factory.mktemp("bundle")
            write_tables(folder, adult)
            name, edits = KINDS[kind]
            with only(name):
                release_policy(str(write_policy(folder, *edits)), folder / "out")
            made[kind] = folder / "out" / "release.json"
        return made[kind]

    return bundle


def tampered(path: Path, change: Callable[[dict[str, Any]], None], tmp_path: Path) -> Path:
    document = json.loads(path.read_text(encoding="utf-8"))
    change(document)
    (tmp_path / "tampered").mkdir()
    (tmp_path / "tampered" / "release.json").write_text(text_of(document), encoding="utf-8")
    return tmp_path / "tampered" / "release.json"


@pytest.mark.parametrize("kind", KINDS)
def test_an_honest_bundle_holds(bundles: Callable[[str], Path], kind: str) -> None:
    for given in ({}, everything(bundles(kind).parent)):
        verdict = verify_bundle(bundles(kind), **given)
        assert verdict.holds, str(verdict)
        assert verdict.to_dict()["reference"] == verdict.to_dict()["ledger"] == bool(given)


def narrower(law: dict[str, Any], factor: float) -> None:
    for part in law.get("parts", [law]):
        for key, power in (("variances", 2), ("scales", 1)):
            if key in part:
                part[key] = [size * factor**power for size in part[key]]


def halve_noise(bundle: dict[str, Any]) -> None:
    narrower(bundle["noise"], 0.5)


def lower_delta(bundle: dict[str, Any]) -> None:
    for key in ("certificate", "joint_certificate"):
        bundle[key]["delta"] /= 2


def ask_for_more(bundle: dict[str, Any]) -> None:
    for key in ("certificate", "joint_certificate"):
        bundle[key]["epsilon"] = bundle[key]["target"]["epsilon"] = 0.5
    bundle["policy"]["privacy"]["epsilon"] = bundle["policy"]["ledger"]["epsilon"] = 0.5


@pytest.mark.parametrize("kind", ["gaussian", "sum", "draws", "group"])
@pytest.mark.parametrize("change", [halve_noise, lower_delta, ask_for_more])
def test_a_bundle_that_promises_more_than_it_shows_is_found_out(
    bundles: Callable[[str], Path], kind: str, change: Callable[[dict[str, Any]], None], tmp_path: Path
) -> None:
    verdict = verify_bundle(tampered(bundles(kind), change, tmp_path))
    assert not verdict.holds
    assert verdict.sentence.endswith(".")
    assert "\n" not in verdict.sentence


def _scenario(bundle: dict[str, Any]) -> dict[str, Any]:
    return next(iter(bundle["evidence"]["model"]["scenarios"].values()))


def _move_mean(bundle: dict[str, Any]) -> None:
    _scenario(bundle)["mean"][0] += 0.5


def _break_covariance(bundle: dict[str, Any]) -> None:
    _scenario(bundle)["covariance"][0][0] = -1.0


def _lose_a_row(bundle: dict[str, Any]) -> None:
    _scenario(bundle)["covariance"].pop()


def _no_steps(bundle: dict[str, Any]) -> None:
    del bundle["evidence"]["model"]["steps"]


def _other_policy(bundle: dict[str, Any]) -> None:
    bundle["policy"]["privacy"]["delta"] = 0.001


def _other_total(bundle: dict[str, Any]) -> None:
    bundle["policy"]["ledger"]["delta"] = 0.9


def _other_value(bundle: dict[str, Any]) -> None:
    bundle["values"]["age"] += 1.0


def _text_for_noise(bundle: dict[str, Any]) -> None:
    bundle["noise"] = "none"


def _more_assurance(bundle: dict[str, Any]) -> None:
    bundle["certificate"]["assurance"] = "proved"


def _later(bundle: dict[str, Any]) -> None:
    bundle["position"] = 2


@pytest.mark.parametrize(
    "change",
    [
        _move_mean,
        _break_covariance,
        _lose_a_row,
        _no_steps,
        _other_policy,
        _other_total,
        _other_value,
        _text_for_noise,
        _more_assurance,
        _later,
    ],
)
def test_what_does_not_fit_together_is_found_out(
    bundles: Callable[[str], Path], change: Callable[[dict[str, Any]], None], tmp_path: Path
) -> None:
    verdict = verify_bundle(tampered(bundles("gaussian"), change, tmp_path))
    assert not verdict.holds
    assert "\n" not in verdict.sentence


def _other_bet(bundle: dict[str, Any]) -> None:
    bundle["evidence"]["drawn"]["release"]["laws"][0]["bet"] = 1.5


def _longer(bundle: dict[str, Any]) -> None:
    bundle["evidence"]["drawn"]["release"]["laws"][0]["gaps"][0] += 2000


def _fewer(bundle: dict[str, Any]) -> None:
    law = bundle["evidence"]["drawn"]["release"]["laws"][0]
    law["inside"] = [count // 10 for count in law["inside"]]


def _no_laws(bundle: dict[str, Any]) -> None:
    bundle["evidence"]["drawn"]["release"]["laws"] = []


def _no_draws(bundle: dict[str, Any]) -> None:
    bundle["evidence"]["drawn"]["release"] = None


def _drawn_with(**changed: Any) -> Callable[[dict[str, Any]], None]:
    def change(bundle: dict[str, Any]) -> None:
        bundle["evidence"]["drawn"]["release"].update(changed)

    return change


@pytest.mark.parametrize(
    "change",
    [
        _other_bet,
        _longer,
        _fewer,
        _no_laws,
        _no_draws,
        *(_drawn_with(scale=scale) for scale in ("nan", "inf", 0.0, -1.0)),
        *(_drawn_with(measure=measure) for measure in ("laplace", "delta", "none")),
    ],
)
def test_draws_that_show_nothing_are_found_out(
    bundles: Callable[[str], Path], change: Callable[[dict[str, Any]], None], tmp_path: Path
) -> None:
    assert not verify_bundle(tampered(bundles("draws"), change, tmp_path)).holds


def test_a_certificate_that_rests_on_sampled_points_is_not_said_to_be_verified(tmp_path: Path, adult: pa.Table) -> None:
    write_tables(tmp_path, adult)
    sampled = ('reference = "population"', 'method = "sampling"\ndraws = 400')
    assumed = ("epsilon = 1.0\ndelta = 0.01\n", 'epsilon = 2.0\ndelta = 0.2\nassurance = "assumed"\n')
    total = ("delta = 0.02\n", "delta = 0.2\n")
    with only("bounded"):
        bundle = release_policy(str(write_policy(tmp_path, sampled, assumed, total)), tmp_path / "out")
    verdict = verify_bundle(bundle.folder)
    assert not verdict.holds
    assert "sampled points, which a bundle does not hold" in verdict.sentence
    verdict = verify_bundle(bundle.folder, **everything(bundle.folder))
    assert verdict.holds, str(verdict)


@pytest.mark.slow
def test_releases_that_were_certified_by_draws_are_verified_together(tmp_path: Path, adult: pa.Table) -> None:
    write_tables(tmp_path, adult)
    proved = ("delta = 0.01\n", 'delta = 0.01\nassurance = "proved"\n')
    assumed = ("delta = 0.02\n", 'delta = 0.02\nadaptive = "assumed"\n')
    age, never = 'age = "mean(age, resolution = 1)"\n', "never_married = \"count(marital_status = 'Never-married')\"\n"
    with only("coupled_gaussian"):
        for number, left_out in enumerate((age, never)):
            bundle = release_policy(
                str(write_policy(tmp_path, proved, assumed, SAMPLE, (left_out, ""))), tmp_path / str(number)
            )
    assert bundle.document["evidence"]["drawn"]["joint"] is not None
    for given in ({}, everything(bundle.folder)):
        verdict = verify_bundle(bundle.folder, **given)
        assert verdict.holds, str(verdict)

    def fewer(document: dict[str, Any]) -> None:
        document["evidence"]["drawn"]["joint"]["laws"][0]["zero"] = 0
        law = document["evidence"]["drawn"]["joint"]["laws"][0]
        law["inside"] = [1 for _ in law["inside"]]

    verdict = verify_bundle(tampered(bundle.folder / "release.json", fewer, tmp_path))
    assert [check.name for check in verdict.checks if not check.passed] == ["joint certificate"]


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"format": "other"}', "[" * 100_000, '{"format": NaN}'])
def test_what_is_no_bundle_is_wrong_input(tmp_path: Path, text: str) -> None:
    (tmp_path / "release.json").write_text(text, encoding="utf-8")
    with pytest.raises(InvalidInput, match=r"release\.json"):
        verify_bundle(tmp_path)


def test_a_file_that_is_not_there_is_wrong_input(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="cannot be read"):
        verify_bundle(tmp_path / "nothing.json")


MEAN = '"mean(age, resolution = 1)"'
ASSUMED = ("delta = 0.01\n", 'delta = 0.01\nassurance = "assumed"\n')
PROVED = ("delta = 0.01\n", 'delta = 0.01\nassurance = "proved"\n')
SECRET = "share = \"income = '>50K'\"\nvalues = [0.45, 0.55]"
HONEST = {
    "no resolution": ("certified_gaussian", [(MEAN, '"mean(capital_gain)"')]),
    "bounds": ("group_privacy_gaussian", [(MEAN, '"mean(age, bounds = (0, 120))"'), PROVED]),
    "sampled moments": ("certified_gaussian", [(MEAN, '"quantile(age, 0.5)"'), ASSUMED]),
    "draws of a variance": ("coupled_gaussian", [(MEAN, '"variance(age)"'), PROVED]),
    "draws that need no noise": (
        "coupled_gaussian",
        [(MEAN, '"count(capital_gain > 99998)"'), ("never_married", "# never_married"), PROVED],
    ),
    "shares at the end": ("certified_gaussian", [("[0.45, 0.55]", "[0.0, 0.1]")]),
    "tables": ("certified_gaussian", [(SECRET, 'scenarios = {boom = "boom.parquet", bust = "bust.parquet"}')]),
    "two secrets": (
        "coupled_gaussian",
        [("[privacy]", "[[protect]]\nshare = \"sex = 'Female'\"\nvalues = [0.3, 0.4]\n[privacy]"), PROVED],
    ),
    "attack accuracies": (
        "certified_gaussian",
        [
            ("epsilon = 1.0\ndelta = 0.01\n", "max_attack_accuracy = 0.6\n"),
            ("epsilon = 2.0\ndelta = 0.02\n", "epsilon = 1.0\ndelta = 0.02\n"),
        ],
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", HONEST)
def test_nothing_honest_is_refused(tmp_path: Path, adult: pa.Table, kind: str) -> None:
    write_tables(tmp_path, adult)
    for name, start in (("boom", 3000), ("bust", 9000)):
        pq.write_table(adult.slice(start, 4000), tmp_path / f"{name}.parquet")
    mechanism, edits = HONEST[kind]
    with only(mechanism):
        bundle = release_policy(str(write_policy(tmp_path, *edits)), tmp_path / "out")
    for given in ({}, everything(bundle.folder)):
        verdict = verify_bundle(bundle.folder, **given)
        assert verdict.holds, str(verdict)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("mechanism", "assurance"),
    [
        ("certified_laplace", ASSUMED),
        ("directional_laplace", ASSUMED),
        ("expected_value_gaussian", ASSUMED),
        ("coupled_laplace", PROVED),
        ("group_privacy_laplace", PROVED),
    ],
)
def test_three_honest_releases_are_accepted(
    tmp_path: Path, adult: pa.Table, mechanism: str, assurance: tuple[str, str]
) -> None:
    write_tables(tmp_path, adult)
    age, never = 'age = "mean(age, resolution = 1)"\n', "never_married = \"count(marital_status = 'Never-married')\"\n"
    hours = (age, 'hours = "mean(hours_per_week, resolution = 1)"\n')
    assumed = ("delta = 0.02\n", 'delta = 0.02\nadaptive = "assumed"\n')
    for number, edits in enumerate([[(age, "")], [(never, "")], [hours, (never, "")]]):
        with only(mechanism):
            bundle = release_policy(str(write_policy(tmp_path, *edits, assurance, assumed)), tmp_path / str(number))
        verdict = verify_bundle(bundle.folder, **everything(bundle.folder))
        assert verdict.holds, str(verdict)


def test_every_mechanism_has_the_theorem_that_is_expected_of_it(adult: pa.Table) -> None:
    query, secret = dp.Query(age=dp.mean("age")), dp.Share("income = '>50K'", values=(0.45, 0.55))
    model = dp.model(adult.slice(0, 2000), query, secret, records=20, reference="population")
    for candidate in CANDIDATES:
        if candidate.name not in BY_FORMULA:
            target = dp.PrivacyTarget(epsilon=1, delta=0.05)
            made = candidate.make(model, target, weights="units", prior=None, objective="estimate", seed=1)
            assert made.certificate.theorem == THEOREMS[candidate.name]
    assert {candidate.name for candidate in CANDIDATES} == {*BY_FORMULA, *THEOREMS} - {JOINT}


def test_a_release_json_by_itself_is_checked_but_for_the_other_files(
    bundles: Callable[[str], Path], tmp_path: Path
) -> None:
    verdict = verify_bundle(tampered(bundles("gaussian"), lambda _: None, tmp_path))
    assert verdict.holds
    assert "the other files of the bundle" in verdict.trusted
    assert "files" not in {check.name for check in verdict.checks}


@pytest.mark.slow
def test_an_audit_of_a_bundle_that_is_there_leaves_digests_that_fit(tmp_path: Path, adult: pa.Table) -> None:
    write_tables(tmp_path, adult)
    policy = str(write_policy(tmp_path))
    with only("certified_gaussian"):
        bundle = release_policy(policy, tmp_path / "out")
        audit_bundle(policy, bundle.folder, releases=400)
    verdict = verify_bundle(bundle.folder)
    assert verdict.holds, str(verdict)
    assert verdict.checks[-1].name == "audit"
    assert verify_bundle(bundle.folder, **everything(bundle.folder)).holds


def test_a_reference_that_was_shuffled_is_found_out_and_alone_the_model_is_taken_on_trust(
    tmp_path: Path, adult: pa.Table
) -> None:
    """Issue 35: the income column of a reference was shuffled, and noise of ±0.26 was verified instead of ±19.7."""
    write_tables(tmp_path, adult)
    honest = pq.read_table(tmp_path / "adult.parquet")
    place = honest.schema.get_field_index("income")
    shuffled = honest["income"].take(np.random.default_rng(0).permutation(len(honest)))
    pq.write_table(honest.set_column(place, "income", shuffled), tmp_path / "adult.parquet")
    with only("certified_gaussian"):
        bundle = release_policy(str(write_policy(tmp_path)), tmp_path / "out").folder
    pq.write_table(honest, tmp_path / "adult.parquet")
    verdict = verify_bundle(bundle)
    assert verdict.holds
    assert "the model is taken on trust" in verdict.trust
    assert verify_bundle(bundle, ledger=everything(bundle)["ledger"]).holds
    verdict = verify_bundle(bundle, reference=everything(bundle)["reference"])
    assert [check.name for check in verdict.checks if not check.passed] == ["model"]
    assert "the moments of the model are not those of the reference" in verdict.sentence
