"""From a policy to a plan: every mechanism on the policy's model, after what has been fixed before."""

from collections.abc import Iterator, Mapping

from attrs import evolve, field, frozen

from distpriv.errors import BudgetSpent, NotCertified
from distpriv.guarantees.mechanism import AdditiveMechanism
from distpriv.ledger import Entry, History, Ledger
from distpriv.modelling.model import QueryModel
from distpriv.planning.option import Watch, unwatched
from distpriv.planning.plan import Plan, plan
from distpriv.policy import Policy, read_policy
from distpriv.progress import Progress, silent
from distpriv.releasing.fixed import Fixed
from distpriv.releasing.joint import EarlierRelease, EarlierReleases
from distpriv.releasing.promised import in_order_of
from distpriv.releasing.release import Approval
from distpriv.releasing.session import Session
from distpriv.workflow.ledgers import found_ledger, history_in

__all__ = ["PlannedPolicy", "plan_policy", "planned", "planned_in", "plans_to_declare"]


@frozen(kw_only=True)
class PlannedPolicy:
    """A policy with its plan, and what its query is certified together with."""

    policy: Policy
    plan: Plan
    session: Session = field(repr=False)

    @property
    def rest(self) -> EarlierReleases:
        """The other queries of the dataset whose noise is fixed."""
        return self.session.earlier

    @property
    def fixed(self) -> Fixed | None:
        """The noise that the query has already, by an answer or by a declaration."""
        return self.session.own

    @property
    def answered(self) -> Entry | None:
        """The release of the same query, if there was one: it will be shown again."""
        return self.session.answered

    def refusal(self) -> NotCertified:
        """Return why there is nothing to release, with what the least error was refused for."""
        asked = f"epsilon = {self.plan.target.epsilon:g}, delta = {self.plan.target.delta:g}"
        spent = [refusal.reason for refusal in self.plan.refusals if refusal.kind is BudgetSpent]
        if self.rest.releases and spent:
            return BudgetSpent(spent[0])
        if self.plan.nearest is not None:
            return self.plan.refusal()
        return NotCertified(
            f"no mechanism meets {asked} at assurance {self.plan.assurance!r}: run distpriv plan on the policy to see "
            "why, and ask for a larger epsilon or delta, or for less assurance."
        )

    def mechanism(self) -> tuple[AdditiveMechanism, QueryModel]:
        """Return the mechanism that is fixed, or else the one that would be used, and the model in its order."""
        if self.fixed is None:
            return self.plan.mechanism, self.plan.model
        mechanism = self.fixed.mechanism(self.policy.query())
        return mechanism, in_order_of(mechanism, self.plan.model)


def plan_policy(
    path: str,
    progress: Progress = silent,
    *,
    only: str | None = None,
    every: bool = False,
    watch: Watch = unwatched,
) -> PlannedPolicy:
    """Plan what a policy asks for, or one of several releases that it declares.

    Args:
        path: the policy.
        progress: is told how far the work is.
        only: which of several releases.
        every: whether to try mechanisms as well that would not be chosen.
        watch: is called with every line of the plan as soon as it is known.
    """
    return planned(read_policy(path).only(only), progress, every=every, watch=watch)


def planned(
    policy: Policy,
    progress: Progress = silent,
    *,
    every: bool = False,
    watch: Watch = unwatched,
) -> PlannedPolicy:
    """Plan a policy that was read."""
    ledger = found_ledger(policy)
    if _still_to_declare(policy, history_in(ledger, policy)):
        plans = _declaring(policy, ledger, progress, every=every)
        return next(found for found in plans if found.policy.asked == policy.asked)
    return planned_in(ledger, policy, progress, every=every, watch=watch)


def planned_in(
    ledger: Ledger | None,
    policy: Policy,
    progress: Progress = silent,
    *,
    every: bool = False,
    watch: Watch = unwatched,
    declared: Mapping[str, PlannedPolicy] | None = None,
) -> PlannedPolicy:
    """Plan a policy after what its ledger has of the dataset; a plan that was made to declare it is not made again."""
    made = (declared or {}).get(str(policy.asked))
    session = Session.of(
        policy.model(progress) if made is None else made.plan.model,
        ledger=ledger,
        history=history_in(ledger, policy),
        total=policy.ledger.total,
        adaptive=policy.ledger.adaptive,
        digests=None if made is None else made.session.digests,
    )
    if made is not None and not made.rest.releases:
        return PlannedPolicy(policy=policy, plan=made.plan, session=session)
    rest = session.earlier if session.own is None else None
    plan = _plan(policy, session.model, rest, progress, every=every, watch=watch)
    return PlannedPolicy(policy=policy, plan=plan, session=session)


def _plan(
    policy: Policy,
    model: QueryModel,
    rest: EarlierReleases | None,
    progress: Progress,
    *,
    every: bool,
    watch: Watch = unwatched,
) -> Plan:
    """Plan one query on its model with the mechanisms that the policy leaves."""
    with policy.file.at(("privacy", "weights")):
        return plan(
            model,
            policy.target,
            policy.assurance,
            policy.weights,
            prior=policy.prior,
            objective=policy.objective,
            max_error=policy.max_error,
            mechanisms=policy.allowed_mechanisms,
            all=every,
            after=rest if rest is not None and rest.releases else None,
            progress=progress,
            watch=watch,
        )


def plans_to_declare(
    ledger: Ledger | None, policy: Policy, progress: Progress = silent, *, approve: Approval | None = None
) -> dict[str, PlannedPolicy]:
    """Plan all queries of a policy that has several, unless the dataset has been asked or told before.

    Args:
        ledger: the ledger, if there is one yet.
        policy: the policy.
        progress: is told how far the work is.
        approve: is given every query's mechanism, as it will be declared, and its model; what it raises refuses.

    Raises:
        NotCertified: no mechanism holds for one of them, or there is no room for all.
    """
    if not _still_to_declare(policy, history_in(ledger, policy)):
        return {}
    plans = {}
    for found in _declaring(policy, ledger, progress):
        if found.plan.chosen is None:
            raise found.refusal()
        if approve is not None:
            made = found.rest.calibrated(found.plan.model, found.plan.mechanism, found.plan.assurance)[0]
            approve(made, found.plan.model)
        plans[str(found.policy.asked)] = found
    return plans


def _still_to_declare(policy: Policy, history: History) -> bool:
    return policy.declares and history.declaration is None and not history.entries


def _declaring(
    policy: Policy, ledger: Ledger | None, progress: Progress, *, every: bool = False
) -> Iterator[PlannedPolicy]:
    """Plan the queries of a policy one after the other, each after those before it."""
    past: tuple[EarlierRelease, ...] = ()
    history = history_in(ledger, policy)
    for left, question in zip(range(len(policy.questions) - 1, -1, -1), policy.questions, strict=True):
        one = policy.only(question.name)
        session = Session.of(one.model(progress), ledger=ledger, history=history, total=policy.ledger.total)
        session = evolve(
            session, earlier=EarlierReleases(releases=past, total=policy.ledger.total, questions="declared")
        )
        made = _plan(one, session.model, session.earlier, progress, every=every)
        yield PlannedPolicy(policy=one, plan=made, session=session)
        if left:
            noise = session.earlier.calibrated(made.model, made.mechanism, made.assurance)[0].noise
            past = (*past, EarlierRelease(query=question.query, noise=noise))
