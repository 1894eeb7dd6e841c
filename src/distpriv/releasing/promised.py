"""What holds for an answer: noise that is made for it, or noise that its question has already.

A question that is asked for the first time gets its plan's noise, as wide as all releases of the dataset need it. One
that was declared or answered has its noise, which nobody can change: it is held against what is asked for now.
"""

from collections.abc import Mapping
from typing import Any

from attrs import evolve, frozen

from distpriv.errors import InvalidInput, NotCertified
from distpriv.framework.queries import Query
from distpriv.framework.target import PrivacyTarget
from distpriv.guarantees.certificate import Assurance, Certificate
from distpriv.guarantees.evidence import Evidence
from distpriv.guarantees.mechanism import AdditiveMechanism
from distpriv.ledger import History
from distpriv.modelling.from_rows import remodelled
from distpriv.modelling.model import QueryModel
from distpriv.planning.plan import Plan
from distpriv.releasing.fixed import Fixed
from distpriv.releasing.joint import EarlierReleases
from distpriv.releasing.private import reading_evidence
from distpriv.releasing.written_queries import definitions, has_functions, query_to_dict

__all__ = [
    "DRAWN",
    "Promise",
    "in_order_of",
    "newly_promised",
    "promised_already",
    "promised_without_ledger",
    "with_reading",
]

DRAWN = Evidence.of("DP325")
"""What every release rests on, whatever its mechanism."""


@frozen(kw_only=True)
class Promise:
    """A mechanism to answer with, the model in its order, and what holds for all releases together."""

    mechanism: AdditiveMechanism
    model: QueryModel
    joint: Certificate
    earlier: EarlierReleases


def newly_promised(plan: Plan, earlier: EarlierReleases) -> Promise:
    """Return the plan's mechanism with noise as wide as all releases together need it."""
    mechanism, joint = earlier.calibrated(plan.model, plan.mechanism, plan.assurance)
    return Promise(mechanism=with_reading(mechanism, plan.model), model=plan.model, joint=joint, earlier=earlier)


def promised_already(own: Fixed, plan: Plan, earlier: EarlierReleases, history: History) -> Promise:
    """Return the noise that a question has already, with what it promises to the plan that asks now.

    Raises:
        NotCertified: it does not promise what the plan asks for.
    """
    assert plan.model.query is not None
    _require_same_details(own, plan.model.query)
    mechanism = own.mechanism(plan.model.query)
    model = in_order_of(mechanism, plan.model)
    covered = own.pairs >= {tuple(pair) for pair in model.protected_pairs}
    if has_functions(plan.model.query):
        if not covered:
            raise NotCertified(
                "this question has a function and was given its noise for other scenarios than are protected now: "
                "protect the same again, or write another version of the function."
            )
        return _promised_as_it_was(own, plan, mechanism, model, earlier)
    certificate = _promised_alone(own, plan, model, mechanism, earlier.seed, covered=covered)
    joint = own.joint_certificate()
    same = earlier.questions == "declared" if own.declared else own.position == len(history.entries)
    if not earlier.releases and earlier.questions != "immune" and _within(certificate, earlier.total, plan.assurance):
        joint = evolve(certificate, evidence=_of_mechanism(certificate))
    elif covered and same and _within(joint, earlier.total, plan.assurance):
        earlier = evolve(earlier, place=own.place)
    else:
        joint = earlier.certified(model, mechanism, plan.assurance)
    certificate, joint = evolve(certificate, target=plan.target), evolve(joint, target=earlier.total)
    _require_held(
        own, plan.assurance, {"this question alone": certificate, "all questions of the dataset together": joint}
    )
    held = with_reading(evolve(mechanism, certificate=certificate), model)
    return Promise(mechanism=held, model=model, joint=joint, earlier=earlier)


def _promised_as_it_was(
    own: Fixed, plan: Plan, mechanism: AdditiveMechanism, model: QueryModel, earlier: EarlierReleases
) -> Promise:
    """Return what was promised of a question with a function, and nothing that is certified anew.

    A ledger knows a function by its version: the code of today may be another than that of the stored answer.
    """
    certificate = evolve(mechanism.certificate, target=plan.target)
    joint = evolve(own.joint_certificate(), target=earlier.total)
    _require_held(
        own, plan.assurance, {"this question alone": certificate, "all questions of the dataset together": joint}
    )
    held = with_reading(evolve(mechanism, certificate=certificate), model)
    return Promise(mechanism=held, model=model, joint=joint, earlier=evolve(earlier, place=own.place))


def _promised_alone(
    own: Fixed, plan: Plan, model: QueryModel, mechanism: AdditiveMechanism, seed: int | None, *, covered: bool
) -> Certificate:
    """Return what holds for a question alone: what was promised, or what is certified anew for another target."""
    certificate = own.certificate()
    promised = covered and _within(certificate, plan.target, plan.assurance)
    if promised and certificate.target == plan.target:
        return certificate
    nothing = EarlierReleases(releases=(), total=plan.target, seed=seed, questions="first")
    anew = nothing.certified(model, mechanism, plan.assurance)
    return anew if anew.holds_at(plan.assurance) or not promised else certificate


def _require_held(own: Fixed, assurance: Assurance, certificates: Mapping[str, Certificate]) -> None:
    """Refuse a question whose noise does not hold what is asked for now."""
    which = f"release {own.position}" if own.entry is not None else "the noise that was declared"
    for what, found in certificates.items():
        if not found.holds_at(assurance):
            raise NotCertified(
                f"this question has been given its noise, which cannot be changed, and {which} does not hold what is "
                f"asked for now: for {what} it has delta = {found.delta:.3g} at epsilon = {found.epsilon:g} and "
                f"assurance {found.assurance!r}, and the policy allows {found.target.delta:g} at "
                f"{found.target.epsilon:g} and asks for {assurance!r}."
            )


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


def _within(certificate: Certificate, target: PrivacyTarget, assurance: Assurance) -> bool:
    """Tell whether what was promised once is as much as is asked for now."""
    return evolve(certificate, target=target).holds_at(assurance)


def with_reading(mechanism: AdditiveMechanism, model: QueryModel) -> AdditiveMechanism:
    """Return the mechanism with a certificate that says where rows come from and how they are read, once."""
    said = (*_of_mechanism(mechanism.certificate), DRAWN, reading_evidence(model))
    return evolve(mechanism, certificate=evolve(mechanism.certificate, evidence=said))


def _of_mechanism(certificate: Certificate) -> tuple[Evidence, ...]:
    """Return what a certificate rests on but for where rows come from and how they are read."""
    return tuple(evidence for evidence in certificate.evidence if evidence.code not in ("DP110", "DP325"))


def promised_without_ledger(plan: Plan) -> Promise:
    """Return the plan's mechanism for a release that no ledger remembers."""
    certificate = plan.mechanism.certificate
    said = evolve(certificate, evidence=(*certificate.evidence, Evidence.of("DP326")))
    mechanism = with_reading(evolve(plan.mechanism, certificate=said), plan.model)
    nothing = EarlierReleases(releases=(), total=plan.target, questions="alone")
    return Promise(mechanism=mechanism, model=plan.model, joint=mechanism.certificate, earlier=nothing)


def in_order_of(mechanism: AdditiveMechanism, model: QueryModel) -> QueryModel:
    """Return the model with its statistics in the order of a mechanism; a question may be asked again in another."""
    if mechanism.statistics == model.names:
        return model
    if model.query is None or set(mechanism.statistics) != set(model.names):
        raise InvalidInput("the mechanism is of other statistics than the model: plan the same policy again.")
    return remodelled(model, model.query.in_order_of(mechanism.statistics))
