"""A policy file: what to publish, what to hide, and how well; read once, and the library's own values ever after."""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal

from attrs import asdict, evolve, field, frozen

from distpriv.engines.engine import engine_for
from distpriv.errors import InvalidInput, InvalidPolicy
from distpriv.framework.queries import Query
from distpriv.framework.secrets import Secret, Share
from distpriv.framework.target import PrivacyTarget
from distpriv.guarantees.certificate import Trust
from distpriv.modelling.drawing import Drawing
from distpriv.modelling.from_rows import model
from distpriv.modelling.model import QueryModel
from distpriv.progress import Progress
from distpriv.releasing.fixed import Adaptive
from distpriv.workflow.policy_shape import checked_shape
from distpriv.workflow.policy_text import PolicyText
from distpriv.workflow.policy_values import (
    Question,
    adaptive,
    dataset,
    ledger_address,
    model_options,
    questions,
    records,
    secrets,
    sources,
    trust,
    weights,
)
from distpriv.workflow.statistics import statistic_text
from distpriv.workflow.targets import target, total
from distpriv.workflow.toml_places import KeyPath

__all__ = ["LedgerPolicy", "Policy", "policy_of", "read_policy"]


@frozen(kw_only=True)
class LedgerPolicy:
    """Where the releases of the dataset are kept, and the target that all of them together must meet."""

    url: str | None = field(repr=False)
    """Nothing where a bundle's policy withholds it."""
    total: PrivacyTarget
    adaptive: Adaptive = "refuse"
    """What to do about a question that was not declared before the first answer."""
    create: bool = False
    """Whether to make the ledger where there is none, and no trace of one."""


@frozen(kw_only=True)
class Policy:
    """A policy that has been read and converted; made by `read_policy`."""

    file: PolicyText
    dataset: str
    """What the ledger calls the private dataset."""
    records: int
    reference: str | None
    """Public rows; nothing when every secret brings tables of its own."""
    private: str | None = field(repr=False)
    """The rows to answer from; nothing where the policy does not say or a bundle withholds it."""
    questions: tuple[Question, ...]
    """Everything that is released of the dataset; several are declared before the first answer."""
    asked: str | None
    """Which of several this is about."""
    protected: tuple[Secret, ...]
    target: PrivacyTarget
    trust: Trust
    weighed: Mapping[str, float] | Literal["relative"] | None
    """How much the error of each statistic of any question counts."""
    ledger: LedgerPolicy
    options: Drawing

    @property
    def question(self) -> Question:
        """The question this is about.

        Raises:
            InvalidPolicy: there are several, and none was named.
        """
        if len(self.questions) == 1 and self.asked is None:
            return self.questions[0]
        named = [question for question in self.questions if question.name == self.asked]
        if self.asked is not None and named:
            return named[0]
        names = ", ".join(repr(question.name) for question in self.questions if question.name is not None)
        if self.asked is None:
            raise self.file.refusal(("release",), f"there are several releases, {names}: say which one with --only.")
        what = f"its releases are {names}" if names else "it has one without a name, so leave --only out"
        raise self.file.refusal(("release",), f"there is no release named {self.asked!r}: {what}.")

    @property
    def declares(self) -> bool:
        """Whether all questions are declared before the first answer."""
        return len(self.questions) > 1

    def only(self, name: str | None) -> "Policy":
        """Return the policy for one of its releases; with no name, for the only one."""
        found = evolve(self, asked=name)
        _ = found.question  # refuses a name that is not there
        return found

    @property
    def released(self) -> Query:
        """The statistics to release."""
        return self.question.query

    def query(self) -> Query:
        """Return the statistics to release."""
        return self.released

    @property
    def weights(self) -> Mapping[str, float] | Literal["relative"] | None:
        """How much the error of each released statistic counts."""
        if not isinstance(self.weighed, Mapping):
            return self.weighed
        return {name: weight for name, weight in self.weighed.items() if name in self.released.names}

    def secrets(self) -> list[Secret]:
        """Return what is protected, one secret for each [[protect]]."""
        return list(self.protected)

    def private_source(self) -> str:
        """Return where the private rows are, or refuse when the policy does not say."""
        if self.private is None:
            raise self.file.refusal(
                ("data", "private"), 'this is missing or withheld: write the source to release from, private = "…".'
            )
        return self.private

    def ledger_url(self) -> str:
        """Return where the ledger is, or refuse when a bundle's policy withholds it."""
        if self.ledger.url is None:
            raise self.file.refusal(("ledger", "url"), "this is withheld: write the address of the dataset's ledger.")
        return self.ledger.url

    def model(self, progress: Progress | None = None) -> QueryModel:
        """Return the model of the released statistics, from public tables alone."""
        for path, table in self._public_tables():
            with self.file.at(path):
                engine_for(table)
        try:
            return model(
                self.reference,
                self.released,
                self.protected,
                records=self.records,
                progress=progress,
                **asdict(self.options),
            )
        except InvalidInput as failure:
            raise self._refusal(failure) from failure

    def to_dict(self) -> dict[str, Any]:
        """Return the policy for JSON, with every default filled in and nothing of where private things are."""
        document = self.file.document
        return {
            "data": {"reference": document["data"].get("reference"), "id": self.dataset},
            "release": self._releases(),
            "protect": [dict(secret) for secret in document["protect"]],
            "privacy": {
                "epsilon": self.target.epsilon,
                "delta": self.target.delta,
                "trust": self.trust,
                "weights": dict(self.weighed) if isinstance(self.weighed, Mapping) else self.weighed,
            },
            "ledger": {
                "epsilon": self.ledger.total.epsilon,
                "delta": self.ledger.total.delta,
                "adaptive": self.ledger.adaptive,
            },
            "model": asdict(self.options),
        }

    def _releases(self) -> Any:
        """Return what is released, as a table or, where there are several or one has a name, a list of tables."""
        tables = [
            {
                **({} if question.name is None else {"name": question.name}),
                "records": self.records,
                "statistics": {name: statistic_text(statistic) for name, statistic in question.query.statistics},
            }
            for question in self.questions
        ]
        return tables if isinstance(self.file.document["release"], list) else tables[0]

    def _public_tables(self) -> Iterator[tuple[KeyPath, str]]:
        """Yield every table that the model is made from, by its key."""
        if self.reference is not None:
            yield ("data", "reference"), self.reference
        for number, secret in enumerate(self.protected):
            for name, table in secret.tables.items():
                yield ("protect", number, "scenarios", name), table

    def _refusal(self, failure: InvalidInput) -> InvalidPolicy:
        """Return what the model refused, by the key it is about."""
        message = str(failure)
        for name, _ in self.released.statistics:
            if message.startswith(f"statistic {name!r}"):
                path = (*self.question.path, "statistics", name)
                return self.file.refusal(path, message.removeprefix(f"statistic {name!r}: "))
        for number, secret in enumerate(self.protected):
            if isinstance(secret, Share) and (repr(secret.predicate) in message or f"{secret.predicate} @ " in message):
                return self.file.refusal(("protect", number, "share"), message.removeprefix("the secret: "))
        for path, table in self._public_tables():
            if repr(table) in message or f"scenario {path[-1]!r}" in message:
                return self.file.refusal(path, message)
        return self.file.refusal((), message)


def read_policy(path: str | os.PathLike[str]) -> Policy:
    """Read a policy file, or say in one sentence what is wrong with it and on which line.

    Paths in it are seen from its own folder. No table is opened.
    """
    file = PolicyText.read(path)
    return policy_of(file, Path(os.path.abspath(os.path.expanduser(path))).parent)


def policy_of(file: PolicyText, folder: Path) -> Policy:
    """Return what a policy's text means, its paths seen from a folder."""
    shape = checked_shape(file)
    count = records(file, shape.release)
    asked = questions(file, shape.release, count)
    hidden = secrets(file, shape.protect, count, folder)
    reference, private = sources(file, shape.data, hidden, folder)
    aim = target(file, "privacy", shape.privacy)
    return Policy(
        file=file,
        dataset=dataset(file, shape.data.id),
        records=count,
        reference=reference,
        private=private,
        questions=asked,
        asked=None,
        protected=hidden,
        target=aim,
        trust=trust(file, shape.privacy.trust),
        weighed=weights(file, shape.privacy.weights, asked),
        ledger=LedgerPolicy(
            url=ledger_address(file, shape.ledger.url, folder),
            total=total(file, shape.privacy, shape.ledger, aim),
            adaptive=adaptive(file, shape.ledger.adaptive),
            create=shape.ledger.create,
        ),
        options=model_options(file, shape.model),
    )
