"""Thousands of mutants of real bundles: with reference and ledger those alone are accepted that say nothing else."""

import json
import re
from collections.abc import Iterable
from pathlib import Path

import pytest
from tests.bundle.forging import accepted, forged, put, read
from tests.bundle.mutants import Mutant, mutants, twins

HARMLESS = {
    r"distpriv: another (last )?digit|versions\.\w+: another (last )?digit": "what was installed",
    r"(joint_)?certificate\.evidence\.\*\.facts\..*: times .*": "less than a ten-thousandth of a number",
    r"policy\.release\.(title|license).*": "what a page is called",
    r"policy\.data\.reference: (longer|shorter|blank|upper|another)": "where the rows were that are compared now",
    r"policy\.ledger\.create: not": "whether the ledger that has the release was there before",
}
"""Which mutants of a release.json may be accepted with reference and ledger: where and how, and why."""

KINDS = ("alone", "joint", "coupled", "table")


def few(found: Iterable[Mutant], count: int) -> list[Mutant]:
    """Return about so many, from everywhere in a document and not always of the same kind."""
    every = [*found]
    step = max(1, len(every) // count)
    return [mutant for number, mutant in enumerate(every) if (number + number // step) % step == 0]


def harmful(bundle: Path, folder: Path, tried: Iterable[Mutant]) -> list[str]:
    """Return the mutants that were accepted and ought not to be."""
    found = []
    for mutant in tried:
        what = f"{mutant.place}: {mutant.how}"
        if accepted(put(bundle, folder, mutant.text), bundle) and not any(
            re.fullmatch(pattern, what) for pattern in HARMLESS
        ):
            found.append(str(mutant))
    return found


@pytest.mark.parametrize("kind", KINDS)
def test_mutants_of_a_bundle_are_refused(bundles: dict[str, Path], kind: str, tmp_path: Path) -> None:
    document = read(bundles[kind])
    tried = few([*mutants(document), *twins(document)], 80)
    assert len(tried) >= 75
    assert accepted(forged(bundles[kind], tmp_path / "honest"), bundles[kind])
    assert harmful(bundles[kind], tmp_path / "mutant", tried) == []


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_thousands_of_mutants_are_refused(bundles: dict[str, Path], kind: str, tmp_path: Path) -> None:
    document = read(bundles[kind])
    assert harmful(bundles[kind], tmp_path / "mutant", few([*mutants(document), *twins(document)], 1000)) == []


def test_mutants_of_an_audit_are_refused(bundles: dict[str, Path], tmp_path: Path) -> None:
    report = json.loads((bundles["audited"] / "audit.json").read_text(encoding="utf-8"))
    for mutant in few(mutants(report), 60):
        place = forged(bundles["audited"], tmp_path / "mutant", files={"audit.json": mutant.text})
        assert not accepted(place, bundles["audited"]) or mutant.place == "populations", str(mutant)


@pytest.mark.parametrize("name", ["release.csv", "policy.toml", "audit.json", "release.json"])
def test_a_file_of_another_bundle_is_refused(bundles: dict[str, Path], name: str, tmp_path: Path) -> None:
    """Also where its digest is made to fit."""
    own = (bundles["audited"] / name).read_bytes()
    for other in ("alone", "coupled", "table"):
        if not (bundles[other] / name).exists() or (content := (bundles[other] / name).read_bytes()) == own:
            continue
        place = forged(bundles["audited"], tmp_path / "swapped")
        (place / name).write_bytes(content)
        assert not accepted(place, bundles["audited"])
        if name != "release.json":
            files = {name: content.decode("utf-8")}
            assert not accepted(forged(bundles["audited"], tmp_path / "fitted", files=files)), other


@pytest.mark.parametrize("kind", ["alone", "table", "audited"])
def test_a_file_that_is_missing_is_noticed(bundles: dict[str, Path], kind: str, tmp_path: Path) -> None:
    for file in sorted(bundles[kind].iterdir()):
        place = forged(bundles[kind], tmp_path / "less")
        (place / file.name).unlink()
        assert not accepted(place)
        if file.name not in ("release.json", "audit.json"):
            assert not accepted(forged(bundles[kind], tmp_path / "less", files={file.name: None})), file.name


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
