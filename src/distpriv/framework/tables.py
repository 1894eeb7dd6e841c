"""Tables: a count, a total, a mean, a quantile or a variance for every combination of the levels of some columns.

A table is a way to write many statistics at once. Every cell is a statistic of its own, so that models, noise,
certificates and ledgers know nothing of tables. Which cells there are follows from the reference or from what is
declared, never from the private table.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from math import prod
from typing import Any
from unicodedata import category

from attrs import evolve, field, frozen

from distpriv.errors import InvalidQuery
from distpriv.framework.domains import items
from distpriv.framework.statistics import RowMean, Statistic, count, group_quantile, group_variance, total
from distpriv.framework.table_arguments import (
    KINDS,
    Label,
    What,
    asked,
    empty_of,
    levels_of,
    min_of,
    numbers_of,
    other_of,
)

__all__ = ["MOST_CELLS", "OTHER", "Label", "Table", "expanded", "table"]

OTHER = "other"
"""What stands for all levels of a column that are not listed."""

MOST_CELLS = 1000
"""How many cells a table can have."""

OF_CELLS = ("estimate", "low", "high", "noisy_value", "noise", "public_mean", "information", "count", "total")
"""What the numbers of a cell are called, beside the columns with its levels."""


@frozen(kw_only=True)
class Table:
    """What a table shows; made by `table`.

    Cells that no row of the reference is in are structural zeros: they are shown as 0, and nothing is released of them.

    >>> import distpriv as dp
    >>> sexes = dp.table("count", by=["sex", "adult"], levels={"sex": ["F", "M"], "adult": [True]}, other=["sex"])
    >>> sexes.text, sexes.is_labelled, sexes.shape, sexes.labels
    ('count by sex, adult', False, (3, 1), (('F', 'M', 'other'), (True,)))
    >>> known = sexes.labelled(sexes.levels, empty=[("other", True)])
    >>> known.is_labelled, known.cells, known.names("people")
    (True, (('F', True), ('M', True)), ('people[F, True]', 'people[M, True]'))
    >>> print(known.statistics("people")[0][1].text, known.predicate(("other", True)), sep="; ")
    count("sex" = 'F' AND "adult" = TRUE); "sex" NOT IN ('F', 'M') AND "adult" = TRUE
    >>> Table.from_dict(known.to_dict()) == known
    True
    """

    what: What
    expression: str | None
    """SQL text over the columns of one row, of what the mean or the total is; none of a count."""
    level: float | None = None
    """Which quantile it is of, between 0 and 1; none of anything else."""
    by: tuple[str, ...]
    """The columns whose levels the cells are for."""
    levels: tuple[tuple[Label, ...] | None, ...]
    """The levels of each of them, in the order in which they are shown; None where the reference is to tell."""
    other: tuple[str, ...] = ()
    """The columns in which all levels that are not listed count as one."""
    empty: tuple[tuple[Label, ...], ...] | None = None
    """Combinations of levels that no row has; None where the reference is to tell."""
    otherwise: tuple[float, ...] | None = None
    """What counts as the quantile or the variance of a cell with too few rows, cell by cell; None where the reference
    is to tell, and of all that adds up."""
    min_expected: float | None = None
    """How many records each cell is to be expected to have, as long as rare levels have not been gathered for it."""
    _known: dict[str, Any] = field(factory=dict, init=False, repr=False, eq=False)

    def __attrs_post_init__(self) -> None:
        for column, levels in zip(self.by, self.levels, strict=True):
            if levels is not None and column in self.other and OTHER in levels:
                raise InvalidQuery(
                    f"column {column!r} has a level {OTHER!r}, and what is not listed is called so too: take it out of "
                    "the levels."
                )
            for label in levels or ():
                if isinstance(label, str) and any(category(character) in ("Cc", "Cs") for character in label):
                    raise InvalidQuery(
                        f"column {column!r} has a level with a character that nobody can read, {label[:40]!a}: mend "
                        "the reference, or list the levels that matter and let other=True gather the rest."
                    )
        if not all(levels is not None for levels in self.levels):
            return
        cells = prod(self.shape) - len(self.empty or ())
        if self.has_cells and not cells:
            raise InvalidQuery(
                f"a table by {', '.join(self.by)} has no cell that a row could be in: list other levels."
            )
        if self.has_cells and cells > MOST_CELLS:
            raise InvalidQuery(
                f"a table by {', '.join(self.by)} has {cells:,} cells, and at most {MOST_CELLS:,} can be published at "
                "once: leave a column out, or list the levels that matter and let other=True gather the rest."
            )
        for combination in self.empty or ():
            known = len(combination) == len(self.by) and all(
                label in labels for label, labels in zip(combination, self.labels, strict=True)
            )
            if not known:
                raise InvalidQuery(
                    f"{list(combination)} is no cell of a table by {', '.join(self.by)}: write one level of "
                    "each column, in their order."
                )
        if self.is_labelled and self.otherwise is not None and len(self.otherwise) != cells:
            raise InvalidQuery(
                f"a table by {', '.join(self.by)} has {cells:,} cells, and otherwise has {len(self.otherwise):,} "
                "numbers: give one for each cell, or leave it out for those of the reference."
            )

    @property
    def has_cells(self) -> bool:
        """Whether its cells are known."""
        known = self.empty is not None and self.min_expected is None
        return known and all(levels is not None for levels in self.levels)

    @property
    def is_labelled(self) -> bool:
        """Whether everything about its cells is known."""
        return self.has_cells and (self.adds_up or self.otherwise is not None)

    @property
    def adds_up(self) -> bool:
        """Whether its cells are counts, totals or their ratios, so that rows and columns have sums."""
        return self.what in ("count", "mean", "total")

    @property
    def labels(self) -> tuple[tuple[Label, ...], ...]:
        """The levels of each column as they are shown, what is not listed behind those that are."""
        return tuple(
            (*(levels or ()), *([OTHER] if column in self.other else []))
            for column, levels in zip(self.by, self.levels, strict=True)
        )

    @property
    def shape(self) -> tuple[int, ...]:
        """How many levels each column has."""
        return tuple(map(len, self.labels))

    @property
    def cells(self) -> tuple[tuple[Label, ...], ...]:
        """The cells that rows can be in, the last column changing fastest."""
        if "cells" not in self._known:
            empty = set(self.empty or ())
            self._known["cells"] = tuple(cell for cell in product(*self.labels) if cell not in empty)
        return self._known["cells"]  # type: ignore[no-any-return]

    @property
    def text(self) -> str:
        """What it is of, and by which columns."""
        return f"{self.of} by {', '.join(self.by)}"

    @property
    def of(self) -> str:
        """What its cells show: a count, or anything else as it is written."""
        if self.expression is None:
            return self.what
        return f"{self.what}({self.expression}{'' if self.level is None else f', {self.level:.15g}'})"

    def labelled(
        self,
        levels: Sequence[Sequence[Label] | None],
        empty: Sequence[Sequence[Label]],
        other: Sequence[str] | None = None,
        otherwise: Sequence[float] | None = None,
    ) -> "Table":
        """Return the same table with its levels and structural zeros known, and what counts where rows are too few."""
        return evolve(
            self,
            levels=tuple(None if own is None else tuple(own) for own in levels),
            empty=tuple(map(tuple, empty)),
            other=self.other if other is None else tuple(other),
            otherwise=self.otherwise if otherwise is None else tuple(otherwise),
        )

    def gathered(self, levels: Sequence[Sequence[Label] | None], other: Sequence[str]) -> "Table":
        """Return the same table with rare levels gathered, so that its cells are common enough."""
        shown = tuple(None if own is None else tuple(own) for own in levels)
        return evolve(self, levels=shown, other=tuple(other), min_expected=None)

    def statistics(self, key: str) -> list[tuple[str, Statistic]]:
        """Return what is released of it: of a mean by group the counts and the totals, whose ratio it is."""
        if not self.is_labelled:
            raise InvalidQuery(
                f"the labels of table {key!r} are not known before the reference is read: give the query to "
                "distpriv.model(…), and take the query of that model."
            )
        found: list[tuple[str, Statistic]] = []
        if self.what in ("count", "mean"):
            found += [(self._name(key, cell, "count"), count(self.predicate(cell))) for cell in self.cells]
        if self.what in ("total", "mean"):
            found += [(self._name(key, cell, "total"), self._total(cell)) for cell in self.cells]
        if not self.adds_up:
            spare = zip(self.cells, self.otherwise or (), strict=True)
            found += [(self._name(key, cell, self.what), self._of_group(cell, number)) for cell, number in spare]
        return found

    def names(self, key: str) -> tuple[str, ...]:
        """Return what its numbers are called, in their order."""
        return tuple(name for name, _ in self.statistics(key))

    def parts(self, key: str) -> dict[str, list[str]]:
        """Return the names of its counts and of its totals, or of what else it has, each in the order of the cells."""
        words = ["count", "total"] if self.what == "mean" else [self.what]
        return {word: [self._name(key, cell, word) for cell in self.cells] for word in words}

    def predicate(self, cell: Sequence[Label]) -> str:
        """Return SQL that is true of the rows in a cell."""
        return " AND ".join(
            _condition(column, label, levels or (), rest=column in self.other and label == OTHER)
            for column, label, levels in zip(self.by, cell, self.levels, strict=True)
        )

    def place(self, column: str, levels: Sequence[Label]) -> str:
        """Return SQL for which of some levels of a column a row has, by number, or how many there are for any other.

        >>> print(table("count", by="sex").place("sex", ["F", "M"]))
        CASE WHEN "sex" = 'F' THEN 0 WHEN "sex" = 'M' THEN 1 ELSE 2 END
        """
        each = (f"WHEN {_condition(column, label, (), rest=False)} THEN {k}" for k, label in enumerate(levels))
        return f"CASE {' '.join(each)} ELSE {len(levels)} END"

    def to_dict(self) -> dict[str, Any]:
        """Return it as a policy has it, with everything that is known of it."""
        levels = {column: list(own) for column, own in zip(self.by, self.levels, strict=True) if own is not None}
        return {
            **({"count": True} if self.expression is None else {self.what: self.expression}),
            **({} if self.level is None else {"level": self.level}),
            "by": list(self.by),
            **({"levels": levels} if levels else {}),
            **({"other": list(self.other)} if self.other else {}),
            **({} if self.empty is None else {"empty": [list(cell) for cell in self.empty]}),
            **({} if self.otherwise is None else {"otherwise": list(self.otherwise)}),
            **({} if self.min_expected is None else {"min_expected": self.min_expected}),
        }

    @classmethod
    def from_dict(cls, written: Mapping[str, Any]) -> "Table":
        """Return the table that a policy has.

        Raises:
            InvalidQuery: it does not say one thing that the cells are of, or not by which columns.
        """
        given = [word for word in KINDS if written.get(word) not in (None, False)]
        if len(given) != 1:
            raise InvalidQuery(
                f"a table is of one thing, and here of {' and '.join(given) or 'nothing'}: write count = true, or "
                'mean, total, quantile or variance = "hours_per_week".'
            )
        level = written.get("level")
        if (level is not None) != (given[0] == "quantile"):
            raise InvalidQuery(
                'a level says which quantile the cells are of: write quantile = "hours_per_week" with level = 0.5, '
                "which is the median, and no level with anything else."
            )
        what = given[0] if given[0] == "count" else f"{given[0]}({written[given[0]]}{_behind(level)})"
        options = {key: written.get(key) for key in ("levels", "other", "empty", "otherwise", "min_expected")}
        return table(what, by=written.get("by"), **{key: value for key, value in options.items() if value is not None})

    def _name(self, key: str, cell: Sequence[Label], part: str) -> str:
        word = f" {part}" if self.what == "mean" else ""
        return f"{key}[{', '.join(map(_in_name, cell))}]{word}"

    def _total(self, cell: Sequence[Label]) -> RowMean:
        return total(f"CASE WHEN {self.predicate(cell)} THEN {self.expression} ELSE 0 END")

    def _of_group(self, cell: Sequence[Label], otherwise: float) -> Statistic:
        expression, group = str(self.expression), self.predicate(cell)
        if self.level is None:
            return group_variance(expression, group, otherwise)
        return group_quantile(expression, group, self.level, otherwise)


def _in_name(label: Label) -> str:
    """Return a level as names of cells have it, in quotes where it could be taken for two.

    >>> [_in_name(label) for label in ("a", "a, b", 7)]
    ['a', "'a, b'", '7']
    """
    text = str(label)
    return repr(text) if any(sign in text for sign in ",[]'\"") else text


def table(
    what: str,
    *,
    by: object,
    levels: Mapping[str, Sequence[Label]] | None = None,
    other: bool | Sequence[str] = False,
    empty: Sequence[Sequence[Label]] | None = None,
    otherwise: Sequence[float] | None = None,
    min_expected: float | None = None,
) -> Table:
    """Return a table: a count, a total, a mean, a quantile or a variance for every combination of levels of columns.

    Labels are those of the reference. Of a mean by group the counts and the totals of the groups are released, with
    noise that is made for all of them together; the mean is their ratio. Quantiles and variances by group are released
    as they are, and their laws are sampled.

    Args:
        what: ``"count"``, or ``"total(hours_per_week)"``, ``"mean(hours_per_week)"``, ``"median(hours_per_week)"``,
            ``"quantile(hours_per_week, 0.9)"`` or ``"variance(hours_per_week)"`` of an expression.
        by: a column, or several, of text, whole numbers or true and false.
        levels: the levels of some columns, in the order in which they are shown; those of the reference, in order,
            for all others. A level that the reference lacks has a cell that is 0 whatever the private table has.
        other: whether the levels of these columns that are not listed count as one, called ``other``; or in which of
            them. Without it rows with other levels are in no cell.
        empty: combinations of levels that no row has, which are 0 by definition; those that no row of the reference has
            when not given.
        otherwise: for every cell that is no structural zero what counts as its quantile where a dataset has no row of
            it, or as its variance where there are fewer than two; that of the reference when not given.
        min_expected: gathers rare levels into ``other`` until the reference lets expect so many records in each cell,
            in one of the scenarios at least. Nothing is gathered when not given.

    Raises:
        InvalidQuery: it is of nothing that can be in a table, or by nothing.

    >>> import distpriv as dp
    >>> query = dp.Query(people=dp.table("count", by=["sex", "income"]))
    >>> secret = dp.Share("marital_status = 'Divorced'", values=(0.1, 0.2))
    >>> model = dp.model(dp.datasets.adult(), query, secret, records=100)
    >>> model.names
    ('people[Female, <=50K]', 'people[Female, >50K]', 'people[Male, <=50K]', 'people[Male, >50K]')
    >>> bool(abs(model.distributions["marital_status = 'Divorced' @ 0.1"].mean.sum() - 100) < 1e-9)
    True
    """
    wanted = asked(what)
    columns = (by,) if isinstance(by, str) else items(by)
    if not columns or not all(isinstance(name, str) and name.strip() for name in columns):
        raise InvalidQuery(f"a table needs the columns that it is by, got {by!r}: write by=['education', 'sex'].")
    taken = [column for column in columns if column.lower() in OF_CELLS]
    if taken:
        raise InvalidQuery(
            f"a table cannot be by a column called {taken[0]!r}, as that is what a column of its numbers is called: "
            "give the column another name."
        )
    if len(set(map(str.lower, columns))) < len(columns):
        raise InvalidQuery(f"a table is by different columns, got {list(columns)}: name each once.")
    if levels is not None and not isinstance(levels, Mapping):
        raise InvalidQuery(
            f"levels are lists by the name of their column, got {levels!r}: write {{'sex': ['F', 'M']}}."
        )
    given = {column: levels_of(column, own, columns) for column, own in (levels or {}).items()}
    return Table(
        what=wanted.what,
        expression=wanted.expression,
        level=wanted.level,
        by=columns,
        levels=tuple(given.get(column) for column in columns),
        other=other_of(other, given),
        empty=None if empty is None else empty_of(empty),
        otherwise=None if otherwise is None else numbers_of(otherwise, wanted.what),
        min_expected=None if min_expected is None else min_of(min_expected, empty=empty, otherwise=otherwise),
    )


def _behind(level: object) -> str:
    return "" if level is None else f", {level}"


def _condition(column: str, label: Label, levels: Sequence[Label], *, rest: bool) -> str:
    name = '"' + column.replace('"', '""') + '"'
    return f"{name} NOT IN ({', '.join(map(_literal, levels))})" if rest else f"{name} = {_literal(label)}"


def _literal(label: Label) -> str:
    if isinstance(label, str):
        return "'" + label.replace("'", "''") + "'"
    return str(label).upper()


def expanded(tables: Sequence[tuple[str, Table]]) -> Iterator[tuple[str, Statistic]]:
    """Yield the statistics of all tables whose labels are known."""
    for name, each in tables:
        if each.is_labelled:
            yield from each.statistics(name)
