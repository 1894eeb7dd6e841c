"""What every step from a plan to a record needs, read and computed once."""

from collections.abc import Mapping
from typing import Self

from attrs import evolve, field, frozen

from distpriv.errors import InvalidInput, InvalidModel
from distpriv.framework.queries import Query
from distpriv.framework.target import PrivacyTarget
from distpriv.ledger import Entry, History, Ledger, dataset_id
from distpriv.modelling.model import QueryModel
from distpriv.releasing.certified_laws import reference_digests
from distpriv.releasing.fixed import Adaptive, Fixed, earlier_of, fixed_questions
from distpriv.releasing.joint import EarlierReleases
from distpriv.releasing.written_queries import query_key, require_distinct

__all__ = ["Session", "named", "opened", "query_and_records"]


@frozen(kw_only=True)
class Session:
    """One query to one dataset: its history in the ledger, its model, and what it is certified together with."""

    ledger: Ledger | None = field(repr=False)
    """None where there is no ledger yet; `in_ledger` gives one before anything is released."""
    history: History = field(repr=False)
    """The releases of the dataset so far."""
    model: QueryModel = field(repr=False)
    digests: Mapping[str, str]
    """A digest of the reference that each scenario is drawn from."""
    total: PrivacyTarget
    """What all releases of the dataset may cost together."""
    adaptive: Adaptive
    earlier: EarlierReleases = field(repr=False)
    """The other queries of the dataset whose noise is fixed."""
    own: Fixed | None = field(default=None, repr=False)
    """The noise that the query has already, by an answer or by a declaration."""

    @classmethod
    def of(
        cls,
        model: QueryModel,
        *,
        ledger: Ledger | None,
        history: History,
        total: PrivacyTarget,
        adaptive: Adaptive = "refuse",
        seed: int | None = None,
        digests: Mapping[str, str] | None = None,
    ) -> Self:
        """Return the session of a model's query on a dataset with this history.

        Raises:
            BudgetSpent: the total or the protected pairs are not those of earlier releases.
            LawsChanged: the model is drawn from other tables, or in another way, than theirs.
            QuestionNotDeclared: the query may depend on earlier answers.
        """
        key = query_key(*query_and_records(model))
        digests = reference_digests(model) if digests is None else digests
        earlier = earlier_of(history, model, total, query_key=key, adaptive=adaptive, seed=seed, digests=digests)
        return cls(
            ledger=ledger,
            history=history,
            model=model,
            digests=digests,
            total=total,
            adaptive=adaptive,
            earlier=earlier,
            own=next((fixed for fixed in fixed_questions(history) if fixed.query_key == key), None),
        )

    @property
    def key(self) -> str:
        """What makes two queries the same."""
        return query_key(*query_and_records(self.model))

    @property
    def answered(self) -> Entry | None:
        """The release of the same query, if there was one: it will be shown again."""
        return None if self.own is None else self.own.entry

    @property
    def book(self) -> Ledger:
        """The ledger, which there is once something is released."""
        assert self.ledger is not None
        return self.ledger

    def in_ledger(self, ledger: Ledger) -> Self:
        """Return the session with the history as it is now; what was computed stays unless something was released."""
        history = ledger.history(self.history.dataset, self.history.continues)
        if _fixed_entries(history) == _fixed_entries(self.history):
            return evolve(self, ledger=ledger, history=history)
        return self.of(
            self.model,
            ledger=ledger,
            history=history,
            total=self.total,
            adaptive=self.adaptive,
            seed=self.earlier.seed,
            digests=self.digests,
        )

    def access(self) -> None:
        """Record that the private table will be read, before it is opened."""
        self.book.look(self.history, self.total, self.key)


def _fixed_entries(history: History) -> list[str]:
    return [entry.digest for entry in (*history.entries, history.declaration) if entry is not None]


def query_and_records(model: QueryModel) -> tuple[Query, int]:
    """Return what a model asks, and of how many records."""
    if model.query is None or model.provenance.records is None:
        raise InvalidModel("a release needs a model that was made from rows: make it with distpriv.model(…).")
    require_distinct(model.query)
    return model.query, model.provenance.records


def opened(ledger: str | Ledger) -> Ledger:
    """Return a ledger that is given by its URL or itself."""
    return ledger if isinstance(ledger, Ledger) else Ledger.open(ledger)


def named(dataset: object) -> str:
    """Return the id of a dataset as the ledger writes it, or say that it needs one."""
    if not isinstance(dataset, str) or not dataset.strip():
        raise InvalidInput(f"a ledger knows a dataset by its id, got {dataset!r}: write dataset='hospital-2026'.")
    return dataset_id(dataset)
