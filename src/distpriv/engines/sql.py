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
    columns: tuple[str, ...] = ()
    floating: frozenset[str] = field(default=frozenset())
    """The columns that can hold NaN."""
    drop_missing: bool = False

    @property
    def required_columns(self) -> tuple[str, ...]:
        """The columns in which a null or NaN makes a row unusable, in alphabetical order."""
        expressions = (*self.numbers, *self.predicates)
        read = {column for expression in expressions for column in expression.columns - expression.guarded}
        return tuple(sorted(read | set(self.columns)))

    def values(self) -> str:
        """Return the expressions as they are, with no row: their types are what is asked for."""
        listed = [*self.numbers, *self.predicates]
        return (
            f"SELECT {', '.join(f'{e.sql(self.dialect)} AS e{k}' for k, e in enumerate(listed))} FROM {SOURCE} LIMIT 0"
        )

    def rows(self) -> str:
        """Return every usable row: v0, v1, … as doubles, p0, p1, … as booleans, c0, c1, … as they are."""
        listed = [f"CAST({e.sql(self.dialect)} AS DOUBLE) AS v{k}" for k, e in enumerate(self.numbers)]
        listed += [f"({e.sql(self.dialect)}) AS p{k}" for k, e in enumerate(self.predicates)]
        listed += [f"{_quoted(name, self.dialect)} AS c{k}" for k, name in enumerate(self.columns)]
        return f"SELECT {', '.join(listed)} FROM {SOURCE}{self._where()}"

    def moments(self, shifts: Sequence[float], predicate: RowExpression | None) -> str:
        """Return, by stratum, counts, means, covariances and extremes of every number less its shift.

        Columns: stratum, n, then for number k: n{k} (not null), m{k}, low{k}, high{k}, and s{j}_{k} for j ≤ k; then
        for required column k: present{k} (not null) and, where it can be NaN, top{k} (NaN if any is).
        """
        count = len(self.numbers)
        inner = [f"{'TRUE' if predicate is None else f'({predicate.sql(self.dialect)})'} AS {STRATUM}"]
        inner += [
            f"CAST({e.sql(self.dialect)} AS DOUBLE) - CAST({shift!r} AS DOUBLE) AS v{k}"
            for k, (e, shift) in enumerate(zip(self.numbers, shifts, strict=True))
        ]
        inner += [f"{_quoted(name, self.dialect)} AS r{k}" for k, name in enumerate(self.required_columns)]
        outer = [STRATUM, "COUNT(*) AS n"]
        for k in range(count):
            outer += [f"COUNT(v{k}) AS n{k}", f"AVG(v{k}) AS m{k}", f"MIN(v{k}) AS low{k}", f"MAX(v{k}) AS high{k}"]
            outer += [f"COVAR_SAMP(v{j}, v{k}) AS s{j}_{k}" for j in range(k + 1)]
        for k, name in enumerate(self.required_columns):
            outer += [f"COUNT(r{k}) AS present{k}"]
            outer += [f"MAX(r{k}) AS top{k}"] if name in self.floating else []
        return (
            f"SELECT {', '.join(outer)} FROM (SELECT {', '.join(inner)} FROM {SOURCE}{self._where()}) AS rows_read "
            f"GROUP BY {STRATUM}"
        )

    def missing(self) -> str:
        """Return how many rows there are, and how many lack a value in each required column, then each expression."""
        expressions = (*self.numbers, *self.predicates)
        tests = [self._column_missing(name) for name in self.required_columns]
        tests += [f"{e.sql(self.dialect)} IS NULL" for e in expressions]
        counted = [f"COUNT(CASE WHEN {test} THEN 1 END) AS missing{k}" for k, test in enumerate(tests)]
        return f"SELECT {', '.join(['COUNT(*) AS n', *counted])} FROM {SOURCE}"

    def _column_missing(self, name: str) -> str:
        quoted = _quoted(name, self.dialect)
        return f"{quoted} IS NULL" + (f" OR ISNAN({quoted})" if name in self.floating else "")

    def _where(self) -> str:
        if not self.drop_missing:
            return ""
        kept = [f"NOT ({self._column_missing(name)})" for name in self.required_columns]
        kept += [f"({e.sql(self.dialect)}) IS NOT NULL" for e in (*self.numbers, *self.predicates)]
        return f" WHERE {' AND '.join(kept)}" if kept else ""


def _quoted(name: str, dialect: str) -> str:
    return exp.to_identifier(name, quoted=True).sql(dialect=dialect)
