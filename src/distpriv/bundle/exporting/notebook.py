"""A release as a notebook: it reads the bundle, shows its numbers, and plans and releases the same in Python."""

import json
from collections.abc import Mapping
from typing import Any

from distpriv.framework.queries import Statistic, Table
from distpriv.framework.target import PrivacyTarget
from distpriv.policy import Policy
from distpriv.policy.load import in_order, policy_in_release

__all__ = ["notebook"]

PROPERTIES = ("share", "mean", "quantile", "correlation")

CELLS = (
    "# A release of distpriv\n\nKeep this notebook beside the folder of the bundle. `distpriv verify` recomputes what "
    "the bundle promises.",
    """\
import json
from pathlib import Path

import distpriv as dp

release = json.loads(Path({{ folder }}, "release.json").read_text(encoding="utf-8"))
print(release["dataset"], release["time"], sep=", ")

width = max(map(len, release["values"]))
print(f"{'statistic':{width}}  {'estimate':>12}  {'low':>12}  {'high':>12}  {'noisy value':>12}")
for name, value in release["values"].items():
    low, high = release["estimate_intervals"][name]
    print(f"{name:{width}}  {release['estimates'][name]:12.6g}  {low:12.6g}  {high:12.6g}  {value:12.6g}")""",
    "The same release in Python. `planned()` needs the public tables that the policy names, and reads nothing private. "
    "`released(table, dp.Ledger.open(url))` answers from a private table; a ledger that has the answer returns it.",
    """\
def planned():
    query = dp.Query(
        {
{%- for name, code in statistics %}
            {{ name }}: {{ code }},
{%- endfor %}
        }
    )
    secrets = [
{%- for code in secrets %}
        {{ code }},
{%- endfor %}
    ]
    model = {{ model }}
    return {{ plan }}


def released(private, ledger):
    return {{ release }}""",
)
"""Markdown and Python in turn."""

ATTACKED = "lambda mechanism, model: dp.audit(mechanism, model=model, releases=20_000, seed=0).require_passed()"


class Code(str):
    """Python that stands as it is where other text is quoted."""

    __slots__ = ()
    __repr__ = str.__str__


def notebook(document: Mapping[str, Any], name: str) -> str:
    """Return the notebook as JSON, for a bundle whose folder has this name."""
    from jinja2 import Template

    facts = {"folder": repr(name), **_code(policy_in_release(document))}
    empty: dict[str, Any] = {"execution_count": None, "outputs": []}
    kinds = [{"cell_type": "markdown"}, {"cell_type": "code", **empty}]
    cells = [
        {"id": f"cell-{place}", "metadata": {}, "source": Template(text).render(facts), **kinds[place % 2]}
        for place, text in enumerate(CELLS)
    ]
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    whole = {"cells": cells, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(whole, indent=1)


def _code(policy: Policy) -> dict[str, Any]:
    written, query = policy.to_dict(), policy.query()
    cells = {name for key, each in query.tables for name in each.names(key)}
    plain = [(repr(name), _statistic(each)) for name, each in query.statistics if name not in cells]
    hidden = [_secret(secret) for secret in written["protect"]]
    secrets = [[hidden[number] for number in numbers] for numbers in in_order(policy.written.protect)]
    options = written["model"]
    if others := written["data"].get("robust"):
        options = {**options, "robust": [*others, *([options["robust"]] if "robust" in options else [])]}
    settings = {key: getattr(policy, key) for key in ("assurance", "weights", "prior", "objective", "max_error")}
    totals = {"total": _target(policy.ledger.total), "adaptive": policy.ledger.adaptive}
    approved = {"approve": Code(ATTACKED)} if policy.audit == "required" else {}
    public = (policy.written.data.reference, Code("query"), Code("secrets"))
    private = (Code("planned()"), Code("private"))
    return {
        "statistics": [*plain, *((repr(name), _table(each)) for name, each in query.tables)],
        "secrets": [each[0] if len(each) == 1 else _call("Combinations", *each) for each in secrets],
        "model": _call("model", *public, records=policy.records, **options),
        "plan": _call("plan", Code("model"), _target(policy.target), **settings, mechanisms=policy.allowed_mechanisms),
        "release": _call("release", *private, ledger=Code("ledger"), dataset=policy.dataset, **totals, **approved),
    }


def _call(name: str, *given: Any, **named: Any) -> Code:
    arguments = ", ".join([*map(repr, given), *(f"{key}={value!r}" for key, value in named.items())])
    return Code(f"dp.{name}({arguments})" if len(arguments) < 100 else f"dp.{name}(\n        {arguments}\n    )")


def _target(target: PrivacyTarget) -> Code:
    return _call("PrivacyTarget", epsilon=target.epsilon, delta=target.delta)


def _statistic(statistic: Statistic) -> Code:
    form = statistic.form
    options = {key: getattr(statistic, key) for key in form.options if getattr(statistic, key) is not None}
    return _call(form.word, *(getattr(statistic, text) for text in form.texts), **options)


def _table(asked: Table) -> Code:
    level = "" if asked.level is None else f", {asked.level!r}"
    written = asked.to_dict()
    options = {key: written[key] for key in ("by", "levels", "other", "empty", "otherwise") if key in written}
    return _call(
        "table", "count" if asked.expression is None else f"{asked.what}({asked.expression}{level})", **options
    )


def _secret(written: Mapping[str, Any]) -> Code:
    given = {key: value for key, value in written.items() if key in ("scenarios", "shift", *PROPERTIES)}
    options = {key: value for key, value in written.items() if key not in (*given, "combined")}
    ((kind, value),) = given.items()
    if kind == "shift":
        return _call("Shift", *value.values(), names=tuple(value), **options)
    return _call(kind.capitalize(), *(value if kind == "correlation" else [value]), **options)
