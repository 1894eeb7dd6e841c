"""What a reference table offers: its numbers with their ranges, its texts with their most frequent values."""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import count
from typing import Any

import pyarrow as pa
from attrs import evolve, field, frozen
from sqlglot import exp

from distpriv.engines.engine import SOURCE, Engine, engine_for
from distpriv.engines.expressions import parse_expression
from distpriv.engines.total import is_number, is_text
from distpriv.errors import InvalidExpression
from distpriv.framework.domains import is_control
from distpriv.modelling.model import FEWEST_ROWS

__all__ = ["RECORDS", "Column", "LeftOut", "Names", "Survey", "Value", "plain", "survey"]

RECORDS = 100
"""How many records a draft is about: a person decides, and the rows of the reference do not bound it."""

MOST_COLUMNS = 40
MOST_VALUES = 3
MOST_KINDS = 50
"""A text column with more different values than this holds names, not kinds."""

ROWS_OF_A_KIND = 10
"""How many rows a value has on average from which on it is no chance that all of them are alike."""

RUNNING, DISTINCT = 100, 1000
"""From so many rows on, whole numbers of which no two are equal are a key: if they leave few gaps, or at all."""

_KEY_WORDS = frozenset(["id", "ids", "key", "uuid", "guid", "nr"])


_WEIGHT = re.compile(r"wgt|wght|weight|(?:^|_)wt(?:$|_)|^pwt|^perwt", re.IGNORECASE)
"""What columns of weights are called in surveys; a person's weight in kilograms may be too, so it is only offered."""


@frozen(kw_only=True)
class Value:
    """A frequent value of a text or truth column, or one of two numbers."""

    text: str
    condition: str
    """True of the rows that have it, in SQL."""
    share: float
    rows: int


@frozen(kw_only=True)
class Column:
    """A column that a statistic can be made of."""

    name: str
    sql: str
    """Its name in SQL, in quotes where it needs them."""
    complete: bool
    low: float | None = None
    high: float | None = None
    resolution: float | None = None
    mean: float | None = None
    deviation: float | None = None
    values: tuple[Value, ...] = ()
    kinds: int = 0

    @property
    def mean_of_it(self) -> str:
        """The mean of a column of numbers, as a policy asks for it."""
        return f"mean({self.sql}{'' if self.resolution is None else f', resolution = {self.resolution:g}'})"


@frozen(kw_only=True)
class LeftOut:
    """A column that no statistic is offered of."""

    name: str
    why: str


@frozen(kw_only=True)
class Survey:
    """The columns of a reference table and how many rows it has."""

    rows: int
    columns: tuple[Column, ...]
    left_out: tuple[LeftOut, ...] = ()
    telling: frozenset[str] = frozenset()
    """The columns of which each value tells whether a row is in the first of the possible shares."""

    @property
    def harmless(self) -> tuple[Column, ...]:
        """The columns that a statistic is offered of: those that do not give the share away that is protected."""
        return tuple(column for column in self.columns if column.name not in self.telling)

    @property
    def suggested_weight(self) -> Column | None:
        """A column that a survey may have its weights in, by its name and as it is never below 0."""
        named = (c for c in self.columns if c.complete and _WEIGHT.search(c.name))
        return next((column for column in named if column.low is not None and column.low >= 0), None)

    @property
    def possible_shares(self) -> tuple[Value, ...]:
        """The rarer value of each column with two of them, from the last to the first; or else one of each column."""
        offered = [c for c in self.columns if c.complete and any(self._fits(value) for value in c.values)]
        two = [column for column in reversed(offered) if column.kinds == 2]
        return tuple(min(filter(self._fits, column.values), key=lambda v: v.rows) for column in two or offered)

    def suggested_values(self, value: Value) -> tuple[float, float]:
        """Two attainable shares on either side of that of the reference."""
        apart = RECORDS // 20
        middle = min(max(round(value.share * RECORDS), apart), RECORDS - apart)
        return (middle - apart) / RECORDS, (middle + apart) / RECORDS

    @property
    def suggested_mean(self) -> tuple[Column, float, float] | None:
        """The last column of numbers, with two means a tenth of its deviation to either side of its own.

        A column of two numbers is a share, and comes after all others.
        """
        last_first = self.columns[::-1]
        for column in sorted(last_first, key=lambda column: column.kinds == 2):
            if column.complete and column.mean is not None and column.deviation and column.low is not None:
                digits = 1 - math.floor(math.log10(column.deviation / 10))
                low, high = (round(column.mean + side * column.deviation / 10, digits) for side in (-1, 1))
                if column.low < low < high < (column.high or 0.0):
                    return column, low, high
        return None

    def _fits(self, value: Value) -> bool:
        """Tell whether the reference has rows of both kinds that tell something of how others of them vary."""
        return min(value.rows, self.rows - value.rows) >= FEWEST_ROWS


@frozen
class Names:
    """Names for statistics, each given once.

    >>> names = Names()
    >>> names.new("income >50K"), names.new("income, above 50k")
    ('income_above_50k', 'income_above_50k_2')
    """

    _given: set[str] = field(factory=set)

    def new(self, wish: str) -> str:
        """Return a name like the wish that was not given before."""
        signs = {"<=": " at most ", ">=": " at least ", "<": " below ", ">": " above ", "+": " plus "}
        for sign, word in signs.items():
            wish = wish.replace(sign, word)
        name = re.sub(r"[\W_]+", "_", wish.lower()).strip("_") or "statistic"
        name = next(n for k in count(1) if (n := name if k == 1 else f"{name}_{k}") not in self._given)
        self._given.add(name)
        return name


def plain(number: float) -> str:
    """Return a number as people write it.

    >>> plain(39.0), plain(0.25)
    ('39', '0.25')
    """
    return str(int(number)) if number == int(number) else f"{number:.6g}"


def survey(source: Any) -> Survey:
    """Return what a reference table offers.

    >>> import pyarrow as pa
    >>> survey(pa.table({"age": [30, 40, 41]})).columns[0].high
    41.0
    """
    engine = engine_for(source)
    rows = engine.select(f"SELECT count(*) AS n FROM {SOURCE}")["n"][0].as_py()
    found = list(_seen(engine, rows)) if rows else []
    seen = Survey(
        rows=rows,
        columns=tuple(column for column in found if isinstance(column, Column)),
        left_out=tuple(column for column in found if isinstance(column, LeftOut)),
    )
    protected = seen.possible_shares[:1]
    return evolve(
        seen, telling=frozenset(c.name for c in seen.columns for p in protected if _tells(engine, c, p, rows))
    )


def _tells(engine: Engine, column: Column, protected: Value, rows: int) -> bool:
    """Tell whether rows with the same value of a column are in a share together, or not in it together."""
    condition = parse_expression(protected.condition, engine.schema.names, where="the share").sql(engine.dialect)
    name = _quoted(column.name, engine.dialect)
    is_in = f"CASE WHEN {condition} THEN 1 ELSE 0 END"
    kinds = f"SELECT MIN({is_in}) AS least, MAX({is_in}) AS most FROM {SOURCE} GROUP BY {name}"
    counted = engine.select(f"SELECT COUNT(*) AS n, SUM(most - least) AS mixed FROM ({kinds}) AS kinds").to_pylist()[0]
    return bool(counted["n"] <= min(MOST_KINDS, rows // ROWS_OF_A_KIND) and not counted["mixed"])


def _seen(engine: Engine, rows: int) -> Iterator[Column | LeftOut]:
    """Yield what each column offers, or why it offers nothing."""
    for place, column in enumerate(engine.schema):
        if any(map(is_control, column.name)):
            yield LeftOut(name=ascii(column.name), why="its name cannot be written: rename it")
        elif place >= MOST_COLUMNS:
            yield LeftOut(name=column.name, why=f"the table has more than {MOST_COLUMNS} columns")
        elif is_number(column.type):
            yield _number(engine, column)
        elif pa.types.is_boolean(column.type) or is_text(column.type):
            yield _kinds(engine, column, rows)
        else:
            yield LeftOut(
                name=column.name,
                why=f"it is of type {column.type}: write a condition or a number, such as its year, in SQL",
            )


def _number(engine: Engine, column: pa.Field) -> Column | LeftOut:
    """Return a column of numbers, unless it holds none, or more digits than arithmetic keeps, or is a key."""
    name = _quoted(column.name, engine.dialect)
    finite = f"CASE WHEN CAST({name} AS DOUBLE) BETWEEN -1.797e308 AND 1.797e308 THEN {name} END AS x"
    moderate = "CASE WHEN x BETWEEN -1e12 AND 1e12 THEN CAST(x AS DOUBLE) END"
    seen = engine.select(
        f"SELECT MIN(x) AS low, MAX(x) AS high, COUNT(x) AS usable, COUNT(*) AS n, AVG({moderate}) AS mean, "
        f"STDDEV_POP({moderate}) AS deviation, COUNT(DISTINCT x) AS different "
        f"FROM (SELECT {finite} FROM {SOURCE}) AS read"
    ).to_pylist()[0]
    whole = pa.types.is_integer(column.type)
    if why := _no_number(column.name, whole, seen):
        return LeftOut(name=column.name, why=why)
    two = _counted(engine, column)[:2] if seen["different"] == 2 else []
    return Column(
        name=column.name,
        sql=_spelled(engine, column.name),
        complete=seen["usable"] == seen["n"],
        low=float(seen["low"]),
        high=float(seen["high"]),
        resolution=1 if whole else None,
        mean=seen["mean"],
        deviation=seen["deviation"],
        values=tuple(_two_numbers(_spelled(engine, column.name), two, seen["n"])),
        kinds=seen["different"] if two else 0,
    )


def _no_number(name: str, whole: bool, seen: Mapping[str, Any]) -> str | None:
    """Say why no mean is offered of a column of numbers; nothing where one is."""
    if not seen["usable"]:
        return "no row has a number in it"
    if max(abs(seen["low"]), abs(seen["high"])) >= 2**53:
        return "it has more digits than arithmetic keeps: subtract a constant, or divide by one"
    if not whole:
        return None
    if _names_a_key(name):
        return "by its name it is a key, and nobody asks for the mean of one"
    gaps = seen["high"] - seen["low"] + 1 - seen["n"]
    if seen["different"] == seen["n"] >= (RUNNING if gaps <= seen["n"] else DISTINCT):
        return "it tells every row from all others, as a key does"
    return None


def _names_a_key(name: str) -> bool:
    """Tell whether a column is called a key.

    >>> [_names_a_key(name) for name in ("id", "patient_id", "PatientID", "hoursPaid", "key figure")]
    [True, True, True, False, True]
    """
    words = re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[^\W_A-Z]+", name)
    return not _KEY_WORDS.isdisjoint(word.lower() for word in words)


def _two_numbers(sql: str, counted: Sequence[Mapping[str, Any]], rows: int) -> Iterator[Value]:
    """Yield both values of a column that has two; of 0 and 1 the one that means yes."""
    numbers = {row["x"] for row in counted}
    for row in counted:
        if numbers != {0, 1} or row["x"] == 1:
            number = f"{row['x']}"
            yield Value(text=number, condition=f"{sql} = {number}", share=row["n"] / rows, rows=row["n"])


def _kinds(engine: Engine, column: pa.Field, rows: int) -> Column | LeftOut:
    """Return a column of few kinds with the most frequent of them."""
    counted = _counted(engine, column)
    kinds = [(row["x"], row["n"]) for row in counted if row["x"] is not None]
    if not 2 <= len(kinds) <= MOST_KINDS:
        many = f"it has more than {MOST_KINDS} different texts: write a condition over it, or cast it if it is numbers"
        return LeftOut(name=column.name, why="it is the same in every row" if len(kinds) < 2 else many)
    sql = _spelled(engine, column.name)
    values = [
        Value(text=str(kind), condition=_condition(sql, kind), share=number / rows, rows=number)
        for kind, number in kinds[:MOST_VALUES]
    ]
    complete = len(kinds) == len(counted)
    return Column(name=column.name, sql=sql, complete=complete, values=tuple(values), kinds=len(kinds))


def _counted(engine: Engine, column: pa.Field) -> list[dict[str, Any]]:
    """Return the most frequent values of a column, and how many rows have each."""
    found: list[dict[str, Any]] = engine.select(
        f"SELECT x, COUNT(*) AS n FROM (SELECT {_quoted(column.name, engine.dialect)} AS x FROM {SOURCE}) AS read "
        f"GROUP BY x ORDER BY n DESC, x LIMIT {MOST_KINDS + 2}"
    ).to_pylist()
    return found


def _condition(sql: str, kind: str | bool) -> str:
    if isinstance(kind, bool):
        return sql if kind else f"NOT {sql}"
    return f"{sql} = {exp.Literal.string(kind).sql(dialect='duckdb')}"


def _spelled(engine: Engine, name: str) -> str:
    """Return a column's name as an expression reads it, without quotes where that is the same."""
    try:
        tree = parse_expression(name, engine.schema.names, where=name).tree
    except InvalidExpression:
        return _quoted(name)
    return name if isinstance(tree, exp.Column) and name.isidentifier() else _quoted(name)


def _quoted(name: str, dialect: str = "duckdb") -> str:
    return exp.to_identifier(name, quoted=True).sql(dialect=dialect)
