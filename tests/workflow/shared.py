import re
from pathlib import Path
from typing import Any

from distpriv.workflow.policy import Policy, policy_of
from distpriv.workflow.policy.toml_text import PolicyText


def policy_from(text: str, folder: Path = Path("/policies")) -> Policy:
    """Read a policy as if it were a file in a folder."""
    return policy_of(PolicyText.parse(text, name="policy.toml"), folder)


def is_one_sentence(message: str) -> bool:
    unquoted = re.sub(r"'[^']*'|\"[^\"]*\"", "", message)
    return "\n" not in message and message[-1] in ".?" and not re.search(r"[.!?] +\S", unquoted)


def document_of(name: str) -> dict[str, Any]:
    """Return the keys of release.json that release.csv is made of, for one statistic."""
    return {
        "values": {name: -2.5},
        "estimates": {name: -2.25},
        "estimate_intervals": {name: [-3.0, -1.5]},
        "noise": {"law": "gaussian", "axes": [[1.0]], "variances": [0.25]},
        "statistics": [name],
    }
