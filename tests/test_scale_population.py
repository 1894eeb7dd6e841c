import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from benchmarks import scale_population
from benchmarks.scale_population import COLUMNS, Amount, Label, write_population

PEAKS = """
import resource, sys
from pathlib import Path
from benchmarks import scale_population

scale_population.BLOCK = 200_000
for blocks in (2, 20):
    scale_population.write_population(Path(sys.argv[1]), blocks * scale_population.BLOCK, 20)
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024)
"""


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scale_population, "BLOCK", 1000)


def written(folder: Path, rows: int, width: int, seed: int = 0) -> pa.Table:
    path = folder / f"{rows}-{width}-{seed}.parquet"
    write_population(path, rows, width, seed=seed)
    return pq.read_table(path)


@pytest.mark.parametrize("rows", [1, 999, 1000, 1001, 2500])
def test_a_smaller_population_is_the_beginning_of_a_larger_one(tmp_path: Path, rows: int) -> None:
    assert written(tmp_path, rows, 20).equals(written(tmp_path, 3000, 20).slice(0, rows))


def test_a_narrower_population_has_the_first_columns_of_a_wider_one(tmp_path: Path) -> None:
    narrow, wide = (written(tmp_path, 1500, width) for width in (5, 20))
    assert narrow.column_names == ["id", "income_class", *(column.name for column in COLUMNS[:5])]
    assert wide.num_columns == 22
    assert narrow.equals(wide.select(narrow.column_names))


def test_another_seed_and_another_block_are_other_rows(tmp_path: Path) -> None:
    one, other = (written(tmp_path, 2000, 5, seed).drop_columns("id") for seed in (0, 1))
    for column in one.column_names:
        assert one[column] != other[column]
        assert one[column][:1000].to_pylist() != one[column][1000:].to_pylist()


def test_columns_are_what_they_say(tmp_path: Path) -> None:
    table = written(tmp_path, 5000, 20)
    assert np.array_equal(table["id"], np.arange(5000))
    high = np.array(table["income_class"].to_pylist()) == ">50K"
    assert high.mean() == pytest.approx(0.25, abs=0.03)
    for column in COLUMNS:
        values = np.array(table[column.name].to_pylist())
        assert np.isin(values, column.texts).all() if isinstance(column, Label) else len(np.unique(values)) > 4
        if isinstance(column, Amount):
            assert np.allclose(values * 100, np.rint(values * 100), atol=1e-6)
            assert values.mean() > 1.05 * np.median(values)
    assert table["age"].to_numpy()[high].mean() > table["age"].to_numpy()[~high].mean() + 4


@pytest.mark.slow
def test_only_a_block_is_in_memory(tmp_path: Path) -> None:
    command = [sys.executable, "-c", PEAKS, str(tmp_path / "population.parquet")]
    root = Path(scale_population.__file__).parents[1]
    few, many = map(int, subprocess.run(command, cwd=root, capture_output=True, check=True, text=True).stdout.split())
    assert many - few < 18 * 200_000 * 8  # less than the numbers alone of 18 blocks of persons
