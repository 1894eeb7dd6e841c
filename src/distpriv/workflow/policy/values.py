"""From the tables of a policy to the library's own values; what is refused is refused by key and line."""

from collections.abc import Callable, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Literal, cast, get_args

from attrs import frozen

from distpriv.auditing.report import AuditRule
from distpriv.errors import InvalidInput, InvalidPolicy
from distpriv.framework.domains import did_you_mean, one_of, real, whole
from distpriv.framework.notation import parse_statistic
from distpriv.framework.queries import Query, Statistic, Table
from distpriv.framework.secrets import AcrossReferences, Secret, protect
from distpriv.guarantees.certificate import Assurance
from distpriv.modelling.drawing import Drawing
from distpriv.modelling.public_knowledge import scenario_chances
from distpriv.modelling.utility import OBJECTIVES, Objective
from distpriv.planning.candidates import CANDIDATES, chosen_from
from distpriv.releasing.fixed import Adaptive
from distpriv.releasing.ledger.chain import dataset_id
from distpriv.releasing.written_queries import query_key, require_distinct
from distpriv.workflow.policy.shape import DataTable, ModelTable, PrivacyTable, ReleaseTable
from distpriv.workflow.policy.sources import ledger_url, same_source, source
from distpriv.workflow.policy.toml_places import KeyPath
from distpriv.workflow.policy.toml_text import PolicyText
from distpriv.workflow.policy.withheld import WITHHELD

__all__ = [
    "Question",
    "adaptive",
    "assurance",
    "audit_rule",
    "dataset",
    "ledger_address",
    "max_errors",
    "mechanisms",
    "model_options",
    "objective",
    "prior",
    "questions",
    "records",
    "sources",
    "weights",
]

Labels = Callable[[Query], Query]
"""Finds the labels of a query's tables."""

Weights = Mapping[str, float] | Literal["relative", "units"]


@frozen(kw_only=True)
class Question:
    """What one ``[release]`` or ``[[release]]`` asks for."""

    name: str | None
    """What a policy with several calls it."""
    title: str | None = None
    """What stands above its page."""
    license: str | None = None
    """What may be done with what is published, as archives are told."""
    query: Query
    path: KeyPath
    """Where it stands."""


def records(file: PolicyText, tables: Sequence[ReleaseTable]) -> int:
    """Return how many rows the private table has."""
    found = [_records(file, (*path, "records"), table.records) for path, table in _placed(file, tables)]
    for (path, _), count in zip(_placed(file, tables), found, strict=True):
        if count != found[0]:
            raise file.refusal(
                (*path, "records"),
                f"all releases are of one dataset, which has {found[0]} records above and {count} here: give the same.",
            )
    return found[0]


def _records(file: PolicyText, path: KeyPath, given: int) -> int:
    with file.at(path):
        return whole("records", given, InvalidInput, at_least=1, cure="it is the size of the private table")


def _placed(file: PolicyText, tables: Sequence[ReleaseTable]) -> list[tuple[KeyPath, ReleaseTable]]:
    """Return each table with its path; there must be one."""
    if not tables:
        raise file.refusal(("release",), "there is nothing to release: add a table that begins with [release].")
    several = isinstance(file.document["release"], list)
    return [(("release", number) if several else ("release",), table) for number, table in enumerate(tables)]


def questions(file: PolicyText, tables: Sequence[ReleaseTable], count: int, label: Labels) -> tuple[Question, ...]:
    """Return what is asked for, release by release; the labels of tables are those that `label` finds."""
    found: list[Question] = []
    several = isinstance(file.document["release"], list)
    for path, table in _placed(file, tables):
        if several and (table.name is None or not table.name.strip() or not table.name.isprintable()):
            raise file.refusal((*path, "name"), 'one of several releases needs a name: add name = "ages", say.')
        if table.name is not None and table.name in [question.name for question in found]:
            raise file.refusal((*path, "name"), f"two releases are named {table.name!r}: give each its own name.")
        if table.title is not None and (not table.title.strip() or not table.title.isprintable()):
            raise file.refusal((*path, "title"), 'a title is a line of text: write title = "Ages in ward 7", say.')
        if table.license is not None and (not table.license.strip() or not table.license.isprintable()):
            raise file.refusal(
                (*path, "license"), 'a licence is named by a line of text: write license = "CC-BY-4.0", or its URL.'
            )
        query = _labelled(file, path, _query(file, path, table, count), label)
        found.append(Question(name=table.name, title=table.title, license=table.license, query=query, path=path))
    _refuse_the_same_twice(file, found, count)
    return tuple(found)


def _refuse_the_same_twice(file: PolicyText, found: Sequence[Question], count: int) -> None:
    known: dict[str, str | None] = {}
    for question in found:
        with file.at((*question.path, "statistics")):
            require_distinct(question.query)
            key = query_key(question.query, count)
        if key in known:
            raise file.refusal(question.path, f"this asks for the same as {known[key]!r} does: take one of them out.")
        known[key] = question.name


def mechanisms(file: PolicyText, table: PrivacyTable, adaptive: str) -> tuple[str, ...] | None:
    """Return the mechanisms that a plan may choose from; None for all of them."""
    if table.mechanisms is None:
        return None
    place: KeyPath = ("privacy", "mechanisms")
    with file.at(place):
        names = tuple(each.name for each in chosen_from(CANDIDATES, table.mechanisms))
    if len(set(names)) < len(table.mechanisms):
        raise file.refusal(place, "a mechanism is named twice: name each of them once.")
    if adaptive == "immune":
        raise file.refusal(place, 'adaptive = "immune" leaves one mechanism to choose: take one of the two out.')
    return names


def dataset(file: PolicyText, given: str) -> str:
    """Return what the ledger calls the dataset: the same name however it is typed."""
    with file.at(("data", "id")):
        return dataset_id(given)


def _query(file: PolicyText, place: KeyPath, asked: ReleaseTable, count: int) -> Query:
    """Return the statistics and tables of one release."""
    if not asked.statistics and not asked.tables:
        raise file.refusal((*place, "statistics"), 'there is nothing to release: add a line such as age = "mean(age)".')
    found: dict[str, Statistic | Table] = {}
    for name, text in asked.statistics.items():
        found[name] = _statistic(file, (*place, "statistics", name), name, text, count)
    for name, written in asked.tables.items():
        path = (*place, "tables", name)
        if name in found:
            raise file.refusal(path, f"a statistic is named {name!r} too: give the table another name.")
        _refuse_unprintable(file, path, name)
        with file.at(path):
            found[name] = Table.from_dict(written.model_dump())
    with file.at((*place, "tables") if asked.tables else (*place, "statistics")):
        return Query(found)


def _labelled(file: PolicyText, place: KeyPath, query: Query, label: Labels) -> Query:
    if query.is_labelled:
        return query
    try:
        return label(query)
    except InvalidPolicy:
        raise
    except InvalidInput as failure:
        what, *named = failure.about or ("table",)
        if what not in ("statistic", "table"):  # of the secret, by which scenarios expect records
            raise file.refusal((), failure.sentence) from failure
        cells = named if what == "statistic" else ()
        raise file.refusal((*place, "tables", *cells), str(failure)) from failure


def _refuse_unprintable(file: PolicyText, path: KeyPath, name: str) -> None:
    if not name.strip() or not name.isprintable():
        raise file.refusal(
            path, f"a statistic needs a name that can be printed, got {name!r}: name it after what it is."
        )


def _statistic(file: PolicyText, path: KeyPath, name: str, text: str, count: int) -> Statistic:
    _refuse_unprintable(file, path, name)
    with file.at(path):
        statistic = parse_statistic(text)
    if count < (least := statistic.least_records):
        what = f"a {statistic.form.word} needs at least {least} records"
        raise file.refusal(path, f"{what}, got {count}: release a mean instead.")
    return statistic


def sources(file: PolicyText, data: DataTable, hidden: Sequence[Secret], folder: Path) -> tuple[str | None, str | None]:
    """Return the reference and the private source; the noise must never depend on the private one."""
    found: dict[str, str | None] = {"reference": None, "private": None}
    for key, text in (("reference", data.reference), ("private", data.private)):
        if text is not None and text != WITHHELD:
            with file.at(("data", key)):
                found[key] = source(text, folder)
    if found["reference"] is None and not all(
        secret.tables and not isinstance(secret, AcrossReferences) for secret in hidden
    ):
        raise file.refusal(
            ("data", "reference"),
            'this is missing, and a share is drawn from it: add reference = "census.parquet", rows that are public.',
        )
    tables = chain.from_iterable(secret.tables.values() for secret in hidden)
    public = [table for table in (found["reference"], *tables) if table is not None]
    if found["private"] is not None and any(same_source(found["private"], table) for table in public):
        raise file.refusal(
            ("data", "private"),
            "the private source is also a public one here, and noise must not depend on private rows: name different "
            "tables.",
        )
    return found["reference"], found["private"]


def assurance(file: PolicyText, given: str) -> Assurance:
    """Return the least assurance that a certificate must reach."""
    with file.at(("privacy", "assurance")):
        return cast(Assurance, one_of("assurance", given, get_args(Assurance), InvalidInput))


def weights(file: PolicyText, given: object, asked: Sequence[Question]) -> Weights:
    """Return how much the error of each statistic counts."""
    path = ("privacy", "weights")
    names = [name for question in asked for name in question.query.names]
    if given in ("relative", "units"):
        return cast(Weights, given)
    if not isinstance(given, Mapping):
        raise file.refusal(
            path,
            f'weights are "relative", "units" or a number by statistic, got {given!r}: write {{{names[0]} = 2}}.',
        )
    for name, weight in given.items():
        if name not in names:
            raise file.refusal((*path, name), f"there is no statistic {name!r} to weigh: {did_you_mean(name, names)}")
        with file.at((*path, name)):
            cure = "an error counts in proportion to the root of its weight"
            real("a weight", weight, InvalidInput, above=0, cure=cure)
    return {name: float(weight) for name, weight in given.items()}


def prior(
    file: PolicyText, given: Mapping[str, float] | None, hidden: Sequence[Secret], count: int
) -> Mapping[str, float] | None:
    """Return the probability of each scenario, for estimates."""
    if given is not None:
        with file.at(("privacy", "prior")):
            scenario_chances(tuple(protect(hidden, count).scenarios), given)
    return given


def objective(file: PolicyText, given: str) -> Objective:
    """Return what mechanisms are compared by."""
    with file.at(("privacy", "objective")):
        return cast(Objective, one_of("objective", given, OBJECTIVES, InvalidInput))


def max_errors(file: PolicyText, given: Mapping[str, float] | None, asked: Sequence[Question]) -> dict[str, float]:
    """Return the largest error of statistics with which a release is of use."""
    path = ("privacy", "max_error")
    names = [name for question in asked for name in question.query.names]
    for name, most in (given or {}).items():
        if name not in names:
            words = f"there is no statistic {name!r} to limit the error of: {did_you_mean(name, names)}"
            raise file.refusal((*path, name), words)
        with file.at((*path, name)):
            real("the largest error", most, InvalidInput, above=0, cure="it is in the units of the statistic")
    return dict(given or {})


def audit_rule(file: PolicyText, given: str) -> AuditRule:
    """Return whether nothing may be released that was not attacked."""
    with file.at(("privacy", "audit")):
        return cast(AuditRule, one_of("audit", given, get_args(AuditRule), InvalidInput))


def adaptive(file: PolicyText, given: str) -> Adaptive:
    """Return what to do about a question that was not declared before the first answer."""
    with file.at(("ledger", "adaptive")):
        return cast(Adaptive, one_of("adaptive", given, get_args(Adaptive), InvalidInput))


def ledger_address(file: PolicyText, given: str, folder: Path) -> str | None:
    """Return where the ledger is, or nothing where a bundle's policy withholds it."""
    if given == WITHHELD:
        return None
    with file.at(("ledger", "url")):
        return ledger_url(given, folder)


def model_options(file: PolicyText, table: ModelTable, hidden: Sequence[Secret], count: int) -> Drawing:
    """Return how datasets are drawn from the reference: without replacement only where it is the population."""
    given = {key: value for key, value in table if value is not None}
    for key, value in given.items():
        with file.at(("model", key)):
            Drawing(**{"reference": "population", key: value})
    protected = protect(hidden, count)
    with file.at(("model", "replacement")):
        return Drawing(**given).for_scenarios(protected, asked=table.replacement is not None)
