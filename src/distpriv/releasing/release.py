"""One release: noise drawn once, on a lattice, written down before it is shown."""

import hashlib
import json
from collections.abc import Mapping
from typing import Any, Self

from attrs import evolve, frozen

from distpriv._version import __version__
from distpriv.errors import BudgetSpent, InvalidInput, InvalidModel, LedgerChanged
from distpriv.framework.arrays import Floats
from distpriv.framework.queries import Query
from distpriv.framework.target import PrivacyTarget
from distpriv.guarantees.certificate import Assumption, Certificate
from distpriv.guarantees.drawn import Drawn
from distpriv.guarantees.mechanism import AdditiveMechanism
from distpriv.modelling.model import QueryModel
from distpriv.modelling.pooling import Pooling
from distpriv.noise.description import noise_from_dict, noise_to_dict
from distpriv.noise.lattice import on_lattice
from distpriv.planning.plan import Plan
from distpriv.releasing.joint import PastRelease, Together
from distpriv.releasing.ledger import Entry, History, Ledger
from distpriv.releasing.private import look_at, require_source
from distpriv.releasing.queries import definitions, query_from_dict, query_key, query_to_dict, require_distinct

__all__ = ["Release", "earlier_releases", "release", "together"]

MOST_TRIES = 1000
"""How often a release is tried again because another one of the same dataset was written first."""


@frozen(kw_only=True)
class Release:
    """What was released, and what is promised about it; made by `distpriv.release`.

    >>> import distpriv as dp
    >>> rows, secret = dp.datasets.adult(), dp.Share("income = '>50K'", values=(0.4, 0.6))
    >>> model = dp.model(rows.slice(0, 1000), dp.Query(hours=dp.mean("hours_per_week")), secret, records=20)
    >>> plan = dp.plan(model, dp.PrivacyTarget(epsilon=2, delta=0.05), processes=1)
    >>> shown = dp.release(plan, rows.slice(1000, 20), ledger="sqlite:///ledger.db", dataset="clinic-2026")
    >>> low, high = shown.intervals["hours"]
    >>> low < shown.values["hours"] < high, round(high - low, 3)
    (True, 0.196)
    >>> shown.certificate.holds, shown.joint.holds, shown.position, shown.repeated
    (True, True, 1, False)
    >>> sorted(shown.to_dict())
    ['certificate', 'dataset', 'distpriv', 'intervals', 'joint_certificate', 'mechanism', 'noise', 'position', 'time',
    'values']
    >>> shown.drawn  # what coupled draws showed, where a certificate rests on them
    {'release': None, 'joint': None}

    The ledger has it, and shows it again:

    >>> entry = dp.Ledger.open("sqlite:///ledger.db").history("clinic-2026").entries[0]
    >>> dp.Release.of(entry, model.query, repeated=True).values == shown.values
    True
    """

    values: Mapping[str, float]
    """The statistics with their noise: what may be shown to anyone."""
    intervals: Mapping[str, tuple[float, float]]
    """For each statistic, where the true one is with a probability of 95 %."""
    mechanism: AdditiveMechanism
    """The noise that was added, and its certificate."""
    joint: Certificate | None
    """What holds for all releases of the dataset together; none without a ledger."""
    dataset: str | None
    """What the ledger calls the dataset."""
    position: int | None
    """The number of this release among all of the dataset; none without a ledger."""
    time: str | None
    """When it was written down, in UTC; none without a ledger."""
    repeated: bool
    """Whether the query had been answered before, so that the same answer was shown again."""

    @property
    def certificate(self) -> Certificate:
        """What is promised about this release alone."""
        return self.mechanism.certificate

    def to_dict(self) -> dict[str, Any]:
        """Return everything as numbers, lists and text."""
        return {
            "distpriv": __version__,
            "dataset": self.dataset,
            "position": self.position,
            "time": self.time,
            "values": dict(self.values),
            "intervals": {name: list(ends) for name, ends in self.intervals.items()},
            "mechanism": self.mechanism.name,
            "noise": noise_to_dict(self.mechanism.noise),
            "certificate": self.certificate.to_dict(),
            "joint_certificate": None if self.joint is None else self.joint.to_dict(),
        }

    @property
    def drawn(self) -> dict[str, Any]:
        """The coupled draws that the certificates rest on, written down; none where they rest on moments."""
        joint = None if self.joint is None else self.joint.drawn
        return {"release": _drawn_to_dict(self.certificate.drawn), "joint": _drawn_to_dict(joint)}

    @classmethod
    def of(cls, entry: Entry, query: Query, *, repeated: bool) -> Self:
        """Return the release that a ledger holds, its statistics by the names of the query that asks for them."""
        content = entry.content
        stored = _query_of(content, query)
        called = dict(zip(definitions(stored), stored.names, strict=True))
        names = {called[what]: name for what, name in zip(definitions(query), query.names, strict=True)}
        return cls(
            values={name: content["values"][old] for old, name in names.items()},
            intervals={name: tuple(content["intervals"][old]) for old, name in names.items()},
            mechanism=AdditiveMechanism(
                name=content["mechanism"],
                statistics=tuple(names[old] for old in stored.names),
                noise=noise_from_dict(content["noise"]),
                certificate=_certificate(content, "certificate", "release"),
            ),
            joint=_certificate(content, "joint_certificate", "joint"),
            dataset=entry.dataset,
            position=entry.position,
            time=entry.time,
            repeated=repeated,
        )

    def __str__(self) -> str:
        width = max(map(len, self.values))
        lines = [
            f"  {name.ljust(width)}  {value:12.6g}   {low:.6g} to {high:.6g} (95 %)"
            for (name, value), (low, high) in zip(self.values.items(), self.intervals.values(), strict=True)
        ]
        return "\n".join([*lines, str(self.certificate)])


def release(
    plan: Plan,
    private_source: Any,
    *,
    ledger: str | Ledger | None,
    dataset: str | None = None,
    total: PrivacyTarget | None = None,
    seed: int | None = None,
) -> Release:
    """Answer the plan's query from the private table, once.

    The mechanism is the plan's; its noise is widened where this and all earlier releases of the dataset would exceed
    the total together. The same query is answered with the same numbers again, whatever has become of the table.

    Args:
        plan: what to release, and how.
        private_source: the private table, with exactly the records that the plan's model has.
        ledger: the URL of the ledger, or None for a release that nothing remembers: then you must see to it that
            nothing else about the dataset is ever released, and this not twice.
        dataset: what the ledger calls the private dataset; the same data must have the same id.
        total: what all releases of the dataset may cost together; the plan's target when not given.
        seed: of coupled draws for the joint certificate, where they are needed; noise has no seed.

    Raises:
        NotCertified: no mechanism of the plan holds.
        BudgetSpent: earlier releases leave no room.
        LedgerUnavailable: the ledger cannot be written; nothing is released.
        InvalidSource: there is no such private table.
        PrivateTableRefused: the private table was looked at and cannot be used; it is not said why.

    >>> import distpriv as dp
    >>> rows, secret = dp.datasets.adult(), dp.Share("income = '>50K'", values=(0.4, 0.6))
    >>> model = dp.model(rows.slice(0, 1000), dp.Query(hours=dp.mean("hours_per_week")), secret, records=20)
    >>> plan = dp.plan(model, dp.PrivacyTarget(epsilon=2, delta=0.05), processes=1)
    >>> private = rows.slice(1000, 20)
    >>> first = dp.release(plan, private, ledger="sqlite:///ledger.db", dataset="clinic-2026")
    >>> list(first.values), first.certificate.holds, first.repeated
    (['hours'], True, False)

    Asked again, it answers the same, so that nobody can average the noise out:

    >>> again = dp.release(plan, private, ledger="sqlite:///ledger.db", dataset="clinic-2026")
    >>> again.repeated, again.values == first.values
    (True, True)
    """
    if not isinstance(plan, Plan):
        raise InvalidInput(f"a release needs a plan, got {plan!r}: make one with distpriv.plan(…).")
    query, records = _query_and_records(plan.model)
    if ledger is None:
        mechanism = _remembered_by_nobody(plan.mechanism)
        require_source(private_source)
        exact = look_at(private_source, plan.model).values
        values, intervals = _drawn(mechanism, exact)
        return Release(
            values=values,
            intervals=intervals,
            mechanism=mechanism,
            joint=None,
            dataset=dataset,
            position=None,
            time=None,
            repeated=False,
        )
    if not isinstance(dataset, str) or not dataset.strip():
        raise InvalidInput(f"a ledger knows a dataset by its id, got {dataset!r}: write dataset='hospital-2026'.")
    book = ledger if isinstance(ledger, Ledger) else Ledger.open(ledger)
    require_distinct(query)
    key = query_key(query, records)
    budget = plan.target if total is None else total
    known: Floats | None = None
    for _ in range(MOST_TRIES):
        history = book.history(dataset)
        if (entry := history.answer_to(key)) is not None:
            return Release.of(entry, query, repeated=True)
        mechanism, joint = together(history, plan.model, budget, seed).calibrated(
            plan.model, plan.mechanism, plan.trust
        )
        if known is None:
            require_source(private_source)
            known = look_at(private_source, plan.model).values
        content = _content(plan, mechanism, joint, known)
        try:
            return Release.of(book.append(history, budget, key, content), query, repeated=False)
        except LedgerChanged:
            continue
    raise LedgerChanged(f"other releases of dataset {dataset!r} keep being written: try again when they are done.")


def earlier_releases(
    ledger: str | Ledger, dataset: str, model: QueryModel, *, total: PrivacyTarget, seed: int | None = None
) -> Together:
    """Return the earlier releases of a dataset, for `distpriv.plan(…, after=…)`.

    Args:
        ledger: the URL of the ledger.
        dataset: what it calls the dataset.
        model: the model to plan for.
        total: what all releases of the dataset may cost together.
        seed: of coupled draws for the joint certificate, where they are needed.

    Raises:
        BudgetSpent: the total or the protected pairs are not those that earlier releases were made with.

    >>> import distpriv as dp
    >>> rows, secret = dp.datasets.adult(), dp.Share("income = '>50K'", values=(0.4, 0.6))
    >>> model = dp.model(rows.slice(0, 1000), dp.Query(hours=dp.mean("hours_per_week")), secret, records=20)
    >>> plan = dp.plan(model, dp.PrivacyTarget(epsilon=1, delta=0.05), processes=1)
    >>> first = dp.release(plan, rows.slice(1000, 20), ledger="sqlite:///ledger.db", dataset="clinic-2026")
    >>> other = dp.model(rows.slice(0, 1000), dp.Query(age=dp.mean("age")), secret, records=20)
    >>> earlier = dp.earlier_releases("sqlite:///ledger.db", "clinic-2026", other, total=plan.target)

    A mechanism has its noise widened until all releases hold together, here more than tenfold:

    >>> alone = dp.mechanisms.certified_gaussian(other, plan.target)
    >>> mechanism, joint = earlier.calibrated(other, alone, "gaussian")
    >>> joint.holds, mechanism.noise.expected_rms > 10 * alone.noise.expected_rms
    (True, True)
    """
    book = ledger if isinstance(ledger, Ledger) else Ledger.open(ledger)
    return together(book.history(dataset), model, total, seed)


def together(history: History, model: QueryModel, total: PrivacyTarget, seed: int | None = None) -> Together:
    """Return what has been released of a dataset, for a model to be certified together with."""
    history.check_total(total)
    protected = {tuple(pair) for pair in model.protected_pairs}
    for entry in history.entries:
        if entry.content["records"] != model.provenance.records:
            raise InvalidInput(
                f"the ledger knows dataset {history.dataset!r} with another number of records: the same id is for the "
                "same data, so give other data another id."
            )
        lost = {tuple(pair) for pair in entry.content["protected_pairs"]} - protected
        if lost:
            one, other = sorted(lost)[0]
            raise BudgetSpent(
                f"release {entry.position} of dataset {history.dataset!r} protects {one!r} against {other!r}, and this "
                "one does not: protect at least what all earlier releases do."
            )
    past = [
        PastRelease(query=_query_of(entry.content, model.query), noise=noise_from_dict(entry.content["noise"]))
        for entry in history.entries
    ]
    return Together(past=tuple(past), total=total, seed=seed)


def _query_of(content: Mapping[str, Any], asked: Query | None) -> Query:
    """Return the query of an entry; one with functions is that which asks, if they are the same."""
    if asked is not None and content["query"] == query_to_dict(asked):
        return asked
    return query_from_dict(content["query"])


def _query_and_records(model: QueryModel) -> tuple[Query, int]:
    if model.query is None or model.provenance.records is None:
        raise InvalidModel("a release needs a model that was made from rows: make it with distpriv.model(…).")
    return model.query, model.provenance.records


def _drawn(mechanism: AdditiveMechanism, exact: Floats) -> tuple[dict[str, float], dict[str, tuple[float, float]]]:
    """Draw the noise: the one place where private numbers meet it."""
    released = on_lattice(mechanism.noise).draw(exact)
    values = dict(zip(mechanism.statistics, released.tolist(), strict=True))
    widths = zip(mechanism.statistics, released.tolist(), mechanism.noise.half_widths.tolist(), strict=True)
    return values, {name: (value - half, value + half) for name, value, half in widths}


def _content(plan: Plan, mechanism: AdditiveMechanism, joint: Certificate, exact: Floats) -> dict[str, Any]:
    model = plan.model
    assert model.query is not None
    values, intervals = _drawn(mechanism, exact)
    return {
        "distpriv": __version__,
        "query": query_to_dict(model.query),
        "records": model.provenance.records,
        "protected_pairs": [list(pair) for pair in model.protected_pairs],
        "model": _fingerprint(model),
        "values": values,
        "intervals": {name: list(ends) for name, ends in intervals.items()},
        "mechanism": mechanism.name,
        "noise": noise_to_dict(mechanism.noise),
        "certificate": mechanism.certificate.to_dict(),
        "joint_certificate": joint.to_dict(),
        "drawn": {"release": _drawn_to_dict(mechanism.certificate.drawn), "joint": _drawn_to_dict(joint.drawn)},
        "trust": plan.trust,
    }


def _certificate(content: Mapping[str, Any], key: str, drawn: str) -> Certificate:
    written = content.get("drawn", {}).get(drawn)
    return evolve(Certificate.from_dict(content[key]), drawn=None if written is None else Drawn.from_dict(written))


def _drawn_to_dict(drawn: Drawn | None) -> dict[str, Any] | None:
    return None if drawn is None else drawn.to_dict()


def _fingerprint(model: QueryModel) -> str:
    """Return a hash of what the model was made from; of inputs, since computed digits differ from run to run."""
    assert model.query is not None
    provenance = model.provenance
    made_from = [
        query_to_dict(model.query),
        model.protected_pairs,
        [provenance.method, provenance.records, provenance.replacement, provenance.draws, provenance.seed],
        [provenance.sources, provenance.missing],
        *(
            [[provenance.pooling.rows, provenance.pooling.key]]
            if provenance.pooling != Pooling(seed=provenance.pooling.seed)
            else []
        ),
    ]
    return hashlib.sha256(json.dumps(made_from, sort_keys=True).encode()).hexdigest()


def _remembered_by_nobody(mechanism: AdditiveMechanism) -> AdditiveMechanism:
    alone = Assumption(
        statement="nothing else about this dataset is or was released, and this not twice",
        status="assumed",
        evidence="no ledger was given: answers to the same question average their noise out, and answers to several "
        "questions can say together what none says alone",
    )
    certificate = evolve(mechanism.certificate, assumptions=(*mechanism.certificate.assumptions, alone))
    return evolve(mechanism, certificate=certificate)
