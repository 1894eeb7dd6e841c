import csv
import io

import numpy as np
import pyarrow as pa
import pytest

import distpriv as dp
from distpriv.errors import InvalidInput
from distpriv.modelling.public_knowledge import PublicKnowledge
from distpriv.releasing.projection import possible
from distpriv.releasing.released_tables import ReleasedTable, table_files

RNG = np.random.default_rng(5)
SIZE = 4000
RICH = RNG.random(SIZE) < 0.4
ROWS = pa.table(
    {
        "region": np.where(RICH, RNG.choice(["north", "south", "west"], SIZE, p=[0.6, 0.3, 0.1]),
                           RNG.choice(["north", "south", "west"], SIZE, p=[0.5, 0.3, 0.2])),
        "sex": RNG.choice(["F", "M"], SIZE),
        "hours": RNG.integers(20, 60, SIZE) + 3 * RICH,
        "rich": RICH,
    }
)  # fmt: skip
SECRET = dp.Share("rich", values=(0.3, 0.4))
TARGET = dp.PrivacyTarget(epsilon=1.0, delta=0.05)


def released(records: int = 200, **tables: object) -> dp.Release:
    model = dp.model(ROWS, dp.Query(tables), SECRET, records=records, processes=1)  # type: ignore[arg-type]
    plan = dp.plan(model, TARGET, mechanisms=["group_privacy_gaussian"], processes=1)
    return dp.release(plan, ROWS.slice(100, records), ledger=None)


@pytest.fixture(scope="module")
def counts() -> dp.Release:
    levels = {"region": ["west", "north", "south", "atlantis"]}
    return released(people=dp.table("count", by=["region", "sex"], levels=levels))


@pytest.fixture(scope="module")
def means() -> dp.Release:
    return released(work=dp.table("mean(hours)", by="region"), age=dp.mean("hours"))


def test_counts_are_not_negative_and_sum_up_to_the_records(counts: dp.Release) -> None:
    frame = counts.table("people")
    assert (frame["estimate"] >= 0).all()
    assert frame["estimate"].sum() == pytest.approx(200, abs=1e-6)
    assert (frame["low"] <= frame["estimate"]).all()
    assert (frame["estimate"] <= frame["high"]).all()
    assert (frame["low"] >= 0).all()


def test_totals_are_the_sums_of_the_cells(counts: dp.Release) -> None:
    wide = counts.table("people", wide=True)
    assert list(wide.columns) == ["F", "M", "total"]
    assert list(wide.index) == ["west", "north", "south", "atlantis", "total"]
    np.testing.assert_allclose(wide["F"] + wide["M"], wide["total"])
    np.testing.assert_allclose(wide.iloc[:-1].sum(), wide.loc["total"])


def test_structural_zeros_are_shown_as_nothing(counts: dp.Release) -> None:
    frame = counts.table("people")
    assert (frame.loc["atlantis"] == 0).all().all()


def test_a_table_shows_the_noisy_values_of_its_cells(counts: dp.Release) -> None:
    frame = counts.table("people")
    assert frame.loc[("west", "F"), "noisy_value"] == counts.values["people[west, F]"]


def test_the_information_of_a_cell_is_the_share_of_its_public_variance_that_is_gone(counts: dp.Release) -> None:
    frame = counts.table("people")
    for cell in frame.index.difference([("atlantis", "F"), ("atlantis", "M")]):
        name = f"people[{', '.join(cell)}]"
        left = (counts.estimate_errors[name] / counts.public_errors[name]) ** 2
        assert frame.loc[cell, "information"] == pytest.approx(1 - left, abs=1e-9)
        assert 0 < frame.loc[cell, "information"] < 1


def test_the_information_of_a_mean_is_that_of_the_ratio(means: dp.Release) -> None:
    assert means.model is not None
    known = PublicKnowledge.of(means.model)
    left = known.error_covariance(means.mechanism.noise.covariance)
    frame = means.table("work")
    for region in ("north", "south", "west"):
        pair = [known.names.index(f"work[{region}] {part}") for part in ("count", "total")]
        along = np.zeros(len(known.names))
        along[pair] = [-frame.loc[region, "public_mean"], 1.0]
        expected = 1 - (along @ left @ along) / (along @ known.covariance @ along)
        assert frame.loc[region, "information"] == pytest.approx(expected, abs=1e-9)


def test_a_release_prints_its_tables_as_tables(counts: dp.Release) -> None:
    text = str(counts)
    assert "people: count by region, sex" in text
    assert "people[" not in text.partition("Tables show")[0]


def test_a_mean_by_group_is_the_ratio_of_its_total_to_its_count(means: dp.Release) -> None:
    frame = means.table("work")
    assert list(frame.columns) == ["estimate", "low", "high", "count", "total", "public_mean", "information"]
    row = frame.loc["north"]
    total, count = means.estimates["work[north] total"], means.estimates["work[north] count"]
    assert row["estimate"] == pytest.approx(total / count)
    assert 20 < row["low"] < row["estimate"] < row["high"] < 65
    wide = means.table("work", wide=True)
    assert wide["total"][0] == pytest.approx(frame["total"].sum() / frame["count"].sum())
    assert "  age" in str(means)


def test_no_mean_is_told_of_a_group_that_may_be_empty() -> None:
    frame = released(10, work=dp.table("mean(hours)", by="region")).table("work")
    unsure = frame["count"] < 2
    assert frame[unsure][["estimate", "low", "high"]].isna().all().all()
    assert frame[~unsure]["total"].notna().all()


def test_there_is_a_csv_of_cells_and_one_of_the_table(counts: dp.Release) -> None:
    files = table_files(counts.tables.values())
    assert list(files) == ["table_people.csv", "table_people_wide.csv"]
    cells = list(csv.reader(io.StringIO(files["table_people.csv"])))
    assert cells[0] == [
        "region",
        "sex",
        "estimate",
        "low",
        "high",
        "noisy_value",
        "noise",
        "public_mean",
        "information",
    ]
    assert len(cells) == 1 + 4 * 2
    wide = list(csv.reader(io.StringIO(files["table_people_wide.csv"])))
    assert [row[0] for row in wide] == ["region", "west", "north", "south", "atlantis", "total"]


def test_a_label_is_no_formula_to_a_spreadsheet_and_no_separator() -> None:
    table = dp.table("count", by="a", levels={"a": ["=1+1", "x,y"]}, empty=[])
    zero = dict.fromkeys(("estimate", "low", "high", "noisy_value", "noise", "public_mean", "information"), 0.0)
    text = ReleasedTable(name="t", table=table, rows=(zero, zero)).csv(wide=False)
    assert "'=1+1" in text
    assert '"x,y"' in text
    assert len(list(csv.reader(io.StringIO(text)))) == 3


def test_files_have_plain_names_whatever_a_table_is_called(counts: dp.Release) -> None:
    table = counts.tables["people"]
    odd = ReleasedTable(name="../people", table=table.table, rows=table.rows)
    assert list(table_files([odd])) == ["table_1.csv", "table_1_wide.csv"]


def test_a_table_is_the_same_when_it_is_read_again(counts: dp.Release) -> None:
    table = counts.tables["people"]
    assert ReleasedTable.from_dict("people", table.table, table.to_dict()) == table


def test_a_table_that_is_not_there_is_refused(counts: dp.Release) -> None:
    with pytest.raises(InvalidInput, match="there is no table 'peopel' in this release: did you mean 'people'"):
        counts.table("peopel")
    with pytest.raises(InvalidInput, match="there is no table in this release"):
        released(hours=dp.mean("hours")).table("people")


def test_a_saved_release_has_its_tables(counts: dp.Release, tmp_path: object) -> None:
    folder = counts.save(f"{tmp_path}/saved")
    assert {"table_people.csv", "table_people_wide.csv"} <= {file.name for file in folder.iterdir()}


def test_the_measured_error_of_estimates_is_the_predicted_one() -> None:
    model = dp.model(ROWS, dp.Query(people=dp.table("count", by=["region", "sex"])), SECRET, records=200, processes=1)
    plan = dp.plan(model, TARGET, mechanisms=["group_privacy_gaussian"], processes=1)
    missed, predicted, projected = [], [], []
    for scenario in model.distributions:
        for number, truth in enumerate(model.samples(scenario, 100, seed=1)):
            noise = plan.mechanism.noise.simulate(1, number)[0]
            found = plan.public.estimate(truth + noise, plan.mechanism.noise.covariance)
            missed.append(((found.values - truth) ** 2).sum())
            predicted.append(np.trace(found.covariance))
            errors = np.sqrt(np.diag(found.covariance))
            nearer = possible(found.values, errors, plan.public.covariance, np.full(len(truth), True))
            assert nearer.min() >= 0
            assert nearer.sum() == pytest.approx(200, abs=1e-6)
            projected.append(((nearer - truth) ** 2).sum())
    assert np.sqrt(np.mean(missed)) == pytest.approx(np.sqrt(np.mean(predicted)), rel=0.1)
    assert np.mean(projected) <= np.mean(missed) * 1.01
