import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from filelock import FileLock
from tests.docs.pages import ROOT


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Path:
    """The site, built once for all processes that test it, from a copy of what it is made of."""
    alone = not hasattr(request.config, "workerinput")
    base = tmp_path_factory.getbasetemp()
    folder = (base if alone else base.parent) / "site"
    with FileLock(f"{folder}.lock"):
        done = folder / "built"
        if not done.exists():
            shutil.copytree(ROOT / "docs", folder / "docs")
            shutil.copyfile(ROOT / "zensical.toml", folder / "zensical.toml")
            for name in ("src", "scripts"):
                (folder / name).symlink_to(ROOT / name)
            ended = subprocess.run(
                [sys.executable, "-m", "scripts.build_site"], cwd=folder, capture_output=True, text=True, check=False
            )
            done.write_text(ended.stdout + ended.stderr if ended.returncode else "", encoding="utf-8")
    said = done.read_text(encoding="utf-8")
    assert not said, said
    return folder / "build" / "site"
