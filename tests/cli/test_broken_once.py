"""Claims of the command line that were false once, each with what broke it."""

from pathlib import Path
from typing import Any, cast

import pytest
from tests.report.boards import document, joint_accuracy, released

from distpriv.bundle.write import Bundle
from distpriv.cli.commands import show_bundle
from distpriv.report.protection import QUESTIONS, percent_at_most


@pytest.mark.parametrize("position", [1, 2, 3])
def test_what_was_printed_after_a_later_release_was_about_that_release_alone(
    position: int, capsys: pytest.CaptureFixture[str]
) -> None:
    """Only its own certificate was printed, although the one of all releases was there and weaker."""
    release = released(position)
    assert release.joint is not None
    show_bundle(Bundle(folder=Path("out"), release=release, record=cast(Any, document(position))), json=False)
    printed = capsys.readouterr().out
    joint, own = percent_at_most(joint_accuracy(position)), percent_at_most(joint_accuracy(1))
    assert f"more than {joint} of the time" in printed
    assert QUESTIONS["first" if position == 1 else "declared"] in printed
    if position > 1:
        together, alone = str(release.joint).splitlines()[0], str(release.certificate).splitlines()[0]
        assert printed.index(f"all releases of the dataset together: {together}") < printed.index(alone)
        assert f"this release alone: {alone}" in printed
        own_words = (
            "From this release alone it would be 69.2 % without noise, if the statistics vary as modelled, and is "
        )
        assert printed.index(joint) < printed.index(f"{own_words}at most {own}")
