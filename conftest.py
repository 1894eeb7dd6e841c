"""What holds for the examples in docstrings as well as for the tests."""

import pytest

import distpriv  # noqa: F401 - before pytest imports its modules one by one, which would make every error class twice


@pytest.fixture(autouse=True)
def _examples_run_in_an_empty_folder(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Examples may write ledgers and policies, and must not find those of others."""
    if isinstance(request.node, pytest.DoctestItem):
        monkeypatch.chdir(tmp_path_factory.mktemp("example"))
