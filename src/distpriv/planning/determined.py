"""Statistics that are not worth a release: they determine what is protected, or are the same for all reference rows."""

import numpy as np

from distpriv.modelling.model import QueryModel
from distpriv.modelling.reference import row_ends

__all__ = ["constant_conditions", "determining"]

SAME = 1e-9
"""How far the values of a stratum may be apart, in units of the range of a statistic, and count as one value."""


def determining(model: QueryModel) -> dict[str, str]:
    """Return the statistics that are the protected share, on another scale, in the reference, with its condition.

    >>> import distpriv as dp
    >>> query = dp.Query(rich=dp.count("income = '>50K'"), age=dp.mean("age"))
    >>> determining(dp.model(dp.datasets.adult(), query, dp.Share("income = '>50K'", values=(0.4, 0.6)), records=50))
    {'rich': "income = '>50K'"}
    """
    found: dict[str, str] = {}
    tables = [] if model.simulator is None else {id(t): t for t in model.simulator.tables.values()}.values()
    row_values = () if model.query is None else model.query.row_values
    for table in tables:
        for condition, satisfied in table.probe.strata.items():
            if satisfied.all() or not satisfied.any():
                continue
            for (name, _), values in zip(row_values, table.probe.numbers, strict=True):
                spread = np.ptp(values)
                strata = [np.ptp(values[satisfied]), np.ptp(values[~satisfied])]
                if spread > 0 and max(strata) <= SAME * spread:
                    found[name] = condition
    return found


def constant_conditions(model: QueryModel) -> dict[str, str]:
    """Return the counts and proportions whose condition is true of no reference row, or of all, outside of tables.

    >>> import distpriv as dp
    >>> query, secret = dp.Query(yes=dp.count("sex = 'yes'")), dp.Share("income = '>50K'", values=(0.4, 0.6))
    >>> constant_conditions(dp.model(dp.datasets.adult(), query, secret, records=50))
    {'yes': "sex = 'yes' is true of no reference row"}
    """
    if model.query is None or model.simulator is None:
        return {}
    query = model.query
    low, high = row_ends(query, model.simulator.tables.values())
    cells = {key for key, _ in query.tables}
    return {
        name: f"{row.expression} is true of {'every' if least else 'no'} reference row"
        for (name, row), least, most in zip(query.row_values, low, high, strict=True)
        if row.predicate and least == most and not any(name.startswith(f"{key}[") for key in cells)
    }
