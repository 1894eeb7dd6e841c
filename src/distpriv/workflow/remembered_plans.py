"""Plans that are made once where several steps of one task ask for the same, as declaring and releasing do.

Of plans for one model that differ in the releases before them, the mechanisms are made once.
"""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from attrs import Factory, frozen

from distpriv.modelling.description import model_to_dict
from distpriv.modelling.model import QueryModel
from distpriv.planning.plan import Plan
from distpriv.planning.running import Made, remembered_attempts
from distpriv.releasing.certified_laws import reference_digests
from distpriv.releasing.joint import EarlierReleases

__all__ = ["plan_once", "remembered", "remembered_plans"]


@frozen(kw_only=True)
class _Known:
    plans: dict[str, Plan] = Factory(dict)
    made: dict[str, Made] = Factory(dict)
    """Mechanisms, by model."""


_KNOWN: ContextVar[_Known | None] = ContextVar("known plans", default=None)


@contextmanager
def remembered_plans() -> Iterator[None]:
    """Make no plan twice inside; what is remembered outside of it already stays so."""
    outer = _KNOWN.get()
    token = _KNOWN.set(_Known() if outer is None else outer)
    try:
        yield
    finally:
        _KNOWN.reset(token)


def plan_once(model: QueryModel, rest: EarlierReleases | None, settings: object, make: Callable[[], Plan]) -> Plan:
    """Return a plan that was made for the same rows, moments, earlier releases and settings, or make it.

    A model with code of yours in its query is planned each time, since code can be the same text and not do the same.
    """
    known, rows = _KNOWN.get(), _rows(model)
    if known is None or rows is None:
        return make()
    key = _key(rows, rest, settings)
    if key not in known.plans:
        with remembered_attempts(known.made.setdefault(rows, [])):
            known.plans[key] = make()
    return known.plans[key]


def remembered(model: QueryModel, rest: EarlierReleases | None, settings: object) -> Plan | None:
    """Return a plan that was made for the same inside of `remembered_plans`, and none where there is none."""
    known, rows = _KNOWN.get(), _rows(model)
    return None if known is None or rows is None else known.plans.get(_key(rows, rest, settings))


def _rows(model: QueryModel) -> str | None:
    """Return all that mechanisms depend on of a model; None where that cannot be written, or nothing is remembered."""
    if _KNOWN.get() is None or model.query is None or model.query.has_functions:
        return None
    digests = reference_digests(model)
    return json.dumps([model_to_dict(model), digests, model.query.numbers], default=repr) if digests else None


def _key(rows: str, rest: EarlierReleases | None, settings: object) -> str:
    return json.dumps([rows, _written(rest), repr(settings)], default=repr)


def _written(rest: EarlierReleases | None) -> object:
    """Return all that a plan depends on of the releases before it."""
    if rest is None or not rest.releases:
        return None
    past = [
        [[(name, each.text) for name, each in release.query.statistics], release.noise.to_dict(), repr(release.laws)]
        for release in rest.releases
    ]
    return [past, repr(rest.total), rest.questions, rest.place, rest.seed]
