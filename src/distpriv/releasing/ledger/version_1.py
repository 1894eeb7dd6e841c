"""Ledgers of version 1: two tables, without looks, digests or one spelling of ids; read to be listed or migrated."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import sqlalchemy as sql

from distpriv.errors import InvalidInput
from distpriv.guarantees.certificate import Certificate
from distpriv.noise.laws import noise_from_dict
from distpriv.releasing.ledger.chain import Chain, ChainBroken, Entry, History, content_of, dataset_id, total_of

__all__ = ["migrated", "read_version_1"]

_TABLES = sql.MetaData()
_DATASETS = sql.Table("datasets", _TABLES, sql.Column("id", sql.Text), sql.Column("total", sql.Text))
_RELEASES = sql.Table(
    "releases",
    _TABLES,
    *(sql.Column(name, sql.Text) for name in ("dataset", "query_key", "time", "content")),
    sql.Column("position", sql.Integer),
)


def read_version_1(connection: sql.Connection) -> tuple[History, ...]:
    """Return everything that a ledger of version 1 holds, by the ids that it has and without a chain.

    Raises:
        ChainBroken: something in it cannot be read, or a position is missing.
    """
    rows = connection.execute(sql.select(_RELEASES).order_by(_RELEASES.c.dataset, _RELEASES.c.position)).mappings()
    releases: dict[Any, list[Mapping[str, Any]]] = {}
    for row in rows:
        releases.setdefault(row["dataset"], []).append(dict(row))
    found = connection.execute(sql.select(_DATASETS)).mappings()
    old = tuple(_history(row["id"], row["total"], releases.pop(row["id"], [])) for row in found)
    if releases:
        raise ChainBroken(f"there are releases of {next(iter(releases))!r} and no total")
    return old


def _history(name: object, total: object, releases: Sequence[Mapping[str, Any]]) -> History:
    if not isinstance(name, str):
        raise ChainBroken("the id of a dataset is no text")
    if [row["position"] for row in releases] != list(range(1, len(releases) + 1)):
        raise ChainBroken(f"the positions of the releases of {name!r} have a gap")
    try:
        held = content_of(total)
    except ValueError:
        raise ChainBroken(f"the total of {name!r} cannot be read") from None
    return History(
        dataset=name,
        total=total_of(held),
        entries=tuple(_release(name, row) for row in releases),
        looks=len(releases),
    )


def _release(dataset: str, row: Mapping[str, Any]) -> Entry:
    what = f"release {row['position']} of {dataset!r}"
    if not isinstance(row["query_key"], str) or not isinstance(row["time"], str):
        raise ChainBroken(f"{what} has a key or a time that is no text")
    try:
        content = content_of(row["content"])
        for certificate in ("certificate", "joint_certificate"):
            Certificate.from_dict(content[certificate])
        noise_from_dict(content["noise"])
        _check_numbers(content)
    except (KeyError, TypeError, ValueError, AttributeError, IndexError):
        raise ChainBroken(f"the content of {what} cannot be read") from None
    return Entry(**{**row, "content": content}, number=0, kind="release", previous="", digest="")


def _check_numbers(content: Mapping[str, Any]) -> None:
    """Refuse a release whose values are no numbers or that lacks what later releases are certified with."""
    names = [str(statistic["name"]) for statistic in content["query"]]
    values, intervals = content["values"], content["intervals"]
    promised = [content[key][what] for key in ("certificate", "joint_certificate") for what in ("epsilon", "delta")]
    numbers = [values[name] for name in names] + [end for name in names for end in intervals[name]]
    if not names or len(numbers) != 3 * len(names) or {*map(type, numbers + promised)} - {int, float}:
        raise ValueError("no numbers")
    if type(content["records"]) is not int or not isinstance(content["mechanism"], str):
        raise TypeError("no records")
    for one, other in content["protected_pairs"]:
        if not isinstance(one, str) or not isinstance(other, str):
            raise TypeError("no pair")


def migrated(old: Sequence[History], ledger: str, now: str, renamed: Mapping[str, str]) -> Chain:
    """Return the chain of a new ledger with everything that an old one holds; each release had its look.

    Raises:
        InvalidInput: two ids become one, or one has no spelling that a ledger takes.
    """
    names: dict[str, str] = {}
    for history in old:
        name = _new_name(history.dataset, renamed)
        if name in names:
            raise InvalidInput(
                f"datasets {names[name]!r} and {history.dataset!r} would both be {name!r}, with two totals for one id: "
                f"give one another id, as in --rename {history.dataset!r}=NEW."
            )
        names[name] = history.dataset
    facts = [fact for name, history in zip(names, old, strict=True) for fact in _facts(name, history, now)]
    return Chain.checked(ledger, Chain(ledger=ledger, entries=()).following(facts))


def _new_name(old: str, renamed: Mapping[str, str]) -> str:
    try:
        return dataset_id(renamed.get(old, old))
    except InvalidInput as refusal:
        raise InvalidInput(f"dataset {old!r} needs another id, as in --rename {old!r}=NEW: {refusal}") from None


def _facts(name: str, history: History, now: str) -> Iterator[dict[str, Any]]:
    """Yield what the entries of a dataset say, in their order."""
    assert history.total is not None
    time = history.entries[0].time if history.entries else now
    total = {"epsilon": history.total.epsilon, "delta": history.total.delta}
    yield {"kind": "dataset", "dataset": name, "time": time, "content": total}
    for release in history.entries:
        asked = {"dataset": name, "time": release.time, "query_key": release.query_key}
        yield {**asked, "kind": "look", "content": {}}
        yield {**asked, "kind": "release", "position": release.position, "content": release.content}
