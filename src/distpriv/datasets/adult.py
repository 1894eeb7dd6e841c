"""The Adult data of the UCI repository, the paper's example: persons in the 1994 US census."""

from importlib.resources import as_file, files
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["adult"]


def adult(*, complete: bool = True) -> "pa.Table":
    """Return the Adult data as an Arrow table.

    B. Becker and R. Kohavi, "Adult", UCI Machine Learning Repository, 1996, doi 10.24432/C5XW20, CC BY 4.0.

    Args:
        complete: only the 45,222 records with no missing value, as in the paper; otherwise all 48,842, with nulls.

    Returns:
        A pyarrow table, which `distpriv.model` takes as it is.

    >>> import distpriv as dp
    >>> dp.datasets.adult().num_rows, dp.datasets.adult(complete=False).num_rows
    (45222, 48842)
    >>> dp.datasets.adult().select(["age", "marital_status", "income"]).slice(0, 1).to_pylist()
    [{'age': 39, 'marital_status': 'Never-married', 'income': '<=50K'}]
    """
    import pyarrow.parquet as pq

    with as_file(files(__package__) / "adult.parquet") as path:
        table = pq.read_table(path)
    return table.drop_null() if complete else table
