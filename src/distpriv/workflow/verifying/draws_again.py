"""What a certificate from coupled draws rests on, said again from the draws that are written down."""

import re
from typing import Any, cast

import numpy as np

from distpriv.guarantees.certificate import Assumption, Certificate
from distpriv.guarantees.drawn import Drawn
from distpriv.guarantees.unseen_rows import unseen_rows_assumptions
from distpriv.mechanisms.search.calibration import Calibration
from distpriv.modelling.model import QueryModel
from distpriv.progress import silent

__all__ = ["draws_assumptions"]

_SEED = re.compile(r"seed (\d{1,30}), ")


def draws_assumptions(drawn: Drawn, written: Certificate, model: QueryModel) -> tuple[Assumption, ...]:
    """Return what draws rest on, in the words of a calibration.

    How rows were paired, who chose the seed and which one cannot be seen in draws: where the certificate says one of
    the things that there are to say, that is taken.
    """
    said = " ".join(assumption.evidence for assumption in written.assumptions)
    seed = _SEED.search(said)
    again = Calibration(
        rows=cast(Any, None),
        groups=(),
        laws=len(drawn.laws),
        pairing="transport" if "optimal transport" in said else "independent",
        draws=int(drawn.laws[0].counts.sum()),
        fewer="the query is slow" in said,
        seed=int(seed.group(1)) if seed else 0,
        seed_given="chosen by the caller" in said,
        failure=drawn.failure,
        limit=drawn.limit,
        rounding=np.zeros(0),
        unseen=unseen_rows_assumptions(model),
        progress=silent,
    )
    return again.assumptions()
