"""The tables of a ledger: what is written into them, and what is read from them with nothing taken on trust."""

import hashlib
from collections.abc import Mapping, Sequence

import sqlalchemy as sql
from attrs import frozen
from sqlalchemy.dialects import mysql
from sqlalchemy.exc import IntegrityError
from sqlalchemy.schema import CreateTable

from distpriv.errors import InvalidInput
from distpriv.releasing.ledger.chain import Chain, ChainBroken, Entry, canonical, content_of, start_of

__all__ = [
    "VERSION",
    "NumberTaken",
    "Present",
    "begin",
    "extend",
    "present",
    "require_kept",
    "version_of",
]

VERSION = 2
"""Of the tables."""

_LONG = sql.Text().with_variant(mysql.LONGTEXT(), "mysql", "mariadb")
_DIGEST = sql.String(64)
_TABLES = sql.MetaData()
_LEDGER = sql.Table(
    "ledger",
    _TABLES,
    sql.Column("id", sql.String(64), primary_key=True),
    sql.Column("version", sql.Integer, nullable=False),
    sql.Column("key_digest", _DIGEST, nullable=False),
    sql.Column("count", sql.Integer, nullable=False),
    sql.Column("head", _DIGEST, nullable=False),
)
_ENTRIES = sql.Table(
    "entries",
    _TABLES,
    sql.Column("number", sql.Integer, primary_key=True, autoincrement=False),
    sql.Column("kind", sql.String(20), nullable=False),
    sql.Column("dataset", sql.String(100), nullable=False),
    sql.Column("position", sql.Integer),
    sql.Column("query_key", sql.Text),
    sql.Column("time", sql.String(40), nullable=False),
    sql.Column("content", _LONG, nullable=False),
    sql.Column("previous", _DIGEST, nullable=False),
    sql.Column("digest", _DIGEST, nullable=False),
)

_TYPES: Mapping[str, tuple[type, ...]] = {
    "number": (int,),
    "kind": (str,),
    "dataset": (str,),
    "position": (int, type(None)),
    "query_key": (str, type(None)),
    "time": (str,),
    "content": (str,),
    "previous": (str,),
    "digest": (str,),
}


class NumberTaken(Exception):
    """Somebody else has written an entry of that number meanwhile."""


@frozen(kw_only=True)
class Present:
    """A ledger as it is now."""

    chain: Chain
    key_digest: str


def version_of(connection: sql.Connection) -> int | None:
    """Return of which version the tables are, or nothing where there is no ledger."""
    if _LEDGER.name not in sql.inspect(connection).get_table_names():
        return None
    version = connection.execute(sql.select(_LEDGER.c.version)).scalar()
    if not isinstance(version, int | None):
        raise ChainBroken("its version is no number")
    return version


def begin(connection: sql.Connection, ledger: str, key: bytes) -> None:
    """Make the tables of a new ledger.

    Raises:
        InvalidInput: a table of another kind has one of their names.
    """
    taken = sorted(set(_TABLES.tables) & set(sql.inspect(connection).get_table_names()))
    if taken:
        raise InvalidInput(f"there is a table {taken[0]!r} of another kind in the database: give another database.")
    for table in _TABLES.sorted_tables:
        connection.execute(CreateTable(table))
    values = {"id": ledger, "version": VERSION, "key_digest": hashlib.sha256(key).hexdigest(), "count": 0}
    connection.execute(sql.insert(_LEDGER).values(**values, head=start_of(ledger)))


def extend(connection: sql.Connection, chain: Chain, entries: Sequence[Entry]) -> None:
    """Write entries after those of a chain, and see that they are there before they are committed.

    Raises:
        NumberTaken: somebody else has taken their numbers meanwhile.
        ChainBroken: something is there that was not written, or was written and is not there.
    """
    count = len(chain.entries) + len(entries)
    now = sql.update(_LEDGER).where(_LEDGER.c.id == chain.ledger).values(count=count, head=entries[-1].digest)
    try:
        _insert(connection, entries)
        connection.execute(now)
    except IntegrityError:
        raise NumberTaken from None
    require_kept(present(connection).chain, entries)


def require_kept(chain: Chain, entries: Sequence[Entry]) -> None:
    """Refuse a chain without entries that were written: a trigger may drop or change them."""
    last = entries[-1].number
    if [entry.digest for entry in chain.entries[entries[0].number - 1 : last]] != [entry.digest for entry in entries]:
        raise ChainBroken(f"it did not keep entry {last}, perhaps because of a trigger")


def _insert(connection: sql.Connection, entries: Sequence[Entry]) -> None:
    for entry in entries:
        row = {name: getattr(entry, name) for name in _TYPES}
        connection.execute(sql.insert(_ENTRIES).values({**row, "content": canonical(entry.content)}))


def present(connection: sql.Connection) -> Present:
    """Return all entries of a ledger, having held each against the one before.

    One statement reads everything, so that no database shows the beginning of one state and the end of another.

    Raises:
        ChainBroken: it is not as it was written.
    """
    both = sql.select(_LEDGER, *(column.label(f"entry_{column.name}") for column in _ENTRIES.c))
    rows = connection.execute(
        both.select_from(_LEDGER.outerjoin(_ENTRIES, sql.true())).order_by(_ENTRIES.c.number)
    ).mappings()
    read = list(rows)
    if not read or len({row["id"] for row in read}) != 1 or not isinstance(read[0]["id"], str):
        raise ChainBroken("it has no id, or several")
    first = read[0]
    entries = [_entry(row) for row in read if row["entry_number"] is not None]
    chain = Chain.checked(first["id"], entries)
    if first["count"] != len(entries) or first["head"] != chain.head:
        raise ChainBroken(f"it has {len(entries)} entries, and says that there are {first['count']!r}")
    return Present(chain=chain, key_digest=str(first["key_digest"]))


def _entry(row: sql.RowMapping) -> Entry:
    values = {name: row[f"entry_{name}"] for name in _TYPES}
    wrong = [name for name, types in _TYPES.items() if not isinstance(values[name], types)]
    if wrong:
        raise ChainBroken(f"the {wrong[0]} of entry {values['number']!r} is of another type")
    try:
        content = content_of(values["content"])
    except ValueError:
        raise ChainBroken(f"the content of entry {values['number']} cannot be read") from None
    if canonical(content) != values["content"]:
        raise ChainBroken(f"the content of entry {values['number']} was changed")
    return Entry(**{**values, "content": content})
