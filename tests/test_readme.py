import re
from pathlib import Path

import pytest

README = Path(__file__).parents[1] / "README.md"


def test_the_code_of_the_readme_runs_as_written(capsys: pytest.CaptureFixture[str]) -> None:
    blocks = re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), flags=re.DOTALL)
    assert blocks
    for block in blocks:
        exec(compile(block, "README.md", "exec"), {})
    assert "the target (1, 0.001) holds" in capsys.readouterr().out


def test_the_links_of_the_readme_lead_somewhere() -> None:
    links = re.findall(r"\]\(([^)#]+)\)", README.read_text(encoding="utf-8"))
    assert all((README.parent / link).exists() for link in links if not link.startswith("http"))
