"""A policy file: what to publish, what to hide, and how well; read once, and the library's own values ever after."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from attrs import asdict, evolve, field, frozen

from distpriv.auditing.report import AuditRule
from distpriv.engines.engine import engine_for
from distpriv.errors import About, InvalidInput
from distpriv.framework.queries import Query
from distpriv.framework.secrets import AcrossReferences, Combinations, Secret, Share, TiltedSecret, protect
from distpriv.framework.target import PrivacyTarget
from distpriv.guarantees.certificate import Assurance
from distpriv.modelling.drawing import Drawing
from distpriv.modelling.from_rows import model
from distpriv.modelling.model import QueryModel
from distpriv.modelling.tables import gathered, labelled
from distpriv.modelling.utility import Objective
from distpriv.progress import Progress
from distpriv.releasing.fixed import Adaptive
from distpriv.workflow.policy import values
from distpriv.workflow.policy.protecting import in_order, secrets
from distpriv.workflow.policy.shape import checked_shape
from distpriv.workflow.policy.targets import target, total
from distpriv.workflow.policy.toml_places import KeyPath
from distpriv.workflow.policy.toml_text import PolicyText
from distpriv.workflow.policy.values import Question

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
    assurance: Assurance
    weighed: Mapping[str, float] | Literal["relative", "units"]
    """How much the error of each statistic of any question counts."""
    prior: Mapping[str, float] | None
    """The probability of each scenario, for estimates; the same for all where nothing is said."""
    objective: Objective
    """What mechanisms are compared by."""
    limits: Mapping[str, float]
    """The largest error of statistics of any question with which a release is of use."""
    mechanisms: tuple[str, ...] | None
    """What a plan may choose from; all mechanisms where nothing is said."""
    audit: AuditRule
    """Whether nothing may be released that was not attacked."""
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

    def query(self) -> Query:
        """Return the statistics to release."""
        return self.question.query

    @property
    def weights(self) -> Mapping[str, float] | Literal["relative", "units"]:
        """How much the error of each released statistic counts."""
        if not isinstance(self.weighed, Mapping):
            return self.weighed
        return {name: weight for name, weight in self.weighed.items() if name in self.query().names}

    @property
    def max_error(self) -> dict[str, float]:
        """The largest error of the released statistics with which the release is of use."""
        return {name: most for name, most in self.limits.items() if name in self.query().names}

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
        places = self._places()
        try:
            return model(
                self.reference,
                self.query(),
                self.protected,
                records=self.records,
                progress=progress,
                **asdict(self.options),
            )
        except InvalidInput as failure:
            place = () if failure.about is None else places.get(failure.about, ())
            raise self.file.refusal(place, failure.sentence) from failure

    def to_dict(self) -> dict[str, Any]:
        """Return the policy for JSON, with every default filled in and nothing of where private things are."""
        document = self.file.document
        return {
            "data": {
                "reference": document["data"].get("reference"),
                "id": self.dataset,
                **({"robust": list(document["data"]["robust"])} if document["data"].get("robust") else {}),
            },
            "release": self._releases(),
            "protect": [dict(secret) for secret in document["protect"]],
            "privacy": {
                "epsilon": self.target.epsilon,
                "delta": self.target.delta,
                "assurance": self.assurance,
                "weights": dict(self.weighed) if isinstance(self.weighed, Mapping) else self.weighed,
                **({} if self.prior is None else {"prior": dict(self.prior)}),
                **({} if self.objective == "estimate" else {"objective": self.objective}),
                **({"max_error": dict(self.limits)} if self.limits else {}),
                **({} if self.mechanisms is None else {"mechanisms": list(self.mechanisms)}),
                "audit": self.audit,
            },
            "ledger": {
                "epsilon": self.ledger.total.epsilon,
                "delta": self.ledger.total.delta,
                "adaptive": self.ledger.adaptive,
            },
            "model": self.options.written,
        }

    def _releases(self) -> Any:
        """Return what is released, as a table or, where there are several or one has a name, a list of tables."""
        tables = [
            {
                **({} if question.name is None else {"name": question.name}),
                **({} if question.title is None else {"title": question.title}),
                **({} if question.license is None else {"license": question.license}),
                "records": self.records,
                "statistics": _plain(question.query),
                **({"tables": _tables(question.query)} if question.query.tables else {}),
            }
            for question in self.questions
        ]
        return tables if isinstance(self.file.document["release"], list) else tables[0]

    def _places(self) -> Mapping[About, KeyPath]:
        """Open every table that the model is made from, and return the key of all that the model may refuse."""
        found: dict[About, KeyPath] = {("option", key): ("model", key) for key in ("weight", "replacement", "robust")}
        tables: list[tuple[KeyPath, str]] = []
        if self.reference is not None:
            tables.append((("data", "reference"), self.reference))
        singles: list[tuple[int, Secret]] = []
        for numbers, given in zip(in_order(self.file.document["protect"]), self.protected, strict=True):
            whole = given.secret if isinstance(given, AcrossReferences) else given
            if isinstance(given, AcrossReferences):
                tables += [(("data", "robust", place), table) for place, table in enumerate(given.others)]
            if isinstance(whole, Combinations):
                found[("property", whole.named[0])] = ("protect", numbers[0])
            singles += zip(numbers, whole.secrets if isinstance(whole, Combinations) else (whole,), strict=True)
        for number, secret in singles:
            if isinstance(secret, Share):
                found.setdefault(("share", secret.predicate), ("protect", number, "share"))
                found |= {("property", named): ("protect", number, "share") for named in secret.named}
                continue
            key = "scenarios"
            if isinstance(secret, TiltedSecret):
                key = "shift" if secret.tables else secret.kind
                found |= {("property", each): ("protect", number, key) for each in secret.named}
            for name, table in secret.tables.items():
                found.setdefault(("scenario", name), ("protect", number, key, name))
                tables.append((("protect", number, key, name), table))
        for path, table in tables:
            with self.file.at(path):
                found.setdefault(("table", engine_for(table).description), path)
        asked = self.question
        for key, each in asked.query.tables:
            found |= dict.fromkeys([("statistic", name) for name in each.names(key)], (*asked.path, "tables", key))
        return found | {("statistic", name): (*asked.path, "statistics", name) for name in _plain(asked.query)}


def _plain(query: Query) -> dict[str, str]:
    """Return the statistics that are in no table, as they are written."""
    cells = {name for key, each in query.tables for name in each.names(key)}
    return {name: statistic.text for name, statistic in query.statistics if name not in cells}


def _tables(query: Query) -> dict[str, dict[str, Any]]:
    return {name: each.to_dict() for name, each in query.tables}


def read_policy(path: str | os.PathLike[str]) -> Policy:
    """Read a policy file, or say in one sentence what is wrong with it and on which line.

    Paths in it are seen from its own folder. A public table is opened only where it tells the labels of a table.
    """
    file = PolicyText.read(path)
    return policy_of(file, Path(os.path.abspath(os.path.expanduser(path))).parent)


def policy_of(file: PolicyText, folder: Path) -> Policy:
    """Return what a policy's text means, its paths seen from a folder."""
    shape = checked_shape(file)
    count = values.records(file, shape.release)

    def label(query: Query) -> Query:
        hidden = secrets(file, shape.protect, count, folder, shape.data.robust)
        reference, _ = values.sources(file, shape.data, hidden, folder)
        public = [reference, *(table for secret in hidden for table in secret.tables.values())]
        options = values.model_options(file, shape.model, hidden, count)
        query = gathered(query, reference, protect(hidden, count), options)
        return labelled(query, [table for table in public if table is not None], options.missing)

    asked = values.questions(file, shape.release, count, label)
    hidden = secrets(file, shape.protect, count, folder, shape.data.robust)
    reference, private = values.sources(file, shape.data, hidden, folder)
    aim = target(file, "privacy", shape.privacy)
    return Policy(
        file=_with_labels(file, asked),
        dataset=values.dataset(file, shape.data.id),
        records=count,
        reference=reference,
        private=private,
        questions=asked,
        asked=None,
        protected=hidden,
        target=aim,
        assurance=values.assurance(file, shape.privacy.assurance),
        weighed=values.weights(file, shape.privacy.weights, asked),
        prior=values.prior(file, shape.privacy.prior, hidden, count),
        objective=values.objective(file, shape.privacy.objective),
        limits=values.max_errors(file, shape.privacy.max_error, asked),
        mechanisms=values.mechanisms(file, shape.privacy, shape.ledger.adaptive),
        audit=values.audit_rule(file, shape.privacy.audit),
        ledger=LedgerPolicy(
            url=values.ledger_address(file, shape.ledger.url, folder),
            total=total(file, shape.privacy, shape.ledger, aim),
            adaptive=values.adaptive(file, shape.ledger.adaptive),
            create=shape.ledger.create,
        ),
        options=values.model_options(file, shape.model, hidden, count),
    )


def _with_labels(file: PolicyText, asked: Sequence[Question]) -> PolicyText:
    """Return a policy's text with the labels of its tables among its values, so that it can be read without a table."""
    if not any(question.query.tables for question in asked):
        return file
    given = file.document["release"]
    written = [
        {**table, "tables": _tables(question.query)} if question.query.tables else table
        for table, question in zip(given if isinstance(given, list) else [given], asked, strict=True)
    ]
    return evolve(file, document={**file.document, "release": written if isinstance(given, list) else written[0]})
