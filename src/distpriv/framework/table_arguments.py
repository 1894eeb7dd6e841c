"""What a table is asked for, argument by argument: read, and refused in a sentence where it is none."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple

from distpriv.errors import InvalidQuery
from distpriv.framework.domains import did_you_mean, items, real
from distpriv.framework.notation import parse_statistic
from distpriv.framework.statistics import Quantile, RowMean, Variance

__all__ = ["KINDS", "Asked", "Label", "What", "asked", "empty_of", "levels_of", "min_of", "numbers_of", "other_of"]

Label = str | int | bool
"""What a row has in a column that a table is by."""

What = Literal["count", "mean", "total", "quantile", "variance"]
"""What the cells of a table are."""

KINDS: tuple[What, ...] = ("count", "mean", "total", "quantile", "variance")
"""The same, in the order in which they are listed."""


class Asked(NamedTuple):
    """What a table is of."""

    what: What
    expression: str | None = None
    level: float | None = None


def asked(text: object) -> Asked:
    """Return what the cells of a table are of, from how that is written."""
    cure = "write 'count', or mean, total, median or variance of an expression, as in 'mean(hours_per_week)'"
    if not isinstance(text, str):
        raise InvalidQuery(f"a table is of a count, a mean or a total, got {text!r}: {cure}.")
    if text.strip() == "count":
        return Asked("count")
    statistic = parse_statistic(_MEDIAN.sub(r"quantile(\1, 0.5)", text))
    found: Asked | None = None
    if isinstance(statistic, RowMean) and not statistic.predicate:
        found = Asked("total" if statistic.summed else "mean", statistic.expression)
    elif isinstance(statistic, Quantile):
        found = Asked("quantile", statistic.expression, statistic.level)
    elif isinstance(statistic, Variance):
        found = Asked("variance", statistic.expression)
    if found is None:
        raise InvalidQuery(
            f"{text!r} cannot be in a table, which holds counts, means, totals, quantiles and variances: {cure}."
        )
    if any(getattr(statistic, option, None) is not None for option in ("resolution", "bounds")):
        raise InvalidQuery(
            f"{text!r} has options, and those of a table are found on the reference: leave resolution and bounds out."
        )
    return found


_MEDIAN = re.compile(r"^\s*median\s*\((.*)\)\s*$", re.DOTALL)


def numbers_of(given: object, what: What) -> tuple[float, ...]:
    """Return what counts for cells with too few rows."""
    if what not in ("quantile", "variance"):
        raise InvalidQuery(f"otherwise is for quantiles and variances, and a {what} of no rows is known: leave it out.")
    cure = "it is what counts where a cell has too few rows"
    least = 0 if what == "variance" else None
    found = tuple(
        real("each number of otherwise", number, InvalidQuery, at_least=least, cure=cure) for number in items(given)
    )
    if not found:
        raise InvalidQuery(f"otherwise lists a number for every cell, got {given!r}: write [40, 38], or leave it out.")
    return found


def levels_of(column: object, given: object, columns: Sequence[str]) -> tuple[Label, ...]:
    """Return the levels of a column that are listed."""
    if column not in columns:
        raise InvalidQuery(
            f"there are levels of {column!r}, which the table is not by: {did_you_mean(str(column), columns)}"
        )
    found = items(given)
    if not found:
        raise InvalidQuery(f"the levels of {column!r} are a list that is not empty, got {given!r}: name one at least.")
    if not all(isinstance(label, str | int) for label in found) or len({type(label) for label in found}) > 1:
        raise InvalidQuery(
            f"the levels of {column!r} are text, whole numbers or true and false, got {list(found)!r}: write all of "
            "one kind, as the column has them."
        )
    twice = [label for label in found if found.count(label) > 1]
    if twice:
        raise InvalidQuery(f"the levels of {column!r} name {twice[0]!r} twice: name each once.")
    return found


def other_of(given: object, levels: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the columns in which all levels that are not listed count as one."""
    if isinstance(given, bool):
        if given and not levels:
            raise InvalidQuery(
                "other gathers the levels that are not listed, and none are: write levels={'sex': ['F']}."
            )
        return tuple(levels) if given else ()
    columns = (given,) if isinstance(given, str) else items(given)
    for column in columns or (given,):
        if not isinstance(column, str) or column not in levels:
            raise InvalidQuery(
                f"other is for columns whose levels are listed, got {column!r}: list the levels of that column, or "
                "leave it out."
            )
    return columns


def empty_of(given: object) -> tuple[tuple[Label, ...], ...]:
    """Return the combinations of levels that no row has."""
    cells = () if isinstance(given, str) else tuple(items(given))
    found = tuple(tuple(items(cell)) for cell in cells)
    if isinstance(given, (str, int, float, Mapping)) or not all(found):
        raise InvalidQuery(
            f"empty lists combinations of levels that no row has, got {given!r}: write [['F', 'other']], or nothing."
        )
    return tuple(dict.fromkeys(found))


def min_of(given: object, **fixed: object) -> float:
    """Return the fewest records that a cell is to be expected to have; `fixed` is what says by itself which cells are.

    >>> min_of(5, empty=None)
    5.0
    """
    stated = [name for name, value in fixed.items() if value is not None]
    if stated:
        raise InvalidQuery(
            f"min_expected finds the cells of a table by itself, and {stated[0]} lists them: leave one of the two out."
        )
    cure = "it is how many records a cell is to be expected to have, such as 5"
    return real("min_expected", given, InvalidQuery, above=0, cure=cure)
