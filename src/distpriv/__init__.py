"""Publish statistics of a dataset without giving away a global property of it.

>>> import distpriv as dp
>>> model = dp.model(
...     dp.datasets.adult(),
...     dp.Query(mean_age=dp.mean("age"), never_married=dp.count("marital_status = 'Never-married'")),
...     dp.Share("income = '>50K'", values=(0.45, 0.55)),
...     records=100,
... )
>>> model
<QueryModel of 2 statistics in 2 scenarios with 2 protected pairs, by exact moments>
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from distpriv import errors
from distpriv._version import __version__

if TYPE_CHECKING:
    from distpriv import datasets, distances, mechanisms
    from distpriv.auditing.audit import audit
    from distpriv.auditing.diagnostics import diagnose
    from distpriv.framework.queries import Query, count, function, mean, proportion, quantile, table, total, variance
    from distpriv.framework.secrets import Combinations, Correlation, Mean, Quantile, Scenarios, Share, Shift
    from distpriv.framework.target import PrivacyTarget
    from distpriv.guarantees.exact_delta import exact_delta, exact_epsilon, privacy_profile
    from distpriv.guarantees.relaxation import relaxed, relaxed_by_divergence
    from distpriv.ledger import Ledger
    from distpriv.modelling.from_rows import model
    from distpriv.modelling.given import empirical_model, gaussian_model
    from distpriv.modelling.model import QueryModel
    from distpriv.planning.least_epsilon import least_epsilon
    from distpriv.planning.plan import Plan, plan
    from distpriv.progress import show_progress
    from distpriv.releasing.declaring import Declaration, declare
    from distpriv.releasing.release import earlier_releases, release
    from distpriv.releasing.released import Release

__all__ = [
    "Combinations",
    "Correlation",
    "Declaration",
    "Ledger",
    "Mean",
    "Plan",
    "PrivacyTarget",
    "Quantile",
    "Query",
    "QueryModel",
    "Release",
    "Scenarios",
    "Share",
    "Shift",
    "__version__",
    "audit",
    "count",
    "datasets",
    "declare",
    "diagnose",
    "distances",
    "earlier_releases",
    "empirical_model",
    "errors",
    "exact_delta",
    "exact_epsilon",
    "function",
    "gaussian_model",
    "least_epsilon",
    "mean",
    "mechanisms",
    "model",
    "plan",
    "privacy_profile",
    "proportion",
    "quantile",
    "relaxed",
    "relaxed_by_divergence",
    "release",
    "show_progress",
    "table",
    "total",
    "variance",
]

# What needs NumPy, DuckDB, Arrow or SciPy is imported when it is first used: importing distpriv stays quick, and the
# command can say how many threads the linear algebra has before that is loaded.
_LAZY = {
    "Combinations": "distpriv.framework.secrets",
    "Correlation": "distpriv.framework.secrets",
    "Declaration": "distpriv.releasing.declaring",
    "Ledger": "distpriv.ledger",
    "Mean": "distpriv.framework.secrets",
    "Plan": "distpriv.planning.plan",
    "PrivacyTarget": "distpriv.framework.target",
    "Quantile": "distpriv.framework.secrets",
    "Query": "distpriv.framework.queries",
    "QueryModel": "distpriv.modelling.model",
    "Release": "distpriv.releasing.released",
    "Scenarios": "distpriv.framework.secrets",
    "Share": "distpriv.framework.secrets",
    "Shift": "distpriv.framework.secrets",
    "audit": "distpriv.auditing.audit",
    "count": "distpriv.framework.queries",
    "declare": "distpriv.releasing.declaring",
    "diagnose": "distpriv.auditing.diagnostics",
    "earlier_releases": "distpriv.releasing.release",
    "empirical_model": "distpriv.modelling.given",
    "exact_delta": "distpriv.guarantees.exact_delta",
    "exact_epsilon": "distpriv.guarantees.exact_delta",
    "function": "distpriv.framework.queries",
    "gaussian_model": "distpriv.modelling.given",
    "least_epsilon": "distpriv.planning.least_epsilon",
    "mean": "distpriv.framework.queries",
    "model": "distpriv.modelling.from_rows",
    "plan": "distpriv.planning.plan",
    "privacy_profile": "distpriv.guarantees.exact_delta",
    "proportion": "distpriv.framework.queries",
    "quantile": "distpriv.framework.queries",
    "relaxed": "distpriv.guarantees.relaxation",
    "relaxed_by_divergence": "distpriv.guarantees.relaxation",
    "release": "distpriv.releasing.release",
    "show_progress": "distpriv.progress",
    "table": "distpriv.framework.queries",
    "total": "distpriv.framework.queries",
    "variance": "distpriv.framework.queries",
}
_PACKAGES = ("datasets", "distances", "mechanisms")


def __getattr__(name: str) -> Any:
    if name in _PACKAGES:
        return import_module(f"distpriv.{name}")
    if name not in _LAZY:
        raise AttributeError(f"module 'distpriv' has no attribute {name!r}")
    value = getattr(import_module(_LAZY[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
