"""Thousands of mutants of real bundles: `verify` accepts those alone that change nothing a promise rests on."""

import json
import re
import shutil
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest
from tests.workflow.forging import accepted, forged, read
from tests.workflow.mutants import Mutant, mutants, twins

from distpriv.workflow.verifying.verdicts import NOT_CHECKED

KINDS = ("alone", "joint", "coupled", "audited")

HARMLESS = {
    r"distpriv: another (last )?digit|versions\.\w+: another (last )?digit": (
        "versions",
        "says what was installed, and no promise rests on it",
    ),
    r"time: another (last )?digit": (
        "ledger",
        "another time that is one: only the ledger knows which it was, and verify --ledger compares them",
    ),
    r"ledger\.(id|number|head): .*": (
        "ledger",
        "where the ledger has it: only the ledger knows, and verify --ledger compares them",
    ),
    r"evidence\.model\.record_sensitivities\.\*: times .*": (
        "moments",
        "what one row of the reference can do; here no certificate rests on it, and where one does it is recomputed",
    ),
    r"(joint_)?certificate\.law\.(ripple|projected|second_order|gate|peak.*): times .*"
    r"|(joint_)?certificate\.law\.(missed|ripple|combinations|total_variation): .*"
    r"|(joint_)?certificate\.law\.combination.*: (times .*|tiny|huge|zero)": (
        "law",
        "what the rows of the reference showed, which a bundle does not hold, with the same words and the same delta",
    ),
    r"evidence\.(joint\.)?model\.strata\.\*\.kurtoses\.\*: (times .*|one more|doubled)": (
        "moments",
        "how surely reference rows tell variances; where a certificate rests on it that is recomputed",
    ),
    r"evidence\.joint\.noises\.\*\.axes\.\*\.\*: times -1": (
        "earlier releases",
        "an axis that points the other way is the same axis",
    ),
    r"(joint_)?certificate\.evidence\.\*\.facts\.(seed|slow): .*": (
        "draws",
        "the seed of draws, which are not drawn again without the reference, and whether there are fewer than usual",
    ),
    r"evidence\.drawn\.release\.laws\.\*\.(bet: times (1\.001|0\.999)|counts: swapped|gaps\.\*: \w.*), twice": (
        "draws",
        "a little of the draws that leaves what they show, to five digits, as it is",
    ),
}
"""Which mutants of a release.json may be accepted: where and how, which name `NOT_CHECKED` has for it, and why."""

HARMLESS_AUDIT = {
    r"pair: swapped": "the same pair",
    r"attacks\.\*\.(un)?defended\.(auc|tpr_at_1_percent_fpr|accuracy).*": "what an attack achieved in an experiment",
    r"attacks\.\*\.(epsilon|accuracy)_lower_bound.*": "what an experiment showed, below the claim",
    r"attacks\.\*\.name.*": "which attack it was",
    r"shadows.*|seed.*|populations.*": "how the experiment was made",
}
"""The same of an audit.json, under the name of ``attacks``."""


def harmful(tried: Iterable[Mutant], known: Iterable[str], put: Callable[[Mutant], Path]) -> tuple[int, list[str]]:
    """Return how many mutants were tried, and those that were accepted and ought not to be."""
    count, found = 0, []
    for mutant in tried:
        count += 1
        what = f"{mutant.place}: {mutant.how}"
        if accepted(put(mutant)) and not any(re.fullmatch(pattern, what) for pattern in known):
            found.append(str(mutant))
    return count, found


def written_to(folder: Path) -> Callable[[Mutant], Path]:
    def put(mutant: Mutant) -> Path:
        (folder / "release.json").write_text(mutant.text, encoding="utf-8")
        return folder

    return put


def every(step: int, found: Iterable[Mutant]) -> list[Mutant]:
    """Return one in so many, not always of the same kind."""
    return [mutant for number, mutant in enumerate(found) if (number + number // step) % step == 0]


def sweep(bundle: Path, folder: Path, step: int) -> tuple[int, list[str]]:
    shutil.copytree(bundle, folder)
    document = read(bundle)
    assert accepted(folder)
    return harmful(every(step, [*mutants(document), *twins(document)]), HARMLESS, written_to(folder))


def test_what_may_be_changed_is_named_among_what_is_not_checked() -> None:
    names = {item.name for item in NOT_CHECKED}
    assert {name for name, _ in HARMLESS.values()} | {"attacks", "report.html"} <= names


@pytest.mark.parametrize(("kind", "step"), [("alone", 61), ("joint", 173)])
def test_some_mutants_of_a_bundle_are_refused(bundles: dict[str, Path], kind: str, step: int, tmp_path: Path) -> None:
    count, found = sweep(bundles[kind], tmp_path / "mutant", step)
    assert count >= 15
    assert found == []


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "step"), [("alone", 1), ("joint", 2), ("coupled", 2), ("audited", 4)])
def test_all_mutants_of_a_bundle_are_refused(bundles: dict[str, Path], kind: str, step: int, tmp_path: Path) -> None:
    """All of the plainest bundle, and of the others so many that every field is changed in several ways."""
    count, found = sweep(bundles[kind], tmp_path / "mutant", step)
    assert count >= 800
    assert found == []


def audits(bundle: Path, folder: Path, step: int) -> list[str]:
    report = json.loads((bundle / "audit.json").read_text(encoding="utf-8"))

    def put(mutant: Mutant) -> Path:
        return forged(bundle, folder, files={"audit.json": mutant.text})

    return harmful(every(step, mutants(report)), HARMLESS_AUDIT, put)[1]


@pytest.mark.slow
def test_all_mutants_of_an_audit_are_refused(bundles: dict[str, Path], tmp_path: Path) -> None:
    assert audits(bundles["audited"], tmp_path / "mutant", 1) == []


@pytest.mark.parametrize(
    "kind", ["alone", "audited", *(pytest.param(kind, marks=pytest.mark.slow) for kind in ("joint", "coupled"))]
)
@pytest.mark.parametrize("name", ["release.csv", "policy.toml", "report.html", "audit.json", "release.json"])
def test_a_file_of_another_bundle_is_refused(bundles: dict[str, Path], kind: str, name: str, tmp_path: Path) -> None:
    """Also where its digest is made to fit, but for the page, whose words nothing can be held against."""
    own = (bundles[kind] / name).read_bytes() if (bundles[kind] / name).exists() else None
    for other, bundle in bundles.items():
        if other == kind or not (bundle / name).exists() or (content := (bundle / name).read_bytes()) == own:
            continue
        place = forged(bundles[kind], tmp_path / "swapped")
        (place / name).write_bytes(content)
        assert not accepted(place)
        fitted = {} if name == "release.json" else {name: content.decode("utf-8")}
        same_claim = name == "audit.json" and {kind, other} == {"alone", "audited"}
        if fitted and name != "report.html" and not same_claim:
            assert not accepted(forged(bundles[kind], tmp_path / "fitted", files=fitted)), other


@pytest.mark.parametrize("kind", KINDS)
def test_a_file_that_is_missing_is_noticed(bundles: dict[str, Path], kind: str, tmp_path: Path) -> None:
    for file in sorted(bundles[kind].iterdir()):
        place = forged(bundles[kind], tmp_path / "less")
        (place / file.name).unlink()
        assert not accepted(place)
        if file.name not in ("release.json", "audit.json"):
            assert not accepted(forged(bundles[kind], tmp_path / "less", files={file.name: None})), file.name


@pytest.mark.slow
@pytest.mark.parametrize("name", ["release.csv", "policy.toml"])
def test_mutants_of_tables_and_policies_are_refused(bundles: dict[str, Path], name: str, tmp_path: Path) -> None:
    """Every line left out, written twice, and with another digit; what is withheld, made, or blank says nothing."""
    text = (bundles["alone"] / name).read_text(encoding="utf-8")
    lines = text.splitlines(keepends=True)
    changed = {text + "# approved\n"}
    for number, line in enumerate(lines):
        before, after = "".join(lines[:number]), "".join(lines[number + 1 :])
        if line.strip() and "(withheld)" not in line and not line.startswith("create"):
            changed |= {before + after, before + line * 2 + after}
            changed.add(before + re.sub(r"\d", lambda digit: str((int(digit[0]) + 1) % 10), line, count=1) + after)
    for mutant in sorted(changed - {text}):
        assert not accepted(forged(bundles["alone"], tmp_path / "mutant", files={name: mutant})), mutant
