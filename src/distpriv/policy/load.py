"""A policy file read, with what only its folder and its public tables can tell; and read again from a bundle."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import tomlkit
from attrs import asdict, evolve, field, frozen

from distpriv.auditing.report import AuditRule
from distpriv.engines.engine import engine_for
from distpriv.errors import About, InvalidInput
from distpriv.framework.domains import did_you_mean
from distpriv.framework.queries import Query
from distpriv.framework.secrets import AcrossReferences, Combinations, Secret, TiltedSecret, across_references, protect
from distpriv.framework.secrets import Share as ShareSecret
from distpriv.framework.target import PrivacyTarget
from distpriv.guarantees.certificate import Assurance
from distpriv.ledger.chain import Continues
from distpriv.modelling.drawing import Drawing
from distpriv.modelling.from_rows import model
from distpriv.modelling.model import QueryModel
from distpriv.modelling.public_knowledge import scenario_chances
from distpriv.modelling.tables import gathered, labelled
from distpriv.modelling.utility import Objective
from distpriv.policy.schema import ROOT, PolicyFile, Protect, TableOfStatistics, validated
from distpriv.policy.sources import WITHHELD, ledger_url, same_source, source
from distpriv.policy.toml_text import KeyPath, TomlText
from distpriv.progress import Progress
from distpriv.releasing.accepted import Accepted
from distpriv.releasing.fixed import Adaptive
from distpriv.releasing.written_queries import query_key, require_distinct

__all__ = [
    "LedgerPolicy",
    "Policy",
    "Question",
    "in_order",
    "policy_in_release",
    "policy_in_toml",
    "policy_of",
    "read_policy",
]


@frozen(kw_only=True)
class LedgerPolicy:
    """Where the releases of the dataset are kept, and the target that all of them together must meet."""

    url: str | None = field(repr=False)
    """None where a bundle's policy withholds it."""
    total: PrivacyTarget
    adaptive: Adaptive = "refuse"
    """What to do about a question that was not declared before the first answer."""
    create: bool = False
    """Whether to make the ledger where there is none, and no trace of one."""


@frozen(kw_only=True)
class Question:
    """What one ``[release]`` or ``[[release]]`` asks for."""

    name: str | None
    """What a policy with several calls it."""
    title: str | None
    """The heading of its page."""
    license: str | None
    """What may be done with what is published, as archives are told."""
    query: Query
    path: KeyPath
    """Where it stands."""


@frozen(kw_only=True)
class Policy:
    """A policy that has been read; made by `read_policy`."""

    file: TomlText
    written: PolicyFile = field(repr=False)
    """Its keys, with the levels of its tables as the reference has them."""
    reference: str | None
    """Public rows; None when every secret brings tables of its own."""
    private: str | None = field(repr=False)
    """The rows to answer from; None where the policy does not say or a bundle withholds it."""
    questions: tuple[Question, ...]
    """Everything that is released of the dataset; several are declared before the first answer."""
    asked: str | None = None
    """Which of several this is about."""
    protected: tuple[Secret, ...]
    ledger: LedgerPolicy
    options: Drawing

    @property
    def dataset(self) -> str:
        """What the ledger calls the private dataset."""
        return self.written.data.id

    @property
    def continues(self) -> Continues:
        """The id under which the same data were released before; False for a budget of its own."""
        return self.written.data.continues

    @property
    def records(self) -> int:
        """How many rows the private table has."""
        return self.written.releases[0].records

    @property
    def target(self) -> PrivacyTarget:
        """The target of this release."""
        return self.written.privacy.target

    @property
    def assurance(self) -> Assurance:
        """What the certificate may rest on."""
        return self.written.privacy.assurance

    @property
    def prior(self) -> Mapping[str, float] | None:
        """The probability of each scenario, for estimates; the same for all where nothing is said."""
        return self.written.privacy.prior

    @property
    def objective(self) -> Objective:
        """What mechanisms are compared by."""
        return self.written.privacy.objective

    @property
    def mechanisms(self) -> tuple[str, ...] | None:
        """What a plan may choose from; all mechanisms where nothing is said."""
        named = self.written.privacy.mechanisms
        return None if named is None else tuple(named)

    @property
    def allowed_mechanisms(self) -> tuple[str, ...] | None:
        """What is left to choose from where the cost of releases is to add up whatever is asked next."""
        return ("group_privacy_laplace",) if self.ledger.adaptive == "immune" else self.mechanisms

    @property
    def audit(self) -> AuditRule:
        """Whether nothing may be released that was not attacked."""
        return self.written.privacy.audit

    @property
    def question(self) -> Question:
        """The question this is about.

        Raises:
            InvalidPolicy: there are several and none was named, or there is none of that name.
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
        one = evolve(self, asked=name)
        _ = one.question  # refuses a name that is not there
        return one

    def query(self) -> Query:
        """Return the statistics to release."""
        return self.question.query

    @property
    def weights(self) -> Mapping[str, float] | Literal["relative", "units"]:
        """How much the error of each released statistic counts."""
        weights = self.written.privacy.weights
        return weights if isinstance(weights, str) else self._of_query(weights)

    @property
    def max_error(self) -> dict[str, float]:
        """The largest error of the released statistics with which the release is of use."""
        return self._of_query(self.written.privacy.max_error or {})

    def _of_query(self, numbers: Mapping[str, float]) -> dict[str, float]:
        return {name: number for name, number in numbers.items() if name in self.query().names}

    def secrets(self) -> list[Secret]:
        """Return what is protected, one secret for each [[protect]]."""
        return list(self.protected)

    @property
    def accepted(self) -> Accepted:
        """What the curator accepts of a private table that is not as the reference."""
        return self.written.data.accepted

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
        return self.written.written()

    def public_text(self) -> str:
        """Return the policy for a bundle: as it was given, but for where private things are, and without comments.

        Anything may stand in a comment, an old path of the private table for example.
        """
        return tomlkit.dumps(self.written.public().model_dump(mode="json", exclude_unset=True, exclude_none=True))

    def _places(self) -> Mapping[About, KeyPath]:
        """Open every table that the model is made from, and return the key of all that the model may refuse."""
        places: dict[About, KeyPath] = {("option", key): ("model", key) for key in ("weight", "replacement", "robust")}
        tables: list[tuple[KeyPath, str]] = []
        if self.reference is not None:
            tables.append((("data", "reference"), self.reference))
        singles: list[tuple[int, Secret]] = []
        for numbers, given in zip(in_order(self.written.protect), self.protected, strict=True):
            whole = given.secret if isinstance(given, AcrossReferences) else given
            if isinstance(given, AcrossReferences):
                tables += [(("data", "robust", place), table) for place, table in enumerate(given.others)]
            if isinstance(whole, Combinations):
                places[("property", whole.named[0])] = ("protect", numbers[0])
            singles += zip(numbers, whole.secrets if isinstance(whole, Combinations) else (whole,), strict=True)
        for number, secret in singles:
            if isinstance(secret, ShareSecret):
                places.setdefault(("share", secret.predicate), ("protect", number, "share"))
                places |= {("property", named): ("protect", number, "share") for named in secret.named}
                continue
            key = "scenarios"
            if isinstance(secret, TiltedSecret):
                key = "shift" if secret.tables else secret.kind
                places |= {("property", named): ("protect", number, key) for named in secret.named}
            for name, table in secret.tables.items():
                places.setdefault(("scenario", name), ("protect", number, key, name))
                tables.append((("protect", number, key, name), table))
        for path, table in tables:
            with self.file.at(path):
                places.setdefault(("table", engine_for(table).description), path)
        asked = self.question
        for key, each in asked.query.tables:
            places |= dict.fromkeys([("statistic", name) for name in each.names(key)], (*asked.path, "tables", key))
        names = self.written.releases[self.questions.index(asked)].statistics
        return places | {("statistic", name): (*asked.path, "statistics", name) for name in names}


def read_policy(path: str | os.PathLike[str]) -> Policy:
    """Read a policy file, or say in one sentence what is wrong with it and on which line.

    Paths in it are seen from its own folder. A public table is opened only where it tells the levels of a table.
    """
    return policy_of(TomlText.read(path), Path(os.path.abspath(os.path.expanduser(path))).parent)


def policy_in_release(release: Mapping[str, Any], folder: Path = ROOT) -> Policy:
    """Return the policy that a release.json holds under ``policy``, for the question that it names; nothing is opened.

    Args:
        release: what is in it.
        folder: where paths to public tables begin.

    Raises:
        InvalidPolicy: it is none, or not written as a release writes it.
    """
    file = TomlText(name="the policy in release.json", text="", document=release["policy"])
    policy = policy_of(file, folder, opens_tables=False)
    if policy.to_dict() != release["policy"]:
        raise file.refusal((), "this is not as a release writes it: give the file as it was written.")
    return policy.only(release["question"])


def policy_in_toml(text: str) -> dict[str, Any]:
    """Return what the policy.toml of a bundle means, with every default filled in; nothing is opened.

    Raises:
        InvalidPolicy: it is none, or holds what a release takes out: comments, and where private things are.
    """
    file = TomlText.parse(text, name="policy.toml")
    policy = policy_of(file, ROOT, opens_tables=False)
    if text != policy.public_text():
        raise file.refusal((), "this is not as a release writes it, without comments: give the file as it was written.")
    return policy.to_dict()


def policy_of(file: TomlText, folder: Path, *, opens_tables: bool = True) -> Policy:
    """Return what a policy's text means, its paths seen from a folder.

    Args:
        file: the text.
        folder: where paths in it begin.
        opens_tables: whether the levels of a table may be read from the reference; refused otherwise.
    """
    given = validated(file)
    hidden = _secrets(file, given, folder)
    reference, private = _sources(file, given, hidden, folder)
    options = _options(file, given, hidden)
    questions = _questions(file, given, hidden, reference, options if opens_tables else None)
    _refuse_wrong_names(file, given, questions, hidden)
    releases = [
        release.model_copy(update={"tables": {n: TableOfStatistics(**t.to_dict()) for n, t in question.query.tables}})
        if release.tables
        else release
        for release, question in zip(given.releases, questions, strict=True)
    ]
    ledger = given.ledger
    return Policy(
        file=file,
        written=given.model_copy(update={"release": releases if isinstance(given.release, list) else releases[0]}),
        reference=reference,
        private=private,
        questions=questions,
        protected=hidden,
        ledger=LedgerPolicy(
            url=None if ledger.url == WITHHELD else ledger_url(ledger.url, folder),
            total=ledger.total(given.privacy),
            adaptive=ledger.adaptive,
            create=ledger.create,
        ),
        options=options,
    )


def in_order(protected: Sequence[Protect]) -> list[tuple[int, ...]]:
    """Return which ``[[protect]]`` the secrets are of, by number: each alone, then all that are combined, as one."""
    together = tuple(number for number, hidden in enumerate(protected) if hidden.combined)
    alone: list[tuple[int, ...]] = [(number,) for number in range(len(protected)) if number not in together]
    return [*alone, together] if together else alone


def _secrets(file: TomlText, given: PolicyFile, folder: Path) -> tuple[Secret, ...]:
    """Return what is protected, across other references where there are any, and refuse what records cannot have."""
    records = given.releases[0].records
    secrets = []
    for numbers in in_order(given.protect):
        parts: list[Any] = []
        for number in numbers:
            with file.at(("protect", number, given.protect[number].first_key)):
                parts.append(given.protect[number].secret(folder))
                parts[-1].protected(records)
        with file.at(("protect", numbers[-1], "combined")):
            secrets.append(Combinations(*parts) if given.protect[numbers[0]].combined else parts[0])
    with file.at(("protect",)):
        protect(secrets, records)
    if given.data.robust is None:
        return tuple(secrets)
    with file.at(("data", "robust")):
        across = across_references(tuple(secrets), [source(text, folder) for text in given.data.robust])
        protect(across, records)
    return across


def _sources(
    file: TomlText, given: PolicyFile, hidden: Sequence[Secret], folder: Path
) -> tuple[str | None, str | None]:
    """Return the reference and the private source; the noise must never depend on the private one."""
    texts = (given.data.reference, given.data.private)
    reference, private = (None if text in (None, WITHHELD) else source(str(text), folder) for text in texts)
    own = all(secret.tables and not isinstance(secret, AcrossReferences) for secret in hidden)
    if reference is None and not own:
        raise file.refusal(
            ("data", "reference"),
            'this is missing, and records are drawn from it: add reference = "census.parquet", rows that are public.',
        )
    public = [reference, *(table for secret in hidden for table in secret.tables.values())]
    if private is not None and any(table is not None and same_source(private, table) for table in public):
        raise file.refusal(
            ("data", "private"),
            "the private source is also a public one here, and noise must not depend on private rows: name different "
            "tables.",
        )
    return reference, private


def _options(file: TomlText, given: PolicyFile, hidden: Sequence[Secret]) -> Drawing:
    """Return how datasets are drawn from the reference: without replacement only where it is the population."""
    options, protected = given.model.drawing(), protect(hidden, given.releases[0].records)
    with file.at(("model", "replacement")):
        return options.for_scenarios(protected, asked=given.model.replacement is not None)


def _questions(
    file: TomlText, given: PolicyFile, hidden: Sequence[Secret], reference: str | None, options: Drawing | None
) -> tuple[Question, ...]:
    """Return what is asked for, release by release, with the levels of tables; without options no table is opened."""
    questions: list[Question] = []
    known: dict[str, str | None] = {}
    for number, release in enumerate(given.releases):
        path: KeyPath = ("release", number) if isinstance(given.release, list) else ("release",)
        query = release.query()
        if not query.is_labelled:
            if options is None:
                raise file.refusal((*path, "tables"), "these tables lack levels: give the file as it was written.")
            query = _labelled(file, path, query, release.records, hidden, reference, options)
        with file.at((*path, "statistics" if release.statistics else "tables")):
            require_distinct(query)
            key = query_key(query, release.records)
        if key in known:
            raise file.refusal(path, f"this asks for the same as {known[key]!r} does: take one of them out.")
        known[key] = release.name
        questions.append(
            Question(name=release.name, title=release.title, license=release.license, query=query, path=path)
        )
    return tuple(questions)


def _labelled(
    file: TomlText,
    path: KeyPath,
    query: Query,
    records: int,
    hidden: Sequence[Secret],
    reference: str | None,
    options: Drawing,
) -> Query:
    """Return a query with the levels that the public tables have."""
    public = [reference, *(table for secret in hidden for table in secret.tables.values())]
    try:
        query = gathered(query, reference, protect(hidden, records), options)
        return labelled(query, [table for table in public if table is not None], options.missing)
    except InvalidInput as failure:
        what, *names = failure.about or ("table",)
        if what not in ("statistic", "table"):  # of the secret, by which scenarios expect records
            raise file.refusal((), failure.sentence) from failure
        raise file.refusal((*path, "tables", *(names if what == "statistic" else ())), str(failure)) from failure


def _refuse_wrong_names(
    file: TomlText, given: PolicyFile, questions: Sequence[Question], hidden: Sequence[Secret]
) -> None:
    """Refuse numbers by statistic, or by scenario, of which there is none."""
    names = [name for question in questions for name in question.query.names]
    for key in ("weights", "max_error"):
        numbers = getattr(given.privacy, key)
        for name in numbers if isinstance(numbers, Mapping) else ():
            if name not in names:
                near = did_you_mean(name, names)
                raise file.refusal(("privacy", key, name), f"there is no statistic {name!r}: {near}")
    if given.privacy.prior is not None:
        with file.at(("privacy", "prior")):
            scenario_chances(tuple(protect(hidden, given.releases[0].records).scenarios), given.privacy.prior)
