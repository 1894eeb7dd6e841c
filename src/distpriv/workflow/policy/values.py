"""From the tables of a policy to the library's own values; what is refused is refused by key and line."""

from collections.abc import Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, Literal, cast, get_args

from attrs import frozen

from distpriv.auditing.report import AuditRule
from distpriv.errors import InvalidInput
from distpriv.framework.domains import did_you_mean, one_of, real, whole
from distpriv.framework.notation import parse_statistic
from distpriv.framework.queries import Query, Statistic
from distpriv.framework.secrets import Scenarios, Secret, Share, checked_pairs, protect
from distpriv.guarantees.certificate import Trust
from distpriv.modelling.drawing import Drawing
from distpriv.modelling.public_knowledge import scenario_chances
from distpriv.modelling.utility import OBJECTIVES, Objective
from distpriv.releasing.fixed import Adaptive
from distpriv.releasing.ledger.chain import dataset_id
from distpriv.releasing.written_queries import query_key, require_distinct
from distpriv.workflow.policy.shape import DataTable, ModelTable, ProtectTable, ReleaseTable
from distpriv.workflow.policy.sources import ledger_url, same_source, source
from distpriv.workflow.policy.toml_places import KeyPath
from distpriv.workflow.policy.toml_text import PolicyText
from distpriv.workflow.policy.withheld import WITHHELD
from distpriv.workflow.strict_json import is_no_character

__all__ = [
    "Question",
    "adaptive",
    "audit_rule",
    "dataset",
    "lattice",
    "ledger_address",
    "max_errors",
    "model_options",
    "objective",
    "prior",
    "questions",
    "records",
    "secrets",
    "sources",
    "trust",
    "weights",
]

Weights = Mapping[str, float] | Literal["relative"] | None


@frozen(kw_only=True)
class Question:
    """What one ``[release]`` or ``[[release]]`` asks for."""

    name: str | None
    """What a policy with several calls it."""
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


def questions(file: PolicyText, tables: Sequence[ReleaseTable], count: int) -> tuple[Question, ...]:
    """Return what is asked for, release by release."""
    found: list[Question] = []
    several = isinstance(file.document["release"], list)
    for path, table in _placed(file, tables):
        if several and (table.name is None or not table.name.strip() or not table.name.isprintable()):
            raise file.refusal((*path, "name"), 'one of several releases needs a name: add name = "ages", say.')
        if table.name is not None and table.name in [question.name for question in found]:
            raise file.refusal((*path, "name"), f"two releases are named {table.name!r}: give each its own name.")
        query = _query(file, path, table.statistics, count)
        found.append(Question(name=table.name, query=query, path=path))
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


def dataset(file: PolicyText, given: str) -> str:
    """Return what the ledger calls the dataset: the same name however it is typed."""
    with file.at(("data", "id")):
        return dataset_id(given)


def _query(file: PolicyText, place: KeyPath, texts: Mapping[str, str], count: int) -> Query:
    """Return the statistics of one release."""
    if not texts:
        raise file.refusal((*place, "statistics"), 'there is nothing to release: add a line such as age = "mean(age)".')
    return Query(
        {name: _statistic(file, (*place, "statistics", name), name, text, count) for name, text in texts.items()}
    )


def _statistic(file: PolicyText, path: KeyPath, name: str, text: str, count: int) -> Statistic:
    if not name.strip() or not name.isprintable():
        raise file.refusal(
            path, f"a statistic needs a name that can be printed, got {name!r}: name it after what it is."
        )
    with file.at(path):
        statistic = parse_statistic(text)
    if count < (least := statistic.least_records):
        what = f"a {statistic.form.word} needs at least {least} records"
        raise file.refusal(path, f"{what}, got {count}: release a mean instead.")
    return statistic


def secrets(file: PolicyText, tables: Sequence[ProtectTable], count: int, folder: Path) -> tuple[Secret, ...]:
    """Return what is protected, and find that so many records can have it."""
    if not tables:
        raise file.refusal(("protect",), "nothing is protected: add a [[protect]] with a share and its values.")
    found = tuple(_secret(file, ("protect", number), table, count, folder) for number, table in enumerate(tables))
    with file.at(("protect",)):
        protect(found, count)
    return found


def _secret(file: PolicyText, path: KeyPath, table: ProtectTable, count: int, folder: Path) -> Secret:
    if (table.share is None) == (table.scenarios is None):
        what = "neither a share nor scenarios" if table.share is None else "both a share and scenarios"
        raise file.refusal(path, f"this has {what}: give one of the two, and write [[protect]] again for another.")
    kind, others = (
        ("a share", ("pairs",)) if table.share is not None else ("scenarios", ("values", "between", "within"))
    )
    for key in others:
        if getattr(table, key) is not None:
            raise file.refusal((*path, key), f"this does not go with {kind}: take it out.")
    found = _share(file, path, table) if table.share is not None else _scenarios(file, path, table, folder)
    with file.at((*path, _main_key(table))):
        found.protected(count)
    return found


def _main_key(table: ProtectTable) -> str:
    return "scenarios" if table.scenarios is not None else "values" if table.values is not None else "between"


def _share(file: PolicyText, path: KeyPath, table: ProtectTable) -> Share:
    assert table.share is not None
    if not table.share.strip() or any(map(is_no_character, table.share)):
        raise file.refusal((*path, "share"), "a share needs a condition in SQL: write it as in \"income = '>50K'\".")
    given = [key for key in ("values", "between", "within") if getattr(table, key) is not None]
    if given not in (["values"], ["between", "within"]):
        raise file.refusal(
            (*path, given[-1]) if given else path,
            "a share goes with values = [0.45, 0.55] alone, or with between = [0.3, 0.7] and within = 0.1, and here "
            f"with {' and '.join(given) or 'none of them'}: give one or the other.",
        )
    if table.values is not None:
        with file.at((*path, "values")):
            return Share(table.share, values=table.values)
    with file.at((*path, "between")):
        Share(table.share, between=cast(Any, table.between), within=1)
    with file.at((*path, "within")):
        return Share(table.share, between=cast(Any, table.between), within=table.within)


def _scenarios(file: PolicyText, path: KeyPath, table: ProtectTable, folder: Path) -> Scenarios:
    assert table.scenarios is not None
    if len(table.scenarios) < 2:
        raise file.refusal(
            (*path, "scenarios"),
            f"two scenarios at least are needed to keep them apart, got {list(table.scenarios)}: write "
            'scenarios = {boom = "a.parquet", bust = "b.parquet"}.',
        )
    found = {}
    for name, text in table.scenarios.items():
        with file.at((*path, "scenarios", name)):
            found[name] = source(text, folder)
    for name in found:
        if any(map(is_no_character, name)):
            raise file.refusal((*path, "scenarios"), f"{name!r} is no name for a scenario: write it in letters.")
    for number, pair in enumerate(table.pairs or ()):
        with file.at((*path, "pairs", number)):
            checked_pairs([pair], found)
    with file.at((*path, "pairs")):
        return Scenarios(found, pairs=cast(Any, table.pairs))


def sources(file: PolicyText, data: DataTable, hidden: Sequence[Secret], folder: Path) -> tuple[str | None, str | None]:
    """Return the reference and the private source; the noise must never depend on the private one."""
    found: dict[str, str | None] = {"reference": None, "private": None}
    for key, text in (("reference", data.reference), ("private", data.private)):
        if text is not None and text != WITHHELD:
            with file.at(("data", key)):
                found[key] = source(text, folder)
    if found["reference"] is None and not all(secret.tables for secret in hidden):
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


def trust(file: PolicyText, given: str) -> Trust:
    """Return the least trust that a certificate must reach."""
    with file.at(("privacy", "trust")):
        return cast(Trust, one_of("trust", given, get_args(Trust), InvalidInput))


def weights(file: PolicyText, given: object, asked: Sequence[Question]) -> Weights:
    """Return how much the error of each statistic counts."""
    path = ("privacy", "weights")
    names = [name for question in asked for name in question.query.names]
    if given is None or given == "relative":
        return cast(Weights, given)
    if not isinstance(given, Mapping):
        raise file.refusal(
            path,
            f'weights are "relative" or a number for each statistic, got {given!r}: write {{{names[0]} = 2}}.',
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


def lattice(file: PolicyText, given: bool, asked: Sequence[Question], adaptive: str) -> bool:
    """Return whether answers are in whole steps, which no other release of the dataset can be certified with."""
    if given and (len(asked) > 1 or adaptive == "immune"):
        raise file.refusal(
            ("privacy", "lattice"),
            "noise on the statistics' own lattice cannot be certified together with other releases: leave it out, or "
            "ask for everything in one release.",
        )
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


def model_options(file: PolicyText, table: ModelTable) -> Drawing:
    """Return how datasets are drawn from the reference."""
    for key, value in table:
        with file.at(("model", key)):
            Drawing(**{key: value})
    return Drawing(**dict(table))
