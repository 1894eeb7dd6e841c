import hashlib
from collections import Counter
from importlib.resources import files

import pyarrow.compute as pc

import distpriv as dp

SHA256 = "63a9dbd8cdfc3f6463dd9bd91992607b9eb2d47c89769d58eee5698b1768b259"


def test_the_file_is_the_one_that_was_built() -> None:
    content = (files("distpriv.datasets") / "adult.parquet").read_bytes()
    assert hashlib.sha256(content).hexdigest() == SHA256


def test_the_counts_are_the_published_ones() -> None:
    table = dp.datasets.adult()
    assert table.num_rows == 45_222
    assert dp.datasets.adult(complete=False).num_rows == 48_842
    assert Counter(table["income"].to_pylist()) == {">50K": 11_208, "<=50K": 34_014}
    assert Counter(table["workclass"].to_pylist())["Private"] == 33_307
    assert (pc.min(table["age"]).as_py(), pc.max(table["age"]).as_py()) == (17, 90)


def test_columns_are_in_snake_case_and_missing_values_are_null() -> None:
    table = dp.datasets.adult(complete=False)
    assert " ".join(table.column_names) == (
        "age workclass fnlwgt education education_num marital_status occupation relationship race sex "
        "capital_gain capital_loss hours_per_week native_country income"
    )
    assert {name: table[name].null_count for name in table.column_names if table[name].null_count} == {
        "workclass": 2799,
        "occupation": 2809,
        "native_country": 857,
    }
    assert set(table["income"].to_pylist()) == {"<=50K", ">50K"}


def test_its_licence_lies_beside_it() -> None:
    text = (files("distpriv.datasets") / "ADULT.md").read_text(encoding="utf-8")
    assert "CC BY 4.0" in text
    assert "10.24432/C5XW20" in text
