import os
import subprocess
import sys

import pytest
from typer.testing import CliRunner

import distpriv
from distpriv.cli.app import app, main
from distpriv.errors import InvalidSource


def test_version_is_printed() -> None:
    done = subprocess.run([sys.executable, "-m", "distpriv", "--version"], capture_output=True, text=True, check=True)
    assert done.stdout == f"distpriv {distpriv.__version__}\n"


@pytest.mark.parametrize(("before", "after"), [(None, "1"), ("3", "3")])
def test_the_command_has_one_thread_for_linear_algebra_unless_told_otherwise(before: str | None, after: str) -> None:
    others = {name: value for name, value in os.environ.items() if name != "OPENBLAS_NUM_THREADS"}
    code = "import os, distpriv.cli.app; print(os.environ['OPENBLAS_NUM_THREADS'])"
    told = others if before is None else {**others, "OPENBLAS_NUM_THREADS": before}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=told)
    assert done.stdout == f"{after}\n"


def test_help_names_the_commands() -> None:
    assert "demo" in CliRunner().invoke(app, ["--help"]).output


def test_an_unknown_command_is_wrong_input() -> None:
    assert CliRunner().invoke(app, ["dmeo"]).exit_code == 2


def test_a_refusal_is_one_sentence_and_exit_code_2(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse(*_: object) -> None:
        raise InvalidSource("there is no file 'x[1].csv': check the path.")

    monkeypatch.setattr("distpriv.cli.demo.show_demo", refuse)
    monkeypatch.setattr("sys.argv", ["distpriv", "demo"])
    with pytest.raises(SystemExit) as exit_:
        main()
    assert exit_.value.code == 2
    assert capsys.readouterr().err == "distpriv: there is no file 'x[1].csv': check the path.\n"
