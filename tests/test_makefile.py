"""What `make` sets up: one environment in two steps, and downloads that fail for a moment."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

PYTHON = """\
#!/bin/sh
[ "$2" = venv ] || exit 0
mkdir -p .venv/bin
cat > .venv/bin/pip <<'END'
#!/bin/sh
echo "$@" >> asked
read -r left < failures
echo $((left - 1)) > failures
[ "$left" -le 0 ]
END
printf '#!/bin/sh\\necho "$(basename $0) $@" >> asked\\n' | tee .venv/bin/distpriv > .venv/bin/ruff
cp .venv/bin/ruff .venv/bin/mypy
cp .venv/bin/ruff .venv/bin/lint-imports
chmod +x .venv/bin/*
"""


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """A folder with a Makefile in which nothing is really installed, and nobody waits."""
    if shutil.which("make") is None:
        pytest.skip("no make on the path")
    for name in ("Makefile", "pyproject.toml", "constraints.txt"):
        shutil.copy(ROOT / name, tmp_path)
    (tmp_path / "bin").mkdir()
    for name, text in (("python3", PYTHON), ("sleep", "#!/bin/sh\n")):
        (tmp_path / "bin" / name).write_text(text, encoding="utf-8")
        (tmp_path / "bin" / name).chmod(0o755)
    return tmp_path


def make(clone: Path, target: str, failures: int = 0) -> tuple[int, list[str]]:
    """Return how a target ended, and what was installed and run for it."""
    (clone / "failures").write_text(f"{failures}\n", encoding="utf-8")
    (clone / "asked").write_text("", encoding="utf-8")
    environment = {**os.environ, "PATH": f"{clone / 'bin'}:{os.environ['PATH']}"}
    for name in [name for name in environment if name.startswith(("MAKE", "MFLAGS"))]:
        del environment[name]
    done = subprocess.run(
        ["make", f"PYTHON={clone / 'bin' / 'python3'}", target],
        cwd=clone,
        env=environment,
        capture_output=True,
        check=False,
    )
    return done.returncode, (clone / "asked").read_text(encoding="utf-8").splitlines()


def installed(asked: list[str]) -> list[str]:
    return [line.rpartition("-e ")[2] for line in asked if line.startswith("install ")]


def test_the_demo_installs_what_it_uses_and_everything_else_the_rest_in_the_same_environment(clone: Path) -> None:
    code, asked = make(clone, "demo")
    assert (code, installed(asked), asked[-1]) == (0, [".[audit]"], "distpriv demo")
    code, asked = make(clone, "lint")
    assert (code, installed(asked)) == (0, [".[dev]"])
    assert installed(make(clone, "demo")[1]) == []
    assert installed(make(clone, "lint")[1]) == []


def test_a_changed_list_of_packages_is_installed_anew(clone: Path) -> None:
    make(clone, "lint")
    (clone / "constraints.txt").touch()
    assert installed(make(clone, "lint")[1]) == [".[audit]", ".[dev]"]


@pytest.mark.parametrize(("failures", "code"), [(1, 0), (3, 0), (4, 2)])
def test_what_cannot_be_had_is_asked_for_again_before_it_is_called_missing(
    clone: Path, failures: int, code: int
) -> None:
    ended, asked = make(clone, "demo", failures)
    assert ended == code
    assert len(installed(asked)) == min(failures + 1, 4)
    assert ("distpriv demo" in asked) == (code == 0)
    assert (clone / ".venv" / ".core").exists() == (code == 0)
