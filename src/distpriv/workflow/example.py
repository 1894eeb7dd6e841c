"""Examples to begin with: a public table, a private one and a policy, written into a folder."""

import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from distpriv.datasets import adult
from distpriv.errors import InvalidInput
from distpriv.framework.domains import did_you_mean

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["EXAMPLES", "write_example"]

REFERENCE, PRIVATE, POLICY = "adult.parquet", "private.parquet", "policy.toml"
FIRST, RECORDS = 1000, 100
"""Where the rows of the private table begin, and how many they are."""

ADULT_POLICY = """\
# What to publish, what to hide, and how well.

[data]
reference = "adult.parquet"    # public rows: everything about the noise comes from here
private = "private.parquet"    # looked at once, to answer the query
id = "adult-example"           # what the ledger calls the private dataset

[release]
records = 100                  # the private table has exactly so many rows

[release.statistics]
age = "mean(age)"
hours = "mean(hours_per_week)"
never_married = "count(marital_status = 'Never-married')"

[[protect]]
share = "income = '>50K'"      # whoever sees the release shall not learn this share:
values = [0.45, 0.55]          # whether 45 or 55 of the 100 persons earn so much

[privacy]
max_attack_accuracy = 0.6      # with even odds, nobody may be right more than 60 times in 100

[ledger]
url = "sqlite:///ledger.db"    # made once, by distpriv ledger policy.toml --create
max_attack_accuracy = 0.65     # the same after all releases of this dataset
"""


def write_example(name: str, folder: Path) -> dict[str, str]:
    """Write the files of an example into a folder, and return what each of them is.

    Args:
        name: which example: "adult".
        folder: where to; a file that is there already is left alone, and then none is written.

    Raises:
        InvalidInput: there is no such example, or a file is in its way.
    """
    if name not in EXAMPLES:
        raise InvalidInput(f"there is no example {name!r}: {did_you_mean(name, EXAMPLES)}")
    there = [file for file in (REFERENCE, PRIVATE, POLICY) if os.path.lexists(folder / file)]
    if there:
        raise InvalidInput(
            f"there is {' and '.join(there)} here already, and it is left alone: go to an empty folder and ask again."
        )
    return EXAMPLES[name](folder)


def _adult(folder: Path) -> dict[str, str]:
    """Write the Adult data without a hundred rows, these as the private table, and a policy."""
    import pyarrow as pa

    rows = adult()
    public = pa.concat_tables([rows.slice(0, FIRST), rows.slice(FIRST + RECORDS)]).combine_chunks()
    _write_all(folder, {REFERENCE: public, PRIVATE: rows.slice(FIRST, RECORDS), POLICY: ADULT_POLICY})
    return {
        REFERENCE: f"{public.num_rows:,} persons of a census, as the public table",
        PRIVATE: f"{RECORDS} others, as the private one",
        POLICY: "what to publish of them and what to hide",
    }


def _write_all(folder: Path, content: "Mapping[str, pa.Table | str]") -> None:
    """Write new files, all of them or none."""
    written: list[Path] = []
    try:
        for name, what in content.items():
            with open(folder / name, "xb") as file:
                written.append(folder / name)
                _write(file, what)
    except OSError as failure:
        for path in written:
            with suppress(OSError):
                path.unlink()
        raise InvalidInput(
            f"the example cannot be written here ({failure.strerror or failure}): go to a folder that you may write to."
        ) from failure


def _write(file: Any, what: "pa.Table | str") -> None:
    if isinstance(what, str):
        file.write(what.encode())
        return
    import pyarrow.parquet as pq

    pq.write_table(what, file)


EXAMPLES: Mapping[str, Callable[[Path], dict[str, str]]] = {"adult": _adult}
"""What can be written, by name."""
