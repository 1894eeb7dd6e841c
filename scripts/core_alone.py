"""Try the core alone: plan, release and verify work, and everything else says what to install.

Usage: python scripts/core_alone.py VENV, an environment with distpriv and without any of its extras.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

TABLES = """
import distpriv as dp, pyarrow.parquet as pq
adult = dp.datasets.adult()
pq.write_table(adult.slice(0, 2500), "adult.parquet")
pq.write_table(adult.slice(1000, 100), "private.parquet")
"""

POLICY = """\
[data]
reference = "{reference}"
private = "private.parquet"
id = "alone"

[release]
records = 100

[release.statistics]
age = "mean(age, resolution = 1)"

[[protect]]
share = "income = '>50K'"
values = [0.45, 0.55]

[privacy]
epsilon = 1.0
delta = 0.01

[model]
reference = "population"

[ledger]
url = "{ledger}"
epsilon = 2.0
delta = 0.02
create = true
"""

WORKS = (
    "plan policy.toml",
    "release policy.toml --out bundle",
    "verify bundle",
    "ledger policy.toml",
    "export bundle --to notebook",
)
REFUSED = {
    "audit policy.toml": "distpriv[audit]",
    "release policy.toml --out attacked --audit": "distpriv[audit]",
    "plan on_spark.toml": "distpriv[spark]",
    "export bundle --to xlsx": "distpriv[excel]",
    "ledger postgresql://keeper@localhost/ledger": "distpriv[postgres]",
}


def main() -> None:
    """Run every command in a folder of its own, and end with what was wrong first."""
    programs = Path(sys.argv[1]).resolve() / "bin"
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        subprocess.run([programs / "python", "-c", TABLES], cwd=folder, check=True)
        for file, reference in (("policy.toml", "adult.parquet"), ("on_spark.toml", "spark:?path=adult.parquet")):
            text = POLICY.format(reference=reference, ledger="sqlite:///ledger.db")
            (folder / file).write_text(text, encoding="utf-8")
        for command in WORKS:
            subprocess.run([programs / "distpriv", *command.split()], cwd=folder, check=True)
        for command, extra in REFUSED.items():
            _refused(programs, folder, command, extra)


def _refused(programs: Path, folder: Path, command: str, extra: str) -> None:
    done = subprocess.run(
        [programs / "distpriv", *command.split()], cwd=folder, capture_output=True, text=True, check=False
    )
    said = done.stderr.strip()
    print(f"distpriv {command}\n  exit code {done.returncode}: {said}")
    if done.returncode != 2 or f"pip install '{extra}'" not in said or "\n" in said:
        sys.exit(f"that should have been exit code 2, and one sentence that says to install {extra}")


if __name__ == "__main__":
    main()
