"""A model as a bundle has it: everything that a certificate may rest on, but neither rows nor points."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from attrs import evolve

from distpriv.errors import InvalidModel
from distpriv.framework.arrays import Floats
from distpriv.framework.scenarios import Scenario
from distpriv.modelling.drawing import IF_GIVEN, LAW, Drawing
from distpriv.modelling.given import gaussian_model
from distpriv.modelling.model import Provenance, QueryDistribution, QueryModel, SampledStratum

__all__ = ["model_from_dict", "model_to_dict"]

AGAIN = "get the bundle again from those who published it."


def model_to_dict(model: QueryModel) -> dict[str, Any]:
    """Return everything that a certificate may rest on, but neither rows nor points, as numbers, lists and text."""
    made = model.provenance
    return {
        "method": made.method,
        "records": made.records,
        **made.drawing.law,
        "draws": made.draws,
        "statistics": list(model.names),
        "steps": model.steps.tolist(),
        "record_sensitivities": [None if np.isinf(s) else s for s in model.record_sensitivities.tolist()],
        "scenarios": {name: _scenario(model, name, law) for name, law in model.distributions.items()},
        "protected_pairs": [list(pair) for pair in model.protected_pairs],
        "strata": [stratum.to_dict() for stratum in model.strata],
    }


def model_from_dict(written: Mapping[str, Any]) -> QueryModel:
    """Return the model that `model_to_dict` wrote down, or say why it is none.

    >>> model = gaussian_model(means={"a": [0], "b": [1]}, covariances=[[2]], pairs=[("a", "b")], steps=[0.1])
    >>> model_from_dict(model_to_dict(model)) == model
    True
    """
    try:
        laws, records = written["scenarios"], written["records"]
        model = gaussian_model(
            means={name: law["mean"] for name, law in laws.items()},
            covariances={name: law["covariance"] for name, law in laws.items()},
            pairs=[(first, second) for first, second in written["protected_pairs"]],
            steps=written["steps"],
            names=written["statistics"],
        )
        sensitivities = [np.inf if s is None else float(s) for s in written["record_sensitivities"]]
        if len(sensitivities) != model.dimension:
            raise InvalidModel(
                f"this model has {len(sensitivities)} sensitivities for {model.dimension} statistics: {AGAIN}"
            )
        strata = tuple(SampledStratum.from_dict(stratum) for stratum in written["strata"])
        sizes = {size for stratum in strata for size in (*stratum.covariance.shape, *stratum.kurtoses.shape)}
        loads = [stratum.loads for stratum in strata if stratum.loads is not None]
        if sizes - {model.dimension} or any(load.shape[:1] != (model.dimension,) or load.ndim != 2 for load in loads):
            raise InvalidModel(f"a stratum of this model is not described for {model.dimension} statistics: {AGAIN}")
        return evolve(
            model,
            distributions={
                name: evolve(law, lattice=_lattice(laws[name]["lattice"], model.dimension))
                for name, law in model.distributions.items()
            },
            record_sensitivities=np.array(sensitivities),
            scenarios={} if records is None else {n: Scenario.from_dict(n, law, records) for n, law in laws.items()},
            strata=strata,
            provenance=Provenance(
                method=written["method"],
                records=records,
                drawing=Drawing(**{name: written[name] for name in LAW if name not in IF_GIVEN or name in written}),
                draws=written["draws"],
            ),
        )
    except (KeyError, TypeError, AttributeError) as failure:
        raise InvalidModel(f"this describes no model, {failure} is missing or of the wrong kind: {AGAIN}") from failure


def _scenario(model: QueryModel, name: str, law: QueryDistribution) -> dict[str, Any]:
    scenario = model.scenarios.get(name)
    return {
        **({"share": None, "positives": None} if scenario is None else scenario.to_dict()),
        "mean": law.mean.tolist(),
        "covariance": law.covariance.tolist(),
        "lattice": None if law.lattice is None else law.lattice.tolist(),
    }


def _lattice(rows: Sequence[Sequence[float]] | None, size: int) -> Floats | None:
    """Return a basis as columns; without any column there is nothing in a row."""
    if rows is None:
        return None
    if len(rows) != size:
        raise InvalidModel(f"a lattice of this model has {len(rows)} rows for {size} statistics: {AGAIN}")
    return np.array(rows, dtype=np.float64).reshape(size, -1)
