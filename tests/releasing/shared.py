"""A small population in which releases can be made quickly, and one that two harmless releases give away."""

from collections.abc import Mapping

import numpy as np
import pyarrow as pa
from tests.remembered import remembering

import distpriv as dp
from distpriv.framework.queries import Statistic
from distpriv.guarantees.mechanism import AdditiveMechanism
from distpriv.planning.candidates import CANDIDATES
from distpriv.planning.criterion import Criterion
from distpriv.planning.option import Option, Refusal
from distpriv.planning.running import attempt

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


def planned(table: pa.Table, statistics: Mapping[str, Statistic], mechanism: str = "certified_gaussian") -> dp.Plan:
    """Return a plan that has tried one mechanism only."""
    model = dp.model(table, dp.Query(statistics), SECRET, records=RECORDS, draws=300, processes=1)
    return plan_with(model, mechanism)


def plan_with(model: dp.QueryModel, mechanism: str, target: dp.PrivacyTarget = TARGET) -> dp.Plan:
    (candidate,) = (each for each in CANDIDATES if each.name == mechanism)
    criterion = Criterion.of(model)
    with remembering():
        found = attempt(candidate, model, target, criterion, 1)
    return dp.Plan(
        model=model,
        target=target,
        assurance="checked",
        criterion=criterion,
        undefended_attack_accuracy=1.0,
        options=(found,) if isinstance(found, Option) else (),
        refusals=(found,) if isinstance(found, Refusal) else (),
    )


def gaussian(table: pa.Table, statistics: Mapping[str, Statistic]) -> tuple[dp.QueryModel, AdditiveMechanism]:
    """Return a model with the least Gaussian noise for it."""
    model = dp.model(table, dp.Query(statistics), SECRET, records=RECORDS, reference="population")
    return model, dp.mechanisms.certified_gaussian(model, TARGET)
