"""The private table compared with the reference, for the curator's eyes only: what is wrong with it, and what to do.

Everything that reading the rows would change (`distpriv.releasing.readings`) is a finding with the values and how many
rows have them. What no dataset of the model has stops a release, so that a release which is made says nothing by being
there; how far the distributions are apart never does, because that depends on the secret.
"""

import difflib
import math
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from attrs import field, frozen

from distpriv.engines.total import TotalTable, is_number
from distpriv.errors import DistprivError, PrivateTableRefused
from distpriv.modelling.model import QueryModel
from distpriv.releasing.accepted import NOTHING, Accepted
from distpriv.releasing.fingerprint import agree, changed_columns, fingerprint
from distpriv.releasing.private import PrivateTable, has_gaps
from distpriv.releasing.readings import ColumnReading, Readings, RowsRead, is_ordered, on_a_line, plain, readings_of

__all__ = ["Comparison", "Finding", "PrivateCheck", "check_private"]

Kind = Literal[
    "table", "rows", "dataset", "column", "type", "missing", "unreadable", "levels", "range", "between", "combination"
]
"""What is not as in the reference: the table, its rows, all of its values; a column, values of one, or of several."""

MOST_LISTED = 5
"""How many different values a finding lists, the most frequent first."""

COMPARED = 10_000
"""How many rows of either table are compared."""

CONSTRAINED = 1e-6
"""The weight in a constraint above which an expression takes part in it."""


@frozen(kw_only=True)
class Finding:
    """One thing that is not as in the reference."""

    kind: Kind
    column: str | None
    rows: int
    """How many rows it is about."""
    stops: bool
    """Whether nothing is released until it is corrected or accepted."""
    sentence: str
    cure: str = ""
    values: Mapping[str, int] = field(factory=dict)
    """The most frequent values that it is about, with how many rows have each."""

    def __str__(self) -> str:
        return f"{self.sentence}: {self.cure}" if self.cure else self.sentence


@frozen(kw_only=True)
class Comparison:
    """How unlike the reference a column is, from 0 to 1.

    Of numbers, dates and times it is the largest difference between the two cumulative distributions (Kolmogorov and
    Smirnov), of other values half the sum of the differences between shares (total variation).
    """

    column: str
    distance: float
    by_chance: float
    """What 95 % of tables of so many reference rows stay below; the secret may move a column further."""

    @property
    def is_unlike(self) -> bool:
        """Whether chance does not explain it."""
        return self.distance > self.by_chance


@frozen(kw_only=True)
class PrivateCheck:
    """What a curator sees of the private table; nothing of it goes into a bundle or a ledger."""

    rows: int | None
    """How many there are; none if the table cannot be read."""
    records: int
    findings: tuple[Finding, ...]
    columns: tuple[Comparison, ...] = ()

    @property
    def fits(self) -> bool:
        """Whether it can be released from."""
        return not any(finding.stops for finding in self.findings)

    @property
    def reasons(self) -> tuple[Finding, ...]:
        """What stops a release."""
        return tuple(finding for finding in self.findings if finding.stops)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as numbers, lists and text."""
        keys = ("kind", "column", "rows", "stops", "sentence", "cure")
        return {
            "fits": self.fits,
            "rows": self.rows,
            "records": self.records,
            "findings": [{key: getattr(f, key) for key in keys} | {"values": dict(f.values)} for f in self.findings],
            "columns": [{"column": c.column, "distance": c.distance, "by_chance": c.by_chance} for c in self.columns],
        }

    def require_fit(self) -> Self:
        """Raise what stops a release, every reason in a sentence.

        Raises:
            PrivateTableRefused: something does.
        """
        if self.fits:
            return self
        listed = "".join(f"\n  {finding};" for finding in self.reasons)
        raise PrivateTableRefused(
            f"the private table does not fit, and nothing was released or spent; correct or declare it:{listed[:-1]}."
        )


def check_private(
    source: Any,
    model: QueryModel,
    accepted: Accepted = NOTHING,
    *,
    compare: bool = True,
    key: bytes | None = None,
    known: Mapping[str, str] | None = None,
) -> PrivateCheck:
    """Compare the private table with the reference, as far as the query of a model reads it.

    Args:
        source: the private table.
        model: what is asked, made from the reference table.
        accepted: what the curator declares of values that the reference lacks.
        compare: whether to measure how unlike the distributions are.
        key: what fingerprints of the dataset are made with.
        known: the fingerprint of the table that earlier releases were made from.

    Raises:
        InvalidInput: what is accepted is not what the reference has.

    >>> import distpriv as dp
    >>> rows, secret = dp.datasets.adult(), dp.Share("income = '>50K'", values=(0.4, 0.6))
    >>> model = dp.model(rows.slice(0, 1000), dp.Query(women=dp.count("sex = 'Female'")), secret, records=20)
    >>> spelled = rows.slice(1000, 20).set_column(9, "sex", [["female"] * 12 + ["Male"] * 8])
    >>> for finding in check_private(spelled, model).findings:
    ...     print(finding)
    `sex` has a value that the reference lacks, 'female' (12 rows; the reference has 'Female'): correct it, or declare
    levels.sex = {"female" = "Female"} in [data]
    """
    how = readings_of(model)
    how.require(accepted)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a warning could quote a row
        try:
            return _checked(source, how, accepted, compare, key, known)
        except DistprivError as refusal:
            sentence = str(refusal).rstrip(".")
        except Exception as failure:  # whatever the rows do to Arrow or the database
            sentence = (
                f"the private table cannot be read ({type(failure).__name__}: {str(failure).partition(chr(10))[0]})"
            )
    finding = Finding(kind="table", column=None, rows=0, stops=True, sentence=sentence)
    return PrivateCheck(rows=None, records=how.records, findings=(finding,))


def _checked(
    source: Any,
    how: Readings,
    accepted: Accepted,
    compare: bool,
    key: bytes | None,
    known: Mapping[str, str] | None,
) -> PrivateCheck:
    table = PrivateTable.open(source, how)
    rows = table.rows
    raw = {} if table.lacking or table.misfits else table.columns()
    found = [*_of_table(table, rows), *_of_secrets(table, raw, accepted)]
    if key is not None and known is not None and rows == how.records:
        found += _of_dataset(table, key, known)
    if table.lacking or table.misfits or not rows:
        return PrivateCheck(rows=rows, records=how.records, findings=tuple(found))
    read = how.read(raw, accepted, commas=table.engine.commas)
    for name in how.types.names:
        found += _of_column(name, how, read, accepted)
    found += _of_rows(how, read, accepted)
    compared = tuple(_comparisons(how, read)) if compare else ()
    return PrivateCheck(rows=rows, records=how.records, findings=tuple(found), columns=compared)


def _of_table(table: PrivateTable, rows: int) -> Iterator[Finding]:
    records, names = table.how.records, table.engine.schema.names
    if rows != records:
        sentence = f"the private table has {_counted(rows, 'row') if rows else 'no rows'}, and records = {records}"
        cure = "give the table with all its rows, or change records and plan again"
        yield Finding(kind="rows", column=None, rows=rows, stops=True, sentence=sentence, cure=cure)
    for name in table.lacking:
        near = difflib.get_close_matches(name.lower(), [n.lower() for n in names], n=1)
        spelled = {n.lower(): n for n in names}
        listed = f"did you rename `{spelled[near[0]]}`?" if near else f"it has {_listing(f'`{n}`' for n in names)}"
        yield Finding(
            kind="column", column=name, rows=rows, stops=True, sentence=f"the column `{name}` is missing", cure=listed
        )
    for name, kind in table.misfits.items():
        sentence = f"`{name}` is of type {kind}, and of type {table.how.types.field(name).type} in the reference"
        cure = "give it the type of the reference"
        yield Finding(kind="type", column=name, rows=rows, stops=True, sentence=sentence, cure=cure)


def _of_dataset(table: PrivateTable, key: bytes, known: Mapping[str, str]) -> Iterator[Finding]:
    """Yield that it is not the table that earlier releases were made from, with the columns that tell."""
    made, rows = fingerprint(table.engine, table.how.records, key), table.how.records
    if not agree(made, known):
        columns = [f"`{name}`" for name in changed_columns(table.engine.schema.names, made, known, key)]
        where = f" in {_listing(columns)}" if columns else ", with no column in common"
        sentence = f"it is not the table that earlier releases were made from: it has other values{where}"
        cure = "give that table, or other data its own id"
        yield Finding(kind="dataset", column=None, rows=rows, stops=True, sentence=sentence, cure=cure)


def _of_secrets(table: PrivateTable, raw: Mapping[str, pa.ChunkedArray], accepted: Accepted) -> Iterator[Finding]:
    for name in table.secrets:
        if name in raw and name not in table.how.types.names and has_gaps(raw[name]):
            yield _missing(name, raw[name], None, accepted)


def _of_column(name: str, how: Readings, read: RowsRead, accepted: Accepted) -> Iterator[Finding]:
    """Yield what reading a column would change."""
    column, written, typed = how.columns[name], plain(read.written[name]), read.typed[name]
    nothing, unread = written.is_null(nan_is_null=True), typed.is_null(nan_is_null=True)
    allowed = column.nulls or name.lower() in accepted.missing
    if not allowed and pc.any(nothing).as_py():
        yield _missing(name, written, column, accepted)
    odd = written.filter(pc.and_(unread, pc.invert(nothing)))
    if len(odd):
        yield _unreadable(name, how, odd)
    if column.low is not None and column.high is not None:
        yield from _of_ordered(name, column, typed.filter(pc.invert(unread)), accepted)
    elif column.known is not None:
        yield from _of_levels(name, column, typed.filter(pc.invert(unread)))


def _missing(name: str, written: pa.ChunkedArray, column: ColumnReading | None, accepted: Accepted) -> Finding:
    rows = int(pc.sum(written.is_null(nan_is_null=True)).as_py() or 0)
    value = "…" if column is None else _toml(column.otherwise.as_py())
    return Finding(
        kind="missing",
        column=name,
        rows=rows,
        stops=name.lower() not in accepted.missing,
        sentence=f"`{name}` has no value in {_counted(rows, 'row')}, and the reference always has one",
        cure=f"fill it in, or declare what counts there, such as missing.{_key(name)} = {value} in [data]",
    )


def _unreadable(name: str, how: Readings, odd: pa.ChunkedArray) -> Finding:
    values = _most_frequent(odd)
    kind = how.types.field(name).type
    what = "a number" if is_number(kind) else "a date or time" if pa.types.is_temporal(kind) else f"of type {kind}"
    commas = is_number(kind) and all("," in str(value) for value in values)
    cure = (
        "write fractions with a point, or separate the values of the file with semicolons"
        if commas
        else (
            f"correct {'it' if len(values) == 1 else 'them'}, or declare levels.{_key(name)} = "
            f"{{{_toml(next(iter(values)))} = …}} in [data]"
        )
    )
    return Finding(
        kind="unreadable",
        column=name,
        rows=len(odd),
        stops=True,
        sentence=f"`{name}` has what is not {what} in {_counted(len(odd), 'row')}, {_listed(values)}",
        cure=cure,
        values=values,
    )


def _of_levels(name: str, column: ColumnReading, values: pa.ChunkedArray) -> Iterator[Finding]:
    """Yield the values of a column without an order that the reference lacks, with the nearest that it has."""
    unknown = values.filter(pc.invert(column.knows(values)))
    if not len(unknown) or column.known is None:
        return
    found = _most_frequent(unknown)
    different = len(unknown.unique())
    if column.as_they_are:
        sentence = f"`{name}` has {_counted(different, 'value')} that the reference lacks, as is to be expected of it"
        yield Finding(kind="levels", column=name, rows=len(unknown), stops=False, sentence=sentence, values=found)
        return
    known = list(map(str, column.known.to_pylist()))
    near = {value: nearest_level(value, known) for value in found}
    described = [
        f"{value!r} ({_counted(rows, 'row')}{f'; the reference has {near[value]!r}' if near[value] else ''})"
        for value, rows in found.items()
    ]
    several, them = ("values", "them") if different > 1 else ("a value", "it")
    pairs = ", ".join(f"{_toml(value)} = {_toml(near[value] or '…')}" for value in found)
    has = "" if all(near.values()) else f", where the reference has {_listing(map(repr, known))}"
    yield Finding(
        kind="levels",
        column=name,
        rows=len(unknown),
        stops=True,
        sentence=f"`{name}` has {several} that the reference lacks, {_listing(described, different)}",
        cure=f"correct {them}, or declare levels.{_key(name)} = {{{pairs}}} in [data]{has}",
        values=found,
    )


def nearest_level(value: str, known: Iterable[str]) -> str | None:
    """Return the level of the reference that a value may be another spelling of; none where no level is near.

    >>> nearest_level("Ja", ["ja", "nein"]), nearest_level(" NEIN", ["ja", "nein"]), nearest_level("17", ["ja", "nein"])
    ('ja', 'nein', None)
    """
    folded = {level.strip().casefold(): level for level in reversed(list(known))}
    own = value.strip().casefold()
    if own in folded:
        return folded[own]
    near = difflib.get_close_matches(own, folded, n=1, cutoff=0.7)
    return folded[near[0]] if near else None


def _of_ordered(name: str, column: ColumnReading, values: pa.ChunkedArray, accepted: Accepted) -> Iterator[Finding]:
    """Yield the values beyond those of the reference, and those between them that it lacks."""
    outside = values.filter(pc.or_(pc.less(values, column.low), pc.greater(values, column.high)))
    if len(outside):
        ends = pc.min_max(outside)
        least, most = ends["min"].as_py(), ends["max"].as_py()
        span = f"{least}" if least == most else f"from {least} to {most}"
        unit = _unit(values, column)
        yield Finding(
            kind="range",
            column=name,
            rows=len(outside),
            stops=name.lower() not in accepted.clip,
            sentence=(
                f"`{name}` is outside the reference's range, {column.low} to {column.high}, in "
                f"{_counted(len(outside), 'row')}, {span}"
            ),
            cure=f"{unit}, or declare clip = [{_toml(name)}] in [data] to read such values as the nearest end",
            values=_most_frequent(outside),
        )
    inside = pc.and_(pc.greater_equal(values, column.low), pc.less_equal(values, column.high))
    if column.known is not None and not column.as_they_are:
        between = values.filter(pc.and_(inside, pc.invert(column.knows(values))))
        if len(between):
            sentence = (
                f"`{name}` has values in {_counted(len(between), 'row')} that the reference lacks, inside its range; "
                "they are read as the nearest that it has"
            )
            found = _most_frequent(between)
            yield Finding(kind="between", column=name, rows=len(between), stops=False, sentence=sentence, values=found)


def _unit(values: pa.ChunkedArray, column: ColumnReading) -> str:
    """Return what to do about values out of range: if most are a power of ten off, the unit is another."""
    if not is_number(values.type) or not is_number(column.otherwise.type):
        return "correct them"
    middle, usual = float(np.median(on_a_line(values).astype(float))), float(column.otherwise.as_py())
    ratio = middle / usual if usual else 0.0
    power = round(math.log10(ratio)) if ratio > 0 else 0
    beyond = middle > float(column.high.as_py()) or middle < float(column.low.as_py())  # type: ignore[union-attr]
    if not power or not beyond:
        return "correct them"
    times = f"{10 ** abs(power):,} times {'larger' if power > 0 else 'smaller'} than"
    return f"its values are about {times} the reference's, so use the same unit"


def _of_rows(how: Readings, read: RowsRead, accepted: Accepted) -> Iterator[Finding]:
    """Yield the rows of which an expression, or several together, make what they make of no reference row."""
    named: set[frozenset[str]] = set()
    for (expression, row), given, held in zip(how.rows, read.given, read.held, strict=True):
        rows = int((held != given).sum())
        if rows and expression.columns not in named:
            named.add(expression.columns)
            ends = (
                f"always {row.low:g} in the reference"
                if row.low == row.high
                else (f"from {row.low:g} to {row.high:g} in the reference")
            )
            sentence = f"`{expression.text}` is {ends}, and something else or nothing in {_counted(rows, 'row')}"
            yield _together(sorted(expression.columns), rows, sentence, accepted)
    broken = int(how.constraints.broken(read.held).sum()) if len(read.held) else 0
    if broken and not named:
        bound = np.abs(how.constraints.constant).max(axis=1, initial=0.0) > CONSTRAINED
        columns = sorted({c for (e, _), is_bound in zip(how.rows, bound, strict=True) if is_bound for c in e.columns})
        listed = _listing(f"`{column}`" for column in columns)
        sentence = f"{_counted(broken, 'row')} combine values of {listed} as no reference row does"
        yield _together(columns, broken, sentence, accepted)


def _together(columns: Sequence[str], rows: int, sentence: str, accepted: Accepted) -> Finding:
    stops = not {column.lower() for column in columns} <= accepted.clip
    clip = ", ".join(map(_toml, columns))
    cure = f"correct them, or declare clip = [{clip}] in [data] to read them as the nearest that the reference has"
    column = columns[0] if len(columns) == 1 else None
    return Finding(kind="combination", column=column, rows=rows, stops=stops, sentence=sentence, cure=cure)


def _comparisons(how: Readings, read: RowsRead) -> Iterator[Comparison]:
    """Yield how unlike the reference every column is; of several reference tables, the one that it is most like."""
    samples = [table.engine.sample(table.select.raw(), COMPARED, 0) for table in how.tables]
    for name in how.types.names:
        kind = how.types.field(name).type
        own = read.typed[name].drop_null()
        best: tuple[float, float] | None = None
        for table, sample in zip(how.tables, samples, strict=True):
            place = [each.lower() for each in table.select.read_columns].index(name.lower())
            typed = TotalTable.of({"c": sample[f"c{place}"]}, pa.schema({"c": kind}), sample.num_rows).columns["c"]
            found = _distance(own, plain(typed).drop_null(), ordered=is_ordered(kind))
            best = found if best is None or found[0] < best[0] else best
        if best is not None:
            yield Comparison(column=name, distance=best[0], by_chance=best[1])


def _distance(own: pa.ChunkedArray, reference: pa.ChunkedArray, *, ordered: bool) -> tuple[float, float]:
    """Return how far apart two columns are, and what 95 % of samples of the second stay below.

    That is the limit of Kolmogorov and Smirnov, and for other values the mean of the normal approximation with what
    McDiarmid's inequality allows beyond it.
    """
    if not len(own) or not len(reference):
        return 1.0, 1.0
    every = pa.chunked_array([*own.chunks, *reference.chunks], type=own.type)
    levels = every.unique()
    levels = levels.take(pc.sort_indices(levels)) if ordered else levels
    codes = pc.index_in(every, value_set=levels).to_numpy()
    mine, theirs = (np.bincount(each, minlength=len(levels)) for each in (codes[: len(own)], codes[len(own) :]))
    shares, rows = theirs / len(reference), 1 / len(own) + 1 / len(reference)
    difference = mine / len(own) - shares
    if ordered:
        return float(np.abs(np.cumsum(difference)).max()), 1.358 * math.sqrt(rows)
    expected = np.sqrt(2 / math.pi * rows * shares * (1 - shares)).sum() / 2
    return float(np.abs(difference).sum() / 2), min(1.0, float(expected) + math.sqrt(math.log(20) * rows / 2))


def _most_frequent(values: pa.ChunkedArray) -> dict[str, int]:
    counted = Counter(map(str, values.to_pylist()))
    return dict(counted.most_common(MOST_LISTED))


def _counted(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def _listed(values: Mapping[str, int]) -> str:
    return _listing(map(repr, values))


def _listing(texts: Iterable[str], many: int | None = None) -> str:
    """Return some texts with commas, and how many there are besides."""
    every = list(texts)
    left = (len(every) if many is None else many) - len(every[:MOST_LISTED])
    return ", ".join(every[:MOST_LISTED]) + (f" and {left} more" if left > 0 else "")


def _key(name: str) -> str:
    """Return a key as TOML writes it."""
    return name if name.isascii() and name.replace("_", "").replace("-", "").isalnum() else _toml(name)


def _toml(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return f"{value:g}" if isinstance(value, float) else str(value)
    text = str(value).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{text}"'
