"""Questions whose noise is fixed: those that a dataset has answered, and those that were declared before.

What the ledger holds of either is the same: the statistics, the noise, the pairs and laws it was certified on, and what
was promised. A declared question has no answer yet, and counts all the same: the promise is about all of them.
"""

from collections.abc import Mapping
from typing import Any, Literal, Self

from attrs import evolve, field, frozen

from distpriv.errors import BudgetSpent, InvalidInput, QuestionNotDeclared
from distpriv.framework.queries import Query
from distpriv.framework.records import plain
from distpriv.framework.target import PrivacyTarget
from distpriv.guarantees.certificate import Certificate
from distpriv.guarantees.mechanism import AdditiveMechanism
from distpriv.ledger import Entry, History
from distpriv.modelling.model import QueryModel
from distpriv.noise.laws import NoiseLaw
from distpriv.releasing.certified_laws import reference_digests, require_same_laws
from distpriv.releasing.immunity import may_be_immune
from distpriv.releasing.joint import EarlierRelease, EarlierReleases, Questions
from distpriv.releasing.record import CERTIFICATE, NOISE, WITNESS
from distpriv.releasing.written_queries import definitions, query_from_dict, query_to_dict

__all__ = ["Adaptive", "Fixed", "commitment_to_dict", "earlier_of", "fixed_questions", "named_by"]

Adaptive = Literal["refuse", "assumed", "immune"]
"""What to do about a question that was not declared before the first answer.

`refuse` it, unless the noise of all releases is immune; go on and state it as `assumed` that no question depends on an
answer; or use `immune` noise from the first release on.
"""


@frozen(kw_only=True)
class Fixed:
    """One question of a dataset whose noise is fixed."""

    query_key: str
    content: Mapping[str, Any] = field(repr=False)
    """What the ledger holds of it."""
    joint: Mapping[str, Any] = field(repr=False)
    """What holds the certificate of all questions that it was certified with: its own content or the declaration's."""
    entry: Entry | None = field(repr=False)
    """Its answer, if it has one."""
    declared: bool
    place: int | None = None
    """Where it stands among the declared questions."""

    @classmethod
    def answered(cls, entry: Entry) -> Self:
        """Return the question of an answer that was not declared."""
        assert entry.query_key is not None
        return cls(query_key=entry.query_key, content=entry.content, joint=entry.content, entry=entry, declared=False)

    @property
    def position(self) -> int | None:
        """The number of its answer among the releases of the dataset."""
        return None if self.entry is None else self.entry.position

    @property
    def noise(self) -> NoiseLaw:
        """The law of the noise that its answer has, or will have."""
        return NOISE.of(self.content["noise"])

    @property
    def laws(self) -> Mapping[str, Any]:
        """What it was certified on."""
        return dict(self.content["laws"])

    @property
    def pairs(self) -> frozenset[tuple[str, ...]]:
        """The pairs that it was certified for."""
        return frozenset(tuple(pair) for pair in self.content["protected_pairs"])

    def certificate(self) -> Certificate:
        """Return what was promised about it alone."""
        return _certificate(self.content, "certificate", "release")

    def joint_certificate(self) -> Certificate:
        """Return what was promised about all questions that it was certified with."""
        return _certificate(self.joint, "joint_certificate", "joint")

    def mechanism(self, asked: Query) -> AdditiveMechanism:
        """Return its noise, with the statistics called as in the query that asks."""
        names = named_by(self.content, asked)
        return AdditiveMechanism(
            name=self.content["mechanism"],
            statistics=tuple(names.values()),
            noise=self.noise,
            certificate=self.certificate(),
        )

    def stored_query(self, asked: Query) -> Query:
        """Return the query as it was asked then."""
        return _query_of(self.content, asked)

    def as_earlier(self, asked: Query | None) -> EarlierRelease:
        """Return it as something that another question is certified together with."""
        query = _query_of(self.content, asked)
        return EarlierRelease(
            query=query,
            noise=self.noise,
            position=self.position,
            values=None if self.entry is None else _answer(self.entry.content, query, asked),
            laws=self.laws,
        )


def fixed_questions(history: History) -> tuple[Fixed, ...]:
    """Return all questions of a dataset whose noise is fixed: those declared, then the others as they were answered."""
    answered = {entry.query_key: entry for entry in history.entries}
    found = []
    blocks = () if history.declaration is None else history.declaration.content["blocks"]
    for place, block in enumerate(blocks):
        entry = answered.pop(block["query_key"], None)
        found.append(
            Fixed(
                query_key=block["query_key"],
                content=block,
                joint=history.declaration.content,  # type: ignore[union-attr]
                entry=entry,
                declared=True,
                place=place,
            )
        )
    return (*found, *map(Fixed.answered, answered.values()))


def earlier_of(
    history: History,
    model: QueryModel,
    total: PrivacyTarget,
    *,
    query_key: str | None = None,
    adaptive: Adaptive = "refuse",
    seed: int | None = None,
    digests: Mapping[str, str] | None = None,
) -> EarlierReleases:
    """Return what a model has to be certified together with: all fixed questions of the dataset but its own.

    The key of the question is given if its own noise may be fixed already, and digests of the reference if known.

    Raises:
        BudgetSpent: the total or the protected pairs are not those of earlier releases.
        LawsChanged: the model is drawn from other tables, or in another way, than theirs.
        QuestionNotDeclared: the question may depend on earlier answers.
    """
    history.check_total(total)
    fixed = fixed_questions(history)
    if digests is None:
        digests = reference_digests(model) if fixed else {}
    for question in fixed:
        _require_compatible(question, history.dataset, model, digests)
    others = tuple(question for question in fixed if question.query_key != query_key)
    own = next((question for question in fixed if question.query_key == query_key), None)
    releases = tuple(question.as_earlier(model.query) for question in others)
    questions = _why_safe(history, own, others, adaptive)
    return EarlierReleases(releases=releases, total=total, seed=seed, questions=questions)


def _require_compatible(question: Fixed, dataset: str, model: QueryModel, digests: Mapping[str, str]) -> None:
    which = f"{_words(question)} of dataset {dataset!r}"
    if question.content["records"] != model.provenance.records:
        raise InvalidInput(
            f"the ledger knows dataset {dataset!r} with another number of records: the same id is for the same data, "
            "so give other data another id."
        )
    lost = question.pairs - {tuple(pair) for pair in model.protected_pairs}
    if lost:
        one, other = sorted(lost)[0]
        raise BudgetSpent(
            f"{which} protects {one!r} against {other!r}, and this one does not: protect at least what all earlier "
            "releases do."
        )
    require_same_laws(question.laws, model, digests, which)


def _why_safe(history: History, own: Fixed | None, others: tuple[Fixed, ...], adaptive: Adaptive) -> Questions:
    """Return why it is no danger that questions may depend on answers, or refuse the question."""
    hides_all = all(may_be_immune(question.noise) for question in others)
    if own is not None:
        if all(question.declared for question in (own, *others)):
            return "declared"
        if not others:
            return "first"
        return "immune" if hides_all and may_be_immune(own.noise) else "assumed"
    if history.declaration is not None:
        raise QuestionNotDeclared(_undeclared(history, others))
    if adaptive == "assumed" and others:
        return "assumed"
    if adaptive == "immune" or (others and hides_all):
        if hides_all:
            return "immune"
    elif not others:
        return "first"
    raise QuestionNotDeclared(_undeclared(history, others))


def _undeclared(history: History, others: tuple[Fixed, ...]) -> str:
    answered = sum(question.entry is not None for question in others)
    many = f"{answered} question{'' if answered == 1 else 's'}"
    if history.declaration is not None:
        return (
            f"all questions of dataset {history.dataset!r} were declared before the first answer, and this is none of "
            "them: ask what was declared, since nothing can be added without taking back what was promised."
        )
    return (
        f"dataset {history.dataset!r} has answered {many} already, and this one was not declared before the first "
        'answer: ask the same again, or say adaptive = "assumed" if this one does not depend on an answer.'
    )


def commitment_to_dict(model: QueryModel, mechanism: AdditiveMechanism) -> dict[str, Any]:
    """Return what the ledger holds of a question and its noise, before there is an answer."""
    assert model.query is not None
    return {
        "query": query_to_dict(model.query),
        "records": model.provenance.records,
        "protected_pairs": [list(pair) for pair in model.protected_pairs],
        "mechanism": mechanism.name,
        "noise": plain(mechanism.noise),
        "certificate": plain(mechanism.certificate),
    }


def named_by(content: Mapping[str, Any], asked: Query) -> dict[str, str]:
    """Return what the query that asks calls each number of a stored one, in the stored order."""
    stored = _query_of(content, asked)
    called = dict(zip(definitions(asked), asked.names, strict=True))
    return {old: called[what] for what, old in zip(definitions(stored), stored.names, strict=True)}


def _certificate(content: Mapping[str, Any], key: str, drawn: str) -> Certificate:
    written = content["drawn"].get(drawn)
    return evolve(CERTIFICATE.of(content[key]), drawn=None if written is None else WITNESS.of(written))


def _answer(content: Mapping[str, Any], query: Query, asked: Query | None) -> tuple[float, ...]:
    """Return what was answered, in the order of a query that asks the same, perhaps by other names."""
    stored = _query_of(content, asked)
    known = dict(zip(definitions(stored), (content["values"][name] for name in stored.names), strict=True))
    return tuple(known[what] for what in definitions(query))


def _query_of(content: Mapping[str, Any], asked: Query | None) -> Query:
    """Return the query of an entry; one with functions is that which asks, if they are the same."""
    if asked is not None and content["query"] == query_to_dict(asked):
        return asked
    return query_from_dict(content["query"])


def _words(question: Fixed) -> str:
    return "a declared question" if question.position is None else f"release {question.position}"
