"""Whether the strata in a bundle can be those of a reference that is a sample, from which its moments are."""

from collections.abc import Iterator, Mapping

import numpy as np

from distpriv.framework.arrays import Floats
from distpriv.modelling.model import FEWEST_ROWS, NORMAL, OF_SAMPLED_LAWS, QueryModel, SampledStratum
from distpriv.modelling.sampled_strata import row_covariance
from distpriv.modelling.simulator import drawn_rows
from distpriv.workflow.verifying.problems import first_problem

__all__ = ["joint_strata_problem", "strata_problem"]

SAME = 1e-9
"""By which share of deviations numbers may differ that are the same but for rounding."""


@first_problem
def strata_problem(model: QueryModel) -> Iterator[str]:
    """Say why strata cannot be those that the moments are of."""
    if model.provenance.reference == "population" or not model.scenarios:
        if model.strata:
            yield "the reference is the population, and is said to be a sample of more rows"
        return
    tables = {name: s.reference if s.predicate else name for name, s in model.scenarios.items()}
    expected = [
        (scenario.kind_of_rows(side), sizes)
        for (_, _, side, _), sizes in drawn_rows(model.scenarios, tables).items()
        for scenario in [model.scenarios[next(iter(sizes))]]
    ]
    if [(stratum.kind, dict(stratum.drawn)) for stratum in model.strata] != expected:
        yield "the strata of the reference are not those that the scenarios draw from"
        return
    families = {name: scenario.family for name, scenario in model.scenarios.items()}
    counted = model.provenance.drawing.weight is not None
    widths: dict[str | None, int] = {}
    for stratum in model.strata:
        width = 0 if stratum.loads is None else stratum.loads.shape[1]
        named = {families[name] or (stratum.kind if counted else None) for name in stratum.drawn}
        weighted = named == {stratum.family}
        if (
            not weighted
            or (stratum.family is None) != (stratum.loads is None)
            or (widths.setdefault(stratum.family, width) != width)
        ):
            yield f"the errors of {stratum.kind} are not said as those of their property are"
            return
    for stratum in model.strata:
        most = max(NORMAL, stratum.rows)  # of all but one alike
        if stratum.rows < FEWEST_ROWS or not ((stratum.kurtoses >= NORMAL) & (stratum.kurtoses <= most)).all():
            yield f"there cannot be {stratum.rows:,} {stratum.kind} in the reference that vary so"
    yield from _covariances(model) if model.provenance.method == "exact moments" else _estimates(model)


@first_problem
def joint_strata_problem(model: QueryModel, whole: QueryModel, own: slice) -> Iterator[str]:
    """Say in what the strata of all releases differ from those of one of them."""
    if len(model.strata) != len(whole.strata):
        yield "the strata of the reference are others among all releases"
        return
    exact = whole.provenance.method == model.provenance.method == "exact moments"
    for one, other in zip(model.strata, whole.strata, strict=True):
        if (one.kind, one.rows, one.drawn) != (other.kind, other.rows, other.drawn):
            yield f"the {one.kind} are others among all releases"
        elif exact and not _near(one.covariance, other.covariance[own, own]):
            yield f"the {one.kind} vary otherwise among all releases"
        elif one.family != other.family or (exact and not _near(one.error, other.error[own, own])):
            yield f"the {one.kind} are known otherwise among all releases"
        elif exact and not np.allclose(one.kurtoses, other.kurtoses[own], rtol=SAME, atol=0):
            yield f"the {one.kind} have other kurtoses among all releases"


def _covariances(model: QueryModel) -> Iterator[str]:
    """Say where the covariance of a scenario is not that of rows drawn from the strata."""
    for name, law in model.distributions.items():
        parts = [_drawn(stratum, stratum.drawn[name]) for stratum in model.strata if name in stratum.drawn]
        if not _near(law.covariance, np.sum(parts, axis=0)):
            yield f"the covariance in scenario {name!r} is not that of rows drawn from the strata"


def _drawn(stratum: SampledStratum, size: int) -> Floats:
    return np.asarray(size * (stratum.rows - 1) / stratum.rows * stratum.covariance)


def _estimates(model: QueryModel) -> Iterator[str]:
    """Say where rows do not vary as the statistics do, of which nothing else is known."""
    covariances = {name: law.covariance for name, law in model.distributions.items()}
    records = {name: scenario.records for name, scenario in model.scenarios.items()}
    for stratum in model.strata:
        found = row_covariance(_of(covariances, stratum), records)
        if not _near(stratum.covariance, found) or (stratum.kurtoses != OF_SAMPLED_LAWS).any():
            yield f"the {stratum.kind} do not vary as the statistics do"


def _of(covariances: Mapping[str, Floats], stratum: SampledStratum) -> dict[str, Floats]:
    return {name: covariances[name] for name in stratum.drawn}


def _near(one: Floats, other: Floats) -> bool:
    units = np.sqrt(np.maximum(np.diag(one), 0.0))
    return one.shape == other.shape and bool((np.abs(one - other) <= SAME * np.outer(units, units) + 1e-300).all())
