import subprocess
import sys

import pyarrow as pa

from distpriv.engines.duckdb import DuckDBEngine
from distpriv.engines.engine import Engine, engine_for


def test_the_engine_of_a_table_in_memory_is_the_embedded_one() -> None:
    engine: Engine = engine_for(pa.table({"x": [1]}))
    assert isinstance(engine, DuckDBEngine)
    assert engine.dialect == "duckdb"


def test_a_table_in_memory_is_read_without_spark() -> None:
    code = (
        "import sys, pyarrow; from distpriv.engines.engine import engine_for; "
        "engine_for(pyarrow.table({'x': [1]})); sys.exit('pyspark' in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
