"""What group differential privacy needs: how many records differ, and how much each can move the statistics."""

from typing import Literal

import numpy as np

from distpriv.errors import InvalidInput, InvalidModel
from distpriv.framework.arrays import Floats
from distpriv.framework.domains import whole
from distpriv.framework.target import PrivacyTarget
from distpriv.guarantees.certify import by_coupling
from distpriv.guarantees.evidence import Evidence
from distpriv.guarantees.mechanism import AdditiveMechanism
from distpriv.modelling.model import QueryModel, require_model
from distpriv.noise.laws import NoiseLaw

__all__ = ["Group", "by_group", "group_reach", "group_size", "record_sensitivities", "sufficient_group"]

Group = Literal["sufficient", "records"] | int
"""The records in which coupled datasets differ, all records (the paper's baseline), or so many."""


def record_sensitivities(model: QueryModel) -> Floats:
    """Return how much one record can move each statistic, or say which one nothing bounds."""
    unbounded = [name for name, s in zip(model.names, model.record_sensitivities, strict=True) if np.isinf(s)]
    if unbounded:
        raise InvalidModel(
            f"nothing bounds how much one record can move {unbounded[0]!r}: group privacy needs bounds, as in "
            "mean('age', bounds=(17, 90)), and rows."
        )
    return model.record_sensitivities


def group_reach(model: QueryModel, size: int, order: Literal[1, 2]) -> float:
    r"""Return how far so many records can move the statistics at most, in L1 or L2: :math:`k ‖s‖`."""
    moves = record_sensitivities(model)
    if order == 1:
        return size * float(moves.sum())
    largest = float(moves.max()) or 1.0
    return size * largest * float(np.linalg.norm(moves / largest))


def sufficient_group(model: QueryModel) -> int | None:
    """Return the largest number of records in which coupled datasets of a protected pair differ; None if unknown.

    Two shares differ in |n₁ − n₁′| records; tables of their own in all of them.
    """
    sizes = []
    for first, second in model.protected_pairs:
        one, other = model.scenarios.get(first), model.scenarios.get(second)
        if one is None or other is None:
            return None
        sizes.append(one.swapped(other))
    return max(sizes)


def group_size(model: QueryModel, group: Group) -> int:
    """Return the number of records to protect together."""
    require_model(model)
    if group == "sufficient":
        enough = sufficient_group(model)
        if enough is None:
            raise InvalidModel("this model does not know in how many records its scenarios differ: give group=10, say.")
        return enough
    if group == "records":
        if model.provenance.records is None:
            raise InvalidModel("this model does not know how many records there are: give group=100, say.")
        return model.provenance.records
    return whole("group", group, InvalidInput, at_least=1, cure="or 'sufficient', or 'records'")


def by_group(
    model: QueryModel, target: PrivacyTarget, noise: NoiseLaw, *, name: str, size: int, delta: float
) -> AdditiveMechanism:
    """Return the mechanism whose noise hides any so many records: the coupling is that they are all that differ."""
    enough = sufficient_group(model)
    covered = enough is not None and size >= enough
    differ = Evidence.of("DP104" if covered else "DP318", records=size, differ=enough)
    bounded = Evidence.of("DP105", sensitivities=model.record_sensitivities)
    return by_coupling(
        model,
        target,
        noise,
        name=name,
        theorem=f"group differential privacy of {size} records",
        delta=delta,
        assurance="proved" if covered else "assumed",
        evidence=(differ, bounded),
        contradicted=enough is not None and not covered,
    )
