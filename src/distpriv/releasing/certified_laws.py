"""The laws that a release was certified on: what they were drawn from, how, and their moments.

Several releases are certified as one on the laws of the model that asks last. That says something about the earlier
ones only if these are the laws that they were certified on, too: scenarios of the same name over another table, or a
reference that was refreshed, are others. So every release writes its laws down, and a later one is held against them.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from distpriv.engines.content import content_digest
from distpriv.errors import LawsChanged
from distpriv.framework.arrays import Floats
from distpriv.modelling.drawing import IF_GIVEN
from distpriv.modelling.model import QueryModel

__all__ = ["laws_to_dict", "reference_digests", "require_same_laws", "require_same_moments", "same_moments"]

NEAR = 1e-6
"""By which share of a standard deviation the same moment may differ when it is computed again."""


def reference_digests(model: QueryModel) -> dict[str, str]:
    """Return a digest of the content of the table that each scenario draws from; nothing for a model without rows.

    >>> import distpriv as dp
    >>> rows, secret = dp.datasets.adult().slice(0, 1000), dp.Share("income = '>50K'", values=(0.4, 0.6))
    >>> model = dp.model(rows, dp.Query(hours=dp.mean("hours_per_week")), secret, records=20)
    >>> digests = reference_digests(model)
    >>> list(digests), len(set(digests.values()))
    (["income = '>50K' @ 0.4", "income = '>50K' @ 0.6"], 1)
    """
    if model.simulator is None:
        return {}
    tables = model.simulator.tables
    engines = {id(table.engine): table.engine for table in tables.values()}
    known = {key: content_digest(engine) for key, engine in engines.items()}
    return {name: known[id(table.engine)] for name, table in tables.items()}


def laws_to_dict(model: QueryModel, digests: Mapping[str, str]) -> dict[str, Any]:
    """Return what `require_same_laws` and `require_same_moments` hold a later model against."""
    return {
        "tables": dict(digests),
        "scenarios": {name: scenario.to_dict() for name, scenario in model.scenarios.items()},
        "draws": model.provenance.draws,
        "drawing": _drawing(model),
        "statistics": list(model.names),
        "moments": {
            name: {"mean": law.mean.tolist(), "covariance": law.covariance.tolist()}
            for name, law in model.distributions.items()
        },
    }


def require_same_laws(written: Mapping[str, Any], model: QueryModel, digests: Mapping[str, str], which: str) -> None:
    """Refuse a model whose scenarios are not those that an earlier release was certified on.

    Raises:
        LawsChanged: another table or other strata stand behind a scenario's name, or datasets are drawn otherwise.
    """
    for name, digest in written["tables"].items():
        if name in digests and digests[name] != digest:
            raise LawsChanged(
                f"the table that {name!r} is drawn from has other rows than when {which} was certified: give the table "
                "as it was, since all releases of a dataset are certified on the same laws."
            )
    for name, drawn in written["scenarios"].items():
        if name in model.scenarios and model.scenarios[name].to_dict() != drawn:
            raise LawsChanged(
                f"{name!r} draws other rows of its table than when {which} was certified: call another scenario by "
                "another name, since all releases of a dataset are certified on the same laws."
            )
    drawing = _drawing(model)
    before = {**dict.fromkeys(IF_GIVEN), **written["drawing"]}
    changed = [key for key, value in before.items() if drawing.get(key) != value]
    if changed:
        raise LawsChanged(
            f"{which} was certified for datasets drawn with {changed[0]} = {before[changed[0]]!r}, not "
            f"{drawing.get(changed[0])!r}: draw them the same way for all releases of a dataset."
        )


def require_same_moments(written: Mapping[str, Any], stack: QueryModel, start: int, which: str) -> None:
    """Refuse a stack in which the statistics of an earlier release have other moments than it was certified on.

    Raises:
        LawsChanged: some moment is another one.
    """
    place = slice(start, start + len(written["statistics"]))
    for name, law in stack.distributions.items():
        if name not in written["moments"]:
            continue
        if not same_moments(written["moments"][name], law.mean[place], law.covariance[place, place]):
            raise LawsChanged(
                f"the statistics of {which} have other moments in {name!r} than it was certified on: give the "
                "reference as it was, since all releases of a dataset are certified on the same laws."
            )


def same_moments(written: Mapping[str, Any], mean: Floats, covariance: Floats, near: float = NEAR) -> bool:
    """Tell whether moments are those that were written down, but for a share of their deviations."""
    before, spread = np.array(written["mean"]), np.array(written["covariance"])
    unit = np.sqrt(np.maximum(np.diag(spread), 0.0)) + NEAR * (1 + np.abs(before))
    moved, wider = np.abs(mean - before) / unit, np.abs(covariance - spread) / np.outer(unit, unit)
    return bool((moved <= near).all() and (wider <= near).all())


def _drawing(model: QueryModel) -> dict[str, Any]:
    """Return how datasets are drawn, as far as their law depends on it."""
    return {"records": model.provenance.records, **model.provenance.drawing.law}
