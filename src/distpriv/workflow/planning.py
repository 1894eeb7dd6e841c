"""From a policy to a plan: every mechanism on the policy's model, after what has been released before."""

from attrs import evolve, field, frozen

from distpriv.errors import BudgetSpent, InvalidInput, NotCertified
from distpriv.framework.queries import Query
from distpriv.guarantees.mechanism import AdditiveMechanism
from distpriv.modelling.from_rows import remodelled
from distpriv.modelling.model import QueryModel
from distpriv.planning.plan import Plan, plan
from distpriv.progress import Progress, silent
from distpriv.releasing.ledger import Entry, History
from distpriv.releasing.queries import query_key
from distpriv.releasing.release import Release, together
from distpriv.workflow.ledgers import history_of
from distpriv.workflow.policy import Policy, read_policy

__all__ = ["PlannedPolicy", "in_order_of", "plan_policy", "planned", "until"]


@frozen(kw_only=True)
class PlannedPolicy:
    """A policy with its plan, and what the ledger holds of its dataset."""

    policy: Policy
    plan: Plan
    before: History = field(repr=False)
    """The releases that this one comes after."""
    answered: Entry | None = field(repr=False)
    """The release of the same query, if there was one: it will be shown again."""

    def refusal(self) -> NotCertified:
        """Return why there is nothing to release, with what the least error was refused for."""
        asked = f"epsilon = {self.plan.target.epsilon:g}, delta = {self.plan.target.delta:g}"
        spent = [refusal.reason for refusal in self.plan.refusals if "no room for" in refusal.reason]
        if self.before.entries and spent:
            return BudgetSpent(spent[0])
        return NotCertified(
            f"no mechanism meets {asked} at trust {self.plan.trust!r}: run distpriv plan on the policy to see why, and "
            "ask for a larger epsilon or delta, or for less trust."
        )

    def mechanism(self) -> tuple[AdditiveMechanism, QueryModel]:
        """Return the mechanism that was released, or else the one that would be, and the model in its order."""
        if self.answered is None:
            return self.plan.mechanism, self.plan.model
        released = Release.of(self.answered, self.policy.query(), repeated=True).mechanism
        return released, in_order_of(released, self.plan.model)


def plan_policy(path: str, progress: Progress = silent) -> PlannedPolicy:
    """Plan what a policy asks for."""
    return planned(read_policy(path), progress)


def planned(policy: Policy, progress: Progress = silent) -> PlannedPolicy:
    """Plan a policy that was read."""
    history = history_of(policy)
    answered = history.answer_to(query_key(policy.query(), policy.records))
    before = history if answered is None else until(history, answered.position)
    model = policy.model(progress)
    earlier = together(before, model, policy.ledger.total) if before.entries else None
    with policy.file.at(("privacy", "weights")):
        made = plan(model, policy.target, policy.trust, policy.weights, after=earlier, progress=progress)
    return PlannedPolicy(policy=policy, plan=made, before=before, answered=answered)


def until(history: History, position: int | None) -> History:
    """Return the releases before one of them."""
    assert position is not None  # every release has one
    return evolve(history, entries=history.entries[: position - 1])


def in_order_of(mechanism: AdditiveMechanism, model: QueryModel) -> QueryModel:
    """Return the model with its statistics in the order of a mechanism; a question may be asked again in another."""
    if mechanism.statistics == model.names:
        return model
    if model.query is None or set(mechanism.statistics) != set(model.names):
        raise InvalidInput("the mechanism is of other statistics than the model: plan the same policy again.")
    asked = dict(model.query.statistics)
    return remodelled(model, Query([(name, asked[name]) for name in mechanism.statistics]))
