"""The policy that `distpriv init` writes: an example, or a first draft from the columns of a reference table."""

import os
import re
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

from attrs import field, frozen

from distpriv.engines.source_names import source_name
from distpriv.errors import InvalidInput
from distpriv.framework.notation import all_words
from distpriv.workflow.policy.survey import RECORDS, Column, LeftOut, Survey, survey
from distpriv.workflow.policy.toml_writing import toml_key, toml_string

__all__ = ["WrittenPolicy", "draft_policy", "initial_policy"]

MOST_STATISTICS = 5
"""A draft releases so many means; the others are in it as comments."""

MOST_SHARES = 6
"""A draft protects the first of so many shares; the others are in it as comments."""

Line = tuple[str, str]
"""What stands on a line, and what is said about it behind a #."""

_SIGNS = {"<=": " at most ", ">=": " at least ", "<": " below ", ">": " above ", "+": " plus "}

_EXAMPLE_STATISTICS = [
    ('age = "mean(age, resolution = 1)"', "ages are whole numbers"),
    (
        'hours = "mean(hours_per_week, resolution = 1, bounds = (1, 99))"',
        "values are held within the bounds",
    ),
    ("never_married = \"count(marital_status = 'Never-married')\"", "a condition in SQL on the columns of a row"),
    ("# women = \"proportion(sex = 'Female')\"", ""),
    ('# median_hours = "quantile(hours_per_week, 0.5)"', "sampled, not computed: planning takes longer"),
]
_EXAMPLE_SHARE = [
    ("share = \"income = '>50K'\"", "whoever sees the release shall not learn this share"),
    ("values = [0.45, 0.55]", "the shares to keep apart from each other"),
]
_EXAMPLE_MEAN = ("hours_per_week", 38.0, 42.0)


@frozen(kw_only=True)
class WrittenPolicy:
    """A first policy, and what its table has that is not in it."""

    path: Path
    left_out: tuple[LeftOut, ...] = ()


def draft_policy(path: str | os.PathLike[str], source: str | None = None) -> WrittenPolicy:
    """Write a commented policy into a new file, and tell which columns of the reference table it leaves out."""
    target = Path(path).expanduser()
    if os.path.lexists(target):
        raise InvalidInput(f"there is a file {str(path)!r} already, and it is left alone: give another name.")
    reference = None if source is None else source_name(source).told_from(target.parent).text
    found = None if source is None else survey(source)
    text = _of_adult() if found is None else _of_survey(found, str(reference))
    try:
        with open(target, "x", encoding="utf-8", newline="\n") as file:
            file.write(text)
    except OSError as failure:
        raise InvalidInput(
            f"the policy file {str(path)!r} cannot be written ({failure.strerror or failure}): give another path."
        ) from failure
    return WrittenPolicy(path=target, left_out=() if found is None else found.left_out)


def initial_policy(source: Any = None, *, reference: str | None = None) -> str:
    """Return the text of a commented policy, to be changed where a person must decide.

    Args:
        source: the reference table to take columns from: public rows, never the private ones; without it the policy
            is an example on the Adult data.
        reference: what the policy is to call that table; its path when not given.
    """
    if source is None:
        return _of_adult()
    path = str(source) if isinstance(source, str | os.PathLike) else "reference.parquet"
    return _of_survey(survey(source), reference or path)


def _of_adult() -> str:
    given = _EXAMPLE_STATISTICS, _EXAMPLE_SHARE, _EXAMPLE_MEAN, "fnlwgt"
    return _written("adult.parquet", "adult-example", 100, *given)


def _of_survey(found: Survey, reference: str) -> str:
    offered = found.suggested_mean
    return _written(
        reference,
        "my-dataset",
        RECORDS,
        [*_statistics(found), *(_left_out(column) for column in found.left_out)],
        list(_protect(found)),
        None if offered is None else (offered[0].sql, *offered[1:]),
        None if found.suggested_weight is None else found.suggested_weight.sql,
    )


def _written(
    reference: str,
    dataset: str,
    records: int,
    statistics: list[Line],
    protect: list[Line],
    mean: tuple[str, float, float] | None,
    weight: str | None,
) -> str:
    blocks: list[list[Line]] = [
        [("", "What to publish, what to hide, and how well."),
         ("", "Paths are seen from the folder of this file.")],
        [("[data]", ""),
         (f"reference = {toml_string(reference)}", "public rows: everything about the noise comes from here"),
         ('private = "private.parquet"', "DECIDE: looked at once, to answer the query"),
         (f"id = {toml_string(dataset)}", "DECIDE: what the ledger calls the private dataset")],
        [("[release]", "or several [[release]] with a name each: all questions, fixed before the first answer"),
         (f"records = {records}", "DECIDE: the private table must have exactly so many rows")],
        [("[release.statistics]", f"DECIDE: {all_words()}"), *statistics],
        [("[[protect]]", "DECIDE: what to hide; can be there several times"), *protect,
         ("# nearest = true", "take the nearest share that so many records can have"),
         ("# positives = [45, 55]", "instead of values: in how many records it is so"),
         ("# between = [0.3, 0.7]", "or all shares in a range …"),
         ("# within = 0.1", "… that are at most so far apart"),
         ("# step = 0.05", "of a grid of shares, which takes less time")],
        _means(mean),
        [("[privacy]", "DECIDE: of this release; instead of epsilon, max_attack_accuracy = 0.6 says it too"),
         ("epsilon = 1.0", "smaller is more private"),
         ("delta = 1e-3", "what is allowed beyond epsilon, a small probability"),
         ('assurance = "checked"', '"proved" assumes less and takes more noise'),
         ('# audit = "required"', "attack simulated releases first, and release nothing that fails"),
         ('# weights = "units"', "errors add up in units of the statistics; or weights.age = 4 counts one more"),
         ("# max_error.age = 0.5", "release nothing if the estimate of a statistic would be worse")],
        [("[ledger]", "DECIDE: what all releases of this dataset together may give away"),
         ('url = "sqlite:///ledger.db"', "made once, by distpriv ledger with this file and --create"),
         ("epsilon = 2.0", ""), ("delta = 2e-3", ""),
         ("# create = true", "make it without being asked; then a ledger that got lost starts anew"),
         ('# adaptive = "assumed"', "undeclared later questions: state that none depends on an answer")],
        [("# [model]", "how datasets are drawn from the reference"),
         ('# reference = "population"', "the rows are all there are, not a sample: noise allows for no error in them"),
         ('# missing = "drop"', "leave reference rows with a null in any column out; private ones never are"),
         ("# replacement = true", "with a population: a row may be in a dataset twice"),
         *([] if weight is None else [(f"# weight = {toml_string(weight)}", "how many people a row stands for")])],
    ]  # fmt: skip
    return "\n".join(_block(block) for block in blocks if block)


def _means(offered: tuple[str, float, float] | None) -> list[Line]:
    """Return how to hide a mean, as comments."""
    if offered is None:
        return []
    text, low, high = offered
    return [
        ("# [[protect]]", "or a mean of the records, or a quantile with its level, or a correlation of two"),
        (f"# mean = {toml_string(text)}", "a number in SQL"),
        (f"# values = [{low:.15g}, {high:.15g}]", "the means to keep apart from each other"),
    ]


def _block(lines: list[Line]) -> str:
    """Return lines with what is said about them one below the other."""
    width = min(60, max(len(statement) for statement, _ in lines))
    padded = [(s if s.startswith("[") else s.ljust(width), note) for s, note in lines]
    return "".join((f"{s}  # {note}" if note else s).strip() + "\n" for s, note in padded)


def _statistics(found: Survey) -> Iterator[Line]:
    """Yield a mean of each column of numbers and counts of frequent values, most of them as comments."""
    names, active = _Names(), 0
    for column in found.columns:
        if column.low is not None and column.high is not None:
            option = "" if column.resolution is None else f", resolution = {column.resolution:g}"
            line = f"{names.key(column.name)} = {toml_string(f'mean({column.sql}{option})')}"
            offered = column.complete and column.low < column.high and active < MOST_STATISTICS
            active += offered
            yield _offer(line, offered), f"from {_plain(column.low)} to {_plain(column.high)}{_incomplete(column)}"
    for column in found.columns:
        for value in () if column.low is not None else column.values:
            line = f"{names.key(f'{column.name} {value.text}')} = {toml_string(f'count({value.condition})')}"
            offered = column.complete and active == 0
            active += offered
            yield _offer(line, offered), f"{value.share:.0%} of the reference{_incomplete(column)}"


def _left_out(column: LeftOut) -> Line:
    return f"# {' '.join(column.name.split())} is left out", column.why


def _offer(line: str, offered: bool) -> str:
    return line if offered else f"# {line}"


def _incomplete(column: Column) -> str:
    return "" if column.complete else '; has nulls: needs missing = "drop" in [model]'


def _plain(number: float) -> str:
    return str(int(number)) if number == int(number) else f"{number:.6g}"


def _protect(found: Survey) -> Iterator[Line]:
    """Yield the share that offers itself, with two values around that of the reference."""
    value = found.suggested_share
    if value is None:
        yield "# share = \"income = '>50K'\"", "no column offers itself: write a condition in SQL"
        yield "# values = [0.45, 0.55]", ""
        return
    low, high = found.suggested_values(value)
    yield f"share = {toml_string(value.condition)}", f"only a guess: it is {value.share:.0%} of the reference"
    yield f"values = [{low:.15g}, {high:.15g}]", "the shares to keep apart from each other"
    for other in found.possible_shares[1:MOST_SHARES]:
        low, high = found.suggested_values(other)
        fit = f"{other.share:.0%} of the reference, and values = [{low:.15g}, {high:.15g}] fit"
        yield f"# share = {toml_string(other.condition)}", f"or this: {fit}"


@frozen
class _Names:
    """Names for statistics, each given once."""

    _given: set[str] = field(factory=set)

    def key(self, wish: str) -> str:
        """Return a key like the wish that was not given before."""
        for sign, word in _SIGNS.items():
            wish = wish.replace(sign, word)
        plain = re.sub(r"[\W_]+", "_", wish.lower()).strip("_") or "statistic"
        name = next(n for k in count(1) if (n := plain if k == 1 else f"{plain}_{k}") not in self._given)
        self._given.add(name)
        return toml_key(name)
