"""All questions of a dataset, and their noise, fixed before the first answer.

A question that is chosen by looking at an earlier answer is not covered by a certificate of several releases as one:
forty harmless means say in which direction to ask for the next one. Where all questions are written down with their
noise before anything is answered, there is nothing left to choose. They may be answered in any order, or not at all.
"""

from collections.abc import Mapping
from typing import Any

from attrs import frozen

from distpriv._version import __version__
from distpriv.errors import InvalidInput
from distpriv.framework.queries import Query
from distpriv.framework.records import plain
from distpriv.framework.target import PrivacyTarget
from distpriv.guarantees.certificate import Certificate
from distpriv.guarantees.mechanism import AdditiveMechanism
from distpriv.ledger import Ledger
from distpriv.ledger.chain import Continues
from distpriv.planning.plan import Plan
from distpriv.releasing.certified_laws import laws_to_dict, reference_digests
from distpriv.releasing.fixed import commitment_to_dict
from distpriv.releasing.joint import EarlierRelease, EarlierReleases
from distpriv.releasing.promised import with_reading
from distpriv.releasing.session import named, opened
from distpriv.releasing.written_queries import has_functions, query_key, require_distinct

__all__ = ["Declaration", "declare"]


@frozen(kw_only=True)
class Declaration:
    """The questions of a dataset that were declared, and what is promised about all of them; made by `declare`.

    >>> import distpriv as dp
    >>> rows, secret = dp.datasets.adult(), dp.Share("income = '>50K'", values=(0.4, 0.6))
    >>> target, total = dp.PrivacyTarget(epsilon=2, delta=0.05), dp.PrivacyTarget(epsilon=3, delta=0.1)
    >>> queries = {"hours": dp.Query(hours=dp.mean("hours_per_week")), "age": dp.Query(age=dp.mean("age"))}
    >>> plans = {
    ...     name: dp.plan(dp.model(rows.slice(0, 1000), query, secret, records=40), target, processes=1)
    ...     for name, query in queries.items()
    ... }
    >>> ledger = dp.Ledger.create("sqlite:///declared.db")
    >>> declared = dp.declare(plans, ledger=ledger, dataset="clinic-2026", total=total)
    >>> list(declared.mechanisms), declared.joint.holds, declared.dataset
    (['hours', 'age'], True, 'clinic-2026')

    They are answered in any order:

    >>> second = dp.release(plans["age"], rows.slice(1000, 40), ledger=ledger, dataset="clinic-2026", total=total)
    >>> second.questions, second.position, second.joint == declared.joint
    ('declared', 1, True)
    """

    dataset: str
    """What the ledger calls the dataset."""
    mechanisms: Mapping[str, AdditiveMechanism]
    """The noise of each question, by the question's name."""
    joint: Certificate
    """What holds for all of them together."""
    time: str
    """When it was written down, in UTC."""


def declare(
    plans: Mapping[str, Plan],
    *,
    ledger: str | Ledger,
    dataset: str,
    total: PrivacyTarget | None = None,
    continues: Continues = None,
    seed: int | None = None,
) -> Declaration:
    """Write all questions of a dataset and their noise to the ledger, before the first answer.

    Each plan's noise is widened where it and those before it would exceed the total together, so the first question has
    the least. `distpriv.release` then answers any of them with the noise that was fixed.

    Args:
        plans: a plan for each question, by a name of your choice; of the same scenarios, target and assurance.
        ledger: the ledger, or its URL.
        dataset: what it calls the dataset.
        total: what all questions may cost together; the plans' target when not given.
        continues: the id of the same data in the ledger, whose budget it shares; False for a budget of its own.
        seed: of coupled draws for the joint certificate, where they are needed.

    Raises:
        InvalidInput: the plans do not go together, or the dataset has a release or a declaration already.
        BudgetSpent: the total has no room for all of them.
        LedgerChanged: the dataset was asked something meanwhile, or questions were declared.

    >>> import distpriv as dp
    >>> rows, secret = dp.datasets.adult(), dp.Share("income = '>50K'", values=(0.4, 0.6))
    >>> target, ledger = dp.PrivacyTarget(epsilon=2, delta=0.05), dp.Ledger.create("sqlite:///declared.db")
    >>> model = dp.model(rows.slice(0, 1000), dp.Query(age=dp.mean("age")), secret, records=20)
    >>> plans = {"ages": dp.plan(model, target, processes=1)}
    >>> dp.declare(plans, ledger=ledger, dataset="clinic").joint.holds
    True
    >>> dp.declare(plans, ledger=ledger, dataset="clinic")
    Traceback (most recent call last):
    distpriv.errors.InvalidInput: dataset 'clinic' has a declaration already: questions are declared once, before the
    first answer, so ask what was declared, or give other data another id.
    """
    _require_alike(plans)
    book, name = opened(ledger), named(dataset)
    history = book.history(name, continues)
    budget = next(iter(plans.values())).target if total is None else total
    history.check_total(budget)
    earlier: tuple[EarlierRelease, ...] = ()
    mechanisms: dict[str, AdditiveMechanism] = {}
    blocks: list[dict[str, Any]] = []
    for question, plan in plans.items():
        others = EarlierReleases(releases=earlier, total=budget, seed=seed, questions="declared")
        made, joint = others.calibrated(plan.model, plan.mechanism, plan.assurance)
        mechanisms[question] = with_reading(made, plan.model)
        blocks.append(_block(question, plan, mechanisms[question]))
        earlier = (*earlier, EarlierRelease(query=_query(plan), noise=made.noise, laws=blocks[-1]["laws"]))
    content = {
        "distpriv": __version__,
        "blocks": blocks,
        "joint_certificate": plain(joint),
        "drawn": {"joint": plain(joint.drawn)},
    }
    entry = book.declare(history, budget, content)
    return Declaration(dataset=name, mechanisms=mechanisms, joint=joint, time=entry.time)


def _block(question: str, plan: Plan, mechanism: AdditiveMechanism) -> dict[str, Any]:
    records = plan.model.provenance.records
    assert records is not None
    return {
        "name": question,
        "query_key": query_key(_query(plan), records),
        **commitment_to_dict(plan.model, mechanism),
        "laws": laws_to_dict(plan.model, reference_digests(plan.model)),
        "drawn": {"release": plain(mechanism.certificate.drawn)},
        "assurance": plan.assurance,
    }


def _query(plan: Plan) -> Query:
    if plan.model.query is None or plan.model.provenance.records is None:
        raise InvalidInput("a declared question needs a model that was made from rows: make it with distpriv.model(…).")
    return plan.model.query


def _require_alike(plans: Mapping[str, Plan]) -> None:
    """Refuse plans that cannot be certified as one."""
    if not isinstance(plans, Mapping) or not plans or not all(isinstance(p, Plan) for p in plans.values()):
        raise InvalidInput(f"questions are declared as plans by name, got {plans!r}: write {{'ages': dp.plan(…)}}.")
    first_name, first = next(iter(plans.items()))
    keys: dict[str, str] = {}
    for name, plan in plans.items():
        require_distinct(_query(plan))
        if len(plans) > 1 and has_functions(_query(plan)):
            raise InvalidInput(
                f"{name!r} has a Python function, which cannot be certified together with other questions: put all "
                "statistics of the dataset into one query."
            )
        for what, one, other in (
            ("protected pairs", set(first.model.protected_pairs), set(plan.model.protected_pairs)),
            ("records", first.model.provenance.records, plan.model.provenance.records),
            ("ways of drawing", first.model.provenance.drawing.law, plan.model.provenance.drawing.law),
            ("target", first.target, plan.target),
            ("assurance", first.assurance, plan.assurance),
        ):
            if one != other:
                raise InvalidInput(
                    f"the plans of {first_name!r} and {name!r} have other {what}, and all questions of a dataset are "
                    "certified as one: plan them alike."
                )
        key = query_key(_query(plan), plan.model.provenance.records or 0)
        if key in keys:
            raise InvalidInput(f"{keys[key]!r} and {name!r} ask the same: declare it once.")
        keys[key] = name
