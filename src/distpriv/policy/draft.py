"""The policy that `distpriv init` writes: an example, or a first draft from the columns of a reference table."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from attrs import frozen

from distpriv.engines.source_names import source_name
from distpriv.errors import InvalidInput
from distpriv.framework.notation import all_words
from distpriv.policy.survey import RECORDS, Column, LeftOut, Names, Survey, plain, survey
from distpriv.policy.toml_text import toml_line

__all__ = ["WrittenPolicy", "draft_policy", "initial_policy"]

MOST_STATISTICS = 5
"""Means that a draft releases; the others are in it as comments."""

MOST_SHARES = 6
"""Shares in a draft: it protects the first, the others are comments."""

Line = tuple[str, str]
"""A statement, and what is said about it behind a #."""

_STATISTICS = [
    ('age = "mean(age, resolution = 1)"', "ages are whole numbers"),
    ('hours = "mean(hours_per_week, resolution = 1, bounds = (1, 99))"', "values are clipped to the bounds"),
    ("never_married = \"count(marital_status = 'Never-married')\"", "a condition in SQL on the columns of a row"),
    ("# women = \"proportion(sex = 'Female')\"", ""),
    ('# median_hours = "quantile(hours_per_week, 0.5)"', "sampled, not computed: planning takes longer"),
]
_SHARE = [
    ("share = \"income = '>50K'\"", "whoever sees the release shall not learn this share"),
    ("values = [0.45, 0.55]", "the shares to keep apart from each other"),
]


@frozen(kw_only=True)
class WrittenPolicy:
    """A first policy, and the columns of its table that are not in it."""

    path: Path
    left_out: tuple[LeftOut, ...] = ()


def draft_policy(path: str | os.PathLike[str], source: str | None = None) -> WrittenPolicy:
    """Write a commented policy into a new file, and return which columns of the reference table it leaves out."""
    target = Path(path).expanduser()
    if os.path.lexists(target):
        raise InvalidInput(f"there is a file {str(path)!r} already, and it is left alone: give another name.")
    reference = None if source is None else source_name(source).told_from(target.parent).text
    columns = None if source is None else survey(source)
    text = _of_adult() if columns is None else _of_survey(columns, str(reference))
    try:
        with open(target, "x", encoding="utf-8", newline="\n") as file:
            file.write(text)
    except OSError as failure:
        raise InvalidInput(
            f"the policy file {str(path)!r} cannot be written ({failure.strerror or failure}): give another path."
        ) from failure
    return WrittenPolicy(path=target, left_out=() if columns is None else columns.left_out)


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
    mean = ("hours_per_week", 38.0, 42.0)
    return _written("adult.parquet", "adult-example", _STATISTICS, _SHARE, mean, "fnlwgt")


def _of_survey(columns: Survey, reference: str) -> str:
    left_out = [(f"# {' '.join(column.name.split())} is left out", column.why) for column in columns.left_out]
    telling = [column.name for column in columns.columns if column.name in columns.telling]
    left_out += [(f"# {' '.join(name.split())} is left out", "it determines the protected share") for name in telling]
    mean, weight = columns.suggested_mean, columns.suggested_weight
    return _written(
        reference,
        "my-dataset",
        [*_statistics(columns), *left_out],
        list(_shares(columns)),
        None if mean is None else (mean[0].sql, *mean[1:]),
        None if weight is None else weight.sql,
    )


def _written(
    reference: str,
    dataset: str,
    statistics: list[Line],
    shares: list[Line],
    mean: tuple[str, float, float] | None,
    weight: str | None,
) -> str:
    """Return a policy with a comment on every line that a person has to decide."""
    means = [] if mean is None else [
        ("# [[protect]]", "or a mean of the records, or a quantile with its level, or a correlation of two"),
        (f"# {toml_line('mean', mean[0])}", "a number in SQL"),
        (f"# values = [{mean[1]:.15g}, {mean[2]:.15g}]", "the means to keep apart from each other"),
    ]  # fmt: skip
    blocks: list[list[Line]] = [
        [("", "What to publish, what to hide, and how well."),
         ("", "Paths are seen from the folder of this file.")],
        [("[data]", ""),
         (toml_line("reference", reference), "public rows: everything about the noise comes from here"),
         ('private = "private.parquet"', "DECIDE: read once, to answer the query"),
         (toml_line("id", dataset), "DECIDE: what the ledger calls the private dataset")],
        [("[release]", "or several [[release]] with a name each: all questions, fixed before the first answer"),
         (f"records = {RECORDS}", "DECIDE: the private table must have exactly so many rows")],
        [("[release.statistics]", f"DECIDE: {all_words()}"), *statistics],
        [("[[protect]]", "DECIDE: what to hide; can be there several times"), *shares,
         ("# nearest = true", "take the nearest share that so many records can have"),
         ("# positives = [45, 55]", "instead of values: in how many records it is so"),
         ("# between = [0.3, 0.7]", "or all shares in a range …"),
         ("# within = 0.1", "… that are at most so far apart"),
         ("# step = 0.05", "of a grid of shares, which takes less time")],
        means,
        [("[privacy]", "DECIDE: of this release"),
         ("max_attack_accuracy = 0.6", "an attacker with even odds is right at most 60 times in 100"),
         ("# epsilon = 1.0", "instead: smaller is more private"),
         ("# delta = 1e-3", "what is allowed beyond epsilon, a small probability"),
         ('assurance = "checked"', '"proved" assumes less and takes more noise'),
         ('# audit = "required"', "attack simulated releases first, and release nothing that fails"),
         ('# weights = "units"', "errors add up in units of the statistics; or weights.age = 4 counts one more"),
         ("# max_error.age = 0.5", "release nothing if the estimate of a statistic would be worse")],
        [("[ledger]", "DECIDE: what all releases of this dataset together may give away"),
         ('url = "sqlite:///ledger.db"', "made once, by distpriv ledger with this file and --create"),
         ("max_attack_accuracy = 0.65", "or epsilon = 2.0 and delta = 2e-3"),
         ("# create = true", "make it without being asked; then a ledger that got lost starts anew"),
         ('# adaptive = "assumed"', "undeclared later questions: state that none depends on an answer")],
        [("# [model]", "how datasets are drawn from the reference"),
         ('# reference = "population"', "the rows are all there are, not a sample: noise allows for no error in them"),
         ('# missing = "drop"', "leave reference rows with a null in any column out; private ones never are"),
         ("# replacement = true", "with a population: a row may be in a dataset twice"),
         *([] if weight is None else [(f"# {toml_line('weight', weight)}", "how many people a row stands for")])],
    ]  # fmt: skip
    return "\n".join(_block(block) for block in blocks if block)


def _block(lines: list[Line]) -> str:
    """Return lines with their comments one below the other."""
    width = min(60, max(len(statement) for statement, _ in lines))
    padded = [(s if s.startswith("[") else s.ljust(width), note) for s, note in lines]
    return "".join((f"{s}  # {note}" if note else s).strip() + "\n" for s, note in padded)


def _statistics(columns: Survey) -> Iterator[Line]:
    """Yield a mean of each column of numbers and counts of frequent values, most of them as comments."""
    names, active = Names(), 0
    for column in columns.harmless:
        if column.low is not None and column.high is not None:
            offered = column.complete and column.low < column.high and active < MOST_STATISTICS
            active += offered
            note = f"from {plain(column.low)} to {plain(column.high)}{_incomplete(column)}"
            yield _offer(toml_line(names.new(column.name), column.mean_of_it), offered), note
    for column in columns.harmless:
        for value in () if column.low is not None else column.values:
            line = toml_line(names.new(f"{column.name} {value.text}"), f"count({value.condition})")
            offered = column.complete and active == 0
            active += offered
            yield _offer(line, offered), f"{value.share:.0%} of the reference{_incomplete(column)}"


def _offer(line: str, offered: bool) -> str:
    return line if offered else f"# {line}"


def _incomplete(column: Column) -> str:
    return "" if column.complete else '; has nulls: needs missing = "drop" in [model]'


def _shares(columns: Survey) -> Iterator[Line]:
    """Yield the share that offers itself, with two values around that of the reference, and others as comments."""
    if not columns.possible_shares:
        yield "# share = \"income = '>50K'\"", "no column offers itself: write a condition in SQL"
        yield "# values = [0.45, 0.55]", ""
    for place, value in enumerate(columns.possible_shares[:MOST_SHARES]):
        low, high = columns.suggested_values(value)
        share, values = toml_line("share", value.condition), f"values = [{low:.15g}, {high:.15g}]"
        if place:
            yield f"# {share}", f"or this: {value.share:.0%} of the reference, and {values} fit"
        else:
            yield share, f"only a guess: it is {value.share:.0%} of the reference"
            yield values, "the shares to keep apart from each other"
