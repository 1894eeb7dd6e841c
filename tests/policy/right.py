"""A policy that is right, and how others are made from it, wrong ones too."""

import tomllib
from pathlib import Path

from distpriv.policy import Policy, policy_of
from distpriv.policy.toml_text import TomlText

RIGHT = """\
[data]
reference = "adult.parquet"
private = "hospital.parquet"
id = "hospital-2026"

[release]
records = 100

[release.statistics]
age = "mean(age)"
never_married = "count(marital_status = 'Never-married')"

[[protect]]
share = "income = '>50K'"
values = [0.45, 0.55]

[privacy]
epsilon = 1.0
delta = 1e-3
assurance = "checked"

[ledger]
url = "sqlite:///ledger.db"
epsilon = 2.0
delta = 2e-3
"""


def changed(*edits: tuple[str, str], text: str = RIGHT) -> str:
    """Return the right policy with some of its text replaced, each at its first place."""
    for old, new in edits:
        assert old in text, old
        text = text.replace(old, new, 1)
    return text


def with_protect(body: str) -> str:
    """Return the right policy with another body of its [[protect]]."""
    return changed(("share = \"income = '>50K'\"\nvalues = [0.45, 0.55]\n", body))


def policy_from(text: str, folder: Path = Path("/policies")) -> Policy:
    """Read a policy as if it were a file in a folder."""
    return policy_of(TomlText.parse(text, name="policy.toml"), folder)


def _wrong() -> dict[str, tuple[str, str, bool]]:
    """Return wrong policies by name: the text, the line and key that are refused, and whether only by a model."""
    listed = tomllib.loads((Path(__file__).parent / "wrong_policies.toml").read_text(encoding="utf-8"))
    made = {}
    for kind, cases in listed.items():
        for name, (line, count, replacement, place) in cases.items():
            rows = RIGHT.split("\n")
            rows[line - 1 : line - 1 + count] = [replacement] if replacement else []
            made[name] = ("\n".join(rows), place, kind == "modelled")
    return made


WRONG = _wrong()
