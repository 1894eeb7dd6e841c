"""A studio as people start it: the command, in a folder, with the link that it prints."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

__all__ = ["running"]


@contextmanager
def running(folder: Path, *arguments: str) -> Iterator[str]:
    """Run ``distpriv studio`` in a folder, and give its link; it has ended afterwards."""
    command = [sys.executable, "-m", "distpriv", "studio", *arguments, "--no-open"]
    environment = {**os.environ, "PYTHONUNBUFFERED": "1", "OPENBLAS_NUM_THREADS": "1"}
    with subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, text=True, env=environment) as process:
        try:
            assert process.stdout is not None
            found = re.fullmatch(r"studio: (http://127\.0\.0\.1:\d+/open\?token=[\w-]+)\n", process.stdout.readline())
            assert found is not None
            yield found[1]
        finally:
            process.terminate()
            process.wait(timeout=60)
