"""Mechanisms that are made once for all tests that ask for the same: most tests of releases start from few plans."""

from typing import Any
from unittest.mock import patch

import distpriv as dp
from distpriv.framework.records import json_text
from distpriv.guarantees.mechanism import AdditiveMechanism
from distpriv.planning.candidates import Candidate
from distpriv.releasing.record import ModelRecord

__all__ = ["remembering"]

_make = Candidate.make
_made: dict[tuple[str, ...], AdditiveMechanism] = {}


def _remembered(
    candidate: Candidate, model: dp.QueryModel, target: dp.PrivacyTarget, **settings: Any
) -> AdditiveMechanism:
    """Make a mechanism, unless it was made for such moments and settings; one with a seed of its own is always new."""
    if "seed" in candidate.takes and settings["seed"] is None:
        return _make(candidate, model, target, **settings)
    taken = {name: settings[name] for name in candidate.takes}
    key = (repr(candidate), json_text(ModelRecord.of(model)), repr(target), repr(taken))
    if key not in _made:
        _made[key] = _make(candidate, model, target, **settings)
    return _made[key]


def remembering() -> Any:
    """Return what makes plans remember mechanisms for as long as it is entered."""
    return patch.object(Candidate, "make", _remembered)
