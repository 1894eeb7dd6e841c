"""The SELECTs, in standard SQL that DuckDB and Spark both run.

They call the table SOURCE, evaluate row expressions once in an inner SELECT, and aggregate outside. Every value
is taken less a constant near its mean before it is squared: without that, a mean of 10⁶ with a standard
deviation of 1 would cost half of the covariance's digits.
"""

from collections.abc import Sequence

from attrs import field, frozen
from sqlglot import exp

from distpriv.engines.engine import SOURCE
from distpriv.engines.expressions import RowExpression

__all__ = ["STRATUM", "RowSelect"]

STRATUM = "stratum"
"""The column that tells whether a row satisfies the predicate."""


@frozen(kw_only=True)
class RowSelect:
    """What is read of each row: numbers, predicates and raw columns, in one engine's dialect."""

    dialect: str
    numbers: tuple[RowExpression, ...]
    predicates: tuple[RowExpression, ...] = ()
    properties: tuple[RowExpression, ...] = ()
    """Numbers that rows are weighed by."""
    columns: tuple[str, ...] = ()
    floating: frozenset[str] = field(default=frozenset())
    """The columns that can hold NaN."""
    drop_missing: bool = False
    """Whether rows are left out that lack a value in any column of the table."""
    table: tuple[str, ...] = ()
    """All columns of the table: which rows are left out must not depend on what is asked."""

    @property
    def required_columns(self) -> tuple[str, ...]:
        """The columns in which a null makes a row unusable, in alphabetical order."""
        expressions = self._expressions
        read = {column for expression in expressions for column in expression.columns - expression.guarded}
        return tuple(sorted(read | self._raw))

    @property
    def _expressions(self) -> tuple[RowExpression, ...]:
        return (*self.numbers, *self.predicates, *self.properties)

    @property
    def _raw(self) -> set[str]:
        return {*self.columns}

    @property
    def _used(self) -> set[str]:
        return {column for e in self._expressions for column in e.columns} | self._raw

    @property
    def read_columns(self) -> tuple[str, ...]:
        """The columns that statistics read, in alphabetical order."""
        return tuple(sorted({column for number in self.numbers for column in number.columns} | {*self.columns}))

    @property
    def missing_tests(self) -> dict[str, str]:
        """What makes a row unusable, by what lacks a value: SQL that is never null.

        COALESCE and IS provide for nulls and not for NaN, which compares as larger than everything: so NaN is missing
        in every column that can hold it, and in every part of a predicate that can come to be it.
        """
        return {**self.column_tests, **self.value_tests}

    @property
    def column_tests(self) -> dict[str, str]:
        """What makes a row incomplete, by the columns that are read of it."""
        required = self.required_columns
        tests = {name: self._column_test(name, null=name in required) for name in sorted(self._used)}
        return {f"column {name!r}": test for name, test in tests.items() if test}

    def _column_test(self, name: str, *, null: bool) -> str:
        quoted = _quoted(name, self.dialect)
        checks = [f"{quoted} IS NULL"] if null else []
        return " OR ".join([*checks, *([f"COALESCE(ISNAN({quoted}), FALSE)"] if name in self.floating else [])])

    @property
    def value_tests(self) -> dict[str, str]:
        """What makes nothing of a row that may be complete: such rows are never dropped.

        An expression could choose by them which rows the model has, and the private table keeps all of its own.
        """
        tests = {}
        for e in self._expressions:
            parts = [f"COALESCE(ISNAN(TRY_CAST({part} AS DOUBLE)), FALSE)" for part in e.fragile(self.dialect)]
            tests[f"the value of {e.text!r}"] = " OR ".join([f"({e.sql(self.dialect)}) IS NULL", *parts])
        return tests

    def values(self) -> str:
        """Return the expressions as they are, with no row: their types are what is asked for."""
        listed = self._expressions
        return (
            f"SELECT {', '.join(f'{e.sql(self.dialect)} AS e{k}' for k, e in enumerate(listed))} FROM {SOURCE} LIMIT 0"
        )

    def rows(self) -> str:
        """Return every usable row: v0, v1, … and w0, w1, … as doubles, p0, … as booleans, c0, … as they are."""
        return f"SELECT {', '.join(self._listed())} FROM {SOURCE}{self._where()}"

    def whole_rows(self) -> str:
        """Return every usable row as `rows` does, and all columns of the table, t0, t1, …, as they are."""
        every = [f"{_quoted(name, self.dialect)} AS t{k}" for k, name in enumerate(self.table)]
        return f"SELECT {', '.join([*every, *self._listed()])} FROM {SOURCE}{self._where()}"

    def stratum(self, predicate: str, satisfied: bool) -> str:
        """Return the rows, as `rows` does, that satisfy a predicate, or that do not."""
        (place,) = (k for k, e in enumerate(self.predicates) if e.text == predicate)
        chosen = f"COALESCE(p{place}, FALSE)"
        return f"SELECT * FROM ({self.rows()}) AS usable_rows WHERE {chosen if satisfied else f'NOT {chosen}'}"

    def _listed(self) -> list[str]:
        listed = [f"CAST({e.sql(self.dialect)} AS DOUBLE) AS v{k}" for k, e in enumerate(self.numbers)]
        listed += [f"({e.sql(self.dialect)}) AS p{k}" for k, e in enumerate(self.predicates)]
        listed += [f"CAST({e.sql(self.dialect)} AS DOUBLE) AS w{k}" for k, e in enumerate(self.properties)]
        return listed + [f"{_quoted(name, self.dialect)} AS c{k}" for k, name in enumerate(self.columns)]

    def moments(self, shifts: Sequence[float], predicate: RowExpression | None) -> str:
        """Return, by stratum, counts, means, covariances and extremes of every number less its shift.

        Columns: stratum, n, unusable (rows that lack a value somewhere), then for number k: m{k}, low{k}, high{k}, and
        s{j}_{k} for j ≤ k.
        """
        outer = [STRATUM, "COUNT(*) AS n", "SUM(unusable) AS unusable"]
        for k in range(len(self.numbers)):
            outer += [f"AVG(v{k}) AS m{k}", f"MIN(v{k}) AS low{k}", f"MAX(v{k}) AS high{k}"]
            outer += [f"COVAR_SAMP(v{j}, v{k}) AS s{j}_{k}" for j in range(k + 1)]
        return f"SELECT {', '.join(outer)} FROM ({self.shifted(shifts, predicate)}) AS rows_read GROUP BY {STRATUM}"

    def shifted(self, shifts: Sequence[float], predicate: RowExpression | None) -> str:
        """Return every row's stratum, numbers less their shifts, v0, v1, …, and whether it is unusable, 1 or 0."""
        inner = [f"{'TRUE' if predicate is None else f'({predicate.sql(self.dialect)})'} AS {STRATUM}"]
        inner += [
            f"CAST({e.sql(self.dialect)} AS DOUBLE) - CAST({shift!r} AS DOUBLE) AS v{k}"
            for k, (e, shift) in enumerate(zip(self.numbers, shifts, strict=True))
        ]
        tests = [f"({test})" for test in self.missing_tests.values()]
        inner += [f"CASE WHEN {' OR '.join(tests)} THEN 1 ELSE 0 END AS unusable"] if tests else ["0 AS unusable"]
        return f"SELECT {', '.join(inner)} FROM {SOURCE}{self._where()}"

    def missing(self) -> str:
        """Return how many rows are not dropped, and how many of them fail each of the missing tests, in order."""
        counted = [
            f"COUNT(CASE WHEN {test} THEN 1 END) AS missing{k}" for k, test in enumerate(self.missing_tests.values())
        ]
        return f"SELECT {', '.join(['COUNT(*) AS n', *counted])} FROM {SOURCE}{self._where()}"

    def raw(self) -> str:
        """Return the columns that statistics read of every usable row, as they are, by the names c0, c1 and so on."""
        listed = [f"{_quoted(name, self.dialect)} AS c{k}" for k, name in enumerate(self.read_columns)]
        return f"SELECT {', '.join(listed)} FROM {SOURCE}{self._where()}"

    def ends(self, names: Sequence[str]) -> str:
        """Return the least and the greatest value of columns and how many rows lack one: low0, high0, nulls0."""
        quoted = [_quoted(name, self.dialect) for name in names]
        listed = [
            f"MIN({c}) AS low{k}, MAX({c}) AS high{k}, COUNT(*) - COUNT({c}) AS nulls{k}" for k, c in enumerate(quoted)
        ]
        return f"SELECT {', '.join(listed)} FROM {SOURCE}{self._where()}"

    def counts(self, name: str, most: int | None = None) -> str:
        """Return every value of a column, v, and how many usable rows have it, n, and how many of each stratum.

        Those of which predicate k is so are p{k}. At most so many values are returned, and no null, if that is asked.
        """
        column = _quoted(name, self.dialect)
        so = [f"COUNT(CASE WHEN ({e.sql(self.dialect)}) THEN 1 END) AS p{k}" for k, e in enumerate(self.predicates)]
        listed = ", ".join([f"{column} AS v", "COUNT(*) AS n", *so])
        counted = f"SELECT {listed} FROM {SOURCE}{self._where()} GROUP BY {column}"
        return counted if most is None else f"SELECT * FROM ({counted}) AS counted WHERE v IS NOT NULL LIMIT {most}"

    def gaps(self, predicate: RowExpression | None) -> str:
        """Return of each stratum how many rows there are, n, and how many of them lack a value in any column, gaps."""
        so = "TRUE" if predicate is None else f"({predicate.sql(self.dialect)})"
        lacks = f"CASE WHEN {self._any_gap() or 'FALSE'} THEN 1 ELSE 0 END"
        rows = f"SELECT {so} AS {STRATUM}, {lacks} AS lacks FROM {SOURCE}"
        return (
            f"SELECT {STRATUM}, COUNT(*) AS n, SUM(lacks) AS gaps FROM ({rows}) AS rows_read "
            f"WHERE {STRATUM} IS NOT NULL GROUP BY {STRATUM}"
        )

    def combinations(self, names: Sequence[str]) -> str:
        """Return what usable rows have in some columns together, c0, c1 and so on, and how many have it, n."""
        quoted = [_quoted(name, self.dialect) for name in names]
        listed = [f"{column} AS c{k}" for k, column in enumerate(quoted)]
        return f"SELECT {', '.join(listed)}, COUNT(*) AS n FROM {SOURCE}{self._where()} GROUP BY {', '.join(quoted)}"

    def counted_values(self, names: Sequence[str]) -> str:
        """Return what usable rows have as their first number, v, and in some columns, and how many have it, n."""
        value = f"CAST({self.numbers[0].sql(self.dialect)} AS DOUBLE)"
        quoted = [_quoted(name, self.dialect) for name in names]
        listed = [f"{value} AS v", *(f"{column} AS c{k}" for k, column in enumerate(quoted))]
        grouped = ", ".join([value, *quoted])
        return f"SELECT {', '.join(listed)}, COUNT(*) AS n FROM {SOURCE}{self._where()} GROUP BY {grouped}"

    def _where(self) -> str:
        gap = self._any_gap() if self.drop_missing else ""
        return f" WHERE NOT ({gap})" if gap else ""

    def _any_gap(self) -> str:
        """Return SQL that is so of rows which lack a value in any column."""
        tests = [self._column_test(name, null=True) for name in sorted({*self.table} | self._used)]
        return " OR ".join(f"({test})" for test in tests)


def _quoted(name: str, dialect: str) -> str:
    return exp.to_identifier(name, quoted=True).sql(dialect=dialect)
