import re
from typing import Any


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
