"""Predicates and row expressions: SQL text that is read before anything is run.

The text is parsed, held against an allow-list node by node, and written out again from its tree, so that what
reaches an engine is one expression over the table's own columns and nothing else.
"""

import re
from collections.abc import Iterable
from contextlib import suppress
from typing import NoReturn

import sqlglot
from attrs import frozen
from sqlglot import exp
from sqlglot.errors import SqlglotError

from distpriv.engines.spark_expressions import for_spark, part_for_spark
from distpriv.errors import InvalidExpression
from distpriv.framework.domains import did_you_mean

__all__ = ["RowExpression", "parse_expression"]

_OPERATORS = (
    exp.Paren, exp.And, exp.Or, exp.Not, exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.Is, exp.In, exp.Between,
    exp.Like, exp.ILike, exp.Add, exp.Sub, exp.Mul, exp.Div, exp.IntDiv, exp.Mod, exp.Neg, exp.DPipe,
    exp.Case, exp.If, exp.Cast, exp.TryCast, exp.DataType, exp.DataTypeParam,
)  # fmt: skip
_FUNCTIONS = (
    exp.Abs, exp.Ceil, exp.Floor, exp.Round, exp.Sqrt, exp.Pow, exp.Exp, exp.Ln, exp.Log, exp.Sign, exp.Greatest,
    exp.Least, exp.Coalesce, exp.Nullif, exp.Lower, exp.Upper, exp.Length, exp.Substring, exp.Trim, exp.Concat,
    exp.StartsWith, exp.Year, exp.Month, exp.Day,
)  # fmt: skip
_FRAGILE = (exp.Div, exp.Mod, exp.Sqrt, exp.Pow, exp.Ln, exp.Log, exp.Cast)  # TRY_CAST is a CAST too
_PASSING_ON = (exp.Paren, exp.Add, exp.Sub, exp.Mul, exp.Div, exp.Neg, exp.Abs, exp.Sqrt, exp.Exp, exp.Ln)
"""What is NaN where one of its parts is: nothing is lost if only the whole is looked at."""
_LEAVES = (exp.Column, exp.Identifier, exp.Literal, exp.Boolean, exp.Null)
_ALLOWED = frozenset((*_OPERATORS, *_FUNCTIONS, *_LEAVES))
_FUNCTION_NAMES = ", ".join(sorted(node.sql_name().lower() for node in _FUNCTIONS))
_CAST_TYPES = frozenset(
    (
        *exp.DataType.NUMERIC_TYPES,
        *exp.DataType.TEXT_TYPES,
        exp.DataType.Type.BOOLEAN,
        exp.DataType.Type.DATE,
        exp.DataType.Type.TIMESTAMP,
        exp.DataType.Type.TIMESTAMPNTZ,
    )
)

MOST_CHARACTERS = 10_000
MOST_NODES = 1000
MOST_LEVELS = 100
"""How large an expression may be: every engine takes well under a second for what is smaller."""

MOST_WORDS = 20
"""How many words of a text that is no expression are tried in double quotes."""


@frozen(kw_only=True)
class RowExpression:
    """One expression over a table's columns that has passed the allow-list."""

    text: str
    tree: exp.Expr
    columns: frozenset[str]
    """Every column it reads."""
    guarded: frozenset[str]
    """Those it reads only through COALESCE or IS, so that nulls in them are provided for."""

    def sql(self, dialect: str) -> str:
        """Write the expression in an engine's dialect, with the meaning it has in DuckDB's.

        Raises:
            InvalidExpression: the engine has nothing that means the same.
        """
        tree = for_spark(self.tree, self.text) if dialect == "spark" else self.tree
        return tree.sql(dialect=dialect, comments=False)

    def fragile(self, dialect: str) -> list[str]:
        """Write the parts of the expression that can come to be NaN although no column is.

        Of parts that pass NaN on to each other only the outermost is written: what is written would be as long as the
        square of the expression otherwise.
        """
        found = {id(top): top for top in (_top(node) for node in self.tree.walk() if isinstance(node, _FRAGILE))}
        parts = [part_for_spark(node) if dialect == "spark" else node for node in found.values()]
        return list(dict.fromkeys(part.sql(dialect=dialect, comments=False) for part in parts))


def parse_expression(text: str, columns: Iterable[str], *, where: str) -> RowExpression:
    r"""Parse SQL text into one expression over the given columns.

    Text is in DuckDB's dialect, names of columns match whatever their case, and messages say `where` the text belongs.

    Raises:
        InvalidExpression: the text is not one expression, or reads or calls something it may not.

    >>> parse_expression("AGE > 30 and sex = 'Male'", ["age", "sex"], where="secret").sql("duckdb")
    '"age" > 30 AND "sex" = \'Male\''
    """
    known = {name.lower(): name for name in columns}
    tree = _one_expression(text, where)
    _refuse_too_large(tree, text, where)
    for node in tree.walk():
        _refuse_unless_allowed(node, text, where)
    occurrences = list(tree.find_all(exp.Column))
    for column in occurrences:
        if column.name.lower() not in known:
            _refuse_unknown_column(column, text, known.values(), where)
    guarded: set[str] = set()
    bare: set[str] = set()
    for column in occurrences:
        name = known[column.name.lower()]
        (guarded if isinstance(column.parent, exp.Coalesce | exp.Is) else bare).add(name)
        column.set("this", exp.to_identifier(name, quoted=True))
    return RowExpression(text=text, tree=tree, columns=frozenset(guarded | bare), guarded=frozenset(guarded - bare))


def _top(node: exp.Expr) -> exp.Expr:
    """Return the largest part of an expression that is NaN where this part is."""
    while isinstance(node.parent, _PASSING_ON):
        node = node.parent
    return node


def _refuse_too_large(tree: exp.Expr, text: str, where: str) -> None:
    nodes, level, levels = 1, [tree], 1
    while level := [child for node in level for child in node.iter_expressions()]:
        nodes, levels = nodes + len(level), levels + 1
    if nodes > MOST_NODES or levels > MOST_LEVELS:
        what = f"{nodes:,} parts" if nodes > MOST_NODES else f"parts within parts {levels:,} deep"
        _refuse_as_too_large(text, where, what)


def _refuse_as_too_large(text: str, where: str, what: str) -> NoReturn:
    beginning = text if len(text) <= 60 else f"{text[:57]}…"
    raise InvalidExpression(
        f"{beginning!r} has {what}: write it with at most {MOST_CHARACTERS:,} characters and {MOST_NODES:,} parts, at "
        f"most {MOST_LEVELS} deep, or add its value to the table as a column.",
        where=where,
    )


def _one_expression(text: str, where: str) -> exp.Expr:
    """Return the tree of the text, which must fill one pair of parentheses exactly."""
    if len(text) > MOST_CHARACTERS:
        _refuse_as_too_large(text, where, f"{len(text):,} characters")
    try:
        statements = sqlglot.parse(f"SELECT (\n{text}\n)", dialect="duckdb")
    except RecursionError:
        _refuse_as_too_large(text, where, "too many parts within parts")
    except SqlglotError as failure:
        if (word := _reserved_word(text)) is not None:
            raise InvalidExpression(
                f"`{word}` is a reserved word in SQL; write it in double quotes.", where=where
            ) from failure
        raise InvalidExpression(
            f"{text!r} is not one SQL expression: write a comparison such as \"income = '>50K'\" or a number such as "
            '"age".',
            where=where,
        ) from failure
    select = statements[0] if len(statements) == 1 else None
    clauses = {key for key, value in select.args.items() if value} if isinstance(select, exp.Select) else set()
    content = select.expressions[0] if select is not None and clauses == {"expressions"} else None
    if isinstance(content, exp.Subquery):
        raise InvalidExpression(f"{text!r} has a subquery in it: only the columns of one row may be used.", where=where)
    if select is None or not isinstance(content, exp.Paren) or len(select.expressions) != 1:
        raise InvalidExpression(f"{text!r} is more than one SQL expression: write just one.", where=where)
    tree = content.this
    assert isinstance(tree, exp.Expr)
    return tree.pop() if tree.parent else tree


def _reserved_word(text: str) -> str | None:
    """Return the word of a text that makes it an expression once it is in double quotes; none if no single one does.

    >>> _reserved_word("Alter > 30"), _reserved_word("age > 30 >")
    ('Alter', None)
    """
    for word in dict.fromkeys(re.findall(r"[^\W\d]\w*", text)[:MOST_WORDS]):
        quoted = re.sub(rf"(?<![\w\"'])({word})(?![\w\"'(])", r'"\1"', text)
        with suppress(SqlglotError, RecursionError):
            if quoted != text and len(sqlglot.parse(f"SELECT (\n{quoted}\n)", dialect="duckdb")) == 1:
                return str(word)
    return None


def _refuse_unless_allowed(node: exp.Expr, text: str, where: str) -> None:
    if type(node) in _ALLOWED:
        if isinstance(node, exp.Column) and node.args.get("table") is not None:
            _refuse(where, text, f"names a table in {node.sql(dialect='duckdb')}", "write the column's name alone")
        if isinstance(node, exp.In) and not node.expressions:
            _refuse(where, text, "looks values up elsewhere", "list them, as in sex IN ('Female', 'Male')")
        if isinstance(node, exp.DataType) and node.this not in _CAST_TYPES:
            _refuse(
                where,
                text,
                f"casts to {node.sql(dialect='duckdb')}",
                "cast to a number, text, boolean, date or timestamp",
            )
        return
    if isinstance(node, exp.Query):
        _refuse(where, text, "has a subquery in it", "only the columns of one row may be used")
    if isinstance(node, exp.Window):
        _refuse(where, text, "has a window function in it", "only the columns of one row may be used")
    if isinstance(node, exp.AggFunc):
        _refuse(where, text, f"has the aggregate {node.sql_name().lower()} in it", "say what is wanted of one row")
    if isinstance(node, exp.Func):
        name = node.name if isinstance(node, exp.Anonymous) else node.sql_name().lower()
        _refuse(where, text, f"calls {name}", f"the functions that may be called are {_FUNCTION_NAMES}")
    _refuse(where, text, f"has {type(node).__name__} in it", "use columns, constants and operators")


def _refuse(where: str, text: str, what: str, cure: str) -> NoReturn:
    raise InvalidExpression(f"{text!r} {what}: {cure}.", where=where)


def _refuse_unknown_column(column: exp.Column, text: str, known: Iterable[str], where: str) -> NoReturn:
    names = list(known)
    spelled = [name for name in names if not name.isidentifier() and name.lower() in text.lower()]
    if spelled:
        cure = f'write the column\'s name in double quotes: "{spelled[0]}".'
    elif column.this.quoted:
        cure = (
            f"text goes in single quotes, '{column.name}'; double quotes name a column, and {did_you_mean('', names)}"
        )
    else:
        cure = did_you_mean(column.name, names)
    raise InvalidExpression(f"there is no column {column.name!r} in {text!r}: {cure}", where=where)
