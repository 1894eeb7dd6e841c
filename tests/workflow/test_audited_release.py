"""What attacks refute is not released, and the private table not looked at."""

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from attrs import evolve
from tests.workflow.small import only
from typer.testing import CliRunner

import distpriv as dp
from distpriv.auditing.audit import audit as attack
from distpriv.bundle import verify_bundle
from distpriv.cli.app import app, exit_code
from distpriv.errors import AuditFailed, InvalidInput
from distpriv.guarantees import certify
from distpriv.guarantees.certificate import RowDelta
from distpriv.guarantees.lattice_floor import Smoothing
from distpriv.guarantees.upper_bound import delta_upper_bound
from distpriv.noise.laws import Noise
from distpriv.policy import read_policy
from distpriv.workflow.ledgers import history_of
from distpriv.workflow.release_policy import release_policy

POLICY = """\
[data]
reference = "reference.parquet"
private = "private.parquet"
id = "ward"

{release}

[[protect]]
share = "g = 1"
values = [0.4, 0.6]

[privacy]
epsilon = 0.5
delta = 0.01
{privacy}

[ledger]
create = true
epsilon = 3.0
delta = 0.03
"""
ONE = '[release]\nrecords = 20\nstatistics = {x = "total(x)"}\n'
TWO = '[[release]]\nname = "sizes"\nrecords = 20\nstatistics = {y = "total(y)"}\n' + ONE.replace(
    "[release]", '[[release]]\nname = "residues"'
)
REQUIRED = 'audit = "required"'


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """Values near multiples of 100, of one group 13 higher but less often 100, and a harmless column beside them."""
    rng = np.random.default_rng(1)
    group = rng.permutation(np.arange(3000) % 2)
    x = 100 * (rng.random(3000) < 0.5 + 0.13 * (0.5 - group)) + rng.normal(0, 0.5, 3000) + 13 * group
    table = pa.table({"g": group, "x": x, "y": rng.normal(0, 1, 3000) + group})
    pq.write_table(table, tmp_path / "reference.parquet")
    pq.write_table(table.slice(0, 20), tmp_path / "private.parquet")
    with only("certified_gaussian", remember=False):
        yield tmp_path


@pytest.fixture
def unchecked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let certificates have the δ of moments, as if the rows had shown no more."""
    by_rows = certify._law

    def by_moments(
        model: dp.QueryModel, target: dp.PrivacyTarget, noise: Noise, smoothed: dict[str, Smoothing]
    ) -> RowDelta | None:
        law = by_rows(model, target, noise, smoothed)
        return law and evolve(law, delta=delta_upper_bound(model, noise, epsilon=target.epsilon))

    monkeypatch.setattr(certify, "_law", by_moments)


def written(folder: Path, *, release: str = ONE, privacy: str = "") -> str:
    (folder / "policy.toml").write_text(POLICY.format(release=release, privacy=privacy), encoding="utf-8")
    return str(folder / "policy.toml")


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(("privacy", "options"), [("", ["--audit"]), (REQUIRED, [])])
def test_a_release_that_attacks_refute_is_refused_before_anything_is_looked_at(
    folder: Path, privacy: str, options: list[str]
) -> None:
    policy, out = written(folder, privacy=privacy), folder / "out"
    ended = CliRunner().invoke(app, ["release", policy, "--out", str(out), "--releases", "10000", *options])
    assert isinstance(ended.exception, AuditFailed)
    assert exit_code(ended.exception) == 1
    assert str(ended.exception).startswith("the audit fails, so nothing is released: the best attack")
    assert not out.exists()
    assert [file for file in folder.iterdir() if "partial" in file.name] == []
    history = history_of(read_policy(policy))
    assert history.entries == ()
    assert history.looks == 0
    without = release_policy(written(folder), folder / "unattacked")  # nobody asked for an audit, and moments hold
    assert not (without.folder / "audit.json").exists()


def test_what_the_rows_certify_passes_and_its_audit_is_in_the_bundle(folder: Path) -> None:
    bundle = release_policy(written(folder, privacy=REQUIRED), folder / "out", releases=10_000)
    found = json.loads((bundle.folder / "audit.json").read_text(encoding="utf-8"))
    assert (found["failed"], found["releases"], len(found["attacks"])) == (False, 10_000, 8)
    assert bundle.document["policy"]["privacy"]["audit"] == "required"
    assert verify_bundle(bundle.folder).holds


def test_an_audit_that_a_policy_requires_is_not_made_blind_by_few_releases(folder: Path) -> None:
    with pytest.raises(InvalidInput, match=r"at least 10000, got 9999: a policy with audit = \"required\""):
        release_policy(written(folder, privacy=REQUIRED), folder / "out", releases=9_999)
    assert not (folder / "out").exists()


@pytest.mark.slow
def test_a_bundle_without_the_audit_that_its_policy_requires_does_not_hold(folder: Path) -> None:
    bundle = release_policy(written(folder, privacy=REQUIRED), folder / "out", releases=10_000)
    document = json.loads((bundle.folder / "release.json").read_text(encoding="utf-8"))
    del document["manifest"]["audit.json"]
    (bundle.folder / "audit.json").unlink()
    (bundle.folder / "release.json").write_text(json.dumps(document), encoding="utf-8")
    verdict = verify_bundle(bundle.folder)
    assert not verdict.holds
    assert any("requires an audit" in check.found for check in verdict.checks)


@pytest.mark.slow
@pytest.mark.usefixtures("unchecked")
def test_nothing_is_declared_where_one_of_several_questions_fails(folder: Path) -> None:
    policy = written(folder, release=TWO, privacy=REQUIRED)
    with pytest.raises(AuditFailed):
        release_policy(policy, folder / "out", only="sizes", releases=10_000)
    assert history_of(read_policy(policy).only("sizes")).declaration is None


@pytest.mark.slow
def test_a_question_that_was_attacked_to_be_declared_is_not_attacked_again_to_be_answered(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    attacked: list[str] = []

    def counted(mechanism: object, **options: object) -> object:
        attacked.append(str(options["releases"]))
        return attack(mechanism, **options)  # type: ignore[arg-type]

    monkeypatch.setattr("distpriv.workflow.release_policy.attack", counted)
    release_policy(written(folder, release=TWO, privacy=REQUIRED), folder / "out", only="sizes", releases=10_000)
    assert attacked == ["10000", "10000"]
