"""How much commands say: quiet, usual and verbose, the environment's settings, completion."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from tests.cli.test_commands import Ended, Run
from tests.workflow.small import only, write_policy, write_tables

from distpriv.cli.app import main
from distpriv.errors import InvalidInput
from distpriv.processes import PROCESSES, usable_processes


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Run:
    """Run a command in this process, as the shell would."""

    def run(*arguments: object) -> Ended:
        monkeypatch.setattr(sys, "argv", ["distpriv", *map(str, arguments)])
        capfd.readouterr()
        with pytest.raises(SystemExit) as ended:
            sys.exit(main())  # type: ignore[func-returns-value]
        return Ended(int(ended.value.code or 0), *capfd.readouterr())

    return run


@pytest.fixture
def folder(tmp_path: Path, adult: pa.Table, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    write_tables(tmp_path, adult)
    monkeypatch.chdir(tmp_path)
    with only("expected_value_gaussian"):
        yield tmp_path


def test_a_quiet_command_prints_nothing_and_its_exit_code_tells(run: Run, folder: Path) -> None:
    write_policy(folder)
    for command in (["plan", "policy.toml", "-q"], ["ledger", "policy.toml", "--create", "--quiet"]):
        ended = run(*command)
        assert (ended.code, ended.out, ended.err) == (0, "", "")
    assert run("release", "policy.toml", "--out", "bundle", "--quiet").out == ""
    assert run("verify", "bundle", "--quiet").out == ""
    assert run("plan", "policy.toml", "--quiet", "--json").json["chosen"] == "expected_value_gaussian"
    refused = run("verify", "nowhere", "--quiet")
    assert (refused.code, refused.out) == (2, "")
    assert refused.err.startswith("distpriv: ")


def test_verbose_commands_add_evidence_with_its_codes_and_then_mechanisms(run: Run, folder: Path) -> None:
    write_policy(folder)
    usual, verbose, most = (run("plan", "policy.toml", *given).out for given in ((), ("-v",), ("-vv",)))
    assert "[DP2" in verbose
    assert "[DP2" not in usual
    assert len(usual.splitlines()) < len(verbose.splitlines()) < len(most.splitlines())
    assert "public mean, no release" in most


def test_codes_are_explained_and_listed(run: Run) -> None:
    assert run("explain", "dp205").out.startswith("DP205")
    assert run("explain", "--json").json["DP205"] == "Lattice smoothed by the noise"
    assert run("explain", "DP999").code == 2


def test_the_environment_says_it_too(run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_policy(folder)
    monkeypatch.setenv("DISTPRIV_QUIET", "1")
    assert run("plan", "policy.toml").out == ""
    monkeypatch.setenv("DISTPRIV_VERBOSE", "1")
    assert "cannot be quiet and verbose" in run("plan", "policy.toml").err
    monkeypatch.delenv("DISTPRIV_QUIET")
    assert "[DP2" in run("plan", "policy.toml").out


def test_the_ledger_of_the_environment_is_listed_where_none_is_named(
    run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run("ledger", f"sqlite:///{folder}/ledger.db", "--create").code == 0
    assert run("ledger").code == 2
    monkeypatch.setenv("DISTPRIV_LEDGER", f"sqlite:///{folder}/ledger.db")
    assert run("ledger", "--json").json["datasets"] == []


def test_the_environment_says_how_many_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(PROCESSES, "3")
    assert usable_processes() == 3
    monkeypatch.delenv(PROCESSES)
    assert usable_processes() >= 1
    for wrong in ("0", "-1", "two", "1.5", "²"):
        monkeypatch.setenv(PROCESSES, wrong)
        with pytest.raises(InvalidInput, match="must be a whole number from 1 on"):
            usable_processes()


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_shell_completes_commands_and_options(shell: str) -> None:
    environment = {
        **os.environ,
        "_DISTPRIV_COMPLETE": f"complete_{shell}",
        "COMP_WORDS": "distpriv rel",
        "COMP_CWORD": "1",
    }
    environment |= {"_TYPER_COMPLETE_ARGS": "distpriv rel", "_TYPER_COMPLETE_FISH_ACTION": "get-args"}
    program = "import sys; sys.argv[0] = 'distpriv'; from distpriv.cli.app import main; main()"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False, env=environment)
    assert "release" in done.stdout
    assert "verify" not in done.stdout


def test_the_example_says_what_to_do_next(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    told = run("example", "adult")
    assert told.code == 0
    assert "distpriv release policy.toml --out bundle" in told.out
    assert run("example").code == 2
