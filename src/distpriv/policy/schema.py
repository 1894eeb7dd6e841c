"""The keys of a policy: what is read, written, drafted, edited by the studio and bundled, in pydantic models.

A model checks everything that needs neither the disk nor another table of the policy, mostly by making the library's
own value of it; `distpriv.policy.load` does the rest.
"""

import reprlib
from collections.abc import Mapping
from datetime import date, time
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Discriminator, Field, Tag, ValidationError, model_validator
from pydantic_core import ErrorDetails

from distpriv.auditing.report import AuditRule
from distpriv.errors import InvalidInput, InvalidPolicy
from distpriv.framework.domains import did_you_mean, is_control
from distpriv.framework.notation import parse_statistic
from distpriv.framework.queries import Query, Statistic, Table
from distpriv.framework.secrets import Correlation, Mean, Quantile, Scenarios, Secret, Share, Shift
from distpriv.framework.target import PrivacyTarget
from distpriv.guarantees.certificate import Assurance
from distpriv.ledger.chain import dataset_id
from distpriv.modelling.drawing import Drawing, Method, Missing, Reference
from distpriv.modelling.utility import Objective
from distpriv.planning.candidates import CANDIDATES, chosen_from
from distpriv.policy.sources import WITHHELD, ledger_url, source
from distpriv.policy.toml_text import KeyPath, TomlText, toml_line
from distpriv.releasing.accepted import Accepted
from distpriv.releasing.fixed import Adaptive

__all__ = ["TABLES", "PolicyFile", "Protect", "Release", "TableOfStatistics", "validated"]

ROOT = Path("/")
"""Where sources are seen from while nothing is opened."""


class _At(ValueError):
    """What a model refuses of a key inside of it."""

    def __init__(self, sentence: str, *path: str | int) -> None:
        super().__init__(sentence)
        self.path = path


def _line(text: str) -> str:
    if not text.strip() or not text.isprintable():
        raise InvalidInput(f"this must be a line of text that can be printed, got {text!r}: write some words.")
    return text


def _sql(text: str) -> str:
    if not text.strip() or any(map(is_control, text)):
        raise InvalidInput("this must be a condition or a number in SQL, got a blank or an unreadable text: write it.")
    return text


def _source(text: str) -> str:
    source(text, ROOT)
    return text


def _url(text: str) -> str:
    if text != WITHHELD:
        ledger_url(text, ROOT)
    return text


Line = Annotated[str, AfterValidator(_line)]
Sql = Annotated[str, AfterValidator(_sql)]
Source = Annotated[str, AfterValidator(_source)]
Number = Annotated[float, Field(allow_inf_nan=False)]
Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Probability = Annotated[float, Field(ge=0, lt=1)]
Accuracy = Annotated[float, Field(gt=0.5, lt=1, examples=[0.6])]


class _Keys(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class Data(_Keys):
    """``[data]``: where the rows are."""

    reference: Source | None = Field(default=None, examples=["census.parquet"])
    private: Source | None = Field(default=None, examples=["hospital.parquet"], repr=False)
    id: Annotated[str, AfterValidator(dataset_id)] = Field(examples=["hospital-2026"])
    continues: Annotated[str, AfterValidator(dataset_id)] | Literal[False] | None = Field(
        default=None, examples=["hospital-2025"]
    )
    robust: list[Source] | None = Field(default=None, examples=[["other.parquet"]])
    missing: dict[Line, Any] | None = Field(default=None, examples=[{"age": 40}], repr=False)
    levels: dict[Line, dict[str, str]] | None = Field(default=None, examples=[{"paid": {"Ja": "ja"}}], repr=False)
    clip: list[Line] | None = Field(default=None, examples=[["age"]], repr=False)

    @property
    def accepted(self) -> Accepted:
        """What may differ in the private table; a bundle withholds it, as it tells about private rows."""
        return Accepted.of(missing=self.missing, levels=self.levels, clip=self.clip or ())


class TableOfStatistics(_Keys):
    """``[release.tables.NAME]``: a count, a mean or something else for every combination of levels of some columns."""

    count: bool | None = Field(default=None, examples=[True])
    mean: str | None = Field(default=None, examples=["hours_per_week"])
    total: str | None = Field(default=None, examples=["hours_per_week"])
    quantile: str | None = Field(default=None, examples=["hours_per_week"])
    level: Number | None = Field(default=None, examples=[0.5])
    variance: str | None = Field(default=None, examples=["hours_per_week"])
    by: Any = Field(examples=[["education", "sex"]])
    levels: Any = Field(default=None, examples=[{"sex": ["Female", "Male"]}])
    other: Any = Field(default=None, examples=[True])
    empty: Any = Field(default=None, examples=[[["Preschool", "Male"]]])
    otherwise: Any = Field(default=None, examples=[[40, 38]])
    min_expected: Number | None = Field(default=None, examples=[5])

    @model_validator(mode="after")
    def _is_a_table(self) -> Self:
        self.table()
        return self

    def table(self) -> Table:
        """Return the table that is asked for; its levels may still have to come from the reference."""
        return Table.from_dict(self.model_dump())


class Release(_Keys):
    """``[release]``: what is published; several ``[[release]]``, each with a name, are declared beforehand."""

    name: Line | None = Field(default=None, examples=["ages"])
    title: Line | None = Field(default=None, examples=["Ages in ward 7"])
    license: Line | None = Field(default=None, examples=["CC-BY-4.0"])
    records: int = Field(ge=1, examples=[100])
    statistics: dict[Line, Annotated[str, AfterValidator(lambda text: parse_statistic(text).text)]] = Field(
        default={}, examples=[{"age": "mean(age)"}]
    )
    tables: dict[Line, TableOfStatistics] = Field(default={}, examples=[{"people": {"count": True, "by": ["sex"]}}])

    @model_validator(mode="after")
    def _is_a_query(self) -> Self:
        for name, text in self.statistics.items():
            if self.records < (least := (statistic := parse_statistic(text)).least_records):
                what = f"a {statistic.form.word} needs at least {least} records, got {self.records}"
                raise _At(f"{what}: release a mean instead.", "statistics", name)
        for name in self.tables.keys() & self.statistics.keys():
            raise _At(f"a statistic is named {name!r} too: give the table another name.", "tables", name)
        if not self.statistics and not self.tables:
            raise _At('there is nothing to release: add a line such as age = "mean(age)".', "statistics")
        return self

    def query(self) -> Query:
        """Return the statistics and tables that are asked for."""
        asked: dict[str, Statistic | Table] = {name: parse_statistic(text) for name, text in self.statistics.items()}
        return Query(asked | {name: table.table() for name, table in self.tables.items()})


class _Hidden(_Keys):
    """What is common to all kinds of ``[[protect]]``."""

    combined: bool = Field(default=False, examples=[True])

    ways: ClassVar[tuple[tuple[str, ...], ...]] = ()
    """The keys that can say which values there are, those that go together."""

    @property
    def first_key(self) -> str:
        """The first of the keys that say which values there are."""
        return next(key for way in self.ways for key in way if getattr(self, key) is not None)

    def secret(self, folder: Path) -> Secret:
        """Return what is hidden, its sources seen from a folder."""
        raise NotImplementedError

    @model_validator(mode="after")
    def _is_a_secret(self) -> Self:
        keys = dict.fromkeys(key for way in self.ways for key in way)
        given = tuple(key for key in keys if getattr(self, key) is not None)
        if given not in self.ways:
            possible = ", or ".join(" and ".join(way) for way in self.ways)
            raise _At(f"this needs {possible}, got {' and '.join(given) or 'none of them'}: give these.", *given[-1:])
        try:
            self.secret(ROOT)
        except InvalidInput as failure:
            raise _At(str(failure), self.first_key) from None
        return self


class _Values(_Hidden):
    """Values to keep apart from each other, or a grid of them."""

    values: list[Number] | None = Field(default=None, examples=[[0.45, 0.55]])
    between: list[Number] | None = Field(default=None, examples=[[0.3, 0.7]])
    within: Positive | None = Field(default=None, examples=[0.1])
    step: Positive | None = Field(default=None, examples=[0.05])

    ways: ClassVar[tuple[tuple[str, ...], ...]] = (("values",), ("between", "within", "step"))

    @property
    def apart(self) -> dict[str, Any]:
        """The values, as arguments of a secret."""
        return {key: getattr(self, key) for key in ("values", "between", "within", "step")}


class HiddenShare(_Values):
    """A share of the records."""

    share: Sql = Field(examples=["income = '>50K'"])
    positives: list[int] | None = Field(default=None, examples=[[400, 600]])
    within: Annotated[float, Field(gt=0, le=1)] | None = Field(default=None, examples=[0.1])
    nearest: bool | None = Field(default=None, examples=[True])

    ways: ClassVar[tuple[tuple[str, ...], ...]] = (
        ("values",),
        ("positives",),
        ("between", "within"),
        ("between", "within", "step"),
    )

    @model_validator(mode="after")
    def _nearest_of_values(self) -> Self:
        if self.nearest and self.values is None and self.step is None:
            raise _At("this goes with values, or with a step of a range: take it out.", "nearest")
        return self

    def secret(self, folder: Path) -> Share:  # noqa: ARG002 - it has no sources
        """Return the share that is hidden."""
        return Share(self.share, positives=self.positives, nearest=bool(self.nearest), **self.apart)


class HiddenMean(_Values):
    """A mean of the records."""

    mean: Sql = Field(examples=["hours_per_week"])

    def secret(self, folder: Path) -> Mean:  # noqa: ARG002 - it has no sources
        """Return the mean that is hidden."""
        return Mean(self.mean, **self.apart)


class HiddenQuantile(_Values):
    """A quantile of the records."""

    quantile: Sql = Field(examples=["hours_per_week"])
    level: Annotated[float, Field(gt=0, lt=1)] = Field(examples=[0.5])

    def secret(self, folder: Path) -> Quantile:  # noqa: ARG002 - it has no sources
        """Return the quantile that is hidden."""
        return Quantile(self.quantile, self.level, **self.apart)


class HiddenCorrelation(_Values):
    """A correlation of two numbers."""

    correlation: list[Sql] = Field(min_length=2, max_length=2, examples=[["age", "education_num"]])

    def secret(self, folder: Path) -> Correlation:  # noqa: ARG002 - it has no sources
        """Return the correlation that is hidden."""
        return Correlation(*self.correlation, **self.apart)


class HiddenShift(_Values):
    """A mixture of two tables."""

    shift: dict[Sql, Source] = Field(
        min_length=2, max_length=2, examples=[{"last": "last.parquet", "this": "this.parquet"}]
    )

    def secret(self, folder: Path) -> Shift:
        """Return the mixture that is hidden."""
        first, second = self.shift
        return Shift(*(source(text, folder) for text in self.shift.values()), names=(first, second), **self.apart)


class HiddenScenarios(_Hidden):
    """Which of several tables the records are like."""

    scenarios: dict[Sql, Source] = Field(min_length=2, examples=[{"boom": "a.parquet", "bust": "b.parquet"}])
    pairs: list[list[str]] | None = Field(default=None, examples=[[["boom", "bust"]]])

    ways: ClassVar[tuple[tuple[str, ...], ...]] = (("pairs",), ())

    @property
    def first_key(self) -> str:
        """The pairs where there are any."""
        return "scenarios" if self.pairs is None else "pairs"

    def secret(self, folder: Path) -> Scenarios:
        """Return the scenarios that are kept apart."""
        tables = {name: source(text, folder) for name, text in self.scenarios.items()}
        return Scenarios(tables, pairs=self.pairs)  # type: ignore[arg-type] # pairs of any length are checked there


_KINDS = ("share", "mean", "quantile", "correlation", "shift", "scenarios")


def _kind(given: Any) -> str | None:
    """Return the tag of a [[protect]]: which of the kinds it is, where it is one."""
    kinds = [kind for kind in _KINDS if (kind in given if isinstance(given, Mapping) else hasattr(given, kind))]
    if len(kinds) != 1:
        return None
    return "<scenarios>" if kinds == ["scenarios"] else f"<a {kinds[0]}>"


Protect = Annotated[
    Annotated[HiddenShare, Tag("<a share>")]
    | Annotated[HiddenMean, Tag("<a mean>")]
    | Annotated[HiddenQuantile, Tag("<a quantile>")]
    | Annotated[HiddenCorrelation, Tag("<a correlation>")]
    | Annotated[HiddenShift, Tag("<a shift>")]
    | Annotated[HiddenScenarios, Tag("<scenarios>")],
    Discriminator(_kind),
]


class _Target(_Keys):
    """An (ε, δ) or the attack accuracy that is tolerated."""

    epsilon: float | None = Field(default=None, ge=0, allow_inf_nan=False, examples=[1.0])
    delta: Probability | None = Field(default=None, examples=[1e-3])
    max_attack_accuracy: Accuracy | None = None

    @property
    def has_target(self) -> bool:
        """Whether it says how private."""
        return any(value is not None for value in (self.epsilon, self.delta, self.max_attack_accuracy))

    @property
    def target(self) -> PrivacyTarget:
        """What is asked for."""
        if self.epsilon is not None:
            return PrivacyTarget(epsilon=self.epsilon, delta=self.delta or 0.0)
        assert self.max_attack_accuracy is not None
        return PrivacyTarget.from_attack_accuracy(self.max_attack_accuracy, delta=self.delta)

    @model_validator(mode="after")
    def _is_a_target(self) -> Self:
        if self.epsilon is not None and self.max_attack_accuracy is not None:
            raise _At("epsilon is given too, and each fixes the other: take one out.", "max_attack_accuracy")
        if not self.has_target and isinstance(self, Ledger):
            return self
        if self.epsilon is None and self.max_attack_accuracy is None:
            raise InvalidInput("this does not say how private: add max_attack_accuracy = 0.6, or epsilon and delta.")
        try:
            _ = self.target
        except InvalidInput as failure:
            raise _At(str(failure), "delta") from None
        return self


class Privacy(_Target):
    """``[privacy]``: how well this release hides it."""

    assurance: Assurance = Field(default="checked", examples=["checked"])
    weights: Annotated[
        Annotated[Literal["relative", "units"], Tag("<a word>")] | Annotated[dict[str, Positive], Tag("<numbers>")],
        Discriminator(lambda given: "<numbers>" if isinstance(given, Mapping) else "<a word>"),
    ] = Field(default="relative", examples=[{"age": 2}])
    prior: dict[str, Number] | None = Field(default=None, examples=[{"boom": 0.7, "bust": 0.3}])
    objective: Objective = Field(default="estimate", examples=["estimate"])
    max_error: dict[str, Positive] | None = Field(default=None, examples=[{"age": 0.5}])
    mechanisms: list[str] | None = Field(default=None, examples=[["certified_gaussian"]])
    audit: AuditRule = Field(default="optional", examples=["required"])

    @model_validator(mode="after")
    def _has_mechanisms(self) -> Self:
        if self.mechanisms is not None:
            try:
                chosen_from(CANDIDATES, self.mechanisms)
            except InvalidInput as failure:
                raise _At(str(failure), "mechanisms") from None
            if len(set(self.mechanisms)) < len(self.mechanisms):
                raise _At("a mechanism is named twice: name each of them once.", "mechanisms")
        return self


class Ledger(_Target):
    """``[ledger]``: where releases are kept, and what all of them together may give away."""

    url: Annotated[str, AfterValidator(_url)] = Field(
        default="sqlite:///ledger.db", examples=["sqlite:///ledger.db"], repr=False
    )
    adaptive: Adaptive = Field(default="refuse", examples=["refuse"])
    create: bool = Field(default=False, examples=[True])

    def total(self, release: Privacy) -> PrivacyTarget:
        """Return the target of all releases together; that of one where nothing is said.

        Raises:
            ValueError: it allows less than one release alone: each number is compared with the same one, and where
                they are in different terms, the attack accuracy of the one with that of the other.
        """
        if not self.has_target:
            return release.target
        compared = {key: (getattr(self, key), getattr(release, key)) for key in _Target.model_fields}
        if self.epsilon is not None and release.epsilon is not None:
            compared["delta"] = (self.target.delta, release.target.delta)
        elif (self.epsilon is None) != (release.epsilon is None):
            own, other = (each.target.attack_accuracy_ceiling for each in (self, release))
            key = "max_attack_accuracy" if self.epsilon is None else "epsilon"
            if own < other:
                raise _smaller(key, f"attackers right {own:.0%} of the time", f"{other:.0%}")
        for key, (allowed, asked) in compared.items():
            if allowed is not None and asked is not None and allowed < asked:
                raise _smaller(key, f"{key} = {allowed}", f"{asked}")
        return self.target


def _smaller(key: str, allowed: str, asked: str) -> _At:
    return _At(
        f"all releases together may have {allowed}, less than this one alone asks for, {asked}: raise the total, or "
        "ask for less in [privacy].",
        "ledger",
        key,
    )


class Model(_Keys):
    """``[model]``: how datasets are drawn from the reference; the options of `distpriv.model`."""

    method: Method = Field(default="auto", examples=["auto"])
    replacement: bool | None = Field(default=None, examples=[True])
    missing: Missing = Field(default="refuse", examples=["drop"])
    reference: Reference = Field(default="sample", examples=["population"])
    draws: int = Field(default=5000, ge=2, examples=[5000])
    seed: int = Field(default=0, ge=0, examples=[0])
    weight: Sql | None = Field(default=None, examples=["fnlwgt"])
    robust: Positive | None = Field(default=None, examples=[1e-7])

    @model_validator(mode="after")
    def _is_a_drawing(self) -> Self:
        self.drawing()
        return self

    def drawing(self) -> Drawing:
        """Return how datasets are drawn."""
        return Drawing(**self.model_dump(exclude_none=True))


class PolicyFile(_Keys):
    """A policy file, read as TOML."""

    data: Data
    release: Annotated[
        Annotated[Release, Tag("<once>")] | Annotated[list[Release], Tag("<several times>")],
        Discriminator(lambda given: "<several times>" if isinstance(given, list) else "<once>"),
    ]
    protect: list[Protect] = Field(min_length=1)
    privacy: Privacy
    ledger: Ledger = Ledger()
    model: Model = Model()

    @property
    def releases(self) -> list[Release]:
        """All that is released, one or several."""
        return self.release if isinstance(self.release, list) else [self.release]

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        if isinstance(self.release, list):
            _refuse_same_releases(self.release)
        self.ledger.total(self.privacy)
        if self.ledger.adaptive == "immune" and self.privacy.mechanisms is not None:
            what = 'adaptive = "immune" leaves one mechanism to choose: take one of the two out.'
            raise _At(what, "privacy", "mechanisms")
        return self

    def written(self) -> dict[str, Any]:
        """Return all values with every default, and nothing of where private things are: what release.json holds."""
        return self.public().model_dump(mode="json", exclude_none=True)

    def public(self) -> Self:
        """Return the same policy without what tells of private rows, and the ledger's address with its password."""
        data = dict.fromkeys(("missing", "levels", "clip")) | (
            {} if self.data.private is None else {"private": WITHHELD}
        )
        changed = {"data": self.data.model_copy(update=data)}
        return self.model_copy(update={**changed, "ledger": self.ledger.model_copy(update={"url": WITHHELD})})


def _refuse_same_releases(releases: list[Release]) -> None:
    if not releases:
        raise _At("there is nothing to release: add a table that begins with [release].", "release")
    known: list[str] = []
    for place, release in enumerate(releases):
        where = ("release", place)
        if release.name is None:
            raise _At('one of several releases needs a name: add name = "ages", say.', *where, "name")
        if release.name in known:
            raise _At(f"two releases are named {release.name!r}: give each its own name.", *where, "name")
        if release.records != releases[0].records:
            first = f"{releases[0].records} records above and {release.records} here"
            raise _At(f"all releases are of one dataset, which has {first}: give the same.", *where, "records")
        known.append(release.name)


TABLES: Mapping[str, tuple[type[_Keys], ...]] = {
    "data": (Data,),
    "release": (Release,),
    "protect": (HiddenShare, HiddenMean, HiddenQuantile, HiddenCorrelation, HiddenShift, HiddenScenarios),
    "privacy": (Privacy,),
    "ledger": (Ledger,),
    "model": (Model,),
}
_TYPES = {
    "string_type": "text in quotes",
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "finite_number": "a finite number",
    "bool_type": "true or false",
    "list_type": "a list in brackets",
    "dict_type": "a table",
    "model_type": "a table",
    "model_attributes_type": "a table",
}
_LIMITS = {"ge": "at least", "gt": "above", "le": "at most", "lt": "below"}


def validated(file: TomlText) -> PolicyFile:
    """Return the policy that a text is, or say in one sentence which key is wrong.

    A misspelt key is also a missing one, so unknown keys come first and missing ones last.
    """
    try:
        return PolicyFile.model_validate(dict(file.document))
    except RecursionError:
        raise file.refusal((), "this is nested too deeply: flatten it.") from None
    except ValidationError as failure:
        errors = failure.errors(include_url=False)
    order = {"extra_forbidden": 0, "union_tag_not_found": 0, "missing": 2}
    raise _refusal(file, min(errors, key=lambda error: order.get(error["type"], 1)))


def _refusal(file: TomlText, error: ErrorDetails) -> InvalidPolicy:
    """Return one sentence about one error, with the key, what it must be and how it is written."""
    path, kind, value, context = error["loc"], error["type"], error["input"], error.get("ctx", {})
    if kind == "value_error":
        failure = context["error"]
        inside = failure.path if isinstance(failure, _At) else ()
        if isinstance(failure, InvalidInput) and failure.about is not None and failure.about[0] == "option":
            inside = (failure.about[1],)
        return file.refusal((*path, *inside), str(failure))
    if kind == "extra_forbidden":
        return file.refusal(path, _unknown_key(file.path(path), error["loc"]))
    if kind == "union_tag_not_found":
        return _unknown_secret(file, path, value)
    example = _example(file.path(path))
    if kind == "missing":
        return file.refusal(path, f"this is missing: add {example}.")
    wanted = f"be {context.get('expected', _TYPES.get(kind, 'something else'))}"
    for key, words in (("min_length", "at least"), ("max_length", "at most")):
        wanted = f"have {words} {context[key]} of them" if key in context else wanted
    for key, words in _LIMITS.items():
        wanted = f"be {words} {context[key]:g}" if key in context else wanted
    hides = file.path(path)[:2] in (("ledger",), ("ledger", "url"))  # an address may hold a password
    got = "something else" if hides else _shown(value)
    return file.refusal(path, f"this must {wanted}, got {got}: write {example}.")


def _unknown_key(path: KeyPath, location: KeyPath) -> str:
    """Say where a key belongs, or which one may have been meant."""
    key, table = str(path[-1]), str(path[0])
    if path[:2] == ("release", "tables") or path[:1] + path[2:3] == ("release", "tables"):
        return f"there is no such key: {did_you_mean(key, TableOfStatistics.model_fields)}"
    homes = [f"[{name}]" for name, models in TABLES.items() if any(key in model.model_fields for model in models)]
    if homes == ["[protect]"] == [f"[{table}]"]:
        return f"this does not go with {str(location[2]).strip('<>')}: take it out."
    if homes:
        return f"there is no such key here: it belongs in {' or '.join(homes)}."
    models = TABLES[table] if len(path) > 1 else (PolicyFile,)
    known = dict.fromkeys(name for model in models for name in model.model_fields)
    return f"there is no such key: {did_you_mean(key, known)}"


def _unknown_secret(file: TomlText, path: KeyPath, given: Any) -> InvalidPolicy:
    """Say of a [[protect]] that it is none of the kinds, or of two."""
    kinds = [kind for kind in _KINDS if kind in given] if isinstance(given, Mapping) else []
    if kinds:
        what = f"this hides {' and '.join(kinds)}: give one of them, and write [[protect]] again for another."
        return file.refusal(path, what)
    known = {key for model in TABLES["protect"] for key in model.model_fields}
    unknown = [key for key in given if key not in known] if isinstance(given, Mapping) else []
    if unknown:
        return file.refusal((*path, unknown[0]), f"there is no such key: {did_you_mean(unknown[0], sorted(known))}")
    return file.refusal(path, f"this hides nothing: give one of {', '.join(_KINDS)}.")


def _example(path: KeyPath) -> str:
    """Return how a key is written; that of an element of a list or a table, as the one of what holds it."""
    names = [part for part in path if isinstance(part, str)]
    if len(names) == 1:
        return f"a table that begins with [{'[protect]' if names == ['protect'] else names[0]}]"
    if names[1] == "tables" and len(names) > 3:
        fields: Mapping[str, Any] = TableOfStatistics.model_fields
        return toml_line(names[3], fields[names[3]].examples[0])
    field = next(model.model_fields[names[1]] for model in TABLES[names[0]] if names[1] in model.model_fields)
    return toml_line(names[1], (field.examples or [0.6])[0])


def _shown(value: object) -> str:
    return str(value).lower() if isinstance(value, bool | date | time) else reprlib.repr(value)
