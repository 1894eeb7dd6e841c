"""How an experiment is run: the paper's protocol by name, or expectations in its place."""

import zlib
from typing import Any, Literal, get_args

import numpy as np
from attrs import field, frozen

from distpriv.errors import InvalidInput
from distpriv.framework.domains import one_of, whole

__all__ = ["AUXILIARY", "DELTA", "RECORDS", "TESTING", "ProtocolName", "Setting", "stream"]

ProtocolName = Literal["paper", "exact"]
"""Repetitions as in section 5 of the paper, or expectations from exact moments."""

RECORDS = 100
"""The size of every dataset."""
DELTA = 1e-3
"""The paper's δ, where it does not vary it."""
AUXILIARY = TESTING = 10_000
"""Rows for the attacker's shadows, and rows for the datasets he is tested on; the rest is for modelling."""


def _protocol(name: ProtocolName) -> Any:
    return one_of("protocol", name, get_args(ProtocolName), InvalidInput)


_LEAST = {
    "seed": (0, "any whole number will do"),
    "repetitions": (2, "the paper has 50"),
    "subsets": (10, "the paper has 1000"),
    "shadows": (4, "the paper has 200"),
    "tests": (2, "the paper has 200"),
    "attackers": (2, "200 give three digits"),
    "strong_repetitions": (2, "10 give two digits"),
}


@frozen(kw_only=True)
class Setting:
    """The protocol, its seed, and its sizes, which are the paper's unless a test wants it done in no time.

    >>> Setting(protocol="quick")
    Traceback (most recent call last):
    distpriv.errors.InvalidInput: protocol must be 'paper' or 'exact', got 'quick'.
    """

    protocol: ProtocolName = field(default="exact", converter=_protocol)
    seed: int = 0
    repetitions: int = 50
    subsets: int = 1000
    """How many datasets every model of the paper's protocol is fitted to."""
    shadows: int = 200
    tests: int = 200
    attackers: int = 200
    """How many attackers the exact protocol averages over: each is trained on shadows of his own."""
    strong_repetitions: int = 10
    """How often the attackers that the paper does not have are tried, in either protocol, each time on 400 tests."""
    processes: int | None = field(default=None, eq=False)
    """How many to use, every core when not given; the numbers are the same with any."""

    def __attrs_post_init__(self) -> None:
        for name, (least, cure) in _LEAST.items():
            whole(name, getattr(self, name), InvalidInput, at_least=least, cure=cure)


def stream(setting: Setting, name: str) -> np.random.Generator:
    """Return the random numbers of one purpose; those of other names are independent of them."""
    key = (zlib.crc32(name.encode()),)
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence(setting.seed, spawn_key=key)))
