"""Whether the estimates in a bundle are those that its answers, noise and moments give."""

import math
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

from distpriv.releasing.estimating import SHOWN, Answers, Estimates
from distpriv.releasing.released import noise_deviations
from distpriv.releasing.released_tables import released_tables
from distpriv.workflow.verifying.certificate_checks import NEAR
from distpriv.workflow.verifying.opened import Opened
from distpriv.workflow.verifying.problems import Found, first_problem, found

__all__ = ["BY_STATISTIC", "estimates"]

BY_STATISTIC = tuple(key for key in SHOWN if key != "fit")
"""What there is of estimates for each statistic."""


def estimates(opened: Opened) -> Found:
    """Hold estimates, their intervals, the fit and the public means against what answers and moments give."""
    return found(
        _wrong(opened),
        "estimates, their intervals and how the reference fits follow from the answers, the noise and the moments.",
    )


@first_problem
def _wrong(opened: Opened) -> Iterator[str]:
    document = opened.document
    answers = _answers(opened)
    own = answers.values[answers.place]
    if own is None or list(own) != [document["values"][name] for name in opened.model.names]:
        yield "the answer among all answers is not the one that was released"
        return
    names = opened.model.names
    right = Estimates.of(answers, names, opened.policy.prior)
    shown = right.shown()
    for name in names:
        if not _near(document["estimates"][name], right.values[name], right.public_errors[name]):
            yield f"the estimate of {name!r} is not the one that the answers and the moments give"
        ends = zip(document["estimate_intervals"][name], right.intervals[name], strict=True)
        if not all(_near(one, other, right.public_errors[name]) for one, other in ends):
            yield f"the interval of the estimate of {name!r} is not the one that the noise and the moments give"
        for key in ("public_means", "public_errors"):
            if not _near(document[key][name], shown[key][name], right.public_errors[name]):
                yield f"what is public of {name!r} is not what the moments say"
    if (problem := _fit_problem(document["fit"], shown["fit"])) is not None:
        yield problem
    yield from _tables(opened, answers, right)


def _tables(opened: Opened, answers: Answers, right: Estimates) -> Iterator[str]:
    """Say where a table shows something else than its cells come to."""
    document, names = opened.document, opened.model.names
    written = document.get("tables", {})
    if list(written) != [name for name, _ in opened.query.tables]:
        yield "the tables are not those of the policy"
        return
    known, found = answers.with_covariance(names, opened.policy.prior)
    noise = noise_deviations(opened.noise, names)
    values = {name: document["values"][name] for name in names}
    for key, table in released_tables(opened.query, opened.model, known, found, values, noise).items():
        unit = max((right.public_errors[name] for name in table.table.names(key)), default=0.0)
        rows = table.to_dict()
        same = len(rows) == len(written[key]) and all(map(partial(_same_row, unit), rows, written[key]))
        if not same:
            yield f"the table {key!r} is not what its cells come to"


def _same_row(unit: float, one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    if list(one) != list(other) or one["cell"] != other["cell"]:
        return False
    numbers = [(value, other[key]) for key, value in one.items() if key != "cell"]
    return all((a is None) == (b is None) and (a is None or _near(a, b, max(unit, 1.0))) for a, b in numbers)


def _answers(opened: Opened) -> Answers:
    """Return all answers that the bundle speaks of."""
    joint = opened.document["evidence"]["joint"]
    if joint is None:
        own = [opened.document["values"][name] for name in opened.model.names]
        return Answers(model=opened.model, noises=opened.noises, values=[own])
    values = [None if answer is None else [float(number) for number in answer] for answer in joint["values"]]
    if [answer is None for answer in values] != [number is None for number in joint["releases"]]:
        raise ValueError("answers and positions of other questions")
    assert opened.whole is not None
    return Answers(model=opened.whole, noises=opened.noises, values=values, place=opened.place)


def _near(one: float, other: float, unit: float) -> bool:
    """Tell whether two numbers are the same but for how computers round, on the scale of what was uncertain."""
    return math.isclose(one, other, rel_tol=1e-9, abs_tol=NEAR * unit)


def _fit_problem(written: Mapping[str, Any], right: Mapping[str, Any]) -> str | None:
    """Return what is said otherwise of how the reference fits; the p-value is a count of seeded draws."""
    for key, value in right.items():
        same = written[key] == value
        if key in ("p_value", "distance") and value is not None and written[key] is not None:
            same = math.isclose(written[key], value, rel_tol=NEAR)
        if not same:
            return "how the reference fits is not what the answers and the moments say"
    return None
