"""One release: noise drawn once, on a lattice, written down before it is shown."""

from collections.abc import Mapping
from typing import Any, Self

from attrs import evolve, field, frozen

from distpriv._version import __version__
from distpriv.errors import InvalidInput, InvalidModel, LedgerChanged, NotCertified
from distpriv.framework.domains import one_of
from distpriv.framework.queries import Query
from distpriv.framework.target import PrivacyTarget
from distpriv.guarantees.certificate import Assumption, Certificate, Trust
from distpriv.guarantees.mechanism import AdditiveMechanism
from distpriv.modelling.from_rows import remodelled
from distpriv.modelling.model import QueryModel
from distpriv.noise.lattice import on_lattice
from distpriv.planning.plan import Plan
from distpriv.releasing.certified_laws import laws_to_dict
from distpriv.releasing.fingerprint import agree
from distpriv.releasing.fixed import (
    Adaptive,
    Fixed,
    commitment_to_dict,
    drawn_to_dict,
    fixed_questions,
    named_by,
    together,
)
from distpriv.releasing.joint import Questions, Together
from distpriv.releasing.ledger import Entry, History, Ledger, dataset_id
from distpriv.releasing.private import PrivateAnswer, look_at, reading_assumption, refused, require_source
from distpriv.releasing.queries import definitions, query_key, query_to_dict, require_distinct
from distpriv.releasing.readings import READ

__all__ = ["DRAWN", "Release", "earlier_releases", "in_order_of", "named", "opened", "release", "with_reading"]

DRAWN = Assumption(
    statement="the private rows are drawn as one of the scenarios says, from rows like those of the reference",
    status="assumed",
    evidence="nothing is looked up in the private table to tell",
)
"""What every release rests on, whatever its mechanism."""

MOST_TRIES = 1000
"""How often a release is tried again because another one of the same dataset was written first."""


@frozen(kw_only=True)
class Release:
    """What was released, and what is promised about it; made by `distpriv.release`.

    >>> import distpriv as dp
    >>> rows, secret = dp.datasets.adult(), dp.Share("income = '>50K'", values=(0.4, 0.6))
    >>> model = dp.model(rows.slice(0, 1000), dp.Query(hours=dp.mean("hours_per_week")), secret, records=20)
    >>> plan = dp.plan(model, dp.PrivacyTarget(epsilon=2, delta=0.05), processes=1)
    >>> ledger = dp.Ledger.create("sqlite:///ledger.db")
    >>> shown = dp.release(plan, rows.slice(1000, 20), ledger=ledger, dataset="clinic-2026")
    >>> low, high = shown.intervals["hours"]
    >>> low < shown.values["hours"] < high, round(high - low, 3)
    (True, 0.196)
    >>> shown.certificate.holds, shown.joint.holds, shown.position, shown.repeated
    (True, True, 1, False)
    >>> sorted(shown.to_dict())
    ['certificate', 'dataset', 'distpriv', 'intervals', 'joint_certificate', 'ledger', 'mechanism', 'noise', 'position',
    'questions', 'time', 'values']
    >>> shown.questions, sorted(shown.ledger)
    ('first', ['head', 'id', 'number'])
    >>> shown.drawn  # what coupled draws showed, where a certificate rests on them
    {'release': None, 'joint': None}

    The ledger has it, and shows it again:

    >>> entry = ledger.history("clinic-2026").entries[0]
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
    questions: Questions
    """Why it is no danger if a question depends on an earlier answer."""
    ledger: Mapping[str, Any] | None
    """Where the ledger has it: the ledger's id, the entry's number, and its digest, in which all earlier ones are."""
    rest: Together | None = field(default=None, repr=False, eq=False)
    """What it was certified together with; none without a ledger, or where it was only read from one."""

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
            "noise": self.mechanism.noise.to_dict(),
            "certificate": self.certificate.to_dict(),
            "joint_certificate": None if self.joint is None else self.joint.to_dict(),
            "questions": self.questions,
            "ledger": None if self.ledger is None else dict(self.ledger),
        }

    @property
    def drawn(self) -> dict[str, Any]:
        """The coupled draws that the certificates rest on, written down; none where they rest on moments."""
        joint = None if self.joint is None else self.joint.drawn
        return {"release": drawn_to_dict(self.certificate.drawn), "joint": drawn_to_dict(joint)}

    @classmethod
    def of(cls, entry: Entry, query: Query, *, repeated: bool, ledger: str | None = None) -> Self:
        """Return the release that a ledger holds, its statistics by the names of the query that asks for them.

        Its certificates are those that were written down with it.

        Args:
            entry: what the ledger holds.
            query: the query that asks.
            repeated: whether it was answered before.
            ledger: the id of the ledger.
        """
        (question,) = (fixed for fixed in fixed_questions(_only(entry)) if fixed.entry is entry)
        content = entry.content
        names = {new: old for old, new in named_by(content, query).items()}
        assert entry.position is not None
        return cls(
            values={name: content["values"][names[name]] for name in query.names},
            intervals={name: tuple(content["intervals"][names[name]]) for name in query.names},
            mechanism=question.mechanism(query),
            joint=question.joint_certificate(),
            dataset=entry.dataset,
            position=entry.position,
            time=entry.time,
            repeated=repeated,
            questions=content.get("questions", "first" if entry.position == 1 else "assumed"),
            ledger={"id": ledger, "number": entry.number, "head": entry.digest},
        )

    def __str__(self) -> str:
        width = max(map(len, self.values))
        lines = [
            f"  {name.ljust(width)}  {value:12.6g}   {low:.6g} to {high:.6g} (95 %)"
            for (name, value), (low, high) in zip(self.values.items(), self.intervals.values(), strict=True)
        ]
        own, joint = self.certificate, self.joint
        if joint is None or (joint.epsilon, joint.delta) == (own.epsilon, own.delta):
            return "\n".join([*lines, str(own)])
        together = f"all releases of the dataset together: {joint}"
        return "\n".join([*lines, together, f"this release alone: {own}"])


def release(
    plan: Plan,
    private_source: Any,
    *,
    ledger: str | Ledger | None,
    dataset: str | None = None,
    total: PrivacyTarget | None = None,
    adaptive: Adaptive = "refuse",
    seed: int | None = None,
) -> Release:
    """Answer the plan's query from the private table, once.

    The mechanism is the plan's; its noise is widened where this and all earlier releases of the dataset would exceed
    the total together. A query that was declared has the noise that was fixed for it. One that was answered gets the
    same numbers again, whatever has become of the table, with certificates for this plan's pairs and target.

    The ledger knows of every look at the private table before it happens. Values of its rows are held within what the
    reference has, and decide neither whether a release is made nor what is said where it is not.

    Args:
        plan: what to release, and how.
        private_source: the private table, with exactly the records that the plan's model has.
        ledger: the URL of the ledger, or None for a release that nothing remembers: then you must see to it that
            nothing else about the dataset is ever released, and this not twice. `Ledger.create` makes one.
        dataset: what the ledger calls the private dataset; the same data must have the same id.
        total: what all releases of the dataset may cost together; the plan's target when not given.
        adaptive: what to do about a later question that was not declared with `distpriv.declare` before the first
            answer: ``"refuse"`` it; ``"assumed"``, go on and state that no question depends on an answer; or
            ``"immune"``, only use noise whose cost adds up whatever is asked, from the first release on.
        seed: of coupled draws for the joint certificate, where they are needed; noise has no seed.

    Raises:
        NotCertified: no mechanism of the plan holds, or an earlier answer does not hold what this plan asks for.
        BudgetSpent: earlier releases leave no room.
        LawsChanged: the reference is not the one that earlier releases were certified on.
        QuestionNotDeclared: the question may depend on earlier answers.
        LedgerUnavailable: the ledger cannot be written; nothing is released.
        InvalidSource: there is no such private table.
        PrivateTableRefused: the private table was looked at and cannot be used; it is not said why.

    >>> import distpriv as dp
    >>> rows, secret = dp.datasets.adult(), dp.Share("income = '>50K'", values=(0.4, 0.6))
    >>> model = dp.model(rows.slice(0, 1000), dp.Query(hours=dp.mean("hours_per_week")), secret, records=20)
    >>> plan = dp.plan(model, dp.PrivacyTarget(epsilon=2, delta=0.05), processes=1)
    >>> private, ledger = rows.slice(1000, 20), dp.Ledger.create("sqlite:///ledger.db")
    >>> first = dp.release(plan, private, ledger=ledger, dataset="clinic-2026")
    >>> list(first.values), first.certificate.holds, first.repeated
    (['hours'], True, False)

    Asked again, it answers the same, so that nobody can average the noise out:

    >>> again = dp.release(plan, private, ledger="sqlite:///ledger.db", dataset="clinic-2026")
    >>> again.repeated, again.values == first.values
    (True, True)
    """
    if not isinstance(plan, Plan):
        raise InvalidInput(f"a release needs a plan, got {plan!r}: make one with distpriv.plan(…).")
    one_of("adaptive", adaptive, ("refuse", "assumed", "immune"), InvalidInput)
    query, records = _query_and_records(plan.model)
    require_distinct(query)
    if ledger is None:
        return _unremembered(plan, private_source, dataset)
    book, name = opened(ledger), named(dataset)
    key = query_key(query, records)
    budget = plan.target if total is None else total
    seen: PrivateAnswer | None = None
    for _ in range(MOST_TRIES):
        history = book.history(name)
        rest = together(history, plan.model, budget, query_key=key, adaptive=adaptive, seed=seed)
        own = next((fixed for fixed in fixed_questions(history) if fixed.query_key == key), None)
        made = _made_for(plan, rest) if own is None else _as_fixed(own, plan, rest, history)
        if own is not None and own.entry is not None:
            again = Release.of(own.entry, query, repeated=True, ledger=history.ledger)
            return evolve(again, mechanism=made.mechanism, joint=made.joint, questions=rest.questions, rest=made.rest)
        if seen is None:
            require_source(private_source)
            book.look(history, budget, key)
            seen = look_at(private_source, made.model, key=book.key, known=_fingerprint(history))
        elif not _is_known(seen, history):
            raise refused(made.model)
        answer = _drawn(made, seen)
        try:
            entry = book.append(history, budget, key, _content(plan, made, answer, seen))
        except LedgerChanged:
            continue
        return evolve(
            answer,
            dataset=entry.dataset,
            position=entry.position,
            time=entry.time,
            ledger={"id": history.ledger, "number": entry.number, "head": entry.digest},
        )
    raise LedgerChanged(f"other releases of dataset {dataset!r} keep being written: try again when they are done.")


def earlier_releases(
    ledger: str | Ledger,
    dataset: str,
    model: QueryModel,
    *,
    total: PrivacyTarget,
    adaptive: Adaptive = "refuse",
    seed: int | None = None,
) -> Together:
    """Return the earlier releases of a dataset, for `distpriv.plan(…, after=…)`.

    Args:
        ledger: the URL of the ledger.
        dataset: what it calls the dataset.
        model: the model to plan for.
        total: what all releases of the dataset may cost together.
        adaptive: what to do about a question that was not declared, as for `distpriv.release`.
        seed: of coupled draws for the joint certificate, where they are needed.

    Raises:
        BudgetSpent: the total or the protected pairs are not those that earlier releases were made with.
        LawsChanged: the reference is not the one that earlier releases were certified on.
        QuestionNotDeclared: the question may depend on earlier answers.

    >>> import distpriv as dp
    >>> rows, secret = dp.datasets.adult(), dp.Share("income = '>50K'", values=(0.4, 0.6))
    >>> model = dp.model(rows.slice(0, 1000), dp.Query(hours=dp.mean("hours_per_week")), secret, records=20)
    >>> plan = dp.plan(model, dp.PrivacyTarget(epsilon=1, delta=0.05), processes=1)
    >>> ledger = dp.Ledger.create("sqlite:///ledger.db")
    >>> first = dp.release(plan, rows.slice(1000, 20), ledger=ledger, dataset="clinic-2026")
    >>> other = dp.model(rows.slice(0, 1000), dp.Query(age=dp.mean("age")), secret, records=20)
    >>> earlier = dp.earlier_releases(ledger, "clinic-2026", other, total=plan.target, adaptive="assumed")

    A mechanism has its noise widened until all releases hold together, here more than tenfold:

    >>> alone = dp.mechanisms.certified_gaussian(other, plan.target)
    >>> mechanism, joint = earlier.calibrated(other, alone, "gaussian")
    >>> joint.holds, mechanism.noise.expected_rms > 10 * alone.noise.expected_rms
    (True, True)
    """
    one_of("adaptive", adaptive, ("refuse", "assumed", "immune"), InvalidInput)
    return together(opened(ledger).history(named(dataset)), model, total, adaptive=adaptive, seed=seed)


def in_order_of(mechanism: AdditiveMechanism, model: QueryModel) -> QueryModel:
    """Return the model with its statistics in the order of a mechanism; a question may be asked again in another."""
    if mechanism.statistics == model.names:
        return model
    if model.query is None or set(mechanism.statistics) != set(model.names):
        raise InvalidInput("the mechanism is of other statistics than the model: plan the same policy again.")
    place = {name: number for number, name in enumerate(mechanism.statistics)}
    in_order = sorted(model.query.statistics, key=lambda named: place[Query([named]).names[0]])
    return remodelled(model, Query(in_order))


def opened(ledger: str | Ledger) -> Ledger:
    """Return a ledger that is given by its URL or itself."""
    return ledger if isinstance(ledger, Ledger) else Ledger.open(ledger)


def named(dataset: object) -> str:
    """Return the id of a dataset as the ledger writes it, or say that it needs one."""
    if not isinstance(dataset, str) or not dataset.strip():
        raise InvalidInput(f"a ledger knows a dataset by its id, got {dataset!r}: write dataset='hospital-2026'.")
    return dataset_id(dataset)


@frozen(kw_only=True)
class _Made:
    """A mechanism to answer with, the model in its order, and what holds for all releases together."""

    mechanism: AdditiveMechanism
    model: QueryModel
    joint: Certificate
    rest: Together


def _made_for(plan: Plan, rest: Together) -> _Made:
    """Return the plan's mechanism with noise as wide as all releases together need it."""
    mechanism, joint = rest.calibrated(plan.model, plan.mechanism, plan.trust)
    return _Made(mechanism=with_reading(mechanism, plan.model), model=plan.model, joint=joint, rest=rest)


def _as_fixed(own: Fixed, plan: Plan, rest: Together, history: History) -> _Made:
    """Return the noise that a question has already, with what it promises to the plan that asks now.

    Raises:
        NotCertified: it does not promise what the plan asks for.
    """
    assert plan.model.query is not None
    _require_same_details(own, plan.model.query)
    mechanism = own.mechanism(plan.model.query)
    model = in_order_of(mechanism, plan.model)
    covered = own.laws is not None and own.pairs >= {tuple(pair) for pair in model.protected_pairs}
    certificate, joint = own.certificate(), own.joint_certificate()
    promised = covered and _within(certificate, plan.target, plan.trust)
    if not promised or certificate.target != plan.target:
        alone = Together(past=(), total=plan.target, seed=rest.seed, questions="first")
        anew = alone.certified(model, mechanism, plan.trust)
        certificate = anew if anew.holds_at(plan.trust) or not promised else certificate
    same = rest.questions == "declared" if own.declared else own.position == len(history.entries)
    if not rest.past and rest.questions != "immune" and _within(certificate, rest.total, plan.trust):
        joint = evolve(certificate, assumptions=_of_mechanism(certificate))
    elif covered and same and _within(joint, rest.total, plan.trust):
        rest = evolve(rest, place=own.place)
    else:
        joint = rest.certified(model, mechanism, plan.trust)
    which = f"release {own.position}" if own.entry is not None else "the noise that was declared"
    certificate, joint = evolve(certificate, target=plan.target), evolve(joint, target=rest.total)
    for found, what in ((certificate, "this question alone"), (joint, "all questions of the dataset together")):
        if not found.holds_at(plan.trust):
            raise NotCertified(
                f"this question has been given its noise, which cannot be changed, and {which} does not hold what is "
                f"asked for now: for {what} it has delta = {found.delta:.3g} at epsilon = {found.epsilon:g} and trust "
                f"{found.trust!r}, and the policy allows {found.target.delta:g} at {found.target.epsilon:g} and asks "
                f"for {plan.trust!r}."
            )
    held = with_reading(evolve(mechanism, certificate=certificate), model)
    return _Made(mechanism=held, model=model, joint=joint, rest=rest)


def _require_same_details(own: Fixed, asked: Query) -> None:
    """Refuse a question that has an answer, or noise, with other bounds or another resolution than it is asked with."""
    stored = _details(own.stored_query(asked))
    for what, now in _details(asked).items():
        for key in ("bounds", "resolution"):
            then = stored[what].get(key)
            if then != now.get(key):
                raise NotCertified(
                    f"{now['name']!r} was asked before with {key} = {then!r}, and its rows were read that way: ask "
                    f"with the same again, not with {now.get(key)!r}."
                )


def _details(query: Query) -> dict[str, dict[str, Any]]:
    """Return everything that is written down of each statistic, by what it computes."""
    return {definitions(Query([named]))[0]: query_to_dict(Query([named]))[0] for named in query.statistics}


def _within(certificate: Certificate, target: PrivacyTarget, trust: Trust) -> bool:
    """Tell whether what was promised once is as much as is asked for now."""
    return evolve(certificate, target=target).holds_at(trust)


def with_reading(mechanism: AdditiveMechanism, model: QueryModel) -> AdditiveMechanism:
    """Return the mechanism with a certificate that says where rows come from and how they are read, once."""
    said = (*_of_mechanism(mechanism.certificate), DRAWN, reading_assumption(model))
    return evolve(mechanism, certificate=evolve(mechanism.certificate, assumptions=said))


def _of_mechanism(certificate: Certificate) -> tuple[Assumption, ...]:
    """Return what a certificate rests on but for where rows come from and how they are read."""
    ours = (DRAWN.statement, READ)
    return tuple(assumption for assumption in certificate.assumptions if assumption.statement not in ours)


def _unremembered(plan: Plan, private_source: Any, dataset: str | None) -> Release:
    """Release without a ledger."""
    mechanism = with_reading(_remembered_by_nobody(plan.mechanism), plan.model)
    alone = Together(past=(), total=plan.target, questions="alone")
    made = _Made(mechanism=mechanism, model=plan.model, joint=mechanism.certificate, rest=alone)
    require_source(private_source)
    return evolve(_drawn(made, look_at(private_source, plan.model)), joint=None, dataset=dataset, rest=None)


def _query_and_records(model: QueryModel) -> tuple[Query, int]:
    if model.query is None or model.provenance.records is None:
        raise InvalidModel("a release needs a model that was made from rows: make it with distpriv.model(…).")
    return model.query, model.provenance.records


def _drawn(made: _Made, seen: PrivateAnswer) -> Release:
    """Draw the noise: the one place where private numbers meet it."""
    mechanism = made.mechanism
    released = on_lattice(mechanism.noise).draw(seen.values)
    values = dict(zip(mechanism.statistics, released.tolist(), strict=True))
    widths = zip(mechanism.statistics, released.tolist(), mechanism.noise.half_widths.tolist(), strict=True)
    return Release(
        values=values,
        intervals={name: (value - half, value + half) for name, value, half in widths},
        mechanism=mechanism,
        joint=made.joint,
        dataset=None,
        position=None,
        time=None,
        repeated=False,
        questions=made.rest.questions,
        ledger=None,
        rest=made.rest,
    )


def _content(plan: Plan, made: _Made, answer: Release, seen: PrivateAnswer) -> dict[str, Any]:
    """Return what the ledger holds of a release."""
    return {
        "distpriv": __version__,
        **commitment_to_dict(made.model, made.mechanism),
        "laws": laws_to_dict(made.model),
        "values": dict(answer.values),
        "intervals": {name: list(ends) for name, ends in answer.intervals.items()},
        "joint_certificate": made.joint.to_dict(),
        "drawn": answer.drawn,
        "trust": plan.trust,
        "questions": answer.questions,
        "fingerprint": None if seen.fingerprint is None else dict(seen.fingerprint),
    }


def _fingerprint(history: History) -> dict[str, str] | None:
    """Return what is known of the private table from earlier releases, under the ledger's key."""
    found: dict[str, str] = {}
    for entry in history.entries:
        found |= entry.content.get("fingerprint") or {}
    return found or None


def _is_known(seen: PrivateAnswer, history: History) -> bool:
    """Tell whether a table that was looked at is the one that releases which came in since then were made from."""
    known = _fingerprint(history)
    return known is None or (seen.fingerprint is not None and agree(seen.fingerprint, known))


def _only(entry: Entry) -> History:
    return History(dataset=entry.dataset, total=None, entries=(entry,))


def _remembered_by_nobody(mechanism: AdditiveMechanism) -> AdditiveMechanism:
    alone = Assumption(
        statement="nothing else about this dataset is or was released, and this not twice",
        status="assumed",
        evidence="no ledger was given: answers to the same question average their noise out, and answers to several "
        "questions can say together what none says alone",
    )
    certificate = evolve(mechanism.certificate, assumptions=(*mechanism.certificate.assumptions, alone))
    return evolve(mechanism, certificate=certificate)
