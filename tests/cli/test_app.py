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
