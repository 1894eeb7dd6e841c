"""Bundles that `verify` accepted once, each with what its forger wanted it to say.

The forger may edit every file and makes the digests fit, so that only what the numbers say can give a forgery away.
Each is refused with the reference and the ledger; those in `TRUSTED` are accepted by what the bundle says alone.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from tests.bundle.forging import Document, accepted, everything, forged
from tests.workflow.small import only, write_policy, write_tables

from distpriv.bundle import verify_bundle
from distpriv.bundle.recertify import recertified
from distpriv.bundle.verify import Opened
from distpriv.bundle.write import read_record
from distpriv.errors import InvalidInput
from distpriv.workflow.release_policy import release_policy


def certificates(document: Document) -> list[Document]:
    return [document["certificate"], document["joint_certificate"]]


def models(document: Document) -> list[Document]:
    joint = document["evidence"]["joint"]
    return [document["evidence"]["model"], *([joint["model"]] if joint else [])]


# --- what is protected, and of whom


def shares_farther_apart_in_the_policy_than_in_the_evidence(document: Document) -> None:
    document["policy"]["protect"][0]["values"] = [0.2, 0.8]


def another_secret_than_the_policy_names(document: Document) -> None:
    document["policy"]["protect"][0]["share"] = "sex = 'Female'"


def a_protected_pair_less(document: Document) -> None:
    document["policy"]["protect"].append({"share": "sex = 'Female'", "values": [0.4, 0.5]})


def more_records_in_the_policy(document: Document) -> None:
    document["policy"]["release"]["records"] = 200


def fewer_positives(document: Document) -> None:
    for model in models(document):
        for law in model["scenarios"].values():
            law["positives"] = 50


def a_count_called_a_mean(document: Document) -> None:
    statistics = document["policy"]["release"]["statistics"]
    statistics[next(iter(statistics))] = "mean(capital_gain, resolution = 100)"


def drawn_from_a_population(document: Document) -> None:
    document["policy"]["model"]["reference"] = "population"


def sampled_moments_called_exact(document: Document) -> None:
    document["policy"]["model"]["method"] = "sampling"


# --- what the numbers are


def a_count_that_is_continuous(document: Document) -> None:
    for model in models(document):
        model["steps"] = [0.0] * len(model["steps"])
        for law in model["scenarios"].values():
            law["lattice"] = None


def a_finer_lattice(document: Document) -> None:
    for model in models(document):
        model["steps"] = [step / 10 for step in model["steps"]]
        for law in model["scenarios"].values():
            law["lattice"] = [[entry / 10 for entry in row] for row in law["lattice"]]


def another_display(document: Document) -> None:
    document["display"] = dict.fromkeys(document["display"], 12)


def a_milder_attacker(document: Document) -> None:
    document["attacker"] = dict.fromkeys(document["attacker"], 0.5)


def an_attacker_who_was_blind_anyway(document: Document) -> None:
    document["attacker"]["undefended"] = 0.5


# --- what is promised


def no_evidence(document: Document) -> None:
    for certificate in certificates(document):
        certificate["evidence"] = []


def everything_proved(document: Document) -> None:
    for certificate in certificates(document):
        for evidence in certificate["evidence"]:
            evidence["status"] = "proved"


def other_evidence(document: Document) -> None:
    for certificate in certificates(document):
        certificate["evidence"][0]["facts"] = {"shown_by": "an independent body"}


def one_piece_more(document: Document) -> None:
    for certificate in certificates(document):
        certificate["evidence"].append({"code": "DP199", "status": "proved", "facts": {}})


def a_theorem_that_is_none(document: Document) -> None:
    for certificate in certificates(document):
        certificate["theorem"] = "the fundamental theorem"


def a_mechanism_that_is_none(document: Document) -> None:
    document["mechanism"] = "perfect_privacy"


def a_better_mechanism(document: Document) -> None:
    document["mechanism"] = "group_privacy_gaussian"


def more_assurance(document: Document) -> None:
    for certificate in certificates(document):
        certificate["assurance"] = "proved"


def it_holds_because_it_says_so(document: Document) -> None:
    document["certificate"]["holds"] = False


def contradicted_and_yet_it_holds(document: Document) -> None:
    document["certificate"]["contradicted"] = True


def a_smaller_epsilon_beside_its_target(document: Document) -> None:
    for certificate in certificates(document):
        certificate["epsilon"] = 0.1


# --- when, where, which


def yesterday(document: Document) -> None:
    document["time"] = "yesterday"


def no_such_day(document: Document) -> None:
    document["time"] = "2026-02-30T10:00:00+00:00"


def another_time_zone(document: Document) -> None:
    document["time"] = "2026-02-20T10:00:00+05:00"


def another_dataset(document: Document) -> None:
    document["dataset"] = "hospital"


def a_later_position(document: Document) -> None:
    document["position"] += 1


def statistics_in_another_order(document: Document) -> None:
    document["values"] = dict(reversed(document["values"].items()))


def questions_that_were_declared(document: Document) -> None:
    document["questions"] = "declared"


def immune_to_every_question(document: Document) -> None:
    document["questions"] = "immune"


def a_release_without_a_past(document: Document) -> None:
    """What all releases cost together is not told of, as if there were no ledger."""
    document["joint_certificate"] = document["ledger"] = document["evidence"]["joint"] = None
    document["questions"], document["position"] = "alone", 1
    document["attacker"]["together"] = document["attacker"]["at_most"]


def a_version_that_is_none(document: Document) -> None:
    document["versions"]["numpy"] = "the newest"


# --- what is no document


def infinite_noise(document: Document) -> None:
    document["noise"]["variances"] = [float("inf") for _ in document["noise"]["variances"]]


def no_number_for_delta(document: Document) -> None:
    document["certificate"]["delta"] = float("nan")


def true_for_a_position(document: Document) -> None:
    document["position"] = True


def text_for_a_number(document: Document) -> None:
    document["values"] = {name: str(value) for name, value in document["values"].items()}


def a_key_too_many(document: Document) -> None:
    document["certificate"]["approved"] = True


def a_key_too_many_deep_inside(document: Document) -> None:
    document["policy"]["protect"][0]["approved"] = True


def a_huge_number(document: Document) -> None:
    document["policy"]["model"]["seed"] = 10**400


def half_a_character(document: Document) -> None:
    document["dataset"] = document["policy"]["data"]["id"] = "\ud800"


def a_policy_that_would_go_on(document: Document) -> None:
    document["policy"]["ledger"]["adaptive"] = {"refuse": "assumed", "assumed": "refuse"}[
        document["policy"]["ledger"]["adaptive"]
    ]


def errors_that_are_half_as_large(document: Document) -> None:
    name, (low, high) = next(iter(document["estimate_intervals"].items()))
    document["policy"]["privacy"]["max_error"] = {name: (high - low) / 8}


def another_title(document: Document) -> None:
    release = document["policy"]["release"]
    release["records"], release["statistics"] = 100, {"age": "mean(capital_gain)"}


def finer_steps(document: Document) -> None:
    for model in models(document):
        model["steps"] = [step / 1e4 for step in model["steps"]]


def labels_swapped(document: Document) -> None:
    swapped = json.dumps(document).replace("Female", "\x01").replace("Male", "Female").replace("\x01", "Male")
    document.update(json.loads(swapped))


FORGERIES: list[Callable[[Document], None]] = [
    value
    for value in list(globals().values())
    if getattr(value, "__annotations__", {}).get("document") is Document and value.__annotations__["return"] is None
]

TRUSTED: dict[str, str] = {
    "a_count_that_is_continuous": "reference",
    "a_finer_lattice": "reference",
    "finer_steps": "reference",
    "more_records_in_the_policy": "reference",
    "drawn_from_a_population": "reference",
    "sampled_moments_called_exact": "reference",
    "labels_swapped": "reference",
    "a_policy_that_would_go_on": "ledger",
}
"""What is accepted by what a bundle says alone, and what is needed to refuse it."""


@pytest.mark.parametrize("kind", ["alone", "joint", "coupled", "table", "audited"])
def test_what_was_released_is_accepted(bundles: dict[str, Path], kind: str, tmp_path: Path) -> None:
    for given in ({}, everything(bundles[kind])):
        verdict = verify_bundle(bundles[kind], **given)
        assert verdict.holds, str(verdict)
        assert verdict.trust.startswith("Taken on trust: ")
        assert any("the model is taken on trust" in item for item in verdict.trusted) == (not given)
    assert accepted(forged(bundles[kind], tmp_path / "honest"), bundles[kind])


@pytest.mark.parametrize("forgery", FORGERIES, ids=lambda forgery: forgery.__name__)
@pytest.mark.parametrize("kind", ["alone", "joint", "coupled", "table"])
def test_a_bundle_that_says_something_else_is_refused(
    bundles: dict[str, Path], kind: str, forgery: Callable[[Document], None], tmp_path: Path
) -> None:
    try:
        place = forged(bundles[kind], tmp_path / "forged", forgery)
    except (KeyError, TypeError, IndexError, StopIteration):
        pytest.skip("there is nothing of the kind in this bundle")
    if content(place) == content(forged(bundles[kind], tmp_path / "honest")):
        return
    assert not accepted(place, bundles[kind])
    if accepted(place):
        needed = TRUSTED[forgery.__name__]
        assert not verify_bundle(place, **{needed: everything(bundles[kind])[needed]}).holds


def content(bundle: Path) -> bytes:
    return (bundle / "release.json").read_bytes()


# --- forgeries that recompute what they can


def narrower(law: Document, factor: float) -> None:
    law["variances"] = [variance * factor**2 for variance in law["variances"]]


def with_intervals(document: Document, factor: float) -> None:
    for name, (low, high) in document["intervals"].items():
        middle = document["values"][name]
        document["intervals"][name] = [middle - (middle - low) * factor, middle + (high - middle) * factor]


def test_draws_of_other_units_do_not_make_narrow_noise_private(bundles: dict[str, Path], tmp_path: Path) -> None:
    """A hundredth of the noise, said to be that of the draws: their lengths were read in units of any noise."""

    def forge(document: Document) -> None:
        for drawn in document["evidence"]["drawn"].values():
            narrower(drawn["noise"], 0.01)
        narrower(document["noise"], 0.01)
        with_intervals(document, 0.01)

    assert not accepted(forged(bundles["coupled"], tmp_path / "forged", forge, {"release.csv": None}))
    place = forged(bundles["coupled"], tmp_path / "forged", forge)
    assert not accepted(place)
    claim = Opened(record=read_record(place), path=place, reference=None).own
    with pytest.raises(InvalidInput):
        recertified(claim)


def test_fewer_bounds_on_a_record_do_not_make_group_privacy_cheap(tmp_path: Path, adult: pa.Table) -> None:
    """Sensitivities and noise a hundredth of what they are: the formula was applied to whatever was written down."""
    write_tables(tmp_path, adult)
    with only("group_privacy_gaussian"):
        policy = write_policy(tmp_path, ("delta = 0.01\n", 'delta = 0.01\nassurance = "proved"\n'))
        bundle = release_policy(str(policy), tmp_path / "out").folder
    assert verify_bundle(bundle).holds

    def forge(document: Document) -> None:
        model = document["evidence"]["model"]
        model["record_sensitivities"] = [size / 100 for size in model["record_sensitivities"]]
        narrower(document["noise"], 0.01)
        with_intervals(document, 0.01)
        for certificate in certificates(document):
            certificate["evidence"][1]["facts"]["sensitivities"] = model["record_sensitivities"]

    assert not accepted(forged(bundle, tmp_path / "forged", forge))


def test_the_joint_model_is_of_this_release(bundles: dict[str, Path], tmp_path: Path) -> None:
    """The last block of the joint model had other moments than the release itself, and nobody compared them."""

    def forge(document: Document) -> None:
        joint = document["evidence"]["joint"]["model"]
        first, second = joint["scenarios"].values()
        second["mean"][-1] = first["mean"][-1]

    assert not accepted(forged(bundles["joint"], tmp_path / "forged", forge))


def test_the_statistics_of_earlier_releases_are_those_of_their_noise(bundles: dict[str, Path], tmp_path: Path) -> None:
    def forge(document: Document) -> None:
        model = document["evidence"]["joint"]["model"]
        model["statistics"] = [f"1. {name}" for name in ("a", "b")]

    assert not accepted(forged(bundles["joint"], tmp_path / "forged", forge))


# --- the other files


def test_a_table_with_other_numbers_is_refused(bundles: dict[str, Path], tmp_path: Path) -> None:
    text = (bundles["alone"] / "release.csv").read_text(encoding="utf-8")
    assert not accepted(
        forged(bundles["alone"], tmp_path / "forged", files={"release.csv": text.replace("age,", "age,1")})
    )


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("values = [0.45, 0.55]", "values = [0.2, 0.8]"),
        ("epsilon = 1.0", "epsilon = 0.1"),
        ("records = 100", "records = 1000"),
        ("[privacy]", "[privacy]  # reviewed and approved"),
        ('private = "(withheld)"', 'private = "/srv/ward7.parquet"'),
    ],
)
def test_a_policy_that_says_something_else_is_refused(
    bundles: dict[str, Path], tmp_path: Path, old: str, new: str
) -> None:
    text = (bundles["alone"] / "policy.toml").read_text(encoding="utf-8")
    assert old in text
    assert not accepted(forged(bundles["alone"], tmp_path / "forged", files={"policy.toml": text.replace(old, new)}))


def attacked(bundle: Path, change: Callable[[Document], None]) -> str:
    report: dict[str, Any] = json.loads((bundle / "audit.json").read_text(encoding="utf-8"))
    change(report)
    return json.dumps(report)


def an_attack_that_won(report: Document) -> None:
    report["attacks"][0]["epsilon_lower_bound"] = 7.0


def an_attack_that_won_and_is_told_of(report: Document) -> None:
    report["attacks"][0]["epsilon_lower_bound"] = report["epsilon_lower_bound"] = 7.0


def a_report_on_another_mechanism(report: Document) -> None:
    report["mechanism"] = "no_noise"


def a_report_on_another_claim(report: Document) -> None:
    report["epsilon"] = 9.0


def a_ceiling_that_nobody_reaches(report: Document) -> None:
    report["attack_accuracy_ceiling"] = 1.0


@pytest.mark.parametrize(
    "change",
    [
        an_attack_that_won,
        an_attack_that_won_and_is_told_of,
        a_report_on_another_mechanism,
        a_report_on_another_claim,
        a_ceiling_that_nobody_reaches,
    ],
)
def test_an_audit_may_not_say_passed_where_its_numbers_say_otherwise(
    bundles: dict[str, Path], tmp_path: Path, change: Callable[[Document], None]
) -> None:
    text = attacked(bundles["audited"], change)
    assert not accepted(forged(bundles["audited"], tmp_path / "forged", files={"audit.json": text}))


@pytest.mark.parametrize("name", ["release.csv", "policy.toml", "report.html", "audit.json"])
def test_a_file_that_was_changed_exchanged_or_lost_is_noticed(
    bundles: dict[str, Path], tmp_path: Path, name: str
) -> None:
    place = forged(bundles["audited"], tmp_path / "forged")
    (place / name).write_bytes((place / name).read_bytes() + b"\n")
    assert not accepted(place)
    (place / name).unlink()
    assert not accepted(place)
    assert not accepted(place / "release.json")


def test_a_file_that_nobody_wrote_is_noticed(bundles: dict[str, Path], tmp_path: Path) -> None:
    place = forged(bundles["alone"], tmp_path / "forged")
    (place / "approval.txt").write_text("approved", encoding="utf-8")
    assert not accepted(place)


def test_a_key_that_is_there_twice_is_refused(bundles: dict[str, Path], tmp_path: Path) -> None:
    place = forged(bundles["alone"], tmp_path / "forged")
    text = (place / "release.json").read_text(encoding="utf-8")
    (place / "release.json").write_text(text.replace("{", '{"position": 7, ', 1), encoding="utf-8")
    assert not accepted(place)
