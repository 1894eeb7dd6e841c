import subprocess
import sys

import pytest

import distpriv as dp

HEAVY = (
    "duckdb",
    "sklearn",
    "matplotlib",
    "opendp",
    "pyspark",
    "scipy",
    "pyarrow",
    "sqlglot",
    "joblib",
    "pandas",
    "pydantic",
    "sqlalchemy",
    "jinja2",
)


def test_every_public_name_is_there_and_documented() -> None:
    for name in dp.__all__:
        assert getattr(dp, name).__doc__, name
    assert set(dp.__all__) <= set(dir(dp))


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'modle'"):
        _ = dp.modle


def test_importing_distpriv_loads_nothing_heavy() -> None:
    code = f"import distpriv, sys; print([name for name in {HEAVY} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
