"""From a policy to a plan: every mechanism on the policy's model, after what has been fixed before."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from attrs import field, frozen

from distpriv.errors import BudgetSpent, NotCertified
from distpriv.framework.records import plain
from distpriv.guarantees.mechanism import AdditiveMechanism
from distpriv.ledger import Entry, History
from distpriv.modelling.model import QueryModel
from distpriv.planning.option import Watch, unwatched
from distpriv.planning.plan import Plan, plan
from distpriv.policy import Policy, read_policy
from distpriv.progress import Progress, silent
from distpriv.releasing.certified_laws import reference_digests
from distpriv.releasing.declaring import Declaration, declare
from distpriv.releasing.fixed import Fixed, earlier_of, fixed_questions
from distpriv.releasing.joint import EarlierRelease, EarlierReleases
from distpriv.releasing.promised import in_order_of
from distpriv.releasing.record import ModelRecord
from distpriv.releasing.release import Approval
from distpriv.releasing.written_queries import query_key
from distpriv.workflow.ledgers import history_of, opened_ledger

__all__ = ["PlannedPolicy", "declare_policy", "each_plan_once", "plan_policy", "planned"]

_MADE: ContextVar[dict[str, Plan] | None] = ContextVar("plans made", default=None)
"""Plans without earlier releases, by all that they depend on, the content of the reference included."""


@frozen(kw_only=True)
class PlannedPolicy:
    """A policy with its plan, and what its question is certified together with."""

    policy: Policy
    plan: Plan
    rest: EarlierReleases = field(repr=False)
    """The other questions of the dataset whose noise is fixed."""
    fixed: Fixed | None = field(repr=False)
    """The noise that the question has already, by an answer or by a declaration."""

    @property
    def answered(self) -> Entry | None:
        """The release of the same query, if there was one: it will be shown again."""
        return None if self.fixed is None else self.fixed.entry

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
    history = history_of(policy)
    if _still_to_declare(policy, history):
        plans = _declaring(policy, progress, every=every)
        return next(found for found in plans if found.policy.asked == policy.asked)
    model = policy.model(progress)
    key = query_key(policy.query(), policy.records)
    rest = earlier_of(history, model, policy.ledger.total, query_key=key, adaptive=policy.ledger.adaptive)
    fixed = next((question for question in fixed_questions(history) if question.query_key == key), None)
    made = _plan(policy, model, rest if fixed is None else None, progress, every=every, watch=watch)
    return PlannedPolicy(policy=policy, plan=made, rest=rest, fixed=fixed)


@contextmanager
def each_plan_once() -> Iterator[None]:
    """Make no plan twice inside, as declaring and releasing would: of one question on the same rows."""
    outer = _MADE.get()
    token = _MADE.set({} if outer is None else outer)
    try:
        yield
    finally:
        _MADE.reset(token)


def _plan(
    policy: Policy,
    model: QueryModel,
    rest: EarlierReleases | None,
    progress: Progress,
    *,
    every: bool,
    watch: Watch = unwatched,
) -> Plan:
    """Plan one question on its model with the mechanisms that the policy leaves."""
    after, made = rest if rest is not None and rest.releases else None, _MADE.get()
    key = None
    if made is not None and after is None and (rows := reference_digests(model)):
        key = json.dumps([policy.to_dict(), policy.asked, every, plain(ModelRecord.of(model)), rows], default=str)
        if key in made:
            return made[key]
    with policy.file.at(("privacy", "weights")):
        found = plan(
            model,
            policy.target,
            policy.assurance,
            policy.weights,
            prior=policy.prior,
            objective=policy.objective,
            max_error=policy.max_error,
            mechanisms=policy.allowed_mechanisms,
            all=every,
            after=after,
            progress=progress,
            watch=watch,
        )
    if made is not None and key is not None:
        made[key] = found
    return found


def declare_policy(
    policy: Policy, progress: Progress = silent, *, approve: Approval | None = None
) -> Declaration | None:
    """Declare all questions of a policy that has several, unless the dataset has been asked or told before.

    Args:
        policy: the policy.
        progress: is told how far the work is.
        approve: is given every question's mechanism, as it will be declared, and its model; what it raises refuses.

    Raises:
        NotCertified: no mechanism holds for one of them, or there is no room for all.
    """
    if not _still_to_declare(policy, history_of(policy)):
        return None
    plans = {}
    for found in _declaring(policy, progress):
        if found.plan.chosen is None:
            raise found.refusal()
        if approve is not None:
            made = found.rest.calibrated(found.plan.model, found.plan.mechanism, found.plan.assurance)[0]
            approve(made, found.plan.model)
        plans[str(found.policy.asked)] = found.plan
    return declare(
        plans,
        ledger=opened_ledger(policy),
        dataset=policy.dataset,
        total=policy.ledger.total,
        continues=policy.continues,
    )


def _still_to_declare(policy: Policy, history: History) -> bool:
    return policy.declares and history.declaration is None and not history.entries


def _declaring(policy: Policy, progress: Progress, *, every: bool = False) -> Iterator[PlannedPolicy]:
    """Plan the questions of a policy one after the other, each after those before it."""
    past: tuple[EarlierRelease, ...] = ()
    for left, question in zip(range(len(policy.questions) - 1, -1, -1), policy.questions, strict=True):
        one = policy.only(question.name)
        model = one.model(progress)
        rest = EarlierReleases(releases=past, total=policy.ledger.total, questions="declared")
        made = _plan(one, model, rest, progress, every=every)
        yield PlannedPolicy(policy=one, plan=made, rest=rest, fixed=None)
        if left:
            noise = rest.calibrated(made.model, made.mechanism, made.assurance)[0].noise
            past = (*past, EarlierRelease(query=question.query, noise=noise))
