"""Whether several releases hold together, told from the exact law of up to three numbers."""

from collections.abc import Sequence

from distpriv.errors import InvalidInput, InvalidModel
from distpriv.framework.scenarios import Pair
from distpriv.framework.target import PrivacyTarget
from distpriv.guarantees.certificate import Certificate
from distpriv.guarantees.evidence import Evidence
from distpriv.guarantees.exact_rows import exact_certificate
from distpriv.law.cells import MOST_STATISTICS, RowGrid, row_grid
from distpriv.modelling.model import QueryModel
from distpriv.noise.laws import NoiseLaw

__all__ = ["cells_of", "joint_exact_certificate"]


def cells_of(whole: QueryModel) -> RowGrid | None:
    """Return the rows behind all numbers cell by cell, if their exact law can be had."""
    if whole.dimension > MOST_STATISTICS:
        return None
    try:
        return row_grid(whole)
    except InvalidModel:
        return None


def joint_exact_certificate(
    rows: RowGrid,
    noises: Sequence[NoiseLaw],
    target: PrivacyTarget,
    pairs: Sequence[Pair],
    theorem: str,
    evidence: Sequence[Evidence],
) -> Certificate:
    """Return what all releases are worth together; nothing where noise is on no steps, or not in every direction."""
    try:
        return exact_certificate(rows, noises, target, pairs, theorem, evidence)
    except (InvalidInput, InvalidModel) as failure:
        return Certificate(
            target=target,
            epsilon=target.epsilon,
            delta=1.0,
            assurance="proved",
            theorem=theorem,
            evidence=(Evidence.of("DP213", refusal=failure.code),),
        )
