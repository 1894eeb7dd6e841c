"""What a certificate from coupled draws rests on, said again from the draws that are written down."""

from typing import Any, cast

import numpy as np

from distpriv.guarantees.certificate import Certificate
from distpriv.guarantees.drawn import Drawn
from distpriv.guarantees.evidence import Evidence
from distpriv.guarantees.reference_sample import unseen_rows_evidence
from distpriv.mechanisms.search.coupled_draws import Calibration
from distpriv.modelling.model import QueryModel
from distpriv.progress import silent

__all__ = ["draws_evidence"]


def draws_evidence(drawn: Drawn, written: Certificate, model: QueryModel) -> tuple[Evidence, ...]:
    """Return what draws rest on, as a calibration has it.

    How rows were paired, who chose the seed and which one cannot be seen in draws: where the certificate has one of the
    values that there are, that is taken.
    """
    said = {name: fact for evidence in written.evidence for name, fact in evidence.facts.items()}
    seed = said.get("seed")
    again = Calibration(
        rows=cast(Any, None),
        groups=(),
        laws=len(drawn.laws),
        pairing="transport" if said.get("pairing") == "transport" else "independent",
        draws=int(drawn.laws[0].counts.sum()),
        fewer=said.get("slow") is True,
        seed=seed if type(seed) is int and seed >= 0 else 0,
        seed_given=said.get("chosen_by") == "caller",
        failure=drawn.failure,
        limit=drawn.limit,
        rounding=np.zeros(0),
        unseen=unseen_rows_evidence(model),
        progress=silent,
    )
    return again.evidence()
