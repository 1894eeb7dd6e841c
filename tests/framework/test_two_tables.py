"""Mixtures of two tables: their laws are mixtures, their records independent, and their tables opened as one."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import distpriv as dp
from distpriv.errors import InvalidInput, InvalidSecret, InvalidSource
from distpriv.modelling.coupling import MaximalCoupling
from distpriv.releasing.synthetic import synthetic_rows

LAST = pa.table({"y": [0, 1, 1, 3, 4], "z": [1.0, 2.0, 3.0, 4.0, 5.0], "people": [1, 2, 1, 1, 3]})
THIS = pa.table({"y": [5, 5, 2], "people": [2, 1, 1], "z": [0.0, 0.0, 9.0]})
QUERY = dp.Query(y=dp.mean("y"), big=dp.count("z > 2.5"))


def mixed(values: tuple[float, ...] = (0, 0.25, 1), **options: Any) -> dp.QueryModel:
    shift = dp.Shift(LAST, THIS, values=values, names=("last", "this"))
    return dp.model(None, QUERY, shift, records=4, **{"reference": "population", **options})


def moments(table: pa.Table, weights: np.ndarray[Any, Any]) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    rows = np.column_stack([table["y"].to_numpy(), 4.0 * (table["z"].to_numpy() > 2.5)])
    chances = weights / weights.sum()
    return chances @ rows, (rows.T * chances) @ rows


@pytest.mark.parametrize("weight", [None, "people"])
def test_a_record_of_a_mixture_is_of_the_second_table_with_its_share(weight: str | None) -> None:
    model = mixed(weight=weight)
    parts = [moments(t, np.ones(len(t)) if weight is None else t["people"].to_numpy()) for t in (LAST, THIS)]
    for share, law in zip((0, 0.25, 1), model.distributions.values(), strict=True):
        mean, square = ((1 - share) * parts[0][k] + share * parts[1][k] for k in (0, 1))
        np.testing.assert_allclose(law.mean, mean, rtol=1e-12)
        np.testing.assert_allclose(law.covariance, (square - np.outer(mean, mean)) / 4, rtol=1e-9, atol=1e-12)


def test_coupled_datasets_of_a_mixture_differ_in_as_many_records_as_their_shares() -> None:
    model = mixed((0.2, 0.5))
    swap = model.rows().coupling(model.protected_pairs[0], "independent")
    assert isinstance(swap, MaximalCoupling)
    assert swap.total_variation == pytest.approx(0.3)
    first, second = model.rows().coupled_samples(model.protected_pairs[0], 20_000, 1, "transport")
    for drawn, law in zip((first, second), model.distributions.values(), strict=True):
        assert (np.abs(drawn.mean(axis=0) - law.mean) < 5 * np.sqrt(np.diag(law.covariance) / 20_000)).all()


def test_what_two_samples_leave_open_is_what_each_of_them_does(adult: pa.Table) -> None:
    parts = [adult.slice(0, 400), adult.slice(400, 1600)]
    query = dp.Query(age=dp.mean("age"))
    model = dp.model(None, query, dp.Shift(*parts, values=(0, 0.3)), records=100)
    variances = [float(part["age"].to_numpy().var()) / len(part) for part in parts]
    for share, stratum in zip((0, 0.3), model.strata, strict=True):
        expected = (1 - share) ** 2 * variances[0] + share**2 * variances[1]
        assert 100**2 * stratum.error[0, 0] == pytest.approx(expected, rel=1e-6)
    assert model.strata[0].rows == pytest.approx(400, abs=1)


def test_mixtures_go_beside_other_secrets_and_each_has_its_own_table(adult: pa.Table, tmp_path: Path) -> None:
    halves = [adult.filter(pc.equal(adult["sex"], sex)).slice(0, 900) for sex in ("Female", "Male")]
    paths = [tmp_path / "women.parquet", tmp_path / "men.parquet"]
    for path, half in zip(paths, halves, strict=True):
        pq.write_table(half, path)
    secrets: list[Any] = [
        dp.Share("income = '>50K'", values=(0.4, 0.5)),
        dp.Mean("hours_per_week", values=(38, 42)),
        dp.Shift(*map(str, paths), values=(0.4, 0.5), names=("women", "men")),
    ]
    query = dp.Query(age=dp.mean("age"), women=dp.count("sex = 'Female'"))
    model = dp.model(adult, query, secrets, records=100, reference="population")
    shares = {name: law.mean[1] for name, law in model.distributions.items()}
    assert shares["mixture(women, men) @ 0.4"] == pytest.approx(60)
    assert len(model.protected_pairs) == 6
    rows = synthetic_rows(
        dp.model(None, query, secrets[2], records=100),
        {"age": 38.0, "women": 55.0},
        {"mixture(women, men) @ 0.4": 0.5, "mixture(women, men) @ 0.5": 0.5},
        rows=100,
        seed=1,
    )
    assert rows.column_names == adult.column_names


@pytest.mark.parametrize(
    ("other", "options", "message"),
    [
        (THIS, {"values": (0, 1.2)}, "at most 1"),
        (THIS, {"values": (0.5,)}, "at least two different values"),
        (THIS, {"values": (0, 0.5), "names": ("a", "a")}, "two different names"),
        (THIS, {"between": (0, 1)}, "within"),
        (None, {"values": (0, 0.5)}, "two tables"),
    ],
)
def test_mixtures_that_make_no_sense_are_refused(other: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidSecret, match=message):
        dp.Shift(LAST, other, **options)


@pytest.mark.parametrize(
    ("other", "sentence"),
    [
        (pa.table({"age": [1, 2]}), "no column is in both"),
        (pa.table({"y": ["a", "b"], "z": [1.0, 2.0]}), "cannot be mixed"),
        (pa.table({"y": [1, 2]}), "'z'"),
        (pa.table({"y": pa.array([], pa.int64()), "z": pa.array([], pa.float64())}), "has no rows"),
        ("nowhere.parquet", "no file"),
    ],
)
def test_tables_that_do_not_go_together_are_refused(other: Any, sentence: str) -> None:
    with pytest.raises(InvalidInput, match=sentence):
        dp.model(None, QUERY, dp.Shift(LAST, other, values=(0, 0.5)), records=4, reference="population")


def test_a_table_with_a_column_of_our_name_is_refused() -> None:
    own = LAST.append_column("distpriv_second", LAST["y"])
    with pytest.raises(InvalidSource, match="both have a column"):
        dp.model(None, QUERY, dp.Shift(own, own, values=(0, 0.5)), records=4)
