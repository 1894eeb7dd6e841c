import sys
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, get_args

import pyarrow as pa
import pytest

import distpriv as dp
from distpriv.bundle import verify_bundle
from distpriv.cli.app import main
from distpriv.errors import InvalidInput, InvalidSource
from distpriv.extras import EXTRAS, Extra, extra_needed, installed
from distpriv.studio.serving import serve
from distpriv.workflow.release_policy import release_policy
from tests.workflow.small import only, write_policy, write_tables

PROJECT = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text(encoding="utf-8"))["project"]


@pytest.fixture
def without(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Make modules that are installed look as if they were not."""

    def block(*extras: Extra) -> None:
        for module in (EXTRAS[extra][0] for extra in extras):
            for name in [name for name in sys.modules if name.startswith(f"{module}.")]:
                monkeypatch.setitem(sys.modules, name, None)
            monkeypatch.setitem(sys.modules, module, None)

    return block


@pytest.fixture
def policy(tmp_path: Path, adult: pa.Table, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    write_tables(tmp_path, adult)
    monkeypatch.chdir(tmp_path)
    with only("expected_value_gaussian", page=True):
        yield write_policy(tmp_path)


def test_every_extra_can_be_installed_by_its_name_and_all_is_all_of_them() -> None:
    offered = PROJECT["optional-dependencies"]
    assert set(get_args(Extra)) == set(EXTRAS) == set(offered) - {"all", "dev", "docs"}
    assert offered["all"] == [f"distpriv[{','.join(EXTRAS)}]"]
    core = {requirement.partition(">")[0] for requirement in PROJECT["dependencies"]}
    assert not core & {requirement.partition(">")[0] for extra in EXTRAS for requirement in offered[extra]}


@pytest.mark.parametrize("extra", EXTRAS)
def test_what_is_missing_is_one_sentence_with_the_command_that_installs_it(
    extra: Extra, without: Callable[..., None]
) -> None:
    without(extra)
    assert not installed(extra)
    sentence = rf"^this needs {EXTRAS[extra][1]}, which is not installed here: pip install 'distpriv\[{extra}\]'\.$"
    with pytest.raises(InvalidSource, match=sentence), extra_needed(extra, "this", InvalidSource):
        __import__(EXTRAS[extra][0])


def test_a_failure_of_another_kind_passes_through() -> None:
    with pytest.raises(ZeroDivisionError), extra_needed("audit", "this"):
        _ = 1 / 0


def test_the_core_alone_plans_releases_and_verifies_with_its_report(
    without: Callable[..., None], policy: Path, tmp_path: Path
) -> None:
    without(*EXTRAS)
    made = release_policy(str(policy), tmp_path / "bundle")
    assert "<svg " in (made.folder / "report.html").read_text(encoding="utf-8")
    assert verify_bundle(str(made.folder)).holds


def test_an_audit_without_its_extra_is_refused_before_anything_is_written(
    without: Callable[..., None],
    policy: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    without("audit")
    for arguments in (["audit", str(policy)], ["release", str(policy), "--out", "bundle", "--audit"]):
        monkeypatch.setattr(sys, "argv", ["distpriv", *arguments])
        with pytest.raises(SystemExit) as ended:
            main()
        assert ended.value.code == 2
        said = "distpriv: an audit needs scikit-learn, which is not installed here: pip install 'distpriv[audit]'.\n"
        assert capsys.readouterr().err == said
    assert {file.name for file in policy.parent.iterdir()} == {"policy.toml", "adult.parquet", "private.parquet"}


def test_attacks_that_need_no_extra_go_on(without: Callable[..., None]) -> None:
    without("audit")
    model = dp.gaussian_model(means={"a": [0], "b": [1]}, covariances=[[1]], pairs=[("a", "b")])
    mechanism = dp.mechanisms.expected_value_gaussian(model, dp.PrivacyTarget(epsilon=1, delta=0.001))
    report = dp.audit(mechanism, model=model, attacks=["bayes", "quadratic"], releases=2000)
    assert not report.failed
    with pytest.raises(InvalidInput, match=r"pip install 'distpriv\[audit\]'"):
        dp.audit(mechanism, model=model, releases=2000)


@pytest.mark.parametrize(
    ("extra", "ask"),
    [
        ("spark", lambda: dp.model("spark:local[2]?path=census.parquet", *_question(), records=10)),
        ("postgres", lambda: dp.Ledger.open("postgresql://keeper@localhost/ledger")),
        ("studio", lambda: serve(None, port=0, open_browser=False, say=print)),
    ],
)
def test_so_say_sources_and_ledgers_elsewhere_and_the_local_page(
    extra: Extra, ask: Callable[[], Any], without: Callable[..., None]
) -> None:
    without(extra)
    with pytest.raises(InvalidInput, match=rf"which is not installed here: pip install 'distpriv\[{extra}\]'"):
        ask()


def _question() -> tuple[dp.Query, dp.Share]:
    return dp.Query(age=dp.mean("age")), dp.Share("income = '>50K'", values=(0.4, 0.6))
