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
from distpriv.framework.queries import Query, count, function, mean, proportion, quantile, total, variance
from distpriv.framework.secrets import Scenarios, Share
from distpriv.framework.target import PrivacyTarget

if TYPE_CHECKING:
    from distpriv import datasets, distances, mechanisms
    from distpriv.auditing.audit import audit
    from distpriv.guarantees.exact_delta import exact_delta, exact_epsilon, privacy_profile
    from distpriv.guarantees.relaxation import relaxed, relaxed_by_divergence
    from distpriv.guarantees.upper_bound import delta_upper_bound
    from distpriv.modelling.diagnostics import diagnose
    from distpriv.modelling.from_rows import model
    from distpriv.modelling.given import empirical_model, gaussian_model
    from distpriv.modelling.model import QueryModel
    from distpriv.planning.least_epsilon import least_epsilon
    from distpriv.planning.plan import Plan, plan
    from distpriv.releasing.declaring import Declaration, declare
    from distpriv.releasing.ledger import Ledger
    from distpriv.releasing.release import earlier_releases, release
    from distpriv.releasing.released import Release

__all__ = [
    "Declaration",
    "Ledger",
    "Plan",
    "PrivacyTarget",
    "Query",
    "QueryModel",
    "Release",
    "Scenarios",
    "Share",
    "__version__",
    "audit",
    "count",
    "datasets",
    "declare",
    "delta_upper_bound",
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
    "total",
    "variance",
]

# What needs DuckDB, Arrow or SciPy is imported when it is first used, so that importing distpriv stays quick.
_LAZY = {
    "Declaration": "distpriv.releasing.declaring",
    "Ledger": "distpriv.releasing.ledger",
    "Plan": "distpriv.planning.plan",
    "QueryModel": "distpriv.modelling.model",
    "Release": "distpriv.releasing.released",
    "audit": "distpriv.auditing.audit",
    "declare": "distpriv.releasing.declaring",
    "delta_upper_bound": "distpriv.guarantees.upper_bound",
    "diagnose": "distpriv.modelling.diagnostics",
    "earlier_releases": "distpriv.releasing.release",
    "empirical_model": "distpriv.modelling.given",
    "exact_delta": "distpriv.guarantees.exact_delta",
    "exact_epsilon": "distpriv.guarantees.exact_delta",
    "gaussian_model": "distpriv.modelling.given",
    "least_epsilon": "distpriv.planning.least_epsilon",
    "model": "distpriv.modelling.from_rows",
    "plan": "distpriv.planning.plan",
    "privacy_profile": "distpriv.guarantees.exact_delta",
    "relaxed": "distpriv.guarantees.relaxation",
    "relaxed_by_divergence": "distpriv.guarantees.relaxation",
    "release": "distpriv.releasing.release",
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
