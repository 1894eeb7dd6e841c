"""One release: noise drawn once, on a lattice, written down before it is shown."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from attrs import evolve

from distpriv._version import __version__
from distpriv.errors import InvalidInput, LedgerChanged, PrivateTableRefused
from distpriv.framework.domains import one_of
from distpriv.framework.records import plain
from distpriv.framework.target import PrivacyTarget
from distpriv.guarantees.mechanism import AdditiveMechanism
from distpriv.ledger import History, Ledger
from distpriv.ledger.chain import Continues
from distpriv.modelling.model import QueryModel
from distpriv.modelling.public_knowledge import Prior
from distpriv.noise.lattice import on_lattice
from distpriv.planning.plan import Plan
from distpriv.releasing.accepted import NOTHING, Accepted
from distpriv.releasing.certified_laws import laws_to_dict
from distpriv.releasing.check import check_private
from distpriv.releasing.estimating import estimates_of
from distpriv.releasing.fingerprint import agree, mostly_agree
from distpriv.releasing.fixed import Adaptive, commitment_to_dict, earlier_of
from distpriv.releasing.joint import EarlierReleases
from distpriv.releasing.private import PrivateAnswer, look_at, refused, require_source
from distpriv.releasing.promised import Promise, newly_promised, promised_already, promised_without_ledger
from distpriv.releasing.readings import readings_of
from distpriv.releasing.released import Release
from distpriv.releasing.session import Session, named, opened, query_and_records

__all__ = ["Approval", "Release", "earlier_releases", "release", "released"]

Approval = Callable[[AdditiveMechanism, QueryModel], None]
"""Looks at what is about to answer, and raises what refuses it."""

MOST_TRIES = 1000
"""How often a release is tried again because another one of the same dataset was written first."""


def release(
    plan: Plan,
    private_source: Any,
    *,
    ledger: str | Ledger | None,
    dataset: str | None = None,
    total: PrivacyTarget | None = None,
    adaptive: Adaptive = "refuse",
    continues: Continues = None,
    seed: int | None = None,
    approve: Approval | None = None,
    analyst: bool = False,
    missing: Mapping[str, Any] | None = None,
    levels: Mapping[str, Mapping[str, str]] | None = None,
    clip: Iterable[str] | None = None,
    terms: Mapping[str, Any] | None = None,
) -> Release:
    """Answer the plan's query from the private table, once.

    The mechanism is the plan's; its noise is widened where this and all earlier releases of the dataset would exceed
    the total together. A query that was declared has the noise that was fixed for it. One that was answered gets the
    same numbers again, whatever has become of the table, with certificates for this plan's pairs and target.

    The private table is first compared with the reference, as `distpriv check` does: a table that does not fit stops
    the release with every reason, before an access is written to the ledger. What may differ is declared: `missing`,
    `levels` and `clip`. For an analyst who must not learn anything about the rows, nothing is compared: the ledger has
    the access first, values are held within what the reference has, and they decide neither whether a release is made
    nor what is said where it is not.

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
        continues: the id under which the same data were released before, whose budget it shares. False gives the
            dataset a budget of its own, although the ledger has the same table under another id.
        seed: of coupled draws for the joint certificate, where they are needed; noise has no seed.
        approve: is given the mechanism that will answer, its noise as wide as all releases need it, and its model,
            before the private table is looked at; what it raises refuses the release.
        analyst: whether whoever sees a refusal must not learn why: one opaque refusal, for a service.
        missing: what a missing value counts as, by column, such as ``{"age": 40}``.
        levels: how the reference spells a value, by column, such as ``{"paid": {"Ja": "ja"}}``.
        clip: the columns whose values beyond the reference are read as the nearest that it has.
        terms: what the ledger is to hold of why this was asked for, such as a policy; nothing private.

    Raises:
        NotCertified: no mechanism of the plan holds, or an earlier answer does not hold what this plan asks for.
        BudgetSpent: earlier releases leave no room.
        LawsChanged: the reference is not the one that earlier releases were certified on.
        QuestionNotDeclared: the question may depend on earlier answers.
        LedgerUnavailable: the ledger cannot be written; nothing is released.
        InvalidSource: there is no such private table.
        PrivateTableRefused: the private table does not fit the reference; for an analyst it is not said why.

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

    What is public and the answer make an estimate together, which is nearer to the truth than either, on average:

    >>> low, high = first.estimate_intervals["hours"]
    >>> low < first.estimates["hours"] < high, first.public_errors["hours"] > (high - low) / 4
    (True, True)
    >>> print(first.fit.sentence.partition("(")[0])
    The release is consistent with the reference
    """
    if not isinstance(plan, Plan):
        raise InvalidInput(f"a release needs a plan, got {plan!r}: make one with distpriv.plan(…).")
    one_of("adaptive", adaptive, ("refuse", "assumed", "immune"), InvalidInput)
    query_and_records(plan.model)
    accepted = Accepted.of(missing=missing, levels=levels, clip=clip)
    if ledger is None:
        promise = promised_without_ledger(plan)
        _approve(approve, promise)
        _require_table(private_source, plan.model, accepted, analyst=analyst)
        answer = _drawn(promise, look_at(private_source, plan.model, accepted=accepted), plan.public.prior)
        return evolve(answer, joint=None, dataset=dataset, earlier=None)
    with opened(ledger).connected() as book:
        session = Session.of(
            plan.model,
            ledger=book,
            history=book.history(named(dataset), continues),
            total=plan.target if total is None else total,
            adaptive=adaptive,
            seed=seed,
        )
        return released(session, plan, private_source, approve=approve, analyst=analyst, accepted=accepted, terms=terms)


def released(
    session: Session,
    plan: Plan,
    private_source: Any,
    *,
    approve: Approval | None = None,
    analyst: bool = False,
    accepted: Accepted = NOTHING,
    terms: Mapping[str, Any] | None = None,
) -> Release:
    """Answer the query of a session: promise, access, draw, record; once more where others released meanwhile."""
    seen: PrivateAnswer | None = None
    approved: AdditiveMechanism | None = None
    for _ in range(MOST_TRIES):
        session = session.in_ledger(session.book)
        promise = _promised(session, plan)
        if promise.mechanism != approved:
            _approve(approve, promise)
            approved = promise.mechanism
        if session.answered is not None:
            return _shown_again(session, promise, plan)
        if seen is None:
            seen = _accessed(session, promise, private_source, accepted, analyst=analyst)
        elif not _is_known(seen, session.history):
            raise refused(promise.model)
        answer = _drawn(promise, seen, plan.public.prior)
        try:
            return _recorded(session, plan, promise, answer, seen, terms)
        except LedgerChanged:
            continue
    raise LedgerChanged(
        f"other releases of dataset {session.history.dataset!r} keep being written: try again when they are done."
    )


def _promised(session: Session, plan: Plan) -> Promise:
    """Return the noise that the query has already, or is given now."""
    if session.own is None:
        return newly_promised(plan, session.earlier)
    return promised_already(session.own, plan, session.earlier, session.history)


def _shown_again(session: Session, promise: Promise, plan: Plan) -> Release:
    """Return the answer that the ledger has, with certificates for this plan's pairs and target."""
    assert session.answered is not None
    assert plan.model.query is not None
    again = Release.of(session.answered, plan.model.query, repeated=True, ledger=session.history.ledger)
    return evolve(
        again,
        mechanism=promise.mechanism,
        joint=promise.joint,
        questions=session.earlier.questions,
        earlier=promise.earlier,
        estimated=estimates_of(again.values, promise.mechanism, promise.model, promise.earlier, plan.public.prior),
        model=promise.model,
    )


def _accessed(
    session: Session, promise: Promise, private_source: Any, accepted: Accepted, *, analyst: bool
) -> PrivateAnswer:
    """Read the private table, once, after the ledger says so; a curator's table is checked before."""
    promise.earlier.stack(promise.model)  # what estimates need is refused before anything is accessed
    key, known = session.book.key, _fingerprint(session.history)
    _require_table(private_source, promise.model, accepted, analyst=analyst, key=key, known=known)
    session.access()
    seen = look_at(private_source, promise.model, key=key, known=known, accepted=accepted)
    if (other := _budget_of_another(session, seen)) is not None:
        raise refused(promise.model) if analyst else PrivateTableRefused(other)
    return seen


def _require_table(
    source: Any,
    model: QueryModel,
    accepted: Accepted,
    *,
    analyst: bool,
    key: bytes | None = None,
    known: Mapping[str, str] | None = None,
) -> None:
    """Refuse what is no table, and a curator's table that does not fit; for an analyst nothing is opened."""
    require_source(source)
    if analyst:
        readings_of(model).require(accepted)
    else:
        check_private(source, model, accepted, compare=False, key=key, known=known).require_fit()


def _recorded(
    session: Session,
    plan: Plan,
    promise: Promise,
    answer: Release,
    seen: PrivateAnswer,
    terms: Mapping[str, Any] | None,
) -> Release:
    """Write an answer to the ledger, which reads it back; only then may it be shown."""
    content = _content(plan, promise, answer, seen, session.digests, terms)
    entry = session.book.append(session.history, session.total, session.key, content)
    return evolve(
        answer,
        dataset=entry.dataset,
        position=entry.position,
        time=entry.time,
        ledger={"id": session.history.ledger, "number": entry.number, "head": entry.digest},
    )


def _approve(approve: Approval | None, promise: Promise) -> None:
    if approve is not None:
        approve(promise.mechanism, promise.model)


def earlier_releases(
    ledger: str | Ledger,
    dataset: str,
    model: QueryModel,
    *,
    total: PrivacyTarget,
    adaptive: Adaptive = "refuse",
    seed: int | None = None,
) -> EarlierReleases:
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
    >>> model = dp.model(rows.slice(0, 1000), dp.Query(hours=dp.mean("hours_per_week")), secret, records=50)
    >>> target, total = dp.PrivacyTarget(epsilon=1, delta=0.05), dp.PrivacyTarget(epsilon=1.2, delta=0.06)
    >>> plan = dp.plan(model, target, mechanisms=["certified_gaussian"])
    >>> ledger = dp.Ledger.create("sqlite:///ledger.db")
    >>> first = dp.release(plan, rows.slice(1000, 50), ledger=ledger, dataset="clinic-2026", total=total)
    >>> other = dp.model(rows.slice(0, 1000), dp.Query(age=dp.mean("age")), secret, records=50)
    >>> earlier = dp.earlier_releases(ledger, "clinic-2026", other, total=total, adaptive="assumed")

    A mechanism has its noise widened until all releases hold together:

    >>> alone = dp.mechanisms.certified_gaussian(other, target)
    >>> mechanism, joint = earlier.calibrated(other, alone, "checked")
    >>> joint.holds, mechanism.noise.expected_rms > 1.3 * alone.noise.expected_rms
    (True, True)
    """
    one_of("adaptive", adaptive, ("refuse", "assumed", "immune"), InvalidInput)
    return earlier_of(opened(ledger).history(named(dataset)), model, total, adaptive=adaptive, seed=seed)


def _drawn(promise: Promise, seen: PrivateAnswer, prior: Prior) -> Release:
    """Draw the noise: the one place where private numbers meet it."""
    mechanism = promise.mechanism
    released = on_lattice(mechanism.noise).draw(seen.values)
    values = dict(zip(mechanism.statistics, released.tolist(), strict=True))
    widths = zip(mechanism.statistics, released.tolist(), mechanism.noise.half_widths.tolist(), strict=True)
    return Release(
        values=values,
        intervals={name: (value - half, value + half) for name, value, half in widths},
        mechanism=mechanism,
        joint=promise.joint,
        dataset=None,
        position=None,
        time=None,
        repeated=False,
        questions=promise.earlier.questions,
        ledger=None,
        earlier=promise.earlier,
        estimated=estimates_of(values, mechanism, promise.model, promise.earlier, prior),
        model=promise.model,
    )


def _content(
    plan: Plan,
    promise: Promise,
    answer: Release,
    seen: PrivateAnswer,
    digests: Mapping[str, str],
    terms: Mapping[str, Any] | None,
) -> dict[str, Any]:
    """Return what the ledger holds of a release."""
    return {
        "distpriv": __version__,
        **commitment_to_dict(promise.model, promise.mechanism),
        "laws": laws_to_dict(promise.model, digests),
        "values": dict(answer.values),
        "intervals": {name: list(ends) for name, ends in answer.intervals.items()},
        **plain(answer.estimated.shown()),
        "prior": dict(answer.estimated.prior),
        "joint_certificate": plain(promise.joint),
        "drawn": plain(answer.drawn),
        "assurance": plan.assurance,
        "questions": answer.questions,
        "terms": terms,
        "fingerprint": None if seen.fingerprint is None else dict(seen.fingerprint),
    }


def _fingerprint(history: History) -> dict[str, str] | None:
    """Return what is known of the private table from earlier releases, under the ledger's key."""
    found: dict[str, str] = {}
    for entry in history.entries:
        found |= entry.content.get("fingerprint") or {}
    return found or None


def _budget_of_another(session: Session, seen: PrivateAnswer) -> str | None:
    """Say that the ledger has a table under another id, where its releases would not be counted.

    An id that has a release already has settled whose budget it shares.
    """
    own = session.history
    if own.continues is False or own.entries:
        return None
    for history in session.book.histories():
        known, other = _fingerprint(history), history.dataset
        if other == own.dataset or history.entries[:1] == own.entries[:1] or not known or not seen.fingerprint:
            continue
        if mostly_agree(seen.fingerprint, known):
            return (
                f"the private table of dataset {own.dataset!r} is that of dataset {other!r}, whose releases would not "
                f'be counted: write `continues = "{other}"` under [data], or `continues = false` for a budget of its '
                "own."
            )
    return None


def _is_known(seen: PrivateAnswer, history: History) -> bool:
    """Tell whether a table that was looked at is the one that releases which came in since then were made from."""
    known = _fingerprint(history)
    return known is None or (seen.fingerprint is not None and agree(seen.fingerprint, known))
