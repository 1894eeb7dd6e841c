import sys

import pyarrow as pa

from distpriv.engines.duckdb import DuckDBEngine
from distpriv.engines.engine import Engine, engine_for


def test_the_engine_of_a_table_in_memory_is_the_embedded_one() -> None:
    engine: Engine = engine_for(pa.table({"x": [1]}))
    assert isinstance(engine, DuckDBEngine)
    assert engine.dialect == "duckdb"
    assert "pyspark" not in sys.modules
