import re
from types import SimpleNamespace
from typing import Any

from distpriv.noise.laws import GaussianNoise


def is_one_sentence(message: str) -> bool:
    unquoted = re.sub(r"'[^']*'|\"[^\"]*\"", "", message)
    return "\n" not in message and message[-1] in ".?" and not re.search(r"[.!?] +\S", unquoted)


def record_of(name: str) -> Any:
    """Return what release.csv is made of, for one statistic."""
    return SimpleNamespace(
        values={name: -2.5},
        display={name: -2.5},
        intervals={name: (-3.48, -1.52)},
        estimates={name: -2.25},
        estimate_intervals={name: (-3.0, -1.5)},
        noise=GaussianNoise.isotropic(1, 0.5),
        statistics=(name,),
    )
