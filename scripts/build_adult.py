"""Make src/distpriv/datasets/adult.parquet from the raw UCI files.

Usage: python scripts/build_adult.py FOLDER_WITH_adult.data_AND_adult.test
"""

import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

NUMBERS = ("age", "fnlwgt", "education_num", "capital_gain", "capital_loss", "hours_per_week")
COLUMNS = (
    "age", "workclass", "fnlwgt", "education", "education_num", "marital_status", "occupation", "relationship",
    "race", "sex", "capital_gain", "capital_loss", "hours_per_week", "native_country", "income",
)  # fmt: skip
TARGET = Path(__file__).parents[1] / "src" / "distpriv" / "datasets" / "adult.parquet"


def records(path: Path) -> list[list[str]]:
    """Return the fields of every record, without comment lines, blanks and the dot of the test labels."""
    lines = (line.strip().removesuffix(".") for line in path.read_text(encoding="ascii").splitlines())
    return [[value.strip() for value in line.split(",")] for line in lines if line and not line.startswith("|")]


def build(folder: Path) -> pa.Table:
    """Return the table of both files."""
    rows = records(folder / "adult.data") + records(folder / "adult.test")
    columns = [[None if value == "?" else value for value in column] for column in zip(*rows, strict=True)]
    return pa.table(
        {
            name: pa.array(column).cast(pa.int32()) if name in NUMBERS else pa.array(column)
            for name, column in zip(COLUMNS, columns, strict=True)
        }
    )


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    pq.write_table(build(Path(sys.argv[1])), TARGET, compression="zstd", compression_level=19)
    print(f"{TARGET.name}: {TARGET.stat().st_size:,} bytes")
