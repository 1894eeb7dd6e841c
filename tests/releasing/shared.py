"""A small population in which releases can be made quickly, and one that two harmless releases give away."""

from collections.abc import Mapping

import numpy as np
import pyarrow as pa

import distpriv as dp

SECRET = dp.Share("rich", values=(0.4, 0.6))
TARGET = dp.PrivacyTarget(epsilon=1, delta=1e-3)
TOTAL = dp.PrivacyTarget(epsilon=2, delta=2e-3)
RECORDS = 50


def population(rows: int = 4000) -> pa.Table:
    """Rich people are older; `blur` is large and unrelated, and `mixed` is age with it."""
    rng = np.random.default_rng(0)
    rich = np.arange(rows) % 2 == 0
    age = rng.normal(40, 10, rows) + 8 * rich
    blur = rng.normal(0, 2000, rows)
    city = rng.random(rows) < 0.3 + 0.2 * rich
    return pa.table({"rich": rich, "age": age, "blur": blur, "mixed": age + blur, "city": city})


def private(table: pa.Table) -> pa.Table:
    """Return a dataset of which half is rich."""
    return table.slice(0, RECORDS)


def planned(table: pa.Table, statistics: Mapping[str, object], **options: object) -> dp.Plan:
    query = dp.Query(statistics)  # type: ignore[arg-type]
    model = dp.model(table, query, SECRET, records=RECORDS)
    return dp.plan(model, TARGET, processes=1, **options)  # type: ignore[arg-type]


def gaussian(table: pa.Table, statistics: Mapping[str, object]) -> tuple[dp.QueryModel, object]:
    """Return a model with the least Gaussian noise for it."""
    model = dp.model(table, dp.Query(statistics), SECRET, records=RECORDS)  # type: ignore[arg-type]
    return model, dp.mechanisms.certified_gaussian(model, TARGET)
