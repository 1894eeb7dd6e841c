"""A new kind of statistic is one class: here is one, with several numbers, and it goes all the way."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from attrs import frozen
from numpy.typing import NDArray

import distpriv as dp
from distpriv.bundle import verify_bundle
from distpriv.framework.arrays import Floats
from distpriv.framework.notation import parse_statistic
from distpriv.framework.statistics import FORMS, Form, RowValue, Statistic
from distpriv.releasing.private import look_at
from distpriv.releasing.written_queries import query_from_dict, query_to_dict
from distpriv.workflow.ledgers import list_ledger
from distpriv.workflow.release_policy import release_policy
from tests.workflow.small import only, write_policy, write_tables

SECRET = dp.Share("income = '>50K'", values=(0.45, 0.55))
TARGET = dp.PrivacyTarget(epsilon=1, delta=0.01)
TOTAL = dp.PrivacyTarget(epsilon=2, delta=0.02)
RECORDS = 100


@frozen(kw_only=True)
class MedianBy(Statistic):
    """The medians of those of whom something is so and of all others; of a group that nobody is in, that of all."""

    expression: str
    group: str
    resolution: float | None = None

    @property
    def size(self) -> int:
        return 2

    @property
    def row_values(self) -> tuple[RowValue, ...]:
        return (
            RowValue(expression=self.expression, resolution=self.resolution),
            RowValue(expression=self.group, predicate=True),
        )

    @property
    def form(self) -> Form:
        return MEDIAN_BY

    def evaluate(self, *values: NDArray[Any]) -> Floats:
        rows, member = values
        medians = [_median_of(rows, member == side) for side in (1.0, 0.0)]
        return np.stack(medians, axis=-1)

    def steps(self, records: int, resolutions: Sequence[float]) -> list[float]:  # noqa: ARG002
        return [resolutions[0]] * self.size

    def record_sensitivities(self, records: int, bounds: Sequence[tuple[float, float]]) -> list[float]:  # noqa: ARG002
        return [bounds[0][1] - bounds[0][0]] * self.size


def _median_of(rows: Floats, chosen: NDArray[np.bool_]) -> Floats:
    chosen = chosen | ~chosen.any(axis=-1, keepdims=True)
    with_gaps = np.where(chosen, rows, np.nan)
    return np.asarray(np.nanmedian(with_gaps, axis=-1))


def median_by(expression: str, group: str, resolution: float | None = None) -> MedianBy:
    return MedianBy(expression=expression, group=group, resolution=resolution)


MEDIAN_BY = Form(
    word="median_by",
    make=median_by,
    texts=("expression", "group"),
    options=("resolution",),
    example="median_by(age, sex = 'Female')",
)


@frozen(kw_only=True)
class CountBy(Statistic):
    """The number of records at each level of a column: means of as many predicates, with exact moments."""

    column: str
    levels: tuple[str, ...]

    @property
    def size(self) -> int:
        return len(self.levels)

    @property
    def row_values(self) -> tuple[RowValue, ...]:
        return tuple(RowValue(expression=f"{self.column} = '{level}'", predicate=True) for level in self.levels)

    @property
    def form(self) -> Form:
        return Form(word="count_by", make=CountBy, texts=("column",), options=("levels",), example="count_by(sex)")

    def factors(self, records: int) -> list[int]:
        return [records] * self.size

    def evaluate(self, *values: NDArray[Any]) -> Floats:
        return np.stack([rows.sum(axis=-1) for rows in values], axis=-1)

    def steps(self, records: int, resolutions: Sequence[float]) -> list[float]:  # noqa: ARG002
        return list(resolutions)

    def record_sensitivities(self, records: int, bounds: Sequence[tuple[float, float]]) -> list[float]:  # noqa: ARG002
        return [high - low for low, high in bounds]

    def displayed(self, value: float, records: int) -> float:
        return min(max(value, 0.0), records)


@pytest.fixture(autouse=True)
def registered(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setitem(FORMS, "median_by", MEDIAN_BY)
    with only("expected_value_gaussian"):
        yield


@pytest.fixture
def url(tmp_path: Path) -> str:
    return dp.Ledger.create(f"sqlite:///{tmp_path / 'ledger.db'}").url


AGE = dp.mean("age", resolution=1)
HOURS = median_by("hours_per_week", "sex = 'Female'", resolution=1)


def modelled(adult: pa.Table, **statistics: Statistic) -> dp.QueryModel:
    return dp.model(adult, dp.Query(statistics), SECRET, records=RECORDS, draws=500, processes=1)


def test_it_is_sampled_planned_released_and_answered_again_from_the_ledger(adult: pa.Table, url: str) -> None:
    model = modelled(adult, age=AGE, hours=HOURS)
    assert model.names == ("age", "hours_1", "hours_2")
    assert model.steps.tolist() == [0.01, 1.0, 1.0]
    assert model.record_sensitivities.tolist() == [0.73, 98.0, 98.0]
    plan = dp.plan(model, TARGET, assurance="assumed")
    private = adult.slice(1000, RECORDS)
    first = dp.release(plan, private, ledger=url, dataset="d", total=TOTAL)
    assert list(first.values) == ["age", "hours_1", "hours_2"]
    spelled = modelled(adult, weekly=median_by("HOURS_PER_WEEK", "sex='Female'", resolution=1), age=AGE)
    again = dp.release(dp.plan(spelled, TARGET, assurance="assumed"), private, ledger=url, dataset="d", total=TOTAL)
    assert again.repeated
    assert again.values == {
        "age": first.values["age"],
        "weekly_1": first.values["hours_1"],
        "weekly_2": first.values["hours_2"],
    }


def test_rows_are_held_before_it_sees_them(adult: pa.Table) -> None:
    private = adult.slice(1000, RECORDS)
    place = private.schema.get_field_index("hours_per_week")
    wild = private.set_column(place, "hours_per_week", pa.array([10**9] * RECORDS))
    assert look_at(wild, modelled(adult, hours=HOURS)).values.tolist() == [99.0, 99.0]


def test_it_comes_back_from_text_and_from_a_ledger() -> None:
    assert HOURS.text == "median_by(hours_per_week, sex = 'Female', resolution = 1)"
    assert parse_statistic(HOURS.text) == HOURS
    query = dp.Query(hours=HOURS)
    assert query_from_dict(json.loads(json.dumps(query_to_dict(query)))) == query


def test_a_policy_asks_for_it_and_the_bundle_is_verified(adult: pa.Table, tmp_path: Path) -> None:
    write_tables(tmp_path, adult)
    asked = ('"mean(age, resolution = 1)"', "\"median_by(hours_per_week, sex = 'Female', resolution = 1)\"")
    policy = write_policy(tmp_path, asked, ("delta = 0.01\n", 'delta = 0.01\nassurance = "assumed"\n'))
    made = release_policy(str(policy), tmp_path / "out")
    assert list(made.release.values) == ["age_1", "age_2", "never_married"]
    verdict = verify_bundle(tmp_path / "out")
    assert verdict.holds, str(verdict)
    assert "median_by" in json.dumps(list_ledger(f"sqlite:///{tmp_path / 'ledger.db'}").to_dict())


def test_many_numbers_that_are_means_have_the_moments_and_noise_of_as_many_statistics(adult: pa.Table) -> None:
    levels = ("Never-married", "Divorced", "Widowed")
    one = modelled(adult, status=CountBy(column="marital_status", levels=levels))
    many = modelled(adult, **{f"status_{k + 1}": dp.count(f"marital_status = '{x}'") for k, x in enumerate(levels)})
    assert one.names == many.names
    assert one.provenance.method == "exact moments"
    for name, law in one.distributions.items():
        np.testing.assert_array_equal(law.mean, many.distributions[name].mean)
        np.testing.assert_array_equal(law.covariance, many.distributions[name].covariance)
        np.testing.assert_array_equal(law.lattice, many.distributions[name].lattice)
    mechanisms = [dp.mechanisms.expected_value_gaussian(model, TARGET) for model in (one, many)]
    np.testing.assert_allclose(mechanisms[0].noise.covariance, mechanisms[1].noise.covariance)
