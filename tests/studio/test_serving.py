"""Starting a studio: one sentence for everything that keeps it from starting."""

import socket
import sys
from pathlib import Path

import pytest

from distpriv.cli.app import main
from distpriv.errors import InvalidInput
from distpriv.studio.access import ADDRESS
from distpriv.studio.serving import serve


def refuse_to_say(link: str) -> None:
    raise AssertionError(link)


def test_a_port_that_is_taken_is_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with socket.socket() as other:
        other.bind((ADDRESS, 0))
        other.listen()
        port = other.getsockname()[1]
        with pytest.raises(InvalidInput, match=rf"^port {port} cannot be listened at .*: leave --port out"):
            serve(None, port=port, open_browser=False, say=refuse_to_say)
    with pytest.raises(InvalidInput, match=r"^a port is a number from 0 to 65535, got 70000: leave --port out"):
        serve(None, port=70_000, open_browser=False, say=refuse_to_say)


def test_a_policy_that_is_not_there_ends_the_command_with_a_sentence_and_2(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["distpriv", "studio", "none.toml", "--no-open"])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 2
    said = capsys.readouterr()
    assert (
        said.err == "distpriv: there is no policy file 'none.toml': check the path, or write one by `distpriv init`.\n"
    )
    assert said.out == ""
