from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    import pyarrow as pa


@pytest.fixture(scope="session")
def bundles(tmp_path_factory: pytest.TempPathFactory, adult: "pa.Table") -> dict[str, Path]:
    """Real bundles of every kind, for all tests that forge copies of them."""
    from tests.bundle.forging import Bundles

    return Bundles(tmp_path_factory.mktemp("bundles"), adult)
