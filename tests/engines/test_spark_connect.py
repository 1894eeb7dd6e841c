"""Tables on a Spark Connect server."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from tests.spark import GROUP, no_spark
from tests.workflow.shared import is_one_sentence

from distpriv.engines.engine import engine_for
from distpriv.errors import InvalidSource

PROGRAM = Path(__file__).with_name("spark_connect.py")


@GROUP
@pytest.mark.parametrize("address", ["sc://localhost:1", "sc://localhost:1/;use_ssl=true", "sc://no.such.host.invalid"])
def test_a_server_that_does_not_answer_is_said_at_once(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if reason := no_spark():
        pytest.skip(reason)
    from pyspark.sql import SparkSession

    monkeypatch.setattr(SparkSession, "getActiveSession", lambda: None)
    with pytest.raises(InvalidSource, match=r"^no Spark Connect server answers for 'spark:sc:") as refusal:
        engine_for(f"spark:{address}?path=x.parquet")
    assert is_one_sentence(str(refusal.value))


def test_a_token_in_an_address_is_refused_and_not_shown() -> None:
    with pytest.raises(InvalidSource, match="SPARK_CONNECT_AUTHENTICATE_TOKEN") as refusal:
        engine_for("spark:sc://lake.example:443/;use_ssl=true;token=geheim?table=lake.census")
    assert "geheim" not in str(refusal.value)


@pytest.mark.slow
@GROUP
def test_a_private_and_a_public_table_on_spark_connect_are_as_good_as_any(tmp_path: Path) -> None:
    if reason := no_spark():
        pytest.skip(reason)
    pytest.importorskip("grpc", reason="no Spark Connect: its client is not installed")
    done = subprocess.run([sys.executable, PROGRAM, tmp_path], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    found = json.loads(done.stdout[done.stdout.index("{") :])
    assert found["kind"] == "pyspark.sql.connect.dataframe"
    assert found["off"] < 1e-10
    assert found["tasks"]  # none are sent there
    assert abs(found["values"]["hours"] - 42) < 30
    assert found["repeated"] == [False, True, True]
    assert found["named"] == ["age", "hours_per_week", "income", "sex"]
    assert "there is no column 'agee'" in found["broken"]
    assert "has exactly 40 rows" in found["short"]
    assert is_one_sentence(found["short"])
