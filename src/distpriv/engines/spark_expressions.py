"""Row expressions for Spark: written so that they mean what they mean in DuckDB, or refused.

The two differ in more than words. Spark cuts where DuckDB rounds, divides decimals to six digits, lets a backslash
escape in LIKE, and takes LOG to the base e. A type that decides is asked for by TYPEOF, which Spark works out before
it reads a row.
"""

import re
from collections.abc import Callable, Iterator
from typing import NoReturn

from sqlglot import exp

from distpriv.errors import InvalidExpression

__all__ = ["for_spark", "part_for_spark"]

_TYPE = exp.DataType.Type
_WHOLE = (_TYPE.TINYINT, _TYPE.SMALLINT, _TYPE.INT, _TYPE.BIGINT)
_TIMESTAMPS = (_TYPE.TIMESTAMP, _TYPE.TIMESTAMPNTZ)
_WHOLE_NAMES = ("tinyint", "smallint", "int", "bigint")
_FLOATING_NAMES = ("float", "double")
_OTHER_AS_TEXT = (*_FLOATING_NAMES, "timestamp")
_AS_TEXT = "numbers with fractions and times are written in other ways as text"
MOST_COPIED = 20_000
"""How many parts an expression for Spark may have: rules that write a part several times multiply when nested."""
_UNUSED = "\u0001"
"""A character that no pattern has."""
_ODD_NUMBER = r"^\s*[-+]?([0-9.]+([eE][-+]?[0-9]+)?[dDfF]|0[xXbB][0-9a-fA-F_]+|[0-9.]+_[0-9._eE+-]*)\s*$"
_ODD_DATE = r"^\s*([-+0-9]|epoch|now|today|tomorrow|yesterday|inf)"
_DATE = r"^\s*[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}\s*$"


def for_spark(tree: exp.Expr, text: str) -> exp.Expr:
    """Return an expression that means in Spark what the tree means in DuckDB.

    Raises:
        InvalidExpression: there is none.
    """
    original = tree.copy()
    if _copied(original) > MOST_COPIED:
        raise InvalidExpression(
            f"{text!r} has divisions, casts or logarithms within each other, and Spark has to read each part again and "
            "again: nest fewer of them, or add the value to the table as a column."
        )
    _refuse_what_differs(original, text)
    refusals = exp.Case()
    for condition, message in _guards(original):
        refusals = refusals.when(condition, _raised(f"{text!r}: {message}"), copy=False)
    rewritten = _rewritten(original.copy())
    return refusals.else_(rewritten, copy=False) if refusals.args.get("ifs") else rewritten


def _copied(node: exp.Expr) -> int:
    """Return about how many parts an expression has once it is rewritten."""
    times = 4 if isinstance(node, exp.Cast | exp.Ln | exp.Log | exp.Round) else 2 if isinstance(node, exp.Div) else 1
    return times * (1 + sum(_copied(child) for child in node.iter_expressions()))


def part_for_spark(tree: exp.Expr) -> exp.Expr:
    """Return a part of an expression that `for_spark` has accepted."""
    return _rewritten(tree.copy())


def _refuse_what_differs(tree: exp.Expr, text: str) -> None:
    for node in tree.walk():
        if isinstance(node, exp.Cast):
            _refuse_cast(node, text)
        if isinstance(node, exp.Log) and node.expression and _number(node.this) not in (2, 10):
            _refuse(text, "takes a logarithm to a base that is neither 2 nor 10", "write ln(x) / ln(base)")
        if isinstance(node, exp.Substring) and not _number(node.args.get("start")):
            _refuse(
                text, "takes a substring from a place that is 0 or no number", "count from 1, or from -1 at the end"
            )
        if isinstance(node, exp.Round) and node.args.get("decimals") and _number(node.args["decimals"]) is None:
            _refuse(text, "rounds to digits that are no number", "write how many")


def _refuse_cast(node: exp.Cast, text: str) -> None:
    kind = node.to.this
    if kind in exp.DataType.INTEGER_TYPES and kind not in _WHOLE:
        _refuse(text, f"casts to {node.to.sql(dialect='duckdb')}", "cast to BIGINT")
    if kind == _TYPE.DATE and isinstance(node.this, exp.Literal) and not re.match(_DATE, node.this.this):
        _refuse(text, f"has the date {node.this.this!r}", "write it as in '2026-01-31'")
    if kind == _TYPE.FLOAT:
        _refuse(text, "casts to a number of single precision", "cast to DOUBLE")


def _refuse(text: str, what: str, cure: str) -> NoReturn:
    raise InvalidExpression(f"{text!r} {what}, which Spark does in another way: {cure}.")


def _guards(tree: exp.Expr) -> Iterator[tuple[exp.Expr, str]]:
    """Return conditions on types under which Spark would have another result, and what to do about each."""
    for node in tree.walk():
        if isinstance(node, exp.Column) and node.parent and not isinstance(node.parent, exp.Cast | exp.Is):
            yield _type_in(node, "float"), f"{node.name} is of single precision, cast it to DOUBLE"
        elif isinstance(node, exp.IntDiv):
            for side in (node.this, node.expression):
                yield (
                    exp.not_(_type_in(part_for_spark(side), *_WHOLE_NAMES)),
                    "// takes whole numbers, write floor(a / b)",
                )
        elif isinstance(node, exp.DPipe | exp.Concat):
            for side in node.expressions or (node.this, node.expression):
                yield _type_in(part_for_spark(side), *_OTHER_AS_TEXT), _AS_TEXT
        elif isinstance(node, exp.Cast) and node.to.this in exp.DataType.TEXT_TYPES:
            yield _type_in(part_for_spark(node.this), *_OTHER_AS_TEXT), _AS_TEXT
        elif isinstance(node, exp.Cast) and node.to.this in (*_WHOLE, _TYPE.DECIMAL):
            yield _type_in(part_for_spark(node.this), "string"), "cast text to DOUBLE"
            if node.to.this == _TYPE.DECIMAL:
                fraction = _type_in(part_for_spark(node.this), *_FLOATING_NAMES)
                yield fraction, "round a number with a fraction instead of casting it to DECIMAL"
        elif isinstance(node, exp.Cast) and node.to.this in _TIMESTAMPS and not isinstance(node.this, exp.Literal):
            yield _type_in(part_for_spark(node.this), "string"), "cast text to DATE"


def _rewritten(node: exp.Expr) -> exp.Expr:
    """Rewrite an expression from its leaves up."""
    for child in list(node.iter_expressions()):
        child.replace(_rewritten(child))
    rule = _RULES.get(type(node))
    return rule(node) if rule else node


def _division(node: exp.Expr) -> exp.Expr:
    """Divide as floating-point numbers, by zero too."""
    above, below = (exp.cast(side.copy(), "double") for side in (node.this, node.expression))
    return (
        exp.Case()
        .when(exp.EQ(this=below, expression=exp.Literal.number(0)), exp.Mul(this=above, expression=_double("Infinity")))
        .else_(exp.Div(this=above.copy(), expression=below.copy()))
    )


def _whole_division(node: exp.Expr) -> exp.Expr:
    return exp.IntDiv(this=exp.cast(node.this, "bigint"), expression=exp.cast(node.expression, "bigint"))


def _logarithm(node: exp.Expr) -> exp.Expr:
    """Take logarithms of zero and below as C does; Spark has null for them."""
    of = node.expression or node.this
    name = "LN" if isinstance(node, exp.Ln) else "LOG2" if node.expression and _number(node.this) == 2 else "LOG10"
    zero = exp.Literal.number(0)
    return (
        exp.Case()
        .when(exp.GT(this=of.copy(), expression=zero), exp.Anonymous(this=name, expressions=[of.copy()]))
        .when(exp.EQ(this=of.copy(), expression=zero), _double("-Infinity"))
        .when(exp.LT(this=of.copy(), expression=zero), _double("NaN"))
    )


def _cast(node: exp.Expr) -> exp.Expr:
    assert isinstance(node, exp.Cast)
    of, kind = node.this, node.to.this
    if kind in _WHOLE:
        even, away = node.copy(), node.copy()
        even.set("this", exp.Anonymous(this="RINT", expressions=[exp.cast(of.copy(), "double")]))
        away.set("this", exp.Anonymous(this="ROUND", expressions=[exp.cast(of.copy(), "double")]))
        return exp.Case().when(_type_in(of, *_FLOATING_NAMES), even).when(_is_decimal(of), away).else_(node.copy())
    if kind == _TYPE.DOUBLE and _number(of) is None:
        return _unless(exp.and_(_type_in(of, "string"), _matches(of, _ODD_NUMBER)), node, "the number")
    if kind == _TYPE.DATE and not isinstance(of, exp.Literal):
        odd = exp.and_(_type_in(of, "string"), _matches(of, _ODD_DATE), exp.not_(_matches(of, _DATE)))
        return _unless(odd, node, "the date")
    return node


def _unless(odd: exp.Expr, node: exp.Expr, what: str) -> exp.Expr:
    """Cast, unless it is of text that the two engines read in different ways."""
    assert isinstance(node, exp.Cast)
    said = exp.Concat(
        expressions=[exp.Literal.string(f"{what} "), exp.cast(node.this.copy(), "text"),
                     exp.Literal.string(" is written in an unusual way")]
    )  # fmt: skip
    return exp.Case().when(odd, exp.cast(_raised(said), node.to.copy())).else_(node.copy())


def _rounded(node: exp.Expr) -> exp.Expr:
    """Round floating-point numbers after a multiplication, as DuckDB does; Spark rounds what is printed."""
    digits = _number(node.args.get("decimals"))
    if not digits:
        return node
    power = exp.cast(exp.Literal.string(f"1e{abs(digits):.0f}"), "double")
    first, then = (exp.Mul, exp.Div) if digits > 0 else (exp.Div, exp.Mul)
    scaled = exp.Round(this=first(this=node.this.copy(), expression=power))
    return (
        exp.Case()
        .when(_type_in(node.this, *_FLOATING_NAMES), then(this=scaled, expression=power.copy()))
        .else_(node.copy())
    )


def _rounded_up_or_down(node: exp.Expr) -> exp.Expr:
    return exp.cast(node.copy(), "double")


def _like(node: exp.Expr) -> exp.Expr:
    return exp.Escape(this=node.copy(), expression=exp.Literal.string(_UNUSED))


def _concatenation(node: exp.Expr) -> exp.Expr:
    parts = [part if isinstance(part, exp.Literal) else exp.cast(part, "text") for part in node.expressions]
    return exp.Concat(expressions=parts, safe=node.args.get("safe"), coalesce=node.args.get("coalesce"))


_RULES: dict[type[exp.Expr], Callable[[exp.Expr], exp.Expr]] = {
    exp.Div: _division,
    exp.IntDiv: _whole_division,
    exp.Log: _logarithm,
    exp.Ln: _logarithm,
    exp.Cast: _cast,
    exp.TryCast: _cast,
    exp.Round: _rounded,
    exp.Ceil: _rounded_up_or_down,
    exp.Floor: _rounded_up_or_down,
    exp.Like: _like,
    exp.ILike: _like,
    exp.Concat: _concatenation,
}


def _number(node: exp.Expr | None) -> float | None:
    """Return the number that a literal is, or nothing."""
    if isinstance(node, exp.Neg):
        inner = _number(node.this)
        return None if inner is None else -inner
    return float(node.this) if isinstance(node, exp.Literal) and not node.is_string else None


def _type_in(of: exp.Expr, *names: str) -> exp.Expr:
    kind = exp.Anonymous(this="TYPEOF", expressions=[of.copy()])
    return exp.In(this=kind, expressions=[exp.Literal.string(name) for name in names])


def _is_decimal(of: exp.Expr) -> exp.Expr:
    kind = exp.Anonymous(this="TYPEOF", expressions=[of.copy()])
    return exp.Like(this=kind, expression=exp.Literal.string("decimal%"))


def _matches(of: exp.Expr, pattern: str) -> exp.Expr:
    return exp.RegexpLike(this=exp.cast(of.copy(), "text"), expression=exp.Literal.string(pattern))


def _raised(message: str | exp.Expr) -> exp.Expr:
    said = exp.Literal.string(message) if isinstance(message, str) else message
    return exp.Anonymous(this="RAISE_ERROR", expressions=[said])


def _double(text: str) -> exp.Expr:
    return exp.cast(exp.Literal.string(text), "double")
